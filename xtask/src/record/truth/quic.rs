//! The handshakes of QUIC, told by the ids of both ends, by what reached them, and by when they sent it.
//!
//! - *beyond*: a client's Initial packet → the server's first packet. What the server sends first answers the copy that
//!   reached it first; what it sends later, which may be a hello repeated, one of the flight that arrived last, which it
//!   acknowledges. Each copy has a Retry of its own, in the same order.
//! - *before*: the server's hello or Retry → the client's first packet to the id that the server gave itself in it.
//! - *sum*: the client's Initial packet that this hello or Retry answers → the same packet.
//!
//! What a host sends at once, without packets of another type between, is one request, timed from its first packet. A
//! connection has one exchange of each: that after a Retry has no other.

use super::{Copy, Exchanges, Rule, arrived_first, arrived_ns};
use crate::record::headers::{Message, Quic, QuicPacket};
use crate::record::line::Journey;
use dwell_types::FlowKey;
use std::collections::HashMap;

/// Packets that a host sent with no longer pause between them are one flight. Its timers are longer.
const FLIGHT_NS: i64 = 5_000_000;

/// Whether a packet belongs to the flight of the one before. A hello after the rest of a flight is another one, and so is a
/// Retry with an id of its own.
pub(super) fn is_part(packet: Copy, last: Copy) -> bool {
    packet.id == last.id && packet.number == last.number + 1 && packet.sent_ns - last.sent_ns <= FLIGHT_NS
}

/// What has crossed the point of a connection, which is named by the client's flow and id.
#[derive(Debug, Default)]
pub(super) struct Connection {
    /// The server's first packet.
    is_answered: bool,
    /// That is a Retry.
    is_retried: bool,
    /// The client's packet after the server's hello or Retry.
    is_complete: bool,
}

/// For every frame, how many packets of QUIC its sender sent before to the same id, whether or not they were lost.
pub(super) fn numbers(journeys: &[Journey]) -> Vec<usize> {
    let mut counts: HashMap<(FlowKey, u64), usize> = HashMap::new();
    let mut number = |journey: &Journey| {
        let headers = journey.headers()?;
        let Message::Quic(quic) = headers.message else { return None };
        let count = counts.entry((headers.flow, quic.destination)).or_default();
        *count += 1;
        Some(*count - 1)
    };
    journeys.iter().map(|journey| number(journey).unwrap_or_default()).collect()
}

impl Exchanges {
    pub(super) fn quic(&mut self, flow: FlowKey, quic: Quic, copy: Copy) {
        let copy = Copy { id: quic.source, ..copy };
        if quic.is_of_client { self.quic_client(flow, quic, copy) } else { self.quic_server(flow, quic, copy) }
    }

    fn quic_client(&mut self, flow: FlowKey, quic: Quic, copy: Copy) {
        let connection = self.connections.entry((flow, quic.source)).or_default();
        let [beyond, sum] = [Rule::QuicBeyond, Rule::QuicSum].map(|rule| (rule, flow, quic.source, 0));
        let before = (Rule::QuicBefore, flow.reversed(), quic.source, 0);
        let gave_id = |copy: &&Copy| copy.id == quic.destination;
        if let Some(&asked) = self.open.get(&before).and_then(|copies| copies.iter().find(gave_id)) {
            connection.is_complete = true;
            let is_retry = connection.is_retried;
            self.response_to(before, copy, |copies| arrived_first(copies, copy.sent_ns, |asked| gave_id(&asked)));
            self.response_to(sum, copy, |copies| answered(copies, &asked, is_retry));
        } else if quic.packet == QuicPacket::Initial && !connection.is_answered {
            self.request(beyond, copy);
            self.request(sum, copy);
        }
    }

    fn quic_server(&mut self, flow: FlowKey, quic: Quic, copy: Copy) {
        let client = (flow.reversed(), quic.destination);
        let is_retry = quic.packet == QuicPacket::Retry;
        let beyond = (Rule::QuicBeyond, client.0, client.1, 0);
        self.response_to(beyond, copy, |copies| answered(copies, &copy, is_retry));
        let Some(connection) = self.connections.get_mut(&client) else { return };
        connection.is_retried |= !connection.is_answered && is_retry;
        connection.is_answered = true;
        if quic.asks_client() && !connection.is_complete {
            self.request((Rule::QuicBefore, flow, client.1, 0), copy);
        }
    }
}

/// The copy of the client's packet that a server's packet answers.
fn answered(copies: &[Copy], answer: &Copy, is_retry: bool) -> Option<usize> {
    let last_flight = || of_last_flight(copies, answer.sent_ns);
    match answer.number {
        // A repeat that crossed the point after a Retry is no request.
        number if is_retry => arrived_as(copies, answer.sent_ns, number).or_else(last_flight),
        0 => arrived_first(copies, answer.sent_ns, |_| true),
        _ => last_flight(),
    }
}

