//! The flags of `dwell rtt`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::units::one_of;
use crate::{Failure, output};
use clap::{ArgGroup, Args, ValueEnum};
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::plot::Image;
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::rtt::Method;
use dwell_types::{Match, Nanos, Prefix};
use std::path::PathBuf;

/// How long responses take: delay distributions from requests and responses seen at one point.
///
/// With no flags the answer is exact as long as everything fits 64 MiB, and an unbiased estimate with 95% intervals
/// after that. The report says which it was.
#[derive(Args)]
#[command(group = ArgGroup::new("grouped").args(["group", "events"]).multiple(true), after_help = "\
Examples:
  dwell rtt capture.pcapng.gz                     handshakes, TCP data and DNS, as a table
  dwell rtt -r mon.pcap -r tue.pcap --match dns --group dst/24 --format json
  tcpdump -i eth0 -w - | dwell rtt - --interval 10s --format jsonl
  dwell rtt capture.pcap --memory 64KiB --plot cdf.svg")]
pub(crate) struct Arguments {
    /// Captures in order: pcap or pcapng, plain or in gzip, xz or zstd; - is standard input.
    #[arg(value_name = "CAPTURE")]
    pub(super) captures: Vec<PathBuf>,
    /// The same, as tcpdump calls it.
    #[arg(short = 'r', value_name = "CAPTURE")]
    pub(super) read: Vec<PathBuf>,
    /// A log instead of captures: CSV with the columns at_ns, kind (request or response), id and, if wanted, group.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["captures", "read", "matches", "inside", "group", "key", "count"])]
    pub(super) events: Option<PathBuf>,
    /// Stop after this many frames.
    #[arg(short = 'c', value_name = "COUNT", value_parser = crate::units::count)]
    pub(super) count: Option<u64>,

    /// What is a request and what its response: tcp-handshake, tcp-ack, tcp-ts, tcp-flow, dns, ntp, icmp-echo,
    /// quic-spin. If not given, tcp-handshake, tcp-ack and dns; of these what the method can measure.
    #[arg(long = "match", value_name = "LIST", value_delimiter = ',', value_parser = matching,
        help_heading = "What is measured")]
    matches: Vec<Match>,
    /// What is inside, so that legs are named outward and inward: prefixes such as 10.0.0.0/8 or 2001:db8::/32.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) inside: Vec<Prefix>,
    /// One distribution for each: src/24, dst/48, vlan, port, src-port, dst-port, dscp, protocol; several with commas.
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,
    /// The flows with the most bytes, too, each with its delays.
    #[arg(long, visible_alias = "per-flow", conflicts_with = "events", help_heading = "What is measured")]
    pub(super) flows: bool,
    /// How many flows.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = crate::units::between::<usize>(1..=u32::MAX.into()),
        requires = "flows", help_heading = "What is measured")]
    pub(super) top: usize,
    /// How many groups have lines of their own; what is of no such group goes into "other".
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = crate::units::between::<u16>(1..=8191),
        requires = "grouped", help_heading = "What is measured")]
    pub(super) max_groups: u16,
    /// Which addresses count in a tunnel.
    #[arg(long, value_parser = one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    pub(super) key: Key,
    /// When a request was repeated and nothing tells which one was answered: keep both bounds, or take a side.
    #[arg(long, value_parser = one_of(Ambiguous::ALL, Ambiguous::name), default_value = Ambiguous::Bounds.name(), help_heading = "What is measured")]
    pub(super) ambiguous: Ambiguous,
    /// Requests are given up after this time, 36h at most; tcp-flow after a day.
    #[arg(long, value_name = "TIME", value_parser = crate::units::wait, help_heading = "What is measured")]
    pub(super) expiry: Option<Nanos>,

    /// How delays are found. auto: every exchange while it fits, then a sample that keeps slow ones as long as memory
    /// allows. exact: every exchange, in as much memory as that takes. km: a sample, what was overwritten counted by
    /// the product limit. fridge: a sample as in the paper. hash-sample: all exchanges of some ids. simple: whatever
    /// was not overwritten, which loses the slow ones. stages: whatever finds one of four places free. mis: several
    /// fridges. timebloom: the slot of time of each request, in Bloom filters. bloomtime, ale-u, ale-e, ddbf: other
    /// filters, to compare with. dart: TCP segments whose acknowledgement cannot be mistaken.
    #[arg(long, value_name = "METHOD", value_parser = one_of(Method::ALL, Method::name), default_value = Method::Auto.name(), help_heading = "How")]
    pub(super) method: Method,
    /// What all data structures together may hold; not the buffers for reading. Not for --method exact.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::memory, default_value = "64MiB", help_heading = "How")]
    pub(super) memory: usize,
    /// Slots of each fridge, instead of what fits the memory.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(2..=u32::MAX.into()), help_heading = "How")]
    pub(super) slots: Option<u32>,
    /// Share of the requests that enter each fridge, instead of one found while running.
    #[arg(long, value_name = "P", value_parser = probability, help_heading = "How")]
    pub(super) entry_probability: Option<f64>,
    /// Bits that an array or a fridge keeps of an id; more let fewer responses meet a false entry. 32 in an array; 16
    /// in a fridge, or as many as the number of a slot has if that is more.
    #[arg(long, value_name = "BITS", value_parser = crate::units::between::<u32>(1..=32), help_heading = "How")]
    pub(super) fingerprint_bits: Option<u32>,
    /// Stages of the array of --method simple and stages, each with a hash of its own; one and four unless given.
    #[arg(long, value_name = "N", value_parser = crate::units::between::<u32>(1..=6), help_heading = "How")]
    pub(super) stages: Option<u32>,
    /// No delay is longer: what --method stages, timebloom, bloomtime, ale-u, ale-e and ddbf must know. A sixteenth of
    /// the expiry unless given.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "How")]
    pub(super) longest: Option<Nanos>,
    /// Requests per second and match, if known, for --method timebloom, bloomtime and ale-u to choose their filters by.
    #[arg(long, value_name = "N", value_parser = crate::units::above_zero("requests per second, above 0"), help_heading = "How")]
    pub(super) rate: Option<f64>,
    /// Seed of all hashes: the same seed gives the same answer. Who knows it can send packets that hide or take long to
    /// measure: choose your own where somebody might.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::units::whole::<u64>, help_heading = "How")]
    pub(super) seed: u64,

    /// A report for each stretch of time instead of one for all.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Output")]
    pub(super) interval: Option<Nanos>,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Where the report goes, instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Draw the distributions, or with --interval their course over time: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::output::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
    /// Write every weighted sample as CSV.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) samples: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Table,
    /// One document, schema dwell.rtt/1.
    Json,
    /// One line per report.
    Jsonl,
    /// One row per result.
    Csv,
    /// For Prometheus.
    Openmetrics,
    /// Every sample in the form of pping, for ppviz.
    Ppviz,
}

