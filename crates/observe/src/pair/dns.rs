//! `dns`: query → response (RFC 1035), over UDP or TCP port 53.
//!
//! Hashed: the flow, the client's side, transaction id, opcode, and the question's name in lower case (a server may
//! answer in different case), type and class. If the capture cuts a message, the captured part of the question is
//! hashed: the question is at the same offset in query and response, so both are cut alike if the headers below have
//! equal lengths. A response without a question (some servers report errors this way) matches no query.
//!
//! All opcodes count (query, notify, update) except stateful operations (RFC 8490), whose messages may be unsolicited.
//!
//! Over TCP (RFC 7766 §8) messages are read from segments that begin with one, one after the other as far as they are
//! captured. Missed are messages that begin in the middle of another segment, whose question continues in the next
//! segment, or whose two length bytes came in a segment of their own. A segment that begins inside a message is misread;
//! that is detected unless it seems to have exactly one question and to go the right way, and what goes undetected stays
//! unmatched.
//!
//! Multicast DNS is ignored, between port 5353 and any but port 53: its id is 0 and several hosts answer. A client may
//! have chosen port 5353 for an ordinary query.
//!
//! A query repeated over UDP with the same id and ports repeats the request; resolvers use fresh ids.

use super::emitter::Emitter;
use super::ids::Kind;
use crate::packet::Tcp;
use dwell_types::{FlowKey, Sink, hash};

pub(super) const PORT: u16 = 53;
/// The header of a message, in bytes.
const HEADER: usize = 12;
/// DNS stateful operations.
const STATEFUL: u8 = 6;

/// Query or response, as the bit of that name in the header says (RFC 1035 §4.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Qr {
    Query,
    Response,
}

/// The captured part of a message.
struct Message {
    qr: Qr,
    /// Hash of what query and response have in common.
    word: u64,
    /// Whether the question is captured completely.
    whole: bool,
}

#[inline]
pub(super) fn is_udp(key: &FlowKey) -> bool {
    is_tcp(key) && !is_multicast(key)
}

#[inline]
pub(super) fn is_tcp(key: &FlowKey) -> bool {
    key.source_port == PORT || key.destination_port == PORT
}

fn is_multicast(key: &FlowKey) -> bool {
    let (high, low) = key.destination.halves();
    if key.destination.is_v4() { low >> 28 & 0xf == 0xe } else { high >> 56 == 0xff }
}

/// Whether a message that is cut ends within its header, so that it is not used.
pub(super) const fn is_header_cut(message: &[u8]) -> bool {
    message.len() < HEADER
}

/// Whether the capture ends within the header of the message that a segment may begin with.
pub(super) const fn is_segment_cut(segment: &Tcp<'_>) -> bool {
    let captured = segment.payload.len();
    captured < segment.payload_length as usize && captured < size_of::<u16>() + HEADER
}

/// Observes the message in a datagram.
pub(super) fn datagram<S: Sink>(payload: &[u8], to: &mut Emitter<'_, S>) {
    if let Some(message) = message(payload) {
        emit(&message, to);
    }
}

/// Observes the messages of one kind at the start of a segment's payload, if it goes to, or comes from, the server: what
/// seems to be a query from port 53 is the middle of an answer.
#[inline(never)]
pub(super) fn segment<S: Sink>(segment: &Tcp<'_>, key: &FlowKey, wanted: Qr, mut to: Emitter<'_, S>) {
    let server = match wanted {
        Qr::Query => key.destination_port,
        Qr::Response => key.source_port,
    };
    if server != PORT {
        return;
    }
    let mut rest = segment.payload;
    // Only the first message is at the same offset in query and response, so that both may be cut alike by the capture.
    let mut may_be_cut = rest.len() < segment.payload_length as usize;
    loop {
        let Some((length, bytes)) = rest.split_first_chunk() else { return };
        let length = usize::from(u16::from_be_bytes(*length));
        let (bytes, next) = bytes.split_at(length.min(bytes.len()));
        match message(bytes) {
            Some(message) if one_question(bytes) && (message.whole || may_be_cut) => {
                if message.qr == wanted {
                    emit(&message, &mut to);
                }
            }
            _ => return,
        }
        (rest, may_be_cut) = (next, false);
    }
}

