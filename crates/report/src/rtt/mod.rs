//! What `dwell rtt` answers, before it takes a form: the schema `dwell.rtt/1` of `docs/formats/dwell.rtt.md`.

use crate::facts::{Frames, Memory, Method, Span, estimate, optional_estimate};
use dwell_sketch::estimate::Estimate;
use serde::Serialize;

// From meters.
mod answer;
// For people.
mod histogram;
pub mod table;
// For programs.
pub mod csv;
pub mod openmetrics;
// Sample by sample.
pub mod ppviz;
pub mod samples;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.rtt/1";

/// The answer of one run, or of one interval of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RttReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Where the packets or events came from, as given on the command line.
    pub sources: Vec<String>,
    /// What the reader must know: cut files, absurd timestamps.
    pub warnings: Vec<String>,
    /// First and last timestamp that the answer covers; `null` if nothing had one.
    pub span_ns: Option<Span>,
    /// Begin and end (exclusive) of the interval, whole multiples of its length since the epoch; `null` without intervals.
    pub interval_ns: Option<Span>,
    /// What became of the frames; `null` without packets (`--events`).
    pub frames: Option<Frames>,
    /// What was promised, and what was used.
    pub memory: Memory,
    /// How the answer was found.
    pub method: Method,
    /// What became of QUIC's connections so far; `null` unless asked for.
    pub quic: Option<Quic>,
    /// One line per match, leg and group that was seen.
    pub results: Vec<ResultLine>,
    /// The flows with the most bytes, then all others together; empty unless asked for.
    pub flows: Vec<Flow>,
}

/// QUIC connections whose beginning was seen: `spinning + not_spinning + undecided`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quic {
    /// All of them.
    pub connections: u64,
    /// Those whose spin bit says how long round trips take.
    pub spinning: u64,
    /// Those whose bit stands still or changes at random.
    pub not_spinning: u64,
    /// Those with too few packets to tell.
    pub undecided: u64,
    /// Those, of all these, that had to make room for others.
    pub evicted: u64,
    /// Packets that may be of other connections.
    pub unknown_packets: u64,
}

/// One flow, or all that got no line of their own: together these are all packets that were decoded.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name; `other` for all others.
    pub flow: String,
    /// Packets of both directions.
    pub packets: u64,
    /// Their bytes, from the IP header on.
    pub bytes: u64,
    /// It may have so many more, at most, that were counted among the others.
    pub uncounted_bytes: u64,
    /// One per match and leg with samples.
    pub results: Vec<FlowResult>,
}

/// The delays of a flow.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// The pairing rule.
    #[serde(rename = "match")]
    pub matching: &'static str,
    /// Which part of the way.
    pub leg: &'static str,
    /// Weighted samples that the estimates rest on.
    pub samples: u64,
    /// Estimated number of answered requests.
    #[serde(serialize_with = "optional_estimate")]
    pub exchanges: Option<Estimate<f64>>,
    /// The delays.
    pub delay_ns: Delays,
}

/// One line of the answer.
#[derive(Clone, Debug, Serialize)]
pub struct ResultLine {
    /// The pairing rule, as on the command line.
    #[serde(rename = "match")]
    pub matching: &'static str,
    /// Which part of the way.
    pub leg: &'static str,
    /// The group's name; `all` without grouping, `other` for what did not get a group of its own.
    pub group: String,
    /// What became of the requests.
    pub requests: Requests,
    /// What became of the responses.
    pub responses: Responses,
    /// Weighted samples that the estimates rest on.
    pub samples: u64,
    /// Samples whose request was repeated before the response, and could not be resolved.
    pub ambiguous_samples: u64,
    /// Estimated number of answered requests; `null` without samples.
    #[serde(serialize_with = "optional_estimate")]
    pub exchanges: Option<Estimate<f64>>,
    /// The delays; every member `null` without samples.
    pub delay_ns: Delays,
    /// Logarithmic histogram, in rising order, without gaps; empty without samples.
    pub histogram: Vec<Bin>,
    /// The distribution function at rising delays, for plots; empty without samples. Not in the JSON.
    #[serde(skip)]
    pub cdf: Vec<CdfPoint>,
}

