//! `quic-handshake`: three exchanges, as of TCP's handshake.
//!
//! - *beyond* the point: the client's first Initial packet → the server's first packet, which may be a Retry.
//! - *before* the point: the server's first packet that asks for an answer → the client's next packet to the id that the
//!   server has chosen. A server may acknowledge first and say hello later; only the latter is answered. Acknowledgements
//!   are told by their size.
//! - the *sum*: from the first to the last of these three.
//!
//! Both ends answer at once: acknowledgements of Initial packets are not delayed (RFC 9000 §13.2.1). What a server
//! computes before its first packet is part of *beyond*.
//!
//! Each end names its own connection id as the source of its packets, and that of the other end as the destination; the
//! client's first packets go to a random id of at least 8 bytes (RFC 9000 §7.2). So a handshake is named by its flow and
//! the client's id, and the server's packets are those to that id. The client's next packet is the first one to the
//! server's id.
//!
//! **Repeats.** What is sent again has another packet number, in a part of the packet that is protected. A client's
//! hello may take several datagrams, as a server's does: Initial packets within 10 ms of the one before, with none of
//! another kind between them, are one request; later ones repeat it, so that the answer may be to either. A Retry is
//! named by its id: which of several the client follows is known.
//!
//! **Limits.** A handshake of which the first packets are not in the capture, or that continues after it was evicted, is
//! passed over if the server's port is 443 or its ids have less than 8 bytes; otherwise its server is taken for a client.
//! A client that sends a packet to the server's id while the server's first one is on its way, as after an acknowledgement
//! alone, seems to answer it. A server may pad acknowledgements to the size of a hello. Of versions, those of RFC 9000 and
//! 9369 and drafts 22 to 34 are measured.
//!
//! **State.** Sets of 4 handshakes, allocated once. A new one replaces one in its set that is complete, or else the one that
//! has been silent longest; that is counted if it may still have been answered. Then those answered late are missing most.

use super::{Long, PORT, QUIC, lowest};
use crate::pair::emitter::Emitter;
use crate::pair::ids::{self, Kind};
use dwell_types::{FlowKey, Sink, hash};

const WAYS: usize = 4;
/// The least length of an id that a client chooses for the server.
const LEAST_CHOSEN: usize = 8;
/// A client's id of so many bytes is not that of another connection.
const LEAST_UNIQUE: usize = 4;
/// The least length of an Initial packet with a hello: acknowledgements alone have 22 to 40, hellos 80 and more.
const LEAST_ASKING: u64 = 64;
/// Initial packets with no longer pause between them are one request.
const FLIGHT_NS: i64 = 10_000_000;
/// After so much silence hardly any answer is expected: clients send again.
const PATIENCE_NS: i64 = 1_000_000_000;

/// The handshakes under way.
#[derive(Debug)]
pub(in crate::pair) struct Handshakes {
    sets: Box<[[Handshake; WAYS]]>,
    evicted: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Handshake {
    /// Half of the hash of the flow, the client's side and the client's id; the other half names the set. Zero in a place
    /// that was never used.
    name: u32,
    /// Distinguishes it from others of that name.
    word: u32,
    /// When the packet was seen whose answer is awaited, or another of its flight; in nanoseconds.
    last: i64,
    /// Tags of the ids to which the client sends: the one that it chose, and the server's first and latest.
    chosen: u16,
    server: [u16; 2],
    stage: Stage,
    /// Whether another packet has followed the request that is open, so that the next one is none of its flight.
    is_flight_over: bool,
}

/// What was seen last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// All of it, or nothing.
    #[default]
    Complete,
    /// The client's request.
    Asked,
    /// The server's answer, which is not to be answered.
    Answered,
    /// The server's request.
    AskedBack,
}

/// A packet with a long header, the first of its datagram.
#[derive(Clone, Copy)]
struct Packet<'a> {
    is_initial: bool,
    /// Whether it is long enough for a hello, or a Retry: the other end answers it.
    asks: bool,
    destination: &'a [u8],
    source: &'a [u8],
}

impl<'a> Packet<'a> {
    fn read(payload: &'a [u8]) -> Option<Self> {
        let long = Long::read(payload)?;
        let Long { is_initial, is_retry, destination, source, .. } = long;
        // One whose length is cut off is taken for a hello.
        let asks = is_retry || is_initial && long.length().is_none_or(|length| length >= LEAST_ASKING);
        Some(Self { is_initial, asks, destination: destination?, source: source? })
    }

