//! The parser's result and the input of pairing: the headers of one packet, borrowed from the frame.

// The TCP options that rules read.
mod options;

use dwell_types::FlowKey;

/// UDP ports that dwell gives a meaning, besides those of tunnels.
pub(crate) mod port {
    /// Precision Time Protocol: event messages, general messages.
    pub(crate) const PRECISION_TIME: [u16; 2] = [319, 320];
}

/// The headers of one packet, down to the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Addresses of the ends, ports and protocol, as sent. Ports are zero for ICMP, protocols without ports, and fragments
    /// that are [`Transport::Other`].
    pub flow: FlowKey,
    /// The outermost VLAN id, if the frame was tagged.
    pub vlan: Option<u16>,
    /// Differentiated services code point, `0..64`.
    pub dscp: u8,
    /// Distinguishes packets of one flow along their whole path: the identification field of IP (16 bits with IPv4, 32
    /// in the fragment header of IPv6), or without one the sequence number of the authentication header, and, above
    /// these 32 bits, the fragment offset in units of eight bytes. Zero if there is none.
    pub identification: u64,
    /// Length on the wire from the IP header on, in bytes, without padding and trailers.
    pub length: u32,
    /// Whether bytes of it are missing, by this length: the capture ends before them, they are in other fragments of the
    /// packet that it is in, or never were sent (some routers quote less in an ICMP error than its header says).
    pub is_cut: bool,
    /// What IP carries.
    pub transport: Transport<'a>,
}

/// What an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport<'a> {
    /// A TCP segment.
    Tcp(Tcp<'a>),
    /// A UDP datagram: the captured part of its payload.
    Udp(&'a [u8]),
    /// An ICMP or ICMPv6 message from its type byte on, as far as captured.
    Icmp(&'a [u8]),
    /// Anything else, as far as captured: fragments and other protocols. Only [`any`](crate::parse::any) yields it.
    Other(&'a [u8]),
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp<'a> {
    /// Sequence number of the first payload byte, or of the SYN.
    pub sequence: u32,
    /// Acknowledgement number; valid only with [`Tcp::ACK`].
    pub acknowledgement: u32,
    /// The flag bits of byte 13 of the header.
    pub flags: u8,
    /// Payload length on the wire in bytes, by the IP length; more than `payload.len()` if the capture is cut.
    pub payload_length: u32,
    /// Whether the capture ends within the header, so that options may be missing.
    pub is_header_cut: bool,
    /// All options, as far as captured.
    pub options: &'a [u8],
    /// The captured part of the payload.
    pub payload: &'a [u8],
}

impl Tcp<'_> {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// The last of what was sent at once.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 0x10;

    /// Whether any of the given flags is set.
    #[inline]
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// How many sequence numbers it takes: payload, SYN and FIN do.
    #[inline]
    pub const fn numbers(&self) -> u32 {
        let syn_and_fin = (self.flags & Self::SYN != 0) as u32 + (self.flags & Self::FIN != 0) as u32;
        self.payload_length.wrapping_add(syn_and_fin)
    }

    /// The sequence number after this segment. Wraps.
    #[inline]
    pub const fn end(&self) -> u32 {
        self.sequence.wrapping_add(self.numbers())
    }
}
