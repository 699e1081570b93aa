//! Estimates from the delays of a series.

use super::curve::Curve;
use super::view::{Bin, Bins, Shares};
use crate::estimate::{Estimate, Z95};
use crate::meter::Rounding;
use crate::survival::Survival;
use dwell_types::Nanos;
use std::sync::Arc;

/// A distribution of delays, estimated from weighted samples.
#[derive(Clone, Debug)]
pub struct Distribution {
    value: Curve,
    /// If there are ambiguous samples: the curves with each of them at its shorter, and at its longer delay.
    low: Option<Curve>,
    high: Option<Curve>,
    samples: u64,
    ambiguous: u64,
    rounding: Rounding,
}

impl Distribution {
    pub(super) fn new(
        bins: Bins,
        value: Shares,
        ends: Option<[Shares; 2]>,
        samples: u64,
        ambiguous: u64,
        survival: Option<Survival>,
    ) -> Self {
        let (bins, survival) = (Arc::new(bins), survival.as_ref());
        match ends {
            None => {
                let [value] = Curve::all(&bins, [value], survival);
                Self { value, low: None, high: None, samples, ambiguous, rounding: Rounding::NONE }
            }
            Some([low, high]) => {
                let [value, low, high] = Curve::all(&bins, [value, low, high], survival);
                Self { value, low: Some(low), high: Some(high), samples, ambiguous, rounding: Rounding::NONE }
            }
        }
    }

    /// The same, given that no delay above `longest` could be measured: where there are too few samples of the slowest
    /// exchanges, intervals extend up to that.
    pub fn with_longest(mut self, longest: Nanos) -> Self {
        self.curves().for_each(|curve| curve.possible = Some(longest.get()));
        self
    }

    /// The same for delays that were rounded: intervals of quantiles, extremes and shares are widened by as much. A
    /// mean's is widened by less, since rounding makes some delays longer and others shorter.
    pub fn with_rounding(mut self, rounding: Rounding) -> Self {
        self.rounding = rounding;
        self
    }

    /// The same where exchanges are sampled by id, and so many share each id (Σ *n*² / Σ *n*, where an id has *n*):
    /// variances grow by as much, Kish's design effect (1965) of clusters whose members are alike.
    pub fn with_shared_ids(mut self, exchanges_per_id: f64) -> Self {
        self.curves().for_each(|curve| curve.design_effect = exchanges_per_id.max(1.0));
        self
    }

    fn curves(&mut self) -> impl Iterator<Item = &mut Curve> {
        [Some(&mut self.value), self.low.as_mut(), self.high.as_mut()].into_iter().flatten()
    }

    /// Number of samples behind the estimates.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Samples where it is not known which of several requests was answered.
    pub fn ambiguous_samples(&self) -> u64 {
        self.ambiguous
    }

    fn low(&self) -> &Curve {
        self.low.as_ref().unwrap_or(&self.value)
    }

    fn high(&self) -> &Curve {
        self.high.as_ref().unwrap_or(&self.value)
    }

    /// Estimated number of answered exchanges, at least that of samples unless some of these are taken for repeats; `None`
    /// without samples.
    pub fn exchanges(&self) -> Option<Estimate<f64>> {
        if self.samples == 0 {
            return None;
        }
        // All views have the same total; that since the last request has the least variance.
        let (curve, value) = (self.low(), self.low().total.weight);
        let error = Z95 * curve.variance_between(0..curve.bins.len()).max(0.0).sqrt();
        // A product limit does not follow all of them at first, after p has risen.
        let least = if curve.bins.doubts.is_empty() { self.samples as f64 } else { 0.0 };
        Some(Estimate::around(value, value - error, value + error).map(|all| all.max(least)))
    }

    /// Whether there are no samples, or none that the product limit follows.
    fn tells_nothing(&self) -> bool {
        self.samples == 0 || self.value.total.weight <= 0.0
    }

