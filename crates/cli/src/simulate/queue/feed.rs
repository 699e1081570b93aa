//! Packets that arrive at a simulated queue: generated, from a log, or from a capture.

use crate::simulate::replay::{Pace, Replay};
use anyhow::{Error, Result, bail};
use dwell_logs::Lines;
use dwell_observe::crossing::{Crossings, Settings as Names};
use dwell_report::text;
use dwell_simulate::queue::{Arrival, Arrivals, Frames};
use dwell_types::{FlowId, LinkType, Series, Timestamp, hash};
use std::collections::BTreeMap;
use std::path::Path;

/// Packets in order of arrival, with their frames and the names of their flows.
#[allow(clippy::large_enum_variant, reason = "a run has one value of it")]
pub(super) enum Feed {
    Drawn(Arrivals, Frames),
    Log(Ahead<Log>),
    Capture(Ahead<Held>),
}

/// What packets are read from.
pub(super) trait Source {
    fn next_arrival(&mut self) -> Result<Option<Arrival>>;
}

/// The packets up to the first error. The first one is read in advance, since its properties are needed at the start.
pub(super) struct Ahead<S> {
    source: S,
    first: Option<Arrival>,
    has_ended: bool,
    failed: Option<Error>,
}

impl<S: Source> Ahead<S> {
    fn of(mut source: S) -> Result<Self> {
        let first = source.next_arrival()?;
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
        let next = self.source.next_arrival().unwrap_or_else(|error| {
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
            Self::Capture(held) => Some(held.source.replay.pace.start),
        }
    }

    /// The link type of the frames.
    pub(super) const fn link(&self) -> LinkType {
        match self {
            Self::Capture(held) => held.source.replay.link,
            Self::Drawn(..) | Self::Log(_) => LinkType::ETHERNET,
        }
    }

    /// The captured bytes and the wire length of a packet that has arrived and not departed. A log has no frames.
    pub(super) fn frame(&mut self, number: u64, flow: FlowId, bytes: u32) -> (&[u8], u32) {
        match self {
            Self::Drawn(_, frames) => frames.frame(number, flow, bytes),
            Self::Log(_) => (&[], 0),
            Self::Capture(held) => held.source.frames.get(&number).map_or((&[], 0), |(bytes, length)| (bytes, *length)),
        }
    }

    /// To be called when a packet has departed or was dropped.
    pub(super) fn forget(&mut self, number: u64) {
        if let Self::Capture(held) = self {
            held.source.frames.remove(&number);
        }
    }

    pub(super) fn flow_name(&self, flow: FlowId) -> String {
        let names = match self {
            Self::Drawn(..) => return Frames::key(flow).to_string(),
            Self::Log(log) => &log.source.names,
            Self::Capture(held) => &held.source.names,
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
            Self::Capture(held) => held.check().map(|()| (held.source.warnings(), held.source.replay.is_damaged())),
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
            Self::Capture(held) => held.next(),
        }
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
        let pace = Pace::new(speed_up);
        Ahead::of(Self { lines, columns, pace, names: BTreeMap::new() })
    }
}

impl Source for Log {
    fn next_arrival(&mut self) -> Result<Option<Arrival>> {
        if !self.lines.advance()? {
            return Ok(None);
        }
        let (lines, [at, flow, bytes]) = (&self.lines, self.columns);
        let at = Timestamp::from_nanos(lines.whole_number(at, "nanoseconds as at_ns")?);
        let length: u16 = lines.whole_number(bytes, "bytes, up to 65535, as bytes")?;
        let flow = lines.field(flow);
        if self.pace.is_late(at) {
            bail!(self.lines.error("earlier than the line before: expected lines in time order"));
        }
        let id = FlowId(hash::bytes(hash::start(0), flow.as_bytes()));
        self.names.entry(id).or_insert_with(|| flow.to_owned());
        Ok(Some(arrival(&mut self.pace, at, id, length.into())))
    }
}

fn arrival(pace: &mut Pace, at: Timestamp, flow: FlowId, bytes: u32) -> Arrival {
    let (number, at) = pace.next(at);
    Arrival { number, at, flow, bytes, is_burst: false }
}

/// A capture, and its frames that wait.
pub(super) struct Held {
    replay: Replay,
    crossings: Crossings,
    /// Frames of packets that have not departed, with their lengths on the wire, by arrival number.
    frames: BTreeMap<u64, (Box<[u8]>, u32)>,
    snap_length: usize,
    names: BTreeMap<FlowId, String>,
}

/// The flow of frames that cannot be decoded.
const OTHER: (FlowId, &str) = (FlowId(0), Series::OTHER);

impl Held {
    /// Frames are kept up to the snap length.
    pub(super) fn open(path: &Path, speed_up: f64, snap_length: u32) -> Result<Ahead<Self>> {
        Ahead::of(Self {
            replay: Replay::open(path, speed_up)?,
            crossings: Crossings::new(Names::default()),
            frames: BTreeMap::new(),
            snap_length: snap_length as usize,
            names: BTreeMap::from([(OTHER.0, OTHER.1.to_owned())]),
        })
    }

    /// Warnings for the reader.
    fn warnings(&self) -> Vec<String> {
        let frames = self.crossings.frames();
        let other = frames.total - frames.decoded();
        let undecoded = (other > 0).then(|| {
            let (name, frames) = (self.replay.name(), text::are(other, "frame"));
            format!("{name}: {frames} not decoded: they form one flow, '{}'", OTHER.1)
        });
        self.replay.warnings(undecoded)
    }
}

impl Source for Held {
    fn next_arrival(&mut self) -> Result<Option<Arrival>> {
        let Self { replay, crossings, frames, snap_length, names } = self;
        replay.next(|frame, pace, at| {
            let passing = crossings.observe(frame);
            let (flow, bytes) = match passing {
                Some(passing) => (passing.crossing.flow, passing.crossing.bytes),
                None => (OTHER.0, frame.wire_length),
            };
            if let Some(passing) = passing {
                names.entry(flow).or_insert_with(|| crossings.name(&passing.flow));
            }
            let arrival = arrival(pace, at, flow, bytes);
            let kept = &frame.bytes[..frame.bytes.len().min(*snap_length)];
            frames.insert(arrival.number, (kept.into(), frame.wire_length));
            arrival
        })
    }
}
