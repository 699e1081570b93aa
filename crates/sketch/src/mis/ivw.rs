//! Inverse-variance weighting: what the paper does where [`Mis`](super::Mis) uses the balance heuristic. Biased.

use crate::Sample;
use dwell_types::Nanos;
use std::collections::BTreeMap;

/// Bins of delays per octave.
const PER_OCTAVE: f64 = 64.0;

/// Combines the samples of several fridges, each weighted as if its fridge were alone, literally as the paper does: fridge
/// *k* gives a count *f̂*ₖ = Σ*w* of a bin of delays, with estimated variance *V̂*ₖ = Σ*w*² (eq. 4.7); the bin's count is
/// Σ*f̂*ₖ/*V̂*ₖ over Σ1/*V̂*ₖ [zheng22 §4.2]. A fridge without a sample in a bin has no *V̂*ₖ and is left out. So the
/// samples of a fridge in a bin get a common factor.
///
/// The result is biased: the variances are estimated from the same samples, and fridges without any, whose estimate is
/// zero, do not count. In bins of few samples it is nearly twice too high. It is here to be compared.
pub fn by_inverse_variance(fridges: Vec<Vec<Sample>>) -> Vec<Sample> {
    let mut variances: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
    for (k, samples) in fridges.iter().enumerate() {
        for sample in samples {
            let of_bin = variances.entry(bin(sample.since_first)).or_insert_with(|| vec![0.0; fridges.len()]);
            of_bin[k] += sample.weight * sample.weight;
        }
    }
    let precision = |variance: &f64| if *variance > 0.0 { 1.0 / variance } else { 0.0 };
    let factors = |variances: Vec<f64>| {
        let sum: f64 = variances.iter().map(precision).sum();
        variances.iter().map(|variance| precision(variance) / sum).collect()
    };
    let factors: BTreeMap<i32, Vec<f64>> = variances.into_iter().map(|(bin, of)| (bin, factors(of))).collect();
    let of_fridge = |(k, samples): (usize, Vec<Sample>)| {
        let weigh = |sample: Sample| sample.weighted(sample.weight * factors[&bin(sample.since_first)][k]);
        samples.into_iter().map(weigh).collect::<Vec<_>>()
    };
    fridges.into_iter().enumerate().flat_map(of_fridge).collect()
}

/// The number of a delay's bin.
fn bin(delay: Nanos) -> i32 {
    ((delay.get().max(1) as f64).log2() * PER_OCTAVE).floor() as i32
}
