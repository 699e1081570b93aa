//! One TCP connection, as seen from the observation point.
//!
//! In this model, a segment that passes the point towards an end arrives there at once, and what the end sends in
//! response is scheduled for the time when that passes the point: one round-trip time from the point to that end later.
//! So every response knows when its cause passed, and the truth needs no pairing.

use super::address::{is_v6, key};
use super::event::{Agenda, Due, Event, Passage, Segment, Side, Timer};
use super::frame::{ACK, Builder, FIN, IpHeader, PUSH, RST, SYN, TcpHeader, segment_size};
use super::truth::{Copies, Record};
use crate::chance::Chance;
use crate::distribution::rounded;
use dwell_types::{FlowKey, Leg, Match, protocol};

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;
/// How long an end waits for a second segment, or for data to send, before it acknowledges one segment.
const DELAYED_ACK: i64 = 40 * MILLISECOND;
/// Shortest retransmission timeout (Linux).
const RETRANSMIT: i64 = 200 * MILLISECOND;
/// Initial window (RFC 6928) and largest window, in segments. Even, since segments are acknowledged in pairs.
const FIRST_WINDOW: u32 = 10;
const LARGEST_WINDOW: u32 = 64;

impl Side {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The fields of a segment, except for the acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Content {
    flags: u8,
    sequence: u32,
    length: u16,
    resent: bool,
}

impl Segment {
    /// Sequence number after the segment.
    fn end(&self) -> u32 {
        let flags = u32::from(self.flags & SYN != 0) + u32::from(self.flags & FIN != 0);
        self.sequence.wrapping_add(u32::from(self.length)).wrapping_add(flags)
    }
}

/// A connection, or an attempt at one.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    index: u32,
    key: FlowKey,
    timestamps: bool,
    /// The side whose segments the point does not see, if any.
    hidden: Option<Side>,
    plan: Plan,
    ends: [End; 2],
    /// Number of scheduled segments and timers.
    pending: u32,
    /// Time between two segments sent back to back, as the bottleneck determines it.
    spacing: i64,
    /// When SYNs passed; `answered` is the one that the server accepted.
    syns: Copies,
    /// SYNs sent, not counting a copy of one that arrived.
    attempts: u32,
    accepted: bool,
    /// Whether the server's last turn has begun.
    is_last_turn: bool,
    /// Whether the server has sent its FIN first.
    is_closing: bool,
    handshake: Handshake,
    /// When the SYN-ACK passed.
    syn_ack_at: i64,
    /// Whether the point has seen the end of a turn that asks, but nothing yet that answers it.
    is_asked: bool,
}

/// Progress of the handshake, as the point sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Handshake {
    Nothing,
    Asked,
    Answered,
    Complete,
}

