//! A measurement point: its packets, read from a capture or a log; and several points together.

use crate::disorder::Disorder;
use anyhow::Result;
use dwell_capture::InputState;
use dwell_capture::file::Stop;
use dwell_observe::Frames;
use dwell_observe::crossing::{Directions, Flow};
use dwell_types::{Crossing, FlowKey, Nanos, Timestamp};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

// How packets are read and named.
mod naming;
pub(crate) use naming::{NamingArguments, Reading};
// The capture or log.
mod source;
pub(crate) use source::Seen;
use source::{Packet, Source};
// Implausible timestamps.
mod wild;
use wild::{AHEAD, instead, is_near};
// Warnings by what was counted.
mod warnings;
pub(crate) use warnings::changed_between;
// Several points in time order, what their captures tell before they are compared, and gaps that they show in each other.
mod merged;
pub(crate) use merged::Merged;
mod beginning;
pub(crate) use beginning::Beginning;
mod gaps;
pub(crate) use gaps::{Run, Silence};

/// A measurement point, positioned at the next packet that passes it.
pub(crate) struct Point {
    source: Source,
    path: PathBuf,
    /// The next packet, and those after it, by which an implausible timestamp of it is recognised.
    ahead: VecDeque<Packet>,
    /// The time of the next packet; `None` at the end.
    at: Option<Timestamp>,
    /// Whether everything has been read.
    has_ended: bool,
    /// First and last timestamp so far.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
    disorder: Disorder,
    /// Time of the previous packet.
    before: Option<Timestamp>,
    /// Packets with implausible timestamps, which were replaced.
    wild: u64,
}

impl Point {
    /// Opens a point and reads its first packets.
    pub(crate) fn open(
        path: &Path,
        reading: &Reading,
        directions: &Directions,
        shift: Nanos,
        stop: &Stop,
    ) -> Result<Self> {
        let mut point = Self {
            source: Source::open(path, reading, directions, shift, stop)?,
            path: path.to_owned(),
            ahead: VecDeque::with_capacity(AHEAD + 1),
            at: None,
            has_ended: false,
            span: None,
            disorder: Disorder::NONE,
            before: None,
            wild: 0,
        };
        point.look()?;
        Ok(point)
    }

    /// The time of the next packet; `None` at the end.
    pub(crate) const fn at(&self) -> Option<Timestamp> {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<&Seen> {
        self.ahead.front().map(|next| &next.seen)
    }

    /// The last packet that was read ahead.
    pub(crate) fn farthest(&self) -> Option<&Crossing> {
        self.ahead.back().map(|last| &last.seen.crossing)
    }

    /// Addresses and ports of the next packet.
    pub(crate) fn key(&self) -> Option<FlowKey> {
        self.ahead.front()?.key()
    }

    /// What names the next packet's flow, later by [`Point::name`]; `None` in a log.
    pub(crate) fn flow(&self) -> Option<&Flow> {
        self.ahead.front()?.flow()
    }

    /// The name of the flow of a packet, of this point or another one that is read alike.
    pub(crate) fn name(&self, flow: &Flow) -> String {
        self.source.name(flow)
    }

    /// The name of the next packet's flow.
    pub(crate) fn flow_name(&self) -> String {
        self.ahead.front().map(|next| self.source.flow_name(next)).unwrap_or_default()
    }

    /// Advances by one packet.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.before = self.at;
        self.ahead.pop_front();
        self.look()
    }

    /// Ends after the packets that have been read ahead.
    pub(crate) fn read_no_more(&mut self) {
        self.has_ended = true;
    }

    /// Reads ahead, then checks and records the time of the next packet.
    fn look(&mut self) -> Result<()> {
        while self.ahead.len() <= AHEAD && !self.has_ended {
            self.has_ended = !self.source.read(&mut self.ahead)?;
        }
        self.at = self.peek().map(|next| next.crossing.at);
        let Some(mut at) = self.at else { return Ok(()) };
        if !self.before.is_some_and(|before| is_near(at, before)) {
            at = self.plausible(at)?;
        }
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
        self.disorder.see(at);
        Ok(())
    }

    /// The time of the next packet, or what replaces it if it is wild. Segments of one frame have one time, so that they
    /// tell nothing about it.
    #[cold]
    fn plausible(&mut self, at: Timestamp) -> Result<Timestamp> {
        while self.behind().nth(AHEAD - 1).is_none() && !self.has_ended {
            self.read()?;
        }
        let Some(instead) = instead(at, self.before, self.behind()) else { return Ok(at) };
        self.wild += 1;
        self.at = Some(instead);
        self.ahead[0].seen.crossing.at = instead;
        Ok(instead)
    }

    /// Reads ahead by another frame. Apart from [`Point::look`], where reading stays inlined.
    #[cold]
    fn read(&mut self) -> Result<()> {
        self.has_ended = !self.source.read(&mut self.ahead)?;
        Ok(())
    }

    /// The times of the frames behind that of the next packet, as far as they were read.
    fn behind(&self) -> impl Iterator<Item = Timestamp> + Clone {
        self.ahead.iter().skip(1).filter(|packet| !packet.is_rest).map(|packet| packet.seen.crossing.at)
    }

    /// When the last of all packets was seen, also of directions that are not measured; not a single wild time.
    pub(crate) fn until(&self) -> Timestamp {
        self.source.until()
    }

    pub(crate) fn frames(&self) -> Option<&Frames> {
        self.source.frames()
    }

    /// Packets of a direction that is not measured.
    pub(crate) fn elsewhere(&self) -> u64 {
        self.source.counts.elsewhere
    }

    /// Packets between two addresses of one side, as those of hosts that no other point shows.
    pub(crate) fn aside(&self) -> u64 {
        self.source.counts.elsewhere - self.source.counts.untold
    }

    /// Packets that the capture cuts before the last byte that identifies them.
    pub(crate) fn cut(&self) -> u64 {
        self.source.cut()
    }

    /// Whether reading was stopped, and has ended therefore.
    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.has_ended && self.state().is_stopped()
    }

    /// How far the capture or log was read, and how that ended.
    pub(crate) fn state(&self) -> &dyn InputState {
        self.source.state()
    }
}
