//! The search for lifetimes while the fridges run.

use super::Ladder;
use super::search::{Delays, Search};
use crate::parts::scouts::{LIVED, Scouts};
use crate::parts::targets::ENOUGH;
use dwell_types::{Nanos, Timestamp};

/// The data for the search.
#[derive(Clone, Debug)]
pub(super) struct Tuning {
    slots: u32,
    expiry: Nanos,
    /// Weighted delays in offered requests; their weights are halved at each search.
    delays: Delays,
    pub(super) scouts: Scouts,
    /// Samples since the last search that was based on enough of them.
    samples: u32,
    first: Option<Timestamp>,
    /// Requests offered up to the last search.
    offered: f64,
    /// The number of offered requests at which the next search is due.
    next: f64,
}

/// Fridges change if the predicted error falls below this share of the present one.
const WORTH_IT: f64 = 0.9;
/// Searches are at most this many of the longest lifetimes apart, or this many requests if that is more: each takes as
/// long as processing some ten thousand requests.
const LIFETIMES: f64 = 64.0;
const REQUESTS: f64 = 1e6;

impl Tuning {
    pub(super) fn new(slots: u32, expiry: Nanos) -> Self {
        let next = 4.0 * f64::from(slots);
        let scouts = Scouts::new(expiry);
        Self { slots, expiry, delays: Delays::default(), scouts, samples: 0, first: None, offered: 0.0, next }
    }

    /// Sets the start time at the first event; later ones are ignored.
    #[inline]
    pub(super) fn begin(&mut self, at: Timestamp) {
        self.first.get_or_insert(at);
    }

    /// Adds a delay of this many offered requests.
    pub(super) fn sample(&mut self, offered: f64, weight: f64) {
        self.samples += 1;
        self.delays.add(offered, weight);
    }

    /// Whether a search is due after this many requests offered since the last one.
    #[inline]
    pub(super) fn is_due(&self, offered: f64) -> bool {
        self.offered + offered >= self.next
    }

    /// The new fridges, if they are to change, after this many requests offered since the last search.
    ///
    /// Delays longer than entries survive are seen by scouts only. So until four times the 99th percentile has passed,
    /// some entries survive for as many requests as were offered so far, but no longer than the expiry.
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
        let delays = self.delays_at(present, offered / passed, now);
        let least = if offered < 4.0 * delays.slow() { slow } else { 0.0 };
        let search = Search::new(self.slots, &delays, least)?;
        let (error, ladder) = search.best()?;
        self.delays.fade();
        self.samples = 0;
        search.error_of(present).is_none_or(|present| error < WORTH_IT * present).then_some(ladder)
    }

    /// The weights of delays at this many requests per nanosecond, with those that entries hardly live for as the scouts
    /// saw them.
    fn delays_at(&self, present: &Ladder, rate: f64, now: Timestamp) -> Delays {
        let mut delays = self.delays.clone();
        let lived_for = LIVED * present.longest();
        let known = delays.up_to(lived_for);
        for (octave, ratio) in self.scouts.longer_than(lived_for / rate, now) {
            let octave = f64::from(octave);
            for middle in [octave + 0.25, octave + 0.75] {
                delays.raise(rate * middle.exp2(), 0.5 * ratio * known);
            }
        }
        delays
    }
}
