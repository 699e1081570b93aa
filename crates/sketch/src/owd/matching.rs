//! Matches each packet sent with its arrival.
//!
//! Packets are in a queue, in the order of sending, until their fates are known; one that arrives before it is seen at
//! the sender has a place there, too. A table says where the packets of an id are: equal ones are linked from the first
//! to the last. After a match the id's entry refers to the recent matches, by which duplicates are recognised.

use super::latest::Latest;
use crate::parts::table::{Entry, Place, Table};
use crate::reuse::Reuse;
use dwell_types::{ExchangeId, Nanos, PacketId, Timestamp, hash};
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived.
    Received(Nanos),
    /// It arrived, as did all equal ones, but it is unknown which arrival was which.
    Ambiguous,
    /// Not all of several equal packets arrived, and it is unknown which did: as many as arrived are counted as such,
    /// in the order of sending.
    OneOfEqual {
        /// Whether this one is counted as received.
        has_arrived: bool,
    },
    /// It did not arrive.
    Lost,
    /// It did not arrive, but may have passed while the receiver's capture was not running.
    Uncovered,
}

/// A packet that was sent and whose fate is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passed {
    /// The packet.
    pub sent: Sent,
    /// What became of it.
    pub fate: Fate,
    /// How many packets it stands for.
    pub weight: f64,
}

impl Passed {
    /// Counts the packet's id, if it stands for other packets, too.
    pub(super) fn count_in(&self, reuse: &mut Reuse) {
        if self.weight > 1.0 {
            reuse.see(ExchangeId(self.sent.packet.0));
        }
    }
}

/// A packet as it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its id, the same at both points.
    pub packet: PacketId,
    /// When it passed the sender.
    pub at: Timestamp,
    /// Number of its flow; zero if it has none, or if flows are not counted.
    pub flow: u32,
    /// Length in bytes.
    pub bytes: u32,
}

/// The packets in flight.
#[derive(Clone, Debug)]
pub(super) struct Matching {
    queue: VecDeque<Queued>,
    /// Number of the packet at the front of the queue. Numbers wrap around: the queue is always shorter than that.
    front: u32,
    open: Table<Open>,
    /// Capacity of the queue.
    most: usize,
    /// The last matches, in order, for as long as a duplicate may follow.
    recent: VecDeque<Recent>,
    /// Number of the first of them.
    first_recent: u32,
    /// Capacity of `recent`.
    most_recent: usize,
    longest: Nanos,
    /// How much less than by the receiver's clock the receiver's times are: delays contain it.
    ahead: Nanos,
    /// How much later than the first packet a duplicate may be.
    window: Nanos,
    /// Packets whose hash has at least this many leading zeros are admitted.
    level: u32,
    start: u64,
    /// Whether some packet that left the queue had arrived.
    has_begun: bool,
    /// Time of the first arrival among equal packets of which not all had arrived.
    first_equal: Option<Timestamp>,
    /// A lower bound on the sending time of the last packet that arrived, or would have.
    last: Option<Timestamp>,
    has_ended: bool,
    unsent: f64,
    sender_duplicates: f64,
    receiver_duplicates: f64,
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
    /// Sent while equal ones were in flight, of which not all have arrived: the table's entry says how many did.
    Shared {
        /// Distance in the queue to the next of them; 0 for the last one.
        next: u32,
    },
    /// Sent and received.
    Received(Nanos),
    /// Sent and received while equal ones were in flight.
    Arrived,
    /// Received, not seen at the sender; the time is that of arrival.
    Early {
        /// Distance in the queue to the next equal one; 0 for the last one.
        next: u32,
        /// Duplicates that followed it.
        copies: u32,
        /// Whether equal ones were already waiting to be seen at the sender.
        is_shared: bool,
    },
    /// Was early, and has been matched since: the packet sent has a place of its own in the queue.
    Gone,
}

