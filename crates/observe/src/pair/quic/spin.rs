//! `quic-spin`: an edge of the spin bit → the next edge in the same direction (RFC 9000 §17.4, RFC 9312 §3.8.2).
//!
//! The client inverts the value that it last saw, the server repeats it: the bit changes once per round trip in each
//! direction, and the time between two edges that pass the point in one direction is the whole round trip, plus the
//! time that both ends wait before they send. Each edge is the response to the one before and the request for the next.
//! Hashed: the flow, the direction, the time at which the connection was learnt, the number of the edge.
//!
//! A connection is learnt from a packet with a long header and a version that has the bit: those of RFC 9000 and RFC
//! 9369, the drafts, and the experimental ones of mvfst, msquic and Telecom Italia; on any port but 53 and 123. After
//! that, every short-header packet in that UDP flow that is the first in its datagram carries the bit. A long-header
//! packet more than 30 s after the last packet of a flow begins a new connection. So does, after packets with a short
//! header, an Initial packet to a connection id that no long header of the connection had: a client chooses a random
//! one for its first packets, and then uses those that the server has chosen, in a Retry or an Initial packet (RFC 9000
//! §7.2). Each end names its own id as the source of its packets. If the destination has no id, the source's is
//! compared.
//!
//! The QUIC bit, which is set in packets of RFC 9000, may be random where RFC 9287 was negotiated, and in a client's
//! first packets if it knows the server. So it is ignored in flows that were learnt, where STUN messages are recognised
//! by their cookie (RFC 8489 §5), and is required in all others, so that other protocols are not taken for QUIC.
//!
//! **False edges.** At one point edges alternate: after an edge in one direction, the next one is in the other
//! direction. So an edge is *due* only if the other direction had one since the last in this direction; until then a
//! packet with the old value is *late* (reordered) and changes nothing. Once a connection is measured, none is due
//! within a quarter of the last period either, which is set to at most twice the one before. If only one direction is
//! seen, this second rule is the only one, and applies from the second edge on.
//!
//! **Connections that do not spin** keep one value (no edge), or set the bit at random in each packet, as RFC 9000
//! recommends to endpoints that do not take part. So each direction is a gambler who begins with 1 and bets on every
//! bit at fair odds (Shafer 2021, "Testing by betting"): if no edge is due, 15 to 1 that the value stays the same; else
//! by how often it changed so far (Krichevsky and Trofimov 1981), in the first packet for which an edge was due and in
//! later ones apart. Where bits are fair coins nobody wins: whatever is sent, lost or reordered, the chance to have
//! 256 ever is at most 1 in 256 (Ville's inequality). A connection spins if both directions have at least that and
//! there were at least four edges. Before that, edges are no responses, and no requests unless both have at least 32. A
//! packet wins up to one of the eight factors of two that this takes, a late one costs three.
//!
//! Money stays above 2⁻²⁰, so that a bad time is made up for. So the chance that a connection of n packets ever counts
//! as spinning, if one end sets the bit at random and the other follows it, is at most 2⁻⁸ + n·2⁻²⁸: 1 in 250 for up
//! to 10,000 packets. If both ends do, the chances multiply: 1 in 60,000. Money stays below 2²⁴, so that an end that
//! begins to set random bits is noticed.
//!
//! In a single direction, the bits of a client that inverts those of a random server are no coins. They change after 1,
//! 2, 3, … packets of the server, with halving probability. So there periods must also be regular: one within a quarter
//! of the last counts 1, any other −2, never below zero, and twelve are required. Irregular ones are undecided.
//!
//! **Limits.** Pauses of the application lengthen a period, as no packet carries the edge (RFC 9312 §3.8.2). A lost
//! edge (all packets of half a round trip) merges two periods. Edges can overtake those of the other direction only if
//! reordering exceeds the round trip between the point and the nearer end and, once it is measured, a quarter of the
//! period. Several connections at once in one flow look like one that does not spin. A change of the flow (migration,
//! NAT) ends the measurement; later packets, and those of connections that began before the capture, are
//! `unknown_packets`.
//!
//! **State.** 1,024 sets of 4 connections, allocated once; a new connection replaces the one in its set that has been
//! silent longest. Those replaced before the idle timeout are counted as `evicted`.

use super::{LONG, Long, QUIC, is_http, lowest};
use crate::pair::emitter::Emitter;
use crate::pair::ids::Kind;
use dwell_types::{FlowKey, Sink, hash};

/// Counts of the QUIC connections that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quic {
    /// Connections learnt: `spinning + not_spinning + undecided`.
    pub connections: u64,
    /// Those that were found to spin, and measured from then on.
    pub spinning: u64,
    /// Those whose bit never changed or changed at random.
    pub not_spinning: u64,
    /// Those with too few packets to decide, or with irregular edges in the only direction that was seen.
    pub undecided: u64,
    /// Those, among all these, that were replaced by others while more packets could still have come.
    pub evicted: u64,
    /// Packets to or from port 443 that may belong to other connections, whose beginning was not seen: those with the
    /// QUIC bit.
    pub unknown_packets: u64,
}

