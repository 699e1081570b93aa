//! The flags of `dwell owd`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::Pair;
use crate::output::{LabelArguments, ReportArguments};
use crate::points::{NamingArguments, Reading};
use crate::units::{one_of, time_flag};
use crate::{Failure, output, reject};
use clap::{Args, Subcommand, ValueEnum};
use dwell_observe::crossing::Directions;
use dwell_observe::group::Grouping;
use dwell_report::facts::Parameter;
use dwell_report::owd::Order;
use dwell_report::plot::Image;
use dwell_sketch::lda::Expected;
use dwell_sketch::summary::Origin;
use dwell_types::{Nanos, Prefix, hash};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// What a point looks at: the same for one point and for two.
#[derive(Args, Clone)]
pub(crate) struct PointArguments {
    /// Read logs instead of captures: CSV with columns at_ns, packet and optionally flow and bytes.
    #[arg(long, conflicts_with_all = ["key", "nat", "payload_bytes", "mtu", "from"])]
    pub(super) crossings: bool,
    /// Addresses or prefixes on the sender's side, such as 10.0.0.0/8: only packets from them to others are measured.
    /// Default: both directions are detected from the first packets of files (not of pipes), and measured.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(crate) from: Vec<Prefix>,
    /// A packet that has not arrived after this time is lost.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, default_value = LONGEST, help_heading = "What is measured")]
    pub(crate) longest: Nanos,
    #[command(flatten)]
    pub(super) naming: NamingArguments,
    /// Also report each interval of this length, by time of sending. Default for JSON, CSV and plots: 1s.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Output")]
    pub(super) interval: Option<Nanos>,
}

/// The usual value of --longest, [`Expected::LONGEST`].
pub(crate) const LONGEST: &str = "5s";

/// The argument --longest after a space, unless it has its usual value.
pub(crate) fn longest_flag(longest: Nanos) -> String {
    if longest == Expected::LONGEST { String::new() } else { format!(" --longest {}", time_flag(longest)) }
}

/// What sketches are made for: the same at both points.
#[derive(Args, Clone)]
pub(super) struct ExpectedArguments {
    /// Packets per interval that a sketch is made for. Default: a million.
    #[arg(long, value_name = "N", value_parser = crate::units::count, help_heading = "Method and memory")]
    packets_per_interval: Option<u64>,
    /// Loss rates that a sketch is made for. Default: 0.01%..10%.
    #[arg(long, value_name = "LOW..HIGH", value_parser = crate::units::shares, help_heading = "Method and memory")]
    loss: Option<RangeInclusive<f64>>,
    /// Weights of flows in the sketch of flows (1 to 65536, 1 if not listed): CSV with columns flow and weight; flow is
    /// an address or prefix of sender or receiver, or the flow's name in a log. Use the same file at both points.
    #[arg(long, value_name = "FILE", help_heading = "Method and memory")]
    pub(super) weights: Option<PathBuf>,
}

impl ExpectedArguments {
    /// The arguments given, for the report.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&'static str, Parameter)> {
        let packets = self.packets_per_interval.map(|packets| ("packets_per_interval", Parameter::Integer(packets)));
        let loss = self.loss.as_ref().map(|loss| format!("{}..{}", loss.start(), loss.end()));
        packets.into_iter().chain(loss.map(|loss| ("loss", Parameter::Text(loss))))
    }

    /// The expected traffic, with delays up to this.
    pub(super) fn within(&self, longest: Nanos) -> Expected {
        let usual = Expected::within(longest);
        Expected {
            packets: self.packets_per_interval.unwrap_or(usual.packets),
            loss: self.loss.clone().unwrap_or_else(|| usual.loss.clone()),
            ..usual
        }
    }
}

impl PointArguments {
    /// How packets are read, for the messages of a point. With translated addresses each point may name its own.
    pub(super) fn origin(&self) -> Origin {
        let hash = |text: String| if text.is_empty() { 0 } else { hash::bytes(hash::start(0), text.as_bytes()) };
        let mut from: Vec<_> = self.from.iter().filter(|_| !self.naming.nat).map(ToString::to_string).collect();
        from.sort_unstable();
        Origin { names: hash(self.naming.names()), sources: hash(from.join(",")) }
    }

    /// How packets are identified.
    pub(super) fn reading(&self, group: Option<Grouping>) -> Reading {
        self.naming.reading(self.crossings, group)
    }

    /// The length of an interval.
    pub(crate) fn interval(&self) -> Nanos {
        self.interval.unwrap_or(Nanos::from_secs(1))
    }

