//! The flags of `dwell rtt`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::output::{LabelArguments, ReportArguments};
use crate::units::{described, one_of};
use crate::{Failure, output, reject};
use clap::builder::TypedValueParser;
use clap::{ArgGroup, Args, ValueEnum};
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::plot::Image;
use dwell_report::rtt::Order;
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::rivals::timebloom::{Cdf, Policy};
use dwell_sketch::rtt::{GivenFilters, Method, Parameter, Parameters};
use dwell_types::{Match, Nanos, Prefix};
use std::path::PathBuf;

/// The usual value of `--max-groups`.
pub(super) const MAX_GROUPS: u16 = 64;

/// Response times: delay distributions of requests and responses seen at one point.
///
/// Exact while everything fits --memory; beyond that, an unbiased estimate with 95% intervals. The report says which.
#[derive(Args)]
#[command(group = ArgGroup::new("grouped").args(["group", "events"]).multiple(true), after_help = "\
Examples:
  dwell rtt capture.pcapng.gz                     handshakes, TCP data and DNS, as a table
  dwell rtt -r mon.pcap -r tue.pcap --match dns --group dst/24 --format json
  tcpdump -U -i eth0 -w - | dwell rtt - --interval 10s --format jsonl
  dwell rtt capture.pcap --memory 64KiB --plot cdf.svg")]
pub(crate) struct Arguments {
    /// Captures in chronological order: pcap or pcapng, plain or gzip, xz, zstd; - is standard input, FILE%INTERFACE the
    /// packets of one interface.
    #[arg(value_name = "CAPTURE")]
    pub(super) captures: Vec<PathBuf>,
    /// Same as CAPTURE, as in tcpdump.
    #[arg(short = 'r', value_name = "CAPTURE", conflicts_with = "captures")]
    pub(super) read: Vec<PathBuf>,
    /// Read a log instead of captures: CSV in time order with columns at_ns, kind (request or response), id and optionally
    /// group.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["captures", "read", "matches", "inside", "group", "key", "count"])]
    pub(super) events: Option<PathBuf>,
    /// As in tcpdump, and without effect: addresses are never looked up.
    #[arg(short = 'n', hide = true)]
    _numeric: bool,
    /// Not supported; the message says what to do instead.
    #[arg(short = 'i', long, hide = true)]
    interface: Option<String>,
    /// The same.
    #[arg(long, hide = true)]
    filter: Option<String>,
    /// Stop after this many frames.
    #[arg(short = 'c', value_name = "COUNT", value_parser = crate::units::count)]
    pub(super) count: Option<u64>,