const SETS: usize = 1024;
const WAYS: usize = 4;
/// A flow that was silent for longer begins a new connection; this is the usual idle timeout.
const IDLE_NS: i64 = 30_000_000_000;
/// Least number of edges of a connection that spins.
const EDGES: u8 = 4;
/// Least money, in each direction, of a connection that spins: by chance it is reached with the inverse probability.
const PROOF: f32 = 256.0;
/// Least money for an edge to be a request.
const PROMISE: f32 = 32.0;
/// The least and the most money.
const MONEY: [f32; 2] = [1.0 / 1_048_576.0, PROOF * 65_536.0];
/// By what money is multiplied if no edge is due and the value is the same, or another: twice the probability of it.
const SETTLED: [f32; 2] = [2.0 * 15.0 / 16.0, 2.0 / 16.0];
/// Least score of the regularity of edges if only one direction is seen, and the highest.
const REGULAR: [u8; 2] = [12, 20];
/// Number of short-header packets after which a connection whose bit is constant or random counts as not spinning.
const ENOUGH: u8 = 16;

/// The connections.
#[derive(Debug)]
pub(in crate::pair) struct Spin {
    sets: Box<[[Connection; WAYS]; SETS]>,
    /// Counts of the connections that are no longer in the table.
    gone: Quic,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    used: bool,
    /// Hash of the flow.
    flow: u64,
    /// When it was learnt, in nanoseconds.
    born: i64,
    /// When the last packet was seen, in nanoseconds.
    last: i64,
    sides: [Side; 2],
    /// Tags of the connection ids in its long headers, the latest first: the client's first destination, the client's
    /// own, and one or two of the server. Zero if there are fewer.
    ids: [u16; 4],
    /// Edges accepted in both directions; saturates.
    edges: u8,
    /// Packets with a short header in both directions; saturates.
    packets: u8,
    /// How regular edges are while one direction is seen.
    regular: u8,
    /// Whether an edge was passed on as a request.
    measured: bool,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    seen: bool,
    value: bool,
    turn: Turn,
    /// Whether the previous edge was passed on as a request.
    asked: bool,
    /// How many packets for which an edge was due had the same value, and how many were an edge: of those that were the
    /// first after the other side's edge, and of later ones. Both are halved when one is full.
    due: [[u8; 2]; 2],
    /// What betting on its bits has made of 1.
    money: f32,
    /// Number of the last edge.
    number: u32,
    /// Time of the last edge, and the period between it and the one before, or less; in nanoseconds.
    edge: i64,
    period: i64,
}

/// Whether an edge is due in a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// It is due, and no packet was seen since.
    #[default]
    First,
    /// It is due, and packets without it were seen since.
    Later,
    /// It was accepted, and the other direction has had none since.
    Done,
}

/// What a packet with a long header tells about its connection.
#[derive(Clone, Copy, Debug)]
struct Tags {
    is_initial: bool,
    /// Of the destination and of the source; zero if it has no id, or an unknown one.
    destination: u16,
    source: u16,
}

/// An accepted edge: the words of the exchange that it answers and of the one that it requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    answers: Option<u64>,
    asks: Option<u64>,
}

impl Spin {
    pub(in crate::pair) fn new() -> Self {
        // Allocated directly on the heap: it is too large for the stack.
        let sets = vec![[Connection::default(); WAYS]; SETS].try_into();
        Self { sets: sets.unwrap_or_else(|_| unreachable!("as many as it has")), gone: Quic::default() }
    }

    pub(in crate::pair) fn observe<S: Sink>(&mut self, key: &FlowKey, payload: &[u8], to: &mut Emitter<'_, S>) {
        const SPIN: u8 = 0x20;
        let Some(&first) = payload.first() else { return };
        let (flow, side, at) = (to.flow.hash, usize::from(to.flow.sender), to.at.as_nanos());
        let has_quic_bit = first & QUIC != 0;
        if first & LONG != 0 {
            if let Some(long) = Long::read(payload) {
                self.learn(flow, at, has_quic_bit, Tags::of(&long, flow));
            }
            return;
        }
        let Some(connection) = self.set(flow).iter_mut().find(|c| c.used && c.flow == flow) else {
            self.gone.unknown_packets += u64::from(is_http(key) && has_quic_bit);
            return;
        };
        if !has_quic_bit && is_stun(payload) {
            return;
        }
        let Some(edge) = connection.short(side, first & SPIN != 0, at) else { return };
        if let Some(word) = edge.answers {
            to.own_response(Kind::Spin, word);
        }
        if let Some(word) = edge.asks {
            to.request(Kind::Spin, word, 0);
        }
    }

    /// Counts of the connections so far.
    pub(in crate::pair) fn quic(&self) -> Quic {
        let mut all = self.gone;
        for connection in self.sets.iter().flatten().filter(|c| c.used) {
            all.add(connection);
        }
        all
    }

    pub(in crate::pair) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    fn set(&mut self, flow: u64) -> &mut [Connection; WAYS] {
        &mut self.sets[hash::index((flow >> 32) as u32, SETS as u32) as usize]
    }

