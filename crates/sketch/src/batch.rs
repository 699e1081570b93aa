//! Batches of events: what is worth looking at is found first, without a branch that nobody could foretell.

use crate::Event;

/// So many cache misses overlap.
pub(crate) const BATCH: usize = 64;
/// Tables up to 800 KiB stay in a processor's own cache, so that nothing is gained by touching a batch's slots first.
pub(crate) const CACHED_BYTES: usize = 800 << 10;

/// Some events of a batch.
pub(crate) struct Sifted {
    numbers: [u8; BATCH],
    kept: usize,
}

impl Sifted {
    /// Those of a batch, at most [`BATCH`] events, that are wanted; asks of each in order, with the number of those before it.
    #[inline]
    pub(crate) fn of_batch(batch: &[Event], mut is_wanted: impl FnMut(&Event, usize) -> bool) -> Self {
        // Beside the array, or it would be read back from memory for every event.
        let (mut numbers, mut kept) = ([0; BATCH], 0);
        for (number, event) in (0..).zip(batch) {
            numbers[kept] = number;
            kept += usize::from(is_wanted(event, kept));
        }
        Self { numbers, kept }
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.kept
    }

    /// The events that were kept of the batch.
    #[inline]
    pub(crate) fn of<'a>(&'a self, batch: &'a [Event]) -> impl Iterator<Item = &'a Event> {
        self.numbers[..self.kept].iter().map(|&number| &batch[usize::from(number)])
    }
}