    /// The delay that a share `q` of the exchanges did not exceed, in nanoseconds; `None` without usable samples or
    /// if the share is NaN.
    pub fn quantile(&self, q: f64) -> Option<Estimate<i64>> {
        if self.tells_nothing() || q.is_nan() {
            return None;
        }
        let estimate = self.value.quantile(q, self.samples);
        let low = self.low.as_ref().map_or(estimate.low, |curve| curve.quantile(q, self.samples).low);
        let high = self.high.as_ref().map_or(estimate.high, |curve| curve.quantile(q, self.samples).high);
        Some(self.rounding.widen(Estimate::around(estimate.value, low, high)))
    }

    /// The same quantile with all ambiguous samples at their shorter, and at their longer delay: how far it depends on
    /// them, apart from sampling. Equal unless both delays count.
    pub fn quantile_ends(&self, q: f64) -> Option<[i64; 2]> {
        let ends = || [self.low(), self.high()].map(|curve| curve.quantile(q, self.samples).value);
        (!self.tells_nothing() && !q.is_nan()).then(ends)
    }

    /// The mean delay in nanoseconds; `None` without usable samples.
    pub fn mean(&self) -> Option<Estimate<i64>> {
        if self.tells_nothing() {
            return None;
        }
        let (value, rounded) = (self.value.mean().value, self.rounded_mean());
        let ends = [value - self.low().mean().low, self.high().mean().high - value];
        let [less, more] = ends.map(|end| end.max(0.0).hypot(rounded));
        // Rounding makes no delay negative.
        let least = self.low().weighed().next().map_or(0, |bin| bin.low.min(0));
        let low = (value - less).max(least as f64);
        let [value, low, high] = [value, low, value + more].map(|end| end.round() as i64);
        Some(Estimate::around(value, low, high))
    }

    /// By how much rounding moves the mean in 95% of the cases: errors are uniform within half a tick of each delay, and
    /// independent.
    fn rounded_mean(&self) -> f64 {
        if self.rounding == Rounding::NONE {
            return 0.0;
        }
        let square = |delay: i64| (self.rounding.around(delay).1 - delay).pow(2) as f64;
        let squares: f64 = self.value.weighed().map(|bin| bin.weight * square(bin.high)).sum();
        let share = (Z95 / (3.0 * self.samples as f64).sqrt()).min(1.0);
        (squares / self.value.total.weight).sqrt() * share
    }

    /// Smallest and largest delay among the samples, in nanoseconds; `None` without samples.
    pub fn extremes(&self) -> Option<(Estimate<i64>, Estimate<i64>)> {
        let first = self.value.weighed().next()?.low;
        let smallest = self.low().weighed().next()?.low;
        let next = self.high().weighed().next()?.low;
        let [last, low, high] = [&self.value, self.low(), self.high()].map(Curve::longest);
        let ends = [Estimate::around(first, smallest, next), Estimate::around(last, low, high)];
        Some(ends.map(|end| self.rounding.widen(end)).into())
    }

    /// The share of exchanges that took no longer than each bin's upper end, in ascending order: of all bins if there
    /// are at most `points`, else of the first one and of `points` more, evenly spaced in rank. With each share both
    /// ends of its bin, within which the function rises.
    pub fn cdf(&self, points: usize) -> Vec<([i64; 2], Estimate<f64>)> {
        let total = self.value.total.weight;
        if self.tells_nothing() || points == 0 {
            return Vec::new();
        }
        let bins = &self.value.bins;
        let mut cdf = Vec::new();
        let mut rank = self.value.first(|_| true);
        while rank < bins.len() {
            let bin = bins.at(rank);
            // Bins of other parts and bands may have the same ends.
            rank = bins.partition_point(|other| other.high <= bin.high) - 1;
            // Sums in another order may exceed the total.
            let share = (self.value.sums_of(rank + 1).weight / total).min(1.0);
            let next_share = share + 1.0 / points as f64;
            let error = self.value.error(rank);
            // With all ambiguous samples at their longer delays, shares are smaller.
            let (least, most) = self.rounding.around(bin.high);
            let low = if least < bin.high || self.high.is_some() { self.high().share_up_to(least) } else { share };
            let high = if most > bin.high || self.low.is_some() { self.low().share_up_to(most) } else { share };
            cdf.push((
                [bin.low, bin.high],
                Estimate {
                    value: share,
                    low: (low.min(share) - error).max(0.0),
                    high: (high.max(share) + error).min(1.0),
                },
            ));
            // The last point is that of the last bin.
            rank = self.value.first(|sum| sum / total >= next_share).max(self.value.behind(rank));
        }
        cdf
    }