pub(crate) fn matching(name: &str) -> Result<Match, String> {
    Match::of_packets().find(|matching| matching.name() == name).ok_or_else(|| {
        let names: Vec<&str> = Match::of_packets().map(Match::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// What is measured if nothing is said, as far as it can be.
pub(crate) fn usual_matches(can: impl Fn(Match) -> bool) -> Vec<Match> {
    [Match::TcpHandshake, Match::TcpAck, Match::Dns].into_iter().filter(|&matching| can(matching)).collect()
}

fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|&p| p > 0.0 && p <= 1.0);
    value.ok_or_else(|| "expected a number above 0 and at most 1".to_owned())
}

/// When requests are given up unless told otherwise: after the last retransmission of a SYN, 1 + 2 + … + 64 s.
pub(crate) const EXPIRY: Nanos = Nanos::from_secs(128);
/// The same for flows, which last longer.
pub(crate) const FLOW_EXPIRY: Nanos = Nanos::from_secs(86_400);

impl Arguments {
    /// When requests are given up, but those of flows.
    pub(super) fn expiry(&self) -> Nanos {
        self.expiry.unwrap_or(EXPIRY)
    }

    /// When those of flows are.
    pub(super) fn flow_expiry(&self) -> Nanos {
        self.expiry.unwrap_or(FLOW_EXPIRY)
    }

    /// What is measured.
    pub(super) fn matches(&self) -> Vec<Match> {
        match &self.matches[..] {
            [] => usual_matches(|matching| self.method.measures(matching)),
            matches => matches.to_vec(),
        }
    }

    /// What the flags' own parsers cannot see.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let usage = |words: &str| Err(Failure::Usage(words.to_owned()));
        if self.events.is_none() && self.captures.is_empty() && self.read.is_empty() {
            return usage("expected a capture to read, or - for standard input");
        }
        /// Whether a method has something.
        type Has = fn(Method) -> bool;
        let of_methods: [(&str, bool, Has); 6] = [
            ("--slots", self.slots.is_some(), Method::has_slots),
            ("--fingerprint-bits", self.fingerprint_bits.is_some(), Method::has_slots),
            ("--entry-probability", self.entry_probability.is_some(), Method::has_entry_probability),
            ("--stages", self.stages.is_some(), Method::has_stages),
            ("--longest", self.longest.is_some(), Method::has_longest),
            ("--rate", self.rate.is_some(), Method::has_rate),
        ];
        for (flag, is_set, has) in of_methods {
            if is_set && !has(self.method) {
                let methods: Vec<&str> = Method::ALL.into_iter().filter(|&m| has(m)).map(Method::name).collect();
                return usage(&format!("{flag} belongs to --method {}", methods.join(", ")));
            }
        }
        if self.flows && self.format == Format::Ppviz {
            return usage("--format ppviz has no place for --flows");
        }
        if self.flows && self.format == Format::Table && self.interval.is_some() {
            return usage("--format table has no flows of intervals: use json, jsonl or csv");
        }
        if self.format == Format::Ppviz && self.interval.is_some() {
            return usage("--format ppviz has no place for --interval");
        }
        if self.format == Format::Openmetrics && self.interval.is_some() {
            return usage("--format openmetrics has no series of intervals: use jsonl or csv");
        }
        let others = self.samples.iter().chain(self.plot.as_ref().map(|(path, _)| path)).map(PathBuf::as_path);
        let outputs = others.chain([output::place_of_report(self.output.as_ref())]);
        let inputs = self.captures.iter().chain(&self.read).chain(&self.events);
        output::check_apart(inputs, outputs)
    }
}
