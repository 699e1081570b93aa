//! The flags of `dwell queue`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::points::Reading;
use crate::{Failure, output, units};
use clap::{Args, ValueEnum};
use dwell_observe::crossing::Settings;
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::plot::Image;
use dwell_sketch::conquest::{Cleaning, Counter, Culprit, Params, Rule, Unit};
use dwell_sketch::queue::{Method, Taps};
use dwell_types::{Nanos, Prefix};
use std::path::PathBuf;

/// Who built a queue: captures on both sides of it, by one clock.
///
/// The last capture is where packets leave the queue, all others are where they come to it. Stretches in which packets
/// wait for long are told with the flows that caused them. With no flags the answer is exact as long as what departs
/// fits 64 MiB, and estimated by snapshots after that. The report says which it was.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell queue ingress.pcap egress.pcap                   episodes and their culprits, as a table
  dwell queue port1.pcap port2.pcap out.pcap --threshold 200us --plot queue.svg
  dwell queue in.pcap out.pcap --group dst --format json who is sent too much at once
  dwell queue --sojourns log.csv --per-packet packets.csv     a log with the columns arrived_ns, departed_ns, flow and bytes")]
pub(crate) struct Arguments {
    /// The captures where packets arrive, then the one where they depart: pcap or pcapng, plain, gzip, xz or zstd; - is
    /// standard input.
    #[arg(value_name = "CAPTURE", required_unless_present = "sojourns", conflicts_with = "sojourns")]
    pub(super) captures: Vec<PathBuf>,
    /// A log instead of captures: CSV with the columns arrived_ns (empty if not known), departed_ns, flow and bytes, in
    /// the order of departure.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "key", "nat", "payload_bytes", "group", "ways"])]
    pub(super) sojourns: Option<PathBuf>,

    /// A packet that waits at least so long makes an episode of congestion.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "1ms", help_heading = "What is measured")]
    pub(super) threshold: Nanos,
    /// A flow that takes more than this of the queue is a culprit: 1% or 0.01.
    #[arg(long, value_name = "SHARE", value_parser = units::share, default_value = "1%", help_heading = "What is measured")]
    pub(super) share: f64,
    /// An episode is over when no packet has waited for the threshold for longer than this.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "10ms", help_heading = "What is measured")]
    pub(super) quiet: Nanos,
    /// No packet waits for longer: one that has not departed by then never will.
    #[arg(long, value_name = "TIME", value_parser = units::span, default_value = "1s", help_heading = "What is measured")]
    pub(super) longest: Nanos,
    /// Only packets of these sources pass the queue: addresses or prefixes such as 10.0.0.0/8. If not given and the
    /// captures hold both directions, the one from the first captures to the last is recognised, as far as its
    /// addresses are among the first packets.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) from: Vec<Prefix>,
    /// What packets of one flow share, instead of addresses, ports and protocol: dst, src/24, port, vlan, dscp, …
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,
    /// How many culprits of each episode, those with the most bytes first.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=u32::MAX.into()), default_value_t = 5, help_heading = "What is measured")]
    pub(super) top: u32,
    /// What makes up a queue.
    #[arg(long, value_parser = units::one_of(Unit::ALL, Unit::name), default_value = Unit::Bytes.name(), help_heading = "What is measured")]
    pub(super) unit: Unit,
    /// Which addresses count in a tunnel: with inner, it may begin or end between the captures.
    #[arg(long, value_parser = units::one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    pub(super) key: Key,
    /// Addresses and ports are translated between the captures.
    #[arg(long, help_heading = "What is measured")]
    pub(super) nat: bool,
    /// Bytes of a payload by which packets are told apart, where the capture has so many.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = units::whole::<usize>, help_heading = "What is measured")]
    pub(super) payload_bytes: usize,

