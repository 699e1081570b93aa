use super::CellSize;
use std::fmt;

/// Rows that share a sampling probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bank {
    /// *m*, at least 1.
    pub rows: u32,
    /// *p*, above 0 and up to 1, in steps of 2⁻³². The banks' probabilities together are at most 1.
    pub probability: f64,
}

impl Bank {
    /// One bank of *m* rows, tuned to `losses` lost packets among those that it samples: *p* = α *m*/(*L* + 1), at most
    /// 1 [kompella12 §III-D]. α = 1 gives the largest effective sample; the paper uses ½.
    pub fn tuned(rows: u32, losses: f64, alpha: f64) -> Self {
        Self { rows, probability: (alpha * f64::from(rows) / (losses + 1.0)).min(1.0) }
    }
}

/// Parameters of a sketch; must be equal at both points.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The banks, 1 to 16.
    pub banks: Vec<Bank>,
    /// The size of the cells.
    pub cell: CellSize,
    /// Seed of the hashes.
    pub seed: u64,
}

/// Why a sketch cannot be built.
#[derive(Clone, Debug, PartialEq)]
pub enum LdaError {
    /// Not 1 to 16 banks.
    Banks(usize),
    /// A bank without rows, or 2³² or more rows in all.
    Rows(u64),
    /// A probability that is not above 0 and at most 1.
    Probability(f64),
    /// Probabilities that sum up to more than 1; banks sample disjoint sets of packets.
    Sum(f64),
    /// Too few bytes to measure anything.
    Bytes {
        /// The bytes given.
        given: usize,
        /// The least bytes needed.
        needed: usize,
    },
    /// No sketch of a permitted size has so small an error.
    Error(f64),
    /// A range of losses that is not above 0 and at most 1, or of less than one packet.
    Expected,
}

impl fmt::Display for LdaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Banks(banks) => write!(f, "an aggregator has 1 to {} banks, not {banks}", Params::MOST_BANKS),
            Self::Rows(rows) => write!(f, "every bank has rows, all together fewer than 2^32, not {rows}"),
            Self::Probability(p) => write!(f, "a sampling probability is above 0 and at most 1, not {p}"),
            Self::Sum(sum) => write!(f, "sampling probabilities add up to at most 1, not {sum}"),
            Self::Bytes { given, needed } => write!(f, "an aggregator needs at least {needed} bytes, not {given}"),
            Self::Error(error) => {
                write!(f, "no aggregator of up to {} bytes has an error of {error}", Params::MOST_BYTES)
            }
            Self::Expected => {
                f.write_str("expected loss rates above 0 and up to 1, the larger last, of at least one packet")
            }
        }
    }
}

impl std::error::Error for LdaError {}

/// Probabilities are multiples of 1/`UNIT`.
pub(super) const UNIT: f64 = (1u64 << 32) as f64;

impl Params {
    /// The largest number of banks.
    pub const MOST_BANKS: usize = 16;

    /// Number of cells in all banks.
    pub fn cells(&self) -> usize {
        self.banks.iter().map(|bank| bank.rows as usize).sum()
    }

    /// Bytes of a sketch with these parameters: cells and counters.
    pub fn state_bytes(&self) -> usize {
        self.cells() * self.cell.bytes() + Self::counter_bytes(self.banks.len())
    }

    pub(super) const fn counter_bytes(banks: usize) -> usize {
        (banks + 1) * size_of::<u64>()
    }

    /// Each bank's probability in units of 2⁻³², in total at most 2³².
    pub(super) fn shares(&self) -> Result<Vec<u64>, LdaError> {
        if !(1..=Self::MOST_BANKS).contains(&self.banks.len()) {
            return Err(LdaError::Banks(self.banks.len()));
        }
        let rows: u64 = self.banks.iter().map(|bank| u64::from(bank.rows)).sum();
        if self.banks.iter().any(|bank| bank.rows == 0) || rows > u64::from(u32::MAX) {
            return Err(LdaError::Rows(rows));
        }
        let mut shares: Vec<u64> = self.banks.iter().map(|bank| (bank.probability * UNIT).round() as u64).collect();
        let is_none = |(bank, &share): (&Bank, &u64)| share == 0 || bank.probability > 1.0;
        if let Some((bank, _)) = self.banks.iter().zip(&shares).find(|&pair| is_none(pair)) {
            return Err(LdaError::Probability(bank.probability));
        }
        let sum: u64 = shares.iter().sum();
        let excess = sum.saturating_sub(1 << 32);
        if excess > Self::MOST_BANKS as u64 {
            return Err(LdaError::Sum(sum as f64 / UNIT));
        }
        // An excess due to rounding is not an error.
        if let Some(densest) = shares.iter_mut().max() {
            *densest -= excess;
        }
        Ok(shares)
    }
}
