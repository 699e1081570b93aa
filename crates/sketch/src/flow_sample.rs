//! A table of as many flows as fit, sampled by the hash of their ids: two points choose the same ones.

use crate::table::{Entry, Place, Table};
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
pub(crate) trait Kept: Entry {
    /// An empty entry for the flow with this key.
    fn of(key: u64) -> Self;
}

/// Flows with keys up to the threshold, which falls when the table is full and never rises again.
#[derive(Clone, Debug)]
pub(crate) struct FlowSample<E> {
    table: Table<E>,
    start: u64,
    threshold: u64,
}

impl<E: Kept> FlowSample<E> {
    /// An empty table of at most `bytes`, of which its owner takes `taken`.
    pub(crate) fn new(bytes: usize, taken: usize, seed: u64) -> Result<Self, TooFewBytes> {
        let needed = Table::<E>::LEAST_BYTES + taken;
        if bytes < needed {
            return Err(TooFewBytes { given: bytes, needed });
        }
        let slots = Table::<E>::slots_in(bytes - taken);
        Ok(Self { table: Table::new(slots, slots), start: hash::start(seed), threshold: u64::MAX })
    }

    /// The entry of a flow, created if necessary; `None` if the flow is not sampled.
    pub(crate) fn entry(&mut self, flow: FlowId) -> Option<&mut E> {
        self.by_key(hash::word(self.start, flow.0))
    }

    fn by_key(&mut self, key: u64) -> Option<&mut E> {
        if key > self.threshold {
            return None;
        }
        if let Place::Found(at) = self.table.find(key) {
            return Some(self.table.get_mut(at));
        }
        while self.table.is_full() {
            self.close();
        }
        let Place::Vacant(at) = self.table.find(key) else { return None };
        if key > self.threshold {
            return None;
        }
        self.table.put(at, E::of(key));
        Some(self.table.get_mut(at))
    }

    /// Drops an eighth of the flows.
    fn close(&mut self) {
        self.threshold -= self.threshold / 8 + 1;
        let threshold = self.threshold;
        self.table.rebuild(|entry| entry.key() <= threshold);
    }

    /// The entry of a flow, if it has one.
    pub(crate) fn get(&self, flow: FlowId) -> Option<&E> {
        match self.table.find(hash::word(self.start, flow.0)) {
            Place::Found(at) => Some(self.table.get(at)),
            Place::Vacant(_) => None,
        }
    }

    /// All entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.table.iter()
    }

    /// Adds another sample entry by entry, with the lower of the two thresholds.
    pub(crate) fn merge(&mut self, other: &Self, mut add: impl FnMut(&mut E, &E)) {
        self.threshold = self.threshold.min(other.threshold);
        let threshold = self.threshold;
        self.table.rebuild(|entry| entry.key() <= threshold);
        for entry in other.iter() {
            if let Some(ours) = self.by_key(entry.key()) {
                add(ours, entry);
            }
        }
    }

    /// Bytes of the table and of this struct.
    pub(crate) fn state_bytes(&self) -> usize {
        self.table.bytes() + size_of::<Self>()
    }
}
