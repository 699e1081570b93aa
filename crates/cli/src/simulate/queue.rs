//! `dwell simulate --queue`: packets on both sides of a queue.

use super::sides::{self, START};
use crate::messages;
use crate::output::Output;
use crate::{Failure, reject, units};
use anyhow::Result;
use clap::{Args, ValueEnum};
use dwell_capture::PcapWriter;
use dwell_report::csv::Rows;
use dwell_simulate::Clock;
use dwell_simulate::queue::{Arrivals, Discipline, Event, Frames, Passages, Settings, SettingsError};
use dwell_types::LinkType;
use std::path::PathBuf;
use std::process::ExitCode;

// Arriving packets.
mod feed;
use feed::{Feed, Held, Log};

#[derive(Args)]
pub(super) struct QueueArguments {
    /// Packets that wait in a queue, instead of the frames of one link.
    #[arg(long, value_enum, help_heading = "Queue")]
    queue: Option<Traffic>,
    /// Queueing discipline.
    #[arg(long, value_enum, default_value_t = Order::Fifo, requires = "queue", help_heading = "Queue")]
    discipline: Order,
    /// Number of departing packets.
    #[arg(long, value_name = "N", value_parser = units::count, requires = "queue", help_heading = "Queue")]
    packets: Option<u64>,
    /// Line rate in bits per second, instead of 10G.
    #[arg(long, value_name = "BITS", value_parser = units::bits, requires = "queue", help_heading = "Queue")]
    rate: Option<f64>,
    /// Buffer size, instead of that of the traffic.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, requires = "queue", help_heading = "Queue")]
    buffer: Option<usize>,
    /// Share of the line rate taken by background traffic, instead of that of the traffic.
    #[arg(long, value_name = "SHARE", value_parser = units::load, requires = "queue", help_heading = "Queue")]
    load: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Traffic {
    /// Three large flows at a time over many small ones, unlimited buffer.
    Bursts,
    /// 64 senders at a time over many small flows, a buffer of 2 MiB.
    Incast,
    /// The packets of the log --arrivals.
    Log,
    /// The frames of the capture --arrivals.
    Capture,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// First in, first out.
    Fifo,
    /// Small flows before large ones.
    Priority,
    /// Deficit round robin, 1,500 bytes per flow and turn.
    Turns,
}

impl QueueArguments {
    pub(super) fn is_asked(&self) -> bool {
        self.queue.is_some()
    }

    /// Whether the packets are those of a file.
    fn is_recorded(&self) -> bool {
        matches!(self.queue, Some(Traffic::Log | Traffic::Capture))
    }

