//! The two points of a comparison.

use super::PointArguments;
use crate::Failure;
use crate::output;
use crate::points::{Beginning, Merged, Point, Seen};
use crate::progress::Bar;
use crate::signals::Signals;
use anyhow::Result;
use dwell_capture::InputState;
use dwell_observe::crossing::Directions;
use dwell_observe::group::Grouping;
use dwell_sketch::owd::Side;
use dwell_types::{Nanos, Timestamp};
use std::ops::ControlFlow;
use std::path::PathBuf;

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
        output::check_stdin(&self.paths)?;
        output::check_different(&self.paths, "two captures")
    }

    /// Detects the directions from the beginnings of both captures.
    pub(crate) fn look(&self, signals: &Signals) -> Result<Beginning> {
        let [sender, receiver] = &self.paths;
        let asked = Directions::given(&self.point.from, self.reverse);
        let senders = std::slice::from_ref(sender);
        Beginning::look(senders, receiver, &self.point.reading(None), asked, None, signals.stop())
    }

    /// Opens both points, for packets in these directions.
    pub(crate) fn open(&self, directions: &Directions, group: Option<Grouping>, signals: &Signals) -> Result<Merged> {
        let reading = self.point.reading(group);
        let shifts = [Nanos::ZERO, Nanos::new(-self.clock_offset.get())];
        let open = |(path, shift): (&PathBuf, Nanos)| Point::open(path, &reading, directions, shift, signals.stop());
        Ok(Merged::new(self.paths.iter().zip(shifts).map(open).collect::<Result<_>>()?))
    }
}

/// The next event.
pub(crate) enum Next<'a> {
    /// A packet passes a point.
    Packet(Side, &'a Seen, &'a Point),
    /// A point has ended, which saw its last packet of whatever direction then.
    End(Side, Timestamp),
}

/// Calls `each` for everything both points see, in the order of time if the receiver's clock is ahead by this much, until
/// they end or are stopped, or after the packets that they have read once it breaks off. Returns the number of packets of each.
pub(crate) fn follow(
    points: &mut Merged,
    ahead: Nanos,
    mut each: impl FnMut(Next<'_>) -> Result<ControlFlow<()>>,
) -> Result<[u64; 2]> {
    const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];
    let mut progress = Bar::of_bytes(points.bytes_total());
    let mut packets = [0; 2];
    for (side, point) in SIDES.into_iter().zip(points.iter()) {
        if point.is_stopped() && point.at().is_none() {
            let _ = each(Next::End(side, point.until()))?;
        }
    }
    let by_sender = |number: usize, at| if SIDES[number] == Side::Receiver { at - ahead } else { at };
    while let Some((_, number)) = points.next_by(by_sender) {
        let (side, point) = (SIDES[number], &points[number]);
        if let Some(seen) = point.peek()
            && each(Next::Packet(side, seen, point))?.is_break()
        {
            points.read_no_more();
        }
        packets[number] += 1;
        points.advance(number)?;
        if points[number].at().is_none() {
            let _ = each(Next::End(side, points[number].until()))?;
        }
        progress.step(|| points.bytes_read());
    }
    progress.end();
    Ok(packets)
}
