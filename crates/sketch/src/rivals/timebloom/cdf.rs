use dwell_types::Nanos;
use std::fmt;

/// A distribution of delays by its distribution function: linear between points, with steps where two points have the
/// same delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// In ascending order of delay; the last share is 1.
    points: Vec<Point>,
}

/// A point of the distribution function.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// In nanoseconds, not negative.
    pub(super) delay: f64,
    /// P(X ≤ delay).
    pub(super) share: f64,
    /// E[X; X ≤ delay] in nanoseconds.
    pub(super) moment: f64,
    /// Share per nanosecond from here to the next point.
    density: f64,
}

/// The position of a delay in a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// The number of points up to it.
    pub(super) above: usize,
    /// P(X ≤ delay).
    pub(super) share: f64,
}

/// Why points are not a valid distribution of delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CdfError {
    /// Delays must not be negative or descend.
    Delay(Nanos),
    /// Shares must lie in `0..=1` and must not descend.
    Share(f64),
    /// The last share must be 1.
    Total(f64),
    /// Weights must be above zero, and their sum finite.
    Weight(f64),
}

impl fmt::Display for CdfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(delay) => write!(f, "delay {delay}: expected zero or more, and not less than the one before"),
            Self::Share(share) => write!(f, "share {share}: expected 0 to 1, and not less than the one before"),
            Self::Total(share) => write!(f, "the shares end with {share} instead of 1"),
            Self::Weight(weight) => write!(f, "weight {weight}: expected a number above zero, with a finite sum"),
        }
    }
}

impl std::error::Error for CdfError {}

impl Cdf {
    /// Interpolates pairs of a delay and P(X ≤ delay). A first share above zero is a step.
    pub fn linear(points: &[(Nanos, f64)]) -> Result<Self, CdfError> {
        let mut last = Point::default();
        let mut cdf = Self { points: Vec::with_capacity(points.len() + 1) };
        for &(delay, share) in points {
            let delay_ns = delay.get() as f64;
            if delay_ns < last.delay {
                return Err(CdfError::Delay(delay));
            }
            if !(last.share..=1.0).contains(&share) {
                return Err(CdfError::Share(share));
            }
            if cdf.points.is_empty() {
                last.delay = delay_ns;
                cdf.points.push(last);
            }
            last = last.to(delay_ns, share);
            cdf.points.push(last);
        }
        if last.share == 1.0 { Ok(cdf.with_densities()) } else { Err(CdfError::Total(last.share)) }
    }

    /// From known delays, each with its weight above zero, in any order: lines between 72 of their quantiles, ever denser
    /// from the 98th percentile on.
    pub fn of_delays(mut delays: Vec<(Nanos, f64)>) -> Result<Self, CdfError> {
        const EVEN: u32 = 64;
        const HALVINGS: i32 = 7;
        delays.sort_unstable_by_key(|&(delay, _)| delay);
        let weights = || delays.iter().map(|&(_, weight)| weight);
        let total: f64 = weights().sum();
        let is_weight = |weight: &f64| *weight > 0.0 && total.is_finite();
        if let Some(weight) = weights().find(|weight| !is_weight(weight)) {
            return Err(CdfError::Weight(weight));
        }
        let even = (0..EVEN).map(|share| f64::from(share) / f64::from(EVEN));
        let tail = (1..=HALVINGS).map(|halving| 1.0 - 2f64.powi(-halving) / f64::from(EVEN));
        let mut left = delays.iter();
        let (mut sum, mut last) = (0.0, None);
        let mut points = Vec::new();
        for share in even.chain(tail).chain([1.0]) {
            // The last point is the longest delay, even if the weights up to it add up to less.
            while last.is_none() || sum < share * total || share == 1.0 {
                let Some(&(delay, weight)) = left.next() else { break };
                (sum, last) = (sum + weight, Some(delay));
            }
            points.extend(last.map(|delay| (delay, share)));
        }
        Self::linear(&points)
    }

    /// The uniform distribution from zero to the longest delay.
    pub(super) fn uniform(longest: Nanos) -> Self {
        let first = Point::default();
        Self { points: vec![first, first.to(longest.get().max(0) as f64, 1.0)] }.with_densities()
    }

    /// From cells of uniform density: the upper end of each in nanoseconds, ascending from above zero, and its weight.
    pub(super) fn from_cells(ends: &[f64], weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        let mut points = Vec::with_capacity(ends.len() + 1);
        let (mut last, mut sum) = (Point::default(), 0.0);
        points.push(last);
        for (&end, weight) in ends.iter().zip(weights) {
            sum += weight;
            last = last.to(end, sum / total);
            points.push(last);
        }
        Self { points }.with_densities()
    }

