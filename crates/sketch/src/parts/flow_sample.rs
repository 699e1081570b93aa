//! A table of as many flows as fit, sampled by the hash of their ids: two points choose the same ones.

use crate::parts::table::{Entry, Place, Table};
use dwell_types::{FlowId, hash};
use std::fmt;

/// Too few bytes to hold any flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooFewBytes {
    /// Bytes given.
    pub given: usize,
    /// Bytes needed at least.
    pub needed: usize,
}

impl fmt::Display for TooFewBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a table of flows needs {} bytes, not {}", self.needed, self.given)
    }
}

impl std::error::Error for TooFewBytes {}

/// What is stored for a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Kept<T> {
    key: u64,
    of_flow: T,
}

impl<T: Copy + Default> Entry for Kept<T> {
    #[inline]
    fn key(&self) -> u64 {
        self.key
    }
}

/// Flows with keys up to the threshold, which falls when the table is full and never rises again.
#[derive(Clone, Debug)]
pub(crate) struct FlowSample<T> {
    table: Table<Kept<T>>,
    start: u64,
    threshold: u64,
}

impl<T: Copy + Default> FlowSample<T> {
    /// An empty table of at most `bytes`, of which its owner takes `taken`.
    pub(crate) fn new(bytes: usize, taken: usize, seed: u64) -> Result<Self, TooFewBytes> {
        let needed = Table::<Kept<T>>::LEAST_BYTES + taken;
        if bytes < needed {
            return Err(TooFewBytes { given: bytes, needed });
        }
        let slots = Table::<Kept<T>>::slots_in(bytes - taken);
        Ok(Self { table: Table::new(slots, slots), start: hash::start(seed), threshold: u64::MAX })
    }

    /// What is stored for a flow, the default at first; `None` if the flow is not sampled.
    pub(crate) fn entry(&mut self, flow: FlowId) -> Option<&mut T> {
        self.by_key(hash::word(self.start, flow.0))
    }

    fn by_key(&mut self, key: u64) -> Option<&mut T> {
        if key > self.threshold {
            return None;
        }
        if let Place::Found(at) = self.table.find(key) {
            return Some(&mut self.table.get_mut(at).of_flow);
        }
        while self.table.is_full() {
            self.close();
        }
        let Place::Vacant(at) = self.table.find(key) else { return None };
        if key > self.threshold {
            return None;
        }
        self.table.put(at, Kept { key, of_flow: T::default() });
        Some(&mut self.table.get_mut(at).of_flow)
    }

    /// Drops an eighth of the flows.
    fn close(&mut self) {
        self.threshold -= self.threshold / 8 + 1;
        let threshold = self.threshold;
        self.table.rebuild(|kept| kept.key <= threshold);
    }

    /// What is stored for a flow, if anything is.
    pub(crate) fn get(&self, flow: FlowId) -> Option<&T> {
        match self.table.find(hash::word(self.start, flow.0)) {
            Place::Found(at) => Some(&self.table.get(at).of_flow),
            Place::Vacant(_) => None,
        }
    }

    /// The key of each flow, and what is stored for it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.table.iter().map(|kept| (kept.key, &kept.of_flow))
    }

    /// Adds another sample flow by flow, with the lower of the two thresholds.
    pub(crate) fn merge(&mut self, other: &Self, mut add: impl FnMut(&mut T, &T)) {
        self.threshold = self.threshold.min(other.threshold);
        let threshold = self.threshold;
        self.table.rebuild(|kept| kept.key <= threshold);
        for (key, theirs) in other.iter() {
            if let Some(ours) = self.by_key(key) {
                add(ours, theirs);
            }
        }
    }

    /// Bytes of the table and of this struct.
    pub(crate) fn state_bytes(&self) -> usize {
        self.table.bytes() + size_of::<Self>()
    }
}
