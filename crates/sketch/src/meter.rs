use crate::{Fates, Sample};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp};

/// Everything that takes requests and responses and gives weighted delays.
///
/// A meter serves one [`dwell_types::Match`]: ids of different rules do not meet in it. It takes events in batches, in the
/// order in which they were seen, so that independent memory accesses can overlap; how a stream is cut into batches
/// changes no sample, except that a meter may adapt its parameters only between batches.
pub trait Meter {
    /// Takes the next events; appends a sample for each response whose request is known, in order.
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>);

    /// What became of the requests and responses of every series so far; the index is the tag.
    fn fates(&self) -> Vec<Fates>;

    /// Bytes that the data structure holds.
    fn state_bytes(&self) -> usize;
}

/// A request or a response, as a meter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Shared by a request and its response.
    pub id: ExchangeId,
    /// When it was seen.
    pub at: Timestamp,
    /// Tells equal requests apart (see [`dwell_types::Sighting::token`]).
    pub token: u32,
    /// The caller's number for the series, `0..Exchanges::tags`. A sample carries that of the request.
    pub tag: u16,
    /// Request or response.
    pub is_request: bool,
}

/// What all meters are told about the exchanges that they serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// Number of series.
    pub tags: u16,
    /// What a request means that repeats the id of an open one.
    pub repeat: Repeat,
    /// Requests older than this are given up: a later response is unmatched.
    pub expiry: Nanos,
    /// Seed of the sketch's own hashes.
    pub seed: u64,
}
