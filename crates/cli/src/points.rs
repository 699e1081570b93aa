//! What a point saw, from a capture or from a log.

use crate::log::Log;
use crate::output;
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_capture::{CaptureFiles, FrameSource};
use dwell_observe::Frames;
use dwell_observe::crossing::{Crossings, Passing, Settings};
use dwell_types::{Address, Crossing, FlowKey, Nanos, Prefix, Timestamp};
use std::path::{Path, PathBuf};

/// How the packets of a point are told apart.
#[derive(Clone)]
pub(crate) struct Reading {
    /// Logs instead of captures.
    pub(crate) is_log: bool,
    /// What of a packet names it.
    pub(crate) names: Settings,
}

/// One point, and the next packet that passes it.
pub(crate) struct Point {
    side: Side,
    path: PathBuf,
    next: Option<Seen>,
    /// Added to its times.
    shift: Nanos,
    /// First and last moment that it told.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    /// How often a packet was earlier than the one before it, and by how much at most.
    pub(crate) backwards: (u64, Nanos),
    /// Packets that go another way than what is measured.
    pub(crate) elsewhere: u64,
    /// Why it ended before its end.
    pub(crate) damage: Option<String>,
}

/// Which packets go which way, by their sources.
#[derive(Clone, Default)]
pub(crate) struct Ways {
    /// From the sender to the receiver; all, if empty.
    pub(crate) from: Vec<Prefix>,
    pub(crate) back: Back,
}

/// Which packets go from the receiver to the sender.
#[derive(Clone, Default)]
pub(crate) enum Back {
    /// None that are measured.
    #[default]
    None,
    /// All others.
    Others,
    /// Those of these sources.
    From(Vec<Prefix>),
}

impl Ways {
    /// Whether a packet goes back; `None` if its way is not measured.
    fn is_reverse(&self, key: &FlowKey) -> Option<bool> {
        if self.is_forward(key.source) {
            return Some(false);
        }
        match &self.back {
            Back::None => None,
            Back::Others => Some(true),
            Back::From(sources) => sources.iter().any(|prefix| prefix.contains(key.source)).then_some(true),
        }
    }

    /// Whether packets of this source go from the sender to the receiver.
    pub(crate) fn is_forward(&self, source: Address) -> bool {
        self.from.is_empty() || self.from.iter().any(|prefix| prefix.contains(source))
    }

    /// Whether both directions are measured.
    pub(crate) const fn has_back(&self) -> bool {
        !matches!(self.back, Back::None)
    }
}

/// A packet, and whether it goes from the sender to the receiver or back.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) crossing: Crossing,
    pub(crate) is_reverse: bool,
}

#[allow(clippy::large_enum_variant, reason = "there are two")]
enum Side {
    Capture { source: CaptureFiles, crossings: Crossings, passing: Option<Passing>, ways: Ways },
    Log(Log),
}

impl Point {
    /// Opens a point and looks at its first packet.
    pub(crate) fn open(path: &Path, reading: &Reading, ways: &Ways, shift: Nanos, stop: &Stop) -> Result<Self> {
        let side = if reading.is_log {
            Side::Log(Log::open(path, reading.names.seed, stop)?)
        } else {
            Side::Capture {
                source: CaptureFiles::open([path])?.until(stop),
                crossings: Crossings::new(reading.names.clone()),
                passing: None,
                ways: ways.clone(),
            }
        };
        let mut point = Self {
            side,
            path: path.to_owned(),
            next: None,
            shift,
            span: None,
            backwards: (0, Nanos::ZERO),
            elsewhere: 0,
            damage: None,
        };
        point.advance()?;
        Ok(point)
    }

    /// When the next packet passes; `None` at the end.
    pub(crate) fn at(&self) -> Option<Timestamp> {
        self.next.map(|seen| seen.crossing.at)
    }

    pub(crate) fn peek(&self) -> Option<Seen> {
        self.next
    }

    /// Addresses and ports of the next packet.
    pub(crate) fn key(&self) -> Option<FlowKey> {
        match &self.side {
            Side::Capture { passing, .. } => passing.as_ref().map(|passing| passing.key),
            Side::Log(_) => None,
        }
    }

    /// The name of the next packet's flow.
    pub(crate) fn flow_name(&self) -> String {
        match &self.side {
            Side::Capture { passing, .. } => passing.as_ref().map(Passing::flow_name).unwrap_or_default(),
            Side::Log(log) => log.flow_name(),
        }
    }

    /// Goes on to the packet after the next.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.next = self.read()?;
        if let Some(seen) = &mut self.next {
            let at = seen.crossing.at + self.shift;
            seen.crossing.at = at;
            let (first, last) = self.span.unwrap_or((at, at));
            if at < last {
                self.backwards = (self.backwards.0 + 1, self.backwards.1.max(last - at));
            }
            self.span = Some((first.min(at), last.max(at)));
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<Seen>> {
        let (source, crossings, passing, ways) = match &mut self.side {
            Side::Log(log) => {
                return Ok(log.next()?.map(|crossing| Seen { crossing, is_reverse: false }));
            }
            Side::Capture { source, crossings, passing, ways } => (source, crossings, passing, ways),
        };
        loop {
            let frame = match source.next_frame() {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(None),
                // What was read before the damage is sound.
                Err(error) if crossings.frames().total > 0 => {
                    self.damage = Some(format!("{error}; what follows there was not read"));
                    return Ok(None);
                }
                Err(error) => return Err(error.into()),
            };
            *passing = crossings.observe(&frame);
            let Some(seen) = passing else { continue };
            let Some(is_reverse) = ways.is_reverse(&seen.key) else {
                self.elsewhere += 1;
                continue;
            };
            return Ok(Some(Seen { crossing: seen.crossing, is_reverse }));
        }
    }

    pub(crate) fn frames(&self) -> Option<&Frames> {
        match &self.side {
            Side::Capture { crossings, .. } => Some(crossings.frames()),
            Side::Log(_) => None,
        }
    }

    /// Packets that the capture cut before the last byte that names them.
    pub(crate) fn cut(&self) -> u64 {
        match &self.side {
            Side::Capture { crossings, .. } => crossings.cut(),
            Side::Log(_) => 0,
        }
    }

    /// Bytes to read, if that is known, and bytes read.
    pub(crate) fn progress(&self) -> (Option<u64>, u64) {
        match &self.side {
            Side::Capture { source, .. } => (source.bytes_total(), source.bytes_read()),
            Side::Log(_) => (None, 0),
        }
    }

    /// Whether it was asked to stop before the end.
    pub(crate) fn is_stopped(&self) -> bool {
        match &self.side {
            Side::Capture { source, .. } => source.is_stopped(),
            Side::Log(log) => log.is_stopped(),
        }
    }

    /// What the reader must know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = match &self.side {
            Side::Capture { source, .. } => source.warnings().iter().map(ToString::to_string).collect(),
            Side::Log(_) => Vec::new(),
        };
        let name = self.path.display();
        let (packets, most) = self.backwards;
        if most > Nanos::new(10_000_000) {
            warnings
                .push(format!("{name}: {} earlier than one before, by up to {most}", output::are(packets, "packet")));
        }
        if self.cut() > 0 {
            warnings.push(format!(
                "{name}: {} cut before the last byte that names a packet: with another snap length nothing would \
                 recognise them (--payload-bytes)",
                output::are(self.cut(), "packet")
            ));
        }
        warnings.extend(self.damage.clone());
        warnings
    }
}
