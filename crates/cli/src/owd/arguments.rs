//! The flags of `dwell owd`.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::rtt::KeyChoice;
use crate::{Failure, output};
use clap::{Args, ValueEnum};
use dwell_observe::group::Grouping;
use dwell_report::plot::Image;
use dwell_types::{Nanos, Prefix};
use std::path::PathBuf;

/// How long one way takes and how much is lost: the same traffic, captured at two points with clocks that agree.
///
/// Packets are recognised by what nothing on the way changes. With no flags the answer is exact as long as the packets under way
/// fit 64 MiB, and an unbiased estimate with 95% intervals after that. The report says which it was.
#[derive(Args)]
#[command(after_help = "\
Examples:
  dwell owd sender.pcap receiver.pcap                    all packets, as a table
  dwell owd client.pcap server.pcap --from 10.0.0.2 --reverse   both directions, and what they say about the clocks
  dwell owd a.pcap b.pcap --interval 1s --flows --format json
  dwell owd --crossings a.csv b.csv                      logs with the columns at_ns, packet, flow and bytes")]
pub(crate) struct Arguments {
    /// The capture that packets pass first: pcap or pcapng, plain or in gzip, xz or zstd; - is standard input.
    #[arg(value_name = "SENDER")]
    pub(super) sender: PathBuf,
    /// The capture that packets pass later.
    #[arg(value_name = "RECEIVER")]
    pub(super) receiver: PathBuf,
    /// Both are logs instead of captures: CSV with the columns at_ns, packet and, if wanted, flow and bytes.
    #[arg(long, conflicts_with_all = ["key", "nat", "payload_bytes", "from", "reverse", "group"])]
    pub(super) crossings: bool,
    /// The sender comes second.
    #[arg(long)]
    pub(super) swap: bool,

    /// Only packets of these sources go from the sender to the receiver: addresses or prefixes such as 10.0.0.0/8. If not given, both
    /// directions are recognised and measured, as far as their addresses are among the first packets.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', help_heading = "What is measured")]
    pub(super) from: Vec<Prefix>,
    /// Measure the other packets, too: they go from the receiver to the sender. Both directions bound the offset of the clocks.
    #[arg(long, requires = "from", help_heading = "What is measured")]
    pub(super) reverse: bool,
    /// How far the receiver's clock is ahead of the sender's; negative if it is behind.
    #[arg(long, value_name = "TIME", value_parser = crate::units::offset, default_value = "0", allow_hyphen_values = true,
        help_heading = "What is measured")]
    pub(super) clock_offset: Nanos,
    /// A packet that has not arrived after this time is lost.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, default_value = "5s", help_heading = "What is measured")]
    pub(super) longest: Nanos,
    /// Which addresses count in a tunnel: with inner, it may begin or end between the points.
    #[arg(long, value_enum, default_value_t = KeyChoice::Inner, help_heading = "What is measured")]
    pub(super) key: KeyChoice,
    /// Addresses and ports are translated between the points.
    #[arg(long, help_heading = "What is measured")]
    pub(super) nat: bool,
    /// Bytes of a payload by which packets are told apart, where the capture has so many.
    #[arg(long, value_name = "N", default_value_t = 40, help_heading = "What is measured")]
    pub(super) payload_bytes: usize,
    /// One answer for each flow, those with the most bytes first.
    #[arg(long, help_heading = "What is measured")]
    pub(super) flows: bool,
    /// So many flows.
    #[arg(long, value_name = "N", default_value_t = 10, help_heading = "What is measured")]
    pub(super) top: usize,
    /// Only flows whose name contains this, such as 10.0.0.1:443.
    #[arg(long, value_name = "TEXT", help_heading = "What is measured")]
    pub(super) flow: Option<String>,
    /// What packets of one flow share, instead of addresses, ports and protocol: src/24, dst/48, port, vlan, dscp, …
    #[arg(long, value_name = "KEY", help_heading = "What is measured")]
    pub(super) group: Option<Grouping>,

    /// How packets are compared. auto: every packet while it fits, then a sample of them. exact: every packet, in as much
    /// memory as that takes.
    #[arg(long, value_enum, default_value_t = Method::Auto, help_heading = "How")]
    pub(super) method: Method,
    /// What all data structures together may hold; not the buffers for reading. Not for --method exact.
    #[arg(long, value_name = "SIZE", value_parser = crate::units::bytes, default_value = "64MiB", help_heading = "How")]
    pub(super) memory: usize,
    /// Seed of all hashes: the same seed gives the same answer.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::units::whole, allow_negative_numbers = true,
        help_heading = "How")]
    pub(super) seed: u64,

    /// An answer for each stretch of time, too, by the time of sending; 1s for JSON, CSV and plots if not given.
    #[arg(long, value_name = "TIME", value_parser = crate::units::span, help_heading = "Output")]
    pub(super) interval: Option<Nanos>,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    pub(super) format: Format,
    /// Where the report goes, instead of standard output.
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// Draw delay and loss over time: a file ending in .svg or .png.
    #[arg(long, value_name = "FILE", value_parser = crate::rtt::picture, help_heading = "Output")]
    pub(super) plot: Option<(PathBuf, Image)>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    Auto,
    Exact,
}

impl Method {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
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
        let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
        if is_stdin(&self.sender) && is_stdin(&self.receiver) {
            return usage("expected two captures: only one of them can be standard input");
        }
        if self.sender == self.receiver {
            return usage("expected two captures, found the same one twice");
        }
        if self.group.is_some() && !self.wants_flows() {
            return usage("--group says what a flow is: it needs --flows or --flow");
        }
        if self.top == 0 {
            return usage("expected --top above 0");
        }
        if self.format == Format::Openmetrics && self.interval.is_some() {
            return usage("--format openmetrics has no series of intervals: use jsonl or csv");
        }
        let outputs = self.output.iter().chain(self.plot.as_ref().map(|(path, _)| path));
        output::check_apart([&self.sender, &self.receiver], outputs)
    }

    /// The length of an interval.
    pub(super) fn interval(&self) -> Nanos {
        self.interval.unwrap_or(Nanos::from_secs(1))
    }

    pub(super) fn wants_flows(&self) -> bool {
        self.flows || self.flow.is_some()
    }

    /// The two captures, that of the sender first.
    pub(super) fn paths(&self) -> [&PathBuf; 2] {
        if self.swap { [&self.receiver, &self.sender] } else { [&self.sender, &self.receiver] }
    }
}
