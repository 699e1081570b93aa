//! `ntp`: a client's packet → the server's packet whose originate timestamp is the client's transmit timestamp (RFC
//! 5905 §8), over UDP port 123.
//!
//! Hashed: the flow, the client's side, that timestamp. Modes: client (3) → server (4), symmetric active (1) →
//! symmetric passive (2). Two symmetric active peers send at their own intervals and not in answer to each other: they
//! are not paired, nor are broadcasts (5), control and private messages (6, 7), and timestamps of zero.
//!
//! Transmit timestamps have a resolution of 2⁻³² s and many clients fill them with random bits (a nonce): a repeated id
//! means a repeated packet.
//!
//! Broken by: a symmetric passive peer that waits for its own polling interval; the interleaved mode, where the
//! originate timestamp is an earlier one; captures that keep fewer than 48 bytes of a request or 32 of a response.

use super::emitter::Emitter;
use super::ids::Kind;
use dwell_types::{FlowKey, Sink};

pub(super) const PORT: u16 = 123;
/// Where the timestamps are, in bytes.
const ORIGINATE: usize = 24;
const TRANSMIT: usize = 40;

#[inline]
pub(super) fn is_ntp(key: &FlowKey) -> bool {
    key.source_port == PORT || key.destination_port == PORT
}

pub(super) fn observe<S: Sink>(payload: &[u8], to: &mut Emitter<'_, S>) {
    let Some(&first) = payload.first() else { return };
    if !(1..=4).contains(&(first >> 3 & 7)) {
        return;
    }
    let Some(place) = place(first) else { return };
    let Some(word) = timestamp(payload, place) else { return };
    if place == TRANSMIT {
        to.request(Kind::Ntp, word, 0);
    } else {
        to.response(Kind::Ntp, word, 0);
    }
}

/// Where the timestamp is that request and response share: of a packet that asks, and of one that answers, by its mode.
const fn place(first: u8) -> Option<usize> {
    match first & 7 {
        1 | 3 => Some(TRANSMIT),
        2 | 4 => Some(ORIGINATE),
        _ => None,
    }
}

/// Whether a packet that is cut ends before the timestamp that is needed of it, or before its mode.
pub(super) fn is_cut(payload: &[u8]) -> bool {
    let Some(&first) = payload.first() else { return true };
    place(first).is_some_and(|place| payload.len() < place + size_of::<u64>())
}

/// The timestamp at an offset, if it is captured and not zero.
fn timestamp(payload: &[u8], offset: usize) -> Option<u64> {
    let bytes = payload.get(offset..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes)).filter(|&t| t != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair::tests::{Pair, flow};
    use dwell_types::{Leg, Match, protocol};

    fn packet(version: u8, mode: u8, originate: u64, transmit: u64) -> [u8; 48] {
        let mut bytes = [0; 48];
        bytes[0] = version << 3 | mode;
        bytes[24..32].copy_from_slice(&originate.to_be_bytes());
        bytes[40..].copy_from_slice(&transmit.to_be_bytes());
        bytes
    }

    fn pair() -> Pair {
        Pair::between(&[Match::Ntp], FlowKey { destination_port: PORT, ..flow(protocol::UDP) })
    }

    #[test]
    fn transmit_comes_back_as_originate() {
        let mut pair = pair();
        for (ask, answer) in [(3, 4), (1, 2)] {
            let request = pair.client_udp(&packet(4, ask, 0, 0xe0e0_0000_1234_5678));
            assert!(pair.server_udp(&packet(4, answer, 0xe0e0_0000_1234_5678, 1)).answers(&request, Leg::Both));
            assert!(!pair.server_udp(&packet(4, answer, 0xe0e0_0000_1234_5679, 1)).answers(&request, Leg::Both));
            assert!(!pair.client_udp(&packet(4, answer, 0xe0e0_0000_1234_5678, 1)).answers(&request, Leg::Both));
        }
    }

    #[test]
    fn what_is_no_exchange() {
        let mut pair = pair();
        for mode in [0, 5, 6, 7] {
            assert!(pair.client_udp(&packet(4, mode, 9, 9)).seen.is_empty(), "mode {mode}");
        }
        assert!(pair.client_udp(&packet(4, 3, 9, 0)).seen.is_empty(), "no transmit timestamp");
        assert!(pair.server_udp(&packet(4, 4, 0, 9)).seen.is_empty(), "no originate timestamp");
        for version in [0, 5, 7] {
            assert!(pair.client_udp(&packet(version, 3, 9, 9)).seen.is_empty(), "version {version}");
        }
        assert_eq!(pair.client_udp(&packet(1, 3, 9, 9)).seen.len(), 1, "version 1");
        assert!(pair.client_udp(&packet(4, 3, 9, 9)[..47]).seen.is_empty(), "cut in the timestamp");
        assert_eq!(pair.server_udp(&packet(4, 4, 9, 9)[..32]).seen.len(), 1, "cut after the timestamp");
        assert!(pair.client_udp(&[]).seen.is_empty());
    }
}