    /// The arguments that are not the defaults, each after a space, apart from the sender's side.
    pub(crate) fn flags(&self) -> String {
        let flags = [
            self.crossings.then(|| " --crossings".to_owned()),
            Some(longest_flag(self.longest)),
            self.interval.map(|interval| format!(" --interval {}", time_flag(interval))),
        ];
        flags.into_iter().flatten().chain([self.naming.flags()]).collect()
    }
}

/// Where an answer goes, and in which form.
#[derive(Args)]
pub(super) struct OutputArguments {
    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    #[command(flatten)]
    pub(super) metrics: LabelArguments,
    /// Plot delay and loss over time to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

impl OutputArguments {
    /// Rejects files that cannot be written beside these inputs and another output.
    pub(super) fn check<'a>(
        &'a self,
        inputs: impl IntoIterator<Item = impl AsRef<Path>>,
        others: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        self.metrics.check(self.report.format() == Format::Openmetrics)?;
        self.report.check(inputs, self.plot.as_ref(), others)
    }
}

/// What else there is to do.
#[derive(Subcommand)]
pub(super) enum Step {
    Sketch(SketchArguments),
    Join(JoinArguments),
}

/// One-way delay and loss: the same traffic, captured at two points with synchronised clocks.
///
/// Packets are matched by fields that do not change on the path. Exact while the packets in flight fit --memory; beyond
/// that, an unbiased estimate with 95% intervals. The report says which.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  dwell owd sender.pcap receiver.pcap                           all packets, as a table
  dwell owd client.pcap server.pcap --from 10.0.0.2 --reverse   both directions, clock offset
  dwell owd a.pcap b.pcap --interval 1s --flows --format json
  dwell owd a.pcap b.pcap --plot time.svg --plot-cdf cdf.svg    delay and loss over time, and distributions
  dwell owd router.pcapng%eth0 router.pcapng%eth1               one capture of two interfaces
  dwell owd --crossings a.csv b.csv                             logs of packets"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) point: PointArguments,
    #[command(subcommand)]
    pub(super) step: Option<Step>,
    /// The capture at the sender's side: pcap or pcapng, plain or gzip, xz, zstd; - is standard input, FILE%INTERFACE the
    /// packets of one interface.
    #[arg(value_name = "SENDER", required = true)]
    pub(super) sender: Option<PathBuf>,
    /// The capture at the receiver's side.
    #[arg(value_name = "RECEIVER", required = true)]
    pub(super) receiver: Option<PathBuf>,
    /// Not supported; the message says what to do instead.
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// Swap the two: the first capture is the receiver's.
    #[arg(long)]
    pub(super) swap: bool,

    /// With --from: also measure packets from all other sources, as the reverse direction. Both directions bound the
    /// clock offset. Without --from both are detected and measured anyway.
    #[arg(long, help_heading = "What is measured")]
    pub(super) reverse: bool,
    /// How far the receiver's clock is ahead of the sender's; negative if behind.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", help_heading = "What is measured")]
    pub(super) clock_offset: Nanos,
    /// Also report the flows with the most bytes, each with its delays and losses, then all others together.
    #[arg(long, help_heading = "What is measured")]
    pub(super) flows: bool,
    /// Number of flows to report.
    #[arg(long, requires = "flows", conflicts_with = "flow", value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()), help_heading = "What is measured")]
    pub(super) top: usize,
    /// Order of these flows, which are those with the most bytes whatever it is: the largest value first; those of fewer
    /// than 20 packets with a delay (for loss: received or lost) come after others. --plot-cdf draws the first ones.
    /// Default: bytes.
    #[arg(long, value_parser = one_of(Order::all(), Order::name), help_heading = "What is measured")]
    pub(super) sort: Option<Order>,
    /// Report only flows whose name contains this, such as 10.0.0.1:443.
    #[arg(long, value_name = "TEXT", help_heading = "What is measured")]
    pub(super) flow: Option<String>,
    /// Define flows by this key instead of addresses, ports and protocol: src/24, dst/48, server, port, vlan, dscp, …
    #[arg(long, value_name = "KEY", conflicts_with = "crossings", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,

    /// How to compare packets. auto: every packet while they fit, then a sample. exact: every packet, without memory
    /// limit. lda: a small sketch per interval at each point, as if exchanged between them.
    #[arg(long, value_enum, default_value_t = Method::Auto, help_heading = "Method and memory")]
    pub(super) method: Method,
    /// Bytes per sketch of --method lda. Default: 9000, or a sixth of the memory if less (with
    /// --flows a twentieth).
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, help_heading = "Method and memory")]
    pub(super) sketch_bytes: Option<usize>,
    /// Bytes per sketch of flows of --method lda --flows. Default: 256 KiB, or 3/40 of the memory if less.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, help_heading = "Method and memory")]
    pub(super) flow_bytes: Option<usize>,
    #[command(flatten)]
    pub(super) expected: ExpectedArguments,
    /// Memory limit of all data structures together, excluding read buffers. Not used by --method exact.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value = crate::units::MEMORY, help_heading = "Method and memory")]
    pub(super) memory: usize,
    #[command(flatten)]
    pub(super) output: OutputArguments,
    /// Plot the distribution functions of the delay, of each direction and of --flows, to a .svg or .png file. Not with
    /// --method lda.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot_cdf: Option<(PathBuf, Image)>,
    /// Write every compared packet as CSV when its fate is known: when it was sent, its delay, its weight. Not with
    /// --method lda.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) samples: Option<PathBuf>,
}