    /// What counts as request and response; several with commas. Default: those of tcp-handshake, tcp-ack and dns that
    /// the method can measure.
    #[arg(long = "match", value_name = "LIST", value_delimiter = ',', value_parser = matching(),
        help_heading = "What is measured")]
    matches: Vec<Match>,
    /// Prefixes of the inside network, such as 10.0.0.0/8 or 2001:db8::/32; legs are then named outward, inward, inside and outside.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) inside: Vec<Prefix>,
    /// Group delays by the request's src or dst, whole addresses or prefixes: src/24 (IPv6: /48), dst/48 (IPv4: whole
    /// addresses), src/24/56 (IPv4/IPv6); by the client or the server, whoever asks: the ends that opened and accepted the
    /// connection, without a handshake those with the higher and the lower port; by vlan, port (the server's, mostly the
    /// service), src-port, dst-port, dscp or protocol; several with commas.
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,
    /// Also report the flows with the most bytes, each with its delays; the end with the higher port, mostly the client,
    /// is named first.
    #[arg(long, visible_alias = "per-flow", conflicts_with = "events", help_heading = "What is measured")]
    pub(super) flows: bool,
    /// Number of flows to report.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()),
        requires = "flows", conflicts_with = "events", help_heading = "What is measured")]
    pub(super) top: usize,
    /// Number of groups reported separately; the rest is counted as "other".
    #[arg(long, value_name = "N", default_value_t = MAX_GROUPS, value_parser = crate::units::between::<u16>(1..=8191),
        requires = "grouped", help_heading = "What is measured")]
    pub(super) max_groups: u16,
    /// Which addresses of tunnelled packets to use.
    #[arg(long, value_parser = one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    pub(super) key: Key,
    /// If it is unknown which copy of a repeated request was answered: report both bounds, count from the first or last
    /// copy, or drop the exchange.
    #[arg(long, value_parser = one_of(Ambiguous::ALL, Ambiguous::name), default_value = Ambiguous::Bounds.name(), help_heading = "What is measured")]
    pub(super) ambiguous: Ambiguous,
    /// Stop waiting for a response after this time, at most 36h. Default: 128s; one day for tcp-flow.
    #[arg(long, value_name = "TIME", value_parser = crate::units::wait, help_heading = "What is measured")]
    pub(super) expiry: Option<Nanos>,

    /// How to measure within the memory.
    #[arg(long, value_name = "METHOD", value_parser = described(Method::ALL, Method::name, Method::summary), default_value = Method::Auto.name(), help_heading = "Method and memory")]
    pub(super) method: Method,
    /// Memory limit of all data structures together, excluding read buffers. Not used by --method exact.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value = crate::units::MEMORY, help_heading = "Method and memory")]
    pub(super) memory: usize,
    /// Seed of all hashes: the same seed gives the same result. Whoever knows it can craft packets that evade or slow
    /// down the measurement: on untrusted traffic choose a secret one, or `random`; the report names it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::units::seed, help_heading = "Method and memory")]
    pub(super) seed: u64,

    /// Slots of the table of each match, of --method fridge, km, hash-sample (rounded down), simple, stages and mis (of all
    /// its fridges together). Default: as many as fit the memory.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(2..=u32::MAX.into()), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) slots: Option<u32>,
    /// Probability that a request is remembered, of --method fridge, km, hash-sample (which lowers it if memory gets full)
    /// and mis: there one for each of up to four fridges, separated by commas; they share the slots equally. Default: found
    /// while running.
    #[arg(long, value_name = "P", value_parser = crate::units::share, value_delimiter = ',', help_heading = "Parameters of methods (auto needs none)")]
    pub(super) entry_probability: Vec<f64>,
    /// Bits of an id stored per entry, of --method fridge, km, simple, stages and mis; more bits, fewer false matches.
    /// Default: 32; with fridge and km 16, or the bits of a slot number if more.
    #[arg(long, value_name = "BITS", value_parser = crate::units::between::<u32>(1..=32), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) fingerprint_bits: Option<u32>,
    /// Parts of a table, in each of which an entry has one place, of --method simple (default 1), stages (default 4; both at
    /// most 6) and dart (default 4).
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(1..=8), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) stages: Option<u32>,
    /// Longest delay to expect, of --method stages, timebloom, bloomtime, ale-u, ale-e and ddbf; default: a sixteenth of
    /// the expiry. Or how long --method hash-sample remembers a request; default: learnt from the delays.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Parameters of methods (auto needs none)")]
    pub(super) longest: Option<Nanos>,
    /// Expected requests per second and match, by which --method timebloom, bloomtime and ale-u choose their filters.
    /// Default: unknown.
    #[arg(long, value_name = "N", value_parser = crate::units::above_zero("requests per second, above 0"), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) rate: Option<f64>,
    /// Number of filters, each for a part of the time up to --longest, of --method timebloom, bloomtime, ale-u and ale-e.
    /// Default: as fits the memory and --rate; 14 with ale-e.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(2..=4096), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) filters: Option<u32>,
    /// Bits of each filter, of --method timebloom, bloomtime, ale-u, ale-e (rounded down to counters of 4) and ddbf
    /// (cells of 36). Default: as fits the memory.
    #[arg(long, value_name = "BITS", value_parser = crate::units::between::<u64>(1..=1 << 38), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) bits: Option<u64>,
    /// Bits (counters, cells) that each request sets in its filter, of --method timebloom, bloomtime, ale-u, ale-e and
    /// ddbf. Default: the best for --rate, 8 if that is not given; 4 with ale-e and ddbf.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(1..=64), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) hashes: Option<u32>,
    /// Which delay --method timebloom takes if several filters match a response. Default: bayes.
    #[arg(long, value_name = "POLICY", value_parser = described(Policy::ALL, Policy::name, Policy::summary), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) policy: Option<Policy>,
    /// Delays that --method timebloom takes as typical, instead of learning them: CSV with a column delay_ns and optionally
    /// weight, such as --samples wrote in an earlier run.
    #[arg(long, value_name = "FILE", help_heading = "Parameters of methods (auto needs none)")]
    pub(super) prior: Option<PathBuf>,
    /// Directions of flows that --method dart tracks at once, rounded down to a multiple of 4. Default: as fits half of the
    /// memory.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(4..=u32::MAX.into()), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) ranges: Option<u32>,
    /// Segments that --method dart remembers at once. Default: as fits the other half.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(1..=u32::MAX.into()), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) packets: Option<u32>,
    /// How often --method dart moves a segment to its next stage because another one takes its place. Default: 8.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(0..=255), help_heading = "Parameters of methods (auto needs none)")]
    pub(super) rounds: Option<u32>,

    /// Order of groups, the largest first; those of fewer than 20 samples come after others if delays are compared. A plot
    /// draws the first ones.
    #[arg(long, value_parser = one_of(Order::all(), Order::name), default_value = Order::default().name(), help_heading = "Output")]
    pub(super) sort: Order,
    /// Report each interval of this length separately.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Output")]
    pub(super) interval: Option<Nanos>,
    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    #[command(flatten)]
    pub(super) metrics: LabelArguments,
    /// Plot the distributions, or with --interval the delays over time, to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
    /// Write every sample with its weight as CSV.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) samples: Option<PathBuf>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document, schema dwell.rtt/1.
    Json,
    /// One line per report.
    Jsonl,
    /// One row per result.
    Csv,
    /// For Prometheus.
    #[value(alias = "prom")]
    Openmetrics,
    /// Every sample in the output format of pping, for ppviz.
    Ppviz,
}

