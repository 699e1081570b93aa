//! `tcp-response`: the end of what a client sends → the beginning of what the server sends in response.
//!
//! Request: a segment of the client with payload and PSH, which marks the last of what was sent at once (RFC 9293
//! §3.9.1.2). Response: the server's first segment with payload that acknowledges exactly its end (a FIN counts), and whose own
//! numbers begin where the request's acknowledgement ends. Hashed: the flow, the client's side, and both numbers.
//!
//! So the server had sent nothing that the client had not received, and what it sent next it sent after it had received
//! all of the request: the delay is the application's, beside one round trip beyond the point. A bare ACK answers nothing. A
//! client that sends more before the response begins (pipelining, uploads) is measured from what it sent last; a server
//! that is still sending when a request reaches it (multiplexed connections, notifications) is not measured. Segments with SYN
//! or RST or without ACK are neither.
//!
//! What TLS and HTTP/2 send by themselves asks for nothing and answers nothing, and does not count where numbers go on
//! (`tls`, `http2`). First responses that may be session tickets are not measured.
//!
//! The client is the end that a SYN-ACK goes to; where the capture has none, or many connections have other ports than usual
//! ([`roles`](super::roles)), that with the higher port. Where both ports are equal, neither end is then.
//!
//! A retransmission has the id of the first transmission if it ends and acknowledges at the same numbers (with TLS, if it ends
//! there). The response does not name a copy: its TSecr is that of the first segment that was not acknowledged yet.
//!
//! Broken by: services on higher ports than their clients have, in connections that began before the capture (measured is how
//! long clients take to go on), protocols in which the server speaks first (only what follows is measured), senders that never
//! set PSH, middleboxes that shift the numbers of one direction only, what servers send by themselves within a round trip after
//! a request that needs no response, captures without the first bytes of the payload, and what `tls` lists.

// What TLS sends by itself, and what is known of connections.
mod tls;
// The same of HTTP/2 in clear.
mod http2;
pub(super) use tls::Connections;

use super::emitter::Emitter;
use super::ids::Kind;
use crate::packet::Tcp;
use dwell_types::Sink;

/// Of a server's segment.
#[inline(never)]
pub(super) fn response<S: Sink>(segment: &Tcp<'_>, known: &mut Connections, to: &mut Emitter<'_, S>) {
    if has_data(segment)
        && let Some(numbers) = known.answers(to.flow.hash, segment)
    {
        to.response(Kind::Response, word(numbers), 0);
    }
}

/// Of a client's segment.
#[inline(never)]
pub(super) fn request<S: Sink>(segment: &Tcp<'_>, known: &mut Connections, to: &mut Emitter<'_, S>) {
    if has_data(segment)
        && let Some(numbers) = known.asks(to.flow.hash, segment)
        && segment.has(Tcp::PSH)
    {
        to.request(Kind::Response, word(numbers), 0);
    }
}

/// Where the client's numbers end, and where the server's are to begin.
const fn word([client, server]: [u32; 2]) -> u64 {
    (client as u64) << 32 | server as u64
}

/// Whether a segment of an open connection carries data.
const fn has_data(segment: &Tcp<'_>) -> bool {
    segment.payload_length > 0 && segment.flags & (Tcp::SYN | Tcp::RST | Tcp::ACK) == Tcp::ACK
}

#[cfg(test)]
mod tests {
    use crate::packet::{Tcp, Transport};
    use crate::pair::tests::{Pair, Said, flow, segment};
    use dwell_types::{FlowKey, Leg, Match, protocol};

    const BOTH: Leg = Leg::Both;

