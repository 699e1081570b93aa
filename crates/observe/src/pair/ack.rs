//! `tcp-ack`: a segment that takes sequence space → the first segment of the other side that acknowledges exactly its
//! end.
//!
//! Hashed: the flow, the side that sent the data, and the sequence number after the segment (payload, SYN and FIN
//! count) or the acknowledgement number, and in which lap a fast flow is (`wraps`). A RST is not a request, but can be a
//! response: it answers a SYN that is refused.
//!
//! A delay includes the time for which the receiver delays the ACK (up to 500 ms by RFC 9293 §3.8.6.3). An ACK that
//! covers several segments answers only the last of them; the others stay open, as their delay cannot be separated from
//! the receiver's waiting.
//!
//! A retransmission has the id of the first transmission if it ends at the same sequence number; a repacketised one is
//! a new request. A keep-alive probe of one byte repeats the id of data acknowledged long ago, so its delay is
//! measured; one without a byte takes no sequence space.
//!
//! Plain ids contain the same flow, side and numbers without hashing the numbers, for methods that follow them; a SYN
//! then only marks where they begin.
//!
//! Broken by: middleboxes that shift the sequence numbers of one direction only before or only after the point;
//! captures with segmentation offload, where one frame stands for many segments (the end of the last of them is
//! measured); frames whose length fields the capturing host has not filled in yet.

use super::emitter::Emitter;
use super::ids::Kind;
use super::wraps::Wraps;
use crate::packet::Tcp;
use dwell_types::Sink;

#[inline(always)]
pub(super) fn response<S: Sink>(segment: &Tcp<'_>, wraps: &Wraps, to: &mut Emitter<'_, S>) {
    if segment.has(Tcp::ACK) {
        let number = segment.acknowledgement;
        to.response(Kind::Ack, word(number, wraps.lap((to.flow.hash, to.flow.receiver), number)), 0);
    }
}

#[inline(always)]
pub(super) fn request<S: Sink>(segment: &Tcp<'_>, wraps: &mut Wraps, to: &mut Emitter<'_, S>) {
    let (is_request, end) = (must_be_acknowledged(segment), segment.end());
    let side = (to.flow.hash, to.flow.sender);
    wraps.advance(side, is_request, segment.sequence, end);
    let lap = wraps.lap(side, end);
    to.request_if(is_request, Kind::Ack, word(end, lap));
}

/// A sequence number in this lap.
#[inline(always)]
const fn word(number: u32, lap: u32) -> u64 {
    (lap as u64) << 32 | number as u64
}

/// The acknowledgement as a response with a plain id (see [`dwell_types::IdForm`]).
#[inline(always)]
pub(super) fn plain_response<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if segment.has(Tcp::ACK) {
        let id = to.ids.plain(to.flow.hash, Kind::Ack, to.flow.receiver, segment.acknowledgement);
        to.response_with(Kind::Ack, id, must_be_acknowledged(segment).into());
    }
}

/// The segment as a request with a plain id; a SYN only marks the sequence number after it.
#[inline(always)]
pub(super) fn plain_request<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if must_be_acknowledged(segment) {
        let is_syn = segment.has(Tcp::SYN);
        let (start, end) = match segment.sequence {
            sequence if is_syn => (sequence.wrapping_add(1), sequence.wrapping_add(1)),
            sequence => (sequence, segment.end()),
        };
        let id = to.ids.plain(to.flow.hash, Kind::Ack, to.flow.sender, end);
        to.request_with(Kind::Ack, id, start);
    }
}

/// Whether the receiver must acknowledge the segment: it takes sequence space, and does not end the connection at once.
#[inline]
pub(super) const fn must_be_acknowledged(segment: &Tcp<'_>) -> bool {
    // Not `&&`: each condition is hard for the branch predictor.
    (segment.numbers() > 0) & !segment.has(Tcp::RST)
}

#[cfg(test)]
mod tests {
    use crate::packet::{Tcp, Transport};
    use crate::pair::tests::{Pair, flow, segment};
    use dwell_types::{FlowKey, Leg, Match, protocol};
    use proptest::prelude::*;

    const BOTH: Leg = Leg::Both;

