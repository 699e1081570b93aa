//! Short names for what the tests of this crate need.

use crate::exact::Exact;
use crate::{Event, Exchanges, Meter};
use dwell_types::{ExchangeId, Match, Nanos, Timestamp, hash};

pub(crate) fn exchanges(matching: Match, expiry: Nanos) -> Exchanges {
    Exchanges { tags: 2, repeat: matching.repeat(), expiry, seed: 1 }
}

pub(crate) fn request(id: u64, at_ns: i64) -> Event {
    Event { id: ExchangeId(id), at: Timestamp::from_nanos(at_ns), token: 0, tag: 0, is_request: true }
}

pub(crate) fn response(id: u64, at_ns: i64) -> Event {
    Event { is_request: false, ..request(id, at_ns) }
}

/// A meter that has room for everything gives every sample and every count of the exact table, repeats included.
pub(crate) fn assert_exact(meter: &mut impl Meter, matching: Match) {
    let mut exact = Exact::new(exchanges(matching, Nanos::from_secs(100)));
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    for i in 0..2_000u64 {
        let at = i as i64 * 6_400;
        let again = Event { token: 2, tag: 1, ..request(hash::finish(i.saturating_sub(3)), at + 64) };
        let answer = Event { token: 1, ..response(hash::finish(i.saturating_sub(5)), at + 128) };
        for event in [Event { token: 1, ..request(hash::finish(i), at) }, again, answer] {
            exact.update(&[event], &mut expected);
            meter.update(&[event], &mut found);
        }
    }
    // Nothing weighs a sample by its band while everything is known.
    found.iter_mut().for_each(|sample| sample.band = 0);
    assert_eq!(found, expected, "{matching:?}");
    assert_eq!(meter.fates(), exact.fates(), "{matching:?}");
}
