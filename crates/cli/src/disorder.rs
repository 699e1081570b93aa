//! Timestamps that are earlier than a previous one.

use crate::words;
use dwell_types::{Nanos, Timestamp};

/// How far timestamps are out of order.
pub(crate) struct Disorder {
    /// The latest time so far; [`NEVER`] before the first.
    latest: Timestamp,
    /// The last jump ahead by more than `FAR`: the time after it, and the latest time before it.
    leap: Option<(Timestamp, Timestamp)>,
    /// The latest of the out-of-order times.
    latest_behind: Timestamp,
    /// Number of times that were earlier than a previous one.
    count: u64,
    /// The largest such difference.
    most: Nanos,
}

/// Earlier than any real time: nothing was seen yet.
const NEVER: Timestamp = Timestamp::from_nanos(i64::MIN);

impl Disorder {
    pub(crate) const NONE: Self = Self { latest: NEVER, leap: None, latest_behind: NEVER, count: 0, most: Nanos::ZERO };

    /// Records the time of an observation.
    #[inline]
    pub(crate) fn see(&mut self, at: Timestamp) {
        /// Exceeded between successive frames only if a capture pauses or a time is wild.
        const FAR: Nanos = Nanos::from_secs(3_600);
        if at < self.latest {
            self.count += 1;
            self.most = self.most.max(self.latest - at);
            self.latest_behind = self.latest_behind.max(at);
        } else {
            if at - self.latest > FAR {
                self.leap = Some((at, self.latest));
            }
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
            .then(|| format!("{} out of time order, by up to {most}", words::are(count, noun)))
    }
}