    fn data(sequence: u32, length: u32) -> Tcp<'static> {
        Tcp { payload_length: length, ..segment(Tcp::ACK, sequence, 1) }
    }

    #[test]
    fn syn_payload_and_fin_ask_and_rst_does_not() {
        let mut pair = Pair::new(&[Match::TcpAck]);
        for asking in [segment(Tcp::SYN, 9, 0), segment(Tcp::FIN | Tcp::ACK, 9, 1), data(9, 1)] {
            let request = pair.client(&asking);
            assert!(pair.server(&segment(Tcp::ACK, 1, 10)).answers(&request, BOTH));
            assert!(pair.server(&segment(Tcp::RST | Tcp::ACK, 1, 10)).answers(&request, BOTH));
            assert!(!pair.server(&segment(Tcp::RST, 1, 10)).answers(&request, BOTH), "without ACK");
        }
        assert_eq!(pair.client(&segment(Tcp::ACK, 9, 1)).requests(), []);
        assert_eq!(pair.client(&segment(Tcp::RST, 9, 1)).requests(), []);
        assert_eq!(pair.client(&Tcp { payload_length: 5, ..segment(Tcp::RST, 9, 1) }).requests(), []);
    }

    #[test]
    fn a_packet_answers_before_it_asks() {
        let mut pair = Pair::new(&[Match::TcpAck]);
        let seen = pair.client(&data(5, 5)).seen;
        assert!(matches!(seen[..], [dwell_types::Observation::Response(_), dwell_types::Observation::Request(_)]));
    }

    /// Sends `from..to` of a flow in segments of 1 MiB.
    fn send(pair: &mut Pair, from: u32, mebibytes: u32) {
        (0..mebibytes).for_each(|n| _ = pair.client(&data(from.wrapping_add(n << 20), 1 << 20)));
    }

    /// Once numbers have begun again, the same number is another segment's, and its ACK answers that; also after a reset
    /// with an arbitrary number.
    #[test]
    fn numbers_that_begin_again_are_others() {
        let mut pair = Pair::new(&[Match::TcpAck]);
        let old = pair.client(&data(100, 50));
        send(&mut pair, 150, 4_096);
        pair.client(&segment(Tcp::RST, 1 << 30, 0));
        pair.client(&segment(Tcp::ACK, u32::MAX - 50, 1));
        let new = pair.client(&data(100, 50));
        let ack = pair.server(&segment(Tcp::ACK, 1, 150));
        assert!(ack.answers(&new, BOTH) && !ack.answers(&old, BOTH));
        let late = pair.client(&data(u32::MAX - 19, 10));
        assert!(pair.server(&segment(Tcp::ACK, 1, u32::MAX - 9)).answers(&late, BOTH));
    }

    /// The segment that crosses zero, or enters another quarter, comes after those behind it, in any lap; all are answered.
    #[test]
    fn segments_that_come_late_are_answered() {
        for mebibytes in [0, 1_000, 3_000, 5_000, 9_000] {
            for quarter in 0..4u32 {
                let mut pair = Pair::new(&[Match::TcpAck]);
                let border = quarter << 30;
                send(&mut pair, border.wrapping_sub(10).wrapping_sub(mebibytes << 20), mebibytes);
                let behind = [10, 110, 210].map(|at| pair.client(&data(border + at, 100)));
                let late = pair.client(&data(border.wrapping_sub(10), 20));
                let more = pair.client(&data(border + 310, 100));
                for (at, sent) in [(10, &late), (110, &behind[0]), (210, &behind[1]), (310, &behind[2]), (410, &more)] {
                    let ack = pair.server(&segment(Tcp::ACK, 1, border + at));
                    assert!(ack.answers(sent, BOTH), "{mebibytes} {quarter} {at}");
                }
            }
        }
    }

    /// 500 flows cross zero together, each with ten segments in flight: all are answered.
    #[test]
    fn many_flows_cross_zero() {
        let flow = |port: u16| FlowKey { source_port: port, ..flow(protocol::TCP) };
        let mut pair = Pair::new(&[Match::TcpAck]);
        let number = |n: u32| (1_000 * n).wrapping_sub(5_500);
        let sent: Vec<_> = (0..10u32)
            .flat_map(|n| (0..500).map(move |port| (n, port)))
            .map(|(n, port)| (n, port, pair.packet(flow(port), Transport::Tcp(data(number(n), 1_000)))))
            .collect();
        for (n, port, request) in sent {
            let ack = pair.packet(flow(port).reversed(), Transport::Tcp(segment(Tcp::ACK, 1, number(n + 1))));
            assert!(ack.answers(&request, BOTH), "{port} {n}");
        }
    }

    /// Plain ids and tokens contain the sequence numbers of a segment unhashed; the upper half depends on the side.
    #[test]
    fn plain_ids_have_numbers() {
        let mut pair = Pair::plain(&[Match::TcpAck, Match::TcpTs]);
        let sent = pair.client(&Tcp { flags: Tcp::ACK | Tcp::FIN, ..data(u32::MAX - 4, 9) });
        let (asked, answered) = (sent.request(BOTH), sent.response(BOTH));
        assert_eq!((asked.id.0 as u32, asked.token), (5, u32::MAX - 4));
        assert_eq!((answered.id.0 as u32, answered.token), (1, 1));
        let ack = pair.server(&segment(Tcp::ACK, 1, 5));
        assert!(ack.answers(&sent, BOTH));
        assert_eq!(ack.response(BOTH).token, 0);
        assert_eq!(pair.client(&data(5, 3)).request(BOTH).id.0 >> 32, asked.id.0 >> 32);
        assert_ne!(pair.server(&data(5, 3)).request(BOTH).id.0 >> 32, asked.id.0 >> 32, "the other side");
        let syn = pair.client(&Tcp { payload_length: 7, ..segment(Tcp::SYN, 9, 0) }).request(BOTH);
        assert_eq!((syn.id.0 as u32, syn.token), (10, 10));
    }

    proptest! {
        #[test]
        fn exactly_the_end_of_the_other_side(sequence: u32, length in 1u32..70_000, fin: bool, off in -3i32..=3) {
            let mut pair = Pair::new(&[Match::TcpAck]);
            let flags = if fin { Tcp::ACK | Tcp::FIN } else { Tcp::ACK };
            let request = pair.client(&Tcp { flags, ..data(sequence, length) });
            let end = sequence.wrapping_add(length).wrapping_add(fin.into());
            let ack = segment(Tcp::ACK, 77, end.wrapping_add_signed(off));
            prop_assert_eq!(pair.server(&ack).answers(&request, BOTH), off == 0);
            prop_assert!(!pair.client(&ack).answers(&request, BOTH), "its own side");
            let again = pair.client(&Tcp { flags, ..data(sequence, length) });
            prop_assert_eq!(again.request(BOTH).id, request.request(BOTH).id);
        }
    }
}
