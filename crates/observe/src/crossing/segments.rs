//! Undoes segmentation offload: which segments the link carries, of a long one that a host sees.
//!
//! A sending host gives its network card up to 64 KiB at once. The card (TSO), or the kernel behind the point of capture
//! (GSO), splits it: segments of full size and a last one with the rest, all with its acknowledgement number and options. On
//! a receiving host the card (LRO) or the kernel (GRO) merges segments of a flow that follow one another, all of full size
//! but the last, with equal acknowledgement numbers and options. Either way the link's segments begin where the long one
//! does.
//!
//! Full size is the MTU less the headers of this very segment, options included: that is how senders choose it.
//!
//! The long one has a single IP identification, and says PSH for its last segment only. So neither identifies a segment.

use crate::packet::Tcp;

/// The smallest full size, in bytes of payload: headers that leave less of the MTU are not those of long segments.
const LEAST_SIZE: u32 = 256;
/// The longest segment that Linux merges, in bytes: a record that says more is none.
const LONGEST: u32 = 8 * 65_535;

/// The segments of which this one consists, whose packet has this length: more than the MTU. Each with its packet's length.
pub(super) fn split<'a>(whole: Tcp<'a>, is_v4: bool, length: u32, mtu: u32) -> impl Iterator<Item = (Tcp<'a>, u32)> {
    let headers = length.saturating_sub(whole.payload_length);
    let headers = headers - jumbo_header(&whole, is_v4, length, headers);
    let full = mtu.saturating_sub(headers);
    let is_long = full >= LEAST_SIZE && whole.payload_length <= LONGEST && !whole.has(Tcp::SYN);
    let size = if is_long { full } else { whole.payload_length.max(1) };
    (0..whole.payload_length.div_ceil(size).max(1)).map(move |number| {
        let begin = number * size;
        let payload_length = size.min(whole.payload_length - begin);
        let is_last = begin + payload_length == whole.payload_length;
        let captured = whole.payload.get(begin as usize..).unwrap_or_default();
        let segment = Tcp {
            sequence: whole.sequence.wrapping_add(begin),
            flags: if is_last { whole.flags } else { whole.flags & !(Tcp::FIN | Tcp::PSH) },
            payload_length,
            payload: captured.get(..payload_length as usize).unwrap_or(captured),
            ..whole
        };
        (segment, headers + payload_length)
    })
}

/// The bytes of the header that says how long a packet of IPv6 is if its length field cannot (hop-by-hop options, RFC 2675
/// §2). The segments of such a packet have none.
fn jumbo_header(whole: &Tcp<'_>, is_v4: bool, length: u32, headers: u32) -> u32 {
    const IPV6: u32 = 40;
    const TCP: u32 = 20;
    const JUMBO: u32 = 8;
    let has_room = headers >= IPV6 + JUMBO + TCP + whole.options.len() as u32;
    if !is_v4 && length > IPV6 + u32::from(u16::MAX) && has_room { JUMBO } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(payload_length: u32, flags: u8) -> Tcp<'static> {
        Tcp {
            sequence: u32::MAX - 9,
            acknowledgement: 5,
            flags,
            payload_length,
            payload: &[7; 1_500],
            ..Tcp::default()
        }
    }

    fn ends(segment: Tcp<'_>, headers: u32, mtu: u32) -> Vec<(u32, u32, u32)> {
        let parts = split(segment, true, headers + segment.payload_length, mtu);
        parts.map(|(part, bytes)| (part.sequence.wrapping_sub(segment.sequence), part.payload_length, bytes)).collect()
    }

    #[test]
    fn full_segments_and_the_rest() {
        assert_eq!(ends(long(2_900, 0), 52, 1_500), [(0, 1_448, 1_500), (1_448, 1_448, 1_500), (2_896, 4, 56)]);
        assert_eq!(ends(long(2_896, 0), 52, 1_500), [(0, 1_448, 1_500), (1_448, 1_448, 1_500)]);
        // More options leave less for the payload.
        assert_eq!(ends(long(1_448, 0), 64, 1_500), [(0, 1_436, 1_500), (1_436, 12, 76)]);
    }

    #[test]
    fn only_the_last_ends_what_was_sent() {
        let segments: Vec<_> = split(long(2_000, Tcp::ACK | Tcp::PSH | Tcp::FIN), true, 2_040, 1_500).collect();
        let flags: Vec<_> = segments.iter().map(|(segment, _)| segment.flags).collect();
        assert_eq!(flags, [Tcp::ACK, Tcp::ACK | Tcp::PSH | Tcp::FIN]);
        let captured: Vec<_> = segments.iter().map(|(segment, _)| segment.payload.len()).collect();
        assert_eq!(captured, [1_460, 40]);
        assert!(segments.iter().all(|(segment, _)| segment.acknowledgement == 5));
    }

    /// Headers that leave nothing, lengths of nothing or of too much, and data on a SYN: one segment, as it is.
    #[test]
    fn what_is_not_long_stays_whole() {
        assert_eq!(ends(long(60_000, 0), 1_300, 1_500), [(0, 60_000, 61_300)]);
        assert_eq!(ends(long(60_000, 0), 1_244, 1_500).len(), 235);
        assert_eq!(ends(long(u32::MAX - 99, 0), 40, 1_500), [(0, u32::MAX - 99, u32::MAX - 59)]);
        assert_eq!(ends(long(LONGEST, 0), 40, 1_500).len(), 360);
        assert_eq!(ends(long(2_000, Tcp::SYN), 40, 1_500), [(0, 2_000, 2_040)]);
        assert_eq!(ends(long(0, 0), 1_600, 1_500), [(0, 0, 1_600)]);
        assert_eq!(split(long(3_000, 0), true, 10, 1_500).map(|(_, bytes)| bytes).sum::<u32>(), 3_000);
    }

    /// More than 64 KiB of IPv6 have a header of their own, which the link's segments lack; but not in kernels that leave it
    /// out, and not over IPv4.
    #[test]
    fn jumbo_headers_stay_behind() {
        let first = |is_v4, headers: u32, payload_length| {
            let whole = long(payload_length, 0);
            split(whole, is_v4, headers + payload_length, 1_500)
                .next()
                .map(|(part, bytes)| (part.payload_length, bytes))
        };
        assert_eq!(first(false, 68, 180_000), Some((1_440, 1_500)));
        assert_eq!(first(false, 60, 180_000), Some((1_440, 1_500)));
        assert_eq!(first(true, 68, 180_000), Some((1_432, 1_500)));
        // Other options of a packet that needs none for its length.
        assert_eq!(first(false, 68, 65_507), Some((1_432, 1_500)));
        assert_eq!(first(false, 68, 65_508), Some((1_440, 1_500)));
        // A length that none is.
        assert_eq!(first(false, 40, u32::MAX - 40), Some((u32::MAX - 40, u32::MAX)));
    }
}