    /// Processes a packet with a long header; one without the QUIC bit begins no connection in an unknown flow.
    fn learn(&mut self, flow: u64, at: i64, has_quic_bit: bool, long: Tags) {
        let set = self.set(flow);
        let known = set.iter().position(|c| c.used && c.flow == flow);
        if known.is_none() && !has_quic_bit {
            return;
        }
        // A free place, or that of the connection that has been silent longest.
        let way = known.unwrap_or_else(|| lowest(set, |connection| (connection.used, connection.last)));
        let connection = &mut set[way];
        let silent = at.saturating_sub(connection.last);
        let is_foreign = connection.is_foreign(long);
        if known.is_some() && silent <= IDLE_NS && !(is_foreign && long.is_initial) {
            connection.last = at;
            if !is_foreign {
                connection.remember(long);
            }
            return;
        }
        let mut new = Connection { used: true, flow, born: at, last: at, ..Connection::default() };
        new.remember(long);
        let before = std::mem::replace(connection, new);
        if before.used {
            self.gone.add(&before);
            self.gone.evicted += u64::from(known.is_none() && silent <= IDLE_NS);
        }
    }
}

impl Tags {
    fn of(long: &Long<'_>, flow: u64) -> Self {
        let tag = |id: &[u8]| if id.is_empty() { 0 } else { (hash::bytes(flow, id) as u16).max(1) };
        let [destination, source] = [long.destination, long.source].map(|id| id.map_or(0, tag));
        Self { is_initial: long.is_initial, destination, source }
    }
}

/// Whether this is a STUN message, which may share a flow with QUIC (RFC 9443).
fn is_stun(payload: &[u8]) -> bool {
    payload.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42])
}

impl Quic {
    fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        if connection.measured {
            self.spinning += 1;
        } else if connection.packets >= ENOUGH && connection.is_still_or_random() {
            self.not_spinning += 1;
        } else {
            self.undecided += 1;
        }
    }
}

impl Connection {
    /// Whether a packet with a long header belongs to another connection.
    fn is_foreign(&self, Tags { destination, source, .. }: Tags) -> bool {
        let id = if destination == 0 { source } else { destination };
        self.packets > 0 && self.ids[0] != 0 && id != 0 && !self.ids.contains(&id)
    }

    fn remember(&mut self, long: Tags) {
        for id in [long.destination, long.source] {
            if id != 0 && !self.ids.contains(&id) {
                self.ids.rotate_right(1);
                self.ids[0] = id;
            }
        }
    }

    fn seen(&self) -> impl Iterator<Item = &Side> {
        self.sides.iter().filter(|side| side.seen)
    }

    /// Whether it spins.
    fn proven(&self) -> bool {
        self.edges >= EDGES && self.seen().all(|side| side.money >= PROOF) && self.is_regular()
    }

    /// Whether it may be shown to spin by the next edge.
    fn promising(&self) -> bool {
        self.seen().all(|side| side.money >= PROMISE) && self.is_regular()
    }

    fn is_regular(&self) -> bool {
        self.seen().count() == 2 || self.regular >= REGULAR[0]
    }

    /// Whether it seems not to spin. If one end does so alone, there is one edge.
    fn is_still_or_random(&self) -> bool {
        self.edges < 2 || self.seen().any(|side| side.money < 1.0)
    }

    /// Processes a packet with a short header.
    fn short(&mut self, way: usize, value: bool, at: i64) -> Option<Edge> {
        self.last = at;
        self.packets = self.packets.saturating_add(1);
        let both_seen = self.sides[way ^ 1].seen;
        let was_proven = self.proven();
        let side = &mut self.sides[way];
        if !side.seen {
            *side = Side { seen: true, value, money: 1.0, edge: at, ..Side::default() };
            return None;
        }
        let since = at.saturating_sub(side.edge).max(0);
        let early = side.number > 0 && since < side.period / 4;
        let settled = if both_seen { side.turn == Turn::Done || was_proven && early } else { early };
        let changed = value != side.value;
        side.bet(settled, changed);
        if settled || !changed {
            return None;
        }
        let last = side.period;
        // The time from the first packet seen to the first edge is not a period.
        side.period = match side.number {
            0 => 0,
            _ if last > 0 && (both_seen || was_proven) => since.min(last.saturating_mul(2)),
            _ => since,
        };
        side.number = side.number.wrapping_add(1);
        (side.value, side.edge, side.turn) = (value, at, Turn::Done);
        let (asked, number) = (side.asked, side.number);
        if !both_seen && last > 0 {
            let is_regular = since.min(last) >= since.max(last) / 4 * 3;
            self.regular = if is_regular { REGULAR[1].min(self.regular + 1) } else { self.regular.saturating_sub(2) };
        }
        self.sides[way ^ 1].turn = Turn::First;
        self.edges = self.edges.saturating_add(1);
        let (proven, promising) = (self.proven(), self.promising());
        self.sides[way].asked = promising;
        self.measured |= proven;
        let word = |number: u32| (self.born as u64).wrapping_add(number.into());
        Some(Edge {
            answers: (asked && proven).then(|| word(number)),
            asks: promising.then(|| word(number.wrapping_add(1))),
        })
    }
}

