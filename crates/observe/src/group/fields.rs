//! The fields of packets that define groups, and where a group has them.

use crate::packet::Packet;
use crate::role::Role;
use dwell_types::{Address, FlowKey, protocol};

/// The fields that the packets of one group share, as words; zero where the grouping does not include a field:
///
/// `[first end, first end, second end, second end, source port | destination port | the server's port | VLAN id, DSCP |
/// protocol]`; the ends are the source's address and the destination's, in an order that the grouping chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group(pub(super) [u64; 6]);

/// Not derived: that would call a function that compares bytes.
impl PartialEq for Group {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).fold(0, |different, (a, b)| different | a ^ b) == 0
    }
}

impl Eq for Group {}

impl Group {
    /// All fields of a packet with its `own` key, or with the reversed one; its source, which has this role, is the first end if
    /// `is_first`. Where nothing tells who serves, both ports are equal.
    #[inline]
    pub(super) fn of(packet: &Packet<'_>, role: Option<Role>, own: bool, is_first: bool) -> Self {
        let FlowKey { source, destination, source_port, destination_port, protocol } = packet.flow;
        let (there, back) = (source.halves(), destination.halves());
        let ((a, b), (c, d)) = if is_first { (there, back) } else { (back, there) };
        let (from, to) = if own { (source_port, destination_port) } else { (destination_port, source_port) };
        let vlan = packet.vlan.map_or(0, |id| TAGGED | u64::from(id));
        let service = if role == Some(Role::Server) { source_port } else { destination_port };
        let ports = u64::from(from) << 48 | u64::from(to) << 32 | u64::from(service) << 16;
        Self([a, b, c, d, ports | vlan, u64::from(packet.dscp) << 8 | u64::from(protocol)])
    }

    #[inline]
    pub(super) fn and(self, mask: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & mask.0[i]))
    }

    /// The addresses of both ends.
    pub(super) fn ends(&self) -> [Address; 2] {
        let [a, b, c, d, ..] = self.0;
        [address(a, b), address(c, d)]
    }
}

/// The address with these two halves.
fn address(high: u64, low: u64) -> Address {
    Address::v6((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// A VLAN tag, whose id may be zero.
const TAGGED: u64 = 1 << 15;

/// A field of a packet other than its addresses, and where a [`Group`] has it.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) word: usize,
    shift: u32,
    bits: u32,
    /// How its value is written.
    value: fn(u64) -> String,
}

/// All of them, in the order in which names of groups list them. [`Group::of`] fills them in.
pub(super) const FIELDS: [Field; 6] = [
    Field { name: "src-port", word: 4, shift: 48, bits: 16, value: |port| port.to_string() },
    Field { name: "dst-port", word: 4, shift: 32, bits: 16, value: |port| port.to_string() },
    Field { name: "port", word: 4, shift: 16, bits: 16, value: |port| port.to_string() },
    Field { name: "vlan", word: 4, shift: 0, bits: 16, value: vlan_name },
    Field { name: "dscp", word: 5, shift: 8, bits: 8, value: |dscp| dscp.to_string() },
    Field { name: "protocol", word: 5, shift: 0, bits: 8, value: protocol_name },
];

/// The place of the server's port among them.
pub(super) const PORT: usize = 2;

impl Field {
    /// The bits of its word that it takes.
    pub(super) const fn mask(&self) -> u64 {
        ((1 << self.bits) - 1) << self.shift
    }

    /// Its name and value in a group.
    pub(super) fn text(&self, group: &Group) -> String {
        let value = (group.0[self.word] & self.mask()) >> self.shift;
        format!("{}={}", self.name, (self.value)(value))
    }
}

fn vlan_name(tag: u64) -> String {
    if tag == 0 { "none".to_owned() } else { (tag & !TAGGED).to_string() }
}

fn protocol_name(number: u64) -> String {
    protocol::name(number as u8).map_or_else(|| number.to_string(), str::to_owned)
}
