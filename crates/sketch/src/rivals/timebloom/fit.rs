use super::ring::Shape;
use crate::parts::filters::{GivenFilters, LEAST_FILTERS, LEAST_PLACES, USUAL_HASHES, fit_filters};
use dwell_types::Nanos;

/// Bytes of the smallest ring.
pub(crate) const LEAST_BYTES: usize = beside_bytes(LEAST_FILTERS) + (LEAST_FILTERS * LEAST_PLACES / 8) as usize;

/// Bits, filters and requests per second for a ring in this many bytes, for delays up to `longest`; `None` if they are
/// too few. Without a rate, that for which [`USUAL_HASHES`] functions are best.
pub(super) fn fit(bytes: usize, longest: Nanos, rate: Option<f64>, given: &GivenFilters) -> Option<(u64, u32, f64)> {
    let rows =
        |filters: u32| given.places_of(1, Shape::most_rows(bytes.saturating_sub(beside_bytes(filters)), filters));
    let filters = given.filters.unwrap_or_else(|| fit_filters(rows, longest, rate));
    if filters < 2 {
        return None;
    }
    let width = longest.as_secs_f64() / f64::from(filters - 1);
    let design = f64::from(rows(filters)) * std::f64::consts::LN_2 / f64::from(USUAL_HASHES) / width;
    (rows(filters) > 0).then(|| (Shape::bits(rows(filters), filters), filters, rate.unwrap_or(design)))
}

/// The least bytes for [`fit`] of what is given.
pub(super) fn least_bytes(given: &GivenFilters) -> usize {
    let filters = given.filters.unwrap_or(LEAST_FILTERS);
    beside_bytes(filters) + Shape::bytes_for(given.least_places(1), filters)
}

/// Bytes of a ring besides its filters, and of the list of matching ages.
const fn beside_bytes(filters: u32) -> usize {
    filters as usize * 2 * size_of::<u32>() + filters.div_ceil(64) as usize * size_of::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::bloomtime;
    use crate::rivals::timebloom::{Params, Prior, TimeBloom};
    use crate::test_support::terms;
    use crate::{Event, Meter};
    use dwell_types::{ExchangeId, Match, Timestamp, hash};

    const LONGEST: Nanos = Nanos::from_secs(10);

    /// Memory is within the budget and used up, even after learning.
    #[test]
    fn budgets_are_kept_and_used() {
        let learnt: Vec<Event> = (0..20_000)
            .map(|i| Event {
                id: ExchangeId(hash::finish(i / 2)),
                at: Timestamp::from_nanos(i as i64 * 1_000_000),
                token: 0,
                tag: 0,
                mark: 0,
                is_request: i % 2 == 0,
            })
            .collect();
        for bytes in [4_096, 20_000, 1 << 20] {
            for rate in [None, Some(1e3)] {
                let none = &GivenFilters::default();
                let rings = [
                    Params::budget(bytes, LONGEST, rate, none, Prior::Learnt),
                    bloomtime::budget(bytes, LONGEST, rate, none),
                ];
                for params in rings.map(Option::unwrap) {
                    let mut ring = TimeBloom::new(params.clone(), terms(Match::Dns, LONGEST)).unwrap();
                    ring.update(&learnt, &mut Vec::new());
                    let held = ring.state_bytes() - 2 * 112;
                    // A row, and with summaries of stretches another one for these.
                    let rows = if bytes < 1 << 18 { 1 } else { 2 };
                    assert!(
                        held <= bytes && held + rows * params.filters as usize / 8 + 8 > bytes,
                        "{held} of {bytes}: {params:?}"
                    );
                }
            }
        }
        let learnt: fn(_, _, _, &_) -> _ =
            |bytes, longest, rate, given| Params::budget(bytes, longest, rate, given, Prior::Learnt);
        for (least, budget) in [(Params::LEAST_BYTES, learnt), (bloomtime::LEAST_BYTES, bloomtime::budget)] {
            assert!(
                budget(least, LONGEST, None, &GivenFilters::default()).is_some()
                    && budget(least - 1, LONGEST, None, &GivenFilters::default()).is_none()
            );
        }
    }

    #[test]
    fn filters_follow_the_load() {
        let chosen = |bytes, rate| {
            let params = bloomtime::budget(bytes, LONGEST, rate, &GivenFilters::default()).unwrap();
            let ring = TimeBloom::new(params.clone(), terms(Match::Dns, LONGEST)).unwrap();
            (params.filters, ring.hashes())
        };
        let by_rate = [1e5, 1e3, 1.0].map(|rate| chosen(1 << 14, Some(rate)));
        assert_eq!(by_rate, [(32, 1), (128, 8), (512, 64)]);
        assert_eq!(
            [bloomtime::LEAST_BYTES, 1 << 14, 1 << 24].map(|bytes| chosen(bytes, None)),
            [(32, 8), (256, 8), (256, 8)]
        );
    }
}
