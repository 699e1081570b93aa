use crate::table::{Entry, Place, Table};
use dwell_types::{Nanos, PacketId, Timestamp, hash};
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Received(Nanos),
    /// It arrived, as all equal ones did, and nobody knows when.
    Ambiguous,
    /// Of equal ones not all arrived, and nobody knows which: they are told to have arrived in the order of sending, as
    /// many as did.
    OneOfEqual {
        /// Whether this one is told to have.
        has_arrived: bool,
    },
    /// It did not arrive.
    Lost,
    /// It did not arrive while anybody would have seen it.
    Uncovered,
}

/// A packet that was sent, when its fate is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// The packet.
    pub sent: Sent,
    /// What became of it.
    pub fate: Fate,
    /// How many packets it stands for.
    pub weight: f64,
}

/// A packet as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its id, the same at both points.
    pub packet: PacketId,
    /// When it passed the sender.
    pub at: Timestamp,
    /// Number of its flow; zero if flows are not counted.
    pub flow: u32,
    /// Length in bytes.
    pub bytes: u32,
}

/// The packets on their way.
#[derive(Clone, Debug)]
pub(super) struct Matching {
    queue: VecDeque<Queued>,
    /// Number of the packet at the front of the queue.
    front: u64,
    open: Table<Open>,
    /// Packets that may be queued.
    most: usize,
    longest: Nanos,
    /// Packets with *n* leading zeros in their hash, at least, are admitted.
    level: u32,
    start: u64,
    /// Whether a packet that left the queue had arrived.
    has_begun: bool,
    /// When one of several equal packets arrived first.
    first_equal: Option<Timestamp>,
    /// When the last packet was sent that arrived, at the earliest.
    last: Option<Timestamp>,
    has_ended: bool,
    unsent: f64,
}

#[derive(Clone, Copy, Debug)]
struct Queued {
    sent: Sent,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Sent, not seen at the receiver.
    Waiting,
    /// As many equal ones are under way as its entry in the table says.
    Shared,
    /// Sent and received.
    Received(Nanos),
    /// Received, not seen at the sender; the time is that of the receiver.
    Early,
    /// Was early, and has a place of its own as what was sent.
    Gone,
}

/// A packet that is not seen yet at both points.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    packet: u64,
    /// Number in the queue; of the first of several.
    number: u64,
    /// Packets of this id that were sent, where there were several at once.
    copies: u32,
    /// Those of them that were received; [`Open::SENT`] or [`Open::EARLY`] of a packet that is alone.
    received: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sent,
    Received,
    Shared,
}

impl Open {
    const SENT: u32 = u32::MAX;
    const EARLY: u32 = u32::MAX - 1;

    #[inline]
    fn kind(&self) -> Kind {
        match self.received {
            Self::SENT => Kind::Sent,
            Self::EARLY => Kind::Received,
            _ => Kind::Shared,
        }
    }
}

impl Entry for Open {
    #[inline]
    fn key(&self) -> u64 {
        self.packet
    }
}

const FIRST_SLOTS: usize = 1 << 10;

impl Matching {
    /// Bytes for each packet under way.
    const PACKET_BYTES: usize = size_of::<Queued>() + Table::<Open>::ENTRY_BYTES;
    /// The least memory that matches anything.
    pub(super) const LEAST_BYTES: usize = 64 * Self::PACKET_BYTES + Table::<Open>::LEAST_BYTES;

    /// Room for as many packets as fit `bytes`, or without bound.
    pub(super) fn new(bytes: Option<usize>, longest: Nanos, seed: u64) -> Self {
        let (most, slots) = match bytes {
            Some(bytes) => {
                let most = (bytes.saturating_sub(Table::<Open>::LEAST_BYTES) / Self::PACKET_BYTES).max(1);
                (most, Table::<Open>::slots_for(most))
            }
            None => (usize::MAX, usize::MAX),
        };
        Self {
            queue: VecDeque::new(),
            front: 0,
            open: Table::new(FIRST_SLOTS.min(slots), slots),
            most,
            longest,
            level: 0,
            start: hash::start(seed),
            has_begun: false,
            first_equal: None,
            last: None,
            has_ended: false,
            unsent: 0.0,
        }
    }

