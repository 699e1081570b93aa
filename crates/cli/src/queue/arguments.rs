//! The flags of `dwell queue`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::output::ReportArguments;
use crate::points::{NamingArguments, Reading};
use crate::{Failure, output, units};
use clap::{Args, ValueEnum};
use dwell_observe::group::Grouping;
use dwell_report::plot::Image;
use dwell_sketch::conquest::{Cleaning, CounterKind, Culprit, GivenSnapshots, Params, Rule, Unit};
use dwell_sketch::queue::{Method, Shares, Taps};
use dwell_types::{Nanos, Prefix};
use std::path::PathBuf;

/// Which flows built a queue: captures on both sides of it, timestamped by the same clock.
///
/// Packets arrive at the queue in all captures but the last, and depart in the last. Episodes of congestion are
/// reported with the flows that caused them. Exact while the departures fit --memory; beyond that, estimated by
/// snapshots. The report says which.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell queue ingress.pcap egress.pcap                       episodes and their culprits, as a table
  dwell queue port1.pcap port2.pcap out.pcap --threshold 200us --plot queue.svg
  dwell queue router.pcapng%eth0 router.pcapng%eth1          one capture of two interfaces
  dwell queue in.pcap out.pcap --group dst --format json     destinations of incast
  dwell queue --sojourns log.csv --per-packet packets.csv    a log of packets")]
pub(crate) struct Arguments {
    /// The captures where packets arrive, then the one where they depart: pcap or pcapng, plain or gzip, xz, zstd; - is
    /// standard input, FILE%INTERFACE the packets of one interface.
    #[arg(value_name = "CAPTURE", required_unless_present = "sojourns", conflicts_with = "sojourns")]
    pub(super) captures: Vec<PathBuf>,
    /// Read a log instead of captures: CSV with columns arrived_ns (empty if unknown), departed_ns, flow and bytes, in
    /// order of departure.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "clock_offset", "key", "nat", "payload_bytes", "mtu", "group", "ways"])]
    pub(super) sojourns: Option<PathBuf>,

    /// Delay from which a packet is part of an episode of congestion.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "1ms", help_heading = "What is measured")]
    pub(super) threshold: Nanos,
    /// Share of the queue above which a flow is a culprit, such as 1% or 0.01.
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "1%", help_heading = "What is measured")]
    pub(super) share: f64,
    /// End an episode when no packet has reached the threshold for this time.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "10ms", help_heading = "What is measured")]
    pub(super) quiet: Nanos,
    /// Longest time in the queue: a packet that has not departed by then is given up.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "1s", help_heading = "What is measured")]
    pub(super) longest: Nanos,
    /// Addresses or prefixes such as 10.0.0.0/8: only packets from them pass the queue. Default: the direction from the
    /// first captures to the last, detected from the first packets of files (not of pipes).
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) from: Vec<Prefix>,
    /// How far the clock of the last capture is ahead of the others; negative if behind. Includes what a link between
    /// them takes, if that is not to count.
    #[arg(long, value_name = "TIME", value_parser = units::offset, default_value = "0", help_heading = "What is measured")]
    pub(super) clock_offset: Nanos,
    /// Define flows by this key instead of addresses, ports and protocol: dst, src/24, port, vlan, dscp, …
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,
    /// Number of culprits to report per episode, those with the most bytes first.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=u32::MAX.into()), default_value_t = 5, help_heading = "What is measured")]
    pub(super) top: u32,
    /// Unit of queue sizes.
    #[arg(long, value_parser = units::one_of(Unit::ALL, Unit::name), default_value = Unit::Bytes.name(), help_heading = "What is measured")]
    pub(super) unit: Unit,
    #[command(flatten)]
    pub(super) naming: NamingArguments,

    /// How to determine what was in the queue. auto: every departure while they fit, then snapshots of flow sizes.
    /// exact: every departure, without memory limit. conquest: snapshots from the start.
    #[arg(long, value_parser = units::one_of(Method::ALL, Method::name), default_value = Method::Auto.name(), help_heading = "Method and memory")]
    pub(super) method: Method,
    /// Memory limit of all data structures together, excluding read buffers. Not used by --method exact.
    #[arg(long, value_name = "SIZE", value_parser = units::memory, default_value = units::MEMORY, help_heading = "Method and memory")]
    pub(super) memory: usize,
    /// Bytes of all snapshots together. Default: 1 MiB, or a quarter of the memory if less.
    #[arg(long, value_name = "SIZE", value_parser = units::memory, conflicts_with_all = ["snapshots", "window", "rows", "columns"],
        help_heading = "Method and memory")]
    pub(super) sketch_bytes: Option<usize>,
    /// Number of snapshots per window length, instead of as many as fit.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "Method and memory")]
    pub(super) snapshots: Option<u32>,
    /// Time that each snapshot covers; several lengths with commas, each a multiple of the one before.
    #[arg(long, value_name = "TIME", value_parser = units::span, value_delimiter = ',', help_heading = "Method and memory")]
    pub(super) window: Vec<Nanos>,
    /// Rows of a Count-Min sketch.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "Method and memory")]
    pub(super) rows: Option<u32>,
    /// Counters per row of Count-Min, or entries of space-saving.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "Method and memory")]
    pub(super) columns: Option<u32>,
    /// Data structure of a snapshot: Count-Min, Count-Min with conservative update, or space-saving.
    #[arg(long, value_parser = units::one_of(CounterKind::ALL, CounterKind::name), help_heading = "Method and memory")]
    pub(super) counter: Option<CounterKind>,
    /// Which snapshots a packet queries: as in the ConQuest paper's analysis, its text or its hardware, or in
    /// proportion to time.
    #[arg(long, value_parser = units::one_of(Rule::ALL, Rule::name), default_value = Rule::Interpolated.name(), help_heading = "Method and memory")]
    pub(super) rule: Rule,
    /// How a snapshot is cleared: at once, or index by index with each packet as in the ConQuest paper.
    #[arg(long, value_parser = units::one_of(Cleaning::ALL, Cleaning::name), default_value = Cleaning::Epochs.name(), help_heading = "Method and memory")]
    pub(super) cleaning: Cleaning,
    /// Compare snapshots with the exact queue, in additional memory. For --method conquest.
    #[arg(long, help_heading = "Method and memory")]
    pub(super) compare_exact: bool,
    /// Places a packet may take in the table of packets in the queue; 1 as in the ConQuest paper (not with
    /// --method exact).
    #[arg(long, value_name = "N", value_parser = units::between::<u16>(1..=65_535), default_value_t = Taps::WAYS as u16, help_heading = "Method and memory")]
    pub(super) ways: u16,

    #[command(flatten)]
    pub(super) report: ReportArguments<Format>,
    /// Write what was in the queue with each packet, as CSV: departed_ns, flow, delay_ns, bytes_in_queue, share and
    /// culprit.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) per_packet: Option<PathBuf>,
    /// Add the column rate_change to --per-packet: the change of the flow's departure rate, in bytes per second
    /// (packets with --unit packets), between the last two finished windows of length --window.
    #[arg(long, requires = "per_packet", help_heading = "Output")]
    pub(super) rate_change: bool,
    /// Plot the queue over time to a .svg or .png file.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// Human-readable.
    #[default]
    Table,
    /// One document, schema dwell.queue/1.
    Json,
    /// One line per episode as it ends, then the report without them.
    Jsonl,
    /// One row per episode and per culprit.
    Csv,
}