    /// Whether it may be a client's first.
    fn may_begin(&self) -> bool {
        self.is_initial && self.asks && self.destination.len() >= LEAST_CHOSEN
    }
}

impl Handshakes {
    /// As many as fit into `bytes`, at least one set.
    pub(in crate::pair) fn within(bytes: usize) -> Self {
        let sets = (bytes / size_of::<[Handshake; WAYS]>()).clamp(1, u32::MAX as usize);
        Self { sets: vec![[Handshake::default(); WAYS]; sets].into(), evicted: 0 }
    }

    /// How many were evicted while more packets could still have come.
    pub(in crate::pair) const fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(in crate::pair) fn state_bytes(&self) -> usize {
        size_of_val(&*self.sets)
    }

    /// Passes on what a datagram asks and answers.
    pub(in crate::pair) fn observe<S: Sink>(&mut self, key: &FlowKey, payload: &[u8], to: &mut Emitter<'_, S>) {
        let Some(packet) = Packet::read(payload) else { return };
        let client = name(to.flow.hash, to.flow.sender, packet.source);
        if let Some(handshake) = self.find(client) {
            let is_unique = packet.source.len() >= LEAST_UNIQUE;
            if packet.may_begin() && !is_unique && !handshake.has_sent_to(packet.destination) {
                *handshake = Handshake::new(client, packet, to);
            } else {
                handshake.client(packet, to);
            }
        } else if let Some(handshake) = self.find(name(to.flow.hash, to.flow.receiver, packet.destination)) {
            handshake.server(packet, to);
        } else if packet.may_begin() && payload[0] & QUIC != 0 && key.source_port != PORT {
            *self.place(client, to.at.as_nanos()) = Handshake::new(client, packet, to);
        }
    }

    fn set(&mut self, name: u64) -> &mut [Handshake; WAYS] {
        let set = hash::index((name >> 32) as u32, self.sets.len() as u32);
        &mut self.sets[set as usize]
    }

    fn find(&mut self, name: u64) -> Option<&mut Handshake> {
        self.set(name).iter_mut().find(|handshake| handshake.name == name as u32)
    }

    /// The place for a new one, which a complete one or the oldest must leave.
    fn place(&mut self, name: u64, at: i64) -> &mut Handshake {
        let set = self.set(name);
        let way = lowest(set, |handshake| (handshake.stage != Stage::Complete, handshake.last));
        let before = set[way];
        let is_open = before.stage != Stage::Complete && at.saturating_sub(before.last) <= PATIENCE_NS;
        self.evicted += u64::from(is_open);
        &mut self.set(name)[way]
    }
}

/// Names the handshake of a client that has this id, on this side of a flow. The lower half is not zero.
fn name(flow: u64, client: bool, id: &[u8]) -> u64 {
    hash::bytes(hash::absorb(flow, client.into()), id) | 1
}

impl Handshake {
    /// One that the client begins.
    fn new<S: Sink>(name: u64, packet: Packet<'_>, to: &mut Emitter<'_, S>) -> Self {
        let at = to.at.as_nanos();
        let (name, word) = (name as u32, hash::word(name, at as u64) as u32);
        let mut new =
            Self { name, word, last: at, chosen: 0, server: [0; 2], stage: Stage::Asked, is_flight_over: false };
        new.chosen = new.tag(packet.destination);
        new.ask(to);
        new
    }

    /// The tag of an id to which the client sends; not zero.
    fn tag(&self, id: &[u8]) -> u16 {
        (hash::bytes(self.name.into(), id) as u16).max(1)
    }

    fn has_sent_to(&self, id: &[u8]) -> bool {
        let tag = self.tag(id);
        tag == self.chosen || self.server.contains(&tag)
    }

    /// Processes a packet of the client. It sends to the id that it chose until it has heard from the server, which may
    /// keep that id.
    fn client<S: Sink>(&mut self, packet: Packet<'_>, to: &mut Emitter<'_, S>) {
        let tag = self.tag(packet.destination);
        let has_heard = tag != self.chosen || self.server.contains(&tag);
        match self.stage {
            Stage::Asked if packet.is_initial && tag == self.chosen => {
                if self.is_repeat(to.at.as_nanos()) {
                    self.ask(to);
                }
            }
            Stage::AskedBack if has_heard => {
                let ids = self.exchanges(to, to.flow.sender);
                to.response_with(Kind::QuicBefore, ids.before(tag.into()), 0);
                to.response_with(Kind::QuicSum, ids.sum(), 0);
                self.stage = Stage::Complete;
            }
            // The server's next packet may be caused by this one.
            Stage::AskedBack => self.is_flight_over = true,
            Stage::Asked | Stage::Answered | Stage::Complete => {}
        }
    }