    #[inline]
    fn is_admitted(&self, packet: u64) -> bool {
        self.level == 0 || hash::word(self.start, packet).leading_zeros() >= self.level
    }

    /// How many packets each stands for.
    #[inline]
    pub(super) fn weight(&self) -> f64 {
        f64::from(self.level).exp2()
    }

    /// A packet was seen at the sender.
    pub(super) fn sent(&mut self, sent: Sent) {
        let id = sent.packet.0;
        if !self.is_admitted(id) {
            return;
        }
        self.make_room();
        if !self.is_admitted(id) {
            return;
        }
        let number = self.front + self.queue.len() as u64;
        let state = match self.open.find(id) {
            Place::Vacant(at) => {
                self.open.put(at, Open { packet: id, number, copies: 1, received: Open::SENT });
                State::Waiting
            }
            Place::Found(at) => match self.open.get(at).kind() {
                Kind::Received => {
                    let there = self.place(self.open.get(at).number);
                    self.open.remove(at);
                    self.queue[there].state = State::Gone;
                    self.last = self.last.max(Some(sent.at));
                    State::Received(self.queue[there].sent.at - sent.at)
                }
                Kind::Sent => {
                    let number = self.open.get(at).number;
                    let there = self.place(number);
                    self.queue[there].state = State::Shared;
                    *self.open.get_mut(at) = Open { packet: id, number, copies: 2, received: 0 };
                    State::Shared
                }
                Kind::Shared => {
                    self.open.get_mut(at).copies += 1;
                    State::Shared
                }
            },
        };
        self.queue.push_back(Queued { sent, state });
    }

    /// A packet was seen at the receiver.
    pub(super) fn received(&mut self, packet: PacketId, at: Timestamp) {
        if !self.is_admitted(packet.0) {
            return;
        }
        let Place::Found(slot) = self.open.find(packet.0) else { return self.wait_for_sender(packet, at) };
        let open = self.open.get_mut(slot);
        match open.kind() {
            Kind::Sent => {
                let there = (open.number - self.front) as usize;
                let sent = self.queue[there].sent.at;
                if at - sent > self.longest {
                    // Times that go backwards kept it.
                    self.unsent += self.weight();
                    return;
                }
                self.queue[there].state = State::Received(at - sent);
                self.open.remove(slot);
                self.last = self.last.max(Some(sent));
            }
            Kind::Shared if open.received < open.copies => {
                open.received += 1;
                self.first_equal.get_or_insert(at);
                // Those whose fates are settled arrived before.
                let first = open.number.saturating_sub(self.front) as usize;
                self.last = self.last.max(self.queue.get(first).map(|queued| queued.sent.at));
            }
            // One more than were sent.
            Kind::Shared | Kind::Received => self.unsent += self.weight(),
        }
    }

    fn wait_for_sender(&mut self, packet: PacketId, at: Timestamp) {
        self.make_room();
        if !self.is_admitted(packet.0) {
            return;
        }
        let number = self.front + self.queue.len() as u64;
        if let Place::Vacant(slot) = self.open.find(packet.0) {
            self.open.put(slot, Open { packet: packet.0, number, copies: 0, received: Open::EARLY });
        }
        self.queue.push_back(Queued { sent: Sent { packet, at, flow: 0, bytes: 0 }, state: State::Early });
    }

    /// Nothing more will be received.
    pub(super) fn end(&mut self) {
        self.has_ended = true;
    }

    fn place(&self, number: u64) -> usize {
        (number - self.front) as usize
    }

