//! `dwell simulate --queue`: packets on both sides of a queue.

use crate::events::Lines;
use crate::output::Output;
use crate::{Failure, units};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use dwell_capture::PcapWriter;
use dwell_capture::file::Stop;
use dwell_simulate::queue::{Arrival, Arrivals, Discipline, Event, Frames, Passages, Settings};
use dwell_types::{FlowId, LinkType, Timestamp, hash};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct QueueArguments {
    /// Packets that pass a queue, instead of a link.
    #[arg(long, value_enum, help_heading = "A queue")]
    queue: Option<Traffic>,
    /// What arrives, as CSV: at_ns, flow, bytes, in the order of time. Only --truth can be written then.
    #[arg(long, value_name = "FILE", help_heading = "A queue", required_if_eq("queue", "log"))]
    arrivals: Option<PathBuf>,
    /// How many times faster --arrivals come.
    #[arg(long, value_name = "N", value_parser = units::above_zero("a number above 0, such as 50"), requires = "arrivals", help_heading = "A queue")]
    speed_up: Option<f64>,
    /// The capture of what departs.
    #[arg(long, value_name = "FILE", requires = "queue", help_heading = "A queue")]
    egress: Option<PathBuf>,
    /// Which packet leaves next.
    #[arg(long, value_enum, default_value_t = Order::Fifo, requires = "queue", help_heading = "A queue")]
    discipline: Order,
    /// Packets that depart.
    #[arg(long, value_name = "N", value_parser = units::count, requires = "queue", help_heading = "A queue")]
    packets: Option<u64>,
    /// Bits per second of the line, instead of 10e9.
    #[arg(long, value_name = "BITS", value_parser = units::above_zero("bits per second above 0, such as 10e9"), requires = "queue", help_heading = "A queue")]
    rate: Option<f64>,
    /// Bytes that may wait, instead of the traffic's own number.
    #[arg(long, value_name = "SIZE", value_parser = units::bytes, requires = "queue", help_heading = "A queue")]
    buffer: Option<usize>,
    /// Share of the line that the background takes, instead of the traffic's own.
    #[arg(long, value_name = "N", value_parser = units::above_zero("a share above 0, such as 0.3"), requires = "queue", help_heading = "A queue")]
    load: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Traffic {
    /// Three large flows at a time over many small ones, without bound on the buffer.
    Bursts,
    /// 64 senders at a time over many small flows, a buffer of 2 MiB.
    Incast,
    /// What --arrivals says.
    Log,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The one that came first.
    Fifo,
    /// Of small flows first, of large ones when none of these waits.
    Priority,
    /// Flows in turn, 1,500 bytes each.
    Turns,
}

impl QueueArguments {
    pub(super) fn is_asked(&self) -> bool {
        self.queue.is_some()
    }

    pub(super) fn inputs(&self) -> Option<&PathBuf> {
        self.arrivals.as_ref()
    }

    pub(super) fn egress(&self) -> Option<&PathBuf> {
        self.egress.as_ref()
    }

    fn settings(&self) -> Settings {
        /// A few bursts.
        const PACKETS: u64 = 100_000;
        let preset = match self.queue {
            Some(Traffic::Incast) => Settings::incast(),
            _ => Settings::conquest_data_center(),
        };
        let is_log = self.queue == Some(Traffic::Log);
        let mut settings = preset.with_packets(self.packets.unwrap_or(if is_log { u64::MAX } else { PACKETS }));
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

/// 2026-01-01.
const START: Timestamp = Timestamp::from_nanos(1_767_225_600_000_000_000);

pub(super) fn run(arguments: &super::Arguments) -> Result<ExitCode, Failure> {
    let (queue, settings) = (&arguments.queue, arguments.queue.settings());
    let refuse = |error: dwell_simulate::queue::SettingsError| Failure::Usage(error.to_string());
    let mut outputs = Outputs::default();
    match &queue.arrivals {
        None => {
            // As long as its frame.
            let long = |arrival: Arrival| Arrival { bytes: arrival.bytes.max(Frames::LEAST_BYTES), ..arrival };
            let arrivals = Arrivals::new(&settings, arguments.seed).map_err(refuse)?.map(long);
            let mut passages = Passages::of(arrivals, &settings).map_err(refuse)?;
            outputs.open(arguments)?;
            while let Some(event) = passages.next_event() {
                outputs.write(&settings, &event, |flow| Frames::key(flow).to_string())?;
            }
        }
        Some(_) if queue.queue != Some(Traffic::Log) => {
            return Err(Failure::Usage("--arrivals: expected --queue log beside it".to_owned()));
        }
        Some(_) if arguments.write.is_some() || queue.egress.is_some() => {
            return Err(Failure::Usage("--arrivals: only --truth can be written, a log holds no frames".to_owned()));
        }
        Some(path) => {
            let log = Log::read(path, queue.speed_up.unwrap_or(1.0))?;
            let settings = Settings { start: log.start, ..settings };
            let mut passages = Passages::of(log.arrivals.into_iter(), &settings).map_err(refuse)?;
            outputs.open(arguments)?;
            while let Some(event) = passages.next_event() {
                outputs.write(&settings, &event, |flow| log.names.get(&flow).cloned().unwrap_or_default())?;
            }
        }
    }
    outputs.finish()
}

/// A log of what arrives.
struct Log {
    start: Timestamp,
    arrivals: Vec<Arrival>,
    names: BTreeMap<FlowId, String>,
}

impl Log {
    fn read(path: &Path, speed_up: f64) -> Result<Self> {
        let (never, _open) = io::pipe()?;
        let mut lines = Lines::open(path, &Stop::when_readable(never))?;
        let head = lines.names()?;
        let columns = ["at_ns", "flow", "bytes"].map(|name| head.iter().position(|column| column == name));
        let [Some(at), Some(flow), Some(bytes)] = columns else {
            let found = head.iter().take(8).collect::<Vec<_>>().join(",");
            bail!("{}: line 1: expected the columns at_ns,flow,bytes, found '{found}'", path.display());
        };
        let mut log = Self { start: Timestamp::from_nanos(0), arrivals: Vec::new(), names: BTreeMap::new() };
        let mut last = 0.0;
        while lines.advance()? {
            let [at, flow, bytes] = [at, flow, bytes].map(|column| lines.field(column).unwrap_or_default());
            let (Ok(nanos), Ok(length)) = (at.parse::<i64>(), bytes.parse::<u16>()) else {
                bail!(
                    "{}: expected whole numbers as at_ns and bytes, up to 65535, found '{at}' and '{bytes}'",
                    lines.place()
                )
            };
            if log.arrivals.is_empty() {
                log.start = Timestamp::from_nanos(nanos);
            }
            let since = (Timestamp::from_nanos(nanos) - log.start).get() as f64 / speed_up;
            if since < last {
                bail!("{}: arrives before the line above it: expected the order of arrival", lines.place());
            }
            last = since;
            let id = FlowId(hash::bytes(hash::start(0), flow.as_bytes()));
            log.names.entry(id).or_insert_with(|| flow.to_owned());
            let number = log.arrivals.len() as u64;
            log.arrivals.push(Arrival { number, at: since, flow: id, bytes: length.into(), is_burst: false });
        }
        Ok(log)
    }
}

/// What is written, as far as it is asked for.
#[derive(Default)]
struct Outputs {
    ingress: Option<(PcapWriter<Output>, Frames)>,
    egress: Option<(PcapWriter<Output>, Frames)>,
    truth: Option<Output>,
    arrived: u64,
    departed: u64,
    dropped: u64,
}

impl Outputs {
    fn open(&mut self, arguments: &super::Arguments) -> Result<()> {
        /// All headers, and what tells packets apart.
        const SNAP_LENGTH: u32 = 128;
        let snap_length = arguments.snap_length.unwrap_or(SNAP_LENGTH);
        let open = |path: &Option<PathBuf>| -> Result<Option<(PcapWriter<Output>, Frames)>> {
            let Some(path) = path else { return Ok(None) };
            let writer = PcapWriter::new(Output::file(path)?, LinkType::ETHERNET, snap_length)?;
            Ok(Some((writer, Frames::new(snap_length))))
        };
        (self.ingress, self.egress) = (open(&arguments.write)?, open(&arguments.queue.egress)?);
        self.truth = arguments.truth.as_deref().map(Output::file).transpose()?;
        if let Some(truth) = &mut self.truth {
            writeln!(truth, "arrived_ns,departed_ns,flow,bytes")?;
        }
        Ok(())
    }

    fn write(&mut self, settings: &Settings, event: &Event, name: impl FnOnce(FlowId) -> String) -> Result<()> {
        match event {
            Event::Arrival(arrival, has_room) => {
                self.arrived += 1;
                self.dropped += u64::from(!has_room);
                if let Some((writer, frames)) = &mut self.ingress {
                    let (bytes, wire_length) = frames.frame(arrival.number, arrival.flow, arrival.bytes);
                    writer.write(arrival.time(settings), wire_length, bytes)?;
                }
            }
            Event::Departure(passage) => {
                self.departed += 1;
                let departure = &passage.departure;
                if let Some((writer, frames)) = &mut self.egress {
                    let (bytes, wire_length) = frames.frame(passage.number, departure.flow, departure.bytes);
                    writer.write(departure.departed, wire_length, bytes)?;
                }
                if let (Some(truth), Some(arrived)) = (&mut self.truth, departure.arrived) {
                    let (arrived, departed) = (arrived.as_nanos(), departure.departed.as_nanos());
                    writeln!(truth, "{arrived},{departed},{},{}", name(departure.flow), departure.bytes)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<ExitCode, Failure> {
        for (writer, _) in self.ingress.into_iter().chain(self.egress) {
            writer.finish()?.finish()?;
        }
        if let Some(truth) = self.truth {
            truth.finish()?;
        }
        eprintln!("dwell: {} packets arrived, {} departed, {} dropped", self.arrived, self.departed, self.dropped);
        Ok(ExitCode::SUCCESS)
    }
}