impl Side {
    /// Bets on the bit of a packet: `settled` if no edge is due, `changed` if its value is not that of the last edge.
    fn bet(&mut self, settled: bool, changed: bool) {
        let change = usize::from(changed);
        let factor = if settled {
            SETTLED[change]
        } else {
            let counts = &mut self.due[usize::from(self.turn == Turn::Later)];
            self.turn = Turn::Later;
            let [same, changed] = counts.map(f32::from);
            let factor = (2.0 * [same, changed][change] + 1.0) / (same + changed + 1.0);
            counts[change] += 1;
            if counts[change] == u8::MAX {
                *counts = counts.map(|count| count / 2);
            }
            factor
        };
        let [least, most] = MONEY;
        self.money = (self.money * factor).clamp(least, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::quic::VERSION_2;
    use crate::pair::tests::{Pair, flow};
    use dwell_types::{Address, ExchangeId, FlowKey, Leg, Match, Observation, protocol};
    use std::collections::HashMap;

    const LONG: [u8; 6] = [0xc3, 0, 0, 0, 1, 8];
    const MS: i64 = 1_000_000;

    fn short(spin: bool) -> [u8; 2] {
        [0x40 | u8::from(spin) << 5 | 0x03, 0x77]
    }

    fn pair() -> Pair {
        Pair::between(&[Match::QuicSpin], flow(protocol::UDP))
    }

    /// How the ends of a simulated connection set the bit.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Ends {
        Spin,
        Still,
        StillServer,
        RandomBoth,
        RandomServer,
        RandomClient,
    }

    /// A small deterministic generator: hashes of a counter.
    struct Random(u64, u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.1 += 1;
            hash::word(hash::start(self.0), self.1) % n
        }
    }

    /// A simulated connection with a round trip of 40 ms.
    #[derive(Clone, Copy, Debug)]
    struct Run {
        ends: Ends,
        /// From the client to the point, of 20 ms to the server.
        near: i64,
        /// Each end sends again after 0 to `2 · gap` ms.
        gap: i64,
        /// Packets are held back by up to this many ms before the point.
        jitter: u64,
        /// How many of a hundred packets are lost before the point, and how many after.
        lost: u64,
        packets: usize,
        /// Whose packets pass the point: the client's, the server's.
        passes: [bool; 2],
    }

    const USUAL: Run = Run { ends: Ends::Spin, near: 4, gap: 1, jitter: 0, lost: 0, packets: 4000, passes: [true; 2] };

    /// The delays between edges of a connection.
    fn connection(pair: &mut Pair, run: Run, seed: u64) -> Vec<i64> {
        let Run { ends, near, gap, jitter, lost, packets, passes } = run;
        pair.client_udp(&LONG);
        let mut random = Random(seed, 0);
        let mut next = [random.below(20) as i64 * MS, random.below(20) as i64 * MS];
        // The value that each end saw last, and the packets in flight: (arrives, from, spin).
        let mut values = [false; 2];
        let mut flying: Vec<(i64, usize, bool)> = Vec::new();
        let mut passing = Vec::new();
        let mut sent_by = [0i64; 2];
        for _ in 0..packets {
            let from = usize::from(next[1] < next[0]);
            let now = next[from];
            next[from] += 1 + random.below(2 * (gap * MS) as u64) as i64;
            flying.sort_unstable();
            for &(arrives, sender, spin) in flying.iter().filter(|f| f.0 <= now) {
                // The packet with the highest number counts: later arrivals of earlier packets do not.
                if arrives >= sent_by[sender] {
                    sent_by[sender] = arrives;
                    values[sender ^ 1] = if sender == 1 { !spin } else { spin };
                }
            }
            flying.retain(|f| f.0 > now);
            let spin = match (ends, from) {
                (Ends::Still, _) | (Ends::StillServer, 1) => false,
                (Ends::RandomBoth, _) | (Ends::RandomServer, 1) | (Ends::RandomClient, 0) => random.below(2) == 1,
                _ => values[from],
            };
            let held = random.below(jitter * MS as u64 + 1) as i64;
            let to_point = if from == 0 { near * MS } else { (20 - near) * MS };
            let [lost_before, lost_after] = [(); 2].map(|()| random.below(100) < lost);
            if !lost_before && passes[from] {
                passing.push((now + to_point + held, from, spin));
            }
            if !lost_before && !lost_after {
                flying.push((now + 20 * MS + held, from, spin));
            }
        }
        passing.sort_unstable();
        let mut measured = Measured::default();
        let start = pair.now();
        for (at, from, spin) in passing {
            pair.wait(start + at - pair.now() - MS);
            let said = if from == 0 { pair.client_udp(&short(spin)) } else { pair.server_udp(&short(spin)) };
            measured.take(&said.seen);
        }
        measured.delays
    }

    /// Delays from requests to their responses.
    #[derive(Default)]
    struct Measured {
        open: HashMap<ExchangeId, i64>,
        delays: Vec<i64>,
    }

    impl Measured {
        fn take(&mut self, seen: &[Observation]) {
            for seen in seen {
                match seen {
                    Observation::Response(s) => {
                        self.delays.extend(self.open.remove(&s.id).map(|asked| s.at.as_nanos() - asked));
                    }
                    Observation::Request(s) => assert!(self.open.insert(s.id, s.at.as_nanos()).is_none()),
                }
            }
        }
    }