    /// Takes the first packet in the order of sending, if its fate is known at `now`; `None` when nothing more will be
    /// seen, and every fate is known, also of a packet at the end of all time.
    pub(super) fn pop(&mut self, now: Option<Timestamp>) -> Option<Passed> {
        loop {
            let &Queued { sent, state } = self.queue.front()?;
            let is_over = now.is_none_or(|now| now - sent.at > self.longest);
            let fate = match state {
                State::Received(delay) => Some(Fate::Received(delay)),
                State::Gone => None,
                State::Waiting | State::Early if !is_over => return None,
                State::Waiting => {
                    self.close(sent.packet);
                    Some(Fate::Lost)
                }
                State::Early => {
                    self.close(sent.packet);
                    self.unsent += self.weight();
                    None
                }
                State::Shared => Some(self.pop_shared(sent.packet, is_over)?),
            };
            self.queue.pop_front();
            self.front += 1;
            if let Some(fate) = fate {
                return Some(Passed { sent, fate: self.covered(fate, sent.at), weight: self.weight() });
            }
        }
    }

    /// When the first packet passed of those whose fates are not settled.
    pub(super) fn first(&self) -> Option<Timestamp> {
        self.queue.front().map(|queued| queued.sent.at)
    }

    fn close(&mut self, packet: PacketId) {
        if let Place::Found(at) = self.open.find(packet.0) {
            self.open.remove(at);
        }
    }

    /// The fate of one of several equal packets, if it is known.
    fn pop_shared(&mut self, packet: PacketId, is_over: bool) -> Option<Fate> {
        let Place::Found(at) = self.open.find(packet.0) else { return Some(Fate::Lost) };
        let open = self.open.get_mut(at);
        if open.received < open.copies && !is_over {
            return None;
        }
        let (have_all_arrived, has_arrived) = (open.received >= open.copies, open.received > 0);
        open.copies -= 1;
        open.received -= u32::from(has_arrived);
        if open.copies == 0 {
            self.open.remove(at);
        }
        Some(if have_all_arrived { Fate::Ambiguous } else { Fate::OneOfEqual { has_arrived } })
    }

    /// Nothing is lost before the first and behind the last that arrived. Where equal ones did, and not all of them,
    /// nobody knows which: whoever was sent after one had arrived would have been seen, and the last that arrived was
    /// sent no sooner than the first of them.
    fn covered(&mut self, fate: Fate, sent: Timestamp) -> Fate {
        self.has_begun |= matches!(fate, Fate::Received(_) | Fate::Ambiguous);
        self.has_begun |= self.first_equal.is_some_and(|first| first <= sent);
        let is_covered = self.has_begun && !(self.has_ended && Some(sent) > self.last);
        let is_lost = matches!(fate, Fate::Lost | Fate::OneOfEqual { has_arrived: false });
        if is_lost && !is_covered { Fate::Uncovered } else { fate }
    }

    /// Makes room for one more packet: grows, or admits half as many.
    fn make_room(&mut self) {
        if self.queue.len() == self.queue.capacity() && self.queue.len() < self.most {
            let more = self.queue.len().max(FIRST_SLOTS).min(self.most - self.queue.len());
            self.queue.reserve_exact(more);
        }
        while self.queue.len() >= self.most || self.open.is_full() && !self.open.grow() {
            self.thin();
        }
    }

    #[cold]
    fn thin(&mut self) {
        self.level += 1;
        let (start, level) = (self.start, self.level);
        let is_admitted = |packet: u64| hash::word(start, packet).leading_zeros() >= level;
        self.queue.retain(|queued| is_admitted(queued.sent.packet.0) && queued.state != State::Gone);
        self.open.rebuild(|open| is_admitted(open.packet));
        // The first of equal packets has the number, so from the last to the first.
        for (place, queued) in self.queue.iter().enumerate().rev() {
            if let State::Waiting | State::Shared | State::Early = queued.state
                && let Place::Found(at) = self.open.find(queued.sent.packet.0)
            {
                self.open.get_mut(at).number = self.front + place as u64;
            }
        }
    }

    /// Packets that were received without having been sent: estimated where not all are admitted.
    pub(super) fn unsent(&self) -> f64 {
        self.unsent
    }

    /// Whether every packet was admitted.
    pub(super) fn is_exact(&self) -> bool {
        self.level == 0
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Queued>() + self.open.bytes()
    }
}