/// Sketch the packets at one point, a few kilobytes per interval, to join with the sketches of another point later.
#[derive(Args)]
#[command(
    mut_arg("from", |from| from.help(
        "Addresses or prefixes on the sender's side, such as 10.0.0.0/8, the same at both points: only packets from \
         them are sketched. Required if the capture holds both directions",
    )),
    mut_arg("interval", |interval| interval.help(
        "Length of the interval of a sketch, the same at both points. Default: 1s",
    )),
)]
pub(super) struct SketchArguments {
    /// The capture, or with --crossings the log.
    #[arg(value_name = "CAPTURE")]
    pub(super) capture: PathBuf,
    #[command(flatten)]
    pub(super) point: PointArguments,
    /// Bytes per sketch.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value_t = SKETCH_BYTES, help_heading = "Method and memory")]
    pub(super) sketch_bytes: usize,
    #[command(flatten)]
    pub(super) expected: ExpectedArguments,
    /// Also sketch flows.
    #[arg(long, help_heading = "Method and memory")]
    pub(super) flows: bool,
    /// Define flows by this key instead of addresses, ports and protocol: src/24, dst/48, server, port, vlan, dscp, … The
    /// same at both points.
    #[arg(long, value_name = "KEY", requires = "flows", conflicts_with_all = ["weights", "crossings"], help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,
    /// Bytes per sketch of flows.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value_t = FLOW_BYTES, requires = "flows", help_heading = "Method and memory")]
    pub(super) flow_bytes: usize,
    /// Roughly how much later packets pass here than at the other point; fewer intervals then have to be merged.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", help_heading = "Method and memory")]
    pub(super) shift: Nanos,
    /// Write the sketches to this file.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: PathBuf,
}

/// Join the sketches of two points, written by dwell owd sketch.
#[derive(Args)]
pub(super) struct JoinArguments {
    /// The sketches of the sender's side.
    #[arg(value_name = "SENDER")]
    pub(super) sender: PathBuf,
    /// The sketches of the receiver's side.
    #[arg(value_name = "RECEIVER")]
    pub(super) receiver: PathBuf,
    /// Also report each interval.
    #[arg(long, help_heading = "Output")]
    pub(super) intervals: bool,
    /// Number of flows to report, those with the most bytes first, if flows were sketched.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()), help_heading = "Output")]
    pub(super) top: usize,
    /// Order of these flows, which are those with the most bytes whatever it is: the largest value first; those of fewer
    /// than 20 packets with a delay (for loss: received or lost) come after others.
    #[arg(long, value_parser = one_of(Order::OF_SKETCHES, Order::name), default_value = Order::default().name(), help_heading = "Output")]
    pub(super) sort: Order,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// The paper's 72 kbit.
pub(crate) const SKETCH_BYTES: usize = 9_000;

/// 4 rows of 4,095 cells.
pub(super) const FLOW_BYTES: usize = 256 << 10;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    Auto,
    Exact,
    Lda,
}

impl Method {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Lda => "lda",
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document, schema dwell.owd/1.
    Json,
    /// One line per interval as it ends, then the report without them.
    Jsonl,
    /// One row for the total, each interval and each flow.
    Csv,
    /// For Prometheus.
    #[value(alias = "prom")]
    Openmetrics,
}