fn emit<S: Sink>(message: &Message, to: &mut Emitter<'_, S>) {
    match message.qr {
        Qr::Query => to.request(Kind::Dns, message.word, 0),
        Qr::Response => to.response(Kind::Dns, message.word, 0),
    }
}

fn one_question(message: &[u8]) -> bool {
    message.get(4..6) == Some(&[0, 1])
}

/// Parses a message as far as it is captured; `None` if the header is cut or the opcode is not paired.
fn message(bytes: &[u8]) -> Option<Message> {
    let (header, question) = bytes.split_first_chunk::<HEADER>()?;
    let qr = if header[2] & 0x80 == 0 { Qr::Query } else { Qr::Response };
    let opcode = header[2] >> 3 & 0xf;
    if opcode == STATEFUL {
        return None;
    }
    let id = u64::from(u16::from_be_bytes([header[0], header[1]])) | u64::from(opcode) << 16;
    // Counts other than one question do not occur in practice; the first question is hashed all the same.
    if header[4] | header[5] == 0 {
        return Some(Message { qr, word: hash::finish(id), whole: true });
    }
    let (name, rest) = question.split_at(name_length(question));
    let captured = rest.len().min(4);
    // A cut question must differ from one that has zeros there. So the length of its name must not be mixed with the id;
    // for whole questions that does no harm, since their names differ in other bytes, too.
    let missing = 4 - captured as u64;
    let length = (name.len() as u64) << if missing > 0 { 40 } else { 0 };
    let mut state = hash::absorb(id | missing << 32, length);
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        // Lengths of labels are below 64, so they are never taken for letters.
        word.make_ascii_lowercase();
        state = hash::absorb(state, u64::from_le_bytes(word));
    }
    let mut type_and_class = [0; 8];
    type_and_class[..captured].copy_from_slice(&rest[..captured]);
    let word = hash::finish(hash::absorb(state, u64::from_le_bytes(type_and_class)));
    Some(Message { qr, word, whole: captured == 4 })
}

