use crate::packet::frame::{Builder, IpHeader};
use dwell_types::{Address, FlowId, FlowKey, protocol};

/// Packets of a queue as frames: UDP over IPv4, no two of them equal.
#[derive(Clone, Debug)]
pub struct Frames(Builder);

impl Frames {
    /// The shortest packet, in bytes from the IP header on; shorter ones get this length.
    pub const LEAST_BYTES: u32 = 36;
    /// The longest packet; longer ones get this length.
    pub const MOST_BYTES: u32 = 1_500;

    /// Frames of which `snap_length` bytes are captured.
    pub fn new(snap_length: u32) -> Self {
        Self(Builder::new(snap_length))
    }

    /// The 5-tuple of a flow: 37 bits of the id distinguish flows, so that among 10⁴ flows two share one with a
    /// probability of 1 in 2,700.
    pub fn key(flow: FlowId) -> FlowKey {
        let bits = (flow.0 >> 27) as u32;
        FlowKey {
            source: Address::v4(0x6440_0000 | bits & 0x003f_ffff),
            destination: Address::v4(0xc612_0001),
            source_port: 1 << 15 | bits.rotate_left(10) as u16 & 0x03ff | (flow.0 as u16 & 0x1f) << 10,
            destination_port: 4_433,
            protocol: protocol::UDP,
        }
    }

    /// The frame of a packet: its captured bytes, and its length on the wire.
    pub fn frame(&mut self, number: u64, flow: FlowId, bytes: u32) -> (&[u8], u32) {
        /// IPv4 and UDP headers, in bytes.
        const HEADERS: u32 = 28;
        let payload = bytes.clamp(Self::LEAST_BYTES, Self::MOST_BYTES) - HEADERS;
        let ip = IpHeader { identification: number as u16, hops: 64 };
        self.0.udp(&Self::key(flow), true, ip, |to| {
            to[..8].copy_from_slice(&number.to_be_bytes());
            payload as usize
        });
        (self.0.bytes(), self.0.wire_length())
    }
}