    fn data(flags: u8, sequence: u32, length: u32, acknowledgement: u32) -> Tcp<'static> {
        Tcp { payload_length: length, ..segment(Tcp::ACK | flags, sequence, acknowledgement) }
    }

    /// A request of three segments is measured from its last one to the first segment with data; an ACK in between
    /// answers nothing.
    #[test]
    fn the_last_of_a_request_and_the_first_of_its_response() {
        let mut pair = Pair::new(&[Match::TcpResponse]);
        for sequence in [1_000, 2_000] {
            assert!(pair.client(&data(0, sequence, 1_000, 77)).seen.is_empty(), "more follows at once");
        }
        let asked = pair.client(&data(Tcp::PSH, 3_000, 10, 77));
        assert_eq!(asked.requests(), [BOTH]);
        assert!(pair.server(&segment(Tcp::ACK, 77, 3_010)).seen.is_empty());
        assert!(pair.server(&data(0, 77, 1_460, 3_010)).answers(&asked, BOTH));
        assert!(pair.server(&data(Tcp::PSH | Tcp::FIN, 77, 1, 3_010)).answers(&asked, BOTH));
    }

    /// What the server sent before it had received all of the request, and what comes later in a response, answers
    /// nothing.
    #[test]
    fn exactly_what_is_next() {
        let mut pair = Pair::new(&[Match::TcpResponse]);
        let asked = pair.client(&data(Tcp::PSH, u32::MAX - 1, 9, u32::MAX));
        for (sequence, acknowledgement) in [(u32::MAX, 6), (u32::MAX, 8), (0, 7), (u32::MAX - 1, 7)] {
            assert!(!pair.server(&data(0, sequence, 50, acknowledgement)).answers(&asked, BOTH));
        }
        assert!(!pair.client(&data(0, u32::MAX, 50, 7)).answers(&asked, BOTH), "of the same side");
        assert!(pair.server(&data(0, u32::MAX, 50, 7)).answers(&asked, BOTH));
        let again = pair.client(&data(Tcp::PSH, u32::MAX - 1, 9, u32::MAX));
        assert_eq!(again.request(BOTH).id, asked.request(BOTH).id);
        let later = pair.client(&data(Tcp::PSH, u32::MAX - 1, 9, 49));
        assert_ne!(later.request(BOTH).id, asked.request(BOTH).id, "after more from the server");
    }

    /// Whatever the ports, a SYN-ACK goes to the client. Without one only the end with the higher port asks, and only the other one
    /// responds; with equal ports nobody does.
    #[test]
    fn who_serves_is_told_by_the_handshake_or_by_ports() {
        let (asking, answering) = (data(Tcp::PSH, 1, 1, 1), data(Tcp::PSH, 1, 1, 2));
        let (syn, syn_ack) = (segment(Tcp::SYN, 0, 0), segment(Tcp::SYN | Tcp::ACK, 0, 1));
        for (source_port, by_ports) in [(50_000, true), (443, false), (80, false)] {
            for handshake in [&[][..], &[syn], &[syn_ack], &[syn, syn_ack], &[syn, syn_ack, syn_ack]] {
                let key = FlowKey { source_port, ..flow(protocol::TCP) };
                let mut pair = Pair::between(&[Match::TcpResponse], key);
                for segment in handshake {
                    let from = if segment.has(Tcp::ACK) { key.reversed() } else { key };
                    assert!(pair.packet(from, Transport::Tcp(*segment)).seen.is_empty());
                }
                let is_client = handshake.contains(&syn_ack) || by_ports;
                let there = pair.client(&asking);
                assert_eq!(there.requests().len(), usize::from(is_client), "{source_port} {handshake:?}");
                let back = pair.packet(key.reversed(), Transport::Tcp(answering));
                let is_server = !is_client && source_port < 443;
                assert_eq!(back.requests().len(), usize::from(is_server), "{source_port} {handshake:?}");
                assert_eq!(back.seen.len(), usize::from(is_client || is_server), "{source_port} {handshake:?}");
                assert!(!is_client || back.answers(&there, BOTH));
            }
        }
    }

    /// HTTP/2 in clear: notices of either side, before and between a request and its response, are neither.
    #[test]
    fn notices_in_clear_are_left_out() {
        let frame = |kind: u8, flags, stream: u32, length: u8| {
            [&[0, 0, length, kind, flags][..], &stream.to_be_bytes(), &vec![9; length.into()]].concat()
        };
        let (ping, pong, window) = (frame(6, 0, 0, 8), frame(6, 1, 0, 8), frame(8, 0, 0, 4));
        let mut http = Tls::new(usize::MAX);
        for stream in [1, 3] {
            let asked = http.asks(&frame(1, 5, stream, 60));
            assert_eq!(asked.requests(), [BOTH]);
            assert!(http.sends(&[window.clone(), ping.clone()].concat()).seen.is_empty());
            assert!(http.asks(&pong).seen.is_empty());
            assert!(http.sends(&frame(1, 4, stream, 90)).answers(&asked, BOTH), "{stream}");
            http.receives();
            assert!(http.asks(&window).seen.is_empty());
        }
    }

    /// On the same ports, one end opens a connection, then the other one.
    #[test]
    fn roles_are_those_of_the_last_connection() {
        let key = flow(protocol::TCP);
        let mut pair = Pair::between(&[Match::TcpResponse], key);
        for opens in [key, key.reversed(), key] {
            pair.packet(opens.reversed(), Transport::Tcp(segment(Tcp::SYN | Tcp::ACK, 0, 1)));
            for from in [key, key.reversed()] {
                let said = pair.packet(from, Transport::Tcp(data(Tcp::PSH, 1, 1, 1)));
                assert_eq!(said.requests().len(), usize::from(from == opens));
            }
        }
    }

    /// A service on a higher port than its client's: TLS and what it knows of tickets are the same; and a client that goes on
    /// asking keeps its place among others of which nothing else is known.
    #[test]
    fn services_on_high_ports() {
        let key = FlowKey { source_port: 40_000, destination_port: 50_051, ..flow(protocol::TCP) };
        let mut tls = Tls { pair: Pair::between(&[Match::TcpResponse], key), ..Tls::new(usize::MAX) };
        tls.pair.server(&segment(Tcp::SYN | Tcp::ACK, 4_999, 1_000));
        assert!(tls.sends(b"220 ready").requests().is_empty(), "who serves speaks first");
        tls.receives();
        tls.asks(&records(&[(22, 300)]));
        tls.sends(&records(&[(22, 90)]));
        tls.receives();
        assert!(tls.asks(&records(&[(23, 53)])).seen.is_empty(), "a first Finished");
        let asked = tls.asks(&records(&[(23, 90)]));
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));

        let mut pair = Pair::between(&[Match::TcpResponse], key);
        pair.server(&segment(Tcp::SYN | Tcp::ACK, 0, 1));
        for port in 1..5_000 {
            let other = FlowKey { source_port: port, ..key };
            pair.packet(other.reversed(), Transport::Tcp(segment(Tcp::SYN | Tcp::ACK, 0, 1)));
            let asked = pair.client(&data(Tcp::PSH, 1, 1, 1));
            assert_eq!(asked.requests(), [BOTH], "{port}");
        }
    }

    #[test]
    fn neither_beginnings_nor_resets() {
        let mut pair = Pair::new(&[Match::TcpResponse]);
        for flags in [Tcp::SYN, Tcp::RST, Tcp::SYN | Tcp::RST] {
            assert!(pair.client(&data(Tcp::PSH | flags, 1, 1, 1)).seen.is_empty(), "{flags:#x}");
            assert!(pair.server(&data(flags, 1, 1, 2)).seen.is_empty(), "{flags:#x}");
        }
        let without_ack = Tcp { flags: Tcp::PSH, ..data(0, 1, 1, 1) };
        assert!(pair.client(&without_ack).seen.is_empty() && pair.server(&without_ack).seen.is_empty());
        assert!(pair.client(&segment(Tcp::PSH | Tcp::ACK, 1, 1)).seen.is_empty(), "without data");
    }

    const CHANGE_CIPHER: &[u8] = &[20, 3, 3, 0, 1, 1];

    /// Records of these kinds and lengths, without the headers.
    fn records(records: &[(u8, usize)]) -> Vec<u8> {
        let record = |&(kind, length): &(u8, usize)| {
            [&[kind, 3, 3][..], &(length as u16).to_be_bytes(), &vec![7; length]].concat()
        };
        records.iter().flat_map(record).collect()
    }

    /// A connection of TLS: the client's numbers begin at 1,000, the server's at 5,000.
    struct Tls {
        pair: Pair,
        client: u32,
        server: u32,
        /// What the client has received.
        received: u32,
        snap: usize,
    }

    impl Tls {
        fn new(snap: usize) -> Self {
            Self { pair: Pair::new(&[Match::TcpResponse]), client: 1_000, server: 5_000, received: 5_000, snap }
        }

        fn asks(&mut self, payload: &[u8]) -> Said {
            let length = payload.len() as u32;
            let payload = &payload[..payload.len().min(self.snap)];
            let said = self.pair.client(&Tcp { payload, ..data(Tcp::PSH, self.client, length, self.received) });
            self.client += length;
            said
        }

        fn sends(&mut self, payload: &[u8]) -> Said {
            let length = payload.len() as u32;
            let payload = &payload[..payload.len().min(self.snap)];
            let said = self.pair.server(&Tcp { payload, ..data(Tcp::PSH, self.server, length, self.client) });
            self.server += length;
            said
        }

        fn receives(&mut self) {
            self.received = self.server;
        }
    }

    /// The client sends its Finished and, at once, a request; the server answers with tickets, then with the response. All
    /// before that are TLS' own. Likewise if only the first bytes of payloads are captured.
    #[test]
    fn tickets_are_no_response() {
        for snap in [usize::MAX, 16] {
            let mut tls = Tls::new(snap);
            assert!(tls.asks(&records(&[(22, 300)])).seen.is_empty(), "ClientHello");
            tls.sends(&records(&[(22, 90)]));
            tls.receives();
            assert!(tls.asks(&[CHANGE_CIPHER, &records(&[(23, 53)])].concat()).seen.is_empty(), "Finished");
            let asked = tls.asks(&records(&[(23, 90)]));
            assert_eq!(asked.requests(), [BOTH]);
            assert!(tls.sends(&records(&[(23, 250), (23, 250)])).seen.is_empty(), "tickets");
            assert!(tls.sends(&records(&[(23, 300 - 5)])).seen.is_empty(), "what may be a ticket");
            assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
            // From then on as without TLS.
            tls.receives();
            let next = tls.asks(&records(&[(23, 90)]));
            assert!(tls.sends(&records(&[(23, 28)])).answers(&next, BOTH));
        }
    }

    /// The first response is longer than a ticket, or comes in the same segment; or the client's first request comes with its
    /// Finished, or only after the tickets.
    #[test]
    fn first_responses() {
        let finished = [CHANGE_CIPHER, &records(&[(23, 53)])].concat();
        let request = records(&[(23, 90)]);
        for response in [records(&[(23, 250), (23, 600)]), records(&[(23, 296)]), vec![23, 3, 3, 16, 0, 7], vec![7; 20]]
        {
            let mut tls = Tls::new(usize::MAX);
            tls.asks(&finished);
            let asked = tls.asks(&request);
            assert!(tls.sends(&response).answers(&asked, BOTH));
        }
        let mut tls = Tls::new(usize::MAX);
        let asked = tls.asks(&[&finished[..], &request].concat());
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
        // A second ticket may have been sent before the request came; what is sent after that is the response.
        let mut tls = Tls::new(usize::MAX);
        tls.asks(&finished);
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        tls.receives();
        let before = tls.client;
        let asked = tls.asks(&request);
        let after = std::mem::replace(&mut tls.client, before);
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        tls.client = after;
        assert!(tls.sends(&records(&[(23, 100)])).answers(&asked, BOTH));
        let mut tls = Tls::new(usize::MAX);
        tls.asks(&finished);
        tls.asks(&request);
        assert!(tls.sends(&records(&[(23, 100)])).seen.is_empty());
        tls.receives();
        let asked = tls.asks(&request);
        assert!(tls.sends(&records(&[(23, 100)])).answers(&asked, BOTH));
    }

    /// What is not captured is taken for tickets only if it can be tickets of one length; what is captured and no record is none.
    #[test]
    fn what_cannot_be_tickets() {
        let finished = [CHANGE_CIPHER, &records(&[(23, 53)])].concat();
        let unknown = [&records(&[(23, 250)])[..], &[7; 255]].concat();
        for (snap, response) in [(16, records(&[(23, 250), (23, 400)])), (16, vec![7; 255]), (usize::MAX, unknown)] {
            let mut tls = Tls::new(snap);
            tls.asks(&finished);
            let asked = tls.asks(&records(&[(23, 90)]));
            assert!(tls.sends(&response).answers(&asked, BOTH), "{response:?}");
        }
    }

    /// A change of the cipher is followed by a Finished in version 1.3, unless the server asked for another hello, and by a
    /// handshake in those before: then there are no tickets. A Finished may come without it.
    #[test]
    fn only_version_1_3_has_tickets_then() {
        for (flight, is_open) in [
            ([CHANGE_CIPHER, &records(&[(22, 40)])].concat(), false),
            (records(&[(22, 70), (20, 1), (22, 40)]), false),
            (records(&[(21, 2)]), false),
            (CHANGE_CIPHER.to_vec(), false),
            (records(&[(23, 53)]), true),
            (records(&[(23, 69)]), true),
        ] {
            let mut tls = Tls::new(usize::MAX);
            assert!(tls.asks(&flight).seen.is_empty());
            let asked = tls.asks(&records(&[(23, 90)]));
            let short = tls.sends(&records(&[(23, 100)]));
            assert_eq!(short.seen.is_empty(), is_open, "{flight:?}");
            assert!(is_open || short.answers(&asked, BOTH));
        }
    }

    /// What is not captured behind a ticket may be several of its length, or one of another.
    #[test]
    fn tickets_that_are_cut() {
        for tickets in [records(&[(23, 250); 3]), records(&[(23, 250), (23, 100)])] {
            let mut tls = Tls::new(16);
            tls.asks(&[CHANGE_CIPHER, &records(&[(23, 53)])].concat());
            let asked = tls.asks(&records(&[(23, 90)]));
            assert!(tls.sends(&tickets).seen.is_empty());
            assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
        }
    }

    /// A Finished without a change of the cipher, and the first request with it.
    #[test]
    fn finished_and_request_at_once() {
        let mut tls = Tls::new(usize::MAX);
        let asked = tls.asks(&records(&[(23, 69), (23, 45)]));
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
        tls.receives();
        let asked = tls.asks(&records(&[(23, 69)]));
        assert!(tls.sends(&records(&[(23, 100)])).answers(&asked, BOTH), "a request of that length");
    }

    /// HTTP/2 acknowledges settings and raises windows on the way, on both sides: the request is still the one before, and the
    /// response that which goes on behind them. What is not in order answers nothing.
    #[test]
    fn notices_are_passed_over() {
        let notices = [records(&[(23, 26)]), records(&[(23, 26), (23, 30)]), records(&[(23, 39)])];
        for is_in_order in [true, false] {
            let mut tls = Tls::new(usize::MAX);
            tls.asks(&records(&[(23, 90)]));
            tls.sends(&records(&[(23, 600)]));
            tls.receives();
            let asked = tls.asks(&records(&[(23, 36)]));
            assert_eq!(asked.requests(), [BOTH]);
            assert!(tls.sends(&records(&[(23, 26)])).seen.is_empty());
            tls.receives();
            for notice in &notices {
                assert!(tls.asks(notice).seen.is_empty());
            }
            if !is_in_order {
                tls.server += 1;
            }
            assert!(tls.sends(&notices[1]).seen.is_empty());
            assert_eq!(tls.sends(&records(&[(23, 28)])).answers(&asked, BOTH), is_in_order);
            tls.receives();
            assert!(tls.asks(&notices[0]).seen.is_empty(), "nothing is asked");
            assert!(!tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH), "nothing is open");
        }
    }

    /// A request of several segments, of which only the first begins with a record.
    #[test]
    fn requests_of_several_segments() {
        let mut tls = Tls::new(usize::MAX);
        tls.asks(&[CHANGE_CIPHER, &records(&[(23, 53)])].concat());
        let long = records(&[(23, 2_000)]);
        tls.asks(&long[..1_400]);
        let asked = tls.asks(&long[1_400..]);
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
    }

    /// Handshakes and alerts of the server answer nothing; what is not TLS may be as short as it likes.
    #[test]
    fn only_data_answers() {
        let mut tls = Tls::new(usize::MAX);
        let asked = tls.asks(&records(&[(23, 90)]));
        for own in [records(&[(22, 90)]), records(&[(21, 2)]), records(&[(20, 1), (22, 40)])] {
            assert!(tls.sends(&own).seen.is_empty());
            tls.server -= own.len() as u32;
        }
        assert!(tls.sends(&records(&[(23, 28)])).answers(&asked, BOTH));
        for request in
            [records(&[(23, 26), (23, 36)]), b"GET /".to_vec(), vec![23, 3], vec![23, 4, 0, 0, 0], vec![23, 3, 5, 0, 0]]
        {
            let asked = Tls::new(usize::MAX).asks(&request);
            assert_eq!(asked.requests(), [BOTH], "{request:?}");
        }
        for request in [b"GET /".to_vec(), vec![23, 3, 5, 0, 0]] {
            let mut tls = Tls::new(usize::MAX);
            let asked = tls.asks(&request);
            assert!(tls.sends(&[1; 31]).answers(&asked, BOTH));
        }
        let mut short = Tls::new(20);
        assert!(short.asks(&records(&[(23, 26)])).seen.is_empty(), "as its header says");
    }

    /// Segments of which nothing can be told are counted.
    #[test]
    fn unread_payloads_are_counted() {
        let mut tls = Tls::new(4);
        tls.asks(&records(&[(22, 300)]));
        tls.sends(&[1, 2, 3]);
        tls.sends(&[1, 2, 3, 4, 5]);
        assert_eq!(tls.pair.unread_payloads(), 2);
    }

    /// Several tickets in a record, with settings behind it; alone, such a record is a response.
    #[test]
    fn tickets_with_settings() {
        for (answer, is_response) in [
            (records(&[(23, 477), (23, 66)]), false),
            (records(&[(23, 477)]), true),
            (records(&[(23, 477), (23, 96)]), true),
            (records(&[(23, 596), (23, 66)]), true),
        ] {
            let mut tls = Tls::new(usize::MAX);
            tls.asks(&[CHANGE_CIPHER, &records(&[(23, 53)])].concat());
            let asked = tls.asks(&records(&[(23, 90)]));
            assert_eq!(tls.sends(&answer).answers(&asked, BOTH), is_response);
            assert!(is_response || tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
        }
    }

    /// Later on, a short response to an earlier request of several is no ticket.
    #[test]
    fn the_answer_to_an_earlier_request() {
        let mut tls = Tls::new(usize::MAX);
        let one = tls.asks(&records(&[(23, 90)]));
        let before = tls.client;
        let two = tls.asks(&records(&[(23, 90)]));
        let after = std::mem::replace(&mut tls.client, before);
        assert!(tls.sends(&records(&[(23, 90)])).answers(&one, BOTH));
        tls.client = after;
        assert!(!tls.sends(&records(&[(23, 900)])).answers(&two, BOTH), "the rest of the same");
    }

    /// A Finished tells the version, and with it the lengths of notices; in version 1.3 alerts look like data.
    #[test]
    fn notices_by_version() {
        for is_recent in [true, false] {
            let mut tls = Tls::new(usize::MAX);
            if is_recent {
                tls.asks(&[CHANGE_CIPHER, &records(&[(23, 53)])].concat());
            }
            tls.asks(&records(&[(23, 90)]));
            tls.sends(&records(&[(23, 900)]));
            tls.receives();
            assert_eq!(tls.asks(&records(&[(23, 37)])).seen.is_empty(), !is_recent, "settings of version 1.2");
            assert!(tls.asks(&records(&[(23, 26)])).seen.is_empty(), "settings of version 1.3");
            assert!(tls.asks(&records(&[(23, 19)])).seen.is_empty(), "an alert of version 1.3");
            assert!(tls.sends(&records(&[(23, 19)])).seen.is_empty());
        }
    }

    /// A copy of a request is the same one, whatever the client has received since; that of a Finished changes nothing.
    #[test]
    fn copies_are_the_same_request() {
        let finished = [CHANGE_CIPHER, &records(&[(23, 53)])].concat();
        let request = records(&[(23, 90)]);
        for receives in [false, true] {
            let mut tls = Tls::new(usize::MAX);
            let begin = tls.client;
            tls.asks(&finished);
            let asked = tls.asks(&request);
            assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
            if receives {
                tls.receives();
            }
            tls.client -= request.len() as u32;
            assert_eq!(tls.asks(&request).request(BOTH).id, asked.request(BOTH).id);
            let end = std::mem::replace(&mut tls.client, begin);
            assert!(tls.asks(&finished).seen.is_empty());
            tls.client = end;
            assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH), "{receives}");
        }
    }

    /// Early data is no request of a connection that has begun; its end comes with a Finished, and tickets after that.
    #[test]
    fn early_data() {
        let mut tls = Tls::new(usize::MAX);
        tls.asks(&records(&[(22, 512)]));
        assert!(tls.asks(&[CHANGE_CIPHER, &records(&[(23, 115)])].concat()).seen.is_empty());
        tls.sends(&records(&[(22, 90), (20, 1), (23, 30)]));
        tls.receives();
        assert!(tls.asks(&records(&[(23, 21), (23, 69)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 296)])).requests().is_empty());
    }

    /// A SYN begins another connection: what was known of the one before on these ports does not hold.
    #[test]
    fn another_connection() {
        let mut tls = Tls::new(usize::MAX);
        tls.asks(&records(&[(23, 90)]));
        tls.sends(&records(&[(23, 900)]));
        tls.pair.client(&segment(Tcp::SYN, 7, 0));
        tls.receives();
        assert!(tls.asks(&records(&[(23, 69)])).seen.is_empty(), "a Finished");
        let asked = tls.asks(&records(&[(23, 90)]));
        assert!(tls.sends(&records(&[(23, 250)])).seen.is_empty());
        assert!(tls.sends(&records(&[(23, 600)])).answers(&asked, BOTH));
    }
}
