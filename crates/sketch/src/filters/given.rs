use super::{LEAST_PLACES, MOST_HASHES};
use std::fmt;

/// What is given of filters; the rest follows from the memory, the longest delay and the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GivenFilters {
    /// Number of filters, `2..=4096`.
    pub filters: Option<u32>,
    /// Bits of each, its counters and times included; rounded down to whole ones.
    pub bits: Option<u64>,
    /// *k*, `1..=64`.
    pub hashes: Option<u32>,
}

/// The most filters.
pub(crate) const MOST_FILTERS: u32 = 1 << 12;

/// Why filters cannot be as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GivenFiltersError {
    /// There are 2 to 4,096 filters.
    Filters(u32),
    /// A filter has at least one bit, counter or cell, of this many bits.
    Bits(u64, u32),
    /// There are 1 to 64 hash functions.
    Hashes(u32),
}

impl fmt::Display for GivenFiltersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filters(filters) => write!(f, "there are 2 to {MOST_FILTERS} filters, not {filters}"),
            Self::Bits(bits, least) => write!(f, "a filter has at least {least} bits, not {bits}"),
            Self::Hashes(hashes) => write!(f, "there are 1 to {MOST_HASHES} hash functions, not {hashes}"),
        }
    }
}

impl std::error::Error for GivenFiltersError {}

impl GivenFilters {
    /// Checks the numbers, for filters whose places have this many bits.
    pub(crate) fn check(&self, place_bits: u32) -> Result<(), GivenFiltersError> {
        let &Self { filters, bits, hashes } = self;
        if let Some(filters) = filters.filter(|filters| !(2..=MOST_FILTERS).contains(filters)) {
            return Err(GivenFiltersError::Filters(filters));
        }
        if let Some(bits) = bits.filter(|&bits| bits < place_bits.into()) {
            return Err(GivenFiltersError::Bits(bits, place_bits));
        }
        if let Some(hashes) = hashes.filter(|hashes| !(1..=MOST_HASHES).contains(hashes)) {
            return Err(GivenFiltersError::Hashes(hashes));
        }
        Ok(())
    }

    /// The places of this many bits in each filter, if given.
    pub(crate) fn places(&self, place_bits: u32) -> Option<u32> {
        self.bits.map(|bits| u32::try_from(bits / u64::from(place_bits)).unwrap_or(u32::MAX))
    }

    /// The same where at most this many fit, which are the places if none are given. Zero if too few fit.
    pub(crate) fn places_of(&self, place_bits: u32, most: u32) -> u32 {
        let least = self.least_places(place_bits);
        if most < least { 0 } else { self.places(place_bits).unwrap_or(most) }
    }

    /// The least places of a filter.
    pub(crate) fn least_places(&self, place_bits: u32) -> u32 {
        self.places(place_bits).unwrap_or(LEAST_PLACES)
    }
}
