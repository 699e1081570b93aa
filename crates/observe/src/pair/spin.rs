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
//! packet more than 30 s after the last packet of a flow begins a new connection.
//!
//! The QUIC bit, which is set in packets of RFC 9000, may be random where RFC 9287 was negotiated, and in a client's
//! first packets if it knows the server. So it is ignored in flows that were learnt, where STUN messages are recognised
//! by their cookie (RFC 8489 §5), and is required in all others, so that other protocols are not taken for QUIC.
//!
//! **False edges.** At one point edges alternate: after an edge in one direction, the next one is in the other
//! direction. So an edge counts only if the other direction had one since the last in this direction; until then a
//! packet with the old value is *late* (reordered) and changes nothing. If only one direction is seen, a packet with
//! the old value is late if it is among the four after an edge, or follows the edge within an eighth of the last
//! period.
//!
//! **Connections that do not spin** keep one value (no edge), or set the bit at random in each packet, as RFC 9000
//! allows endpoints that do not take part. Then half of the packets seen while no edge is due are late. A connection
//! spins if at least four edges were accepted and, in each direction, at most a quarter of these packets are late.
//! Before that, edges are no responses; while too many packets are late, they are no requests. With one direction and
//! fewer than four packets per round trip, spinning cannot be told from chance and counts as not spinning. Chance may
//! pass for spinning for some edges: of 1,000 simulated connections of 100 packets about 2 count as spinning if both
//! ends set the bit at random, about 20 if only the server does.
//!
//! **Limits.** Pauses of the application lengthen a period, as no packet carries the edge. A lost edge (all packets of
//! half a round trip) merges two periods. Edges can overtake those of the other direction only if reordering exceeds
//! the round trip between the point and the nearer end. A change of the flow (migration, NAT) ends the measurement;
//! later packets, and those of connections that began before the capture, are `unknown_packets`.
//!
//! **State.** 1,024 sets of 4 connections, allocated once; a new connection replaces the one in its set that has been
//! silent longest. Those replaced before the idle timeout are counted as `evicted`.

use super::ids::Exchange;
use super::seen::Gather;
use dwell_types::{FlowKey, Sink, hash};

/// Counts of the QUIC connections that were seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quic {
    /// Connections learnt: `spinning + not_spinning + undecided`.
    pub connections: u64,
    /// Those that spun in the end, and are measured.
    pub spinning: u64,
    /// Those whose bit never changed or changed at random.
    pub not_spinning: u64,
    /// Those with too few packets to decide.
    pub undecided: u64,
    /// Those, among all these, that were replaced by others while more packets could still have come.
    pub evicted: u64,
    /// Packets to or from port 443 that may belong to other connections, whose beginning was not seen: those with the
    /// QUIC bit.
    pub unknown_packets: u64,
}

/// The port of HTTP/3.
pub(super) const PORT: u16 = 443;
const SETS: usize = 1024;
const WAYS: usize = 4;
/// A flow that was silent for longer begins a new connection; this is the usual idle timeout.
const IDLE_NS: i64 = 30_000_000_000;
/// Number of edges that show that a connection spins.
const PROOF: u32 = 4;
/// Number of short-header packets after which a connection that has not been shown to spin counts as not spinning.
const ENOUGH: u32 = 16;
/// Counts of settled and late packets are halved at this number, so that old ones weigh less.
const MEMORY: u16 = 256;
/// Number of packets after an edge for which no other edge is due if only one direction is seen.
const RUN: u32 = 4;

/// The connections.
#[derive(Debug)]
pub(super) struct Spin {
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
    /// Edges accepted in both directions; saturates.
    edges: u32,
    /// Packets with a short header in both directions; saturates.
    packets: u32,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    seen: bool,
    value: bool,
    /// Whether an edge was accepted and the other direction has had none since.
    waits: bool,
    /// Whether the previous edge was passed on as a request.
    asked: bool,
    /// Packets since the last edge; saturates.
    run: u32,
    /// Packets seen while no edge was due, and how many of them had the old value; below `MEMORY`.
    settled: u16,
    late: u16,
    /// Number of the last edge.
    number: u32,
    /// Time of the last edge, and the period between it and the one before, in nanoseconds.
    edge: i64,
    period: i64,
}

/// An accepted edge: the words of the exchange that it answers and of the one that it requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Edge {
    answers: Option<u64>,
    asks: Option<u64>,
}