impl ResultLine {
    /// The share of the answered requests that was measured, in `0..=1`; `None` without samples.
    pub fn coverage(&self) -> Option<f64> {
        let exchanges = self.exchanges.filter(|e| e.value > 0.0)?;
        Some(if self.is_complete() { 1.0 } else { (self.samples as f64 / exchanges.value).min(1.0) })
    }

    /// Whether every answered request was measured, so that their number is known and not estimated.
    pub fn is_complete(&self) -> bool {
        self.exchanges.is_some_and(|e| e.is_exact())
    }

    /// What a person calls this line: `tcp-handshake beyond 10.0.0.0/24`, `dns`.
    pub fn name(&self) -> String {
        let rule = self.rule();
        if self.group == "all" { rule } else { format!("{rule} {}", self.group) }
    }

    /// The name without the group.
    pub(crate) fn rule(&self) -> String {
        rule(self.matching, self.leg)
    }

    /// Whether both are about the same exchanges, in two intervals of a series.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.matching, self.leg, &self.group) == (other.matching, other.leg, &other.group)
    }
}

/// Match and leg in words.
pub(crate) fn rule(matching: &str, leg: &str) -> String {
    if leg == "both" { matching.to_owned() } else { format!("{matching} {leg}") }
}

/// Requests by fate: `carried_over + seen` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Open when the interval began; zero in a report over a whole run.
    pub carried_over: u64,
    /// Requests observed.
    pub seen: u64,
    /// Left out by sampling, at once or when sampling became sparser.
    pub not_admitted: u64,
    /// Answered, and the answer was recognised.
    pub matched: u64,
    /// Overwritten by other requests before an answer came.
    pub evicted: u64,
    /// Given up after the expiry.
    pub expired: u64,
    /// Repetitions of a request that was still open.
    pub ambiguous: u64,
    /// Still open at the end.
    pub pending: u64,
}

impl Requests {
    /// Every fate by its name in reports, in the order of a request's life.
    pub fn fates(&self) -> [(&'static str, u64); 6] {
        [
            ("matched", self.matched),
            ("not_admitted", self.not_admitted),
            ("evicted", self.evicted),
            ("expired", self.expired),
            ("ambiguous", self.ambiguous),
            ("pending", self.pending),
        ]
    }
}

/// Responses by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Responses {
    /// Packets observed that may be a response.
    pub seen: u64,
    /// Those that no request in the table fits.
    pub unmatched: u64,
}

/// Statistics of the delay, in nanoseconds, each with its 95% interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// Arithmetic mean.
    #[serde(serialize_with = "optional_estimate")]
    pub mean: Option<Estimate<i64>>,
    /// Median.
    #[serde(serialize_with = "optional_estimate")]
    pub p50: Option<Estimate<i64>>,
    /// 90th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p90: Option<Estimate<i64>>,
    /// 95th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p95: Option<Estimate<i64>>,
    /// 99th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p99: Option<Estimate<i64>>,
    /// Smallest delay among the samples.
    #[serde(serialize_with = "optional_estimate")]
    pub min: Option<Estimate<i64>>,
    /// Largest delay among the samples.
    #[serde(serialize_with = "optional_estimate")]
    pub max: Option<Estimate<i64>>,
}

impl Delays {
    /// The quantiles by the share of exchanges that took no longer.
    pub fn quantiles(&self) -> [(f64, Option<Estimate<i64>>); 4] {
        [(0.5, self.p50), (0.9, self.p90), (0.95, self.p95), (0.99, self.p99)]
    }
}

/// One bin of the histogram: `from_ns < delay ≤ to_ns`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bin {
    /// Lower edge, not in the bin.
    pub from_ns: i64,
    /// Upper edge, in the bin.
    pub to_ns: i64,
    /// Estimated number of exchanges in the bin.
    #[serde(serialize_with = "estimate")]
    pub exchanges: Estimate<f64>,
}

/// One point of the distribution function.
#[derive(Clone, Copy, Debug)]
pub struct CdfPoint {
    /// A delay.
    pub delay_ns: i64,
    /// The share of exchanges that took no longer, in `0..=1`.
    pub share: Estimate<f64>,
}
