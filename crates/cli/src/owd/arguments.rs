//! The flags of `dwell owd`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use super::Pair;
use crate::points::Reading;
use crate::units::one_of;
use crate::{Failure, output};
use clap::{Args, Subcommand, ValueEnum};
use dwell_observe::crossing::Settings;
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::facts::Parameter;
use dwell_report::plot::Image;
use dwell_sketch::lda::Expected;
use dwell_types::{Nanos, Prefix};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// What a point looks at: the same for one point and for two.
#[derive(Args, Clone)]
pub(crate) struct PointArguments {
    /// Logs instead of captures: CSV with the columns at_ns, packet and, if wanted, flow and bytes.
    #[arg(long, conflicts_with_all = ["key", "nat", "payload_bytes", "from"])]
    pub(super) crossings: bool,
    /// Only packets of these sources go from the sender to the receiver: addresses or prefixes such as 10.0.0.0/8. If
    /// not given, both directions are recognised and measured, as far as their addresses are among the first packets.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) from: Vec<Prefix>,
    /// A packet that has not arrived after this time is lost.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, default_value = "5s", help_heading = "What is measured")]
    pub(crate) longest: Nanos,
    /// Which addresses count in a tunnel: with inner, it may begin or end between the points.
    #[arg(long, value_parser = one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    pub(super) key: Key,
    /// Addresses and ports are translated between the points.
    #[arg(long, help_heading = "What is measured")]
    pub(super) nat: bool,
    /// Bytes of a payload by which packets are told apart, where the capture has so many.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = crate::units::whole::<usize>, help_heading = "What is measured")]
    pub(super) payload_bytes: usize,
    /// What one packet counts for in a sketch of flows (1 to 65536; 1 if no line says it): CSV with the columns flow
    /// and weight, where flow is an address or prefix of the sender or receiver, in a log the flow. The same file at
    /// both points.
    #[arg(long, value_name = "FILE", help_heading = "How")]
    pub(crate) weights: Option<PathBuf>,
    /// Seed of all hashes: the same seed gives the same answer. Who knows it can send packets that hide or take long to
    /// measure: choose your own where somebody might.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::units::whole::<u64>, help_heading = "How")]
    pub(super) seed: u64,

    /// An answer for each stretch of time, too, by the time of sending; 1s for JSON, CSV and plots if not given.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Output")]
    pub(super) interval: Option<Nanos>,
}

/// What the banks of a sketch are for: the same at both points.
#[derive(Args, Clone)]
pub(super) struct ExpectedArguments {
    /// Packets of an interval that a sketch is made for; a million unless given.
    #[arg(long, value_name = "N", value_parser = crate::units::count, help_heading = "How")]
    packets_per_interval: Option<u64>,
    /// Shares of the packets that may be lost, which a sketch is made for; 0.01%..10% unless given.
    #[arg(long, value_name = "LOW..HIGH", value_parser = crate::units::shares, help_heading = "How")]
    loss: Option<RangeInclusive<f64>>,
}

impl ExpectedArguments {
    /// What was said of it.
    pub(super) fn parameters(&self) -> impl Iterator<Item = (&'static str, Parameter)> {
        let packets = self.packets_per_interval.map(|packets| ("packets_per_interval", Parameter::Integer(packets)));
        let loss = self.loss.as_ref().map(|loss| format!("{}..{}", loss.start(), loss.end()));
        packets.into_iter().chain(loss.map(|loss| ("loss", Parameter::Text(loss))))
    }

    /// What is expected of packets that take no longer than this.
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
    /// How packets are told apart.
    pub(super) fn reading(&self, group: Option<Grouping>) -> Reading {
        let names =
            Settings { key: self.key, nat: self.nat, payload_bytes: self.payload_bytes, group, seed: self.seed };
        Reading { is_log: self.crossings, names }
    }

    /// The length of an interval.
    pub(crate) fn interval(&self) -> Nanos {
        self.interval.unwrap_or(Nanos::from_secs(1))
    }
}

/// Where an answer goes, and in which form.
#[derive(Args)]
pub(super) struct OutputArguments {
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Where the report goes, instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Draw delay and loss over time: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

impl OutputArguments {
    /// The files that are written.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.output.iter().chain(self.plot.as_ref().map(|(path, _)| path))
    }
}

