//! The shape of a distribution of delays: bins for programs, points of its function for plots.

use crate::round::{edge_above, edge_below};
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;

/// Points of a distribution function: enough for a smooth curve.
const POINTS: usize = 500;

/// One point of a distribution function.
#[derive(Clone, Copy, Debug)]
pub struct CdfPoint {
    /// Where the bin of this delay begins: in between, delays are not known more exactly.
    pub from_ns: i64,
    /// A delay.
    pub delay_ns: i64,
    /// The share with at most this delay, in `0..=1`.
    pub share: Estimate<f64>,
}

/// The distribution function at ascending delays; empty without samples.
pub(crate) fn cdf(distribution: &Distribution) -> Vec<CdfPoint> {
    distribution
        .cdf(POINTS)
        .into_iter()
        .map(|([from_ns, delay_ns], share)| CdfPoint { from_ns, delay_ns, share })
        .collect()
}

/// A logarithmic histogram from the smallest delay to the largest, with edges at 1, 2 and 5 times powers of ten: how many
/// delays are above the first edge, and at most the second, each number times `share`. Empty without samples.
pub(crate) fn bins(distribution: &Distribution, share: f64) -> Vec<([i64; 2], Estimate<f64>)> {
    let Some((smallest, largest)) = distribution.extremes() else { return Vec::new() };
    let mut edges = vec![edge_below(smallest.value.saturating_sub(1))];
    while let Some(&edge) = edges.last()
        && edge < largest.value
    {
        edges.push(edge_above(edge));
    }
    // Delays are integers: "at most an edge" is "below the next nanosecond".
    let behind: Vec<i64> = edges.iter().map(|edge| edge.saturating_add(1)).collect();
    let numbers = distribution.histogram(&behind).into_iter().map(|number| number.map(|number| share * number));
    edges.windows(2).map(|edge| [edge[0], edge[1]]).zip(numbers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_sketch::Sample;
    use dwell_sketch::distribution::{Ambiguous, DelayStore};
    use dwell_types::{Nanos, Timestamp};

    /// As in OpenMetrics, where `le` means "at most": a delay on an edge must not be counted in the bin above it.
    #[test]
    fn a_delay_that_is_an_edge_is_in_the_bin_below_it() {
        let mut store = DelayStore::unbounded(1);
        for delay in [-5, 0, 10, 11, 20, 1_000] {
            store.update(0, &Sample::of(Timestamp::from_nanos(0), Nanos::new(delay)));
        }
        let bins = bins(&store.distribution(0, Ambiguous::Bounds), 1.0);
        let filled: Vec<_> =
            bins.iter().map(|(edges, number)| (*edges, number.value)).filter(|bin| bin.1 > 0.0).collect();
        assert_eq!(filled, [([-10, -5], 1.0), ([-1, 0], 1.0), ([5, 10], 1.0), ([10, 20], 2.0), ([500, 1_000], 1.0)]);
        assert_eq!((bins[0].0[0], bins[bins.len() - 1].0[1]), (-10, 1_000));
    }
}
