//! Packets that arrive at a simulated queue: generated, from a log, or from a capture.

use anyhow::{Error, Result, anyhow, bail};
use dwell_capture::{CaptureFiles, FrameSource, Name};
use dwell_logs::Lines;
use dwell_observe::crossing::{Crossings, Settings as Names};
use dwell_report::text;
use dwell_simulate::queue::{Arrival, Arrivals, Frames};
use dwell_types::{FlowId, LinkType, Series, Timestamp, hash};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Packets in order of arrival, with their frames and the names of their flows.
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
pub(super) enum Feed {
    Drawn(Arrivals, Frames),
    Log(Ahead<Log>),
    Capture(Ahead<Replay>),
}

/// A source of packets.
pub(super) trait Read {
    fn read(&mut self) -> Result<Option<Arrival>>;
}

/// The packets up to the first error. The first one is read in advance, since its properties are needed at the start.
pub(super) struct Ahead<S> {
    source: S,
    first: Option<Arrival>,
    has_ended: bool,
    failed: Option<Error>,
}

impl<S: Read> Ahead<S> {
    fn of(mut source: S) -> Result<Self> {
        let first = source.read()?;
        Ok(Self { source, first, has_ended: false, failed: None })
    }

    fn next(&mut self) -> Option<Arrival> {
        if self.first.is_some() {
            return self.first.take();
        }
        // What follows an error or the end is not a line any more.
        if self.has_ended {
            return None;
        }
        let next = self.source.read().unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        });
        self.has_ended = next.is_none();
        next
    }

    /// Returns the error that ended the input, if any.
    fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Feed {
    /// The time of the first packet, unless that is determined by the settings.
    pub(super) fn start(&self) -> Option<Timestamp> {
        match self {
            Self::Drawn(..) => None,
            Self::Log(log) => Some(log.source.pace.start),
            Self::Capture(replay) => Some(replay.source.pace.start),
        }
    }

    /// The link type of the frames.
    pub(super) const fn link(&self) -> LinkType {
        match self {
            Self::Capture(replay) => replay.source.link,
            Self::Drawn(..) | Self::Log(_) => LinkType::ETHERNET,
        }
    }

    /// The captured bytes and the wire length of a packet that has arrived and not departed. A log has no frames.
    pub(super) fn frame(&mut self, number: u64, flow: FlowId, bytes: u32) -> (&[u8], u32) {
        match self {
            Self::Drawn(_, frames) => frames.frame(number, flow, bytes),
            Self::Log(_) => (&[], 0),
            Self::Capture(replay) => {
                replay.source.held.get(&number).map_or((&[], 0), |(bytes, length)| (bytes, *length))
            }
        }
    }

    /// To be called when a packet has departed or was dropped.
    pub(super) fn forget(&mut self, number: u64) {
        if let Self::Capture(replay) = self {
            replay.source.held.remove(&number);
        }
    }

    pub(super) fn flow_name(&self, flow: FlowId) -> String {
        let names = match self {
            Self::Drawn(..) => return Frames::key(flow).to_string(),
            Self::Log(log) => &log.source.names,
            Self::Capture(replay) => &replay.source.names,
        };
        names.get(&flow).cloned().unwrap_or_default()
    }

    /// The error that ended the input, if any; otherwise warnings, and whether a file was damaged.
    pub(super) fn end(&mut self) -> Result<(Vec<String>, bool)> {
        match self {
            Self::Drawn(..) => Ok((Vec::new(), false)),
            Self::Log(log) => {
                log.check()?;
                Ok((Vec::from_iter(log.source.lines.warning()), false))
            }
            Self::Capture(replay) => {
                replay.check().map(|()| (replay.source.warnings(), replay.source.files.is_damaged()))
            }
        }
    }
}

impl Iterator for Feed {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        match self {
            Self::Drawn(arrivals, _) => {
                let arrival = arrivals.next()?;
                // The packet is as long as its frame.
                Some(Arrival { bytes: arrival.bytes.max(Frames::LEAST_BYTES), ..arrival })
            }
            Self::Log(log) => log.next(),
            Self::Capture(replay) => replay.next(),
        }
    }
}

/// Maps recorded arrival times to simulated ones.
struct Pace {
    start: Timestamp,
    speed_up: f64,
    /// The last arrival, in nanoseconds since the start, and the number of packets so far.
    last: f64,
    count: u64,
}

impl Pace {
    const fn new(start: Timestamp, speed_up: f64) -> Self {
        Self { start, speed_up, last: 0.0, count: 0 }
    }

    fn since(&self, at: Timestamp) -> f64 {
        (at - self.start).get() as f64 / self.speed_up
    }

    /// The next packet; one that is earlier than its predecessor arrives at the same time.
    fn arrival(&mut self, at: Timestamp, flow: FlowId, bytes: u32) -> Arrival {
        self.last = self.since(at).max(self.last);
        self.count += 1;
        Arrival { number: self.count, at: self.last, flow, bytes, is_burst: false }
    }
}