/// What the two sides will do.
#[derive(Clone, Copy, Debug)]
struct Plan {
    purpose: Purpose,
    /// Number of requests that follow the current one.
    rounds: u32,
    upload: bool,
    end: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Talk,
    /// A scan of a closed port, which refuses it.
    Refused,
    /// A scan that gets no response, with this many SYNs in all.
    Ignored(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Fin(Side),
    Reset,
    Silence,
}

/// The state of one end.
#[derive(Clone, Copy, Debug)]
struct End {
    /// Round-trip time from the point to here and back, without jitter.
    rtt: i64,
    /// TSval at time zero.
    clock: u32,
    identification: u16,
    /// Sequence number of the next new byte.
    next: u32,
    /// Everything before this sequence number has been acknowledged, as far as this end knows.
    acknowledged: u32,
    /// End of the data that this end may send in its turn.
    turn_end: u32,
    /// Number of segments that may be in flight.
    window: u32,
    duplicates: u32,
    /// When the last scheduled segment of this end passes.
    latest: i64,
    lost: Option<Lost>,
    /// Sequence number expected next.
    expected: u32,
    /// Passage of the segment that ends there.
    newest: Passage,
    /// End and time of passage of the last segment after a hole.
    beyond_hole: Option<(u32, i64)>,
    /// TSval to echo (TS.Recent of RFC 7323 §4.3).
    echo: u32,
    /// The last acknowledgement number sent.
    sent_acknowledgement: u32,
    /// Segments received for which no acknowledgement is scheduled.
    waiting: u32,
    /// The last acknowledgement number that the point saw.
    seen_acknowledgement: u32,
}

/// A segment that did not arrive.
#[derive(Clone, Copy, Debug)]
struct Lost {
    sequence: u32,
    length: u16,
    /// When it passed the point, if it did.
    seen: Option<i64>,
    resent: bool,
}

/// Whether sequence number `a` comes after `b`.
fn after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

impl End {
    fn new(rtt: i64, chance: &mut Chance) -> Self {
        let bits = chance.bits();
        let next = (bits >> 32) as u32;
        Self {
            rtt,
            clock: bits as u32,
            identification: chance.bits() as u16,
            next,
            acknowledged: next,
            turn_end: next,
            window: FIRST_WINDOW,
            duplicates: 0,
            latest: 0,
            lost: None,
            expected: 0,
            newest: Passage::default(),
            beyond_hole: None,
            echo: 0,
            sent_acknowledgement: 0,
            waiting: 0,
            seen_acknowledgement: 0,
        }
    }
}

impl Flow {
    /// Connection number `number`, in slot `index`; its SYN passes at `at`.
    pub(super) fn open(index: u32, number: u32, at: i64, agenda: &mut Agenda<'_>) -> Self {
        let Agenda { chance, model, .. } = agenda;
        let settings = &model.settings;
        let v6 = chance.happens(settings.v6);
        // A few servers are contacted often.
        let popularity = chance.unit();
        let server = (popularity * popularity * 4096.0) as u16;
        let scan = chance.happens(settings.scans);
        let port = match chance.below(16) {
            _ if scan => 1 + chance.below(1023) as u16,
            0 => 80,
            1 => 8443,
            _ => 443,
        };
        let purpose = match chance.below(20) {
            _ if !scan => Purpose::Talk,
            0..6 => Purpose::Refused,
            6..13 => Purpose::Ignored(1),
            _ => Purpose::Ignored(3),
        };
        let end = match chance.unit() {
            x if x < settings.resets => Ending::Reset,
            x if x < settings.resets + settings.silent => Ending::Silence,
            _ if chance.below(10) < 7 => Ending::Fin(Side::Client),
            _ => Ending::Fin(Side::Server),
        };
        let hidden = match (chance.happens(settings.one_way), chance.below(2)) {
            (false, _) => None,
            (true, 0) => Some(Side::Client),
            (true, _) => Some(Side::Server),
        };
        let rounds = if chance.below(4) == 0 { 1 + chance.below(3) } else { 0 };
        let plan = Plan { purpose, rounds, upload: chance.happens(settings.uploads), end };
        let timestamps = chance.happens(settings.timestamps);
        // 1,500 bytes at 1 Gbit/s to 16 Mbit/s.
        let spacing = (12 * MICROSECOND) << chance.below(7);
        let rtt = |delay| rounded(delay).max(10 * MICROSECOND);
        let before = rtt(model.before.draw(chance));
        let beyond = rtt(model.beyond.draw(chance));
        let mut flow = Self {
            index,
            key: key(number, server, port, v6, protocol::TCP),
            timestamps,
            hidden,
            plan,
            ends: [End::new(before, chance), End::new(beyond, chance)],
            pending: 0,
            spacing,
            syns: Copies::default(),
            attempts: 0,
            accepted: false,
            is_last_turn: false,
            is_closing: false,
            handshake: Handshake::Nothing,
            syn_ack_at: 0,
            is_asked: false,
        };
        // Until something has been acknowledged, every acknowledgement number is new.
        flow.ends[Side::Server as usize].seen_acknowledgement = flow.ends[Side::Client as usize].next;
        flow.ends[Side::Client as usize].seen_acknowledgement = flow.ends[Side::Server as usize].next;
        flow.send(Side::Client, at, SYN, 0, agenda);
        flow
    }

    /// Whether nothing is scheduled for it any more.
    pub(super) fn is_over(&self) -> bool {
        self.pending == 0
    }

