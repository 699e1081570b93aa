use crate::Timestamp;

/// A seeded 64-bit hash of the fields of a packet that do not change on the path: equal at two points for the same
/// packet, different for different packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u64);

/// A seeded 64-bit hash of the flow that a packet belongs to, at whatever granularity flows are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// A packet that passes an observation point, to be compared with the same packet at another point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The packet's identity.
    pub packet: PacketId,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// When it passed, by the clock of this point.
    pub at: Timestamp,
    /// Its length on the wire in bytes, from the IP header on.
    pub bytes: u32,
}