    /// Bytes of a distribution with this many cells.
    pub(super) const fn cells_bytes(cells: usize) -> usize {
        (cells + 1) * size_of::<Point>()
    }

    fn with_densities(mut self) -> Self {
        for next in 1..self.points.len() {
            let (low, high) = (self.points[next - 1], self.points[next]);
            if high.delay > low.delay {
                self.points[next - 1].density = (high.share - low.share) / (high.delay - low.delay);
            }
        }
        self
    }

    /// Expected delay in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.points.last().map_or(0.0, |last| last.moment)
    }

    /// The least delay in nanoseconds that a share in `0..=1` does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        self.quantile_between(share, 0, self.points.len())
    }

    /// The same if the delay lies after the first `from` points and no later than the point after the first `to`.
    #[inline]
    pub(super) fn quantile_between(&self, share: f64, from: usize, to: usize) -> f64 {
        let last = self.points.len() - 1;
        let near = &self.points[from..(to + 1).min(last + 1)];
        let above = (from + near.partition_point(|point| point.share < share)).min(last);
        let high = self.points[above];
        let low = self.points[above.saturating_sub(1)];
        if high.share <= low.share {
            return high.delay;
        }
        low.delay + (high.delay - low.delay) * ((share - low.share) / (high.share - low.share)).clamp(0.0, 1.0)
    }

    /// The position of a delay in the distribution.
    #[inline]
    pub(super) fn place(&self, delay: f64) -> Place {
        let above = self.above(delay);
        let share = above.checked_sub(1).map_or(0.0, |low| self.points[low].share_at(delay));
        Place { above, share }
    }

    /// The points at the ends of cells, if the distribution has this many cells.
    #[inline]
    pub(super) fn cells(&self, cells: usize) -> Option<&[Point]> {
        self.points.get(1..).filter(|points| points.len() == cells)
    }

    /// The distribution function up to a delay.
    #[inline]
    pub(super) fn at(&self, delay: f64) -> Point {
        let Place { above, share } = self.place(delay);
        let low = above.checked_sub(1).map(|low| self.points[low]);
        low.map_or(Point { delay, ..Point::default() }, |low| low.to(delay, share))
    }

    /// The number of points up to a delay. If there are four points per octave, as in learnt distributions, it is
    /// estimated from a float's exponent and two more bits: a search need only compare a few points next to it.
    #[inline]
    fn above(&self, delay: f64) -> usize {
        const NEAR: usize = 4;
        let up_to = |points: &[Point]| points.iter().filter(|point| point.delay <= delay).count();
        let search = || self.points.partition_point(|point| point.delay <= delay);
        if self.points.len() <= NEAR {
            return up_to(&self.points);
        }
        let quarters = |delay: f64| (delay.to_bits() >> (f64::MANTISSA_DIGITS - 3)) as usize;
        let first = self.points[1].delay;
        let start = quarters(delay.max(first)) - quarters(first);
        let Some((near, behind)) = self.points.get(start..).and_then(<[Point]>::split_first_chunk::<NEAR>) else {
            return search();
        };
        let is_found = near[0].delay <= delay && behind.first().is_none_or(|point| delay < point.delay);
        if is_found { start + up_to(near) } else { search() }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.points.capacity() * size_of::<Point>()
    }
}

impl Point {
    /// P(X ≤ a delay) before the next point.
    #[inline]
    fn share_at(&self, delay: f64) -> f64 {
        self.share + self.density * (delay - self.delay)
    }