/// A packet not yet seen at both points, or matched a moment ago.
#[derive(Clone, Copy, Debug, Default)]
struct Open {
    packet: u64,
    /// Number in the queue, of the first of several equal packets; for a match, its number in `recent`.
    first: u32,
    /// Number in the queue of the last of several equal packets.
    last: u32,
    /// Packets of this id in flight that were sent, if several are.
    copies: u32,
    /// How many of those were received, fewer than `copies`; otherwise [`Open::SENT`], [`Open::EARLY`] or
    /// [`Open::MATCHED`].
    received: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Sent,
    Shared,
    Early,
    Matched,
}

impl Open {
    const SENT: u32 = u32::MAX;
    const EARLY: u32 = u32::MAX - 1;
    const MATCHED: u32 = u32::MAX - 2;

    const fn sent(packet: u64, number: u32) -> Self {
        Self { packet, first: number, last: number, copies: 1, received: Self::SENT }
    }

    const fn early(packet: u64, number: u32) -> Self {
        Self { packet, first: number, last: number, copies: 0, received: Self::EARLY }
    }

    const fn matched(packet: u64, number: u32) -> Self {
        Self { packet, first: number, last: number, copies: 0, received: Self::MATCHED }
    }

    #[inline]
    const fn kind(&self) -> Kind {
        match self.received {
            Self::SENT => Kind::Sent,
            Self::EARLY => Kind::Early,
            Self::MATCHED => Kind::Matched,
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

/// A packet that was seen at both points.
#[derive(Clone, Copy, Debug)]
struct Recent {
    packet: u64,
    sent: Timestamp,
    received: Timestamp,
    /// Duplicates that arrived, minus those that were also seen at the sender.
    copies: u32,
    /// Where its entry was put in the table; it may have moved.
    slot: u32,
}

/// A packet is taken for a duplicate if an equal one passed the same point at most this much earlier.
pub const DUPLICATE_WINDOW: Nanos = Nanos::new(10_000_000);

const FIRST_SLOTS: usize = 1 << 10;
/// One match is remembered per this many packets in flight.
const RECENT: usize = 16;

/// Where in a queue the element with this number is, if the first one has the number `first`; numbers wrap around.
const fn index(number: u32, first: u32) -> usize {
    number.wrapping_sub(first) as usize
}

fn is_within(window: Nanos, a: Timestamp, b: Timestamp) -> bool {
    a.as_nanos().abs_diff(b.as_nanos()) <= window.get().unsigned_abs()
}

impl Matching {
    /// Bytes per packet in flight, with its share of the recent matches.
    const PACKET_BYTES: usize = size_of::<Queued>()
        + Table::<Open>::ENTRY_BYTES
        + (size_of::<Recent>() + Table::<Open>::ENTRY_BYTES).div_ceil(RECENT);
    /// The least memory with which anything is matched.
    pub(super) const LEAST_BYTES: usize = 64 * Self::PACKET_BYTES + Table::<Open>::LEAST_BYTES;

    /// Room for as many packets as fit into `bytes`; `None` for no limit.
    pub(super) fn new(bytes: Option<usize>, longest: Nanos, seed: u64) -> Self {
        let most = bytes
            .map_or(usize::MAX, |bytes| (bytes.saturating_sub(Table::<Open>::LEAST_BYTES) / Self::PACKET_BYTES).max(1));
        let most = most.min(u32::MAX as usize);
        let most_recent = (most / RECENT).max(1);
        let slots = Table::<Open>::slots_for(most + most_recent);
        Self {
            queue: VecDeque::new(),
            front: 0,
            open: Table::new(FIRST_SLOTS.min(slots), slots),
            most,
            recent: VecDeque::new(),
            first_recent: 0,
            most_recent,
            longest,
            ahead: Nanos::ZERO,
            window: DUPLICATE_WINDOW.min(longest),
            level: 0,
            start: hash::start(seed),
            has_begun: false,
            first_equal: None,
            last: None,
            has_ended: false,
            unsent: 0.0,
            sender_duplicates: 0.0,
            receiver_duplicates: 0.0,
        }
    }

    /// The receiver's times are given less `ahead`, in this direction.
    pub(super) fn set_back(&mut self, ahead: Nanos) {
        self.ahead = ahead;
    }

    #[inline]
    fn is_admitted(&self, packet: u64) -> bool {
        self.level == 0 || hash::word(self.start, packet).leading_zeros() >= self.level
    }

    /// How many packets each admitted one stands for.
    #[inline]
    pub(super) fn weight(&self) -> f64 {
        f64::from(self.level).exp2()
    }

    /// A packet was seen at the sender; `back` are the latest delays of the opposite direction, if that is measured.
    /// Returns the packet's delay if it has arrived already.
    pub(super) fn sent(&mut self, sent: Sent, back: Option<&Latest>) -> Option<Nanos> {
        let id = sent.packet.0;
        if !self.is_admitted(id) {
            return None;
        }
        self.make_room();
        // If that took a smaller sample, this packet may no longer be in it.
        if !self.is_admitted(id) {
            return None;
        }
        self.forget(sent.at);
        let state = match self.open.find(id) {
            Place::Vacant(slot) => {
                self.open.put(slot, Open::sent(id, self.number()));
                State::Waiting
            }
            Place::Found(slot) => self.sent_again(slot, sent.at, back),
        };
        self.queue.push_back(Queued { sent, state });
        if let State::Received(delay) = state { Some(delay) } else { None }
    }

    /// The state of a packet being sent now whose id has an entry in the table.
    fn sent_again(&mut self, slot: usize, at: Timestamp, back: Option<&Latest>) -> State {
        match self.open.get(slot).kind() {
            Kind::Sent | Kind::Shared => self.sent_beside(slot, at),
            Kind::Matched => self.sent_after_match(slot, at),
            Kind::Early => self.sent_after_arrival(slot, at, back),
        }
    }

    /// The same while equal packets are in flight.
    fn sent_beside(&mut self, slot: usize, at: Timestamp) -> State {
        let (number, weight) = (self.number(), self.weight());
        let open = self.open.get_mut(slot);
        let before = &mut self.queue[index(open.last, self.front)];
        before.state = State::Shared { next: number.wrapping_sub(open.last) };
        if is_within(self.window, at, before.sent.at) {
            self.sender_duplicates += weight;
        }
        if open.kind() == Kind::Sent {
            open.received = 0;
        }
        open.copies += 1;
        open.last = number;
        State::Shared { next: 0 }
    }

    /// The same after an equal packet was matched: a duplicate of that is matched with a duplicate that has arrived.
    fn sent_after_match(&mut self, slot: usize, at: Timestamp) -> State {
        let (number, weight) = (self.number(), self.weight());
        let open = self.open.get_mut(slot);
        let before = &mut self.recent[index(open.first, self.first_recent)];
        if is_within(self.window, at, before.sent) {
            self.sender_duplicates += weight;
            if before.copies > 0 {
                before.copies -= 1;
                self.count_copy(-weight);
                self.last = self.last.max(Some(at));
                return State::Arrived;
            }
        }
        *open = Open::sent(open.packet, number);
        State::Waiting
    }

    /// The same after an equal packet, probably this one, has arrived.
    fn sent_after_arrival(&mut self, slot: usize, at: Timestamp, back: Option<&Latest>) -> State {
        let (number, weight) = (self.number(), self.weight());
        let open = self.open.get_mut(slot);
        let early = &mut self.queue[index(open.first, self.front)];
        let State::Early { next, copies, is_shared } = &mut early.state else {
            // Unreachable: an early entry always points to an early place.
            *open = Open::sent(open.packet, number);
            return State::Waiting;
        };
        let (next, received) = (*next, early.sent.at);
        self.last = self.last.max(Some(at));
        if next > 0 && *copies > 0 {
            // Which of them are duplicates is unknown, unless as many are sent as arrived.
            *copies -= 1;
            *is_shared = true;
            self.count_copy(-weight);
            return State::Arrived;
        }
        let (copies, is_shared) = (*copies, *is_shared);
        early.state = State::Gone;
        if next > 0 {
            open.first = open.first.wrapping_add(next);
            return State::Arrived;
        }
        self.remember(slot, at, received, copies);
        let delay = received - at + self.ahead;
        // An earlier equal packet arrived, which was not seen at the sender.
        let is_impossible = || back.is_some_and(|back| back.excludes(delay, at));
        if is_shared || is_impossible() { State::Arrived } else { State::Received(delay) }
    }

    /// A packet was seen at the receiver; `back` are the latest delays of the opposite direction, if that is measured.
    /// Returns the packet's delay if it was seen at the sender before.
    pub(super) fn received(&mut self, packet: PacketId, at: Timestamp, back: Option<&Latest>) -> Option<Nanos> {
        if !self.is_admitted(packet.0) {
            return None;
        }
        self.forget(at);
        let Place::Found(slot) = self.open.find(packet.0) else {
            self.wait_for_sender(packet, at);
            return None;
        };
        match self.open.get(slot).kind() {
            Kind::Sent => return self.received_alone(slot, at, back),
            Kind::Shared => self.received_beside(slot, at),
            Kind::Matched | Kind::Early => match self.copies(slot, at) {
                Some(copies) => {
                    *copies = copies.saturating_add(1);
                    self.count_copy(self.weight());
                }
                None => self.wait_for_sender(packet, at),
            },
        }
        None
    }

    /// The delay of a packet that arrives, if it alone of its id is in flight and may have such a delay.
    fn received_alone(&mut self, slot: usize, at: Timestamp, back: Option<&Latest>) -> Option<Nanos> {
        let there = index(self.open.get(slot).first, self.front);
        let sent = self.queue[there].sent.at;
        let delay = at - sent;
        if delay > self.longest {
            // Overdue, but still in the queue because times went backwards.
            self.unsent += self.weight();
            return None;
        }
        let delay = delay + self.ahead;
        // Of an earlier equal packet, which was not seen at the sender.
        let is_impossible = back.is_some_and(|back| back.excludes(delay, at));
        self.queue[there].state = if is_impossible { State::Arrived } else { State::Received(delay) };
        self.last = self.last.max(Some(sent));
        self.remember(slot, sent, at, 0);
        (!is_impossible).then_some(delay)
    }

    /// Counts a packet that arrives while equal ones are in flight.
    fn received_beside(&mut self, slot: usize, at: Timestamp) {
        let open = self.open.get_mut(slot);
        open.received += 1;
        let (first, have_all_arrived) = (open.first, open.received >= open.copies);
        self.first_equal.get_or_insert(at);
        // Those whose fates are settled arrived earlier, if at all: this one was sent no earlier than `first`.
        let first = self.queue.get(index(first, self.front));
        self.last = self.last.max(first.map(|queued| queued.sent.at));
        if have_all_arrived {
            self.all_arrived(slot, at);
        }
    }

    /// The number of duplicates of a packet that has arrived, if one that arrives now is among them.
    fn copies(&mut self, slot: usize, at: Timestamp) -> Option<&mut u32> {
        let open = self.open.get(slot);
        let (copies, received) = if open.kind() == Kind::Matched {
            let before = &mut self.recent[index(open.first, self.first_recent)];
            (&mut before.copies, before.received)
        } else {
            let before = &mut self.queue[index(open.last, self.front)];
            let State::Early { copies, .. } = &mut before.state else { return None };
            (copies, before.sent.at)
        };
        is_within(self.window, at, received).then_some(copies)
    }

    /// Counts one more duplicate at the receiver; with negative weight, one fewer, since it was sent after all.
    fn count_copy(&mut self, weight: f64) {
        self.unsent += weight;
        self.receiver_duplicates += weight;
    }

    /// The last of several equal packets in flight has arrived.
    fn all_arrived(&mut self, slot: usize, at: Timestamp) {
        let mut there = index(self.open.get(slot).first, self.front);
        while let Some(queued) = self.queue.get_mut(there)
            && let State::Shared { next } = queued.state
        {
            queued.state = State::Arrived;
            if next == 0 {
                let sent = queued.sent.at;
                self.last = self.last.max(Some(sent));
                return self.remember(slot, sent, at, 0);
            }
            there += next as usize;
        }
    }

    fn wait_for_sender(&mut self, packet: PacketId, at: Timestamp) {
        self.make_room();
        if !self.is_admitted(packet.0) {
            return;
        }
        let number = self.number();
        let mut is_shared = false;
        match self.open.find(packet.0) {
            Place::Vacant(slot) => self.open.put(slot, Open::early(packet.0, number)),
            Place::Found(slot) => {
                let open = self.open.get_mut(slot);
                if open.kind() == Kind::Early {
                    if let State::Early { next, .. } = &mut self.queue[index(open.last, self.front)].state {
                        *next = number.wrapping_sub(open.last);
                    }
                    open.last = number;
                    is_shared = true;
                } else {
                    *open = Open::early(packet.0, number);
                }
            }
        }
        let state = State::Early { next: 0, copies: 0, is_shared };
        self.queue.push_back(Queued { sent: Sent { packet, at, flow: 0, bytes: 0 }, state });
    }

    /// Changes the numbers of the flows of packets in flight.
    pub(super) fn renumber(&mut self, new: impl Fn(u32) -> u32) {
        for queued in &mut self.queue {
            queued.sent.flow = new(queued.sent.flow);
        }
    }

    /// The receiver's capture has ended, at `until` if that is known: what was sent long enough before would have arrived.
    pub(super) fn end(&mut self, until: Option<Timestamp>) {
        self.has_ended = true;
        self.last = self.last.max(until.map(|until| until - self.longest));
    }

    /// The number that the next packet in the queue will get.
    fn number(&self) -> u32 {
        self.front.wrapping_add(self.queue.len() as u32)
    }

    /// Turns the entry in `slot` into that of a recent match; [`Self::forget`] has made room for it.
    fn remember(&mut self, slot: usize, sent: Timestamp, received: Timestamp, copies: u32) {
        let number = self.first_recent.wrapping_add(self.recent.len() as u32);
        let open = self.open.get_mut(slot);
        let packet = open.packet;
        *open = Open::matched(packet, number);
        if self.recent.len() == self.recent.capacity() {
            let more = self.recent.len().max(16).min(self.most_recent - self.recent.len());
            self.recent.reserve_exact(more);
        }
        self.recent.push_back(Recent { packet, sent, received, copies, slot: slot as u32 });
    }

    /// Forgets the matches too old to be followed by a duplicate, and makes room for one more.
    #[inline(always)]
    fn forget(&mut self, now: Timestamp) {
        while let Some(&Recent { packet, sent, received, slot, .. }) = self.recent.front()
            && (now - sent.max(received) > self.window || self.recent.len() >= self.most_recent)
        {
            self.forget_first(packet, slot as usize);
        }
    }

    /// Forgets the first match, whose entry was put into this slot.
    #[inline(never)]
    fn forget_first(&mut self, packet: u64, slot: usize) {
        if let Place::Found(slot) = self.open.find_from(slot, packet) {
            let open = self.open.get(slot);
            if open.kind() == Kind::Matched && open.first == self.first_recent {
                self.open.remove(slot);
            }
        }
        self.recent.pop_front();
        self.first_recent = self.first_recent.wrapping_add(1);
    }

    /// Whether there is a first packet, in the order of sending, that no longer waits at `now`. If `now` is `None`, both
    /// captures have ended: then none does, even at the end of the range of time.
    #[inline]
    pub(super) fn is_settled(&self, now: Option<Timestamp>) -> bool {
        self.queue.front().is_some_and(|&Queued { sent, state }| match state {
            State::Received(_) | State::Arrived | State::Gone => true,
            State::Waiting | State::Shared { .. } | State::Early { .. } => {
                now.is_none_or(|now| now - sent.at > self.longest)
            }
        })
    }

    /// Removes the first packet, which no longer waits; `None` if it was not seen being sent, or has another place.
    pub(super) fn pop(&mut self) -> Option<Passed> {
        let &Queued { sent, state } = self.queue.front()?;
        let fate = match state {
            State::Received(delay) => Some(Fate::Received(delay)),
            State::Arrived => Some(Fate::Ambiguous),
            State::Gone => None,
            State::Waiting => {
                self.close(sent.packet, 0);
                Some(Fate::Lost)
            }
            State::Shared { next } => Some(Fate::OneOfEqual { has_arrived: self.close(sent.packet, next) }),
            State::Early { next, is_shared, .. } => {
                self.close(sent.packet, next);
                let weight = self.weight();
                self.unsent += weight;
                self.receiver_duplicates += if is_shared { weight } else { 0.0 };
                None
            }
        };
        self.queue.pop_front();
        self.front = self.front.wrapping_add(1);
        fate.map(|fate| Passed { sent, fate: self.covered(fate, sent.at), weight: self.weight() })
    }

    /// When the first packet whose fate is not settled was sent.
    pub(super) fn first(&self) -> Option<Timestamp> {
        self.queue.front().map(|queued| queued.sent.at)
    }

    /// Removes the packet at the front of the queue from its table entry; the next equal one is `next` places behind
    /// it. Returns whether it counts as received, if not all of several equal packets were.
    fn close(&mut self, packet: PacketId, next: u32) -> bool {
        let Place::Found(slot) = self.open.find(packet.0) else { return false };
        let open = self.open.get_mut(slot);
        let has_arrived = open.kind() == Kind::Shared && open.received > 0;
        if open.kind() == Kind::Matched || open.first != self.front {
            return false;
        }
        if next == 0 {
            self.open.remove(slot);
        } else {
            open.first = open.first.wrapping_add(next);
            open.copies = open.copies.saturating_sub(1);
            open.received -= u32::from(has_arrived);
        }
        has_arrived
    }

    /// Nothing counts as lost before the first packet that arrived and after the last. Where some of several equal ones
    /// arrived, it is unknown which: any packet sent after the first of these arrivals would have been seen, and the
    /// last packet that arrived was sent no earlier than the first of them.
    fn covered(&mut self, fate: Fate, sent: Timestamp) -> Fate {
        self.has_begun |= matches!(fate, Fate::Received(_) | Fate::Ambiguous);
        self.has_begun |= self.first_equal.is_some_and(|first| first <= sent);
        let is_covered = self.has_begun && !(self.has_ended && Some(sent) > self.last);
        let is_lost = matches!(fate, Fate::Lost | Fate::OneOfEqual { has_arrived: false });
        if is_lost && !is_covered { Fate::Uncovered } else { fate }
    }

    /// Makes room for one more packet: grows, or halves the share of packets that is admitted.
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
        self.recent.retain(|recent| is_admitted(recent.packet));
        // Backwards, so that the entry ends up at the first of equal packets, and each links to the next.
        for (place, queued) in self.queue.iter_mut().enumerate().rev() {
            let next = match &mut queued.state {
                State::Waiting => &mut 0,
                State::Shared { next } | State::Early { next, .. } => next,
                State::Received(_) | State::Arrived | State::Gone => continue,
            };
            let Place::Found(slot) = self.open.find(queued.sent.packet.0) else { continue };
            let open = self.open.get_mut(slot);
            let number = self.front.wrapping_add(place as u32);
            if *next == 0 {
                open.last = number;
            } else {
                *next = open.first.wrapping_sub(number);
            }
            open.first = number;
        }
        // An entry refers to the last match of its id.
        for (place, recent) in self.recent.iter().enumerate() {
            if let Place::Found(slot) = self.open.find(recent.packet) {
                let open = self.open.get_mut(slot);
                if open.kind() == Kind::Matched {
                    open.first = self.first_recent.wrapping_add(place as u32);
                }
            }
        }
    }

    /// Packets received that were not sent: an estimate if packets were sampled.
    pub(super) fn unsent(&self) -> f64 {
        // Slightly negative if sampling began after a duplicate was counted and before it was seen at the sender.
        self.unsent.max(0.0)
    }

    /// Packets that were sent as duplicates, and those that were received as duplicates and not sent as often;
    /// estimates if packets were sampled.
    pub(super) fn duplicates(&self) -> [f64; 2] {
        [self.sender_duplicates, self.receiver_duplicates.max(0.0)]
    }

    /// Whether every packet was admitted.
    pub(super) fn is_exact(&self) -> bool {
        self.level == 0
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Queued>() + self.recent.capacity() * size_of::<Recent>() + self.open.bytes()
    }
}
