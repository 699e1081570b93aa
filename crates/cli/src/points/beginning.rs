//! What captures themselves tell before they are compared: which addresses are on which side, and the approximate delay.

use super::{Merged, Point, Reading};
use crate::doubt::FEW;
use anyhow::Result;
use dwell_capture::Input;
use dwell_capture::file::Stop;
use dwell_observe::crossing::{Bypassing, Directions, Sightings, Unreached, connection};
use dwell_report::text;
use dwell_types::{Nanos, PacketId, Timestamp};
use foldhash::HashMap;
use std::path::{Path, PathBuf};

/// Number of packets that are examined at a time.
const PACKETS: usize = 1 << 17;
/// How many times packets are examined at most.
const PARTS: usize = 1 << 6;
/// Of so many packets one may have an unknown direction in the end.
const ONE_IN: u64 = 1_000;

/// What the first packets show.
#[derive(Clone, Default)]
pub(crate) struct Beginning {
    /// The direction of packets.
    pub(crate) directions: Directions,
    /// The median delay from the senders to the receiver, without clock correction; zero if not known.
    pub(crate) delay: Nanos,
    /// How far the receiver's clock is ahead at least and at most, if both directions show that.
    ahead: Option<[Nanos; 2]>,
    /// How much longer the packets that go back took than the quickest of them.
    pub(crate) waits_back: Vec<Nanos>,
    /// Packets to addresses that none reached.
    unreached: Unreached,
    /// Packets of connections that pass one point only.
    bypassing: Bypassing,
    /// Whether the direction of packets was to be found in captures that cannot be read twice.
    is_unexamined: bool,
}

impl Beginning {
    /// Directions that were given, where nothing else is asked.
    pub(crate) fn given(directions: Directions) -> Self {
        Self { directions, ..Self::default() }
    }

    /// Examines the beginnings of captures if all can be read twice, from when the last one begins, and longer while
    /// packets of unknown direction appear. Directions given in `asked` take precedence; otherwise they are found, where
    /// points agree about the time once the receiver's clock is set back by `one_clock`, if that is known. Logs contain no
    /// addresses.
    pub(crate) fn look(
        senders: &[PathBuf],
        receiver: &Path,
        reading: &Reading,
        asked: Directions,
        one_clock: Option<Nanos>,
        stop: &Stop,
    ) -> Result<Self> {
        if senders.iter().any(|path| !Input::parse(path).is_file()) || !Input::parse(receiver).is_file() {
            let is_unexamined = asked == Directions::Forward && !reading.is_log;
            return Ok(Self { directions: asked, is_unexamined, ..Self::default() });
        }
        let is_one_clock = one_clock.is_some();
        let back = Nanos::new(-one_clock.unwrap_or_default().get());
        let open = || {
            let senders = senders.iter().map(|path| (path.as_path(), Nanos::ZERO));
            let points = senders.chain([(receiver, back)]);
            let points = points.map(|(path, shift)| Point::open(path, reading, &asked, shift, stop));
            Ok::<_, anyhow::Error>(FirstPackets::new(points.collect::<Result<_>>()?, reading.names.nat))
        };
        let mut packets = open()?;
        packets.skip()?;
        let mut first = packets.sightings()?;
        if first.is_empty() {
            // Clocks disagree: perhaps all began at the same time.
            packets = open()?;
            packets.later = packets.receiver_begins_later();
            first = packets.sightings()?;
        }
        if asked != Directions::Forward {
            return Ok(Self::of(&first, asked));
        }
        let mut found = Self::of(&first, first.directions(is_one_clock));
        packets.later = found.delay;
        packets.learn(&mut found.directions, is_one_clock)?;
        Ok(found)
    }

    /// What these packets show, given their directions.
    fn of(first: &Sightings, directions: Directions) -> Self {
        Self {
            delay: first.forward_median(&directions),
            ahead: first.ahead(&directions),
            waits_back: first.waits_back(&directions),
            unreached: first.unreached(&directions),
            bypassing: first.bypassing(&directions),
            is_unexamined: false,
            directions,
        }
    }

    /// How far the receiver's clock, from which `removed` is subtracted, is still ahead, so that packets of both points can
    /// be taken in about the order in which they passed. Zero if the clocks may agree.
    pub(crate) fn ahead(&self, removed: Nanos) -> Nanos {
        let Some(ends) = self.ahead else { return Nanos::ZERO };
        let [least, most] = ends.map(|end| end.get().saturating_sub(removed.get()));
        if least <= 0 && most >= 0 { Nanos::ZERO } else { Nanos::new(least.midpoint(most)) }
    }

