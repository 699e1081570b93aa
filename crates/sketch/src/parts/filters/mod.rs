//! What the methods made of Bloom filters share: the places of an id, how many there are, into how many filters a window
//! of time is divided, how often a filter matches falsely, and what can be counted without entries.

// Counts of what became of the requests.
mod counts;
pub(crate) use counts::Counts;
// Why they cannot be built.
mod error;
pub use error::FiltersError;
// What is given of filters.
mod given;
pub use given::GivenFilters;
pub(crate) use given::MOST_FILTERS;
// False matches, in closed form.
mod expected;
pub use expected::false_positive_probability;

use dwell_types::{Nanos, hash};

/// More functions would not tell ids apart better than the 64 bits of their hash.
pub(crate) const MOST_HASHES: u32 = 64;
/// Least number of filters into which a window is divided.
pub(crate) const LEAST_FILTERS: u32 = 32;
/// Filters smaller than this are of no use.
pub(crate) const LEAST_PLACES: u32 = 64;
/// *k* if the rate is unknown.
pub(crate) const USUAL_HASHES: u32 = 8;
/// From one row of an id to its next: a multiplier of good lattice structure (Steele and Vigna 2022).
const FACTOR: u64 = 0xd134_2543_de82_ef95;

/// The *k* places, of `places`, of an id with this seeded hash: the upper halves of its products with powers of a
/// factor. With double hashing the places of one id would be dependent, with half as many false matches again (2,048
/// places, *k* = 18).
#[inline]
pub(crate) fn places(hash: u64, places: u32, hashes: u32) -> impl Iterator<Item = usize> + use<> {
    let mut place = hash;
    (0..hashes).map(move |_| {
        place = place.wrapping_mul(FACTOR);
        hash::index((place >> 32) as u32, places) as usize
    })
}

/// *k* for a filter of *n* places with *m* ids: (*n*/*m*) ln 2, rounded, from 1 to 64 [porcino23 eq. 4.10].
pub(crate) fn best_hashes(places: u32, load: f64) -> u32 {
    let optimum = f64::from(places) / load * std::f64::consts::LN_2;
    optimum.round().clamp(1.0, f64::from(MOST_HASHES)) as u32
}

/// *k* for a filter of *n* places that holds the ids of a period, at a rate per second. If the rate is unknown, 8: at
/// the load for which that is best, false matches are .4%; from three quarters to twice that load they are at most 1.6
/// times as many as with the best number, and at half of it 5·10⁻⁵.
pub(crate) fn hashes(places: u32, window: Nanos, rate: Option<f64>) -> u32 {
    rate.map_or(USUAL_HASHES, |rate| best_hashes(places, rate * window.get() as f64 / 1e9))
}

/// Into how many filters to divide a window: a power of two, the more the finer, as long as a response has less than
/// half a false match on average. `places`: those of each filter, given their number; zero if they are too few. If the
/// rate is unknown, up to 256 filters.
pub(crate) fn fit_filters(places: impl Fn(u32) -> u32, longest: Nanos, rate: Option<f64>) -> u32 {
    const MOST: u32 = 1 << 10;
    const MOST_UNKNOWN: u32 = 256;
    let is_good = |filters: u32| {
        let places = places(filters);
        let Some(rate) = rate else { return filters <= MOST_UNKNOWN && places > 0 };
        let load = (rate * longest.get() as f64 / 1e9 / f64::from(filters - 1)).clamp(1e-9, 1e9);
        let false_matches = false_positive_probability(places.max(1), best_hashes(places, load), load);
        places > 0 && false_matches * f64::from(filters - 1) < 0.5
    };
    let doubled = std::iter::successors(Some(2 * LEAST_FILTERS), |filters| Some(2 * filters));
    doubled.take_while(|&filters| filters <= MOST && is_good(filters)).last().unwrap_or(LEAST_FILTERS)
}
