//! Short names for what the tests of this crate need.

use crate::{Event, Exchanges};
use dwell_types::{ExchangeId, Match, Nanos, Timestamp};

pub(crate) fn exchanges(matching: Match, expiry: Nanos) -> Exchanges {
    Exchanges { tags: 2, repeat: matching.repeat(), expiry, seed: 1 }
}

pub(crate) fn request(id: u64, at_ns: i64) -> Event {
    Event { id: ExchangeId(id), at: Timestamp::from_nanos(at_ns), token: 0, tag: 0, is_request: true }
}

pub(crate) fn response(id: u64, at_ns: i64) -> Event {
    Event { is_request: false, ..request(id, at_ns) }
}
