//! Every weighted sample, in the order measured: rows of CSV with the columns [`COLUMNS`].

use dwell_types::{FlowKey, Leg, Match, Nanos, Timestamp};
use serde::{Serialize, Serializer};

/// The columns of the file, in order.
pub const COLUMNS: [&str; 7] = ["at_ns", "delay_ns", "weight", "inserted_since", "match", "group", "leg"];

/// One measured delay, for output.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// When the response was seen.
    pub at: Timestamp,
    /// Delay from request to response.
    pub delay: Nanos,
    /// Number of exchanges that the sample represents.
    pub weight: f64,
    /// Requests inserted between the request and the response; zero for methods that do not count them.
    pub inserted_since: u64,
    /// The pairing rule.
    pub matching: Match,
    /// The part of the path.
    pub leg: Leg,
    /// The group's name.
    pub group: &'a str,
    /// The flow of the response as sent, if the caller knows it.
    pub flow: Option<FlowKey>,
}

/// A row with these columns.
impl Serialize for Sample<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let &Self { at, delay, weight, inserted_since, matching, leg, group, .. } = self;
        (at.as_nanos(), delay.get(), weight, inserted_since, matching.name(), group, leg.name()).serialize(to)
    }
}
