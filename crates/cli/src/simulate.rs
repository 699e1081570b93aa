//! `dwell simulate`: captures with known delays.

#![allow(clippy::doc_markdown, reason = "these comments are the help text")]

use crate::messages;
use crate::output::{self, Output};
use crate::{Failure, units};
use clap::{ArgGroup, Args, ValueEnum};
use dwell_capture::{Name, PcapWriter};
use dwell_simulate::packet::{PacketWorkload, Settings};
use dwell_types::{LinkType, Nanos};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

// `dwell simulate --path`: packets that travel from one point to another.
mod path;
// `dwell simulate --queue`: packets that pass a queue.
mod queue;
// `dwell simulate --network`: measurements of all segments of a network.
mod network;
// What a path and a queue have in common.
mod sides;
// Recorded captures that are sent again.
mod replay;

/// Write captures of simulated traffic with known delays: TCP connections, scans and DNS on one link; with --path also at
/// a second point; with --queue, packets on both sides of a queue. With --network, measurements of a whole network.
///
/// The same flags and seed give the same bytes on any machine.
#[derive(Args)]
#[command(
    group = ArgGroup::new("way").args(["path", "queue"]),
    group = ArgGroup::new("captures").args(["write", "egress"]).multiple(true),
    // An argument that is required is not missed where one that is given rules it out.
    mut_args(|argument| match argument.get_help_heading() {
        Some("Path") => argument.conflicts_with_all(["queue", "network"]),
        Some("Queue") => argument.conflicts_with_all(["path", "network"]),
        Some("Network") if argument.get_id() != "network" => argument.requires("network").conflicts_with("way"),
        _ => argument,
    }),
    after_help = "\
Examples:
  dwell simulate -w small.pcap --truth small.csv
  dwell simulate -w - --traffic speed | dwell rtt - --method fridge --memory 64KiB
  dwell simulate --path -w a.pcap --egress b.pcap --loss 1% && dwell owd a.pcap b.pcap
  dwell simulate --queue bursts -w in.pcap --egress out.pcap && dwell queue in.pcap out.pcap
  dwell simulate --queue incast --discipline turns --truth - | dwell queue --sojourns -
  dwell simulate --queue capture --arrivals trunk.pcap --speed-up 50 -w in.pcap --egress out.pcap
  dwell simulate --network map.toml --routers 9 --slow b3,b4=200us -w m.csv &&
  dwell net localize map.toml --routers 9 --measurements m.csv"
)]
pub(crate) struct Arguments {
    /// The capture to write: pcap with nanoseconds; - is standard output. With --path, at the sender; with --queue, of the
    /// arriving packets. With --network, the CSV of dwell net localize --measurements.
    #[arg(short, long, value_name = "FILE", required_unless_present = "way")]
    write: Option<PathBuf>,
    /// Also write the true delays as CSV. Every exchange of tcp-handshake, tcp-ack, tcp-response and dns: match, leg, at_ns
    /// (of the response), delay_ns, since_first_ns, since_last_ns. With --path, every packet sent: frame (its number at the
    /// sender, from 1), sent_ns, received_ns (empty if lost), copies (how many arrived). With --queue, every departing packet:
    /// arrived_ns, departed_ns, flow, bytes, the format of dwell queue --sojourns.
    #[arg(long, value_name = "FILE", conflicts_with = "network")]
    truth: Option<PathBuf>,
    /// Traffic to simulate.
    #[arg(long, value_enum, default_value_t = Traffic::Small, conflicts_with_all = ["queue", "arrivals", "network"])]
    traffic: Traffic,
    /// Number of TCP connections, instead of that of --traffic.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, conflicts_with_all = ["queue", "arrivals", "network"])]
    flows: Option<u32>,
    /// Number of DNS queries, instead of that of --traffic.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, conflicts_with_all = ["queue", "arrivals", "network"])]
    queries: Option<u32>,
    /// Time span in which connections and queries begin.
    #[arg(long, value_name = "TIME", value_parser = units::span, conflicts_with_all = ["queue", "arrivals", "network"])]
    span: Option<Nanos>,
    /// Maximum captured bytes per frame. Default: 96; with --path or --queue 128; of captured --arrivals as captured.
    #[arg(long, value_name = "BYTES", value_parser = units::between::<u32>(1..=u32::MAX.into()), conflicts_with = "network", requires = "captures")]
    snap_length: Option<u32>,
    /// Random seed. Default: 0. Not for a queue of --arrivals, where nothing is random.
    #[arg(long, value_name = "N", value_parser = units::whole::<u64>)]
    seed: Option<u64>,
    #[command(flatten)]
    path: path::PathArguments,
    #[command(flatten)]
    queue: queue::QueueArguments,
    #[command(flatten)]
    sides: sides::SidesArguments,
    #[command(flatten, next_help_heading = "Network")]
    network: network::NetworkArguments,
}