impl Arguments {
    /// Checks combinations of arguments that their own parsers cannot.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if !self.more.is_empty() {
            let found = self.more.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!(
                "expected two captures, one of each point, found also {found}; join the parts of one by cat (also if \
                 compressed), in their order"
            )));
        }
        let pair = self.pair();
        pair.check()?;
        let ExpectedArguments { packets_per_interval, loss, weights } = &self.expected;
        output::check_stdin(pair.paths.iter().chain(weights))?;
        let (is_lda, wants_flows) = (self.method == Method::Lda, self.wants_flows());
        reject([
            (self.reverse && self.point.from.is_empty(), "--reverse requires --from, which tells the directions apart"),
            (
                (self.sketch_bytes.is_some() || self.flow_bytes.is_some()) && !is_lda,
                "--sketch-bytes and --flow-bytes apply only to --method lda",
            ),
            (self.flow_bytes.is_some() && !wants_flows, "--flow-bytes requires --flows or --flow"),
            (
                (packets_per_interval.is_some() || loss.is_some()) && !is_lda,
                "--packets-per-interval and --loss apply only to --method lda",
            ),
            (is_lda && self.reverse, "--method lda measures one direction only: omit --reverse"),
            (self.group.is_some() && !wants_flows, "--group defines flows: it requires --flows or --flow"),
            (self.sort.is_some() && !wants_flows, "--sort orders flows: it requires --flows or --flow"),
            (
                is_lda && self.sort.is_some_and(|order| !Order::OF_SKETCHES.contains(&order)),
                "--method lda does not know quantiles: use --sort bytes, loss or mean",
            ),
            (weights.is_some() && !(is_lda && wants_flows), "--weights applies only to --method lda with --flows"),
            (weights.is_some() && self.group.is_some(), "--weights refers to addresses: omit --group"),
            (
                self.point.naming.nat && is_lda && wants_flows && self.group.is_none(),
                "--method lda: with --nat flows have other addresses at the other point: compare packets (--method \
                 auto), or define flows with --group by what is not translated, such as dst-port",
            ),
            (
                self.output.report.format() == Format::Openmetrics && self.point.interval.is_some(),
                "--format openmetrics does not support --interval: use jsonl or csv",
            ),
            (
                is_lda && self.samples.is_some(),
                "--samples does not apply to --method lda, which does not know single packets",
            ),
            (
                is_lda && self.plot_cdf.is_some(),
                "--plot-cdf does not apply to --method lda, which does not know distributions",
            ),
        ])?;
        let others = self.samples.iter().chain(self.plot_cdf.as_ref().map(|(path, _)| path));
        self.output.check(pair.paths.iter().chain(weights), others)
    }

    pub(super) fn wants_flows(&self) -> bool {
        self.flows || self.flow.is_some()
    }

    /// Whether a flow with this name is to be reported.
    pub(super) fn is_wanted(&self, name: &str) -> bool {
        self.flow.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }

    /// The parameters that all methods have, for the report: `directions` are those measured.
    pub(super) fn parameters(&self, directions: &Directions) -> BTreeMap<&'static str, Parameter> {
        self.point.reading(self.group).parameters(directions, self.point.longest, self.clock_offset)
    }

    /// The two captures, the sender's first.
    pub(super) fn pair(&self) -> Pair<'_> {
        let mut paths = [&self.sender, &self.receiver].map(|path| path.clone().unwrap_or_default());
        if self.swap {
            paths.reverse();
        }
        Pair { paths, point: &self.point, reverse: self.reverse, clock_offset: self.clock_offset }
    }
}

impl SketchArguments {
    /// Checks combinations of arguments that their own parsers cannot.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.expected.weights.is_some() && !self.flows {
            return Err(Failure::usage("--weights requires --flows"));
        }
        if self.point.naming.nat && self.flows && self.group.is_none() {
            return Err(Failure::usage(
                "with --nat flows have other addresses at the other point: omit --flows, define flows with --group by \
                 what is not translated, or compare packets (dwell owd --nat --flows)",
            ));
        }
        let inputs = [&self.capture].into_iter().chain(&self.expected.weights);
        output::check_stdin(inputs.clone())?;
        output::check_apart(inputs, [&self.output])
    }
}

impl JoinArguments {
    /// The sketches, the sender's first.
    pub(super) fn inputs(&self) -> [&PathBuf; 2] {
        [&self.sender, &self.receiver]
    }

    /// Checks combinations of arguments that their own parsers cannot.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.inputs().into_iter().any(|path| path == Path::new("-")) {
            return Err(Failure::usage(
                "expected two files made by dwell owd sketch: they are not read from standard input",
            ));
        }
        output::check_different(self.inputs(), "the sketches of two points")?;
        if self.output.report.format() == Format::Openmetrics && self.intervals {
            return Err(Failure::usage("--format openmetrics does not support --intervals: use jsonl or csv"));
        }
        self.output.check(self.inputs(), [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_longest_delay_is_that_of_sketches() {
        assert_eq!(crate::units::span(LONGEST), Ok(Expected::LONGEST));
    }
}