    #[test]
    fn edges_are_a_round_trip_apart() {
        let mut pair = pair();
        let delays = connection(&mut pair, USUAL, 1);
        // 4,000 packets of two ends, 1 ms apart each: 2 s, 50 round trips of 40 ms and what both ends wait to send.
        assert!((85..=100).contains(&delays.len()), "{}", delays.len());
        assert!(delays.iter().all(|d| (40 * MS..=46 * MS).contains(d)), "{delays:?}");
        let quic = pair.quic();
        assert_eq!((quic.connections, quic.spinning), (1, 1));
    }

    #[test]
    fn late_packets_make_no_edges() {
        let mut pair = pair();
        // Packets 1 ms apart, held back by up to 3 ms: some are late around each edge.
        let delays = connection(&mut pair, Run { jitter: 3, ..USUAL }, 2);
        assert!(delays.len() > 80, "{}", delays.len());
        assert!(delays.iter().all(|d| (36 * MS..=56 * MS).contains(d)), "{delays:?}");
        assert_eq!(pair.quic().spinning, 1);
    }

    /// Wherever the point is, some loss and some reordering cost few of 40 to 50 round trips in each direction.
    #[test]
    fn loss_and_reordering_disqualify_nobody() {
        for (near, gap, jitter, lost) in [0, 4, 10, 20]
            .into_iter()
            .flat_map(|near| [(near, 1, 2, 1), (near, 1, 0, 5), (near, 2, 3, 3), (near, 4, 2, 5)])
        {
            let run = Run { near, gap, jitter, lost, packets: 4000 / gap as usize, ..USUAL };
            let (mut delays, mut spinning) = (Vec::new(), 0);
            for seed in 0..40 {
                let mut pair = pair();
                delays.extend(connection(&mut pair, run, seed));
                spinning += pair.quic().spinning;
            }
            let wrong = delays.iter().filter(|d| !(36 * MS..=40 * MS + 8 * gap * MS).contains(d)).count();
            println!("{run:?}: {spinning} spinning, {} delays, {wrong} far off", delays.len());
            assert_eq!(spinning, 40);
            assert!(delays.len() > 40 * 60, "{}", delays.len());
            assert!(wrong * 50 < delays.len(), "{wrong}");
        }
    }

    #[test]
    fn one_packet_per_round_trip_is_enough() {
        let mut pair = pair();
        pair.client_udp(&LONG);
        let mut measured = Measured::default();
        for round in 0..40 {
            measured.take(&pair.client_udp(&short(round % 2 == 0)).seen);
            // An edge of the server may be lost.
            if round != 25 {
                measured.take(&pair.server_udp(&short(round % 2 == 0)).seen);
            }
        }
        assert!(measured.delays.len() > 30, "{:?}", measured.delays);
        assert!(measured.delays.iter().filter(|d| **d <= 2 * MS).count() > 28, "{:?}", measured.delays);
        assert_eq!(pair.quic().spinning, 1);
    }

    #[test]
    fn ends_that_do_not_spin() {
        for ends in [Ends::Still, Ends::StillServer] {
            let mut pair = pair();
            assert_eq!(connection(&mut pair, Run { ends, packets: 200, ..USUAL }, 3), []);
            assert_eq!(pair.quic(), Quic { connections: 1, not_spinning: 1, ..Quic::default() });
        }
    }

    /// Of 5,200 connections with random bits at both ends, 0.005 are measured at most on average, and any with a chance
    /// of 0.5%. Of as many with one such end it is 5.1, and more than 23 with a chance of 10⁻⁹. One in ten at most is
    /// not recognised as random. Connections that spin fail this check.
    #[test]
    fn random_bits_are_no_delays() {
        let check = |ends, most: u64| {
            let (mut all, mut measured, mut delays, mut undecided) = (0, 0, 0, 0);
            for (near, gap, packets) in
                [(4, 10, 60), (4, 10, 100), (4, 1, 1000), (0, 10, 100), (20, 10, 100), (10, 40, 60)]
            {
                for seed in 0..if packets == 1000 { 200 } else { 1000 } {
                    let mut pair = pair();
                    delays += connection(&mut pair, Run { ends, near, gap, packets, ..USUAL }, seed).len();
                    let quic = pair.quic();
                    (all, measured) = (all + 1, measured + quic.spinning);
                    undecided += quic.undecided;
                }
            }
            println!("{ends:?}: of {all} {measured} are measured, with {delays} delays, and {undecided} undecided");
            measured <= most && delays as u64 <= 10 * most && undecided * 10 < all
        };
        assert!(check(Ends::RandomBoth, 0));
        assert!(check(Ends::RandomServer, 23) && check(Ends::RandomClient, 23));
        assert!(!check(Ends::Spin, 23));
    }

    /// Of a thousand short connections that spin, at least 990 are recognised.
    #[test]
    fn connections_of_a_hundred_packets_are_recognised() {
        let (mut found, mut delays) = (0, 0);
        for seed in 0..1000 {
            let mut pair = pair();
            delays += connection(&mut pair, Run { gap: 10, jitter: 1, packets: 100, ..USUAL }, seed).len();
            found += pair.quic().spinning;
        }
        println!("{found} spinning, {delays} delays");
        assert!(found >= 990 && delays > 4000, "{found} {delays}");
    }