/// A log of arrivals: CSV with the columns `at_ns,flow,bytes`.
pub(super) struct Log {
    lines: Lines,
    /// Indices of the columns for time, flow and bytes.
    columns: [usize; 3],
    pace: Pace,
    names: BTreeMap<FlowId, String>,
}

impl Log {
    pub(super) fn open(path: &Path, speed_up: f64) -> Result<Ahead<Self>> {
        let mut lines = Lines::open(path, None)?;
        let (columns, []) = lines.columns(["at_ns", "flow", "bytes"], [])?;
        let pace = Pace::new(Timestamp::from_nanos(0), speed_up);
        Ahead::of(Self { lines, columns, pace, names: BTreeMap::new() })
    }
}

impl Read for Log {
    fn read(&mut self) -> Result<Option<Arrival>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let (lines, [at, flow, bytes]) = (&self.lines, self.columns);
        let at = Timestamp::from_nanos(lines.whole_number(at, "nanoseconds as at_ns")?);
        let length: u16 = lines.whole_number(bytes, "bytes, up to 65535, as bytes")?;
        let flow = lines.field(flow);
        if self.pace.count == 0 {
            self.pace.start = at;
        }
        if self.pace.since(at) < self.pace.last {
            bail!(self.lines.error("earlier than the line before: expected lines in time order"));
        }
        let id = FlowId(hash::bytes(hash::start(0), flow.as_bytes()));
        self.names.entry(id).or_insert_with(|| flow.to_owned());
        Ok(Some(self.pace.arrival(at, id, length.into())))
    }
}

/// A capture that is replayed frame by frame.
pub(super) struct Replay {
    files: CaptureFiles,
    path: PathBuf,
    crossings: Crossings,
    link: LinkType,
    pace: Pace,
    /// Frames of packets that have not departed, with their lengths on the wire, by arrival number.
    held: BTreeMap<u64, (Box<[u8]>, u32)>,
    snap_length: usize,
    names: BTreeMap<FlowId, String>,
    /// Frames with an earlier time than the one before them.
    late: u64,
}

/// The flow of frames that cannot be decoded.
const OTHER: (FlowId, &str) = (FlowId(0), Series::OTHER);

impl Replay {
    /// Frames are kept up to the snap length.
    pub(super) fn open(path: &Path, speed_up: f64, snap_length: u32) -> Result<Ahead<Self>> {
        Ahead::of(Self {
            files: CaptureFiles::open([path])?,
            path: path.to_owned(),
            crossings: Crossings::new(Names::default()),
            link: LinkType::ETHERNET,
            pace: Pace::new(Timestamp::from_nanos(0), speed_up),
            held: BTreeMap::new(),
            snap_length: snap_length as usize,
            names: BTreeMap::from([(OTHER.0, OTHER.1.to_owned())]),
            late: 0,
        })
    }

    /// Warnings for the reader.
    fn warnings(&self) -> Vec<String> {
        let name = Name(&self.path);
        let mut warnings: Vec<String> = self.files.warnings().iter().map(ToString::to_string).collect();
        let frames = self.crossings.frames();
        let untimed = frames.total - self.pace.count;
        let other = frames.total - frames.decoded() - untimed;
        if untimed > 0 {
            warnings.push(format!("{name}: {} without a timestamp and left out", text::are(untimed, "frame")));
        }
        if other > 0 {
            warnings.push(format!(
                "{name}: {} not decoded: they form one flow, '{}'",
                text::are(other, "frame"),
                OTHER.1
            ));
        }
        if self.late > 0 {
            warnings.push(format!(
                "{name}: {} out of time order, arriving with the one before",
                text::are(self.late, "frame")
            ));
        }
        warnings
    }
}

impl Read for Replay {
    /// The next frame that has a timestamp.
    fn read(&mut self) -> Result<Option<Arrival>> {
        while let Some(frame) = self.files.next_frame()? {
            let passing = self.crossings.observe(&frame);
            let Some(at) = frame.at else { continue };
            if self.pace.count == 0 {
                (self.pace.start, self.link) = (at, frame.link);
            }
            if frame.link != self.link {
                let number = self.crossings.frames().total;
                return Err(anyhow!(
                    "{}: frame {number} has another link type ({}) than those before it ({}): one pcap file holds one",
                    Name(&self.path),
                    frame.link.0,
                    self.link.0
                ));
            }
            let (flow, bytes) = match passing {
                Some(passing) => (passing.crossing.flow, passing.crossing.bytes),
                None => (OTHER.0, frame.wire_length),
            };
            if let Some(passing) = passing {
                self.names.entry(flow).or_insert_with(|| passing.flow.name());
            }
            self.late += u64::from(self.pace.since(at) < self.pace.last);
            let arrival = self.pace.arrival(at, flow, bytes);
            let kept = &frame.bytes[..frame.bytes.len().min(self.snap_length)];
            self.held.insert(arrival.number, (kept.into(), frame.wire_length));
            return Ok(Some(arrival));
        }
        Ok(None)
    }
}
