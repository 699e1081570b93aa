use super::latest::Latest;
use dwell_types::{Nanos, Timestamp};

/// How two clocks run apart, as far as the smallest delays of both directions bound it.
///
/// At every time the offset of the receiver's clock is at most each delay of the forward direction, and at least minus
/// each delay of the reverse direction. The offset is a straight line between these (Moon, Skelly and Towsley 1999, §III,
/// for one direction): of all such lines, these are the extremes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The least and the largest slope, in parts per million: positive if the receiver's clock is the faster one.
    pub ppm: [f64; 2],
    /// The least and the largest offset in ns at the first delay.
    pub start_ns: [f64; 2],
    /// The same at the last delay.
    pub end_ns: [f64; 2],
}

/// The offset at a time is at most, or at least, this.
#[derive(Clone, Copy)]
struct Bound {
    /// Seconds since the first delay.
    at: f64,
    /// ns, relative to a common number.
    offset: f64,
    is_upper: bool,
}

/// The offset as a function of time.
struct Line {
    /// At the first delay, in ns.
    start: f64,
    /// In ns per second.
    slope: f64,
}

/// Bounds may be missed by so many ns: rounding.
const TOLERANCE: f64 = 1e-3;

impl Drift {
    /// By the delays of the forward and of the reverse direction, where times at the receiver were given less `ahead`.
    /// `None` if no clocks explain them that run straight and drift less than [`Nanos::drift`], and if such that drift as
    /// much do, so that nothing is known.
    pub(super) fn of(forward: &Latest, reverse: &Latest, ahead: Nanos) -> Option<Self> {
        // By the sender's clock. A delay below zero becomes known by the other one, when the packet is sent.
        let behind = Nanos::new(ahead.get().saturating_neg());
        let upper = |(at, delay): (Timestamp, Nanos)| (at - (delay + behind).max(Nanos::ZERO), delay, true);
        let lower = |(at, delay): (Timestamp, Nanos)| {
            (at + (delay + ahead).min(Nanos::ZERO), Nanos::new(delay.get().saturating_neg()), false)
        };
        let points = || forward.lowest.points().map(upper).chain(reverse.lowest.points().map(lower));
        let ends = || forward.lowest.ends().map(upper).chain(reverse.lowest.ends().map(lower)).map(|(at, ..)| at);
        let (_, base) = forward.lowest.points().next()?;
        reverse.lowest.points().next()?;
        let (first, last) = (ends().min()?, ends().max()?);
        let bounds: Vec<Bound> = points()
            .map(|(at, offset, is_upper)| Bound {
                at: (at - first).as_secs_f64(),
                offset: offset.get().saturating_sub(base.get()) as f64,
                is_upper,
            })
            .collect();
        let end = (last - first).as_secs_f64();
        let most = Nanos::from_secs(1).drift().get() as f64;
        let lines = corners(&bounds, most);
        let extremes = |of: &dyn Fn(&Line) -> f64| {
            let values = || lines.iter().map(of);
            [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)]
        };
        let base = base.get() as f64;
        let slopes = extremes(&|line| line.slope);
        let is_known = !lines.is_empty() && (slopes[0] > -most || slopes[1] < most);
        is_known.then(|| Self {
            // A nanosecond per second is a billionth.
            ppm: slopes.map(|slope| slope / 1e3),
            start_ns: extremes(&|line| base + line.start),
            end_ns: extremes(&|line| base + line.start + line.slope * end),
        })
    }
}

