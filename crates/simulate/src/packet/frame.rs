use super::address::is_v6;
use dwell_types::{Address, FlowKey, protocol};

/// Builds one frame at a time, in a reused buffer.
#[derive(Clone, Debug)]
pub(crate) struct Builder {
    bytes: Box<[u8; Self::LONGEST]>,
    snap_length: usize,
    wire_length: usize,
}

/// The fields of a TCP header that differ between segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct TcpHeader {
    pub(super) sequence: u32,
    pub(super) acknowledgement: u32,
    pub(super) flags: u8,
    /// TSval and TSecr.
    pub(super) timestamps: Option<(u32, u32)>,
    /// Payload length in bytes; the payload is all zeros.
    pub(super) payload: u16,
}

/// Flags of a TCP header.
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const PUSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;

/// The fields of an IP header besides the addresses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IpHeader {
    /// IPv4 identification.
    pub(crate) identification: u16,
    /// Time to live, or hop limit.
    pub(crate) hops: u8,
}

const ETHERNET: usize = 14;
const V4: usize = 20;
const V6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
/// MAC addresses of the routers towards the clients and towards the servers; locally administered.
const MAC_BEFORE: [u8; 6] = [2, 0, 0, 0, 0, 1];
const MAC_BEYOND: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Largest payload of a segment in an IP packet of 1,500 bytes.
pub(super) const fn segment_size(v6: bool, timestamps: bool) -> u16 {
    1500 - TCP as u16 - if v6 { V6 as u16 } else { V4 as u16 } - if timestamps { 12 } else { 0 }
}

/// Options of SYN and SYN-ACK, in the order of Linux: maximum segment size, SACK permitted, timestamps, window scale 7.
fn syn_options(to: &mut [u8], v6: bool, timestamps: Option<(u32, u32)>) -> usize {
    let size = segment_size(v6, false).to_be_bytes();
    to[..4].copy_from_slice(&[2, 4, size[0], size[1]]);
    match timestamps {
        Some((value, echo)) => {
            to[4..8].copy_from_slice(&[4, 2, 8, 10]);
            to[8..12].copy_from_slice(&value.to_be_bytes());
            to[12..16].copy_from_slice(&echo.to_be_bytes());
            to[16..20].copy_from_slice(&[1, 3, 3, 7]);
            20
        }
        None => {
            to[4..12].copy_from_slice(&[1, 1, 4, 2, 1, 3, 3, 7]);
            12
        }
    }
}

/// Options of all other segments.
fn options(to: &mut [u8], timestamps: Option<(u32, u32)>) -> usize {
    let Some((value, echo)) = timestamps else { return 0 };
    to[..4].copy_from_slice(&[1, 1, 8, 10]);
    to[4..8].copy_from_slice(&value.to_be_bytes());
    to[8..12].copy_from_slice(&echo.to_be_bytes());
    12
}

/// The ones' complement sum of 16-bit words (RFC 1071), not yet folded; the last byte padded with zero.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().chain([&last]).map(|word| u64::from(u32::from_be_bytes(*word))).sum()
}

