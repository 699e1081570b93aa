//! Lifetimes that are found while the fridges run.

use super::Ladder;
use super::search::{Delays, Search};
use dwell_types::{Nanos, Timestamp};

/// What lifetimes are found from.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    slots: u32,
    expiry: Nanos,
    /// Weighted delays in requests offered; those of each look count half at the next one.
    delays: Delays,
    /// Samples since the last look that rested on enough of them.
    samples: u32,
    first: Option<Timestamp>,
    /// Requests offered up to the last look.
    offered: f64,
    /// The next look is when so many were offered.
    next: f64,
}

/// Fewer samples than this say nothing about the tail.
const ENOUGH: u32 = 64;
/// Fridges change if the predicted error becomes less than this share of the present one.
const WORTH_IT: f64 = 0.9;
/// Looks are no further apart than so many of the longest lifetimes, and than so many requests: each takes as long as
/// some ten thousand of these.
const LIFETIMES: f64 = 64.0;
const REQUESTS: f64 = 1e6;

impl Tuning {
    pub(super) fn new(slots: u32, expiry: Nanos) -> Self {
        let next = 4.0 * f64::from(slots);
        Self { slots, expiry, delays: Delays::default(), samples: 0, first: None, offered: 0.0, next }
    }

    /// The time of an event: the first that is told is the beginning.
    #[inline]
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.first.get_or_insert(at);
    }

    /// A delay of so many offered requests.
    pub(super) fn sample(&mut self, offered: f64, weight: f64) {
        self.samples += 1;
        self.delays.add(offered, weight);
    }

    /// Whether it is time to look, when so many requests were offered since the last look.
    #[inline]
    pub(super) fn is_due(&self, offered: f64) -> bool {
        self.offered + offered >= self.next
    }

    /// The fridges from now on, if others than the present ones, when so many requests were offered since the last look.
    ///
    /// Delays that are longer than entries stay are not seen. So until four times the 99th percentile of those that are
    /// has passed, some entries stay for as many requests as were offered so far, but for no longer than the expiry.
    pub(super) fn choose(&mut self, present: &Ladder, offered: f64, now: Timestamp) -> Option<Ladder> {
        self.offered += offered;
        let offered = self.offered;
        self.next = offered + offered.min(REQUESTS.max(LIFETIMES * present.longest()));
        let passed = self.first.map_or(0, |first| (now - first).get().max(0)) as f64;
        let expiry = if passed > 0.0 { offered / passed * self.expiry.get() as f64 } else { f64::INFINITY };
        let slow = offered.min(expiry);
        if self.samples < ENOUGH {
            let longest = slow.max(32.0 * f64::from(self.slots));
            return (present.longest() < slow).then(|| Ladder::spread_to(self.slots, longest).ok()).flatten();
        }
        let least = if offered < 4.0 * self.delays.slow() { slow } else { 0.0 };
        let search = Search::new(self.slots, &self.delays, least)?;
        let (error, ladder) = search.best()?;
        self.delays.fade();
        self.samples = 0;
        search.error_of(present).is_none_or(|present| error < WORTH_IT * present).then_some(ladder)
    }
}