    /// Processes a packet of the server. One that asks the client to begin again, and others after that, may name new ids;
    /// of several such packets the client follows one.
    fn server<S: Sink>(&mut self, packet: Packet<'_>, to: &mut Emitter<'_, S>) {
        let own = self.tag(packet.source);
        let ids = self.exchanges(to, to.flow.receiver);
        if self.stage == Stage::Asked {
            to.response_with(Kind::QuicBeyond, ids.beyond(), 0);
            self.stage = Stage::Answered;
        }
        let asks = packet.asks
            && match self.stage {
                Stage::Answered => true,
                Stage::AskedBack => self.is_repeat(to.at.as_nanos()) || own != self.server[1],
                Stage::Asked | Stage::Complete => false,
            };
        self.server = if self.server[0] == 0 { [own; 2] } else { [self.server[0], own] };
        if asks {
            to.request_with(Kind::QuicBefore, ids.before(own.into()), 0);
            (self.stage, self.last) = (Stage::AskedBack, to.at.as_nanos());
        }
        // A hello comes before the rest of its flight.
        self.is_flight_over = !packet.asks && !packet.is_initial;
    }

    /// Whether a packet repeats the request that is open, and does not belong to its flight.
    fn is_repeat(&mut self, at: i64) -> bool {
        let pause = at.saturating_sub(self.last);
        self.last = at;
        std::mem::take(&mut self.is_flight_over) || pause > FLIGHT_NS
    }

    /// The packet is a request of the client.
    fn ask<S: Sink>(&self, to: &mut Emitter<'_, S>) {
        let ids = self.exchanges(to, to.flow.sender);
        to.request_with(Kind::QuicBeyond, ids.beyond(), 0);
        to.request_with(Kind::QuicSum, ids.sum(), 0);
    }