    /// Number of exchanges between ascending edges: `edges[i] ≤ delay < edges[i + 1]`, each with its interval. A bin
    /// that contains an edge counts on both sides, divided as quantiles within it are, and the intervals allow for all
    /// of it on either. Between edges that descend there are none.
    pub fn histogram(&self, edges: &[i64]) -> Vec<Estimate<f64>> {
        let (curve, rounding) = (&self.value, self.rounding);
        // The numbers of bins that are entirely, and at least partly, below an edge.
        let cut = |&edge: &i64| {
            let [entirely, partly]: [&dyn Fn(&Bin) -> i64; 2] =
                [&|bin| rounding.around(bin.high).1, &|bin| rounding.around(bin.low).0];
            let [entirely, partly] = [entirely, partly].map(|end| curve.bins.partition_point(|bin| end(bin) < edge));
            (entirely, partly, curve.weight_below(edge))
        };
        // The weight of a range of bins, and its error.
        let between = |start: usize, end: usize| {
            let end = end.max(start);
            let weight = curve.sums_of(end).minus(curve.sums_of(start)).weight;
            (weight, Z95 * curve.variance_between(start..end).max(0.0).sqrt())
        };
        let cuts: Vec<_> = edges.iter().map(cut).collect();
        cuts.windows(2)
            .map(|cuts| {
                let [(start, behind_start, before), (end, behind_end, up_to)] = [cuts[0], cuts[1]];
                let (least, most) = (between(behind_start, end), between(start, behind_end));
                let value = (up_to - before).max(0.0);
                Estimate::around(value, (least.0 - least.1).max(0.0), most.0 + most.1)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::{Ambiguous, DelayStore};
    use crate::sample::Sample;
    use dwell_types::Timestamp;
    use std::iter::repeat_n;

    fn sample(delay: i64, weight: f64) -> Sample {
        Sample::of(Timestamp::from_nanos(0), Nanos::new(delay)).weighted(weight)
    }

    fn of(ambiguous: Ambiguous, samples: impl IntoIterator<Item = Sample>) -> Distribution {
        let mut store = DelayStore::unbounded(1);
        samples.into_iter().for_each(|sample| store.update_for(ambiguous, 0, &sample));
        store.distribution(0, ambiguous)
    }

    fn of_all(delays: impl IntoIterator<Item = i64>, weight: f64) -> Distribution {
        of(Ambiguous::Bounds, delays.into_iter().map(|delay| sample(delay, weight)))
    }

    fn estimate<T>(low: T, value: T, high: T) -> Estimate<T> {
        Estimate { value, low, high }
    }

    /// Where each of 100 samples stands for two exchanges, the variance of their number is 200, and four times as much
    /// where four exchanges share each id.
    #[test]
    fn exchanges_are_at_least_the_samples() {
        assert_eq!(of_all([], 1.0).exchanges(), None);
        let hundred = || of_all(repeat_n(1_000, 100), 2.0);
        let error = Z95 * 200f64.sqrt();
        for (per_id, error) in [(1.0, error), (4.0, 2.0 * error), (0.25, error)] {
            let Estimate { value, low, high } = hundred().with_shared_ids(per_id).exchanges().unwrap();
            assert_eq!(value, 200.0);
            assert!((low - 200.0 + error).abs() < 1e-9 && (high - 200.0 - error).abs() < 1e-9, "{low} {high}");
        }
        assert_eq!(of_all([1_000], 10.0).exchanges().unwrap().low, 1.0);
        // Of 20 exchanges that seem to have been requested once, 10 − 2 are taken for repeats.
        let repeated = Sample { since_first: Nanos::new(2_000), repeat_weight: 10.0, ..sample(1_000, 2.0) };
        let once = of(Ambiguous::Drop, repeat_n(sample(1_000, 2.0), 10).chain([repeated])).exchanges().unwrap();
        assert!((once.value - 12.0).abs() < 1e-3 && once.low == 0.0, "{once:?}");
    }

    /// If times are rounded by up to 300 ns, so is one delay; the mean of twelve by 300 · 1.96 / √36.
    #[test]
    fn rounding_displaces_means_less_than_delays() {
        let rounded = |distribution: Distribution| {
            distribution.with_rounding(Rounding { short: Nanos::new(300), ..Rounding::NONE }).mean().unwrap()
        };
        assert_eq!(rounded(of_all([10_000], 1.0)), estimate(9_700, 10_000, 10_300));
        assert_eq!(rounded(of_all(repeat_n(10_000, 12), 1.0)), estimate(9_902, 10_000, 10_098));
        assert_eq!(rounded(of_all([100], 1.0)), estimate(0, 100, 400));
        // Independent of the error of sampling.
        let sampled = of_all([9_990, 10_010].repeat(6), 100.0);
        let (plain, all) = (sampled.mean().unwrap(), rounded(sampled));
        let both = f64::hypot((plain.high - 10_000) as f64, 98.0).round() as i64;
        assert!(plain.high > 10_005 && (all.high - 10_000 - both).abs() <= 1, "{plain:?} {all:?}");
    }

    #[test]
    fn means_below_zero_have_two_ends() {
        let mean = of_all([-3_000, -1_000], 4.0).mean().unwrap();
        assert!(mean.low == -3_000 && mean.value == -2_000 && mean.high > -1_000, "{mean:?}");
    }

    #[test]
    fn points_are_evenly_spaced() {
        let shares = |points: usize| -> Vec<f64> {
            let cdf = of_all((1..=8).map(|delay| 1_000 * delay), 1.0).cdf(points);
            assert!(cdf.iter().all(|([low, high], share)| low == high && share.is_exact()), "{cdf:?}");
            cdf.iter().map(|(_, share)| share.value).collect()
        };
        assert_eq!(shares(0), Vec::<f64>::new());
        assert_eq!(shares(1), [0.125, 1.0]);
        assert_eq!(shares(4), [0.125, 0.375, 0.625, 0.875, 1.0]);
        assert_eq!(shares(8).len(), 8);
    }

    #[test]
    fn shares_extend_to_all_that_delays_may_be() {
        let shares = |distribution: Distribution| -> Vec<Estimate<f64>> {
            distribution.cdf(100).into_iter().map(|(_, share)| share).collect()
        };
        // One took 10 ns, the other 5 or 15.
        let repeated = Sample { since_first: Nanos::new(15), ..sample(5, 1.0) };
        let ambiguous = of(Ambiguous::Bounds, [sample(10, 1.0), repeated]);
        assert_eq!(shares(ambiguous), [estimate(0.0, 0.25, 0.5), estimate(0.5, 0.75, 1.0), Estimate::exact(1.0)]);
        let rounding = Rounding { short: Nanos::new(300), ..Rounding::NONE };
        let rounded = of_all([1_000, 1_200, 2_000], 1.0).with_rounding(rounding);
        let third = 1.0 / 3.0;
        let expected = [
            estimate(0.0, third, 2.0 * third),
            estimate(0.0, 2.0 * third, 2.0 * third),
            estimate(2.0 * third, 1.0, 1.0),
        ];
        assert_eq!(shares(rounded), expected);
        assert_eq!(shares(of_all([1_000, 2_000], 10.0))[0], estimate(0.0, 0.5, 1.0));
    }

    #[test]
    fn no_count_is_negative() {
        assert_eq!(of_all([1_000, 2_000], 1.0).histogram(&[3_000, 0]), [Estimate::exact(0.0)]);
        let counts = of_all([1_000], 100.0).histogram(&[0, 2_000]);
        assert_eq!(counts, [estimate(0.0, 100.0, 100.0 + Z95 * 9_900f64.sqrt())]);
    }
}
