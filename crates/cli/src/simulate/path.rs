//! `dwell simulate --path`: packets at both ends of a path.

use super::replay::Replay;
use super::sides::{self, START};
use crate::messages;
use crate::output::Output;
use crate::{Failure, units};
use anyhow::Result;
use clap::Args;
use dwell_capture::PcapWriter;
use dwell_observe::crossing::{Crossings, Directions, Settings as Names};
use dwell_report::csv::Rows;
use dwell_simulate::Clock;
use dwell_simulate::crossing::{Arrived, Loss, Path, PathSettings, SettingsError};
use dwell_simulate::packet::PacketWorkload;
use dwell_types::{Frame, LinkType, Prefix, Timestamp};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

// Delays by the names of their distributions.
mod delay;
use delay::Delay;

#[derive(Args)]
pub(super) struct PathArguments {
    /// Send the frames of the simulated traffic, or of the capture --arrivals, from one point (--write) to another
    /// (--egress).
    #[arg(long, help_heading = "Path")]
    path: bool,
    /// The delay of each packet: constant:TIME, uniform:LOW:HIGH, log-uniform:LOW:HIGH, exponential:MEAN,
    /// log-normal:MEAN:P99, weibull:SCALE:SHAPE, pareto:LEAST:SHAPE or file:FILE (delays in milliseconds, each equally
    /// likely).
    #[arg(long, value_name = "DELAY", value_parser = delay::parse, default_value = "log-normal:20ms:30ms", requires = "path", help_heading = "Path")]
    delay: Delay,
    /// Share of the packets that are lost.
    #[arg(long, value_name = "SHARE", value_parser = units::loss, default_value = "0", requires = "path", help_heading = "Path")]
    loss: f64,
    /// Mean number of packets that are lost in a row (Gilbert model). Default: losses are independent.
    #[arg(long, value_name = "N", value_parser = run_length, requires = "loss", help_heading = "Path")]
    loss_run: Option<f64>,
    /// Let packets overtake each other as their delays say. Otherwise one that would overtake another arrives with it, so
    /// that many take longer than --delay says.
    #[arg(long, requires = "path", help_heading = "Path")]
    reorder: bool,
    /// Share of the arriving packets that arrive twice.
    #[arg(long, value_name = "SHARE", value_parser = units::share, requires = "path", help_heading = "Path")]
    duplicates: Option<f64>,
    /// Only packets from these addresses or prefixes travel, such as 10.0.0.0/8; all others are left out, at the sender,
    /// too. Default: those of the simulated clients; all of --arrivals.
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', requires = "path", help_heading = "Path")]
    from: Vec<Prefix>,
}

/// The mean length of runs of lost packets.
fn run_length(text: &str) -> Result<f64, String> {
    let length = text.parse().ok().filter(|length: &f64| *length >= 1.0 && length.is_finite());
    length.ok_or_else(|| "expected a number of at least 1, such as 5".to_owned())
}

impl PathArguments {
    pub(super) fn is_asked(&self) -> bool {
        self.path
    }

    /// The file of delays.
    pub(super) fn delays(&self) -> Option<&PathBuf> {
        match &self.delay {
            Delay::File(path) => Some(path),
            Delay::Drawn(_) => None,
        }
    }

    fn path(&self, seed: u64) -> Result<Path, Failure> {
        let share = self.loss;
        let loss = self.loss_run.map_or(Loss::Uniform(share), |packets| Loss::Bursts { share, packets });
        let settings = PathSettings {
            delays: self.delay.distribution()?,
            loss,
            reorders: self.reorder,
            duplicates: self.duplicates.unwrap_or(0.0),
        };
        Path::new(&settings, seed).map_err(|error| {
            Failure::Usage(match error {
                SettingsError::Delays(error) => format!("--delay: {error}"),
                SettingsError::Loss(_) => format!(
                    "--loss-run {}: expected at least {:.1}, since at least one packet arrives between two runs",
                    self.loss_run.unwrap_or_default(),
                    share / (1.0 - share)
                ),
                _ => error.to_string(),
            })
        })
    }
}