    /// Builds the frame of a segment that passes.
    pub(super) fn frame(&mut self, segment: &Segment, to: &mut Builder) {
        let end = &mut self.ends[segment.from as usize];
        end.identification = end.identification.wrapping_add(1);
        let identification = end.identification;
        let from_client = segment.from == Side::Client;
        let (key, hops) = if from_client { (self.key, 63) } else { (self.key.reversed(), 57) };
        let is_refusal = self.plan.purpose == Purpose::Refused && segment.flags & RST != 0;
        let header = TcpHeader {
            sequence: segment.sequence,
            acknowledgement: segment.acknowledgement,
            flags: segment.flags,
            timestamps: (self.timestamps && !is_refusal).then_some(segment.timestamps),
            payload: segment.length,
        };
        to.tcp(&key, from_client, IpHeader { identification, hops }, &header);
    }

    /// Lets a segment pass the point; returns whether the point sees it.
    pub(super) fn pass(&mut self, at: i64, segment: &Segment, record: &mut Record, agenda: &mut Agenda<'_>) -> bool {
        self.pending -= 1;
        let from = segment.from;
        let loses = segment.length > 0
            && !segment.resent
            && self.ends[from as usize].lost.is_none()
            && agenda.chance.happens(agenda.model.settings.data_loss);
        let visible = self.hidden != Some(from) && !(loses && agenda.chance.below(2) == 0);
        if visible {
            self.take_down(at, segment, record);
        }
        if loses {
            let (sequence, length) = (segment.sequence, segment.length);
            let seen = visible.then_some(at);
            self.ends[from as usize].lost = Some(Lost { sequence, length, seen, resent: false });
            let patience = RETRANSMIT.max(3 * (self.ends[0].rtt + self.ends[1].rtt));
            self.set_timer(at + patience, from, Due::Retransmit(sequence), agenda);
        } else {
            self.arrive(at, segment, agenda);
        }
        visible
    }

    /// Carries out what an expired timer was set for.
    pub(super) fn expire(&mut self, at: i64, timer: Timer, agenda: &mut Agenda<'_>) {
        self.pending -= 1;
        match timer.what {
            Due::Acknowledge(expected) => {
                let end = &self.ends[timer.side as usize];
                if end.waiting > 0 && end.expected == expected {
                    self.send(timer.side, at, ACK, 0, agenda);
                }
            }
            Due::Retransmit(sequence) => {
                let lost = self.ends[timer.side as usize].lost;
                if lost.is_some_and(|lost| lost.sequence == sequence && !lost.resent) {
                    self.retransmit(timer.side, at, agenda);
                }
            }
        }
    }

    // Recording the truth.

    /// Records the requests and exchanges of a segment that the point sees.
    fn take_down(&mut self, at: i64, segment: &Segment, record: &mut Record) {
        let from = segment.from;
        let both = self.hidden.is_none();
        let is_syn = segment.flags & (SYN | ACK) == SYN;
        if segment.flags & ACK != 0 {
            let end = &mut self.ends[from as usize];
            if after(segment.acknowledgement, end.seen_acknowledgement) {
                end.seen_acknowledgement = segment.acknowledgement;
                let Passage { at: answered, first } = segment.answered;
                // Only a SYN may pass again after the copy that is answered.
                let of_syn = from == Side::Server && self.handshake <= Handshake::Asked;
                let request = if of_syn { self.syns } else { Copies { answered, first, last: answered } };
                if both {
                    record.exchange(Match::TcpAck, Leg::Both, at, request);
                }
            }
        }
        if is_syn {
            let asked_before = self.handshake == Handshake::Asked;
            record.truth.beyond.request(asked_before);
            record.truth.sum.request(self.handshake != Handshake::Nothing);
            record.truth.ack.request(asked_before);
            if self.handshake == Handshake::Nothing {
                self.syns.first = at;
                self.handshake = Handshake::Asked;
            }
            self.syns.last = at;
        } else if segment.flags & SYN != 0 {
            record.truth.before.request(false);
            record.truth.ack.request(false);
            if both {
                record.exchange(Match::TcpHandshake, Leg::Beyond, at, self.syns);
            }
            self.handshake = Handshake::Answered;
            self.syn_ack_at = at;
        } else if segment.length > 0 || segment.flags & FIN != 0 {
            let lost = self.ends[from as usize].lost;
            record.truth.ack.request(segment.resent && lost.is_some_and(|lost| lost.seen.is_some()));
        }
        let completes = from == Side::Client && !is_syn && segment.flags & RST == 0;
        if completes && self.handshake < Handshake::Complete {
            self.handshake = Handshake::Complete;
            if both {
                record.exchange(Match::TcpHandshake, Leg::Before, at, Copies::one(self.syn_ack_at));
            }
            record.exchange(Match::TcpHandshake, Leg::Sum, at, self.syns);
        }
        if segment.length > 0 {
            self.take_down_turn(at, segment, record);
        }
    }

