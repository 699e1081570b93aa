//! `icmp-echo`: echo request → echo reply, ICMP (RFC 792) and ICMPv6 (RFC 4443 §4).
//!
//! Hashed: both addresses, the requesting side, identifier and sequence number. If an identifier is used for more than
//! 65,536 requests, sequence numbers repeat.
//!
//! Broken by: requests to a multicast or broadcast address (the replies come from other addresses), and messages of
//! which less than 8 bytes are captured.

use super::emitter::Emitter;
use super::ids::Kind;
use dwell_types::{Sink, protocol};

/// Type, code, checksum, identifier and sequence number, in bytes.
const HEADER: usize = 8;

pub(super) fn observe<S: Sink>(ip_protocol: u8, message: &[u8], to: &mut Emitter<'_, S>) {
    let Some(&[kind, code, _, _, numbers @ ..]) = message.first_chunk::<HEADER>() else { return };
    if code != 0 {
        return;
    }
    let word = u64::from(u32::from_be_bytes(numbers));
    match is_request(ip_protocol, kind) {
        Some(true) => to.request(Kind::Echo, word, 0),
        Some(false) => to.response(Kind::Echo, word, 0),
        None => {}
    }
}

/// Whether an echo of this type is a request; `None` if it is no echo.
const fn is_request(ip_protocol: u8, kind: u8) -> Option<bool> {
    match (ip_protocol, kind) {
        (protocol::ICMP, 8) | (protocol::ICMPV6, 128) => Some(true),
        (protocol::ICMP, 0) | (protocol::ICMPV6, 129) => Some(false),
        _ => None,
    }
}

/// Whether a message that is cut is an echo, but ends before its sequence number.
pub(super) fn is_cut(ip_protocol: u8, message: &[u8]) -> bool {
    message.len() < HEADER && message.first().is_some_and(|&kind| is_request(ip_protocol, kind).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::tests::{Pair, flow};
    use dwell_types::{FlowKey, Leg, Match};

    fn message(kind: u8, identifier: u16, sequence: u16) -> Vec<u8> {
        let [a, b] = identifier.to_be_bytes();
        let [c, d] = sequence.to_be_bytes();
        vec![kind, 0, 0, 0, a, b, c, d, 1, 2, 3]
    }

    fn key(protocol: u8) -> FlowKey {
        FlowKey { source_port: 0, destination_port: 0, ..flow(protocol) }
    }

    #[test]
    fn both_versions() {
        for (protocol, ask, answer) in [(protocol::ICMP, 8, 0), (protocol::ICMPV6, 128, 129)] {
            let mut pair = Pair::between(&[Match::IcmpEcho], key(protocol));
            let request = pair.client_icmp(&message(ask, 77, 3));
            assert!(pair.server_icmp(&message(answer, 77, 3)).answers(&request, Leg::Both));
            assert!(!pair.server_icmp(&message(answer, 77, 4)).answers(&request, Leg::Both));
            assert!(!pair.server_icmp(&message(answer, 3, 77)).answers(&request, Leg::Both));
            assert!(!pair.client_icmp(&message(answer, 77, 3)).answers(&request, Leg::Both));
            assert!(pair.client_icmp(&message(3, 77, 3)).seen.is_empty());
            assert!(pair.client_icmp(&[ask, 1, 0, 0, 0, 77, 0, 3]).seen.is_empty(), "code 1");
            assert!(pair.client_icmp(&message(ask, 77, 3)[..7]).seen.is_empty());
        }
    }

    #[test]
    fn a_host_that_pings_itself() {
        let own = key(protocol::ICMP);
        let mut pair = Pair::between(&[Match::IcmpEcho], FlowKey { destination: own.source, ..own });
        let request = pair.client_icmp(&message(8, 1, 1));
        assert!(pair.client_icmp(&message(0, 1, 1)).answers(&request, Leg::Both));
    }
}