    /// A later point, with the probability in between spread evenly.
    #[inline]
    fn to(self, delay: f64, share: f64) -> Self {
        let moment = self.moment + (share - self.share) * (self.delay + delay) / 2.0;
        Self { delay, share, moment, density: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(points: &[(i64, f64)]) -> Vec<(Nanos, f64)> {
        points.iter().map(|&(delay, share)| (Nanos::new(delay), share)).collect()
    }

    /// Of log-normal delays, quantiles are within some percent of the true ones, in a few KiB, whatever their number;
    /// weights count as repetitions do.
    #[test]
    fn known_delays_are_a_distribution() {
        let delays: Vec<(Nanos, f64)> = (1..10_000).map(|i| (Nanos::new(i * i), 1.0)).rev().collect();
        let cdf = Cdf::of_delays(delays.clone()).unwrap();
        for share in [0.0, 0.1, 0.5, 0.95, 0.99, 0.999, 1.0] {
            let truth = (share * 9_999f64).max(1.0).powi(2);
            assert!((cdf.quantile(share) / truth - 1.0).abs() < 0.02, "{share}: {} {truth}", cdf.quantile(share));
        }
        assert!(cdf.state_bytes() < 3 << 10, "{}", cdf.state_bytes());
        let weighted = delays.iter().map(|&(delay, _)| (delay, if delay.get() % 2 == 0 { 3.0 } else { 1.0 })).collect();
        let repeated = delays.iter().flat_map(|&of| vec![of; if of.0.get() % 2 == 0 { 3 } else { 1 }]).collect();
        assert_eq!(Cdf::of_delays(weighted), Cdf::of_delays(repeated));
        let single = Cdf::of_delays(vec![(Nanos::new(5), 0.3)]).unwrap();
        assert_eq!((single.quantile(0.1), single.mean(), single.at(4.0).share), (5.0, 5.0, 0.0));
        assert_eq!(Cdf::of_delays(Vec::new()), Err(CdfError::Total(0.0)));
        assert_eq!(Cdf::of_delays(vec![(Nanos::new(-1), 1.0)]), Err(CdfError::Delay(Nanos::new(-1))));
    }

    #[test]
    fn steps_and_lines() {
        let steps = Cdf::linear(&points(&[(10, 0.25), (20, 0.25), (20, 0.75), (40, 0.75), (40, 1.0)])).unwrap();
        assert_eq!(steps.mean(), 22.5);
        assert_eq!([9.0, 10.0, 19.0, 20.0, 50.0].map(|d| steps.at(d).share), [0.0, 0.25, 0.25, 0.75, 1.0]);
        assert_eq!([0.1, 0.25, 0.3, 0.8, 1.0].map(|q| steps.quantile(q)), [10.0, 10.0, 20.0, 40.0, 40.0]);
        let line = Cdf::linear(&points(&[(10, 0.0), (30, 1.0)])).unwrap();
        assert_eq!((line.mean(), line.quantile(0.25), line.at(20.0).share), (20.0, 15.0, 0.5));
        assert_eq!(line.at(20.0).moment, 0.5 * 15.0);
        assert_eq!(Cdf::uniform(Nanos::new(8)).quantile(0.5), 4.0);
        assert_eq!(Cdf::from_cells(&[1.0, 3.0], &[1.0, 3.0]).at(2.0).share, 0.625);
    }

    /// The number is correct with four points per octave, where the estimate holds, and with others, where it does not.
    #[test]
    fn points_are_found_wherever_they_are() {
        let ends: Vec<f64> = (0..57).map(|cell| 3e9 * 2f64.powf((f64::from(cell) - 56.0) / 4.0)).collect();
        let learnt = Cdf::from_cells(&ends, &[1.0; 57]);
        let steps = Cdf::linear(&points(&[
            (10, 0.25),
            (20, 0.25),
            (20, 0.5),
            (21, 0.5),
            (21, 0.75),
            (9_000, 0.75),
            (9_000, 1.0),
        ]))
        .unwrap();
        for cdf in [learnt, steps, Cdf::uniform(Nanos::new(30))] {
            let delays = (0..4_000).map(|i| 1e10 * 2f64.powf(-f64::from(i) / 90.0)).chain([-1.0, 0.0, 20.0]);
            for delay in delays.chain(ends.iter().flat_map(|&end| [end.next_down(), end, end.next_up()])) {
                assert_eq!(cdf.above(delay), cdf.points.iter().filter(|point| point.delay <= delay).count(), "{delay}");
            }
        }
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for weight in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            let error = Cdf::of_delays(points(&[(5, 1.0), (7, weight)])).unwrap_err();
            assert!(matches!(error, CdfError::Weight(_)), "{weight}: {error}");
        }
        let error = |pairs: &[(i64, f64)]| Cdf::linear(&points(pairs)).unwrap_err();
        assert_eq!(error(&[(-1, 1.0)]), CdfError::Delay(Nanos::new(-1)));
        assert_eq!(error(&[(5, 0.5), (4, 1.0)]), CdfError::Delay(Nanos::new(4)));
        assert_eq!(error(&[(5, 0.5), (6, 0.4)]), CdfError::Share(0.4));
        assert_eq!(error(&[(5, 1.5)]), CdfError::Share(1.5));
        assert!(matches!(error(&[(5, f64::NAN)]), CdfError::Share(_)));
        assert_eq!(error(&[(5, 0.5)]), CdfError::Total(0.5));
        assert_eq!(error(&[]), CdfError::Total(0.0));
    }
}
