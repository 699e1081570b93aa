//! The report of `dwell rtt` as data: the schema `dwell.rtt/1` of `docs/formats/dwell.rtt.md`.

use crate::facts::{Frames, Memory, MethodFacts, Span, estimate, optional_estimate};
use crate::quantiles::{P50, P95, Quantiles, named};
use crate::shape::CdfPoint;
use dwell_sketch::estimate::Estimate;
use dwell_types::{Nanos, Series};
use serde::Serialize;
use std::collections::HashMap;
use std::sync::Arc;

// Conversion from the results of a meter.
mod answer;
// In which order results are reported, and which are drawn.
mod order;
pub(crate) use order::MOST_CURVES;
pub use order::Order;
// Human-readable formats.
mod histogram;
pub mod table;
// Machine-readable formats.
pub mod csv;
pub mod openmetrics;
// Formats that list individual samples.
pub mod ppviz;
pub mod samples;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.rtt/1";

/// The report of one run, or of one interval of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RttReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The captures or logs, as given on the command line; the same in all intervals.
    pub sources: Arc<[String]>,
    /// Warnings for the reader: truncated files, implausible timestamps, …
    pub warnings: Vec<String>,
    /// First and last timestamp covered; `null` if there were none.
    pub span_ns: Option<Span>,
    /// Start and end (exclusive) of the interval, multiples of its length since the epoch; `null` without intervals.
    pub interval_ns: Option<Span>,
    /// Frames by fate; `null` without packets (`--events`).
    pub frames: Option<Frames>,
    /// Memory limit and use.
    pub memory: Memory,
    /// The method and its parameters.
    pub method: MethodFacts,
    /// QUIC connections so far, by state; `null` unless requested.
    pub quic: Option<Quic>,
    /// One line per match, leg and group seen, by [`RttReport::order`].
    pub results: Vec<ResultLine>,
    /// The order of groups.
    #[serde(skip)]
    pub order: Order,
    /// The flows with the most bytes, then all others together; empty unless requested.
    pub flows: Vec<Flow>,
}

impl RttReport {
    /// The interval of the report, or the time from its first to its last packet.
    pub(crate) fn period(&self) -> Option<Span> {
        self.interval_ns.or(self.span_ns)
    }
}

/// QUIC connections that were seen to begin: `spinning + not_spinning + undecided`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quic {
    /// Total number.
    pub connections: u64,
    /// Connections that were found to use the spin bit: from then on round trips are measured.
    pub spinning: u64,
    /// Connections whose spin bit stays constant or changes at random.
    pub not_spinning: u64,
    /// Connections with too few packets to tell, or with irregular edges in the only direction that was seen.
    pub undecided: u64,
    /// How many of all these were dropped to make room for others.
    pub evicted: u64,
    /// Packets that may belong to other connections.
    pub unknown_packets: u64,
}

/// One flow, or all flows without a line of their own: together, these are all packets that were decoded.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name; `other` for all others.
    pub flow: String,
    /// Packets of both directions, since the flow last got a place in the table.
    pub packets: u64,
    /// Their bytes, from the IP header on.
    pub bytes: u64,
    /// Upper bound on further bytes of this flow that were counted as `other`, before that.
    pub uncounted_bytes: u64,
    /// One per match and leg that has samples, since then as well: intervals do not allow for exchanges before that.
    pub results: Vec<FlowResult>,
}

/// The delays of a flow for one match and leg.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// The pairing rule.
    #[serde(rename = "match")]
    pub matching: &'static str,
    /// The part of the path.
    pub leg: &'static str,
    /// Weighted samples that the estimates are based on.
    pub samples: u64,
    /// Estimated number of answered requests.
    #[serde(serialize_with = "optional_estimate")]
    pub exchanges: Option<Estimate<f64>>,
    /// The delays.
    pub delay_ns: Delays,
}

/// The results for one match, leg and group.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResultLine {
    /// The pairing rule, as on the command line.
    #[serde(rename = "match")]
    pub matching: &'static str,
    /// The part of the path.
    pub leg: &'static str,
    /// The group's name; `all` without grouping, `other` for traffic that did not get a group of its own.
    pub group: String,
    /// Requests by fate.
    pub requests: Requests,
    /// Responses by fate.
    pub responses: Responses,
    /// Weighted samples that the estimates are based on.
    pub samples: u64,
    /// Samples whose request was repeated before the response, so that it is not known which copy was answered.
    pub ambiguous_samples: u64,
    /// Estimated number of answered requests; `null` without samples.
    #[serde(serialize_with = "optional_estimate")]
    pub exchanges: Option<Estimate<f64>>,
    /// The delays; every member `null` without samples.
    pub delay_ns: Delays,
    /// Logarithmic histogram, in ascending order, without gaps; empty without samples.
    pub histogram: Vec<Bin>,
    /// The distribution function at ascending delays, for plots and the histogram of a table; empty without samples, and
    /// until [`ResultLine::add_cdfs`], since it is by far the largest part of a line. Not in the JSON.
    #[serde(skip)]
    pub cdf: Vec<CdfPoint>,
    /// The quantile that depends most on how repeated requests count, if it can double. Not in the JSON, whose intervals
    /// show how far.
    #[serde(skip)]
    pub dependent: Option<Dependent>,
}

