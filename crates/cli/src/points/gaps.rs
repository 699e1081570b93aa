//! Gaps of a capture, as other captures show them.

use dwell_report::text::moment;
use dwell_types::{Nanos, Timestamp};

/// A run of consecutive packets.
#[derive(Clone, Copy, Default)]
pub(crate) struct Run {
    pub(crate) packets: u64,
    ends: Option<(Timestamp, Timestamp)>,
}

impl Run {
    /// Shorter runs have other causes.
    const LEAST: u64 = 100;

    pub(crate) fn add(&mut self, at: Timestamp) {
        self.packets += 1;
        self.ends = Some((self.ends.map_or(at, |ends| ends.0), at));
    }

    /// Ends the run, and keeps it if it is the longest; returns whether it is.
    pub(crate) fn end(&mut self, longest: &mut Self) -> bool {
        let run = std::mem::take(self);
        let is_longest = run.packets > longest.packets;
        if is_longest {
            *longest = run;
        }
        is_longest
    }

    /// Where a run is, if it is long.
    pub(crate) fn words(&self) -> Option<String> {
        let (first, last) = self.ends.filter(|_| self.packets >= Self::LEAST)?;
        let since = moment(first.as_nanos());
        Some(format!("{} packets in {}, from {since} on", self.packets, last - first))
    }

    pub(crate) fn span(&self) -> Nanos {
        self.ends.map_or(Nanos::ZERO, |(first, last)| last - first)
    }
}

/// Detects that a capture has no packets for long, while others have. Nothing before its first packet and after its last
/// one counts.
#[derive(Clone, Copy, Default)]
pub(crate) struct Silence {
    /// All packets of the capture.
    here: Run,
    /// Packets of others since the last one here.
    elsewhere: Run,
    /// Most of them between two packets here, and the time between these.
    longest: Run,
    pause: Nanos,
}

impl Silence {
    pub(crate) fn here(&mut self, at: Timestamp) {
        if self.here.packets == 0 {
            self.elsewhere = Run::default();
        }
        let last = self.here.ends.map_or(at, |(_, last)| last);
        self.here.add(at);
        if self.elsewhere.end(&mut self.longest) {
            self.pause = at - last;
        }
    }

    pub(crate) fn elsewhere(&mut self, at: Timestamp) {
        self.elsewhere.add(at);
    }

    /// The longest run of packets of others, if it lasts so long that many should have been here during it, unlike a burst.
    /// The time between the packets before and after it does not count, since a clock that was set may have made it.
    pub(crate) fn gap(&self) -> Option<Run> {
        const LEAST_INTERVALS: i64 = 20;
        let (span, intervals) = match self.here.packets {
            ..3 => (self.here.span().get(), 1),
            packets => (self.here.span().get() - self.pause.get(), packets as i64 - 2),
        };
        let is_long = self.longest.span().get() / LEAST_INTERVALS >= span / intervals;
        Some(self.longest).filter(|_| is_long)
    }
}