    /// Records where turns end and begin. A turn answers if its first segment passes and the other end still expects that. A
    /// retransmission has no PSH, so it asks nothing; it answers if the point has not seen the first copy.
    fn take_down_turn(&mut self, at: i64, segment: &Segment, record: &mut Record) {
        if self.asks(segment.from) {
            if segment.flags & PUSH != 0 {
                self.is_asked = true;
                record.truth.response.request(false);
            }
        } else if self.is_asked && segment.sequence == self.ends[segment.from.other() as usize].expected {
            self.is_asked = false;
            record.exchange(Match::TcpResponse, Leg::Both, at, Copies::one(segment.answered.first));
        }
    }

    /// Whether an observer takes this side for the one that asks: the client, but if it sees no SYN-ACK that with the higher port.
    fn asks(&self, side: Side) -> bool {
        side == Side::Client && (self.hidden != Some(Side::Server) || self.key.is_to_server())
    }

    // Behaviour of the ends.

    /// A segment arrives at the other end.
    fn arrive(&mut self, at: i64, segment: &Segment, agenda: &mut Agenda<'_>) {
        let to = segment.from.other();
        let jitter = 1.0 + agenda.model.settings.jitter * agenda.chance.exponential();
        let back = at + (self.ends[to as usize].rtt as f64 * jitter) as i64;
        if segment.flags & RST != 0 {
            return;
        }
        if segment.flags & SYN != 0 {
            match segment.from {
                Side::Client => self.arrive_syn(at, back, segment, agenda),
                Side::Server => self.arrive_syn_ack(at, back, segment, agenda),
            }
            return;
        }
        self.acknowledge(to, back, segment, agenda);
        if segment.flags & FIN != 0 {
            self.receive(to, at, segment);
            self.arrive_fin(to, back, agenda);
        } else if segment.length > 0 {
            self.arrive_data(to, at, back, segment, agenda);
        }
    }

    /// A SYN arrives at the server, unless it is lost beyond the point.
    fn arrive_syn(&mut self, at: i64, back: i64, segment: &Segment, agenda: &mut Agenda<'_>) {
        // A copy of a SYN that was not lost: see below.
        if self.accepted {
            return;
        }
        self.attempts += 1;
        let again = at + (SECOND << (self.attempts - 1));
        let copy = Content { flags: SYN, sequence: segment.sequence, length: 0, resent: true };
        let lost = match self.plan.purpose {
            Purpose::Talk => self.attempts < 3 && agenda.chance.happens(agenda.model.settings.syn_loss),
            Purpose::Refused => false,
            Purpose::Ignored(count) if self.attempts < count => true,
            Purpose::Ignored(_) => return,
        };
        if lost {
            self.schedule(Side::Client, again, copy, agenda);
            return;
        }
        self.accepted = true;
        self.syns.answered = at;
        self.receive(Side::Server, at, segment);
        if self.plan.purpose == Purpose::Refused {
            self.ends[Side::Server as usize].next = 0;
            self.send(Side::Server, back, RST | ACK, 0, agenda);
            return;
        }
        self.send(Side::Server, back, SYN | ACK, 0, agenda);
        let server = &mut self.ends[Side::Server as usize];
        server.acknowledged = server.next;
        // The client times out before the SYN-ACK reaches it and sends a copy, which is lost beyond the point.
        if self.attempts == 1 && back + self.ends[Side::Client as usize].rtt > again {
            self.schedule(Side::Client, again, copy, agenda);
        }
    }

    /// A SYN-ACK arrives at the client.
    fn arrive_syn_ack(&mut self, at: i64, back: i64, segment: &Segment, agenda: &mut Agenda<'_>) {
        self.receive(Side::Client, at, segment);
        self.send(Side::Client, back, ACK, 0, agenda);
        self.ends[Side::Client as usize].acknowledged = segment.acknowledgement;
        self.start_turn(Side::Client, back + 50 * MICROSECOND, agenda);
    }

