//! Samples that stand for themselves, in a store without bound.

use super::cell::{Cell, merge};
use std::sync::Arc;

/// Keys of samples that stand for themselves: half of a bin for each, and sooner sorted.
#[derive(Clone, Debug, Default)]
pub(super) struct Ones {
    /// In rising order; equal ones next to each other. Distributions look at them as long as they live.
    sorted: Arc<Vec<u64>>,
    /// What came since, in any order.
    recent: Vec<u64>,
}

/// As many keys are sorted together at least, in 32 MiB.
const MANY: usize = 1 << 22;

impl Ones {
    /// Adds a key; says whether it is time to sort, where there are so many bins besides.
    #[inline]
    pub(super) fn push(&mut self, key: u64, bins: usize) -> bool {
        self.recent.push(key);
        self.recent.len() >= MANY.max(bins).max(self.sorted.len())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sorted.is_empty() && self.is_sorted()
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.recent.is_empty()
    }

    pub(super) fn sort_in(&mut self) {
        self.recent.sort_unstable();
        if self.sorted.is_empty() {
            self.sorted = Arc::new(std::mem::take(&mut self.recent));
        } else {
            merge(Arc::make_mut(&mut self.sorted), self.recent.drain(..));
        }
    }

    /// Whether bins, each for all that are equal, would be smaller: of the sorted ones.
    pub(super) fn are_alike(&self) -> bool {
        let bins = 1 + self.sorted.windows(2).filter(|pair| pair[0] != pair[1]).count();
        bins * size_of::<Cell>() < size_of_val(&**self.sorted)
    }

    /// Those that are sorted.
    pub(super) fn sorted(&self) -> &Arc<Vec<u64>> {
        &self.sorted
    }

    /// All of them, in any order.
    pub(super) fn all(&self) -> impl Iterator<Item = u64> {
        self.sorted.iter().chain(&self.recent).copied()
    }

    /// Forgets those that are sorted, and their memory.
    pub(super) fn forget_sorted(&mut self) {
        self.sorted = Arc::default();
    }

    /// Forgets all, keeps the memory.
    pub(super) fn clear(&mut self) {
        Arc::make_mut(&mut self.sorted).clear();
        self.recent.clear();
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + (self.sorted.capacity() + self.recent.capacity()) * size_of::<u64>()
    }
}
