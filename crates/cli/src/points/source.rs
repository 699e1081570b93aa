//! The capture or log of a point: its packets one after the other, and which way they go.

use super::naming::Reading;
use crate::disorder::Disorder;
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_capture::{CaptureFiles, FrameSource, InputState};
use dwell_logs::{CrossingLog, shortened};
use dwell_observe::Frames;
use dwell_observe::crossing::{Crossings, Directions, Flow, Passing};
use dwell_types::{Crossing, FlowKey, LinkType, Nanos, Series, Timestamp, protocol};
use std::collections::VecDeque;
use std::path::Path;

/// A packet, and whether it goes from the sender to the receiver or back.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) crossing: Crossing,
    pub(crate) is_reverse: bool,
}

/// A packet that was read, and its flow.
pub(super) struct Packet {
    pub(super) seen: Seen,
    /// Whether it is a later segment of the frame of the packet before.
    pub(super) is_rest: bool,
    whose: Whose,
}

enum Whose {
    Flow(Flow),
    /// The flow name in a log, if it has one.
    Named(Option<Box<str>>),
}

impl Packet {
    /// Its addresses and ports; `None` in a log.
    pub(super) fn key(&self) -> Option<FlowKey> {
        self.flow().map(|flow| flow.key)
    }

    /// The same, and what else may name its flow.
    pub(super) const fn flow(&self) -> Option<&Flow> {
        match &self.whose {
            Whose::Flow(flow) => Some(flow),
            Whose::Named(_) => None,
        }
    }
}

/// A capture or log that is read, and what was found in it.
pub(super) struct Source {
    opened: Opened,
    /// Clock correction added to all times.
    shift: Nanos,
    /// Of all packets that were read, also those of directions that are not measured.
    read: Disorder,
    pub(super) counts: Counts,
}

#[allow(clippy::large_enum_variant, reason = "a run has two values of it")]
enum Opened {
    Capture { files: CaptureFiles, crossings: Crossings, directions: Directions },
    Log(CrossingLog),
}

/// Packets of a capture, by direction.
#[derive(Default)]
pub(super) struct Counts {
    /// Packets that are measured, and those of a direction that is not.
    pub(super) measured: u64,
    pub(super) elsewhere: u64,
    /// How many of the latter have a direction that should have been found.
    pub(super) untold: u64,
    /// How many of them go between two addresses of `--from`.
    pub(super) within: u64,
    /// TCP packets that are measured, to the receiver and back: how many, and the bytes of the longest.
    pub(super) segments: [(u64, u32); 2],
}

impl Counts {
    /// Counts a packet that is measured.
    #[inline]
    fn add(&mut self, protocol: u8, bytes: u32, is_reverse: bool) {
        self.measured += 1;
        if protocol == protocol::TCP {
            let (number, longest) = &mut self.segments[usize::from(is_reverse)];
            *number += 1;
            *longest = bytes.max(*longest);
        }
    }

    /// Counts a packet of a direction that is not measured.
    #[inline]
    fn leave_out(&mut self, key: &FlowKey, directions: &Directions) {
        let &FlowKey { source, destination, .. } = key;
        self.elsewhere += 1;
        // Link-local packets can occur at either point, so their direction is not expected to be found.
        let is_neighbour = source.is_unspecified() || source.is_link_local();
        self.untold += u64::from(directions.is_unknown(source, destination) && !is_neighbour);
        self.within += u64::from(directions.is_within(source, destination));
    }
}

/// Adds the segments of a long packet to what was read ahead.
#[cold]
fn add_segments(
    segments: &[Crossing],
    flow: Flow,
    is_reverse: bool,
    counts: &mut Counts,
    ahead: &mut VecDeque<Packet>,
) {
    for (number, &crossing) in segments.iter().enumerate() {
        counts.add(flow.key.protocol, crossing.bytes, is_reverse);
        ahead.push_back(Packet { seen: Seen { crossing, is_reverse }, is_rest: number > 0, whose: Whose::Flow(flow) });
    }
}