    /// All warnings, where packets that do not arrive count as lost.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = String> {
        [self.unexamined(), self.unreached(), self.bypassing()].into_iter().flatten()
    }

    /// A warning if all packets were taken to go forward unseen.
    pub(crate) fn unexamined(&self) -> Option<String> {
        self.is_unexamined.then(|| {
            "a pipe cannot be examined beforehand: all packets count as going from the first capture to the last; if \
             they hold both directions, name the sender's side (--from PREFIX)"
                .to_owned()
        })
    }

    /// A warning if a packet in a hundred goes where none arrives: these may be losses, or pass another way.
    pub(crate) fn unreached(&self) -> Option<String> {
        let Unreached { packets, sent, addresses } = self.unreached;
        are_many(packets, sent).then(|| {
            format!(
                "{packets} of the first {sent} packets go to {} that none of them reached, and count as lost: if the way \
                 there does not pass both points, leave them out (tcpdump -r FILE -w - 'not dst host …')",
                text::of(addresses, "host")
            )
        })
    }

    /// A warning if a packet in a hundred belongs to connections that pass one point in both directions, and not the other.
    pub(crate) fn bypassing(&self) -> Option<String> {
        let Bypassing { packets, sent, connections } = self.bypassing;
        are_many(packets, sent).then(|| {
            format!(
                "{packets} of the first {sent} packets belong to {} that one point saw in both directions, and the other not at \
                 all; they count as lost, but rather take another way (one of several links, or to other hosts behind the same \
                 address), or are answered in between: leave them out (tcpdump -r FILE -w - 'not …')",
                text::of(connections, "connection")
            )
        })
    }
}

/// Whether a warning of these packets is due, among those that were sent.
fn are_many(packets: u64, sent: u64) -> bool {
    const SHARE: u64 = 100;
    packets >= FEW && packets * SHARE > sent
}

/// The first packets of all captures.
struct FirstPackets {
    /// The receiver is the last one.
    points: Merged,
    /// Whether addresses are translated between the points.
    nat: bool,
    /// How much later a packet passes the receiver, by its clock, as far as known.
    later: Nanos,
    /// The latest packets, at most `PACKETS`, and as many before.
    young: HashMap<PacketId, Where>,
    old: HashMap<PacketId, Where>,
}

/// Where a packet has been seen, and as one of which connection.
#[derive(Clone, Copy)]
enum Where {
    Sent(Timestamp, u64),
    Received(Timestamp, u64),
    Both,
}

/// A packet that was seen at both points.
struct Matched {
    delay: Nanos,
    connections: [u64; 2],
}

impl FirstPackets {
    fn new(points: Vec<Point>, nat: bool) -> Self {
        Self {
            points: Merged::new(points),
            nat,
            later: Nanos::ZERO,
            young: HashMap::default(),
            old: HashMap::default(),
        }
    }

    fn is_receiver(&self, point: usize) -> bool {
        point + 1 == self.points.len()
    }

    /// By how much the receiver's first packet is later than the senders'.
    fn receiver_begins_later(&self) -> Nanos {
        let mut points = self.points.iter().map(Point::at);
        let received = points.next_back().flatten();
        received.zip(points.flatten().min()).map_or(Nanos::ZERO, |(received, sent)| received - sent)
    }

    /// Passes over what only some captures can hold, if clocks agree: up to when the last one begins.
    fn skip(&mut self) -> Result<()> {
        let begin = self.points.iter().filter_map(Point::at).max();
        for point in 0..self.points.len() {
            while self.points[point].at().is_some_and(|at| Some(at) < begin) {
                self.take(point, self.connection(point))?;
            }
        }
        Ok(())
    }

    /// Looks at more packets as long as these directions do not tell which way they go, and adds what those show.
    fn learn(&mut self, directions: &mut Directions, is_one_clock: bool) -> Result<()> {
        for _ in 1..PARTS {
            if *directions == Directions::Forward {
                break;
            }
            let next = self.sightings()?;
            let (unknown, packets) = next.unknown(directions);
            if unknown * ONE_IN <= packets {
                break;
            }
            directions.learn(&next.directions(is_one_clock));
        }
        Ok(())
    }

    /// What the next packets show.
    fn sightings(&mut self) -> Result<Sightings> {
        let mut sightings = Sightings::new(self.nat);
        for _ in 0..PACKETS {
            let sent = |point: usize, at: Timestamp| if self.is_receiver(point) { at - self.later } else { at };
            let Some((at, next)) = self.points.next_by(sent) else { break };
            let ends = self.points[next].key().map(|key| (key.source, key.destination)).unwrap_or_default();
            let connection = self.connection(next);
            sightings.see(ends, connection, at, self.is_receiver(next));
            if let Some(Matched { delay, connections }) = self.take(next, connection)? {
                sightings.add(ends, at, delay);
                sightings.unite(connections);
            }
        }
        Ok(sightings)
    }

    /// The connection of the next packet of a point; zero in a log.
    fn connection(&self, point: usize) -> u64 {
        self.points[point].key().map_or(0, |key| connection(&key))
    }

    /// Takes the next packet of a point, which is of its `own` connection there. Returns its delay if it has been seen on
    /// both sides for the first time: of copies the first ones count.
    fn take(&mut self, point: usize, own: u64) -> Result<Option<Matched>> {
        let is_receiver = self.is_receiver(point);
        let Some(next) = self.points[point].peek() else { return Ok(None) };
        let (packet, at) = (next.crossing.packet, next.crossing.at);
        self.points.advance(point)?;
        let here = if is_receiver { Where::Received(at, own) } else { Where::Sent(at, own) };
        let seen = self.young.entry(packet).or_insert_with(|| self.old.get(&packet).copied().unwrap_or(here));
        let matched = match *seen {
            Where::Sent(sent, other) if is_receiver => Some(Matched { delay: at - sent, connections: [own, other] }),
            Where::Received(received, other) if !is_receiver => {
                Some(Matched { delay: received - at, connections: [own, other] })
            }
            _ => None,
        };
        if matched.is_some() {
            *seen = Where::Both;
        }
        if self.young.len() >= PACKETS {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        Ok(matched)
    }
}
