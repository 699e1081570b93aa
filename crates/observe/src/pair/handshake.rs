//! `tcp-handshake`: three exchanges with ids of their own.
//!
//! - *beyond* the point: SYN → SYN-ACK. Hashed: the flow, the client's side, the sequence number after the SYN, which
//!   is the acknowledgement number of the SYN-ACK. Tokens: TSval of the SYN, TSecr of the SYN-ACK.
//! - *before* the point: SYN-ACK → the client's ACK. Hashed: the flow, the client's side, the sequence numbers after
//!   both SYNs. Tokens: TSval of the SYN-ACK, TSecr of the ACK.
//! - the *sum*: SYN → the client's ACK. Hashed: the flow, the client's side, the sequence number after the SYN. No
//!   tokens: the ACK does not name the SYN.
//!
//! All three ids have the same upper half, made from fields of the SYN: a sketch that keeps only some exchanges keeps
//! all three of a handshake or none, and one look-up rules out that a segment is the third of any handshake that it
//! keeps.
//!
//! A retransmitted SYN or SYN-ACK has the id of the first. The token tells which of them was answered: hosts advance
//! TSval between retransmissions (every millisecond with Linux). A TSval of 0 counts as no token. A server goes on
//! echoing the SYN that it saw first: if its SYN-ACK to that is lost, the delay is the time since then all the same.
//!
//! Nothing marks the ACK as the third segment of a handshake: any segment from the client may be it, also one with data
//! if the bare ACK was lost. So every segment with ACK and neither SYN nor RST, from either side, is a response of both
//! legs, and `responses.seen` of *before* and *sum* counts all these candidates.
//!
//! Not answers: RST (a refused connection is no handshake), a SYN-ACK that acknowledges any other number than the one
//! after the SYN (an old duplicate), segments with both SYN and FIN.
//!
//! Broken by: a SYN with data of which the server accepts only a part (TCP Fast Open with a rejected cookie: *beyond*
//! and *sum* are missed); middleboxes that shift sequence numbers or answer in place of the server; a client whose
//! first segments after the handshake were all lost before the point (*before* and *sum* are missed: the next segment
//! has another sequence number). In a simultaneous open each SYN-ACK answers the SYN of the other side: *beyond* is
//! measured twice, *before* and *sum* take the first segment after it. The two directions need not pass the same point:
//! *sum* is measured even if the SYN-ACK took another path.

use super::emitter::Emitter;
use super::ids::Kind;
use crate::packet::Tcp;
use dwell_types::Sink;

const KIND: u8 = Tcp::SYN | Tcp::ACK | Tcp::FIN | Tcp::RST;
const SYN_ACK: u8 = Tcp::SYN | Tcp::ACK;

/// SYN alone: the first segment of a connection.
#[inline]
pub(super) const fn opens(segment: &Tcp<'_>) -> bool {
    segment.flags & KIND == Tcp::SYN
}

/// SYN-ACK: the server's answer to it.
#[inline]
pub(super) const fn accepts(segment: &Tcp<'_>) -> bool {
    segment.flags & KIND == SYN_ACK
}

#[inline(always)]
pub(super) fn responses<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if segment.flags & (Tcp::SYN | Tcp::ACK | Tcp::RST) == Tcp::ACK {
        let ids = to.ids.handshake(to.flow.hash, to.flow.sender, segment.sequence);
        if to.wants_responses(ids.sum(), [Kind::Before, Kind::Sum]) {
            to.response_with(Kind::Before, ids.before(segment.acknowledgement), echo(segment));
            to.response_with(Kind::Sum, ids.sum(), 0);
        }
    } else if accepts(segment) {
        let ids = to.ids.handshake(to.flow.hash, to.flow.receiver, segment.acknowledgement);
        to.response_with(Kind::Beyond, ids.beyond(), echo(segment));
    }
}

#[inline(always)]
pub(super) fn requests<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if !segment.has(Tcp::SYN) {
        return;
    }
    let value = segment.timestamps().map_or(0, |(value, _)| value);
    if opens(segment) {
        let ids = to.ids.handshake(to.flow.hash, to.flow.sender, segment.end());
        to.request_with(Kind::Beyond, ids.beyond(), value);
        to.request_with(Kind::Sum, ids.sum(), 0);
    } else if accepts(segment) {
        let ids = to.ids.handshake(to.flow.hash, to.flow.receiver, segment.acknowledgement);
        to.request_with(Kind::Before, ids.before(segment.end()), value);
    }
}

#[inline]
fn echo(segment: &Tcp<'_>) -> u32 {
    segment.timestamps().map_or(0, |(_, echo)| echo)
}

#[cfg(test)]
mod tests {
    use crate::packet::Tcp;
    use crate::pair::tests::{Pair, segment, timestamps};
    use dwell_types::{Leg, Match};

    const SYN: u8 = Tcp::SYN;
    const SYN_ACK: u8 = Tcp::SYN | Tcp::ACK;

