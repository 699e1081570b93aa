//! Groups: which requests are reported together.

// Which fields define a group, and their notation.
mod grouping;
pub use grouping::{Grouping, GroupingError};
// These fields, and a group as its values of them.
mod fields;
pub(crate) use fields::Group;
// Extracting groups from packets.
mod extractor;
pub(crate) use extractor::Extractor;

use crate::packet::Packet;
use crate::role::Role;
use dwell_types::{Series, hash};

/// The groups of the requests seen so far, in a table of fixed size.
///
/// The group of an exchange is that of its request: a response belongs to the group of the reversed key, with its own
/// VLAN id and DSCP. Only requests create groups. The first groups get the numbers from 1 on; when all are taken,
/// everything that has no group counts as number 0, "other".
#[derive(Debug)]
pub struct Groups {
    grouping: Grouping,
    /// What the sender of the packet at hand is. It is not passed along with the packet, which groups that do not need it would
    /// pay for.
    sender: Option<Role>,
    /// Boxed, so that an observer without groups is no larger.
    extractor: Box<Extractor>,
    /// Group `i + 1` is at index `i`; never grows beyond its initial capacity.
    groups: Vec<Group>,
    most: usize,
    /// Open addressing: group numbers, 0 for a free slot. The length is a power of two, at least twice `most`.
    slots: Box<[u16]>,
}

impl Groups {
    /// Room for `most` groups besides "other": at least 1 and at most [`Series::GROUPS`]` − 1` (8,191).
    pub fn new(grouping: Grouping, most: usize, seed: u64) -> Self {
        let most = most.clamp(1, usize::from(Series::GROUPS) - 1);
        Self {
            grouping,
            sender: None,
            extractor: Box::new(Extractor::new(grouping, hash::start(seed))),
            groups: Vec::with_capacity(most),
            most,
            slots: vec![0; (2 * most).next_power_of_two()].into_boxed_slice(),
        }
    }

    /// Whether it matters which end serves.
    pub(crate) fn need_roles(&self) -> bool {
        self.grouping.needs_roles()
    }

    /// Says what the sender of the next packet is, if that is known; to be told of each if the groups
    /// [need it](Self::need_roles).
    pub(crate) fn set_sender(&mut self, role: Option<Role>) {
        self.sender = role;
    }

    /// The groups of the observations of a packet.
    pub(crate) fn of<'a>(&'a mut self, packet: &'a Packet<'a>) -> PacketGroups<'a> {
        PacketGroups { groups: self, packet, lookups: [Lookup::Pending; 2] }
    }

    /// The group of a request with the packet's `own` key, or with the reversed one. Created only if the packet `asks`.
    #[inline(never)]
    fn look_up(&mut self, packet: &Packet<'_>, own: bool, asks: bool) -> Lookup {
        let group = self.extractor.group(&self.grouping, packet, self.sender, own);
        match self.probe(&group) {
            Ok(number) => Lookup::Number(number),
            Err(slot) if asks => Lookup::Number(self.add(group, slot)),
            Err(_) => Lookup::Absent,
        }
    }

    /// Adds a group at its free slot, unless there is no room: then its number is 0.
    #[inline(never)]
    fn add(&mut self, group: Group, slot: usize) -> u16 {
        if self.groups.len() == self.most {
            return 0;
        }
        self.groups.push(group);
        let number = self.groups.len() as u16;
        self.slots[slot] = number;
        number
    }

    /// The group's number, or the free slot where it belongs. Terminates, as half of the slots are free.
    #[inline]
    fn probe(&self, group: &Group) -> Result<u16, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.extractor.hash(group) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                number if self.groups[usize::from(number) - 1] == *group => return Ok(number),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The number of groups, including "other".
    pub fn count(&self) -> usize {
        self.groups.len() + 1
    }

    /// The name of a group: `src=10.0.0.0/24 vlan=7`, or `other`.
    pub fn name(&self, number: u16) -> String {
        let group = usize::from(number).checked_sub(1).and_then(|index| self.groups.get(index));
        group.map_or_else(|| Series::OTHER.to_owned(), |group| self.grouping.name(group))
    }

    /// Size of the tables in bytes; it does not change.
    pub fn state_bytes(&self) -> usize {
        size_of::<Extractor>() + self.most * size_of::<Group>() + size_of_val(&*self.slots)
    }
}

