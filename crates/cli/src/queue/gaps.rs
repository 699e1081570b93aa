//! Gaps: runs of packets that were seen on one side of a queue only.

use dwell_report::text::moment;
use dwell_types::{Nanos, Timestamp};

/// Detects gaps: runs of packets seen on one side only.
#[derive(Clone, Default)]
pub(super) struct Gaps {
    has_begun: bool,
    departed: Run,
    /// Packets departed since the last one that was seen arriving.
    unknown: Run,
    /// Packets arrived since the last departure.
    stuck: Run,
    longest_unknown: Run,
    longest_stuck: Run,
}

/// A run of consecutive packets.
#[derive(Clone, Copy, Default)]
struct Run {
    packets: u64,
    ends: Option<(Timestamp, Timestamp)>,
}

impl Run {
    /// Shorter runs have other causes.
    const LEAST: u64 = 100;

    fn add(&mut self, at: Timestamp) {
        self.packets += 1;
        self.ends = Some((self.ends.map_or(at, |ends| ends.0), at));
    }

    /// Ends the run, and keeps it if it is the longest.
    fn end(&mut self, longest: &mut Self) {
        let run = std::mem::take(self);
        if run.packets > longest.packets {
            *longest = run;
        }
    }

    fn words(&self) -> Option<String> {
        let (first, last) = self.ends.filter(|_| self.packets >= Self::LEAST)?;
        let since = moment(first.as_nanos());
        Some(format!("{} packets in {}, from {since} on", self.packets, last - first))
    }

    fn span(&self) -> Nanos {
        self.ends.map_or(Nanos::ZERO, |(first, last)| last - first)
    }
}

impl Gaps {
    pub(super) fn arrive(&mut self, at: Timestamp) {
        self.stuck.add(at);
    }

    /// Processes a departure; `is_known` if its packet was seen arriving, however long before. Nothing before the first
    /// such packet counts as a gap.
    pub(super) fn depart(&mut self, at: Timestamp, is_known: bool) {
        if is_known {
            self.unknown.end(&mut self.longest_unknown);
            if !self.has_begun {
                *self = Self { has_begun: true, ..Self::default() };
            }
        } else {
            self.unknown.add(at);
        }
        self.departed.add(at);
        self.stuck.end(&mut self.longest_stuck);
    }

    /// Whether the run lasts so long that many packets should have departed during it, unlike a burst of arrivals.
    fn is_gap(&self, stuck: &Run) -> bool {
        const LEAST_INTERVALS: i64 = 20;
        let intervals = self.departed.packets.saturating_sub(1).max(1) as i64;
        stuck.span().get() / LEAST_INTERVALS >= self.departed.span().get() / intervals
    }

    /// Warns of the longest runs, the one of departures unless most of it is explained otherwise: `unexplained` of all
    /// departures are not.
    pub(super) fn warnings(&self, unexplained: u64) -> Vec<String> {
        let mut warnings = Vec::new();
        let is_unexplained = unexplained > self.longest_unknown.packets / 2;
        if let Some(words) = self.longest_unknown.words().filter(|_| is_unexplained) {
            warnings.push(format!(
                "a capture where packets arrive has a gap, or packets arrived elsewhere: {words}, departed without \
                 being seen to arrive"
            ));
        }
        if let Some(words) = self.longest_stuck.words().filter(|_| self.is_gap(&self.longest_stuck)) {
            warnings.push(format!("the capture where packets depart has a gap: {words}, arrived while none departed"));
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// Warnings for packets that arrive 1 µs apart and depart 10 µs later, except for those that one side misses.
    fn gaps(misses_arrivals: std::ops::Range<i64>, misses_departures: std::ops::Range<i64>) -> Vec<String> {
        let mut gaps = Gaps::default();
        for packet in 0..2_000 {
            if !misses_arrivals.contains(&packet) {
                gaps.arrive(at(packet * 1_000));
            }
            let before = packet - 10;
            if before >= 0 && !misses_departures.contains(&before) {
                gaps.depart(at(packet * 1_000), !misses_arrivals.contains(&before));
            }
        }
        gaps.warnings(u64::MAX)
    }

    #[test]
    fn gaps_of_either_side_are_told_and_unequal_ends_are_none() {
        assert!(gaps(0..0, 0..0).is_empty());
        // Captures that begin and end at different times, and a few packets that took another way.
        assert!(gaps(0..500, 1_500..2_000).is_empty());
        assert!(gaps(600..650, 700..780).is_empty());
        let arrivals = gaps(600..900, 0..0);
        assert!(
            arrivals.len() == 1
                && arrivals[0].contains("300 packets in 299 µs, from 1970-01-01 00:00:00.000610 UTC on"),
            "{arrivals:?}"
        );
        // Bursts of a hundred packets that arrive at once and depart one per microsecond.
        let mut burst = Gaps::default();
        for packet in 0..1_000 {
            (0..100).for_each(|_| burst.arrive(at(packet * 100_000 + 1)));
            (0..100).for_each(|n| burst.depart(at(packet * 100_000 + n * 1_000), true));
        }
        assert!(burst.warnings(u64::MAX).is_empty() && burst.longest_stuck.packets == 100);
        let departures = gaps(0..0, 600..900);
        assert!(departures.len() == 1 && departures[0].contains("where packets depart has a gap"), "{departures:?}");
    }
}