    /// Pairs all three legs when sequence numbers wrap within the handshake.
    #[test]
    fn three_legs_across_the_wrap() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let syn = pair.client(&segment(SYN, u32::MAX, 0));
        let answer = pair.server(&segment(SYN_ACK, u32::MAX, 0));
        let ack = pair.client(&segment(Tcp::ACK, 0, 0));
        assert_eq!(syn.requests(), [Leg::Beyond, Leg::Sum]);
        assert!(answer.answers(&syn, Leg::Beyond) && ack.answers(&answer, Leg::Before) && ack.answers(&syn, Leg::Sum));
        assert!(!answer.answers(&syn, Leg::Sum) && !ack.answers(&syn, Leg::Beyond));
    }

    #[test]
    fn the_client_ends_the_handshake_and_nobody_else() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let syn = pair.client(&segment(SYN, 100, 0));
        let answer = pair.server(&segment(SYN_ACK, 100, 101));
        let from_server = pair.server(&segment(Tcp::ACK, 101, 101));
        assert!(!from_server.answers(&answer, Leg::Before) && !from_server.answers(&syn, Leg::Sum));
        let reset = pair.client(&segment(Tcp::ACK | Tcp::RST, 101, 101));
        assert!(reset.seen.is_empty());
        let late = pair.client(&segment(Tcp::ACK, 102, 101));
        assert!(!late.answers(&answer, Leg::Before) && !late.answers(&syn, Leg::Sum));
        let data = pair.client(&Tcp { payload_length: 10, ..segment(Tcp::ACK, 101, 101) });
        assert!(data.answers(&answer, Leg::Before) && data.answers(&syn, Leg::Sum), "data on the third segment");
    }

    #[test]
    fn refusals_and_old_duplicates_are_no_answers() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let syn = pair.client(&segment(SYN, 100, 0));
        assert!(pair.server(&segment(Tcp::RST | Tcp::ACK, 0, 101)).seen.is_empty());
        assert!(!pair.server(&segment(SYN_ACK, 7, 100)).answers(&syn, Leg::Beyond));
        assert!(pair.client(&segment(SYN | Tcp::FIN, 100, 0)).seen.is_empty());
        assert!(pair.client(&segment(SYN | Tcp::RST, 100, 0)).seen.is_empty());
    }

    /// A handshake slower than the first retransmission timeout: two SYNs with the same ids and different tokens, and
    /// the SYN-ACK names the one that it answers.
    #[test]
    fn retransmitted_segments_share_the_id_and_tokens_tell_them_apart() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let stamped = |segment: Tcp<'static>, value, echo| Tcp { options: timestamps(value, echo), ..segment };
        let first = pair.client(&stamped(segment(SYN, 100, 0), 5_000, 0));
        let second = pair.client(&stamped(segment(SYN, 100, 0), 6_024, 0));
        assert_eq!(first.request(Leg::Beyond).id, second.request(Leg::Beyond).id);
        assert_eq!(first.request(Leg::Sum).id, second.request(Leg::Sum).id);
        assert_eq!(first.request(Leg::Beyond).token, 5_000);
        assert_eq!(second.request(Leg::Beyond).token, 6_024);

        let answer = pair.server(&stamped(segment(SYN_ACK, 100, 101), 9_000, 5_000));
        let again = pair.server(&stamped(segment(SYN_ACK, 100, 101), 10_001, 6_024));
        assert!(answer.answers(&first, Leg::Beyond) && again.answers(&second, Leg::Beyond));
        assert_eq!(answer.response(Leg::Beyond).token, 5_000);
        assert_eq!(again.response(Leg::Beyond).token, 6_024);
        assert_eq!(answer.request(Leg::Before).id, again.request(Leg::Before).id);
        assert_eq!(answer.request(Leg::Before).token, 9_000);

        let ack = pair.client(&stamped(segment(Tcp::ACK, 101, 101), 6_100, 10_001));
        assert!(ack.answers(&again, Leg::Before));
        assert_eq!(ack.response(Leg::Before).token, 10_001);
        assert_eq!(ack.response(Leg::Sum).token, 0);
    }

    #[test]
    fn a_port_used_again_is_another_handshake() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let old = pair.client(&segment(SYN, 100, 0));
        let new = pair.client(&segment(SYN, 70_000, 0));
        assert_ne!(old.request(Leg::Beyond).id, new.request(Leg::Beyond).id);
        let answer = pair.server(&segment(SYN_ACK, 5, 70_001));
        assert!(answer.answers(&new, Leg::Beyond) && !answer.answers(&old, Leg::Beyond));
    }

    #[test]
    fn both_sides_may_open_at_once() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let (a, b) = (pair.client(&segment(SYN, 100, 0)), pair.server(&segment(SYN, 100, 0)));
        assert_ne!(a.request(Leg::Beyond).id, b.request(Leg::Beyond).id);
        let (to_b, to_a) = (pair.client(&segment(SYN_ACK, 100, 101)), pair.server(&segment(SYN_ACK, 100, 101)));
        assert!(to_b.answers(&b, Leg::Beyond) && !to_b.answers(&a, Leg::Beyond));
        assert!(to_a.answers(&a, Leg::Beyond) && !to_a.answers(&b, Leg::Beyond));
    }

    /// TCP Fast Open: the server accepts the data in the SYN, and its SYN-ACK acknowledges it.
    #[test]
    fn a_syn_with_data_is_answered_after_its_data() {
        let mut pair = Pair::new(&[Match::TcpHandshake]);
        let syn = pair.client(&Tcp { payload_length: 20, ..segment(SYN, 100, 0) });
        assert!(pair.server(&segment(SYN_ACK, 7, 121)).answers(&syn, Leg::Beyond));
        assert!(pair.client(&segment(Tcp::ACK, 121, 8)).answers(&syn, Leg::Sum));
        assert!(!pair.server(&segment(SYN_ACK, 7, 101)).answers(&syn, Leg::Beyond));
    }
}
