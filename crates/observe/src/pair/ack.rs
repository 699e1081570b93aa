//! `tcp-ack`: a segment that takes sequence space → the first segment of the other side that acknowledges exactly its
//! end.
//!
//! Hashed: the flow, the side that sent the data, the sequence number after the segment (payload, SYN and FIN count) or
//! the acknowledgement number. RST asks for nothing, but acknowledges: it is the answer to a SYN that is refused.
//!
//! A delay includes what the receiver waits before it acknowledges (delayed ACKs, up to 500 ms by RFC 9293 §3.8.6.3).
//! An ACK that covers several segments answers the last of them only; the others stay open, as their delay cannot be
//! told from the receiver's waiting.
//!
//! Retransmissions have the id of the first transmission if they end where it ended; repacketised ones are new
//! requests. Keep-alive probes of one byte repeat the id of data that was acknowledged long ago, so that their delay is
//! measured; those without a byte take no sequence space.
//!
//! Broken by: middleboxes that shift the sequence numbers of one direction only before or after the point; captures
//! with segmentation offload, where one frame stands for many segments (the end of the last of them is measured); wrong
//! lengths of frames that the capturing host has not yet filled in.

use super::ids::Exchange;
use super::seen::Gather;
use crate::packet::Tcp;
use dwell_types::Sink;

#[inline(always)]
pub(super) fn response<S: Sink>(segment: &Tcp<'_>, to: &mut Gather<'_, S>) {
    if segment.has(Tcp::ACK) {
        to.response(Exchange::Ack, segment.acknowledgement.into(), 0);
    }
}

#[inline(always)]
pub(super) fn request<S: Sink>(segment: &Tcp<'_>, to: &mut Gather<'_, S>) {
    to.request_if(asks(segment), Exchange::Ack, segment.end().into());
}

/// Whether the segment takes sequence space, so that its receiver must acknowledge it.
#[inline]
pub(super) const fn asks(segment: &Tcp<'_>) -> bool {
    // Not `&&`: each is hard to foretell.
    ((segment.payload_length > 0) | segment.has(Tcp::SYN | Tcp::FIN)) & !segment.has(Tcp::RST)
}

#[cfg(test)]
mod tests {
    use crate::packet::Tcp;
    use crate::pair::tests::{Pair, segment};
    use dwell_types::{Leg, Match};
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
