//! What captures themselves tell before they are compared: which addresses are on which side, and the approximate delay.

use crate::points::{Point, Reading};
use anyhow::Result;
use dwell_capture::file::Stop;
use dwell_observe::crossing::{Directions, PairDelays};
use dwell_types::{Address, Nanos, PacketId, Timestamp};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Number of packets that are examined at a time.
const PACKETS: usize = 1 << 17;
/// How many times packets are examined at most, and of how many only one may have an unknown direction in the end.
const PARTS: usize = 1 << 6;
const FEW: u64 = 1_000;

/// What the first packets show.
#[derive(Clone, Default)]
pub(crate) struct Beginning {
    /// The direction of packets.
    pub(crate) directions: Directions,
    /// The mean delay from the senders to the receiver, without clock correction; zero if not known.
    pub(crate) delay: Nanos,
}

/// Examines the beginnings of captures if all can be read twice, from when the last one begins, and longer while
/// packets of unknown direction appear. Directions given in `asked` take precedence; otherwise they are found, where
/// points with `is_one_clock` agree about the time. Logs contain no addresses.
pub(crate) fn look(
    senders: &[PathBuf],
    receiver: &Path,
    reading: &Reading,
    asked: Directions,
    is_one_clock: bool,
    stop: &Stop,
) -> Result<Beginning> {
    if senders.iter().any(|path| !path.is_file()) || !receiver.is_file() {
        return Ok(Beginning { directions: asked, ..Beginning::default() });
    }
    let open = || {
        let points = senders.iter().map(PathBuf::as_path).chain([receiver]);
        let points = points.map(|path| Point::open(path, reading, &asked, Nanos::ZERO, stop));
        Ok::<_, anyhow::Error>(Merged::new(points.collect::<Result<_>>()?))
    };
    let mut merged = open()?;
    merged.skip()?;
    let mut pairs = merged.delays()?;
    if pairs.is_empty() {
        // Clocks disagree: perhaps all began at the same time.
        merged = open()?;
        merged.ahead = merged.beginnings_ahead();
        pairs = merged.delays()?;
    }
    if asked != Directions::Forward {
        return Ok(Beginning { delay: pairs.forward_mean(&asked), directions: asked });
    }
    let mut directions = pairs.directions(is_one_clock);
    merged.ahead = pairs.forward_mean(&directions);
    let delay = merged.ahead;
    for _ in 1..PARTS {
        if directions == Directions::Forward {
            break;
        }
        let pairs = merged.delays()?;
        let (unknown, packets) = pairs.unknown(&directions);
        if unknown * FEW <= packets {
            break;
        }
        directions.learn(&pairs.directions(is_one_clock));
    }
    Ok(Beginning { directions, delay })
}

/// The packets of all captures, merged in the order of time.
struct Merged {
    /// The receiver is the last one.
    points: Vec<Point>,
    /// How far the receiver's clock is ahead, as far as known.
    ahead: Nanos,
    /// The latest packets, at most `PACKETS`, and as many before.
    young: HashMap<PacketId, Seen>,
    old: HashMap<PacketId, Seen>,
}

/// Where a packet has been seen.
#[derive(Clone, Copy)]
enum Seen {
    Sent(Timestamp),
    Received(Timestamp),
    Both,
}

impl Merged {
    fn new(points: Vec<Point>) -> Self {
        Self { points, ahead: Nanos::ZERO, young: HashMap::new(), old: HashMap::new() }
    }

    fn is_receiver(&self, point: usize) -> bool {
        point + 1 == self.points.len()
    }

    /// By how much the receiver's first packet is later than the senders'.
    fn beginnings_ahead(&self) -> Nanos {
        let (receiver, senders) = self.points.split_last().unzip();
        let sent = senders.unwrap_or_default().iter().filter_map(Point::at).min();
        receiver.and_then(Point::at).zip(sent).map_or(Nanos::ZERO, |(received, sent)| received - sent)
    }

    /// Passes over what only some captures can hold, if clocks agree: up to when the last one begins.
    fn skip(&mut self) -> Result<()> {
        let begin = self.points.iter().filter_map(Point::at).max();
        for point in 0..self.points.len() {
            while self.points[point].at().is_some_and(|at| Some(at) < begin) {
                self.take(point)?;
            }
        }
        Ok(())
    }

    /// The delays between each pair of addresses in the next packets, without clock correction.
    fn delays(&mut self) -> Result<PairDelays> {
        let mut pairs = PairDelays::default();
        for _ in 0..PACKETS {
            let sent = |point: usize, at: Timestamp| if self.is_receiver(point) { at - self.ahead } else { at };
            let at = |(number, point): (usize, &Point)| Some((sent(number, point.at()?), number));
            let Some((_, next)) = self.points.iter().enumerate().filter_map(at).min() else { break };
            if let Some((ends, delay)) = self.take(next)? {
                pairs.add(ends, delay);
            }
        }
        Ok(pairs)
    }

    /// Takes the next packet of a point. Returns its source, destination and delay if it has been seen on both sides for
    /// the first time: of copies the first ones count.
    fn take(&mut self, point: usize) -> Result<Option<((Address, Address), Nanos)>> {
        let is_receiver = self.is_receiver(point);
        let point = &mut self.points[point];
        let Some(next) = point.peek() else { return Ok(None) };
        let (packet, at) = (next.crossing.packet, next.crossing.at);
        let ends = point.key().map(|key| (key.source, key.destination)).unwrap_or_default();
        point.advance()?;
        let (seen, delay) = match self.young.get(&packet).or_else(|| self.old.get(&packet)) {
            None if is_receiver => (Seen::Received(at), None),
            None => (Seen::Sent(at), None),
            Some(&Seen::Sent(sent)) if is_receiver => (Seen::Both, Some(at - sent)),
            Some(&Seen::Received(received)) if !is_receiver => (Seen::Both, Some(received - at)),
            Some(&seen) => (seen, None),
        };
        self.young.insert(packet, seen);
        if self.young.len() >= PACKETS {
            self.old = std::mem::take(&mut self.young);
        }
        Ok(delay.map(|delay| (ends, delay)))
    }
}
