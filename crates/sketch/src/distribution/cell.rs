use super::bins::CODE_BITS;
use crate::survival::{BAND_BITS, BANDS};

/// The samples of one bin, as a store keeps them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The part's number plus one, the band, and [`CODE_BITS`] bits of code.
    pub(super) key: u64,
    pub(super) weight: f64,
    /// Σ (weight² − weight): the part of the total's variance that falls into this bin.
    pub(super) excess: f64,
}

impl Cell {
    #[inline]
    pub(super) fn key(part: usize, band: u8, code: u64) -> u64 {
        ((part as u64 + 1) << BAND_BITS | u64::from(band)) << CODE_BITS | code
    }

    /// Adds the samples of a cell with the same key.
    #[inline]
    pub(super) fn add(&mut self, other: &Self) {
        self.weight += other.weight;
        self.excess += other.excess;
    }

    /// The part's number; `usize::MAX` for a key that no part has.
    pub(super) fn part(&self) -> usize {
        ((self.key >> (CODE_BITS + BAND_BITS)) as usize).wrapping_sub(1)
    }

    pub(super) fn band(&self) -> u8 {
        (self.key >> CODE_BITS) as u8 & (BANDS as u8 - 1)
    }

    pub(super) fn code(&self) -> u64 {
        self.key & ((1 << CODE_BITS) - 1)
    }
}
