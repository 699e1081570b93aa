//! Reads two points, merged in the order of time.

use super::PointArguments;
use crate::Failure;
use crate::beginning::{self, Beginning};
use crate::output;
use crate::points::{Point, Seen};
use crate::progress::Bar;
use crate::signals::Signals;
use anyhow::Result;
use dwell_observe::crossing::Directions;
use dwell_observe::group::Grouping;
use dwell_sketch::owd::Side;
use dwell_types::Nanos;
use std::path::PathBuf;
use std::process::ExitCode;

/// Two points, and how to read them.
pub(crate) struct Pair<'a> {
    /// The sender's first.
    pub(crate) paths: [PathBuf; 2],
    pub(crate) point: &'a PointArguments,
    /// Whether packets not from `point.from` are measured as the reverse direction.
    pub(crate) reverse: bool,
    /// How far the receiver's clock is ahead.
    pub(crate) clock_offset: Nanos,
}

impl Pair<'_> {
    /// Checks combinations that the arguments' own parsers cannot.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.paths.iter().all(|path| path.as_os_str() == "-") {
            return Err(Failure::Usage("expected two captures: only one of them can be standard input".to_owned()));
        }
        output::check_different(&self.paths, "two captures")
    }

    /// Detects the directions from the beginnings of both captures.
    pub(crate) fn look(&self, signals: &Signals) -> Result<Beginning> {
        let [sender, receiver] = &self.paths;
        let asked = Directions::asked(&self.point.from, self.reverse);
        let senders = std::slice::from_ref(sender);
        beginning::look(senders, receiver, &self.point.reading(None), asked, false, signals.stop())
    }

    /// Opens both points, for packets in these directions.
    pub(crate) fn open(&self, directions: &Directions, group: Option<Grouping>, signals: &Signals) -> Result<Merged> {
        let reading = self.point.reading(group);
        let open = |path, shift| Point::open(path, &reading, directions, shift, signals.stop());
        Ok(Merged {
            sender: open(&self.paths[0], Nanos::ZERO)?,
            receiver: open(&self.paths[1], Nanos::new(-self.clock_offset.get()))?,
        })
    }
}

/// Two points being read together.
pub(crate) struct Merged {
    pub(super) sender: Point,
    pub(super) receiver: Point,
}

/// The next event.
pub(crate) enum Next<'a> {
    /// A packet passes a point.
    Packet(Side, Seen, &'a Point),
    /// A point has ended.
    End(Side),
}

impl Merged {
    /// Calls `each` for everything both points see, until they end or are stopped. Returns the number of packets of
    /// each.
    pub(crate) fn follow(&mut self, mut each: impl FnMut(Next<'_>) -> Result<()>) -> Result<[u64; 2]> {
        let (sender, receiver) = (&mut self.sender, &mut self.receiver);
        let total = sender.progress().0.zip(receiver.progress().0).map(|(a, b)| a + b);
        let mut progress = Bar::of_bytes(total);
        let mut packets = [0; 2];
        for (side, point) in [(Side::Sender, &*sender), (Side::Receiver, &*receiver)] {
            if point.is_stopped() && point.at().is_none() {
                each(Next::End(side))?;
            }
        }
        while let Some((side, point)) = next(sender, receiver) {
            if let Some(seen) = point.peek() {
                each(Next::Packet(side, seen, point))?;
            }
            packets[side as usize] += 1;
            point.advance()?;
            let is_stopped = point.is_stopped();
            if point.at().is_none() {
                each(Next::End(side))?;
            }
            if is_stopped {
                // Packets decoded so far are still compared, at both points.
                sender.read_no_more();
                receiver.read_no_more();
            }
            progress.step(|| sender.progress().1 + receiver.progress().1);
        }
        progress.end();
        Ok(packets)
    }

    /// Whether either was stopped before its end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.sender.is_stopped() || self.receiver.is_stopped()
    }

    /// The exit code of the run.
    pub(crate) fn code(&self, signals: &Signals) -> ExitCode {
        signals.end(self.is_stopped(), self.sender.damage.is_some() || self.receiver.damage.is_some())
    }

    /// Warnings about the captures.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.sender.warnings();
        warnings.extend(self.receiver.warnings());
        warnings
    }
}

/// The point whose next packet is earlier.
fn next<'a>(sender: &'a mut Point, receiver: &'a mut Point) -> Option<(Side, &'a mut Point)> {
    match (sender.at(), receiver.at()) {
        (None, None) => None,
        (Some(_), None) => Some((Side::Sender, sender)),
        (Some(sent), Some(received)) if sent <= received => Some((Side::Sender, sender)),
        (_, Some(_)) => Some((Side::Receiver, receiver)),
    }
}