    /// Whatever is due, fair coins multiply money by 16 with a chance of at most 1 in 16: of 100,000 times, six
    /// standard errors are 460. Coins that are not fair do so more often.
    #[test]
    fn nobody_wins_against_fair_coins() {
        let winners = |changes_of_8: u64| {
            let mut random = Random(11, 0);
            let winners = (0..100_000).filter(|_| {
                let mut side = Side { money: PROOF / 16.0, ..Side::default() };
                (0..100).any(|_| {
                    let (settled, changed) = (random.below(3) == 0, random.below(8) < changes_of_8);
                    if random.below(3) == 0 {
                        side.turn = Turn::First;
                    }
                    side.bet(settled, changed);
                    side.money >= PROOF
                })
            });
            winners.count()
        };
        let is_fair = |winners: usize| winners < 6250 + 460;
        println!("{} {}", winners(4), winners(3));
        assert!(is_fair(winners(4)) && !is_fair(winners(3)));
    }

    #[test]
    fn one_direction_is_enough() {
        let mut pair = pair();
        pair.server_udp(&LONG);
        let mut measured = Measured::default();
        // Ten packets per round trip of 10 ms; around each edge two packets are swapped.
        for n in 0..400usize {
            let value = |n: usize| n / 10 % 2 == 1;
            let place = match n % 10 {
                0 if n > 0 => n - 1,
                9 => n + 1,
                _ => n,
            };
            measured.take(&pair.server_udp(&short(value(place))).seen);
        }
        assert!(measured.delays.len() > 20, "{:?}", measured.delays);
        assert!(measured.delays.iter().all(|d| (8 * MS..=12 * MS).contains(d)), "{:?}", measured.delays);
    }

    /// Three packets in a row in each of 30 round trips, also if there is a pause once it is measured.
    #[test]
    fn one_direction_with_few_packets_is_enough() {
        let mut pair = pair();
        pair.server_udp(&LONG);
        let mut measured = Measured::default();
        for round in 0..30 {
            pair.wait(47 * MS + if round == 25 { 1000 * MS } else { 0 });
            for _ in 0..3 {
                measured.take(&pair.server_udp(&short(round % 2 == 1)).seen);
            }
        }
        measured.delays.retain(|d| *d != 1050 * MS);
        assert!(measured.delays.len() >= 12, "{:?}", measured.delays);
        assert!(measured.delays.iter().all(|d| *d == 50 * MS), "{:?}", measured.delays);
        assert_eq!(pair.quic(), Quic { connections: 1, spinning: 1, ..Quic::default() });
    }

    /// One direction alone of a connection that spins with little jitter, and of those that do not. The client of a
    /// random server has edges, at irregular times.
    #[test]
    fn one_direction_of_random_bits_is_not_measured() {
        let run = |ends, side: usize| {
            let (mut delays, mut spinning) = (0, 0);
            for seed in 0..300 {
                let mut pair = pair();
                let passes = [side == 0, side == 1];
                delays += connection(&mut pair, Run { ends, passes, packets: 2000, ..USUAL }, seed).len();
                spinning += pair.quic().spinning;
            }
            println!("{ends:?} {side}: {spinning} spinning, {delays} delays");
            spinning
        };
        for side in [0, 1] {
            assert!(run(Ends::Spin, side) > 290);
            for ends in [Ends::RandomBoth, Ends::RandomServer, Ends::RandomClient] {
                assert_eq!(run(ends, side), 0);
            }
        }
    }

    #[test]
    fn only_flows_that_began_with_a_long_header_count() {
        let mut pair = pair();
        for n in 0..100 {
            assert!(pair.client_udp(&short(n % 2 == 0)).seen.is_empty());
        }
        for version in [[0; 4], [0x51, 0x30, 0x34, 0x36], [0xff, 0, 0, 0x10]] {
            pair.client_udp(&[&[0xc3], &version[..], &[8]].concat());
        }
        pair.client_udp(&LONG[..4]);
        pair.client_udp(&[]);
        let unknown = Quic { unknown_packets: 100, ..Quic::default() };
        assert_eq!(pair.quic(), unknown);
        pair.client_udp(&LONG);
        pair.server_udp(&LONG);
        assert_eq!(pair.quic(), Quic { connections: 1, undecided: 1, ..unknown });
    }

    /// The delays do not depend on the QUIC bit of the packets (RFC 9287), of which half have none.
    #[test]
    fn the_quic_bit_may_be_random() {
        let measure = |greased: bool| {
            let mut random = Random(5, 0);
            let mut bytes = |mut first: u8, rest: &[u8]| {
                first &= !(u8::from(greased && random.below(2) == 1) << 6);
                [&[first], rest].concat()
            };
            let mut pair = pair();
            pair.client_udp(&LONG);
            pair.server_udp(&bytes(LONG[0], &LONG[1..]));
            let mut seen = Vec::new();
            for n in 0..200 {
                let [first, rest @ ..] = short(n / 5 % 2 == 1);
                seen.extend(pair.client_udp(&bytes(first, &rest)).seen);
                seen.extend(pair.server_udp(&bytes(first, &rest)).seen);
            }
            (seen, pair.quic())
        };
        let (seen, quic) = measure(false);
        assert!(seen.len() > 100 && quic.spinning == 1, "{quic:?}");
        assert_eq!(measure(true), (seen, quic));
    }