impl Arguments {
    /// Checks combinations of arguments that their own parsers cannot.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.sojourns.is_none() && self.captures.len() < 2 {
            return Err(Failure::usage(
                "expected at least two captures: where packets arrive, and last where they depart",
            ));
        }
        output::check_stdin(&self.captures)?;
        output::check_different(&self.captures, "different captures")?;
        if self.threshold > self.longest {
            let (threshold, longest) = (self.threshold, self.longest);
            return Err(Failure::usage(format!(
                "--threshold {threshold}: expected at most the longest delay, {longest} (--longest)"
            )));
        }
        if self.method == Method::Exact && usize::from(self.ways) < Taps::WAYS {
            return Err(Failure::usage(format!(
                "--ways {}: --method exact needs at least {}, or its table grows without end",
                self.ways,
                Taps::WAYS
            )));
        }
        let of_snapshots = [
            ("--sketch-bytes", self.sketch_bytes.is_some()),
            ("--snapshots", self.snapshots.is_some()),
            // Rates are those of windows, too.
            ("--window", !self.window.is_empty() && !self.rate_change),
            ("--rows", self.rows.is_some()),
            ("--columns", self.columns.is_some()),
            ("--counter", self.counter.is_some()),
            ("--rule", self.rule != Rule::Interpolated),
            ("--cleaning", self.cleaning != Cleaning::Epochs),
        ];
        let given = of_snapshots.into_iter().find(|&(_, is_set)| is_set);
        if let Some((flag, _)) = given.filter(|_| self.method == Method::Exact) {
            return Err(Failure::usage(format!("{flag} is of snapshots, which --method exact does not take")));
        }
        if self.compare_exact && self.method != Method::Conquest {
            return Err(Failure::usage("--compare-exact applies only to --method conquest"));
        }
        if self.rows.is_some() && self.counter == Some(CounterKind::SpaceSaving) {
            return Err(Failure::usage("--rows applies only to --counter cms and cms-conservative"));
        }
        self.report.check(self.inputs(), self.plot.as_ref(), self.per_packet.as_ref())
    }

    /// The files to be read.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.captures.iter().chain(&self.sojourns)
    }

    /// How packets are read and identified.
    pub(super) fn reading(&self) -> Reading {
        self.naming.reading(self.sojourns.is_some(), self.group)
    }

    /// The memory limit; `--method exact` has none.
    pub(super) fn limit(&self) -> Option<usize> {
        (self.method != Method::Exact).then_some(self.memory)
    }

    /// The shares of this many bytes, or of memory without a limit.
    pub(super) fn shares(&self, memory: Option<usize>) -> Shares {
        let shares = Shares::of(memory, self.sojourns.is_none());
        Shares { snapshots: self.sketch_bytes.unwrap_or(shares.snapshots), ..shares }
    }

    /// The snapshots given on the command line, or the best ones in this many bytes.
    pub(super) fn params(&self, bytes: usize) -> Result<Params, Failure> {
        let given = GivenSnapshots {
            snapshots: self.snapshots,
            windows: self.window.clone(),
            counter: self.counter,
            rows: self.rows,
            columns: self.columns,
            cleaning: self.cleaning,
        };
        let culprit = Culprit { share: self.share, delay: self.threshold };
        let params = Params::given(&given, bytes, culprit, self.longest, self.naming.seed)
            .map_err(|error| Failure::usage(format!("--sketch-bytes: {error}")))?;
        Ok(Params { unit: self.unit, rule: self.rule, ..params })
    }
}