impl Source {
    pub(super) fn open(
        path: &Path,
        reading: &Reading,
        directions: &Directions,
        shift: Nanos,
        stop: &Stop,
    ) -> Result<Self> {
        let opened = if reading.is_log {
            Opened::Log(CrossingLog::open(path, reading.names.seed, Some(stop))?)
        } else {
            Opened::Capture {
                files: CaptureFiles::open([path])?.until(stop),
                crossings: Crossings::new(reading.names.clone()),
                directions: directions.clone(),
            }
        };
        Ok(Self { opened, shift, read: Disorder::NONE, counts: Counts::default() })
    }

    /// Adds the next packet that is measured, if there is one, with the other segments of its frame, to those that were
    /// read `ahead`: returned, it would be copied once more.
    #[inline(always)]
    pub(super) fn read(&mut self, ahead: &mut VecDeque<Packet>) -> Result<bool> {
        let Self { opened, shift, read, counts } = self;
        let (files, crossings, directions) = match opened {
            Opened::Log(log) => {
                let Some(crossing) = log.next_crossing()? else { return Ok(false) };
                let crossing = Crossing { at: crossing.at + *shift, ..crossing };
                read.see(crossing.at);
                let whose = Whose::Named(log.flow_name().map(|name| name.into_owned().into()));
                ahead.push_back(Packet { seen: Seen { crossing, is_reverse: false }, is_rest: false, whose });
                return Ok(true);
            }
            Opened::Capture { files, crossings, directions } => (files, crossings, directions),
        };
        while let Some(frame) = files.next_frame()? {
            let Some(Passing { crossing, flow }) = crossings.observe(&frame) else { continue };
            let key = &flow.key;
            let crossing = Crossing { at: crossing.at + *shift, ..crossing };
            read.see(crossing.at);
            let Some(is_reverse) = directions.is_reverse(key.source, key.destination) else {
                counts.leave_out(key, directions);
                continue;
            };
            if crossings.is_long(crossing.bytes) {
                let segments = crossings.segments(frame.link, frame.bytes, frame.wire_length, crossing);
                add_segments(&segments, flow, is_reverse, counts, ahead);
            } else {
                counts.add(key.protocol, crossing.bytes, is_reverse);
                ahead.push_back(Packet {
                    seen: Seen { crossing, is_reverse },
                    is_rest: false,
                    whose: Whose::Flow(flow),
                });
            }
            return Ok(true);
        }
        Ok(false)
    }

    /// The name of a packet's flow.
    pub(super) fn flow_name(&self, packet: &Packet) -> String {
        match &packet.whose {
            Whose::Flow(flow) => self.name(flow),
            Whose::Named(Some(name)) => name.to_string(),
            Whose::Named(None) => Series::ALL.to_owned(),
        }
    }

    /// The name of the flow of a packet in a capture, of this point or another one that is read alike.
    pub(super) fn name(&self, flow: &Flow) -> String {
        match &self.opened {
            Opened::Capture { crossings, .. } => shortened(&crossings.name(flow)).into_owned(),
            Opened::Log(_) => Series::ALL.to_owned(),
        }
    }

    /// When the last of all packets was seen, also of directions that are not measured; not a single wild time.
    pub(super) fn until(&self) -> Timestamp {
        self.read.present(None)
    }

    pub(super) fn frames(&self) -> Option<&Frames> {
        match &self.opened {
            Opened::Capture { crossings, .. } => Some(crossings.frames()),
            Opened::Log(_) => None,
        }
    }

    /// The first link type that is not supported.
    pub(super) fn unknown_link(&self) -> Option<LinkType> {
        match &self.opened {
            Opened::Capture { crossings, .. } => crossings.unknown_link(),
            Opened::Log(_) => None,
        }
    }

    /// Packets that the capture cuts before the last byte that identifies them.
    pub(super) fn cut(&self) -> u64 {
        match &self.opened {
            Opened::Capture { crossings, .. } => crossings.cut(),
            Opened::Log(_) => 0,
        }
    }

    /// How far it was read, and how that ended.
    pub(super) fn state(&self) -> &dyn InputState {
        match &self.opened {
            Opened::Capture { files, .. } => files,
            Opened::Log(log) => log.lines(),
        }
    }

    /// Warnings about what could not be read.
    pub(super) fn warnings(&self) -> Vec<String> {
        match &self.opened {
            Opened::Capture { files, .. } => files.warnings().iter().map(ToString::to_string).collect(),
            Opened::Log(log) => Vec::from_iter(log.lines().warning()),
        }
    }
}
