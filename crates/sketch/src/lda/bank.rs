use dwell_types::Timestamp;
use std::ops::Range;

/// The state of one bank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampled {
    /// The lowest hash that the bank samples.
    pub(super) begin: u64,
    /// The highest one. No other bank samples those in between.
    pub(super) last: u64,
    /// Rows per step of the hash's upper half, in units of 2⁻⁶⁴; less than one.
    pub(super) rows_per_upper: u64,
    /// Index of its first cell.
    pub(super) first: usize,
    pub(super) rows: u32,
    /// Packets sampled so far.
    pub(super) packets: u64,
}

/// A sampled packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// The packet's hash.
    pub(super) place: u64,
    pub(super) at: Timestamp,
}

impl Sampled {
    /// The indices of its cells.
    pub(super) const fn range(&self) -> Range<usize> {
        self.first..self.first + self.rows as usize
    }

    /// The probability that it samples a packet.
    pub(super) fn probability(&self) -> f64 {
        ((self.last - self.begin) as f64 + 1.0) / 2f64.powi(64)
    }

    /// The index of the cell for a hash that this bank samples.
    #[inline(always)]
    pub(super) const fn cell(&self, place: u64) -> usize {
        let upper = (place - self.begin) >> 32;
        self.first + ((upper as u128 * self.rows_per_upper as u128) >> 64) as usize
    }
}
