use dwell_types::Timestamp;
use std::ops::Range;

/// One bank at work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampled {
    /// It takes hashes from this one
    pub(super) begin: u64,
    /// to this one; no other bank takes them.
    pub(super) last: u64,
    /// Rows per upper half of a hash, in units of 2⁻⁶⁴; less than one.
    pub(super) rows_per_upper: u64,
    /// Its first cell.
    pub(super) first: usize,
    pub(super) rows: u32,
    /// Packets that it took.
    pub(super) packets: u64,
}

/// A packet that is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Its hash.
    pub(super) place: u64,
    pub(super) at: Timestamp,
}

impl Sampled {
    /// Its cells.
    pub(super) const fn range(&self) -> Range<usize> {
        self.first..self.first + self.rows as usize
    }

    /// The chance that it takes a packet.
    pub(super) fn probability(&self) -> f64 {
        ((self.last - self.begin) as f64 + 1.0) / 2f64.powi(64)
    }

    /// The cell of a hash that this bank takes.
    #[inline(always)]
    pub(super) const fn cell(&self, place: u64) -> usize {
        let upper = (place - self.begin) >> 32;
        self.first + ((upper as u128 * self.rows_per_upper as u128) >> 64) as usize
    }
}