/// When a format writes reports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Writing {
    /// Each interval's as it ends, while packets keep coming.
    Each,
    /// All together at the end.
    AtEnd,
    /// One of all that was counted so far; each replaces the one before.
    Anew,
    /// Samples instead of reports.
    Samples,
}

impl Format {
    pub(super) const fn writing(self) -> Writing {
        match self {
            Self::Jsonl | Self::Csv => Writing::Each,
            Self::Table | Self::Json => Writing::AtEnd,
            Self::Openmetrics => Writing::Anew,
            Self::Ppviz => Writing::Samples,
        }
    }
}

/// The names of the methods that have something.
pub(crate) fn methods(has: impl Fn(Method) -> bool) -> String {
    let names: Vec<&str> = Method::ALL.into_iter().filter(|&method| has(method)).map(Method::name).collect();
    names.join(", ")
}

/// The name of a match.
pub(crate) fn matching() -> impl TypedValueParser<Value = Match> {
    one_of(Match::of_packets(), Match::name)
}

/// How to select packets.
pub(super) const BY_TCPDUMP: &str =
    "tcpdump selects interfaces and packets: tcpdump -U -i eth0 -w - 'tcp port 80' | dwell rtt -";

impl Arguments {
    /// The captures, in order.
    pub(super) fn paths(&self) -> Vec<&PathBuf> {
        self.captures.iter().chain(&self.read).collect()
    }

    /// Whether each sample is written.
    pub(super) fn wants_samples(&self) -> bool {
        self.samples.is_some() || self.report.format().writing() == Writing::Samples
    }

    /// The matches to measure.
    pub(super) fn matches(&self) -> Vec<Match> {
        match &self.matches[..] {
            [] => Match::USUAL.into_iter().filter(|&matching| self.method.measures(matching)).collect(),
            matches => matches.to_vec(),
        }
    }

    /// What is given of the method; the prior is in a file.
    pub(super) fn parameters(&self, prior: Option<Cdf>) -> Parameters {
        Parameters {
            slots: self.slots,
            entry_probabilities: self.entry_probability.clone(),
            fingerprint_bits: self.fingerprint_bits,
            longest: self.longest,
            stages: self.stages,
            rate: self.rate,
            filters: GivenFilters { filters: self.filters, bits: self.bits, hashes: self.hashes },
            policy: self.policy,
            prior,
            ranges: self.ranges,
            packets: self.packets,
            rounds: self.rounds,
        }
    }

    /// Checks combinations of flags that their parsers cannot check.
    pub(super) fn check(&self) -> Result<(), Failure> {
        reject([
            (self.interface.is_some() || self.filter.is_some(), BY_TCPDUMP),
            (self.events.is_none() && self.paths().is_empty(), "expected a capture to read, or - for standard input"),
        ])?;
        let inputs = || self.paths().into_iter().chain(&self.events).chain(&self.prior);
        output::check_stdin(inputs())?;
        let prior = self.prior.as_ref().map(|_| Parameter::Prior);
        let mut given = self.parameters(None).given().chain(prior);
        if let Some(parameter) = given.find(|&parameter| !self.method.has(parameter)) {
            let others = methods(|method| method.has(parameter));
            return Err(Failure::usage(format!("--{} applies only to --method {others}", parameter.name())));
        }
        let (format, has_intervals) = (self.report.format(), self.interval.is_some());
        reject([
            (format == Format::Ppviz && self.flows, "--format ppviz does not support --flows: it writes samples only"),
            (
                format == Format::Ppviz && has_intervals,
                "--format ppviz does not support --interval: it writes samples only",
            ),
            (
                format == Format::Table && self.flows && has_intervals,
                "--format table does not support --flows with --interval: use json, jsonl or csv",
            ),
            (
                format == Format::Openmetrics && self.flows && has_intervals,
                "--format openmetrics does not support --flows with --interval: use json, jsonl or csv",
            ),
            (
                format == Format::Openmetrics && has_intervals && !output::is_replaceable(self.report.path()),
                "--format openmetrics with --interval replaces a file as each interval ends: expected -o FILE, not a \
                 pipe or device",
            ),
        ])?;
        self.metrics.check(format == Format::Openmetrics)?;
        self.report.check(inputs(), self.plot.as_ref(), self.samples.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use dwell_sketch::rtt::Settings;

    /// The help of `--expiry` is not made from the values that it names.
    #[test]
    fn help_names_the_usual_expiry() {
        let program = crate::Arguments::command();
        let size = program.find_subcommand("size").unwrap();
        for command in [&program, size].map(|command| command.find_subcommand("rtt").unwrap()) {
            let expiry = command.get_arguments().find(|argument| argument.get_id() == "expiry").unwrap();
            let help = expiry.get_help().unwrap().to_string();
            let mut times = help.rsplit([' ', ',', ';', '.']).filter_map(|word| crate::units::wait(word).ok());
            let named = times.next().unwrap();
            for matching in Match::ALL {
                let day = Nanos::from_secs(86_400);
                let named = if matching == Match::TcpFlow { day } else { named };
                assert_eq!(named, Settings::usual_expiry(matching), "{matching}: {help}");
            }
            assert!(help.ends_with(" day for tcp-flow"), "{help}");
        }
    }
}
