use super::MOST_HASHES;
use dwell_types::Nanos;
use std::fmt;

/// The longest delay that cannot cause an overflow.
const LONGEST: Nanos = Nanos::new(1 << 60);

/// Why filters cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FiltersError {
    /// A window of time has at least two filters, and not too many.
    Filters {
        /// Filters given.
        given: u32,
        /// The most of this kind.
        most: u32,
    },
    /// A filter needs at least one bit, counter or cell.
    Places {
        /// Bits given.
        given: u64,
        /// Bits of a bit, counter or cell.
        least: u32,
    },
    /// Each filter of a ring needs at least one of these bits, and at most 2³² − 1.
    Bits(u64),
    /// The number of hash functions must be 1 to 64.
    Hashes(u32),
    /// The rate must be above zero and finite.
    Rate(f64),
    /// The longest delay must be above zero and at most 2⁶⁰ ns (36 years).
    Longest(Nanos),
}

impl FiltersError {
    /// Checks the number of filters.
    pub(crate) fn check_filters(given: u32, most: u32) -> Result<(), Self> {
        if (2..=most).contains(&given) { Ok(()) } else { Err(Self::Filters { given, most }) }
    }

    /// Checks *k*.
    pub(crate) fn check_hashes(hashes: u32) -> Result<(), Self> {
        if (1..=MOST_HASHES).contains(&hashes) { Ok(()) } else { Err(Self::Hashes(hashes)) }
    }

    /// Checks *t*_max.
    pub(crate) fn check_longest(longest: Nanos) -> Result<(), Self> {
        if longest > Nanos::ZERO && longest <= LONGEST { Ok(()) } else { Err(Self::Longest(longest)) }
    }
}

impl fmt::Display for FiltersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filters { given, most } => write!(f, "a window has 2 to {most} filters, not {given}"),
            Self::Places { given, least } => write!(f, "a filter has at least {least} bits, not {given}"),
            Self::Bits(bits) => write!(f, "{bits} bits: each filter needs at least 1 and at most 2^32 - 1"),
            Self::Hashes(hashes) => write!(f, "there are 1 to {MOST_HASHES} hash functions, not {hashes}"),
            Self::Rate(rate) => write!(f, "{rate} requests per second: expected a finite number above zero"),
            Self::Longest(longest) => write!(f, "a longest delay of {longest}: expected above zero, up to 2^60 ns"),
        }
    }
}

impl std::error::Error for FiltersError {}