/// A quantile that depends on which copies of repeated requests were answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Its name.
    pub quantile: &'static str,
    /// Its value if the last copies were answered.
    pub last: Nanos,
    /// Its value if the first copies were answered.
    pub first: Nanos,
}

impl ResultLine {
    /// The estimated number of answered requests; 0 without samples.
    pub(crate) fn answered(&self) -> f64 {
        self.exchanges.map_or(0.0, |exchanges| exchanges.value)
    }

    /// The share of answered requests that were measured, in `0..=1`; `None` without samples.
    pub(crate) fn coverage(&self) -> Option<f64> {
        let exchanges = self.exchanges.filter(|e| e.value > 0.0)?;
        Some(if self.is_complete() { 1.0 } else { (self.samples as f64 / exchanges.value).min(1.0) })
    }

    /// Whether every answered request was measured, so that their number is exact, not estimated.
    pub(crate) fn is_complete(&self) -> bool {
        self.exchanges.is_some_and(|e| e.is_exact())
    }

    /// Its display name: `tcp-handshake beyond 10.0.0.0/24`, `dns`.
    pub fn name(&self) -> String {
        let rule = self.rule();
        if self.group == Series::ALL { rule } else { format!("{rule} {}", self.group) }
    }

    /// The display name without the group.
    pub(crate) fn rule(&self) -> String {
        rule(self.matching, self.leg)
    }

    /// What distinguishes it from the other lines of its report, and is the same in all intervals of a series.
    fn key(&self) -> (&'static str, &'static str, &str) {
        (self.matching, self.leg, &self.group)
    }
}

/// A result over the intervals of a series: its lines, at least one, each with the place of its report.
pub(crate) struct Course<'a>(Vec<(usize, &'a ResultLine)>);

impl<'a> Course<'a> {
    /// Those of all results, in the order of their first lines.
    pub(crate) fn all(reports: &'a [RttReport]) -> Vec<Self> {
        let mut courses: Vec<Self> = Vec::new();
        let mut places = HashMap::new();
        for (number, report) in reports.iter().enumerate() {
            for line in &report.results {
                let place = *places.entry(line.key()).or_insert_with(|| {
                    courses.push(Self(Vec::new()));
                    courses.len() - 1
                });
                courses[place].0.push((number, line));
            }
        }
        courses
    }

    /// Its first line, of which the others differ by what was measured.
    pub(crate) fn first(&self) -> &'a ResultLine {
        self.0[0].1
    }

    /// Its lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &'a ResultLine> + Clone {
        self.0.iter().map(|&(_, line)| line)
    }

    /// All intervals, each with its line there.
    pub(crate) fn over(
        &self,
        reports: &'a [RttReport],
    ) -> impl Iterator<Item = (&'a RttReport, Option<&'a ResultLine>)> {
        let mut lines = self.0.iter().peekable();
        reports.iter().enumerate().map(move |(number, report)| {
            let line = lines.next_if(|(of, _)| *of == number);
            (report, line.map(|&(_, line)| line))
        })
    }
}

/// Display name of a match and leg.
pub(crate) fn rule(matching: &str, leg: &str) -> String {
    if leg == "both" { matching.to_owned() } else { format!("{matching} {leg}") }
}

/// Requests by fate: `carried_over + seen` is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// Open at the start of the interval; zero in a report over a whole run.
    pub carried_over: u64,
    /// Requests seen.
    pub seen: u64,
    /// Not sampled, either at once or when the sampling rate was reduced.
    pub not_admitted: u64,
    /// Answered, with the response recognised.
    pub matched: u64,
    /// Overwritten by other requests before a response came.
    pub evicted: u64,
    /// Dropped after the expiry.
    pub expired: u64,
    /// Repetitions of a request that was still open.
    pub ambiguous: u64,
    /// Still open at the end.
    pub pending: u64,
}

impl Requests {
    /// The requests that are not open any more, by fate.
    pub(crate) fn ended(&self) -> [(&'static str, u64); 5] {
        [
            ("matched", self.matched),
            ("not_admitted", self.not_admitted),
            ("evicted", self.evicted),
            ("expired", self.expired),
            ("ambiguous", self.ambiguous),
        ]
    }
}

/// Responses by fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Responses {
    /// Packets seen that may be a response.
    pub seen: u64,
    /// Those that match no request in the table.
    pub unmatched: u64,
}

/// The places of the quantiles shown of flows.
const OF_FLOWS: [usize; 2] = [P50, P95];

/// Statistics of the delay, in nanoseconds, each with its 95% interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Delays {
    /// Arithmetic mean.
    #[serde(serialize_with = "optional_estimate")]
    pub mean: Option<Estimate<i64>>,
    /// [`QUANTILES`](crate::quantiles::QUANTILES), each under its name.
    #[serde(flatten, serialize_with = "named")]
    pub quantiles: Quantiles,
    /// Smallest delay among the samples.
    #[serde(serialize_with = "optional_estimate")]
    pub min: Option<Estimate<i64>>,
    /// Largest delay among the samples.
    #[serde(serialize_with = "optional_estimate")]
    pub max: Option<Estimate<i64>>,
}

/// One bin of the histogram: `from_ns < delay ≤ to_ns`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bin {
    /// Lower edge, excluded.
    pub from_ns: i64,
    /// Upper edge, included.
    pub to_ns: i64,
    /// Estimated number of exchanges in the bin.
    #[serde(serialize_with = "estimate")]
    pub exchanges: Estimate<f64>,
}