/// The length of the name that `bytes` begin with, or of its captured part. A byte that is not a label length (a
/// compression pointer) ends it.
fn name_length(bytes: &[u8]) -> usize {
    /// The longest name (RFC 1035 §2.3.4).
    const LONGEST: usize = 255;
    let mut at = 0;
    while at < LONGEST {
        match bytes.get(at) {
            None => break,
            Some(0) => return at + 1,
            Some(&length @ 1..64) => at += 1 + usize::from(length),
            Some(_) => return at.min(bytes.len()),
        }
    }
    at.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Tcp;
    use crate::pair::tests::{Pair, flow, segment};
    use dwell_types::{Leg, Match, protocol};
    use proptest::prelude::*;

    const QUERY: u8 = 0x01;
    const RESPONSE: u8 = 0x81;

    fn message(flags: u8, id: u16, name: &str, kind: u16, more: &[u8]) -> Vec<u8> {
        let mut bytes = id.to_be_bytes().to_vec();
        bytes.extend([flags, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        for label in name.split('.').filter(|label| !label.is_empty()) {
            bytes.push(label.len() as u8);
            bytes.extend(label.as_bytes());
        }
        bytes.push(0);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1]);
        bytes.extend(more);
        bytes
    }

    fn pair(port: u16) -> Pair {
        let key = FlowKey { destination_port: port, ..flow(protocol::UDP) };
        Pair::between(&[Match::Dns], key)
    }

    fn framed(messages: &[Vec<u8>]) -> Vec<u8> {
        messages.iter().flat_map(|m| [&(m.len() as u16).to_be_bytes()[..], m].concat()).collect()
    }

    #[test]
    fn the_same_question_with_the_same_id() {
        let mut pair = pair(PORT);
        let query = pair.client_udp(&message(QUERY, 7, "wWw.example.org", 65, &[]));
        assert_eq!(query.requests(), [Leg::Both]);
        let mut server = |m: &[u8]| pair.server_udp(m).answers(&query, Leg::Both);
        assert!(server(&message(RESPONSE, 7, "www.EXAMPLE.org", 65, b"answers")));
        assert!(!server(&message(RESPONSE, 8, "www.example.org", 65, &[])));
        assert!(!server(&message(RESPONSE, 7, "www.example.com", 65, &[])));
        assert!(!server(&message(RESPONSE, 7, "www.example", 65, &[])));
        assert!(!server(&message(RESPONSE, 7, "www.example.org", 97, &[])), "65 is A, 97 is a");
        assert!(!server(&message(RESPONSE | 4 << 3, 7, "www.example.org", 65, &[])), "notify");
        assert!(!server(&message(QUERY, 7, "www.example.org", 65, &[])), "a query of the other side");
        let mut none = message(RESPONSE, 7, "www.example.org", 65, &[]);
        none[5] = 0;
        assert!(!server(&none));
    }

    #[test]
    fn a_cut_question_is_not_one_that_ends_there() {
        let whole = message(QUERY, 7, "example.org", 65, &[]);
        for missing in 1..=4 {
            let mut pair = pair(PORT);
            let query = pair.client_udp(&whole[..whole.len() - missing]);
            let mut ends = message(RESPONSE, 7, "example.org", 65, &[]);
            let zeros = ends.len() - missing..;
            ends[zeros].fill(0);
            assert!(!pair.server_udp(&ends).answers(&query, Leg::Both), "{missing}");
        }
    }

    /// The captured parts of two names differ by a zero at the end, and their ids by the same bits as their lengths.
    #[test]
    fn lengths_and_transaction_ids_are_apart() {
        let cut = |flags, id, end: &[u8]| {
            let header = message(flags, id, "", 1, &[])[..12].to_vec();
            [&header[..], &[4, b'a'], end].concat()
        };
        let lengths = [2, 3];
        let mut pair = pair(PORT);
        let query = pair.client_udp(&cut(QUERY, 0, &[]));
        assert!(!pair.server_udp(&cut(RESPONSE, lengths[0] ^ lengths[1], &[0])).answers(&query, Leg::Both));
        assert!(pair.server_udp(&cut(RESPONSE, 0, &[])).answers(&query, Leg::Both));
    }

    /// Port 5353 is that of multicast DNS, and one that a client may choose.
    #[test]
    fn a_client_at_any_port() {
        for source_port in [PORT, 123, 443, 5353, u16::MAX] {
            let key = FlowKey { source_port, destination_port: PORT, ..flow(protocol::UDP) };
            let mut pair = Pair::between(&[Match::Dns], key);
            let query = pair.client_udp(&message(QUERY, 7, "example.org", 1, &[]));
            let answer = pair.server_udp(&message(RESPONSE, 7, "example.org", 1, &[]));
            assert!(answer.answers(&query, Leg::Both), "from port {source_port}");
        }
    }

    #[test]
    fn not_dns() {
        let query = message(QUERY, 0, "printer.local", 12, &[]);
        let multicast = FlowKey { source_port: 5353, destination_port: 5353, ..flow(protocol::UDP) };
        assert!(Pair::between(&[Match::Dns], multicast).client_udp(&query).seen.is_empty());
        assert!(pair(5353).client_udp(&query).seen.is_empty());
        assert!(pair(54).client_udp(&query).seen.is_empty());
        for group in ["224.0.0.251", "ff02::fb"] {
            let destination = group.parse::<std::net::IpAddr>().unwrap().into();
            let key = FlowKey { destination, destination_port: PORT, ..flow(protocol::UDP) };
            assert!(Pair::between(&[Match::Dns], key).client_udp(&query).seen.is_empty());
        }
        assert!(pair(PORT).client_udp(&message(STATEFUL << 3, 0, "", 1, &[])).seen.is_empty());
        assert!(pair(PORT).client_udp(&query[..11]).seen.is_empty());
    }

    proptest! {
        /// Query and response cut at the same byte still match.
        #[test]
        fn cut_alike(name in "([a-zA-Z]{1,20}\\.){0,8}", cut in 12usize..200) {
            let mut pair = pair(PORT);
            let cut = |m: Vec<u8>| m[..cut.min(m.len())].to_vec();
            let query = pair.client_udp(&cut(message(QUERY, 9, &name, 1, &[])));
            let answer = cut(message(RESPONSE, 9, &name.to_ascii_uppercase(), 1, &[]));
            prop_assert!(pair.server_udp(&answer).answers(&query, Leg::Both));
        }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(name_length(&bytes) <= bytes.len());
            let mut pair = pair(PORT);
            prop_assert!(pair.client_udp(&bytes).seen.len() <= 1);
            prop_assert!(tcp_pair().client(&whole_segment(&bytes)).seen.len() <= bytes.len() / 14);
        }
    }

    fn tcp_pair() -> Pair {
        Pair::between(&[Match::Dns], FlowKey { destination_port: PORT, ..flow(protocol::TCP) })
    }

    fn whole_segment(payload: &[u8]) -> Tcp<'_> {
        Tcp { payload, payload_length: payload.len() as u32, ..segment(Tcp::ACK, 1, 1) }
    }

    #[test]
    fn messages_over_tcp() {
        let mut pair = tcp_pair();
        let names = ["a.example", "b.example"];
        let queries = framed(&names.map(|name| message(QUERY, 1, name, 1, &[])));
        let answers = framed(&names.map(|name| message(RESPONSE, 1, name, 1, b"addresses")));
        let (asked, answered) = (pair.client(&whole_segment(&queries)), pair.server(&whole_segment(&answers)));
        assert_eq!((asked.requests().len(), answered.seen.len()), (2, 2));
        assert!(answered.answers(&asked, Leg::Both));

        // The second message is cut inside its question, by the capture or by the end of the segment: only the first counts.
        let part = &answers[..answers.len() - 18];
        for payload_length in [answers.len(), part.len()] {
            let cut = pair.server(&Tcp { payload_length: payload_length as u32, ..whole_segment(part) });
            assert!(cut.answers(&asked, Leg::Both) && cut.seen.len() == 1);
        }
        // A segment that begins in the middle of a message.
        assert!(pair.server(&whole_segment(&answers[5..])).seen.is_empty());
        // One that looks like a query there.
        assert!(pair.server(&whole_segment(&queries)).seen.is_empty());
        assert!(pair.client(&whole_segment(&answers)).seen.is_empty());
        // Many messages in one segment.
        let many = framed(&vec![message(QUERY, 1, "", 1, &[]); 40]);
        assert_eq!(pair.client(&whole_segment(&many)).seen.len(), 40);
    }

    /// A question that the capture cuts is cut alike in the response; one that continues in the next segment is not.
    #[test]
    fn questions_that_end_early_over_tcp() {
        let [query, answer] = [QUERY, RESPONSE].map(|flags| framed(&[message(flags, 1, "a.example", 1, &[])]));
        for captured in 14..query.len() {
            let mut pair = tcp_pair();
            let [asked, answered] =
                [&query, &answer].map(|all| Tcp { payload: &all[..captured], ..whole_segment(all) });
            let (asked, answered) = (pair.client(&asked), pair.server(&answered));
            assert!(answered.answers(&asked, Leg::Both), "{captured}");
            for part in [&query, &answer].map(|all| whole_segment(&all[..captured])) {
                assert!(pair.client(&part).seen.is_empty(), "{captured}");
            }
        }
    }
}
