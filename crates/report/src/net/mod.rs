//! Reports of `dwell net`: the schemas `dwell.net-plan/1`, `dwell.net-paths/1` and `dwell.net-localize/1` of
//! `docs/formats/`.

use serde::Serialize;
use std::sync::Arc;

// The report of `dwell net localize`.
mod localize;
pub use localize::{
    ChangeLine, DelayShift, Intervals, LOCALIZE_SCHEMA, LocalizeReport, LossShift, PathLine, SegmentLine, SuspectLine,
};
// Output formats.
pub mod csv;
pub mod table;

/// The name and version of the schema of [`PlanReport`].
pub const PLAN_SCHEMA: &str = "dwell.net-plan/1";
/// The name and version of the schema of [`PathsReport`].
pub const PATHS_SCHEMA: &str = "dwell.net-paths/1";

/// The network that was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    /// The file, as given on the command line.
    pub source: String,
    /// Number of routers.
    pub routers: usize,
    /// How many of them have a measurement server.
    pub servers: usize,
    /// Number of links; each direction counts separately.
    pub links: usize,
    /// Number of links that were removed as failed, and do not count.
    pub failed_links: usize,
    /// Number of shortest paths between all ordered pairs of routers with a server.
    pub paths: usize,
    /// `equal-cost` or `single`.
    pub mode: &'static str,
    /// Number of ordered pairs of routers with a server, without a path.
    pub unreachable_pairs: usize,
}

/// Which routers to instrument, in order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanReport {
    /// Always [`PLAN_SCHEMA`].
    pub schema: &'static str,
    /// The network.
    #[serde(flatten)]
    pub network: Network,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// `greedy`, `saving`, `swap` or `random`.
    pub strategy: &'static str,
    /// Seed of random choices.
    pub seed: u64,
    /// The routers that are instrumented before the plan.
    pub instrumented: Vec<String>,
    /// Number of distinct segments before the plan.
    pub segments: usize,
    /// One point per number of instrumented routers, starting with those before the plan.
    pub curve: Vec<Point>,
    /// Lower bound on the probe hops with as many routers as the curve ends with, or with any routers of the same
    /// budget; `null` without `--bound`.
    pub least_probe_hops: Option<u64>,
}

/// A network with a given number of instrumented routers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Number of instrumented routers.
    pub routers: usize,
    /// The router added last; `null` if there is none.
    pub added: Option<String>,
    /// Total cost of the routers that the plan has instrumented.
    pub cost: f64,
    /// Number of distinct segments.
    pub segments: usize,
    /// Links that one probe of every segment traverses in total.
    pub probe_hops: u64,
    /// Length of segments in hops; `null` without segments.
    pub granularity: Option<Granularity>,
}

/// Length of segments in hops.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Granularity {
    /// Mean.
    pub mean: f64,
    /// Shortest segment.
    pub min: u64,
    /// Longest segment.
    pub max: u64,
}

/// Who probes whom in a network with some instrumented routers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathsReport {
    /// Always [`PATHS_SCHEMA`].
    pub schema: &'static str,
    /// The network.
    #[serde(flatten)]
    pub network: Network,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// The instrumented routers.
    pub instrumented: Vec<String>,
    /// Links that one probe of every segment traverses in total.
    pub probe_hops: u64,
    /// Probes per second of each segment.
    pub probes_per_second: f64,
    /// Links that all probes traverse per second.
    pub probe_hops_per_second: f64,
    /// Pairs of interfaces inside instrumented routers, each with an aggregator.
    pub inner_pairs: u64,
    /// Bits per second sent by all aggregators together.
    pub aggregator_bps: u64,
    /// Length of segments in hops; `null` without segments.
    pub granularity: Option<Granularity>,
    /// What is probed additionally until all routers know of a failure; `null` without failed links (`--failed`).
    pub overlap: Option<Overlap>,
    /// All probed segments, in the order of the map.
    pub probes: Vec<Route>,
}

/// The transition from old routes to new ones, during which both are probed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overlap {
    /// Number of new segments.
    pub added: usize,
    /// Segments of the old routes, which are still probed for a time.
    pub dropped: Vec<Route>,
    /// Links that one probe of every old and new segment traverses in total.
    pub probe_hops: u64,
    /// Links that all these probes traverse per second.
    pub probe_hops_per_second: f64,
}

/// A segment, whose first router probes its last one, or a whole path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Route {
    /// Its first router.
    pub from: Arc<str>,
    /// Its last one.
    pub to: Arc<str>,
    /// The routers in between; in a segment none of them is instrumented.
    pub via: Vec<Arc<str>>,
    /// Number of links.
    pub hops: usize,
}