/// The copy that reached its destination after so many others, if it did before `left_ns`.
fn arrived_as(copies: &[Copy], left_ns: i64, number: usize) -> Option<usize> {
    let mut arrived: Vec<(i64, usize)> =
        copies.iter().zip(0..).filter_map(|(copy, at)| Some((arrived_ns(copy, left_ns)?, at))).collect();
    arrived.sort_unstable();
    arrived.get(number).map(|&(_, at)| at)
}

/// Of the flight of which something reached its destination last before `left_ns`, the copy that did so first.
fn of_last_flight(copies: &[Copy], left_ns: i64) -> Option<usize> {
    let arrived_ns = |at: usize| arrived_ns(&copies[at], left_ns);
    let last = (0..copies.len()).filter(|&at| arrived_ns(at).is_some()).max_by_key(|&at| arrived_ns(at))?;
    let begin = (0..=last).rev().find(|&at| copies[at].begins)?;
    (begin..=last).filter(|&at| arrived_ns(at).is_some()).min_by_key(|&at| arrived_ns(at))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{MS, journey_of, of};
    use super::super::{Truth, truth};
    use super::*;
    use crate::record::headers::tests::{long, udp};
    use crate::record::line::Journey;

    const INITIAL: u8 = 0xc0;
    const HANDSHAKE: u8 = 0xe0;
    const RETRY: u8 = 0xf0;
    /// Bytes of a datagram with an acknowledgement alone, and of a full one.
    const LITTLE: u16 = 60;
    const FULL: u16 = 1200;
    /// Ids: of the client's first packets, of both ends, and of a server that asks to begin again, twice.
    const CHOSEN: &[u8] = &[7; 8];
    const MINE: &[u8] = &[1; 8];
    const ITS: &[u8] = &[2; 8];
    const RETRIED: [&[u8]; 2] = [&[3; 8], &[4; 8]];

    type Times = (i64, i64, Option<i64>);

    /// A client's datagram to this id: when it entered, crossed and left.
    fn client(first: u8, to: &[u8], (entered, crossed, left): Times) -> Journey {
        let frame = udp((0x0a0a_0001, 5000), (0x0a14_0101, 443), &long(first, 1, to, MINE), FULL);
        journey_of(true, frame, entered, crossed, left)
    }

    fn server(first: u8, from: &[u8], length: u16, (entered, crossed, left): Times) -> Journey {
        let frame = udp((0x0a14_0101, 443), (0x0a0a_0001, 5000), &long(first, 1, MINE, from), length);
        journey_of(false, frame, entered, crossed, left)
    }

    /// Of each leg's only exchange: the delay and that since the last request in milliseconds, the number of requests.
    fn legs(truth: &Truth) -> [(Option<i64>, i64, usize); 3] {
        [Rule::QuicBeyond, Rule::QuicBefore, Rule::QuicSum].map(|rule| {
            let rows = of(truth, rule);
            assert_eq!(rows.len(), 1, "{rule:?}");
            (rows[0].delay_ns.map(|delay| delay / MS), rows[0].since_last_ns / MS, rows[0].requests)
        })
    }

    /// Hellos of two datagrams each way are one request. Nothing that follows is an exchange.
    #[test]
    fn three_legs() {
        let mut journeys = vec![
            client(INITIAL, CHOSEN, (0, 5, None)),
            client(INITIAL, CHOSEN, (1, 6, Some(10))),
            server(INITIAL, ITS, LITTLE, (11, 16, Some(20))),
            server(INITIAL, ITS, FULL, (12, 17, Some(21))),
            server(INITIAL, ITS, FULL, (13, 18, Some(22))),
            client(INITIAL, ITS, (23, 30, Some(40))),
        ];
        let rest = [
            client(HANDSHAKE, ITS, (24, 31, Some(41))),
            client(INITIAL, CHOSEN, (25, 32, Some(42))),
            server(INITIAL, ITS, FULL, (43, 50, Some(60))),
            client(INITIAL, ITS, (61, 70, Some(80))),
        ];
        journeys.extend(rest);
        let truth = truth(&journeys);
        assert_eq!(legs(&truth), [(Some(11), 11, 1), (Some(13), 13, 1), (Some(25), 25, 1)]);
        let count = truth.counts[&Rule::QuicBefore];
        assert_eq!((count.requests, count.repeats, count.answered), (1, 0, 1));
    }

    /// What the server sends first answers the first that arrived, of which an earlier one was lost; what it sends after a
    /// hello that was lost, the last.
    #[test]
    fn what_was_answered() {
        let of = |first: Option<i64>, hello: bool, length: u16| {
            let times = [(0, 5, first), (200, 205, Some(210)), (600, 605, Some(610))];
            let mut journeys = times.map(|times| client(INITIAL, CHOSEN, times)).to_vec();
            if hello {
                let lost = server(INITIAL, ITS, FULL, (11, 0, None));
                journeys.push(Journey { point: None, crossed_ns: None, second: None, ..lost });
            }
            journeys.push(server(INITIAL, ITS, length, (611, 620, Some(630))));
            journeys.push(server(INITIAL, ITS, FULL, (612, 621, Some(631))));
            journeys.push(client(INITIAL, ITS, (640, 645, Some(650))));
            legs(&truth(&journeys))
        };
        assert_eq!(of(None, false, FULL), [(Some(415), 15, 3), (Some(25), 25, 1), (Some(440), 40, 3)]);
        assert_eq!(of(Some(10), false, FULL)[0], (Some(615), 15, 3));
        assert_eq!(of(Some(10), false, LITTLE)[0], (Some(615), 15, 3));
        assert_eq!(of(Some(10), true, FULL), [(Some(15), 15, 3), (Some(25), 25, 1), (Some(40), 40, 3)]);
        assert_eq!(of(Some(10), true, LITTLE), [(Some(15), 15, 3), (Some(24), 24, 1), (Some(40), 40, 3)]);
    }

    /// A Retry answers the Initial packet before it, and is told from another by its id. The first is lost.
    #[test]
    fn retries() {
        let truth = truth(&[
            client(INITIAL, CHOSEN, (0, 5, None)),
            client(INITIAL, CHOSEN, (200, 205, Some(210))),
            server(RETRY, RETRIED[0], 100, (211, 220, None)),
            client(INITIAL, CHOSEN, (600, 605, Some(610))),
            server(RETRY, RETRIED[1], 100, (611, 620, Some(630))),
            client(INITIAL, RETRIED[1], (631, 640, Some(650))),
            server(INITIAL, ITS, FULL, (651, 660, Some(670))),
            client(INITIAL, ITS, (671, 680, Some(690))),
        ]);
        assert_eq!(legs(&truth), [(Some(15), 15, 2), (Some(20), 20, 2), (Some(435), 435, 2)]);
    }

    /// A hello repeated at once, after the rest of its flight, is another request.
    #[test]
    fn a_repeated_hello() {
        let truth = truth(&[
            client(INITIAL, CHOSEN, (0, 5, Some(10))),
            server(INITIAL, ITS, FULL, (11, 20, Some(30))),
            server(HANDSHAKE, ITS, FULL, (11, 20, Some(30))),
            server(INITIAL, ITS, FULL, (12, 21, Some(31))),
            client(INITIAL, ITS, (31, 40, Some(50))),
        ]);
        assert_eq!(legs(&truth)[1], (Some(20), 19, 2));
    }

    /// Three packets that were held arrive together. Of their three Retries the first is lost, and the client follows the
    /// second, although the third has crossed the point when it does.
    #[test]
    fn several_retries_at_once() {
        let lost = server(RETRY, &[5; 8], 100, (601, 0, None));
        let truth = truth(&[
            client(INITIAL, CHOSEN, (0, 5, Some(600))),
            client(INITIAL, CHOSEN, (200, 205, Some(600))),
            client(INITIAL, CHOSEN, (500, 505, Some(600))),
            Journey { point: None, crossed_ns: None, second: None, ..lost },
            server(RETRY, RETRIED[0], 100, (602, 610, Some(620))),
            server(RETRY, RETRIED[1], 100, (603, 611, Some(621))),
            client(INITIAL, RETRIED[0], (621, 630, Some(640))),
        ]);
        assert_eq!(legs(&truth), [(Some(405), 105, 3), (Some(20), 19, 2), (Some(425), 125, 3)]);
    }

    /// A packet to the server's id that an acknowledgement has named, before the hello has arrived, answers nothing.
    #[test]
    fn an_answer_to_nothing() {
        let truth = truth(&[
            client(INITIAL, CHOSEN, (0, 5, Some(10))),
            server(INITIAL, ITS, FULL, (11, 20, None)),
            client(INITIAL, CHOSEN, (200, 205, Some(210))),
            server(INITIAL, ITS, LITTLE, (211, 220, Some(230))),
            client(INITIAL, ITS, (300, 305, Some(310))),
        ]);
        assert_eq!(legs(&truth), [(Some(15), 15, 1), (None, 285, 1), (Some(300), 300, 1)]);
    }
}
