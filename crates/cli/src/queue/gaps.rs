//! Gaps: runs of packets that were seen on one side of a queue only.

use crate::points::{Run, Silence};
use dwell_types::Timestamp;

/// Detects gaps: runs of packets seen on one side only.
#[derive(Clone, Default)]
pub(super) struct Gaps {
    has_begun: bool,
    /// Packets departed since the last one that was seen arriving.
    unknown: Run,
    longest_unknown: Run,
    /// Of departures, while packets arrive.
    silence: Silence,
}

impl Gaps {
    pub(super) fn arrive(&mut self, at: Timestamp) {
        self.silence.elsewhere(at);
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
        self.silence.here(at);
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
        if let Some(words) = self.silence.gap().and_then(|run| run.words()) {
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
        assert!(burst.warnings(u64::MAX).is_empty());
        let departures = gaps(0..0, 600..900);
        assert!(departures.len() == 1 && departures[0].contains("where packets depart has a gap"), "{departures:?}");
    }
}
