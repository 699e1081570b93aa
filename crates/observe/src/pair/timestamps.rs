//! `tcp-ts`: the first segment with a TSval → the first segment of the other side that echoes it in TSecr (RFC 7323).
//!
//! Hashed: the flow, the side whose clock it is, TSval or TSecr. Many segments carry the same TSval within one tick of
//! the sender's clock (1 to 10 ms, sometimes 100): only the first counts, so at most one delay per tick and direction
//! is measured.
//!
//! Only segments that take sequence space are requests. A bare ACK is not: its TSval comes back whenever the other side
//! happens to send next, which measures the application instead of the path. If a bare ACK was the first with a TSval,
//! the first segment with data in the same tick takes its place, and the echo may then belong to the ACK: a delay too
//! short by less than a tick.
//!
//! A receiver that delays its ACK echoes the TSval of the earliest segment that it had not acknowledged (RFC 7323
//! §4.3), so the delay includes the wait. While segments are missing, it echoes the last one in order: delays of loss
//! recovery are left out or belong to the retransmission, which carries a TSval of its own; unlike with `tcp-ack`, none
//! is ambiguous.
//!
//! Ignored: TSval 0 and TSecr 0 (no echo), TSecr without ACK (RFC 7323 §3.2), segments with RST as requests.
//!
//! An answered TSval is remembered until no request has carried it for a second, the longest tick (RFC 7323 §5.4). An
//! older one, delayed by the network, counts as a request again, which nothing answers.
//!
//! Broken by: clocks that stand still (one delay per connection and pause of a second or more, too short if the other
//! side was sending when the pause ended), that wrap (after 49 days at 1 ms), or that all connections of a reused port
//! share.

use super::ack;
use super::emitter::Emitter;
use super::ids::Kind;
use crate::packet::Tcp;
use dwell_types::Sink;

#[inline(always)]
pub(super) fn response<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    match segment.timestamps() {
        Some((_, echo)) if echo != 0 && segment.has(Tcp::ACK) => to.response(Kind::Timestamps, echo.into(), 0),
        _ => {}
    }
}

#[inline(always)]
pub(super) fn request<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    match segment.timestamps() {
        Some((value, _)) if value != 0 && ack::must_be_acknowledged(segment) => {
            to.request(Kind::Timestamps, value.into(), 0)
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Tcp;
    use crate::pair::tests::{Pair, segment, timestamps};
    use dwell_types::{Leg, Match};

    fn data(value: u32, echo: u32) -> Tcp<'static> {
        Tcp { payload_length: 1, options: timestamps(value, echo), ..segment(Tcp::ACK, 1, 1) }
    }

    #[test]
    fn the_echo_answers() {
        let mut pair = Pair::new(&[Match::TcpTs]);
        let request = pair.client(&data(u32::MAX, 5));
        assert!(pair.server(&data(8, u32::MAX)).answers(&request, Leg::Both));
        assert!(!pair.server(&data(u32::MAX, 8)).answers(&request, Leg::Both));
        assert!(!pair.client(&data(8, u32::MAX)).answers(&request, Leg::Both), "the same number on the other clock");
    }

    #[test]
    fn what_says_nothing_gives_nothing() {
        let mut pair = Pair::new(&[Match::TcpTs]);
        assert!(pair.client(&data(0, 0)).seen.is_empty());
        assert!(pair.client(&Tcp { options: &[], ..data(0, 0) }).seen.is_empty());
        let bare = Tcp { payload_length: 0, ..data(7, 3) };
        assert_eq!(pair.client(&bare).requests(), []);
        assert_eq!(pair.client(&bare).seen.len(), 1);
        assert!(pair.client(&Tcp { flags: Tcp::RST, ..data(7, 3) }).seen.is_empty());
        assert_eq!(pair.client(&Tcp { flags: Tcp::SYN, payload_length: 0, ..data(7, 3) }).requests(), [Leg::Both]);
    }
}