    /// The ids of its exchanges, given the client's side.
    fn exchanges<S: Sink>(&self, to: &Emitter<'_, S>, client: bool) -> ids::Handshake {
        to.ids.handshake(to.flow.hash, client, self.word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::quic::VERSION_2;
    use crate::pair::tests::{Pair, Said, flow};
    use dwell_types::{Leg, Match, protocol};

    const INITIAL: u8 = 0xc0;
    const ZERO_RTT: u8 = 0xd0;
    const HANDSHAKE: u8 = 0xe0;
    const RETRY: u8 = 0xf0;
    const MS: i64 = 1_000_000;
    /// Ids: that of the client's first packets, those of both ends, and of a server that asks to begin again.
    const CHOSEN: &[u8] = &[7; 8];
    const CLIENT: &[u8] = &[1, 2, 3];
    const SERVER: &[u8] = &[9; 5];
    const RETRIED: &[u8] = &[8; 8];

    /// A packet with `length` bytes after its header, if it is an Initial packet without a token.
    fn packet_of(version: u32, first: u8, destination: &[u8], source: &[u8], length: u16) -> Vec<u8> {
        let mut packet = [&[first][..], &version.to_be_bytes()].concat();
        for id in [destination, source] {
            packet.push(id.len() as u8);
            packet.extend(id);
        }
        packet.push(0);
        packet.extend((0x4000 | length).to_be_bytes());
        packet
    }

    fn packet(first: u8, destination: &[u8], source: &[u8]) -> Vec<u8> {
        packet_of(1, first, destination, source, 1200)
    }

    fn pair() -> Pair {
        Pair::between(&[Match::QuicHandshake], flow(protocol::UDP))
    }

    /// The packets of a client and of a server, by their types.
    struct Ends {
        pair: Pair,
        client: &'static [u8],
    }

    impl Ends {
        fn of(client: &'static [u8]) -> Self {
            Self { pair: pair(), client }
        }

        fn client(&mut self, first: u8, to: &[u8]) -> Said {
            self.pair.client_udp(&packet(first, to, self.client))
        }

        fn server(&mut self, first: u8, from: &[u8]) -> Said {
            self.pair.server_udp(&packet(first, self.client, from))
        }

        fn acknowledges(&mut self, from: &[u8]) -> Said {
            self.pair.server_udp(&packet_of(1, INITIAL, self.client, from, 40))
        }
    }

    #[track_caller]
    fn assert_complete(asked: &Said, answered: &Said, asked_back: &Said, completed: &Said) {
        assert_eq!(asked.requests(), [Leg::Beyond, Leg::Sum]);
        assert_eq!(asked_back.requests(), [Leg::Before]);
        assert!(answered.answers(asked, Leg::Beyond));
        assert!(completed.answers(asked_back, Leg::Before) && completed.answers(asked, Leg::Sum));
        assert_eq!(completed.requests(), []);
    }

    /// Whether or not ends have ids; of both versions; and if the server goes on using the id that the client chose.
    #[test]
    fn three_legs() {
        for version in [1, VERSION_2, 0xff00_001d] {
            let kind = |first: u8| if version == VERSION_2 { (first + 0x10) & 0x30 | 0xc0 } else { first };
            for client in [CLIENT, &[], &[5; 20]] {
                for server in [SERVER, &[], CHOSEN] {
                    let mut pair = pair();
                    let packet = |first: u8, to: &[u8], from: &[u8]| packet_of(version, kind(first), to, from, 1200);
                    let asked = pair.client_udp(&packet(INITIAL, CHOSEN, client));
                    let early = pair.client_udp(&packet(ZERO_RTT, CHOSEN, client));
                    let answer = pair.server_udp(&packet(INITIAL, client, server));
                    let completed = pair.client_udp(&packet(INITIAL, server, client));
                    assert_complete(&asked, &answer, &answer, &completed);
                    assert!(early.seen.is_empty());
                    let rest = [
                        pair.server_udp(&packet(INITIAL, client, server)),
                        pair.server_udp(&packet(HANDSHAKE, client, server)),
                        pair.client_udp(&packet(INITIAL, server, client)),
                        pair.client_udp(&packet(HANDSHAKE, server, client)),
                        pair.client_udp(&packet(INITIAL, CHOSEN, client)),
                    ];
                    assert!(rest.iter().all(|said| said.seen.is_empty()), "{version:x}, {client:?}, {server:?}");
                }
            }
        }
    }

    /// A server that acknowledges first is answered only when it says hello; one that asks to begin again, at once.
    #[test]
    fn what_the_client_answers() {
        let mut ends = Ends::of(CLIENT);
        let asked = ends.client(INITIAL, CHOSEN);
        let acknowledged = ends.acknowledges(SERVER);
        assert!(acknowledged.requests().is_empty());
        assert!(ends.client(INITIAL, SERVER).seen.is_empty());
        let hello = ends.server(INITIAL, SERVER);
        assert_eq!(hello.seen.len(), 1);
        let completed = ends.client(HANDSHAKE, SERVER);
        assert_complete(&asked, &acknowledged, &hello, &completed);

        let mut ends = Ends::of(CLIENT);
        let asked = ends.client(INITIAL, CHOSEN);
        let retry = ends.pair.server_udp(&packet_of(1, RETRY, CLIENT, RETRIED, 0));
        let completed = ends.client(INITIAL, RETRIED);
        assert_complete(&asked, &retry, &retry, &completed);
        // The server may choose another id again. The client's answer to that begins nothing, nor does what is late.
        assert!(ends.server(INITIAL, &[4; 8]).seen.is_empty());
        for id in [&[4; 8], RETRIED, CHOSEN] {
            assert!(ends.client(INITIAL, id).seen.is_empty());
        }
    }

    /// Packets within 10 ms of the one before are one request; later ones repeat it, with the same id.
    #[test]
    fn flights_and_repeats() {
        let mut ends = Ends::of(CLIENT);
        let asked = ends.client(INITIAL, CHOSEN);
        for _ in 0..3 {
            ends.pair.wait(9 * MS);
            assert!(ends.client(INITIAL, CHOSEN).seen.is_empty());
        }
        ends.pair.wait(9 * MS + 1);
        assert!(ends.client(ZERO_RTT, CHOSEN).seen.is_empty());
        let again = ends.client(INITIAL, CHOSEN);
        assert_eq!(again.requests(), [Leg::Beyond, Leg::Sum]);
        let hello = ends.server(INITIAL, SERVER);
        assert!(hello.answers(&asked, Leg::Beyond) && hello.answers(&again, Leg::Beyond));
        ends.pair.wait(9 * MS);
        assert!(ends.server(INITIAL, SERVER).seen.is_empty());
        ends.pair.wait(9 * MS + 1);
        // Neither an acknowledgement nor the rest of what the server has to say repeats it.
        assert!(ends.acknowledges(SERVER).seen.is_empty());
        assert!(ends.server(HANDSHAKE, SERVER).seen.is_empty());
        let hello_again = ends.server(INITIAL, SERVER);
        assert_eq!(hello_again.requests(), [Leg::Before]);
        let completed = ends.client(INITIAL, SERVER);
        assert!(completed.answers(&hello, Leg::Before) && completed.answers(&hello_again, Leg::Before));
    }

    /// One after the other in a flow, with or without ids; and at once, if the client has ids.
    #[test]
    fn several_connections_in_one_flow() {
        for client in [CLIENT, &[]] {
            let mut ends = Ends::of(client);
            let mut first = None;
            for connection in 0..3 {
                let [chosen, server] = [[connection; 8], [100 + connection; 8]];
                let asked = ends.client(INITIAL, &chosen);
                let hello = ends.server(INITIAL, &server);
                let completed = ends.client(INITIAL, &server);
                assert_complete(&asked, &hello, &hello, &completed);
                assert_ne!(first.replace(asked.request(Leg::Beyond).id), Some(asked.request(Leg::Beyond).id));
            }
        }
        let mut pair = pair();
        let asked = [1, 2].map(|n| pair.client_udp(&packet(INITIAL, &[n; 8], &[n])));
        let hello = [1, 2].map(|n| pair.server_udp(&packet(INITIAL, &[n], &[n; 9])));
        let completed = [1, 2].map(|n| pair.client_udp(&packet(INITIAL, &[n; 9], &[n])));
        for n in 0..2 {
            assert_complete(&asked[n], &hello[n], &hello[n], &completed[n]);
            assert!(!hello[n].answers(&asked[1 - n], Leg::Beyond) && !completed[n].answers(&asked[1 - n], Leg::Sum));
        }
    }

    #[test]
    fn what_begins_no_handshake() {
        let unknown = packet_of(0x5130_3530, INITIAL, CHOSEN, CLIENT, 1200);
        let draft_18 = packet_of(0xff00_0012, INITIAL, CHOSEN, CLIENT, 1200);
        let negotiation = packet_of(0, INITIAL, CHOSEN, CLIENT, 1200);
        let short_id = packet(INITIAL, &[7; 7], CLIENT);
        let long_id = packet(INITIAL, &[7; 21], CLIENT);
        let without_quic_bit = packet(0x80, CHOSEN, CLIENT);
        let cut = packet(INITIAL, CHOSEN, CLIENT)[..17].to_vec();
        let mut pair = pair();
        for payload in [unknown, draft_18, negotiation, short_id, long_id, without_quic_bit, cut] {
            assert!(pair.client_udp(&payload).seen.is_empty(), "{payload:x?}");
        }
        for first in [ZERO_RTT, HANDSHAKE, RETRY, 0x40] {
            assert!(pair.client_udp(&packet(first, CHOSEN, CLIENT)).seen.is_empty());
        }
        // Seen from its middle on, of which a port tells who is the server.
        assert!(pair.server_udp(&packet(INITIAL, CHOSEN, SERVER)).seen.is_empty());
        assert_eq!(pair.client_udp(&packet(INITIAL, CHOSEN, CLIENT)).seen.len(), 2);
    }

    /// Lengths behind tokens, in one to eight bytes, and those that are cut off.
    #[test]
    fn hellos_are_told_by_their_length() {
        let token = [&[0x40, 70][..], &[5; 70]].concat();
        let cases: [(&[u8], bool); 9] = [
            (&[0, 63], false),
            (&[0, 0x40, 63], false),
            (&[0, 0x40, 64], true),
            (&[0, 0x80, 0, 0, 63], false),
            (&[0, 0xc0, 0, 0, 0, 0, 0, 4, 0], true),
            (&[&token[..], &[63]].concat(), false),
            (&[&token[..], &[0x44, 0]].concat(), true),
            (&[&token[..], &[0x44]].concat(), true),
            (&token[..60], true),
        ];
        for (rest, asks) in cases {
            let mut ends = Ends::of(CLIENT);
            ends.client(INITIAL, CHOSEN);
            let mut hello = packet(INITIAL, CLIENT, SERVER);
            hello.truncate(hello.len() - 3);
            hello.extend(rest);
            let requests: &[Leg] = if asks { &[Leg::Before] } else { &[] };
            assert_eq!(ends.pair.server_udp(&hello).requests(), requests, "{rest:?}");
        }
    }

    /// Complete ones give way first, then the oldest.
    #[test]
    fn eviction() {
        let mut handshakes = Handshakes::within(0);
        let before = handshakes.state_bytes();
        let open = |last: i64| Handshake { name: 1, last, stage: Stage::Asked, ..Handshake::default() };
        for last in [3, 1, 4, 2] {
            *handshakes.place(1, last) = open(last);
        }
        assert_eq!(handshakes.evicted(), 0);
        let mut next = |at: i64, stage: Stage| {
            let place = handshakes.place(1, at);
            let last = place.last;
            *place = Handshake { stage, ..open(at) };
            (last, handshakes.evicted())
        };
        assert_eq!(next(5, Stage::Complete), (1, 1));
        assert_eq!(next(6, Stage::AskedBack), (5, 1));
        assert_eq!(next(7, Stage::Asked), (2, 2));
        // Nothing more is expected of the oldest.
        assert_eq!(next(PATIENCE_NS + 4, Stage::Asked), (3, 2));
        assert_eq!(next(PATIENCE_NS + 4, Stage::Asked), (4, 3));
        assert_eq!(handshakes.state_bytes(), before);
        assert_eq!(Handshakes::within(1 << 20).state_bytes() / size_of::<Handshake>(), (1 << 20) / 96 * 4);
    }

    /// Of a client alone, the next packet begins no other handshake, whether it says more than that it has received
    /// something or has an id of its own.
    #[test]
    fn one_direction() {
        let mut ends = Ends::of(&[1, 2, 3, 4]);
        assert_eq!(ends.client(INITIAL, CHOSEN).seen.len(), 2);
        assert!(ends.client(INITIAL, &[9; 8]).seen.is_empty());
        let mut ends = Ends::of(&[]);
        assert_eq!(ends.client(INITIAL, CHOSEN).seen.len(), 2);
        assert!(ends.pair.client_udp(&packet_of(1, INITIAL, &[9; 8], &[], 40)).seen.is_empty());
        assert_eq!(ends.client(INITIAL, &[9; 8]).seen.len(), 2);
    }

    /// A client that sends its hello again gets a Retry for each, and follows one.
    #[test]
    fn several_retries() {
        for follows in 0..3 {
            let mut ends = Ends::of(&[1, 2, 3, 4]);
            let asked = ends.client(INITIAL, CHOSEN);
            let retries = [20, 21, 22].map(|n| {
                assert!(ends.client(INITIAL, CHOSEN).requests().is_empty());
                ends.pair.server_udp(&packet_of(1, RETRY, &[1, 2, 3, 4], &[n; 8], 0))
            });
            let completed = ends.client(INITIAL, &[20 + follows; 8]);
            for (n, retry) in (0..).zip(&retries) {
                assert_eq!(completed.answers(retry, Leg::Before), n == follows);
            }
            assert!(completed.answers(&asked, Leg::Sum));
            for (server, id) in [(true, 30), (false, 30), (false, 20), (false, 21)] {
                let id = [id; 8];
                let said = if server { ends.server(INITIAL, &id) } else { ends.client(INITIAL, &id) };
                assert!(said.seen.is_empty());
            }
        }
    }

    /// What comes between two packets ends the flight of the first: that of the other end, or the rest of a server's.
    #[test]
    fn flights_end_early() {
        let mut ends = Ends::of(CLIENT);
        ends.client(INITIAL, CHOSEN);
        let hello = ends.server(INITIAL, SERVER);
        assert!(ends.acknowledges(SERVER).seen.is_empty());
        assert!(ends.server(INITIAL, SERVER).seen.is_empty());
        assert!(ends.client(INITIAL, CHOSEN).seen.is_empty());
        let again = ends.server(INITIAL, SERVER);
        assert!(ends.server(HANDSHAKE, SERVER).seen.is_empty());
        let third = ends.server(INITIAL, SERVER);
        let completed = ends.client(INITIAL, SERVER);
        for hello in [hello, again, third] {
            assert!(completed.answers(&hello, Leg::Before));
        }
    }
}
