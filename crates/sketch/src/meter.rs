use crate::{Fates, Sample};
use dwell_types::{Nanos, Repeat, Sighting};

/// Everything that takes requests and responses and gives weighted delays.
///
/// A meter serves one [`dwell_types::Match`]: ids of different rules do not meet in it. Tags are the caller's numbers for
/// the series, `0..tags`; a response counts for the series of the request that it finds.
pub trait Meter {
    /// Takes a request.
    fn request(&mut self, request: &Sighting, tag: u16);

    /// Takes a response; gives a delay if its request is known.
    fn response(&mut self, response: &Sighting, tag: u16) -> Option<Sample>;

    /// What became of the requests and responses of every series so far; the index is the tag.
    fn fates(&self) -> Vec<Fates>;

    /// Bytes that the data structure holds.
    fn state_bytes(&self) -> usize;
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