/// What else there is to do.
#[derive(Subcommand)]
pub(super) enum Step {
    Sketch(SketchArguments),
    Join(JoinArguments),
}

/// How long one way takes and how much is lost: the same traffic, captured at two points with clocks that agree.
///
/// Packets are recognised by what nothing on the way changes. With no flags the answer is exact as long as the packets
/// under way fit 64 MiB, and an unbiased estimate with 95% intervals after that. The report says which it was.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  dwell owd sender.pcap receiver.pcap                    all packets, as a table
  dwell owd client.pcap server.pcap --from 10.0.0.2 --reverse   both directions, and what they say about the clocks
  dwell owd a.pcap b.pcap --interval 1s --flows --format json
  dwell owd --crossings a.csv b.csv                      logs with the columns at_ns, packet, flow and bytes"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(super) point: PointArguments,
    #[command(subcommand)]
    pub(super) step: Option<Step>,
    /// The capture that packets pass first: pcap or pcapng, plain or in gzip, xz or zstd; - is standard input.
    #[arg(value_name = "SENDER", required = true)]
    pub(super) sender: Option<PathBuf>,
    /// The capture that packets pass later.
    #[arg(value_name = "RECEIVER", required = true)]
    pub(super) receiver: Option<PathBuf>,
    /// The sender comes second.
    #[arg(long)]
    pub(super) swap: bool,

    /// Measure the packets of all other sources than --from, too, as those that go from the receiver to the sender.
    /// Both directions bound the offset of the clocks. Without --from both directions are recognised and measured as
    /// they are.
    #[arg(long, help_heading = "What is measured")]
    pub(super) reverse: bool,
    /// How far the receiver's clock is ahead of the sender's; negative if it is behind.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", help_heading = "What is measured")]
    pub(super) clock_offset: Nanos,
    /// One answer for each flow, those with the most bytes first.
    #[arg(long, help_heading = "What is measured")]
    pub(super) flows: bool,
    /// How many flows.
    #[arg(long, requires = "flows", value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()), help_heading = "What is measured")]
    pub(super) top: usize,
    /// Only flows whose name contains this, such as 10.0.0.1:443.
    #[arg(long, value_name = "TEXT", help_heading = "What is measured")]
    pub(super) flow: Option<String>,
    /// What packets of one flow share, instead of addresses, ports and protocol: src/24, dst/48, port, vlan, dscp, …
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,

    /// How packets are compared. auto: every packet while it fits, then a sample of them. exact: every packet, in as
    /// much memory as that takes. lda: a small sketch of each interval at either point, as they could be sent from one
    /// to the other.
    #[arg(long, value_enum, default_value_t = Method::Auto, help_heading = "How")]
    pub(super) method: Method,
    /// Bytes of a sketch of --method lda; 9000 unless given, or a quarter of the memory if that is less.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::bytes, help_heading = "How")]
    pub(super) sketch_bytes: Option<usize>,
    /// Bytes of a sketch of flows of --method lda with --flows; 256 KiB unless given, or a quarter of the memory if
    /// that is less.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::bytes, help_heading = "How")]
    pub(super) flow_bytes: Option<usize>,
    #[command(flatten)]
    pub(super) expected: ExpectedArguments,
    /// What all data structures together may hold; not the buffers for reading. Not for --method exact.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value = "64MiB", help_heading = "How")]
    pub(super) memory: usize,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// Sketch what passes one point, a few kilobytes for each interval, to be joined with another point's sketches
/// elsewhere.
#[derive(Args)]
#[command(
    mut_arg("from", |from| from.help(
        "Only packets of these sources go from the sender to the receiver, and are sketched: addresses or prefixes such as \
         10.0.0.0/8, the same at both points. Needed where both directions pass: sketches cannot tell them apart",
    )),
    mut_arg("interval", |interval| interval.help(
        "A sketch for each stretch of time, the same at both points; 1s if not given",
    )),
)]
pub(super) struct SketchArguments {
    /// A capture, or a log with --crossings.
    #[arg(value_name = "CAPTURE")]
    pub(super) capture: PathBuf,
    #[command(flatten)]
    pub(super) point: PointArguments,
    /// Bytes of a sketch.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::bytes, default_value_t = SKETCH_BYTES, help_heading = "How")]
    pub(super) sketch_bytes: usize,
    #[command(flatten)]
    pub(super) expected: ExpectedArguments,
    /// Sketch flows, too.
    #[arg(long, help_heading = "How")]
    pub(super) flows: bool,
    /// Bytes of a sketch of flows.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::bytes, default_value_t = FLOW_BYTES, help_heading = "How")]
    pub(super) flow_bytes: usize,
    /// How much later packets pass here than at the point whose intervals are meant, roughly: fewer intervals must be
    /// joined.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", help_heading = "How")]
    pub(super) shift: Nanos,
    /// Where the sketches go.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: PathBuf,
}