pub(super) fn run(arguments: &super::Arguments) -> Result<ExitCode, Failure> {
    let mut path = arguments.path.path(arguments.seed())?;
    let mut source = Source::open(arguments)?;
    let mut next = source.next()?;
    let mut outputs = Outputs::open(arguments, &source)?;
    while let Some((at, frame)) = next {
        outputs.send(at, frame, &mut path)?;
        next = source.next()?;
    }
    outputs.finish()?;
    let Frames::Capture(replay) = source.frames else { return Ok(ExitCode::SUCCESS) };
    messages::warn(replay.warnings(None));
    Ok(if replay.is_damaged() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// What is captured of a frame, and its length on the wire.
#[derive(Clone)]
struct Captured {
    bytes: Box<[u8]>,
    wire_length: u32,
}

/// The packets that are sent, in time order.
struct Source {
    frames: Frames,
    snap_length: u32,
    crossings: Crossings,
    directions: Directions,
}

#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
enum Frames {
    Drawn(PacketWorkload),
    Capture(Replay),
}

impl Source {
    fn open(arguments: &super::Arguments) -> Result<Self, Failure> {
        let arrivals = &arguments.sides.arrivals;
        let snap_length = sides::snap_length(arguments.snap_length, arrivals.is_some());
        let frames = match arrivals {
            Some(path) => Frames::Capture(Replay::open(path, arguments.sides.speed_up())?),
            None => Frames::Drawn(arguments.traffic(Some(snap_length))?),
        };
        let from = match &frames {
            Frames::Drawn(_) if arguments.path.from.is_empty() => &PacketWorkload::CLIENTS[..],
            _ => &arguments.path.from,
        };
        let directions = Directions::of_sources(from);
        Ok(Self { frames, snap_length, crossings: Crossings::new(Names::default()), directions })
    }

    /// Link type and time of the first packet, once that has been read.
    fn beginning(&self) -> (LinkType, Timestamp) {
        match &self.frames {
            Frames::Drawn(_) => (LinkType::ETHERNET, START),
            Frames::Capture(replay) => (replay.link, replay.pace.start),
        }
    }

    /// The next packet and when it is sent.
    fn next(&mut self) -> Result<Option<(Timestamp, Captured)>> {
        let Self { frames, snap_length, crossings, directions } = self;
        let mut travelling = |frame: &Frame<'_>, at| {
            let travels = match crossings.observe(frame).map(|passing| passing.flow.key) {
                Some(key) => directions.is_reverse(key.source, key.destination) == Some(false),
                None => *directions == Directions::Forward,
            };
            let bytes = &frame.bytes[..frame.bytes.len().min(*snap_length as usize)];
            travels.then(|| (at, Captured { bytes: bytes.into(), wire_length: frame.wire_length }))
        };
        loop {
            let next = match frames {
                // Every simulated frame has a time.
                Frames::Drawn(workload) => workload.next_frame().map(|frame| travelling(&frame, frame.at?)),
                Frames::Capture(replay) => replay.next(|frame, pace, at| {
                    pace.next(at);
                    travelling(frame, pace.time())
                })?,
            };
            match next {
                Some(None) => {}
                Some(Some(packet)) => return Ok(Some(packet)),
                None => return Ok(None),
            }
        }
    }
}

/// The requested output files.
struct Outputs {
    sender: Option<PcapWriter<Output>>,
    receiver: Option<Receiver>,
    truth: Option<Rows<Output>>,
    sent: u64,
    lost: u64,
    doubled: u64,
}

/// The capture at the receiver, and the packets on their way to it.
struct Receiver {
    writer: PcapWriter<Output>,
    clock: Clock,
    start: Timestamp,
    /// By time of arrival; those that arrive together in the order in which they were sent.
    in_flight: BTreeMap<(Timestamp, u64), Captured>,
    sent: u64,
}

impl Receiver {
    fn take(&mut self, at: Timestamp, frame: Captured) {
        self.in_flight.insert((at, self.sent), frame);
        self.sent += 1;
    }

    /// Writes the packets that have arrived by this time, or all. One sent now may arrive now, behind them.
    fn write(&mut self, until: Option<Timestamp>) -> Result<()> {
        while let Some(next) = self.in_flight.first_entry() {
            let at = next.key().0;
            if until.is_some_and(|until| at > until) {
                break;
            }
            let frame = next.remove();
            self.writer.write(self.clock.read(at, self.start), frame.wire_length, &frame.bytes)?;
        }
        Ok(())
    }
}

impl Outputs {
    fn open(arguments: &super::Arguments, source: &Source) -> Result<Self> {
        let (link, start) = source.beginning();
        let capture = |path: &PathBuf| anyhow::Ok(PcapWriter::new(Output::file(path)?, link, source.snap_length)?);
        let receiver = |path: &PathBuf| {
            let (writer, clock) = (capture(path)?, arguments.sides.clock());
            anyhow::Ok(Receiver { writer, clock, start, in_flight: BTreeMap::new(), sent: 0 })
        };
        Ok(Self {
            sender: arguments.write.as_ref().map(capture).transpose()?,
            receiver: arguments.sides.egress.as_ref().map(receiver).transpose()?,
            truth: Output::rows(arguments.truth.as_deref(), ["frame", "sent_ns", "received_ns", "copies"])?,
            sent: 0,
            lost: 0,
            doubled: 0,
        })
    }

    fn send(&mut self, at: Timestamp, frame: Captured, path: &mut Path) -> Result<()> {
        if let Some(writer) = &mut self.sender {
            writer.write(at, frame.wire_length, &frame.bytes)?;
        }
        let arrived = path.send(at);
        let is_doubled = arrived.is_some_and(|arrived| arrived.is_doubled);
        self.sent += 1;
        self.lost += u64::from(arrived.is_none());
        self.doubled += u64::from(is_doubled);
        if let Some(truth) = &mut self.truth {
            let received = arrived.map_or_else(String::new, |Arrived { at, .. }| at.as_nanos().to_string());
            let copies = u8::from(arrived.is_some()) + u8::from(is_doubled);
            truth.write(&[self.sent.to_string(), at.as_nanos().to_string(), received, copies.to_string()])?;
        }
        let Some(receiver) = &mut self.receiver else { return Ok(()) };
        receiver.write(Some(at))?;
        if let Some(arrived) = arrived {
            if is_doubled {
                receiver.take(arrived.at, frame.clone());
            }
            receiver.take(arrived.at, frame);
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let Self { sender, mut receiver, truth, sent, lost, doubled, .. } = self;
        if let Some(receiver) = &mut receiver {
            receiver.write(None)?;
        }
        sides::complete([sender, receiver.map(|receiver| receiver.writer)], truth)?;
        messages::say(&format!("{sent} packets sent, {lost} lost, {doubled} doubled"));
        Ok(())
    }
}
