//! What `dwell net` answers: the schemas `dwell.net-plan/1`, `dwell.net-paths/1` and `dwell.net-localize/1` of
//! `docs/formats/`.

use serde::Serialize;

// Which segment is to blame.
mod localize;
pub use localize::{
    ChangeLine, DelayShift, Intervals, LOCALIZE_SCHEMA, LocalizeReport, LossShift, PathLine, SegmentLine, SuspectLine,
};
// The forms.
pub mod csv;
pub mod table;

/// The name and version of the schema of [`PlanReport`].
pub const PLAN_SCHEMA: &str = "dwell.net-plan/1";
/// The name and version of the schema of [`PathsReport`].
pub const PATHS_SCHEMA: &str = "dwell.net-paths/1";

/// A network as it was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// The file, as given on the command line.
    pub source: String,
    /// How many routers there are.
    pub routers: usize,
    /// How many links, each direction for itself.
    pub links: usize,
    /// Paths between all ordered pairs of routers.
    pub paths: usize,
    /// `equal-cost` or `single`.
    pub mode: &'static str,
    /// Ordered pairs of routers without a path.
    pub unreachable_pairs: usize,
}

/// Which routers to instrument, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanReport {
    /// Always [`PLAN_SCHEMA`].
    pub schema: &'static str,
    /// What was planned for.
    #[serde(flatten)]
    pub network: Network,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// `greedy`, `saving`, `swap` or `random`.
    pub strategy: &'static str,
    /// Seed of random choices.
    pub seed: u64,
    /// Distinct segments without any instrumented router.
    pub segments: usize,
    /// From no instrumented router on.
    pub curve: Vec<Point>,
    /// As many routers as the curve ends with, or others for the same budget, leave no fewer probe hops; `null` unless
    /// asked for.
    pub least_probe_hops: Option<u64>,
}

/// A network with so many instrumented routers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// How many are instrumented.
    pub routers: usize,
    /// The last of them; `null` for none.
    pub added: Option<String>,
    /// What all of them cost together.
    pub cost: f64,
    /// Distinct segments.
    pub segments: usize,
    /// Links that one probe of each passes.
    pub probe_hops: u64,
    /// How long segments are; `null` without any.
    pub granularity: Option<Granularity>,
}

/// Hops of segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Granularity {
    /// On average.
    pub mean: f64,
    /// Of the shortest.
    pub min: u64,
    /// Of the longest.
    pub max: u64,
}

/// Who measures what in a network with some instrumented routers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathsReport {
    /// Always [`PATHS_SCHEMA`].
    pub schema: &'static str,
    /// What it is about.
    #[serde(flatten)]
    pub network: Network,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// The instrumented routers.
    pub instrumented: Vec<String>,
    /// Links that one probe of every segment passes.
    pub probe_hops: u64,
    /// Probes per second of each segment.
    pub probes_per_second: f64,
    /// Links that all probes pass in a second.
    pub probe_hops_per_second: f64,
    /// Pairs of interfaces inside instrumented routers, each with an aggregator.
    pub inner_pairs: u64,
    /// Bits per second that the aggregators of all pairs send.
    pub aggregator_bps: u64,
    /// How long segments are; `null` without any.
    pub granularity: Option<Granularity>,
    /// What is probed besides until all routers know of a failure; `null` unless links were said to have failed.
    pub overlap: Option<Overlap>,
    /// Every segment that is probed, in the order of the map.
    pub probes: Vec<Probe>,
}

/// Old routes beside new ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Segments that are new.
    pub added: usize,
    /// Segments that will not be probed any more.
    pub dropped: Vec<Probe>,
    /// Links that one probe of every segment of both passes.
    pub probe_hops: u64,
    /// Links that all probes pass in a second.
    pub probe_hops_per_second: f64,
}

/// A segment: whoever is at its beginning probes its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Probe {
    /// Its first router.
    pub from: String,
    /// Its last one.
    pub to: String,
    /// The routers between, none of them instrumented.
    pub via: Vec<String>,
    /// Links.
    pub hops: usize,
}
