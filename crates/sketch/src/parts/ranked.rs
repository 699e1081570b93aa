//! Flows in the order of their ranks.

/// A rank, and the number of its flow in the lowest bits: as one number, of which two are compared without a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ranked(u128);

impl Ranked {
    pub(crate) const fn new(rank: u64, number: u32) -> Self {
        Self((rank as u128) << u32::BITS | number as u128)
    }

    pub(crate) const fn rank(self) -> u64 {
        (self.0 >> u32::BITS) as u64
    }

    pub(crate) const fn number(self) -> u32 {
        self.0 as u32
    }
}
