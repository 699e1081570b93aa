//! The flags of `dwell net`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::output::ReportArguments;
use crate::units::one_of;
use clap::{Args, Subcommand, ValueEnum};
use dwell_network::plan::{Cost, Strategy};
use dwell_report::plot::Image;
use std::path::PathBuf;

/// A whole network: which routers to instrument next, who probes whom, and which segment makes a path slow or lossy.
///
/// An instrumented router measures inside itself and cuts every path through it into segments, which are probed end to
/// end. Maps: Rocketfuel weights.intra and cch, Internet Topology Zoo GraphML, and a TOML format of dwell; all files may be
/// compressed, and one may be standard input (-).
#[derive(Args)]
#[command(
    disable_help_subcommand = true,
    after_help = "\
Examples:
  dwell net plan weights.intra --routers 50 --plot plan.svg
  dwell net plan map.toml --costs costs.csv --budget 20 --format json
  dwell net paths map.graphml --instrumented Vienna,Milan
  dwell net localize map.toml --instrumented Vienna,Milan --measurements all.csv
  dwell net localize map.toml --measurements Vienna,Milan=owd.json --path Vienna,Milan"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) task: Task,
}

#[derive(Subcommand)]
pub(super) enum Task {
    Plan(PlanArguments),
    Paths(PathsArguments),
    Localize(LocalizeArguments),
}

/// What all of them need.
#[derive(Args)]
pub(super) struct MapArguments {
    /// The map of the network: TOML, GraphML or Rocketfuel, plain or gzip, xz, zstd; - is standard input.
    #[arg(value_name = "TOPOLOGY")]
    pub(crate) topology: PathBuf,
    #[command(flatten)]
    pub(crate) routing: RoutingArguments,
}

/// Which paths are measured, and where they are cut.
#[derive(Args)]
pub(crate) struct RoutingArguments {
    /// One shortest path per pair of routers instead of all equally short ones.
    #[arg(long)]
    pub(crate) single_path: bool,
    /// Make links that the map has in one direction only bidirectional, with the same weight.
    #[arg(long)]
    pub(crate) both_ways: bool,
    /// Remove the link between two routers, in both directions; repeatable.
    #[arg(long, value_name = "A,B")]
    pub(crate) failed: Vec<String>,
    /// Names of routers with a measurement server, separated by commas: only paths between these are measured.
    /// Default: those of the map, or all.
    #[arg(long, value_name = "ROUTERS")]
    pub(crate) servers: Vec<String>,
    /// Names of instrumented routers, separated by commas, besides those of the map.
    #[arg(long, value_name = "ROUTERS")]
    pub(crate) instrumented: Vec<String>,
}

/// How many routers are chosen besides the instrumented ones.
#[derive(Args)]
pub(crate) struct ChosenArguments {
    /// Number of further routers, chosen as by dwell net plan.
    #[arg(long, value_name = "N", value_parser = crate::units::whole::<usize>)]
    pub(crate) routers: Option<usize>,
}

/// Which routers to instrument, in order, to reduce probe traffic and locate faults finely.
#[derive(Args)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    /// Number of routers besides the instrumented ones. Default: a sixth of all, or as many as --budget allows.
    #[arg(long, value_name = "N", value_parser = crate::units::whole::<usize>)]
    pub(super) routers: Option<usize>,
    /// How to choose the next router. greedy: the one on most segments. saving: the one that saves most probe hops
    /// (links that one probe of every segment traverses in total). swap: as saving, then exchanges routers while that
    /// saves more; with --budget, those that save nothing are left out. random: in random order.
    #[arg(long, value_parser = one_of(Strategy::ALL, Strategy::name), default_value = Strategy::Greedy.name())]
    pub(super) strategy: Strategy,
    /// Costs of routers: CSV with columns router and cost, plain or gzip, xz, zstd; 1 for those not listed.
    #[arg(long, value_name = "FILE")]
    pub(super) costs: Option<PathBuf>,
    /// Limit of the total cost.
    #[arg(long, value_name = "N", value_parser = str::parse::<Cost>)]
    pub(super) budget: Option<Cost>,
    /// Also report a lower bound on the probe hops of any plan with as many routers, or the same budget.
    #[arg(long)]
    pub(super) bound: bool,
    /// Seed of the random order, which is that of --strategy random, or compared with in --plot. Default: 0.
    #[arg(long, value_name = "N", value_parser = crate::units::whole::<u64>)]
    pub(super) seed: Option<u64>,
    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    /// Plot probe hops and segment lengths, compared with a random order, to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

/// Who probes whom with given routers instrumented, and how much probe traffic that is.
#[derive(Args)]
pub(super) struct PathsArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    #[command(flatten)]
    pub(super) chosen: ChosenArguments,
    /// Probes per segment and second.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = crate::units::above_zero("a number of probes per second above 0"))]
    pub(super) probes_per_second: f64,
    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    /// Draw the map, with instrumented routers marked, to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

/// Which segment makes a path slow or lossy: measurements of each compared with a baseline.
#[derive(Args)]
pub(super) struct LocalizeArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    #[command(flatten)]
    pub(super) chosen: ChosenArguments,
    /// Measurements: CSV with segments named as by dwell net paths --format csv, or the JSON report of dwell owd
    /// --interval for one segment, named by all its routers or its ends, separated by commas. Plain or gzip, xz, zstd; -
    /// is standard input. Repeatable.
    #[arg(long, value_name = "[SEGMENT=]FILE", required = true)]
    pub(super) measurements: Vec<String>,
    /// Judge only the paths between two routers, separated by a comma.
    #[arg(long, value_name = "FROM,TO")]
    pub(super) path: Option<String>,
    /// Number of intervals at the start that form the baseline.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::units::between::<usize>(3..=1_000_000))]
    pub(super) baseline: usize,
    /// Share of intervals with a false alarm anywhere in the network.
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = crate::units::share)]
    pub(super) false_alarms: f64,
    /// Align measurements to intervals of this length; otherwise their start times must be equal.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span)]
    pub(super) interval: Option<dwell_types::Nanos>,
    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    /// Draw the map, with links coloured by delay, to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document.
    Json,
    /// One row per router, per probe, or per segment and path.
    Csv,
}