    /// How it is known what was in the queue. auto: every departure is remembered while that fits, then snapshots of
    /// flows go on. exact: every departure, in as much memory as that takes. conquest: snapshots from the beginning.
    #[arg(long, value_parser = units::one_of(Method::ALL, Method::name), default_value = Method::Auto.name(), help_heading = "How")]
    pub(super) method: Method,
    /// What all data structures together may hold; not the buffers for reading. Not for --method exact.
    #[arg(long, value_name = "SIZE", value_parser = units::memory, default_value = "64MiB", help_heading = "How")]
    pub(super) memory: usize,
    /// Bytes of all snapshots; 1 MiB unless given, or a quarter of the memory if that is less.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, conflicts_with_all = ["snapshots", "window", "rows", "columns"],
        help_heading = "How")]
    pub(super) sketch_bytes: Option<usize>,
    /// Snapshots of each length of windows, instead of what fits.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "How")]
    pub(super) snapshots: Option<u32>,
    /// How long each snapshot is written; with several, each a multiple of the one before.
    #[arg(long, value_name = "TIME", value_parser = units::span, value_delimiter = ',', help_heading = "How")]
    pub(super) window: Vec<Nanos>,
    /// Rows of Count-Min.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "How")]
    pub(super) rows: Option<u32>,
    /// Counters of each row, or entries of space-saving.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, help_heading = "How")]
    pub(super) columns: Option<u32>,
    /// What a snapshot is: Count-Min, with conservative update, or the largest flows.
    #[arg(long, value_enum, help_heading = "How")]
    pub(super) counter: Option<CounterChoice>,
    /// Which snapshots a packet reads: as the paper's analysis has it, as its text, as its hardware, or in proportion
    /// to time.
    #[arg(long, value_parser = units::one_of(Rule::ALL, Rule::name), default_value = Rule::Interpolated.name(), help_heading = "How")]
    pub(super) rule: Rule,
    /// How a snapshot is emptied: at once, or index by index with each packet as the paper does.
    #[arg(long, value_parser = units::one_of(Cleaning::ALL, Cleaning::name), default_value = Cleaning::Epochs.name(), help_heading = "How")]
    pub(super) cleaning: Cleaning,
    /// Compare snapshots with what truly departed, in as much memory as that takes besides. For --method conquest.
    #[arg(long, help_heading = "How")]
    pub(super) compare_exact: bool,
    /// Places that a packet may take in the table between the captures; 1 as in the paper.
    #[arg(long, value_name = "N", value_parser = units::between::<u16>(1..=65_535), default_value_t = Taps::WAYS as u16, help_heading = "How")]
    pub(super) ways: u16,
    /// Seed of all hashes: the same seed gives the same answer. Who knows it can send packets that hide or take long to
    /// measure: choose your own where somebody might.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = units::whole::<u64>, help_heading = "How")]
    pub(super) seed: u64,

    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Where the report goes, instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// What was in the queue with each packet, as CSV: departed_ns, flow, delay_ns, bytes_in_queue, share and culprit.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) per_packet: Option<PathBuf>,
    /// A last column for --per-packet, rate_change: by how many bytes per second (packets with --unit packets) more of
    /// its flow departed in the last finished window than in the one before it; --window says how long these are.
    #[arg(long, requires = "per_packet", help_heading = "Output")]
    pub(super) rate_change: bool,
    /// Draw the queue over time: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum CounterChoice {
    Cms,
    CmsConservative,
    SpaceSaving,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One document, schema dwell.queue/1.
    Json,
    /// One line per episode as it ends, then the document without them.
    Jsonl,
    /// One row for each episode and each of its culprits.
    Csv,
}

/// Of snapshots, unless something else is asked for.
const SKETCH_BYTES: usize = 1 << 20;
/// As in a switch.
const LEAST_SKETCH: usize = 2 << 10;
/// The paper's snapshots.
const SNAPSHOTS: u32 = 8;
const ROWS: u32 = 4;
const COLUMNS: u32 = 64;
/// Each packet looks at all of them.
const MOST_ENTRIES: u32 = 64;

