use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at, u32_at};
use crate::packet::Tcp;
use dwell_types::protocol;

/// TCP header without options, in bytes.
const TCP_HEADER: usize = 20;

/// The TCP options end of list, no operation, selective acknowledgement and timestamps (RFC 9293 §3.1, RFC 2018 §3, RFC
/// 7323 §3.2).
const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const SELECTIVE_ACKNOWLEDGEMENT: u8 = 5;
const TIMESTAMPS: u8 = 8;

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
        timestamps: timestamps(rest.bytes, length),
        is_header_cut: rest.bytes.len() < length,
        options: options(rest.bytes, length),
        payload: rest.bytes.get(length..).unwrap_or_default(),
    };
    let ports = u32_at(header, 0);
    Ok(([(ports >> 16) as u16, ports as u16], tcp))
}

/// TSval and TSecr of a segment with a header of `length` bytes.
///
/// Nearly every segment after the handshake begins its options with two no-operations and this option; a SYN usually
/// has its maximum segment size and "SACK permitted" before it, in this order.
#[inline(always)]
fn timestamps(segment: &[u8], length: usize) -> Option<(u32, u32)> {
    const COMMON: u32 = u32::from_be_bytes([NO_OPERATION, NO_OPERATION, TIMESTAMPS, 10]);
    const SYN: [u32; 2] = [u32::from_be_bytes([2, 4, 0, 0]), u32::from_be_bytes([4, 2, TIMESTAMPS, 10])];
    if let Some(header) = segment.first_chunk::<32>()
        && length >= 32
        && u32_at(header, TCP_HEADER) == COMMON
    {
        return Some((u32_at(header, 24), u32_at(header, 28)));
    }
    if let Some(header) = segment.first_chunk::<36>()
        && length >= 36
        && [u32_at(header, 20) & 0xffff_0000, u32_at(header, 24)] == SYN
    {
        return Some((u32_at(header, 28), u32_at(header, 32)));
    }
    if length == TCP_HEADER {
        return None;
    }
    search(options(segment, length)).map(|both| ((both >> 32) as u32, both as u32))
}

/// TSval above TSecr, in one word so that both are returned in registers.
#[inline(never)]
fn search(options: &[u8]) -> Option<u64> {
    option(options, |kind, length| [kind, length] == [TIMESTAMPS, 10])?.try_into().ok().map(u64::from_be_bytes)
}

/// The options of a header of `length` bytes, as far as captured.
#[inline(always)]
fn options(segment: &[u8], length: usize) -> &[u8] {
    segment.get(TCP_HEADER..length.min(segment.len())).unwrap_or_default()
}

/// The value of the first option of a kind and length, as far as captured, in a list that may be cut or malformed.
#[inline(always)]
fn option(mut options: &[u8], is_wanted: impl Fn(u8, u8) -> bool) -> Option<&[u8]> {
    loop {
        options = match *options {
            [NO_OPERATION, ref rest @ ..] => rest,
            [END, ..] | [_, 0 | 1, ..] | [] | [_] => return None,
            [kind, length, ref value @ ..] if is_wanted(kind, length) => {
                return Some(value.get(..usize::from(length) - 2).unwrap_or(value));
            }
            [_, length, ..] => options.get(usize::from(length)..)?,
        }
    }
}

/// The blocks of a selective acknowledgement, as far as captured; nothing if the segment has none.
#[inline(always)]
pub(crate) fn selective_acknowledgement<'a>(segment: &Tcp<'a>) -> &'a [u8] {
    /// Length in bytes of a timestamp option and two no-operations, mostly all options that a segment has.
    const TIMESTAMPS_ALONE: usize = 12;
    if segment.timestamps.is_some() && segment.options.len() <= TIMESTAMPS_ALONE {
        return &[];
    }
    option(segment.options, |kind, _| kind == SELECTIVE_ACKNOWLEDGEMENT).unwrap_or_default()
}

/// Source and destination port of a protocol that is not parsed further; zero if it has none.
pub(super) fn ports(protocol: u8, header: &[u8]) -> [u16; 2] {
    match (protocol, header) {
        (protocol::SCTP | protocol::UDP_LITE | protocol::DCCP, &[a, b, c, d, ..]) => {
            [[a, b], [c, d]].map(u16::from_be_bytes)
        }
        _ => [0; 2],
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
    fn timestamp_options_in_every_place() {
        // Timestamps among these options, with only the first `cut` bytes of the segment captured.
        fn read(options: &[u8], cut: usize) -> Option<(u32, u32)> {
            let mut segment = [0; 80];
            segment[TCP_HEADER..][..options.len()].copy_from_slice(options);
            timestamps(&segment[..cut], TCP_HEADER + options.len())
        }
        let common = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
        assert_eq!(read(&common, 80), Some((7, 9)));
        // As in a SYN of Linux: segment size, SACK permitted, timestamps, filler, window scale.
        let syn = [2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(read(&syn, 80), Some((7, 0)));
        for cut in 14..32 {
            assert_eq!(read(&common, cut), None, "cut after {cut} bytes");
            assert_eq!(read(&syn, cut), None, "cut after {cut} bytes");
        }
        assert_eq!(read(&common, 32), Some((7, 9)));
        assert_eq!((read(&syn, 35), read(&syn, 36)), (None, Some((7, 0))));
        // After a SACK block, and after the end of the list, and beyond the header.
        let late = [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0];
        assert_eq!(read(&late, 80), Some((7, 9)));
        assert_eq!(read(&[0, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 80), None);
        assert_eq!(read(&common[..8], 80), None);
        // Broken lengths: of the option itself, of another, beyond the end.
        assert_eq!(read(&[1, 1, 8, 9, 0, 0, 0, 7, 0, 0, 0, 9], 80), None);
        for cut in 20..36 {
            assert_eq!(read(&[1, 1, 8, 14, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0, 0, 0], cut), None, "cut after {cut} bytes");
        }
        assert_eq!(read(&[2, 0, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 80), None);
        assert_eq!(read(&[2, 200, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 80), None);
        assert_eq!(read(&[3, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9], 80), None);
    }

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
