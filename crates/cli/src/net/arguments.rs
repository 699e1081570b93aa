//! The flags of `dwell net`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use clap::{Args, Subcommand, ValueEnum};
use dwell_network::plan::Strategy;
use dwell_report::plot::Image;
use std::path::PathBuf;

/// A whole network: which routers to instrument next, who measures what then, and which segment is to blame for a slow
/// path.
///
/// Every path is cut where a router measures inside itself; the segments between are probed. Maps: Rocketfuel
/// weights.intra and cch, GraphML as the Internet Topology Zoo writes it, and a TOML format of our own.
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
    /// The map of the network.
    #[arg(value_name = "TOPOLOGY")]
    pub(super) topology: PathBuf,
    /// One shortest path for each pair of routers instead of all equally short ones.
    #[arg(long)]
    pub(super) single_path: bool,
    /// Links that the map has in one direction only go back as well, with the same weight: some maps are drawn with
    /// arrows that mean nothing.
    #[arg(long)]
    pub(super) both_ways: bool,
    /// Routes as they are when the link between two routers has failed, in both directions; may be given often.
    #[arg(long, value_name = "A,B")]
    pub(super) failed: Vec<String>,
}

/// Which routers measure inside themselves.
#[derive(Args)]
pub(super) struct InstrumentedArguments {
    /// Names of instrumented routers, joined by commas.
    #[arg(long, value_name = "ROUTERS")]
    pub(super) instrumented: Vec<String>,
    /// How many more, as dwell net plan would choose them.
    #[arg(long, value_name = "N", value_parser = crate::units::whole::<usize>)]
    pub(super) routers: Option<usize>,
}

/// Where an answer goes, and in which form.
#[derive(Args)]
pub(super) struct ReportArguments {
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Where the report goes, instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
}

/// Which routers to instrument, one after the other, so that few hops are probed and faults are located finely.
#[derive(Args)]
pub(super) struct PlanArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    /// How many routers; a sixth of all unless given, or what the budget pays.
    #[arg(long, value_name = "N", value_parser = crate::units::whole::<usize>)]
    pub(super) routers: Option<usize>,
    /// How the next router is chosen.
    #[arg(long, value_enum, default_value_t = StrategyChoice::Greedy)]
    pub(super) strategy: StrategyChoice,
    /// What routers cost: CSV with the columns router and cost; 1 for those that are not in it.
    #[arg(long, value_name = "FILE")]
    pub(super) costs: Option<PathBuf>,
    /// What all of them may cost together.
    #[arg(long, value_name = "N", value_parser = crate::units::above_zero("a cost above 0"))]
    pub(super) budget: Option<f64>,
    /// Say how many probe hops any plan of as many routers leaves at least, or of the same budget.
    #[arg(long)]
    pub(super) bound: bool,
    /// Of random choices.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::units::whole::<u64>)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) report: ReportArguments,
    /// Draw probe hops and lengths of segments, beside those of a random order: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

/// Who probes whom with some routers instrumented, and how much traffic that is.
#[derive(Args)]
pub(super) struct PathsArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    #[command(flatten)]
    pub(super) instrumented: InstrumentedArguments,
    /// Probes of each segment per second.
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = crate::units::above_zero("a number of probes per second above 0"))]
    pub(super) probes_per_second: f64,
    #[command(flatten)]
    pub(super) report: ReportArguments,
    /// Draw the map, instrumented routers marked: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

/// Which segment is to blame for a slow path: how long each takes now, and what is usual.
#[derive(Args)]
pub(super) struct LocalizeArguments {
    #[command(flatten)]
    pub(super) map: MapArguments,
    #[command(flatten)]
    pub(super) instrumented: InstrumentedArguments,
    /// What was measured: CSV with the segments named as dwell net paths --format csv does, or what dwell owd
    /// --interval says of one segment, named by its routers or only its ends, joined by commas. May be given often.
    #[arg(long, value_name = "[SEGMENT=]FILE", required = true)]
    pub(super) measurements: Vec<String>,
    /// Judge the paths between two routers, joined by a comma, instead of all.
    #[arg(long, value_name = "FROM,TO")]
    pub(super) path: Option<String>,
    /// How many of the first intervals are what is usual.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = crate::units::between::<usize>(3..=1_000_000))]
    pub(super) baseline: usize,
    /// The share of intervals with any false alarm, in the whole network.
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = crate::units::share)]
    pub(super) false_alarms: f64,
    /// Measurements that begin in the same multiple of this are of one interval; otherwise they must begin together.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span)]
    pub(super) interval: Option<dwell_types::Nanos>,
    #[command(flatten)]
    pub(super) report: ReportArguments,
    /// Draw the map, links coloured by delay: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum StrategyChoice {
    /// The router through which most segments lead.
    Greedy,
    /// The router that saves most probe hops.
    Saving,
    /// As many routers as saving takes, as long as one exchanged for another saves more.
    Swap,
    /// Any.
    Random,
}

impl StrategyChoice {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::Saving => "saving",
            Self::Swap => "swap",
            Self::Random => "random",
        }
    }

    pub(super) const fn strategy(self) -> Strategy {
        match self {
            Self::Greedy => Strategy::Greedy,
            Self::Saving => Strategy::Saving,
            Self::Swap => Strategy::Swap,
            Self::Random => Strategy::Random,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One document.
    Json,
    /// One row per router, per probe, or per segment and path.
    Csv,
}