    #[test]
    fn without_the_quic_bit_only_known_flows_count() {
        let mut pair = pair();
        let without = |packet: &[u8]| [&[packet[0] & !0x40], &packet[1..]].concat();
        pair.client_udp(&without(&LONG));
        pair.client_udp(&without(&short(true)));
        assert_eq!(pair.quic(), Quic::default());
        pair.client_udp(&LONG);
        // A long header keeps the connection alive, and begins the next one.
        pair.wait(IDLE_NS - 2 * MS);
        pair.client_udp(&without(&LONG));
        pair.wait(IDLE_NS - 2 * MS);
        pair.client_udp(&without(&LONG));
        assert_eq!(pair.quic().connections, 1);
        pair.wait(IDLE_NS);
        pair.client_udp(&without(&LONG));
        assert_eq!(pair.quic().connections, 2);
    }

    #[test]
    fn stun_and_version_negotiation_do_not_spin() {
        let mut pair = pair();
        let stun = [&[0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42][..], &[0; 12]].concat();
        pair.client_udp(&LONG);
        for _ in 0..20 {
            for packet in [&short(true)[..], &stun, &[0x80, 0, 0, 0, 0, 8]] {
                assert!(pair.client_udp(packet).seen.is_empty());
            }
        }
        assert_eq!(pair.quic(), Quic { connections: 1, not_spinning: 1, ..Quic::default() });
    }

    #[test]
    fn requests_and_responses_are_in_the_series_of_their_direction() {
        let mut pair = Pair::inside(&[Match::QuicSpin], &["10.0.0.0/8"]);
        pair.client_udp(&LONG);
        let mut legs = HashMap::new();
        for round in 0..40 {
            for said in [pair.client_udp(&short(round % 2 == 0)), pair.server_udp(&short(round % 2 == 0))] {
                for observation in said.seen {
                    let (Observation::Request(s) | Observation::Response(s)) = observation;
                    *legs.entry(s.series.leg).or_insert(0) += 1;
                }
            }
        }
        assert_eq!(legs.len(), 2, "{legs:?}");
        assert!(legs[&Leg::Outward] > 20 && legs[&Leg::Inward] > 20);
    }

    /// The long header of a packet of this type, version 1.
    fn long(kind: u8, destination: &[u8], source: &[u8]) -> Vec<u8> {
        let lengths = [destination, source].map(|id| [id.len() as u8]);
        [&[0xc0 | kind << 4, 0, 0, 0, 1][..], &lengths[0], destination, &lengths[1], source, &[0; 20]].concat()
    }

    const INITIAL: u8 = 0;
    const ZERO_RTT: u8 = 1;
    const HANDSHAKE: u8 = 2;
    const RETRY: u8 = 3;

    /// A client's and a server's packets with long headers, and then round trips of 20 ms.
    fn converse(pair: &mut Pair, packets: &[(usize, Vec<u8>)], rounds: usize, measured: &mut Measured) {
        let mut say = |pair: &mut Pair, from: usize, bytes: &[u8]| {
            let said = if from == 0 { pair.client_udp(bytes) } else { pair.server_udp(bytes) };
            measured.take(&said.seen);
        };
        for (from, bytes) in packets {
            say(pair, *from, bytes);
        }
        for packet in 0..10 * rounds {
            for from in [0, 1] {
                say(pair, from, &short(packet / 10 % 2 == 1));
            }
        }
    }

    /// A handshake whose first destination is `first`.
    fn handshake(first: &[u8], client: &[u8], server: &[u8]) -> Vec<(usize, Vec<u8>)> {
        vec![
            (0, long(INITIAL, first, client)),
            (0, long(ZERO_RTT, first, client)),
            (1, long(INITIAL, client, server)),
            (1, long(HANDSHAKE, client, server)),
            (0, long(INITIAL, server, client)),
            (0, long(HANDSHAKE, server, client)),
        ]
    }

    /// A connection that begins seconds after another one in its flow, with or without ids of the client, or with the
    /// packets of one end only, is a new one.
    #[test]
    fn an_initial_packet_to_another_id_begins_a_connection() {
        for (client, server, ends) in [
            (&b"client"[..], &b"server"[..], &[0, 1][..]),
            (&b""[..], &b"server"[..], &[0, 1]),
            (&b"client"[..], &b""[..], &[0, 1]),
            (&b"client"[..], &b"server"[..], &[0]),
            (&b"client"[..], &b"server"[..], &[1]),
            (&b""[..], &b"server"[..], &[1]),
        ] {
            let (mut pair, mut measured) = (pair(), Measured::default());
            for n in 0..3u8 {
                let name = |name: &[u8]| if name.is_empty() { Vec::new() } else { [name, &[n]].concat() };
                let mut packets = handshake(&[b"first...", &[n][..]].concat(), &name(client), &name(server));
                packets.retain(|(from, _)| ends.contains(from));
                converse(&mut pair, &packets, 15, &mut measured);
                pair.wait(5_000 * MS);
            }
            let quic = pair.quic();
            assert_eq!((quic.connections, quic.spinning, quic.evicted), (3, 3, 0), "{client:?} {server:?} {ends:?}");
            assert!(measured.delays.len() > 3 * 16, "{}", measured.delays.len());
            assert!(measured.delays.iter().all(|d| *d < 30 * MS), "{:?}", measured.delays);
        }
    }

