//! Times that are earlier than one before.

use crate::words;
use dwell_types::{Nanos, Timestamp};

/// How far times are out of order.
pub(crate) struct Disorder {
    /// The latest time of all; before anything was seen, the first that there could be.
    latest: Timestamp,
    /// The last time that was far behind all before it, and the latest of these.
    leap: Option<(Timestamp, Timestamp)>,
    /// The latest of those that were earlier than one before.
    latest_behind: Timestamp,
    /// How many were earlier than one before.
    count: u64,
    /// By how much at most.
    most: Nanos,
}

/// No time that can be, as before anything was seen.
const NEVER: Timestamp = Timestamp::from_nanos(i64::MIN);

impl Disorder {
    pub(crate) const NONE: Self = Self { latest: NEVER, leap: None, latest_behind: NEVER, count: 0, most: Nanos::ZERO };

    /// Notes that something was seen.
    #[inline]
    pub(crate) fn see(&mut self, at: Timestamp) {
        /// From one frame to the next, unless a capture pauses or a time is wild.
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

    /// The present moment: the latest time, but for a single one that is far behind all others. That may be wild, and would
    /// end every wait.
    pub(crate) fn present(&self) -> Timestamp {
        match self.leap.map(|(to, from)| (to, from.max(self.latest_behind))) {
            Some((to, others)) if to == self.latest && others != NEVER => others,
            _ => self.latest,
        }
    }

    /// What there is to say, if it is more than several receive queues of one interface explain, or if delays show it.
    pub(crate) fn warning(&self, noun: &str, is_any_negative: bool) -> Option<String> {
        const USUAL: Nanos = Nanos::new(10_000_000);
        let &Self { count, most, .. } = self;
        (most > USUAL || is_any_negative && count > 0)
            .then(|| format!("{} out of time order, by up to {most}", words::are(count, noun)))
    }
}