/// Join the sketches of two points, made by dwell owd sketch.
#[derive(Args)]
pub(super) struct JoinArguments {
    /// The sketches of the point that packets pass first.
    #[arg(value_name = "SENDER")]
    pub(super) sender: PathBuf,
    /// The sketches of the point that packets pass later.
    #[arg(value_name = "RECEIVER")]
    pub(super) receiver: PathBuf,
    /// Say what is known of each interval, too.
    #[arg(long, help_heading = "Output")]
    pub(super) intervals: bool,
    /// How many flows, those with the most bytes first, if flows were sketched.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()), help_heading = "Output")]
    pub(super) top: usize,
    #[command(flatten)]
    pub(super) output: OutputArguments,
}

/// The paper's 72 kbit.
pub(super) const SKETCH_BYTES: usize = 9_000;

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

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One document, schema dwell.owd/1.
    Json,
    /// One line per interval as it ends, then the document without them.
    Jsonl,
    /// One row for all packets, each interval and each flow.
    Csv,
    /// For Prometheus.
    Openmetrics,
}

impl Arguments {
    /// What the flags' own parsers cannot see.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let usage = |words: &str| Err(Failure::Usage(words.to_owned()));
        let pair = self.pair();
        pair.check()?;
        let weights = self.point.weights.as_ref();
        if self.reverse && self.point.from.is_empty() {
            return usage("--reverse needs --from, to tell the directions apart");
        }
        if (self.sketch_bytes.is_some() || self.flow_bytes.is_some()) && self.method != Method::Lda {
            return usage("--sketch-bytes and --flow-bytes belong to --method lda");
        }
        let ExpectedArguments { packets_per_interval, loss } = &self.expected;
        if (packets_per_interval.is_some() || loss.is_some()) && self.method != Method::Lda {
            return usage("--packets-per-interval and --loss belong to --method lda");
        }
        if self.method == Method::Lda && self.reverse {
            return usage("--method lda knows one direction: leave --reverse away");
        }
        if self.group.is_some() && !self.wants_flows() {
            return usage("--group says what a flow is: it needs --flows or --flow");
        }
        if self.point.weights.is_some() && !(self.method == Method::Lda && self.wants_flows()) {
            return usage("--weights belongs to --method lda with --flows");
        }
        if self.point.weights.is_some() && self.group.is_some() {
            return usage("--weights goes by the addresses of packets: leave --group away");
        }
        if self.point.nat && self.method == Method::Lda && self.wants_flows() && self.group.is_none() {
            return usage(
                "--method lda: with --nat a flow has other addresses at the other point, and would be lost: compare packets \
                 (--method auto), or say by --group what translation leaves alone, such as dst-port",
            );
        }
        if self.output.format == Format::Openmetrics && self.point.interval.is_some() {
            return usage("--format openmetrics has no series of intervals: use jsonl or csv");
        }
        let outputs = self.output.paths();
        output::check_apart(pair.paths.iter().chain(weights), outputs)
    }

    pub(super) fn wants_flows(&self) -> bool {
        self.flows || self.flow.is_some()
    }

    /// Whether a flow of this name is asked for.
    pub(super) fn is_wanted(&self, name: &str) -> bool {
        self.flow.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }

    /// The two captures, that of the sender first.
    pub(super) fn pair(&self) -> Pair<'_> {
        let mut paths = [&self.sender, &self.receiver].map(|path| path.clone().unwrap_or_default());
        if self.swap {
            paths.reverse();
        }
        Pair { paths, point: &self.point, reverse: self.reverse, clock_offset: self.clock_offset }
    }
}