    /// In versions 1 and 2, whose types of packets differ, only an Initial packet begins a connection.
    #[test]
    fn only_initial_packets_begin_a_connection() {
        let in_version_2 = |mut packet: Vec<u8>| {
            packet[0] = packet[0] & 0xcf | packet[0].wrapping_add(0x10) & 0x30;
            packet[1..5].copy_from_slice(&VERSION_2.to_be_bytes());
            packet
        };
        for (version, kind) in [1, 2].into_iter().flat_map(|v| [INITIAL, ZERO_RTT, HANDSHAKE, RETRY].map(|k| (v, k))) {
            let packet = |packet| if version == 2 { in_version_2(packet) } else { packet };
            let mut pair = pair();
            pair.client_udp(&packet(long(INITIAL, b"somebody", b"client")));
            pair.client_udp(&short(false));
            // The 0-RTT packets of a connection may overtake its first one.
            pair.client_udp(&packet(long(kind, b"stranger", b"unknown")));
            assert_eq!(pair.quic().connections, if kind == INITIAL { 2 } else { 1 });
            pair.client_udp(&packet(long(INITIAL, b"stranger", b"unknown")));
            assert_eq!(pair.quic().connections, 2);
        }
    }

    /// Whatever is sent again or comes late, the connection stays the same one.
    #[test]
    fn a_handshake_may_have_gaps_and_repetitions() {
        let (first, client, server) = (&b"firstone"[..], &b"client"[..], &b"server"[..]);
        let retry = [(0, long(INITIAL, first, client)), (1, long(RETRY, client, b"retried"))];
        let mut after_retry = handshake(b"retried", client, server);
        after_retry.splice(0..0, retry);
        let negotiation = (1, [&[0x80, 0, 0, 0, 0, 8][..], &[1; 30]].concat());
        let mut other_version = long(INITIAL, first, client);
        other_version[1..5].copy_from_slice(&[0x1a, 0x2a, 0x3a, 0x4a]);
        let mut negotiated = handshake(b"another1", client, server);
        negotiated.splice(0..0, [(0, other_version), negotiation]);
        for packets in [
            handshake(first, client, server),
            handshake(first, b"", server),
            handshake(first, client, b""),
            after_retry,
            negotiated,
            // One connection cannot be told from the next one without its ids, or if they are cut off.
            handshake(first, client, server).into_iter().map(|(from, packet)| (from, packet[..7].to_vec())).collect(),
        ] {
            let expected = {
                let (mut pair, mut measured) = (pair(), Measured::default());
                converse(&mut pair, &packets, 30, &mut measured);
                assert_eq!(pair.quic(), Quic { connections: 1, spinning: 1, ..Quic::default() });
                measured.delays
            };
            assert!(expected.len() > 40, "{}", expected.len());
            // Each of these packets comes again, after some with a short header, and after many.
            for again in &packets {
                let (mut pair, mut measured) = (pair(), Measured::default());
                converse(&mut pair, &packets, 0, &mut measured);
                pair.server_udp(&short(false));
                let [late, later] = [15, 15].map(|rounds| (vec![again.clone()], rounds));
                for (packets, rounds) in [late, later] {
                    converse(&mut pair, &packets, rounds, &mut measured);
                }
                assert_eq!(pair.quic(), Quic { connections: 1, spinning: 1, ..Quic::default() }, "{again:?}");
            }
        }
    }

    #[test]
    fn the_table_is_bounded_and_counts_what_it_loses() {
        let mut spin = Spin::new();
        let before = spin.state_bytes();
        let ids = crate::pair::ids::Ids::new(3);
        let connections = (SETS * WAYS * 3) as u64;
        let mut take = |n: u64, at: i64| {
            let key = FlowKey { source: Address::v4(n as u32), ..flow(protocol::UDP) };
            let at = dwell_types::Timestamp::from_nanos(at);
            spin.observe(&key, &LONG, &mut Emitter { ids: &ids, flow: ids.flow(&key), at, sink: &mut |_| () });
        };
        for n in 0..connections {
            take(n, n as i64);
        }
        // The last connection is in the table: seen again within the idle timeout it is the same one, later a new one.
        take(connections - 1, 1_000_000);
        take(connections - 1, 1_000_001 + IDLE_NS);
        let quic = spin.quic();
        assert_eq!((quic.connections, quic.undecided), (connections + 1, connections + 1));
        assert!((connections - 4096..connections - 3900).contains(&quic.evicted), "{quic:?}");
        assert_eq!(spin.state_bytes(), before);
    }
}
