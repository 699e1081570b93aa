//! Timestamps that are earlier than a previous one.

use dwell_report::text;
use dwell_types::{Nanos, Timestamp};

/// How far timestamps are out of order.
pub(crate) struct Disorder {
    /// The latest time so far, or [`NEVER`].
    latest: Timestamp,
    /// The last jump far ahead: the time jumped to, and the latest before it.
    leap: Option<(Timestamp, Timestamp)>,
    /// The latest of the times that were earlier than a previous one.
    latest_behind: Timestamp,
    /// The number of times earlier than a previous one.
    count: u64,
    /// The largest such difference.
    most: Nanos,
}

/// Earlier than any real time: nothing was seen yet.
const NEVER: Timestamp = Timestamp::MIN;

/// No frame is this much later than the previous ones, in nanoseconds, unless the capture paused or its time is wrong.
const FAR: u64 = 3_600_000_000_000;

impl Disorder {
    pub(crate) const NONE: Self = Self { latest: NEVER, leap: None, latest_behind: NEVER, count: 0, most: Nanos::ZERO };

    /// Records the time of an observation.
    #[inline]
    pub(crate) fn see(&mut self, at: Timestamp) {
        // One comparison for both cases: as an unsigned number, a negative difference is far ahead, too.
        let ahead = at.as_nanos().wrapping_sub(self.latest.as_nanos()).cast_unsigned();
        if ahead > FAR {
            return self.see_odd(at);
        }
        self.latest = at;
    }

    /// The same for a time that is earlier than the latest, or much later.
    #[inline(never)]
    fn see_odd(&mut self, at: Timestamp) {
        if at < self.latest {
            self.count += 1;
            self.most = self.most.max(self.latest - at);
            self.latest_behind = self.latest_behind.max(at);
        } else {
            self.leap = Some((at, self.latest));
            self.latest = at;
        }
    }

    /// The current time: the latest one, but not a single one far after all others. That may be wild, and would
    /// expire all open requests.
    pub(crate) fn present(&self) -> Timestamp {
        match self.leap.map(|(to, from)| (to, from.max(self.latest_behind))) {
            Some((to, others)) if to == self.latest && others != NEVER => others,
            _ => self.latest,
        }
    }

    /// A warning, if disorder exceeds what several receive queues of one interface cause, or if delays are negative.
    pub(crate) fn warning(&self, noun: &str, is_any_negative: bool) -> Option<String> {
        const USUAL: Nanos = Nanos::new(10_000_000);
        let &Self { count, most, .. } = self;
        (most > USUAL || is_any_negative && count > 0)
            .then(|| format!("{} out of time order, by up to {most}", text::are(count, noun)))
    }
}
