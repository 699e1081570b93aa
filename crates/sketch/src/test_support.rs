//! Short names for what the tests of this crate need.

use crate::Exchanges;
use dwell_types::{ExchangeId, Leg, Match, Nanos, Series, Sighting, Timestamp};

pub(crate) fn exchanges(matching: Match, expiry: Nanos) -> Exchanges {
    Exchanges { tags: 2, repeat: matching.repeat(), expiry, seed: 1 }
}

pub(crate) fn sighting(id: u64, at_ns: i64) -> Sighting {
    Sighting {
        id: ExchangeId(id),
        at: Timestamp::from_nanos(at_ns),
        token: 0,
        series: Series { matching: Match::Events, leg: Leg::Both, group: 0 },
    }
}
