//! How clocks of two points run apart, as far as directions must be known.

use super::both::Known;
use dwell_types::{Nanos, Timestamp};

/// A straight line of the offset of the receiver's clock over time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Drift {
    start: Timestamp,
    /// By how much the offset grows per unit of time.
    slope: f64,
}

/// At this time the offset is at most, or at least, this.
#[derive(Clone, Copy)]
struct Bound {
    at: f64,
    offset: f64,
    is_upper: bool,
}

impl Drift {
    /// The offset does not change.
    pub(super) const NONE: Self = Self { start: Timestamp::from_nanos(0), slope: 0.0 };

    /// The drift by which the fewest delays are negative, given delays of both directions without clock correction. None
    /// if a constant offset is as good, or if even the best line leaves more than a quarter of them negative.
    pub(super) fn of(forward: &[Known], back: &[Known]) -> Self {
        const SHARE: usize = 4;
        let all = || forward.iter().chain(back);
        let times = || all().map(|known| known.at);
        let (Some(start), Some(end)) = (times().min(), times().max()) else { return Self::NONE };
        let base = all().next().map_or(0, |known| known.delay);
        let bound = |is_upper: bool| {
            move |known: Known| Bound {
                at: (known.at - start).get() as f64,
                offset: known.delay.saturating_sub(base) as f64,
                is_upper,
            }
        };
        let [upper, lower] = [extremes(forward, start..=end, false), extremes(back, start..=end, true)];
        let bounds: Vec<Bound> = upper.map(bound(true)).chain(lower.map(bound(false))).collect();
        let (most, slopes) = best(&bounds);
        match (slopes.first(), slopes.last()) {
            (Some(&least), Some(&greatest))
                if !slopes.contains(&0.0) && (bounds.len() - most) * SHARE <= bounds.len() =>
            {
                Self { start, slope: least.midpoint(greatest) }
            }
            _ => Self::NONE,
        }
    }

    /// A delay as it would be if the offset were always that of the start.
    pub(super) fn correct(&self, Known { delay, at }: Known) -> i64 {
        delay.saturating_sub(((at - self.start).get() as f64 * self.slope) as i64)
    }
}

/// The smallest delay of each span of time, or the largest.
fn extremes(
    delays: &[Known],
    times: std::ops::RangeInclusive<Timestamp>,
    are_largest: bool,
) -> impl Iterator<Item = Known> + use<> {
    const SPANS: i64 = 32;
    let each = (*times.end() - *times.start()).get() / SPANS + 1;
    let mut spans = [None::<Known>; SPANS as usize];
    for &known in delays {
        let span = &mut spans[((known.at - *times.start()).get() / each) as usize];
        if span.is_none_or(|other| if are_largest { known.delay > other.delay } else { known.delay < other.delay }) {
            *span = Some(known);
        }
    }
    spans.into_iter().flatten()
}

/// How many bounds a line can keep, and the slopes of lines that keep as many, in rising order: of those through two
/// bounds, and of level ones. Bounds are few.
fn best(bounds: &[Bound]) -> (usize, Vec<f64>) {
    /// Rounding, in ns.
    const TOLERANCE: f64 = 1.0;
    let steepest = Nanos::from_secs(1).drift().get() as f64 / Nanos::from_secs(1).get() as f64;
    let (mut most, mut slopes) = (0, Vec::new());
    let mut judge = |through: &Bound, slope: f64| {
        let keeps = |bound: &&Bound| {
            let above = through.offset + slope * (bound.at - through.at) - bound.offset;
            if bound.is_upper { above <= TOLERANCE } else { above >= -TOLERANCE }
        };
        let kept = bounds.iter().filter(keeps).count();
        if kept > most {
            (most, slopes) = (kept, Vec::new());
        }
        if kept == most {
            slopes.push(slope);
        }
    };
    for (number, a) in bounds.iter().enumerate() {
        judge(a, 0.0);
        for b in &bounds[number + 1..] {
            let slope = (b.offset - a.offset) / (b.at - a.at);
            if slope.abs() <= steepest {
                judge(a, slope);
            }
        }
    }
    slopes.sort_unstable_by(f64::total_cmp);
    (most, slopes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// Both directions of a minute, by a clock that is ahead by this much, with delays of 100 µs to 1.3 ms.
    fn delays(ahead: impl Fn(i64) -> i64) -> [Vec<Known>; 2] {
        let wait = |number: i64| 100_000 + number * number % 13 * 100_000;
        let each = |sign: i64| {
            let known = |number: i64| {
                let at = number * SECOND / 10;
                Known { delay: ahead(at) + sign * wait(number), at: Timestamp::from_nanos(at) }
            };
            (0..600).map(known).collect()
        };
        [each(1), each(-1)]
    }

    /// The slope is known as well as 200 µs in a minute allow, whatever the offset, and whatever single delays are.
    #[test]
    fn drift_is_found() {
        for ppm in [-500, -20, 20, 100, 900] {
            for offset in [0, -3 * SECOND, 1_000 * SECOND] {
                let [mut forward, mut back] = delays(|at| offset + at / 1_000 * ppm / 1_000);
                let errs = |drift: Drift| (drift.slope * 1e6 - ppm as f64).abs();
                assert!(errs(Drift::of(&forward, &back)) < 2.0, "{ppm} {offset}");
                // Matched with equal packets that were sent later.
                forward[77].delay -= 5 * SECOND;
                back[333].delay += SECOND / 10;
                assert!(errs(Drift::of(&forward, &back)) < 2.0, "{ppm} {offset}");
            }
        }
    }

    /// Clocks that agree or were set once, delays that no clock explains, and too few of them.
    #[test]
    fn what_is_no_drift_is_none() {
        let of = |[forward, back]: [Vec<Known>; 2]| Drift::of(&forward, &back);
        let known = |at: i64| [Known { delay: 1, at: Timestamp::from_nanos(at) }; 1].to_vec();
        for delays in [
            delays(|_| 0),
            delays(|_| -7 * SECOND),
            delays(|at| if at < 30 * SECOND { 0 } else { 9 * SECOND }),
            delays(|at| at / 100),
            [vec![], vec![]],
            [known(0), vec![]],
            [known(0), known(0)],
        ] {
            assert_eq!(of(delays), Drift::NONE);
        }
    }
}