impl Arguments {
    /// What the flags' own parsers cannot see.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let usage = |words: &str| Err(Failure::Usage(words.to_owned()));
        let is_stdin = |path: &&PathBuf| path.as_os_str() == "-";
        if self.sojourns.is_none() && self.captures.len() < 2 {
            return usage("expected captures where packets arrive, and the one where they depart");
        }
        if self.captures.iter().filter(is_stdin).count() > 1 {
            return usage("only one of the captures can be standard input");
        }
        output::check_different(&self.captures, "different captures")?;
        if self.compare_exact && self.method != Method::Conquest {
            return usage("--compare-exact belongs to --method conquest");
        }
        if self.rows.is_some() && self.counter == Some(CounterChoice::SpaceSaving) {
            return usage("--rows belongs to --counter cms and cms-conservative");
        }
        let others = self.per_packet.iter().chain(self.plot.as_ref().map(|(path, _)| path)).map(PathBuf::as_path);
        output::check_apart(self.inputs(), others.chain([output::place_of_report(self.output.as_ref())]))
    }

    /// The files that are read.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.captures.iter().chain(&self.sojourns)
    }

    /// How packets are told apart.
    pub(super) fn reading(&self) -> Reading {
        let names = Settings {
            key: self.key,
            nat: self.nat,
            payload_bytes: self.payload_bytes,
            group: self.group,
            seed: self.seed,
        };
        Reading { is_log: false, names }
    }

    /// What the memory is divided of; what has no bound of its own has that of the default.
    pub(super) fn bytes(&self) -> usize {
        if self.method == Method::Exact { 64 << 20 } else { self.memory }
    }

    /// The snapshots that are asked for, or the best in their share of so many bytes.
    pub(super) fn params(&self, memory: usize) -> Result<Params, Failure> {
        let culprit = Culprit { share: self.share, delay: self.threshold };
        let bytes = self.sketch_bytes.unwrap_or((memory / 4).clamp(LEAST_SKETCH, SKETCH_BYTES));
        let fitting = Params::for_queue(bytes, culprit, self.longest, self.seed);
        let is_given = self.snapshots.is_some() || !self.window.is_empty() || self.columns.is_some();
        let params = match fitting {
            Ok(params) if !is_given => params,
            Err(error) if !is_given => return Err(Failure::Usage(format!("--sketch-bytes: {error}"))),
            _ => self.given(culprit),
        };
        Ok(Params {
            unit: self.unit,
            rule: self.rule,
            cleaning: self.cleaning,
            counter: self.counter(params.counter),
            ..params
        })
    }

    /// Snapshots as asked for; what is not is as in the paper, of windows that reach back far enough.
    fn given(&self, culprit: Culprit) -> Params {
        let snapshots = self.snapshots.unwrap_or(SNAPSHOTS);
        let base = Params { culprit, ..Params::new(snapshots, self.longest, COLUMNS, self.seed) };
        let finished = i64::from(base.finished().max(1));
        let enough = Nanos::new(self.longest.get() / finished + i64::from(self.longest.get() % finished != 0));
        Params { windows: if self.window.is_empty() { vec![enough] } else { self.window.clone() }, ..base }
    }

    /// What is asked for instead of what fits: space-saving has an entry in the place of three counters.
    fn counter(&self, fitting: Counter) -> Counter {
        let (rows, columns, is_conservative) = match fitting {
            Counter::CountMin { rows, columns, is_conservative } => (rows, columns, is_conservative),
            Counter::SpaceSaving { entries } if self.counter.is_none() && self.rows.is_none() => {
                return Counter::SpaceSaving { entries: self.columns.unwrap_or(entries) };
            }
            Counter::SpaceSaving { entries } => (ROWS, (entries * 3 / ROWS).max(1), true),
        };
        let entries = self.columns.unwrap_or((rows * columns / 3).clamp(1, MOST_ENTRIES));
        let (rows, columns) = (self.rows.unwrap_or(rows), self.columns.unwrap_or(columns));
        match self.counter {
            Some(CounterChoice::SpaceSaving) => Counter::SpaceSaving { entries },
            Some(CounterChoice::Cms) => Counter::CountMin { rows, columns, is_conservative: false },
            Some(CounterChoice::CmsConservative) => Counter::CountMin { rows, columns, is_conservative: true },
            None => Counter::CountMin { rows, columns, is_conservative },
        }
    }
}