impl Spin {
    pub(super) fn new() -> Self {
        // Allocated directly on the heap: it is too large for the stack.
        let sets = vec![[Connection::default(); WAYS]; SETS].try_into();
        Self { sets: sets.unwrap_or_else(|_| unreachable!("as many as it has")), gone: Quic::default() }
    }

    pub(super) fn observe<S: Sink>(&mut self, key: &FlowKey, payload: &[u8], to: &mut Gather<'_, S>) {
        const LONG: u8 = 0x80;
        const QUIC: u8 = 0x40;
        const SPIN: u8 = 0x20;
        let Some((&first, rest)) = payload.split_first() else { return };
        let (flow, side, at) = (to.flow.hash, to.flow.sender & 1, to.at.as_nanos());
        let has_quic_bit = first & QUIC != 0;
        if first & LONG != 0 {
            if rest.first_chunk().is_some_and(|version| spins(u32::from_be_bytes(*version))) {
                self.learn(flow, at, has_quic_bit);
            }
            return;
        }
        let Some(connection) = self.set(flow).iter_mut().find(|c| c.used && c.flow == flow) else {
            let is_http = [key.source_port, key.destination_port].contains(&PORT);
            self.gone.unknown_packets += u64::from(is_http && has_quic_bit);
            return;
        };
        if !has_quic_bit && is_stun(payload) {
            return;
        }
        let Some(edge) = connection.short(side, first & SPIN != 0, at) else { return };
        if let Some(word) = edge.answers {
            to.own_response(Exchange::Spin, word);
        }
        if let Some(word) = edge.asks {
            to.request(Exchange::Spin, word, 0);
        }
    }

    /// Counts of the connections so far.
    pub(super) fn quic(&self) -> Quic {
        let mut all = self.gone;
        for connection in self.sets.iter().flatten().filter(|c| c.used) {
            all.add(connection);
        }
        all
    }

    pub(super) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    fn set(&mut self, flow: u64) -> &mut [Connection; WAYS] {
        &mut self.sets[hash::index((flow >> 32) as u32, SETS as u32) as usize]
    }

    /// Processes a packet with a long header; one without the QUIC bit begins no connection in an unknown flow.
    fn learn(&mut self, flow: u64, at: i64, has_quic_bit: bool) {
        let set = self.set(flow);
        let known = set.iter().position(|c| c.used && c.flow == flow);
        if known.is_none() && !has_quic_bit {
            return;
        }
        let way = known.unwrap_or_else(|| oldest(set));
        let connection = &mut set[way];
        let silent = at.saturating_sub(connection.last);
        if known.is_some() && silent <= IDLE_NS {
            connection.last = at;
            return;
        }
        let before = core::mem::replace(
            connection,
            Connection { used: true, flow, born: at, last: at, ..Connection::default() },
        );
        if before.used {
            self.gone.add(&before);
            self.gone.evicted += u64::from(silent <= IDLE_NS);
        }
    }
}

/// Whether short-header packets of a QUIC version have the spin bit at the place of RFC 9000.
const fn spins(version: u32) -> bool {
    match version {
        // RFC 9000, RFC 9369, drafts 17 to 34.
        1 | 0x6b33_43cf | 0xff00_0011..=0xff00_0022 => true,
        // mvfst, msquic, Telecom Italia's experiments on measurability.
        _ => matches!(version >> 4, 0xfac_eb00 | 0xabc_d000 | 0xf0f_0f1f),
    }
}

/// Whether this is a STUN message, which may share a flow with QUIC (RFC 9443).
fn is_stun(payload: &[u8]) -> bool {
    payload.get(4..8) == Some(&[0x21, 0x12, 0xa4, 0x42])
}

/// The index of a free place in a set, or of the connection that has been silent longest.
fn oldest(set: &[Connection; WAYS]) -> usize {
    let rank = |connection: &Connection| (connection.used, connection.last);
    (1..WAYS).fold(0, |oldest, way| if rank(&set[way]) < rank(&set[oldest]) { way } else { oldest })
}

impl Quic {
    fn add(&mut self, connection: &Connection) {
        self.connections += 1;
        if connection.proven() {
            self.spinning += 1;
        } else if connection.packets >= ENOUGH {
            self.not_spinning += 1;
        } else {
            self.undecided += 1;
        }
    }
}