fn checksum(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// The address in network order; for IPv4, it is in the last four bytes.
fn octets(address: Address) -> [u8; 16] {
    let (high, low) = address.halves();
    (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
}

impl Builder {
    const LONGEST: usize = ETHERNET + 1500;

    pub(crate) fn new(snap_length: u32) -> Self {
        Self { bytes: Box::new([0; Self::LONGEST]), snap_length: snap_length as usize, wire_length: 0 }
    }

    /// The captured part of the last frame.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.wire_length.min(self.snap_length)]
    }

    /// The length of the last frame on the wire, in bytes.
    pub(crate) fn wire_length(&self) -> u32 {
        self.wire_length as u32
    }

    /// A TCP segment.
    pub(super) fn tcp(&mut self, key: &FlowKey, from_client: bool, ip: IpHeader, tcp: &TcpHeader) {
        let v6 = is_v6(key);
        let at = ETHERNET + if v6 { V6 } else { V4 };
        let is_syn = tcp.flags & SYN != 0;
        let option_bytes = &mut self.bytes[at + TCP..];
        let option_length = match is_syn {
            true => syn_options(option_bytes, v6, tcp.timestamps),
            false => options(option_bytes, tcp.timestamps),
        };
        let header = TCP + option_length;
        let bytes = &mut self.bytes[at..];
        put16(bytes, 0, key.source_port);
        put16(bytes, 2, key.destination_port);
        put32(bytes, 4, tcp.sequence);
        put32(bytes, 8, tcp.acknowledgement);
        bytes[12] = (header as u8 / 4) << 4;
        bytes[13] = tcp.flags;
        put16(bytes, 14, if is_syn { 64_240 } else { 502 });
        put32(bytes, 16, 0);
        let payload = usize::from(tcp.payload);
        let addresses = self.ip(key, from_client, ip, header + payload);
        // The payload is all zeros: it adds nothing to the sum.
        let bytes = &mut self.bytes[at..];
        let sum = sum(&bytes[..header]) + addresses + u64::from(protocol::TCP) + (header + payload) as u64;
        put16(bytes, 16, checksum(sum));
        // Clear the captured part of the payload, where an earlier frame may have left its bytes.
        let end = (at + header + payload).min(self.snap_length);
        if let Some(captured) = self.bytes.get_mut(at + header..end) {
            captured.fill(0);
        }
    }

    /// Builds a UDP datagram; `write` puts the payload into the given bytes and returns its length.
    pub(crate) fn udp(
        &mut self,
        key: &FlowKey,
        from_client: bool,
        ip: IpHeader,
        write: impl FnOnce(&mut [u8]) -> usize,
    ) {
        let at = ETHERNET + if is_v6(key) { V6 } else { V4 };
        let length = UDP + write(&mut self.bytes[at + UDP..]);
        let addresses = self.ip(key, from_client, ip, length);
        let bytes = &mut self.bytes[at..at + length];
        put16(bytes, 0, key.source_port);
        put16(bytes, 2, key.destination_port);
        put16(bytes, 4, length as u16);
        put16(bytes, 6, 0);
        let found = checksum(sum(bytes) + addresses + u64::from(protocol::UDP) + length as u64);
        // A checksum of zero means "none" (RFC 768).
        put16(bytes, 6, if found == 0 { 0xffff } else { found });
    }

    /// Writes Ethernet and IP headers for `length` bytes of payload; returns the sum of the addresses for its checksum.
    fn ip(&mut self, key: &FlowKey, from_client: bool, ip: IpHeader, length: usize) -> u64 {
        let (source, destination) = (octets(key.source), octets(key.destination));
        let (to, from) = if from_client { (MAC_BEYOND, MAC_BEFORE) } else { (MAC_BEFORE, MAC_BEYOND) };
        let bytes = &mut self.bytes[..];
        bytes[..6].copy_from_slice(&to);
        bytes[6..12].copy_from_slice(&from);
        if is_v6(key) {
            put16(bytes, 12, 0x86dd);
            let header = &mut bytes[ETHERNET..ETHERNET + V6];
            put32(header, 0, 6 << 28);
            put16(header, 4, length as u16);
            header[6] = key.protocol;
            header[7] = ip.hops;
            header[8..24].copy_from_slice(&source);
            header[24..40].copy_from_slice(&destination);
            self.wire_length = ETHERNET + V6 + length;
            sum(&source) + sum(&destination)
        } else {
            put16(bytes, 12, 0x0800);
            let header = &mut bytes[ETHERNET..ETHERNET + V4];
            put32(header, 0, 0x4500 << 16 | (V4 + length) as u32);
            put16(header, 4, ip.identification);
            // Do not fragment.
            put16(header, 6, 0x4000);
            header[8] = ip.hops;
            header[9] = key.protocol;
            put16(header, 10, 0);
            header[12..16].copy_from_slice(&source[12..]);
            header[16..20].copy_from_slice(&destination[12..]);
            put16(header, 10, checksum(sum(header)));
            self.wire_length = ETHERNET + V4 + length;
            sum(&source[12..]) + sum(&destination[12..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 §3: the sum is ddf2.
    #[test]
    fn checksum_of_the_standard() {
        assert_eq!(checksum(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), !0xddf2);
        assert_eq!(checksum(sum(&[0x12])), !0x1200);
    }
}