    fn arrive_fin(&mut self, to: Side, back: i64, agenda: &mut Agenda<'_>) {
        match self.plan.end {
            // The response to this side's own FIN.
            Ending::Fin(first) if first == to => self.send(to, back, ACK, 0, agenda),
            Ending::Fin(Side::Server) => {
                self.send(to, back, ACK, 0, agenda);
                self.send(to, back + 100 * MICROSECOND, FIN | ACK, 0, agenda);
            }
            _ => self.send(to, back, FIN | ACK, 0, agenda),
        }
    }

    /// Data arrives: acknowledge every second segment, and let the application act when the other side's turn is over.
    fn arrive_data(&mut self, to: Side, at: i64, back: i64, segment: &Segment, agenda: &mut Agenda<'_>) {
        let in_order = self.receive(to, at, segment);
        let (end, peer) = (&self.ends[to as usize], &self.ends[to.other() as usize]);
        let over = end.expected == peer.turn_end;
        if !in_order || end.waiting >= 2 {
            self.send(to, back, ACK, 0, agenda);
        } else if !over && end.expected == peer.next {
            // No further segment is in flight that would be the second.
            self.set_timer(back + DELAYED_ACK, to, Due::Acknowledge(end.expected), agenda);
        }
        if over {
            self.react(to, back, agenda);
        }
    }

    /// Receives a segment; returns false if an earlier one is missing or was missing until now.
    fn receive(&mut self, to: Side, at: i64, segment: &Segment) -> bool {
        let peer = &mut self.ends[to.other() as usize];
        let repairs = peer.lost.filter(|lost| segment.resent && lost.sequence == segment.sequence);
        if repairs.is_some() {
            peer.lost = None;
        }
        let end = &mut self.ends[to as usize];
        let is_first = segment.flags & SYN != 0;
        if is_first || !after(segment.sequence, end.sent_acknowledgement) {
            end.echo = segment.timestamps.0;
        }
        if !is_first && segment.sequence != end.expected {
            end.beyond_hole = Some((segment.end(), at));
            return false;
        }
        let first = repairs.and_then(|lost| lost.seen).unwrap_or(at);
        end.expected = segment.end();
        end.newest = Passage { at, first };
        end.waiting += 1;
        if let Some((beyond, at)) = end.beyond_hole.take() {
            end.expected = beyond;
            end.newest = Passage { at, first: at };
        }
        repairs.is_none()
    }

    /// Processes an acknowledgement number at an end.
    fn acknowledge(&mut self, to: Side, back: i64, segment: &Segment, agenda: &mut Agenda<'_>) {
        let size = self.segment_size();
        let end = &mut self.ends[to as usize];
        let news = segment.acknowledgement.wrapping_sub(end.acknowledged);
        if news as i32 > 0 {
            end.acknowledged = segment.acknowledgement;
            end.duplicates = 0;
            if end.lost.is_none() {
                end.window = (end.window + news.div_ceil(size)).min(LARGEST_WINDOW);
            }
            self.release(to, back, agenda);
            if to == Side::Server && self.is_last_turn && !self.is_closing {
                self.close_from_server(back, agenda);
            }
        } else if segment.length == 0
            && end.lost.is_some_and(|lost| !lost.resent && lost.sequence == segment.acknowledgement)
        {
            end.duplicates += 1;
            if end.duplicates == 3 {
                end.window = (end.window / 4 * 2).max(2);
                self.retransmit(to, back, agenda);
            }
        }
    }

    /// Lets the server close, if it is to close first, once all data that it had to send is acknowledged.
    fn close_from_server(&mut self, back: i64, agenda: &mut Agenda<'_>) {
        let end = &self.ends[Side::Server as usize];
        if self.plan.end == Ending::Fin(Side::Server) && end.acknowledged == end.turn_end {
            self.is_closing = true;
            self.send(Side::Server, back + MILLISECOND, FIN | ACK, 0, agenda);
        }
    }

