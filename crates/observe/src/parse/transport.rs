use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at, u32_at};
use crate::packet::Tcp;
use dwell_types::protocol;

/// TCP header without options, in bytes.
const TCP_HEADER: usize = 20;

/// Source and destination port, and the segment.
#[inline(always)]
pub(super) fn tcp(rest: Rest<'_>) -> Result<([u16; 2], Tcp<'_>), Reject> {
    let header = rest.peek::<14>(Layer::Transport)?;
    let length = usize::from(header[12] >> 4) * 4;
    if length < TCP_HEADER || length > rest.wire {
        return Err(Reject::TransportHeader);
    }
    let tcp = Tcp {
        sequence: u32_at(header, 4),
        acknowledgement: u32_at(header, 8),
        flags: header[13],
        payload_length: (rest.wire - length) as u32,
        is_header_cut: rest.bytes.len() < length,
        options: options(rest.bytes, length),
        payload: rest.bytes.get(length..).unwrap_or_default(),
    };
    let ports = u32_at(header, 0);
    Ok(([(ports >> 16) as u16, ports as u16], tcp))
}

/// The options of a header of `length` bytes, as far as captured.
#[inline(always)]
fn options(segment: &[u8], length: usize) -> &[u8] {
    segment.get(TCP_HEADER..length.min(segment.len())).unwrap_or_default()
}

/// Source and destination port of a protocol that is not parsed further; zero if it has none.
pub(super) fn ports(protocol: u8, rest: Rest<'_>) -> Result<[u16; 2], Reject> {
    match protocol {
        protocol::SCTP | protocol::UDP_LITE | protocol::DCCP => {
            let ports = rest.peek::<4>(Layer::Transport)?;
            Ok([u16_at(ports, 0), u16_at(ports, 2)])
        }
        _ => Ok([0; 2]),
    }
}

/// Source and destination port; leaves the payload in `rest`.
///
/// The datagram ends where its own length field says; zero (jumbograms, RFC 2675 §4) and more than IP carries (first
/// fragments) mean the end of the IP packet.
#[inline(always)]
pub(super) fn udp(rest: &mut Rest<'_>) -> Result<[u16; 2], Reject> {
    let header = rest.take::<8>(Layer::Transport)?;
    match usize::from(u16_at(header, 4)) {
        0 => {}
        1..8 => return Err(Reject::TransportHeader),
        length => rest.limit(length - 8),
    }
    Ok([u16_at(header, 0), u16_at(header, 2)])
}

/// The message from its type on.
pub(super) fn icmp(rest: Rest<'_>) -> Result<&[u8], Reject> {
    rest.peek::<4>(Layer::Transport)?;
    Ok(rest.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tcp_header_that_lies_about_its_length() {
        fn segment(bytes: &[u8], wire: usize) -> Result<u32, Reject> {
            tcp(Rest { bytes, wire }).map(|(_, tcp)| tcp.payload_length)
        }
        let mut bytes = [0; 60];
        for words in 0..16u8 {
            bytes[12] = words << 4;
            let expected = if words < 5 { Err(Reject::TransportHeader) } else { Ok(60 - 4 * u32::from(words)) };
            assert_eq!(segment(&bytes, 60), expected, "{words} words");
        }
        assert_eq!(segment(&bytes, 59), Err(Reject::TransportHeader), "60 bytes of header in 59 of payload");
        assert_eq!(segment(&bytes[..14], 1060), Ok(1000));
        assert_eq!(segment(&bytes[..13], 1060), Err(Reject::TruncatedTransport));
        assert_eq!(segment(&bytes[..13], 13), Err(Reject::TransportHeader));
    }

    /// The payload behind a header of 28 bytes continues neither the timestamps that it begins with nor its options.
    #[test]
    fn options_end_where_the_header_does() {
        let mut bytes = [7; 40];
        bytes[12] = 7 << 4;
        bytes[TCP_HEADER..28].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 7]);
        let timestamps = |bytes: &[u8]| tcp(Rest { bytes, wire: 40 }).unwrap().1.timestamps();
        assert_eq!(timestamps(&bytes), None);
        bytes[12] = 8 << 4;
        assert_eq!(timestamps(&bytes), Some((7, 0x0707_0707)), "the control");
    }

    #[test]
    fn where_a_datagram_ends() {
        let payload = |length: u16, captured: usize, wire: usize| {
            let mut bytes = [0; 20];
            bytes[4..6].copy_from_slice(&length.to_be_bytes());
            let mut rest = Rest { bytes: &bytes[..captured], wire };
            udp(&mut rest).map(|_| (rest.bytes.len(), rest.wire))
        };
        assert_eq!(payload(20, 20, 20), Ok((12, 12)));
        assert_eq!(payload(12, 20, 20), Ok((4, 4)), "what follows the datagram is not its payload");
        assert_eq!(payload(0, 20, 20), Ok((12, 12)));
        assert_eq!(payload(60, 20, 20), Ok((12, 12)));
        assert_eq!(payload(60, 20, 60), Ok((12, 52)));
        assert_eq!(payload(7, 20, 20), Err(Reject::TransportHeader));
        assert_eq!(payload(20, 7, 20), Err(Reject::TruncatedTransport));
        assert_eq!(payload(20, 7, 7), Err(Reject::TransportHeader));
    }
}