/// The groups of the observations of one packet.
pub(crate) struct PacketGroups<'a> {
    groups: &'a mut Groups,
    packet: &'a Packet<'a>,
    /// Of the reversed key, and of its own key.
    lookups: [Lookup; 2],
}

/// What looking up the group of a key yielded.
#[derive(Clone, Copy)]
enum Lookup {
    /// It was not looked up yet.
    Pending,
    /// There was none.
    Absent,
    Number(u16),
}

impl PacketGroups<'_> {
    /// The group of a request with the packet's `own` key, or with the reversed one. Created only if the packet `asks`.
    #[inline(always)]
    pub(crate) fn number(&mut self, own: bool, asks: bool) -> u16 {
        let lookup = &mut self.lookups[usize::from(own)];
        match *lookup {
            Lookup::Number(number) => return number,
            Lookup::Absent if !asks => return 0,
            Lookup::Absent | Lookup::Pending => *lookup = self.groups.look_up(self.packet, own, asks),
        }
        if let Lookup::Number(number) = *lookup { number } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Tcp, Transport};
    use dwell_types::{Address, FlowKey, protocol};
    use std::net::IpAddr;

    fn packet(source: &str, destination: &str, flags: u8) -> Packet<'static> {
        let address = |text: &str| text.parse::<IpAddr>().unwrap().into();
        let segment = Tcp { flags, ..Tcp::default() };
        Packet {
            flow: FlowKey {
                source: address(source),
                destination: address(destination),
                source_port: 40_000,
                destination_port: 443,
                protocol: protocol::TCP,
            },
            vlan: None,
            dscp: 0,
            identification: 0,
            length: 40,
            is_cut: false,
            transport: Transport::Tcp(segment),
        }
    }

    fn groups(grouping: &str, most: usize) -> Groups {
        Groups::new(grouping.parse().unwrap(), most, 1)
    }

    #[test]
    fn only_what_asks_makes_a_group() {
        let mut groups = groups("src/24", 10);
        let (there, back) = (packet("10.1.2.3", "192.0.2.1", 0), packet("192.0.2.9", "10.1.2.200", 0));
        assert_eq!(groups.of(&there).number(true, false), 0);
        assert_eq!(groups.of(&there).number(true, true), 1);
        // A response belongs to the group of the reversed key.
        let mut of = groups.of(&back);
        assert_eq!([of.number(false, false), of.number(true, false), of.number(true, true)], [1, 0, 2]);
        assert_eq!((groups.count(), groups.name(2)), (3, "src=192.0.2.0/24".to_owned()));
    }

    /// Every part distinguishes groups: no VLAN is not VLAN 0, and no part is taken for another.
    #[test]
    fn every_part_tells_apart() {
        let plain = packet("10.1.2.3", "192.0.2.1", 0);
        let key = plain.flow;
        let other = |flow| Packet { flow, ..plain };
        let packets = [
            plain,
            Packet { vlan: Some(0), ..plain },
            Packet { vlan: Some(1), ..plain },
            Packet { dscp: 1, ..plain },
            other(FlowKey { source: Address::v4(1), ..key }),
            other(FlowKey { destination: Address::v4(1), ..key }),
            other(FlowKey { source_port: 1, ..key }),
            other(FlowKey { destination_port: 1, ..key }),
            other(FlowKey { protocol: 1, ..key }),
            other(FlowKey { source: Address::v6([1; 16]), destination: Address::v6([1; 16]), ..key }),
        ];
        let mut all = groups("src,dst,src-port,dst-port,port,vlan,dscp,protocol", 100);
        let numbers = packets.map(|packet| all.of(&packet).number(true, true));
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        for (grouping, most) in [("vlan", 3), ("dscp", 2), ("src", 3), ("dst/0", 2), ("port", 2), ("protocol", 2)] {
            let mut some = groups(grouping, 100);
            let numbers = packets.map(|packet| some.of(&packet).number(true, true));
            assert_eq!(numbers.into_iter().max(), Some(most), "{grouping}: {numbers:?}");
        }
    }

    #[test]
    fn names() {
        let mut groups = groups("src/24,dst,port,vlan,dscp,protocol,src-port,dst-port", 10);
        let v6 = Packet { vlan: Some(7), dscp: 46, ..packet("2001:db8:1:2::1", "2001:db8::2", Tcp::SYN) };
        assert_eq!(groups.of(&v6).number(true, true), 1);
        assert_eq!(groups.of(&packet("10.1.2.3", "192.0.2.1", Tcp::SYN)).number(true, true), 2);
        assert_eq!(
            groups.name(1),
            "src=2001:db8:1::/48 dst=2001:db8::2 src-port=40000 dst-port=443 port=443 vlan=7 dscp=46 protocol=tcp"
        );
        assert_eq!(
            groups.name(2),
            "src=10.1.2.0/24 dst=192.0.2.1 src-port=40000 dst-port=443 port=443 vlan=none dscp=0 protocol=tcp"
        );
        assert_eq!(groups.count(), 3);
    }

    /// The server is the end with that role, whatever the ports and whoever asks; where nothing tells, whoever is asked.
    #[test]
    fn servers_are_told_by_their_roles() {
        use Role::{Client, Server};
        let there = packet("10.1.2.3", "192.0.2.1", 0);
        let back = Packet { flow: there.flow.reversed(), ..there };
        for (role, other, name) in [
            (Client, Server, "client=10.1.2.3 server=192.0.2.1 port=443"),
            (Server, Client, "client=192.0.2.1 server=10.1.2.3 port=40000"),
        ] {
            let mut groups = groups("client,server,port", 10);
            for (packet, role) in [(&there, role), (&back, other)] {
                groups.set_sender(Some(role));
                for own in [true, false] {
                    assert_eq!(groups.of(packet).number(own, true), 1, "{role:?} {own}");
                }
            }
            assert_eq!(groups.name(1), name);
        }
        let mut groups = groups("server,port", 10);
        let between_servers =
            |packet| Packet { flow: FlowKey { source_port: 123, destination_port: 123, ..packet }, ..there };
        let [there, back] = [there.flow, back.flow].map(between_servers);
        let numbers =
            [(&there, true), (&back, false), (&back, true)].map(|(packet, own)| groups.of(packet).number(own, true));
        assert_eq!(numbers, [1, 1, 2]);
        assert_eq!([1, 2].map(|number| groups.name(number)), ["server=192.0.2.1 port=123", "server=10.1.2.3 port=123"]);
    }

    #[test]
    fn a_full_table_says_other_and_does_not_grow() {
        let mut groups = groups("src", 100);
        let before = groups.state_bytes();
        for i in 0..1000u32 {
            let mut syn = packet("10.0.0.0", "192.0.2.1", Tcp::SYN);
            syn.flow.source = Address::v4(0x0a00_0000 + i);
            let expected = if i < 100 { i as u16 + 1 } else { 0 };
            assert_eq!(groups.of(&syn).number(true, true), expected);
            assert_eq!(groups.of(&syn).number(true, true), expected);
        }
        assert_eq!((groups.count(), groups.state_bytes()), (101, before));
    }

    /// Numbers of groups have 13 bits.
    #[test]
    fn there_are_between_one_and_8191() {
        for (asked, most) in [(0, 1), (8_191, 8_191), (8_192, 8_191), (usize::MAX, 8_191)] {
            let mut groups = groups("src", asked);
            for i in 0..most as u32 + 1 {
                let mut syn = packet("10.0.0.0", "192.0.2.1", Tcp::SYN);
                syn.flow.source = Address::v4(i);
                groups.of(&syn).number(true, true);
            }
            assert_eq!(groups.count(), most + 1, "{asked}");
        }
    }
}