    /// The turn of the other side is over: the application of this side acts.
    fn react(&mut self, side: Side, back: i64, agenda: &mut Agenda<'_>) {
        let pause = rounded(agenda.model.pause.draw(agenda.chance));
        let goes_on = side == Side::Server || self.plan.rounds > 0;
        let speaks = goes_on || self.plan.end == Ending::Fin(Side::Client);
        // Data sent before the delayed acknowledgement is due carries it.
        if self.ends[side as usize].waiting > 0 && !(speaks && pause <= DELAYED_ACK) {
            self.send(side, back + DELAYED_ACK, ACK, 0, agenda);
        }
        if goes_on {
            self.plan.rounds -= u32::from(side == Side::Client);
            self.is_last_turn = side == Side::Server && self.plan.rounds == 0;
            self.start_turn(side, back + pause, agenda);
            return;
        }
        match self.plan.end {
            Ending::Fin(Side::Client) => self.send(side, back + pause, FIN | ACK, 0, agenda),
            Ending::Reset => self.send(side, back + DELAYED_ACK + pause, RST | ACK, 0, agenda),
            Ending::Fin(Side::Server) | Ending::Silence => {}
        }
    }

    // Sending.

    fn segment_size(&self) -> u32 {
        segment_size(is_v6(&self.key), self.timestamps).into()
    }

    /// Gives a side data to send, and sends as much as its window allows.
    fn start_turn(&mut self, side: Side, at: i64, agenda: &mut Agenda<'_>) {
        let size = self.segment_size();
        let bulk = (side == Side::Client) == self.plan.upload;
        let whole = match bulk {
            true => (agenda.model.sizes.draw(agenda.chance) as u32).min(agenda.model.settings.sizes.most) - 1,
            false => u32::from(agenda.chance.below(8) == 0),
        };
        let bytes = whole * size + 1 + agenda.chance.below(size);
        let end = &mut self.ends[side as usize];
        end.turn_end = end.next.wrapping_add(bytes);
        self.release(side, at, agenda);
    }

    /// Sends new data as far as the window allows.
    fn release(&mut self, side: Side, mut at: i64, agenda: &mut Agenda<'_>) {
        let size = self.segment_size();
        loop {
            let end = &self.ends[side as usize];
            let left = end.turn_end.wrapping_sub(end.next);
            let under_way = end.next.wrapping_sub(end.acknowledged).div_ceil(size);
            if left == 0 || left > i32::MAX as u32 || under_way >= end.window {
                return;
            }
            let length = left.min(size);
            let flags = if length == left { ACK | PUSH } else { ACK };
            self.send(side, at, flags, length as u16, agenda);
            at += self.spacing;
        }
    }

    fn retransmit(&mut self, side: Side, at: i64, agenda: &mut Agenda<'_>) {
        if let Some(lost) = &mut self.ends[side as usize].lost {
            lost.resent = true;
            let Lost { sequence, length, .. } = *lost;
            self.schedule(side, at, Content { flags: ACK, sequence, length, resent: true }, agenda);
        }
    }

    /// Sends the next segment of a side.
    fn send(&mut self, side: Side, at: i64, flags: u8, length: u16, agenda: &mut Agenda<'_>) {
        let end = &mut self.ends[side as usize];
        let sequence = end.next;
        let marks = u32::from(flags & (SYN | FIN) != 0);
        end.next = sequence.wrapping_add(u32::from(length)).wrapping_add(marks);
        if marks > 0 {
            end.turn_end = end.next;
        }
        self.schedule(side, at, Content { flags, sequence, length, resent: false }, agenda);
    }

    /// Schedules a segment, after all others of its direction.
    fn schedule(&mut self, side: Side, at: i64, content: Content, agenda: &mut Agenda<'_>) {
        let Content { flags, sequence, length, resent } = content;
        let end = &mut self.ends[side as usize];
        let at = at.max(end.latest + MICROSECOND);
        end.latest = at;
        end.sent_acknowledgement = end.expected;
        end.waiting = 0;
        let ticks = (at - end.rtt / 2).div_euclid(MILLISECOND) as u32;
        let acknowledges = flags & ACK != 0;
        let segment = Segment {
            flow: self.index,
            from: side,
            flags,
            resent,
            length,
            sequence,
            acknowledgement: if acknowledges { end.expected } else { 0 },
            timestamps: (end.clock.wrapping_add(ticks), if acknowledges { end.echo } else { 0 }),
            answered: end.newest,
        };
        self.pending += 1;
        agenda.events.push(at, Event::Segment(segment));
    }

    fn set_timer(&mut self, at: i64, side: Side, what: Due, agenda: &mut Agenda<'_>) {
        self.pending += 1;
        agenda.events.push(at, Event::Timer(Timer { flow: self.index, side, what }));
    }
}