impl Connection {
    /// Whether late packets are as rare as in a connection that spins.
    fn believable(&self) -> bool {
        self.sides.iter().all(|side| side.late * 4 <= side.settled)
    }

    /// Whether it spins.
    fn proven(&self) -> bool {
        self.edges >= PROOF && self.believable()
    }

    /// Processes a packet with a short header.
    fn short(&mut self, way: usize, value: bool, at: i64) -> Option<Edge> {
        self.last = at;
        self.packets = self.packets.saturating_add(1);
        let both_seen = self.sides[way ^ 1].seen;
        let side = &mut self.sides[way];
        if !side.seen {
            *side = Side { seen: true, value, edge: at, ..Side::default() };
            return None;
        }
        let since = at.saturating_sub(side.edge);
        let early = side.number > 0 && (side.run < RUN || since < side.period / 8);
        let settled = if both_seen { side.waits } else { early };
        let changed = value != side.value;
        side.run = side.run.saturating_add(1);
        if settled {
            side.settle(changed);
            return None;
        }
        if !changed {
            return None;
        }
        // The time from the first packet seen to the first edge is not a period.
        side.period = if side.number == 0 { 0 } else { since };
        side.number = side.number.wrapping_add(1);
        (side.value, side.edge, side.run, side.waits) = (value, at, 0, true);
        let (asked, number) = (side.asked, side.number);
        self.sides[way ^ 1].waits = false;
        self.edges = self.edges.saturating_add(1);
        let believable = self.believable();
        self.sides[way].asked = believable;
        let word = |number: u32| (self.born as u64).wrapping_add(number.into());
        Some(Edge {
            answers: (asked && self.proven()).then(|| word(number)),
            asks: believable.then(|| word(number.wrapping_add(1))),
        })
    }
}

