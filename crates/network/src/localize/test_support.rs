//! Values for the tests of several modules.

use super::Value;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// A series of these values, each known well.
pub(super) fn values(of: &[f64]) -> Vec<Option<Value>> {
    of.iter().map(|&value| Some(Value { value, variance: 0.01 })).collect()
}

/// A standard normal variate, by Box and Muller.
pub(super) fn normal(random: &mut Pcg64Mcg) -> f64 {
    let (far, turn) = (1.0 - random.random::<f64>(), random.random::<f64>());
    (-2.0 * far.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}
