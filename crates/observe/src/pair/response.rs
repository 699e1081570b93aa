//! `tcp-response`: the end of what a client sends → the beginning of what the server sends in response.
//!
//! Request: a segment of the client with payload and PSH, which marks the last of what was sent at once (RFC 9293
//! §3.9.1.2). Response: the server's first segment with payload that acknowledges exactly its end, and whose own numbers
//! begin where the request's acknowledgement ends. Hashed: the flow, the client's side, and both numbers.
//!
//! So the server had sent nothing that the client had not received, and what it sent next it sent after it had received
//! all of the request: the delay is the application's, beside one round trip beyond the point. A bare ACK answers nothing. A
//! client that sends more before the response begins (pipelining, uploads) is measured from what it sent last; a server
//! that is still sending when a request reaches it (multiplexed connections, notifications) is not measured.
//!
//! The client is the end with the higher port: nothing else in a single segment tells who serves. Where both ports are
//! equal, neither end is.
//!
//! A retransmission has the id of the first transmission if it ends at the same number. The response does not name a copy: its
//! TSecr is that of the first segment that was not acknowledged yet.
//!
//! Broken by: services on higher ports than their clients have (measured is how long clients take to go on), protocols in
//! which the server speaks first (only what follows is measured), senders that never set PSH, middleboxes that shift the
//! numbers of one direction only, and what servers send by themselves within a round trip after a request that needs no
//! response.

use super::emitter::Emitter;
use super::ids::Exchange;
use crate::packet::Tcp;
use dwell_types::{FlowKey, Sink};

#[inline(always)]
pub(super) fn response<S: Sink>(key: &FlowKey, segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if key.reversed().is_to_server() && has_data(segment, 0) {
        to.response(Exchange::Response, word(segment.acknowledgement, segment.sequence), 0);
    }
}

#[inline(always)]
pub(super) fn request<S: Sink>(key: &FlowKey, segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if key.is_to_server() && has_data(segment, Tcp::PSH) {
        to.request(Exchange::Response, word(segment.end(), segment.acknowledgement), 0);
    }
}

/// Where the client's numbers end, and where the server's are to begin.
const fn word(client: u32, server: u32) -> u64 {
    (client as u64) << 32 | server as u64
}

/// Whether a segment of an open connection carries data, and these flags.
fn has_data(segment: &Tcp<'_>, flags: u8) -> bool {
    let all = Tcp::ACK | flags;
    segment.payload_length > 0 && segment.flags & (Tcp::SYN | Tcp::RST | all) == all
}

#[cfg(test)]
mod tests {
    use crate::packet::{Tcp, Transport};
    use crate::pair::tests::{Pair, flow, segment};
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

    /// Only the end with the higher port asks, and only the other one responds; with equal ports nobody does.
    #[test]
    fn who_serves_is_told_by_ports() {
        let (asking, answering) = (data(Tcp::PSH, 1, 1, 1), data(Tcp::PSH, 1, 1, 2));
        for (source_port, is_client) in [(50_000, true), (443, false), (80, false)] {
            let key = FlowKey { source_port, ..flow(protocol::TCP) };
            let mut pair = Pair::between(&[Match::TcpResponse], key);
            let there = pair.client(&asking);
            assert_eq!(there.requests().len(), usize::from(is_client), "{source_port}");
            let back = pair.packet(key.reversed(), Transport::Tcp(answering));
            assert_eq!(back.requests().len(), usize::from(source_port < 443), "{source_port}");
            assert_eq!(back.seen.len(), usize::from(source_port != 443), "{source_port}");
            assert!(!is_client || back.answers(&there, BOTH));
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
}
