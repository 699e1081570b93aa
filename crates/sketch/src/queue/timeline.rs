use dwell_types::{Nanos, Timestamp};

/// The queue over time: a bounded number of bins of equal length, which doubles when time exceeds the last bin.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    start: Option<Timestamp>,
    /// Nanoseconds per bin.
    length: i64,
    bins: Vec<Bin>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    longest_delay: Nanos,
    deepest: u64,
    largest_flow: u64,
}

/// A time bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Its first nanosecond.
    pub start: Timestamp,
    /// The first nanosecond after it.
    pub end: Timestamp,
    /// The longest delay of the packets that departed in it; zero where none did.
    pub longest_delay: Nanos,
    /// The largest queue that one of them found, in bytes or packets.
    pub deepest: u64,
    /// The largest size of a packet's own flow in the queue, among these packets.
    pub largest_flow: u64,
}

impl Bin {
    fn join(&mut self, other: Self) {
        self.longest_delay = self.longest_delay.max(other.longest_delay);
        self.deepest = self.deepest.max(other.deepest);
        self.largest_flow = self.largest_flow.max(other.largest_flow);
    }
}

impl Timeline {
    /// Maximum number of bins.
    const STRETCHES: usize = 512;
    /// Bytes on the heap.
    pub(super) const HEAP_BYTES: usize = Self::STRETCHES * size_of::<Bin>();
    /// A microsecond: shorter bins would show single packets.
    const FIRST_LENGTH: i64 = 1_000;

    pub(super) fn new() -> Self {
        Self { start: None, length: Self::FIRST_LENGTH, bins: vec![Bin::default(); Self::STRETCHES] }
    }

    /// Adds a packet that departs, not before the first one.
    pub(super) fn update(&mut self, at: Timestamp, delay: Nanos, queue: u64, flow: u64) {
        let since = (at - *self.start.get_or_insert(at)).get().max(0);
        while since / self.length >= Self::STRETCHES as i64 {
            self.halve();
        }
        self.bins[(since / self.length) as usize].join(Bin {
            longest_delay: delay,
            deepest: queue,
            largest_flow: flow,
        });
    }

    /// Merges pairs of bins, and doubles their length.
    fn halve(&mut self) {
        for at in 0..Self::STRETCHES / 2 {
            let mut both = self.bins[2 * at];
            both.join(self.bins[2 * at + 1]);
            self.bins[at] = both;
        }
        self.bins[Self::STRETCHES / 2..].fill(Bin::default());
        self.length *= 2;
    }

    /// All bins up to the last in which a packet departed.
    pub(super) fn stretches(&self) -> Vec<Stretch> {
        let Some(start) = self.start else { return Vec::new() };
        let last = self.bins.iter().rposition(|bin| bin.deepest > 0 || bin.longest_delay > Nanos::ZERO).unwrap_or(0);
        let begins = |number: usize| start + Nanos::new(self.length.saturating_mul(number as i64));
        let stretch = |(number, bin): (usize, &Bin)| Stretch {
            start: begins(number),
            end: begins(number + 1),
            longest_delay: bin.longest_delay,
            deepest: bin.deepest,
            largest_flow: bin.largest_flow,
        };
        self.bins[..=last].iter().enumerate().map(stretch).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However long the time span, each bin has the maxima of the packets in it, and there are never too many bins.
        #[test]
        fn stretches_have_the_largest_of_what_was_in_them(
            start in any::<i64>(),
            steps in prop::collection::vec((0i64..1 << 40, 0i64..1_000, 1u64..1_000), 1..200),
        ) {
            let mut timeline = Timeline::new();
            let mut at = Timestamp::from_nanos(start);
            let mut seen = Vec::new();
            for (gap, delay, queue) in steps {
                at = at + Nanos::new(gap);
                timeline.update(at, Nanos::new(delay), queue, queue / 2);
                seen.push((at, delay, queue));
            }
            let stretches = timeline.stretches();
            prop_assert!(stretches.len() <= Timeline::STRETCHES);
            for (number, stretch) in stretches.iter().enumerate() {
                let is_last = number + 1 == stretches.len();
                let own = || seen.iter().filter(|(at, _, _)| *at >= stretch.start && (is_last || *at < stretch.end));
                prop_assert_eq!(stretch.deepest, own().map(|(_, _, queue)| *queue).max().unwrap_or(0));
                prop_assert_eq!(stretch.longest_delay.get(), own().map(|(_, delay, _)| *delay).max().unwrap_or(0));
                prop_assert_eq!(stretch.largest_flow, own().map(|(_, _, queue)| *queue / 2).max().unwrap_or(0));
            }
            prop_assert!(stretches.last().is_some_and(|last| seen.iter().any(|(at, _, _)| *at >= last.start)));
        }
    }

    #[test]
    fn time_that_runs_over_the_end_makes_stretches_longer() {
        let mut timeline = Timeline::new();
        (0..Timeline::STRETCHES as i64 + 1).for_each(|micro| {
            timeline.update(Timestamp::from_nanos(1_000 * micro), Nanos::new(micro + 1), 1, 1);
        });
        let stretches = timeline.stretches();
        assert_eq!((stretches.len(), stretches[0].end.as_nanos()), (Timeline::STRETCHES / 2 + 1, 2_000));
        assert_eq!(stretches[0].longest_delay, Nanos::new(2));
    }
}
