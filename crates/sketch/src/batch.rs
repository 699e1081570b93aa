//! Batches of events: what is worth looking at is found first, without a branch that nobody could foretell.

use crate::Event;

/// So many cache misses overlap, and so many numbers are in a word.
pub(crate) const BATCH: usize = u64::BITS as usize;
/// Tables up to 800 KiB stay in a processor's own cache, so that nothing is gained by touching a batch's slots first.
pub(crate) const CACHED_BYTES: usize = 800 << 10;

/// Asks for a value that will be read soon; where processors are not to be asked, nothing happens.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(value);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The numbers of some events of a batch, in rising order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Of those of a batch, at most [`BATCH`] events, that are wanted.
    #[inline]
    pub(crate) fn of_batch(batch: &[Event], is_wanted: impl Fn(&Event) -> bool) -> Self {
        let mut numbers = Self::default();
        for (number, event) in batch.iter().enumerate() {
            numbers.add_if(is_wanted(event), number);
        }
        numbers
    }

    /// Adds a number, less than [`BATCH`], if it is wanted; takes as long if not.
    #[inline]
    pub(crate) fn add_if(&mut self, is_wanted: bool, number: usize) {
        self.0 |= u64::from(is_wanted) << number;
    }

    /// The events of a batch that have them.
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
