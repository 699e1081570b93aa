use super::grouping::{Grouping, Lengths};
use crate::packet::Packet;
use dwell_types::{Address, FlowKey, Prefix, hash, protocol};

/// The fields that the packets of one group share, as words; zero where the grouping does not include a field:
///
/// `[source, source, destination, destination, source port | destination port | lower port | VLAN id, DSCP |
/// protocol]`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group([u64; 6]);

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
        const TAGGED: u64 = 1 << 15;
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

    /// The source's port, the destination's, the lower one.
    fn ports(&self) -> [u16; 3] {
        [48, 32, 16].map(|shift| (self.0[4] >> shift) as u16)
    }

    fn vlan(&self) -> Option<u16> {
        let tag = self.0[4] as u16;
        (tag != 0).then_some(tag & 0xfff)
    }

    fn dscp(&self) -> u8 {
        (self.0[5] >> 8) as u8
    }

    fn protocol(&self) -> u8 {
        self.0[5] as u8
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
        let ones = |wanted: bool, bits: u64| if wanted { bits } else { 0 };
        let ports = ones(self.source_port, 0xffff << 48) | ones(self.destination_port, 0xffff << 32);
        let ports = ports | ones(self.port, 0xffff << 16) | ones(self.vlan, 0xffff);
        Group([a, b, c, d, ports, ones(self.dscp, 0xff << 8) | ones(self.protocol, 0xff)])
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
        let [source, destination, lower] = group.ports();
        let ports = [
            ("src-port", self.source_port, source),
            ("dst-port", self.destination_port, destination),
            ("port", self.port, lower),
        ];
        parts.extend(ports.iter().filter(|(_, wanted, _)| *wanted).map(|(name, _, port)| format!("{name}={port}")));
        if self.vlan {
            parts.push(group.vlan().map_or_else(|| "vlan=none".to_owned(), |vlan| format!("vlan={vlan}")));
        }
        if self.dscp {
            parts.push(format!("dscp={}", group.dscp()));
        }
        if self.protocol {
            parts.push(match protocol::name(group.protocol()) {
                Some(name) => format!("protocol={name}"),
                None => format!("protocol={}", group.protocol()),
            });
        }
        parts.join(" ")
    }
}
