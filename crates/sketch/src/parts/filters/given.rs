use super::{FiltersError, LEAST_PLACES};

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

impl GivenFilters {
    /// Checks the numbers, for filters whose places have this many bits.
    pub(crate) fn check(&self, place_bits: u32) -> Result<(), FiltersError> {
        let &Self { filters, bits, hashes } = self;
        filters.map_or(Ok(()), |filters| FiltersError::check_filters(filters, MOST_FILTERS))?;
        if let Some(given) = bits.filter(|&bits| bits < place_bits.into()) {
            return Err(FiltersError::Places { given, least: place_bits });
        }
        hashes.map_or(Ok(()), FiltersError::check_hashes)
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
