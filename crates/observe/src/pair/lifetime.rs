//! `tcp-flow`: SYN → the first FIN or RST of either side.
//!
//! Hashed: only the flow, neither the side nor any number. A refused connection lasts from SYN to RST. The FIN of the
//! other side and further RSTs are responses, too, and unmatched. A retransmitted SYN repeats the request.
//!
//! Broken by: connections that are open when the capture begins (an unmatched FIN) or ends (pending), or that time out
//! without a FIN: a later connection on the same ports repeats their request.

use super::emitter::Emitter;
use super::handshake;
use super::ids::Kind;
use crate::packet::Tcp;
use dwell_types::Sink;

#[inline(always)]
pub(super) fn response<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if segment.has(Tcp::FIN | Tcp::RST) && !segment.has(Tcp::SYN) {
        to.shared_response(Kind::Lifetime);
    }
}

#[inline(always)]
pub(super) fn request<S: Sink>(segment: &Tcp<'_>, to: &mut Emitter<'_, S>) {
    if handshake::opens(segment) {
        to.shared_request(Kind::Lifetime);
    }
}

#[cfg(test)]
mod tests {
    use crate::packet::Tcp;
    use crate::pair::tests::{Pair, segment};
    use dwell_types::{Leg, Match};

    #[test]
    fn either_side_ends_it() {
        let mut pair = Pair::new(&[Match::TcpFlow]);
        let syn = pair.client(&segment(Tcp::SYN, 5, 0));
        for end in [Tcp::FIN | Tcp::ACK, Tcp::RST, Tcp::RST | Tcp::ACK] {
            assert!(pair.client(&segment(end, 900, 3)).answers(&syn, Leg::Both));
            assert!(pair.server(&segment(end, 3, 900)).answers(&syn, Leg::Both));
        }
        for no_end in [Tcp::ACK, Tcp::SYN | Tcp::ACK, Tcp::SYN | Tcp::FIN] {
            assert!(pair.server(&segment(no_end, 3, 6)).seen.is_empty());
        }
    }
}