impl Arguments {
    fn inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.sides.arrivals.iter().chain(self.path.delays()).chain(self.network.map())
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(0)
    }

    /// The traffic of one link.
    fn traffic(&self, snap_length: Option<u32>) -> Result<PacketWorkload, Failure> {
        let mut settings = match self.traffic {
            Traffic::Small => Settings::small(),
            Traffic::Speed => Settings::speed(),
        };
        settings.flows = self.flows.unwrap_or(settings.flows);
        settings.queries = self.queries.unwrap_or(settings.queries);
        settings.span = self.span.unwrap_or(settings.span);
        settings.snap_length = snap_length.unwrap_or(settings.snap_length);
        PacketWorkload::new(&settings, self.seed()).map_err(Failure::usage)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Traffic {
    /// A few thousand packets.
    Small,
    /// About 5 million packets of 200,000 connections, 490 MB.
    Speed,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let outputs = arguments.write.iter().chain(&arguments.truth).chain(&arguments.sides.egress);
    output::check_stdin(arguments.inputs())?;
    output::check_apart(arguments.inputs(), outputs.clone())?;
    let is_packed = |path: &&PathBuf| matches!(path.extension().and_then(OsStr::to_str), Some("gz" | "xz" | "zst"));
    if let Some(path) = outputs.clone().find(is_packed) {
        let name = Name(path);
        return Err(Failure::usage(format!(
            "{name}: nothing is compressed: name it otherwise, or pipe -w - into gzip"
        )));
    }
    if outputs.count() == 0 {
        return Err(Failure::usage("expected an output: --write, --egress or --truth"));
    }
    match (&arguments.write, arguments.network.map()) {
        (Some(write), Some(map)) => network::run(arguments, map, write),
        _ if arguments.path.is_asked() => path::run(arguments),
        // Without `--path` and `--queue`, `--write` is required.
        (Some(write), None) if !arguments.queue.is_asked() => exchanges(arguments, write),
        _ => queue::run(arguments),
    }
}

/// Writes the traffic of one link.
fn exchanges(arguments: &Arguments, write: &Path) -> Result<ExitCode, Failure> {
    const COLUMNS: [&str; 6] = ["match", "leg", "at_ns", "delay_ns", "since_first_ns", "since_last_ns"];
    let mut workload = arguments.traffic(arguments.snap_length)?;
    let mut capture = PcapWriter::new(Output::file(write)?, LinkType::ETHERNET, workload.snap_length())?;
    let mut truth = Output::rows(arguments.truth.as_deref(), COLUMNS)?;
    while let Some(frame) = workload.next_frame() {
        // Every simulated frame has a time.
        let Some(at) = frame.at else { continue };
        capture.write(at, frame.wire_length, frame.bytes)?;
        if let Some(truth) = &mut truth {
            for e in workload.answered() {
                let [delay, first, last] = [e.delay, e.since_first, e.since_last].map(Nanos::get);
                truth.write(&(e.matching.name(), e.leg.name(), e.at.as_nanos(), delay, first, last))?;
            }
        }
    }
    sides::complete([Some(capture), None], truth)?;
    let seen = workload.truth();
    messages::say(&format!("{} frames, {} connections, {} queries", seen.frames, seen.flows, seen.queries));
    Ok(ExitCode::SUCCESS)
}
