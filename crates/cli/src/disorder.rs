//! Times that are earlier than one before.

use crate::words;
use dwell_types::{Nanos, Timestamp};

/// How far times are out of order.
pub(crate) struct Disorder {
    /// The latest time of all; before anything was seen, the first that there could be.
    pub(crate) latest: Timestamp,
    /// How many were earlier than one before.
    count: u64,
    /// By how much at most.
    most: Nanos,
}

impl Disorder {
    pub(crate) const NONE: Self = Self { latest: Timestamp::from_nanos(i64::MIN), count: 0, most: Nanos::ZERO };

    /// Notes that something was seen.
    #[inline]
    pub(crate) fn see(&mut self, at: Timestamp) {
        if at < self.latest {
            self.count += 1;
            self.most = self.most.max(self.latest - at);
        } else {
            self.latest = at;
        }
    }

    /// What there is to say, if it is more than several receive queues of one interface explain.
    pub(crate) fn warning(&self, noun: &str) -> Option<String> {
        const USUAL: Nanos = Nanos::new(10_000_000);
        let &Self { count, most, .. } = self;
        (most > USUAL).then(|| format!("{} out of time order, by up to {most}", words::are(count, noun)))
    }
}