/// The corners of the set of lines that keep all bounds, with slopes up to `most`: each touches two bounds, or one with
/// the steepest slope. Bounds are few.
fn corners(bounds: &[Bound], most: f64) -> Vec<Line> {
    let through = |bound: &Bound, slope: f64| Line { start: bound.offset - slope * bound.at, slope };
    let keeps = |&Line { start, slope }: &Line| {
        slope.abs() <= most
            && bounds.iter().all(|bound| {
                let above = start + slope * bound.at - bound.offset;
                if bound.is_upper { above <= TOLERANCE } else { above >= -TOLERANCE }
            })
    };
    let pairs = bounds.iter().enumerate().flat_map(|(number, a)| bounds[number + 1..].iter().map(move |b| (a, b)));
    let of_two = pairs.filter(|(a, b)| a.at != b.at).map(|(a, b)| through(a, (b.offset - a.offset) / (b.at - a.at)));
    let of_one = bounds.iter().flat_map(|bound| [-most, most].map(|slope| through(bound, slope)));
    of_two.chain(of_one).filter(keeps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn latest(delays: impl IntoIterator<Item = (i64, i64)>) -> Latest {
        let mut latest = Latest::default();
        delays.into_iter().for_each(|(at, delay)| latest.add(Timestamp::from_nanos(at), Nanos::new(delay)));
        latest
    }

    /// Both directions of clocks that begin with `offset` ns and drift by `ppm`: packets take .01 to 4 ms. The receiver's
    /// times are given less `set_back`.
    fn clocks(offset: i64, ppm: i64, seconds: i64, set_back: i64) -> [Latest; 2] {
        let ahead = |at: i64| offset + at / 1_000 * ppm / 1_000;
        let waits = |number: i64| 10_000 + (number * number * 7 + number * 3) % 13 * 333_333;
        let sent = (0..seconds * 100).map(|number| (number * SECOND / 100, waits(number)));
        // A delay becomes known at the later of the two times, each by its clock.
        let there = latest(sent.clone().map(|(at, wait)| {
            let arrived = at + wait + ahead(at + wait);
            (at.max(arrived - set_back), arrived - at)
        }));
        let back = latest(sent.map(|(at, wait)| {
            let (sent, arrived) = (at + ahead(at), at + wait);
            (arrived.max(sent - set_back), arrived - sent)
        }));
        [there, back]
    }

    /// The bounds contain the truth, and the slope is known as well as 20 µs in the time of the capture allow.
    #[test]
    fn drift_is_bounded() {
        for (offset, ppm, seconds) in [
            (0, 0, 60),
            (3_000_000, 100, 79),
            (-5 * SECOND, -40, 600),
            (3_000 * SECOND, 250, 3_600),
            (0, 20, 86_400),
            (-300_000_000, 100, 10),
            (300_000_000, 100, 10),
            (-300_000_000, 999, 60),
        ] {
            for set_back in [0, offset] {
                let [there, back] = clocks(offset, ppm, seconds, set_back);
                let drift = Drift::of(&there, &back, Nanos::new(set_back)).unwrap();
                let contains = |[low, high]: [f64; 2], truth: f64| low <= truth + 1.0 && truth <= high + 1.0;
                let end = (offset + seconds * ppm * 1_000) as f64;
                assert!(contains(drift.ppm, ppm as f64), "{drift:?}");
                assert!(
                    contains(drift.start_ns, offset as f64) && contains(drift.end_ns, end),
                    "{drift:?} {offset} {end}"
                );
                let width = drift.ppm[1] - drift.ppm[0];
                assert!(width < 3.0 * 20.0 / seconds as f64, "{ppm} for {seconds} s: {drift:?}");
                assert!(
                    drift.start_ns[1] - drift.start_ns[0] < 5e4 && drift.end_ns[1] - drift.end_ns[0] < 5e4,
                    "{drift:?}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_is_not_known() {
        let [there, back] = clocks(0, 0, 60, 0);
        let none = Latest::default();
        assert_eq!(
            [(&there, &none), (&none, &back), (&none, &none)].map(|(a, b)| Drift::of(a, b, Nanos::ZERO)),
            [None; 3]
        );
        // Clocks cannot drift by .2%, nor jump.
        let [there, back] = clocks(0, 2_000, 60, 0);
        assert_eq!(Drift::of(&there, &back, Nanos::ZERO), None);
        let jumped = latest((0..60).map(|at| (at * SECOND, if at < 30 { 1_000_000 } else { -50_000_000 })));
        assert_eq!(Drift::of(&jumped, &back, Nanos::ZERO), None);
        // In a thousandth of a second 20 µs say nothing about the slope.
        let [there, back] = clocks(0, 0, 1, 0)
            .map(|latest| self::latest(latest.lowest.points().map(|(at, delay)| (at.as_nanos() / 1_000, delay.get()))));
        assert_eq!(Drift::of(&there, &back, Nanos::ZERO), None);
    }
}