    fn settings(&self) -> Settings {
        /// A few bursts.
        const PACKETS: u64 = 100_000;
        let preset = match self.queue {
            Some(Traffic::Incast) => Settings::incast(),
            _ => Settings::conquest_data_center(),
        };
        let usual = if self.is_recorded() { u64::MAX } else { PACKETS };
        let mut settings = preset.with_packets(self.packets.unwrap_or(usual));
        settings.start = START;
        settings.rate = self.rate.unwrap_or(settings.rate);
        settings.buffer_bytes = self.buffer.map(|bytes| bytes as u64).or(settings.buffer_bytes);
        settings.background.rate = self.load.map_or(settings.background.rate, |load| load * settings.rate);
        settings.discipline = match self.discipline {
            Order::Fifo => Discipline::Fifo,
            Order::Priority => Discipline::Priority,
            Order::Turns => Discipline::RoundRobin { quantum: 1_500 },
        };
        settings
    }
}

pub(super) fn run(arguments: &super::Arguments) -> Result<ExitCode, Failure> {
    let settings = arguments.queue.settings();
    check(arguments, &settings)?;
    let feed = feed(arguments, &settings)?;
    let settings = Settings { start: feed.start().unwrap_or(settings.start), ..settings };
    let link = feed.link();
    let mut passages = Passages::of(feed, &settings).map_err(refuse)?;
    let mut outputs = Outputs::open(arguments, link)?;
    while let Some(event) = passages.next_event() {
        outputs.write(&settings, &event, passages.arrivals_mut())?;
    }
    let (warnings, is_damaged) = passages.arrivals_mut().end()?;
    messages::warn(warnings);
    outputs.finish()?;
    Ok(if is_damaged { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Rejects flags that do not go with the arriving packets.
fn check(arguments: &super::Arguments, settings: &Settings) -> Result<(), Failure> {
    let (queue, sides) = (&arguments.queue, &arguments.sides);
    if !queue.is_recorded() {
        let rate = settings.arrival_rate();
        if sides.arrivals.is_some() {
            return Err(Failure::usage("--arrivals requires --queue log or --queue capture"));
        }
        if settings.buffer_bytes.is_none() && rate >= settings.rate {
            return Err(Failure::usage(format!(
                "{rate:.2e} bits per second arrive, and the queue would grow without bound: increase --rate, or set --buffer"
            )));
        }
        return Ok(());
    }
    let is_log = queue.queue == Some(Traffic::Log);
    reject([
        (
            queue.discipline == Order::Priority,
            "--discipline priority does not support --arrivals: its flows are not classified as small or large",
        ),
        (queue.load.is_some(), "--load does not support --arrivals: change their rate with --speed-up"),
        (arguments.seed.is_some(), "--seed does not support --arrivals with --queue, where nothing is random"),
        (
            is_log && (arguments.write.is_some() || sides.egress.is_some()),
            "--queue log: only --truth can be written, since a log holds no frames",
        ),
    ])
}

fn refuse(error: SettingsError) -> Failure {
    Failure::Usage(match error {
        SettingsError::Buffer(_) => format!("--buffer: {error}"),
        _ => error.to_string(),
    })
}

/// The arriving packets.
fn feed(arguments: &super::Arguments, settings: &Settings) -> Result<Feed, Failure> {
    let speed_up = arguments.sides.speed_up();
    match (arguments.queue.queue, &arguments.sides.arrivals) {
        (Some(Traffic::Log), Some(path)) => Ok(Feed::Log(Log::open(path, speed_up)?)),
        (Some(Traffic::Capture), Some(path)) => Ok(Feed::Capture(Held::open(path, speed_up, snap_length(arguments))?)),
        _ => {
            let arrivals = Arrivals::new(settings, arguments.seed()).map_err(refuse)?;
            Ok(Feed::Drawn(arrivals, Frames::new(snap_length(arguments))))
        }
    }
}

/// Bytes of a frame that are captured.
fn snap_length(arguments: &super::Arguments) -> u32 {
    sides::snap_length(arguments.snap_length, arguments.queue.queue == Some(Traffic::Capture))
}

/// The requested output files.
#[derive(Default)]
struct Outputs {
    ingress: Option<PcapWriter<Output>>,
    egress: Option<PcapWriter<Output>>,
    clock: Clock,
    truth: Option<Rows<Output>>,
    arrived: u64,
    departed: u64,
    dropped: u64,
}

impl Outputs {
    fn open(arguments: &super::Arguments, link: LinkType) -> Result<Self> {
        let snap_length = snap_length(arguments);
        let capture = |path: &PathBuf| anyhow::Ok(PcapWriter::new(Output::file(path)?, link, snap_length)?);
        let columns = ["arrived_ns", "departed_ns", "flow", "bytes"];
        Ok(Self {
            ingress: arguments.write.as_ref().map(capture).transpose()?,
            egress: arguments.sides.egress.as_ref().map(capture).transpose()?,
            clock: arguments.sides.clock(),
            truth: Output::rows(arguments.truth.as_deref(), columns)?,
            ..Self::default()
        })
    }

    fn write(&mut self, settings: &Settings, event: &Event, feed: &mut Feed) -> Result<()> {
        match event {
            Event::Arrival(arrival, has_room) => {
                self.arrived += 1;
                self.dropped += u64::from(!has_room);
                if let Some(writer) = &mut self.ingress {
                    let (bytes, wire_length) = feed.frame(arrival.number, arrival.flow, arrival.bytes);
                    writer.write(arrival.time(settings), wire_length, bytes)?;
                }
                if !has_room {
                    feed.forget(arrival.number);
                }
            }
            Event::Departure(passage) => {
                self.departed += 1;
                let departure = &passage.departure;
                if let Some(writer) = &mut self.egress {
                    let (bytes, wire_length) = feed.frame(passage.number, departure.flow, departure.bytes);
                    writer.write(self.clock.read(departure.departed, settings.start), wire_length, bytes)?;
                }
                if let (Some(truth), Some(arrived)) = (&mut self.truth, departure.arrived) {
                    let [arrived, departed] = [arrived, departure.departed].map(|at| at.as_nanos().to_string());
                    let (name, bytes) = (feed.flow_name(departure.flow), departure.bytes.to_string());
                    truth.write(&[arrived, departed, name, bytes])?;
                }
                feed.forget(passage.number);
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let Self { ingress, egress, truth, arrived, departed, dropped, .. } = self;
        sides::complete([ingress, egress], truth)?;
        messages::say(&format!("{arrived} packets arrived, {departed} departed, {dropped} dropped"));
        Ok(())
    }
}
