use super::grouping::{Grouping, Lengths};
use crate::packet::Packet;
use dwell_types::{Address, FlowKey, Prefix, hash, protocol};

/// The fields that the packets of one group share, as words; zero where the grouping does not include a field:
///
/// `[source, source, destination, destination, source port | destination port | lower port | VLAN id, DSCP |
/// protocol]`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group([u64; 6]);

/// A VLAN tag, whose id may be zero.
const TAGGED: u64 = 1 << 15;

/// A field of a packet other than its addresses, and where a [`Group`] has it.
pub(super) struct Field {
    pub(super) name: &'static str,
    word: usize,
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

impl Field {
    /// The bits of its word that it takes.
    const fn mask(&self) -> u64 {
        ((1 << self.bits) - 1) << self.shift
    }

    fn name(&self, group: &Group) -> String {
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

/// Not derived: that would call a function that compares bytes.
impl PartialEq for Group {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0).fold(0, |different, (a, b)| different | a ^ b) == 0
    }
}

impl Eq for Group {}

impl Group {
    /// All fields of a packet with its `own` key, or with the reversed one.
    #[inline]
    fn of(packet: &Packet<'_>, own: bool) -> Self {
        let FlowKey { source, destination, source_port, destination_port, protocol } = packet.flow;
        let (there, back) = ((source.halves(), source_port), (destination.halves(), destination_port));
        let (((a, b), from), ((c, d), to)) = if own { (there, back) } else { (back, there) };
        let vlan = packet.vlan.map_or(0, |id| TAGGED | u64::from(id));
        let ports = u64::from(from) << 48 | u64::from(to) << 32 | u64::from(from.min(to)) << 16;
        Self([a, b, c, d, ports | vlan, u64::from(packet.dscp) << 8 | u64::from(protocol)])
    }

    #[inline]
    fn and(self, mask: &Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & mask.0[i]))
    }

    fn source(&self) -> Address {
        address(self.0[0], self.0[1])
    }

    fn destination(&self) -> Address {
        address(self.0[2], self.0[3])
    }
}

/// The address with these two halves.
fn address(high: u64, low: u64) -> Address {
    Address::v6((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// Extracts the groups of packets: a grouping in the form used for each packet, computed in advance.
#[derive(Clone, Debug)]
pub(crate) struct Extractor {
    /// Masks of the bits that count, for IPv4 and for IPv6.
    masks: [Group; 2],
    /// Seeds of the hash, one for each word.
    seeds: [u64; 6],
}

impl Extractor {
    pub(crate) fn new(grouping: Grouping, start: u64) -> Self {
        Self {
            masks: [true, false].map(|is_v4| grouping.mask(is_v4)),
            seeds: std::array::from_fn(|word| hash::word(start, word as u64)),
        }
    }

    /// The group of a packet with its `own` key, or with the reversed one.
    #[inline]
    pub(crate) fn group(&self, packet: &Packet<'_>, own: bool) -> Group {
        Group::of(packet, own).and(&self.masks[usize::from(!packet.flow.source.is_v4())])
    }

    /// Combines the words in pairs, so that the multiplications do not depend on one another.
    #[inline]
    pub(crate) fn hash(&self, group: &Group) -> u64 {
        let [a, b, c, d, e, f]: [u64; 6] = std::array::from_fn(|i| group.0[i] ^ self.seeds[i]);
        hash::finish(hash::fold(a, b) ^ hash::fold(c, d).rotate_left(21) ^ hash::fold(e, f).rotate_left(42))
    }
}

impl Grouping {
    /// The mask of the bits that count.
    fn mask(&self, is_v4: bool) -> Group {
        let all = if is_v4 { Address::v4(u32::MAX) } else { Address::v6([0xff; 16]) };
        let address = |lengths: Option<Lengths>| match lengths {
            Some(lengths) => all.truncated(lengths.of(all)).halves(),
            None => (0, 0),
        };
        let ((a, b), (c, d)) = (address(self.source), address(self.destination));
        let mut mask = Group([a, b, c, d, 0, 0]);
        for field in self.fields() {
            mask.0[field.word] |= field.mask();
        }
        mask
    }

    fn fields(&self) -> impl Iterator<Item = &'static Field> {
        FIELDS.iter().zip(self.fields).filter_map(|(field, given)| given.then_some(field))
    }

    pub(crate) fn name(&self, group: &Group) -> String {
        let mut parts = Vec::new();
        let mut address = |name: &str, lengths: Option<Lengths>, address: Address| {
            if let Some(lengths) = lengths {
                let whole = lengths.of(address) == Lengths::WHOLE.of(address);
                let prefix = Prefix::new(address, lengths.of(address));
                parts.push(if whole { format!("{name}={address}") } else { format!("{name}={prefix}") });
            }
        };
        address("src", self.source, group.source());
        address("dst", self.destination, group.destination());
        parts.extend(self.fields().map(|field| field.name(group)));
        parts.join(" ")
    }
}