impl Side {
    /// Counts a packet seen while no edge was due.
    fn settle(&mut self, late: bool) {
        self.settled += 1;
        self.late += u16::from(late);
        if self.settled >= MEMORY {
            self.settled /= 2;
            self.late /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::tests::{Pair, flow};
    use dwell_types::{Address, FlowKey, Leg, Match, Observation, protocol};
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
    #[derive(Clone, Copy, PartialEq)]
    enum Ends {
        Spin,
        Still,
        RandomBoth,
        RandomServer,
    }

    /// A small deterministic generator: hashes of a counter.
    struct Random(u64, u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.1 += 1;
            hash::word(hash::start(self.0), self.1) % n
        }
    }

    /// Packets of both ends, as they pass a point 4 ms from the client and 16 ms from the server: a round trip of 40
    /// ms. Each end sends again after 0 to `2 · gap` ms. Packets are held back by up to `jitter` ms before the point.
    /// Returns the delays between edges.
    fn connection(pair: &mut Pair, ends: Ends, gap: i64, jitter: u64, packets: usize, seed: u64) -> Vec<i64> {
        pair.client_udp(&LONG);
        let mut random = Random(seed, 0);
        let mut next = [random.below(20) as i64 * MS, random.below(20) as i64 * MS];
        // The value that each end saw last, and the packets in flight: (passes the point, arrives, from, spin).
        let mut values = [false; 2];
        let mut flying: Vec<(i64, i64, usize, bool)> = Vec::new();
        let mut passing = Vec::new();
        let mut sent_by = [0i64; 2];
        for _ in 0..packets {
            let from = usize::from(next[1] < next[0]);
            let now = next[from];
            next[from] += 1 + random.below(2 * (gap * MS) as u64) as i64;
            flying.sort_unstable();
            for &(_, arrives, sender, spin) in flying.iter().filter(|f| f.1 <= now) {
                // The packet with the highest number counts: later arrivals of earlier packets do not.
                if arrives >= sent_by[sender] {
                    sent_by[sender] = arrives;
                    values[sender ^ 1] = if sender == 1 { !spin } else { spin };
                }
            }
            flying.retain(|f| f.1 > now);
            let spin = match ends {
                Ends::Spin => values[from],
                Ends::Still => false,
                Ends::RandomBoth => random.below(2) == 1,
                Ends::RandomServer if from == 1 => random.below(2) == 1,
                Ends::RandomServer => values[0],
            };
            let held = random.below(jitter * MS as u64 + 1) as i64;
            let (to_point, after) = if from == 0 { (4 * MS, 16 * MS) } else { (16 * MS, 4 * MS) };
            flying.push((now + to_point + held, now + to_point + after + held, from, spin));
            passing.push((now + to_point + held, from, spin));
        }
        passing.sort_unstable();
        let (mut open, mut delays, mut now) = (HashMap::new(), Vec::new(), 0);
        for (at, from, spin) in passing {
            pair.wait(at - now - MS);
            now = at;
            let said = if from == 0 { pair.client_udp(&short(spin)) } else { pair.server_udp(&short(spin)) };
            for seen in &said.seen {
                match seen {
                    Observation::Response(s) => delays.extend(open.remove(&s.id).map(|asked: i64| at - asked)),
                    Observation::Request(s) => assert!(open.insert(s.id, at).is_none()),
                }
            }
        }
        delays
    }

    #[test]
    fn edges_are_a_round_trip_apart() {
        let mut pair = pair();
        let delays = connection(&mut pair, Ends::Spin, 1, 0, 4000, 1);
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
        let delays = connection(&mut pair, Ends::Spin, 1, 3, 4000, 2);
        assert!(delays.len() > 80, "{}", delays.len());
        assert!(delays.iter().all(|d| (36 * MS..=56 * MS).contains(d)), "{delays:?}");
        assert_eq!(pair.quic().spinning, 1);
    }

    #[test]
    fn ends_that_do_not_spin() {
        let mut pair = pair();
        assert_eq!(connection(&mut pair, Ends::Still, 1, 0, 200, 3), []);
        assert_eq!(pair.quic(), Quic { connections: 1, not_spinning: 1, ..Quic::default() });
    }

    /// Of a thousand connections of 100 packets each with random bits from both ends or from the server alone, at most
    /// 1% and 4% count as spinning in the end, and few delays are measured before. Of a thousand that do spin, at least
    /// 990 are recognised.
    #[test]
    fn random_bits_are_recognised() {
        for (ends, spinning, delays_each) in [
            (Ends::RandomBoth, 0..=10, 0.0..1.0),
            (Ends::RandomServer, 0..=40, 0.0..3.0),
            (Ends::Spin, 990..=1000, 10.0..30.0),
        ] {
            let (mut found, mut delays) = (0, 0);
            for seed in 0..1000 {
                let mut pair = pair();
                delays += connection(&mut pair, ends, 10, 1, 100, seed).len();
                found += pair.quic().spinning;
            }
            println!("{found} spinning, {delays} delays");
            assert!(spinning.contains(&found), "{found}");
            assert!(delays_each.contains(&(f64::from(delays as u32) / 1000.0)), "{delays}");
        }
    }

    #[test]
    fn one_direction_is_enough() {
        let mut pair = pair();
        pair.server_udp(&LONG);
        let mut delays = Vec::new();
        let (mut open, mut now) = (HashMap::new(), 0);
        // Ten packets per round trip of 10 ms; around each edge two packets are swapped.
        for n in 0..400usize {
            let value = |n: usize| n / 10 % 2 == 1;
            let place = match n % 10 {
                0 if n > 0 => n - 1,
                9 => n + 1,
                _ => n,
            };
            now += MS;
            for seen in &pair.server_udp(&short(value(place))).seen {
                match seen {
                    Observation::Response(s) => delays.extend(open.remove(&s.id).map(|asked: i64| now - asked)),
                    Observation::Request(s) => assert!(open.insert(s.id, now).is_none()),
                }
            }
        }
        assert!(delays.len() > 20, "{delays:?}");
        assert!(delays.iter().all(|d| (8 * MS..=12 * MS).contains(d)), "{delays:?}");
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
        for round in 0..20 {
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

    #[test]
    fn the_table_is_bounded_and_counts_what_it_loses() {
        let mut spin = Spin::new();
        let before = spin.state_bytes();
        let ids = crate::pair::ids::Ids::new(3);
        let connections = (SETS * WAYS * 3) as u64;
        let mut take = |n: u64, at: i64| {
            let key = FlowKey { source: Address::v4(n as u32), ..flow(protocol::UDP) };
            let at = dwell_types::Timestamp::from_nanos(at);
            spin.observe(&key, &LONG, &mut Gather { ids: &ids, flow: ids.flow(&key), at, sink: &mut |_| () });
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
