use super::fields::{FIELDS, Field, Group};
use super::grouping::{Grouping, Lengths};
use crate::packet::Packet;
use crate::role::Role;
use dwell_types::{Address, Prefix, hash};

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

    /// The group, by this grouping, of a packet with its `own` key, or with the reversed one, from an end with this role.
    #[inline]
    pub(crate) fn group(&self, grouping: &Grouping, packet: &Packet<'_>, role: Option<Role>, own: bool) -> Group {
        let is_first = grouping.begins_with_source(role, own);
        Group::of(packet, role, own, is_first).and(&self.masks[usize::from(!packet.flow.source.is_v4())])
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
        let [(a, b), (c, d)] = self.addresses.map(address);
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
        let address = |(name, end, lengths): (&str, usize, Lengths)| {
            let address = group.ends()[end];
            let whole = lengths.of(address) == Lengths::WHOLE.of(address);
            let prefix = Prefix::new(address, lengths.of(address));
            if whole { format!("{name}={address}") } else { format!("{name}={prefix}") }
        };
        let mut parts: Vec<_> = self.named().map(address).collect();
        parts.extend(self.fields().map(|field| field.text(group)));
        parts.join(" ")
    }
}
