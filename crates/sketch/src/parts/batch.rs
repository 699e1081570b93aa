//! Batches of events: the relevant ones are selected first, without unpredictable branches.

use crate::Event;
use dwell_types::Timestamp;

/// Events of a batch: about as many as there can be overlapping cache misses, and one bit each in a word.
pub(crate) const BATCH: usize = u64::BITS as usize;
/// The size of a core's own cache.
pub(crate) const CACHE_BYTES: usize = 1 << 20;
/// Tables up to this size stay in it beside everything else, so that prefetching a batch's slots gains nothing.
pub(crate) const CACHED_BYTES: usize = 800 << 10;

/// Prefetches a value that will be read soon; does nothing on architectures without support.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// When a batch begins: at the earlier of its first and its last event, since a single wild timestamp must not make open
/// requests seem expired. `None` for an empty batch.
#[inline]
pub(crate) fn begin(batch: &[Event]) -> Option<Timestamp> {
    Some(batch.first()?.at.min(batch.last()?.at))
}

/// A set of events of a batch, by index, in ascending order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Those of a batch of at most [`BATCH`] events that satisfy the predicate.
    #[inline]
    pub(crate) fn of_batch(batch: &[Event], is_wanted: impl Fn(&Event) -> bool) -> Self {
        let mut numbers = Self::default();
        for (number, event) in batch.iter().enumerate() {
            numbers.add_if(is_wanted(event), number);
        }
        numbers
    }

    /// Adds an index below [`BATCH`] if `is_wanted`, without a branch.
    #[inline]
    pub(crate) fn add_if(&mut self, is_wanted: bool, number: usize) {
        self.0 |= u64::from(is_wanted) << number;
    }

    /// The events of a batch at these indices.
    #[inline]
    pub(crate) fn of(self, batch: &[Event]) -> impl Iterator<Item = &Event> {
        self.map(|number| &batch[number])
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.0.count_ones() as usize
    }
}

impl Iterator for Numbers {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let number = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (number < u64::BITS).then_some(number as usize)
    }
}
