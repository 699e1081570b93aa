//! The quantiles of delays in the reports of `rtt` and `owd`.

use crate::facts::Ends;
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;
use serde::Serializer;

/// Their names and the shares of delays that do not exceed them, in ascending order. All formats follow this list.
pub const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

/// Estimates of [`QUANTILES`], in nanoseconds.
pub type Quantiles = [Option<Estimate<i64>>; QUANTILES.len()];

/// Places in [`QUANTILES`].
pub(crate) const P50: usize = place(0.5);
pub(crate) const P95: usize = place(0.95);
pub(crate) const P99: usize = place(0.99);
/// Those shown where there is no room for all.
pub(crate) const MAIN: [usize; 3] = [P50, P95, P99];

/// Of a share that is not listed, a constant does not compile.
const fn place(share: f64) -> usize {
    let mut place = 0;
    while QUANTILES[place].1 != share {
        place += 1;
    }
    place
}

/// The names of all.
pub(crate) fn names() -> [&'static str; QUANTILES.len()] {
    QUANTILES.map(|(name, _)| name)
}

/// The quantiles of a distribution.
pub(crate) fn of(distribution: &Distribution) -> Quantiles {
    QUANTILES.map(|(_, share)| distribution.quantile(share))
}

/// Serializes each under its name.
pub(crate) fn named<S: Serializer>(quantiles: &Quantiles, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(names().into_iter().zip(quantiles.map(|quantile| quantile.map(Ends::from))))
}
