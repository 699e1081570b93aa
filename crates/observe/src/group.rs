//! Groups: which requests are reported together.

use crate::packet::Packet;
use core::fmt;
use core::str::FromStr;
use dwell_types::{Address, FlowKey, Prefix, Series, hash, protocol};

/// What tells groups apart: a comma-separated list of
///
/// - `src`, `dst`: the address of the request's sender or receiver; `src/24` its first 24 bits with IPv4 and twice as
///   many with IPv6, `src/48` (more than 32) the whole address with IPv4 and 48 bits with IPv6, `src/24/56` both as
///   given;
/// - `src-port`, `dst-port`, and `port`: the lower of both, mostly the service;
/// - `vlan`: the outermost VLAN id; `dscp`; `protocol`.
///
/// ```
/// use dwell_observe::group::Grouping;
/// let grouping: Grouping = "src/24,vlan".parse()?;
/// assert_eq!(grouping.to_string(), "src/24/48,vlan");
/// # Ok::<(), dwell_observe::group::GroupingError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grouping {
    source: Option<Lengths>,
    destination: Option<Lengths>,
    source_port: bool,
    destination_port: bool,
    port: bool,
    vlan: bool,
    dscp: bool,
    protocol: bool,
}

/// How many bits of an address count: `0..=32` with IPv4, `0..=128` with IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lengths {
    v4: u8,
    v6: u8,
}

/// Why a text is no grouping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupingError {
    /// No such part.
    Unknown(String),
    /// The part takes no prefix length, or this is none.
    Length(String),
    /// The part is named twice.
    Twice(String),
}

impl fmt::Display for GroupingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(part) => write!(
                f,
                "unknown group '{part}': expected src, dst (each with /N or /N4/N6), src-port, dst-port, port, vlan, dscp \
                 or protocol, separated by commas"
            ),
            Self::Length(part) => write!(
                f,
                "no prefix length in '{part}': expected src/N or dst/N with N up to 128, or src/N4/N6 with N4 up to 32 and \
                 N6 up to 128"
            ),
            Self::Twice(part) => write!(f, "group '{part}' is given twice"),
        }
    }
}

impl core::error::Error for GroupingError {}

impl Lengths {
    const WHOLE: Self = Self { v4: 32, v6: 128 };

    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str, most: u8| text.parse::<u8>().ok().filter(|&n| n <= most);
        if let Some((v4, v6)) = text.split_once('/') {
            return Some(Self { v4: number(v4, 32)?, v6: number(v6, 128)? });
        }
        let length = number(text, 128)?;
        Some(if length <= 32 { Self { v4: length, v6: length * 2 } } else { Self { v4: 32, v6: length } })
    }

    #[inline]
    const fn of(self, address: Address) -> u8 {
        if address.is_v4() { self.v4 } else { self.v6 }
    }
}

impl FromStr for Grouping {
    type Err = GroupingError;

    fn from_str(text: &str) -> Result<Self, GroupingError> {
        let mut grouping = Self::default();
        for part in text.split(',') {
            let (name, lengths) = part.split_once('/').map_or((part, None), |(name, rest)| (name, Some(rest)));
            let address = |was: &mut Option<Lengths>| {
                let lengths = lengths.map_or(Some(Lengths::WHOLE), Lengths::parse);
                let lengths = lengths.ok_or_else(|| GroupingError::Length(part.to_owned()))?;
                Ok(was.replace(lengths).is_some())
            };
            let flag = |was: &mut bool| match lengths {
                Some(_) => Err(GroupingError::Length(part.to_owned())),
                None => Ok(core::mem::replace(was, true)),
            };
            let twice = match name {
                "src" => address(&mut grouping.source)?,
                "dst" => address(&mut grouping.destination)?,
                "src-port" => flag(&mut grouping.source_port)?,
                "dst-port" => flag(&mut grouping.destination_port)?,
                "port" => flag(&mut grouping.port)?,
                "vlan" => flag(&mut grouping.vlan)?,
                "dscp" => flag(&mut grouping.dscp)?,
                "protocol" => flag(&mut grouping.protocol)?,
                _ => return Err(GroupingError::Unknown(part.to_owned())),
            };
            if twice {
                return Err(GroupingError::Twice(part.to_owned()));
            }
        }
        Ok(grouping)
    }
}

/// `src/24/48,vlan`: reads back as the same grouping.
impl fmt::Display for Grouping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        let mut part = |name: &str, lengths: Option<Lengths>| {
            write!(f, "{comma}{name}")?;
            comma = ",";
            match lengths {
                Some(lengths) if lengths != Lengths::WHOLE => write!(f, "/{}/{}", lengths.v4, lengths.v6),
                _ => Ok(()),
            }
        };
        for (name, lengths) in [("src", self.source), ("dst", self.destination)] {
            if lengths.is_some() {
                part(name, lengths)?;
            }
        }
        let flags = [
            ("src-port", self.source_port),
            ("dst-port", self.destination_port),
            ("port", self.port),
            ("vlan", self.vlan),
            ("dscp", self.dscp),
            ("protocol", self.protocol),
        ];
        for (name, given) in flags {
            if given {
                part(name, None)?;
            }
        }
        Ok(())
    }
}

/// What the packets of one group share, in words; zero where the grouping does not ask:
///
/// `[source, source, destination, destination, source port | destination port | lower port | VLAN id, DSCP |
/// protocol]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group([u64; 6]);

impl Group {
    /// All that a packet with this key has.
    #[inline]
    fn of(packet: &Packet<'_>, key: &FlowKey) -> Self {
        const TAGGED: u64 = 1 << 15;
        let ((a, b), (c, d)) = (key.source.halves(), key.destination.halves());
        let port = key.source_port.min(key.destination_port);
        let vlan = packet.vlan.map_or(0, |id| TAGGED | u64::from(id));
        let ports = u64::from(key.source_port) << 48 | u64::from(key.destination_port) << 32 | u64::from(port) << 16;
        Self([a, b, c, d, ports | vlan, u64::from(packet.dscp) << 8 | u64::from(key.protocol)])
    }

    #[inline]
    fn and(self, mask: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] & mask.0[i]))
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

/// The address of two halves.
fn address(high: u64, low: u64) -> Address {
    Address::v6((u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

/// What a grouping makes of a packet, worked out beforehand.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// What counts, with IPv4 and with IPv6.
    masks: [Group; 2],
    /// Seeds of the hash, one for each word.
    seeds: [u64; 6],
}

impl Cut {
    pub(crate) fn new(grouping: Grouping, start: u64) -> Self {
        Self {
            masks: [true, false].map(|is_v4| grouping.mask(is_v4)),
            seeds: core::array::from_fn(|word| hash::word(start, word as u64)),
        }
    }

    /// The group of a packet with this key.
    #[inline]
    pub(crate) fn group(&self, packet: &Packet<'_>, key: &FlowKey) -> Group {
        Group::of(packet, key).and(&self.masks[usize::from(!key.source.is_v4())])
    }

    /// The words in pairs, so that the multiplications do not wait for one another.
    #[inline]
    pub(crate) fn hash(&self, group: &Group) -> u64 {
        let [a, b, c, d, e, f]: [u64; 6] = core::array::from_fn(|i| group.0[i] ^ self.seeds[i]);
        hash::finish(hash::fold(a, b) ^ hash::fold(c, d).rotate_left(21) ^ hash::fold(e, f).rotate_left(42))
    }
}

/// The groups of the requests seen so far, in a table of fixed size.
///
/// A group is that of the request: a response belongs to that of the reversed key, with its own VLAN id and DSCP. Only
/// requests make groups. The first of them get numbers from 1 on; when all are taken, whatever has no group goes to
/// number 0, "other".
#[derive(Debug)]
pub struct Groups {
    grouping: Grouping,
    /// Apart, so that an observer without groups is no larger for it.
    cut: Box<Cut>,
    /// Group `i + 1` at `i`; never longer than its capacity.
    groups: Vec<Group>,
    most: usize,
    /// Open addressing: numbers of groups, 0 is free. At least twice as long as `most`, a power of two.
    slots: Box<[u16]>,
}

impl Groups {
    /// Room for `most` groups besides "other": at least 1 and at most [`Series::GROUPS`]` − 1` (8,191).
    pub fn new(grouping: Grouping, most: usize, seed: u64) -> Self {
        let most = most.clamp(1, usize::from(Series::GROUPS) - 1);
        Self {
            grouping,
            cut: Box::new(Cut::new(grouping, hash::start(seed))),
            groups: Vec::with_capacity(most),
            most,
            slots: vec![0; (2 * most).next_power_of_two()].into_boxed_slice(),
        }
    }

    /// The groups of what the packet is.
    pub(crate) fn of<'a>(&'a mut self, packet: &'a Packet<'a>) -> PacketGroups<'a> {
        PacketGroups { groups: self, packet, known: [None; 2] }
    }

    fn find(&self, group: &Group) -> Option<u16> {
        self.probe(group).ok()
    }

    fn find_or_add(&mut self, group: &Group) -> u16 {
        match self.probe(group) {
            Ok(number) => number,
            Err(slot) if self.groups.len() < self.most => {
                self.groups.push(*group);
                let number = self.groups.len() as u16;
                self.slots[slot] = number;
                number
            }
            Err(_) => 0,
        }
    }

    /// The group's number, or the slot where it belongs. Ends, as half of the slots are free.
    fn probe(&self, group: &Group) -> Result<u16, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = self.cut.hash(group) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return Err(slot),
                number if self.groups[usize::from(number) - 1] == *group => return Ok(number),
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// How many groups there are, with "other".
    pub fn len(&self) -> usize {
        self.groups.len() + 1
    }

    /// Never: "other" is always there.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The name of a group: `src=10.0.0.0/24 vlan=7`, or `other`.
    pub fn name(&self, number: u16) -> String {
        let group = usize::from(number).checked_sub(1).and_then(|index| self.groups.get(index));
        group.map_or_else(|| "other".to_owned(), |group| self.grouping.name(group))
    }

    /// Bytes that the tables hold; they do not grow.
    pub fn state_bytes(&self) -> usize {
        size_of::<Cut>() + self.most * size_of::<Group>() + size_of_val(&*self.slots)
    }
}

/// The groups of what one packet is.
pub(crate) struct PacketGroups<'a> {
    groups: &'a mut Groups,
    packet: &'a Packet<'a>,
    /// Most packets are several observations in the same one or two groups: [of the reversed key, of its own key].
    known: [Option<u16>; 2],
}

impl PacketGroups<'_> {
    /// The group of a request with the packet's `own` key, or with the reversed one. Only what `asks` makes a group.
    #[inline]
    pub(crate) fn number(&mut self, own: bool, asks: bool) -> u16 {
        let known = &mut self.known[usize::from(own)];
        if let Some(number) = *known {
            return number;
        }
        let key = if own { self.packet.flow } else { self.packet.flow.reversed() };
        let group = self.groups.cut.group(self.packet, &key);
        *known = if asks { Some(self.groups.find_or_add(&group)) } else { self.groups.find(&group) };
        known.unwrap_or(0)
    }
}

impl Grouping {
    /// What of a packet counts.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Tcp, Transport};
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
            transport: Transport::Tcp(segment),
        }
    }

    fn groups(grouping: &str, most: usize) -> Groups {
        Groups::new(grouping.parse().unwrap(), most, 1)
    }

    #[test]
    fn texts_read_and_print() {
        for (text, printed) in [
            ("src", "src"),
            ("src/24", "src/24/48"),
            ("dst/48", "dst/32/48"),
            ("src/24/56,dst/32", "src/24/56,dst/32/64"),
            ("dst/0", "dst/0/0"),
            ("port,vlan,dscp,protocol,src-port,dst-port", "src-port,dst-port,port,vlan,dscp,protocol"),
        ] {
            let grouping: Grouping = text.parse().unwrap();
            assert_eq!(grouping.to_string(), printed);
            assert_eq!(printed.parse(), Ok(grouping));
        }
        let error = |text: &str| text.parse::<Grouping>().unwrap_err();
        assert_eq!(error("src/129"), GroupingError::Length("src/129".into()));
        assert_eq!(error("src/33/64"), GroupingError::Length("src/33/64".into()));
        assert_eq!(error("vlan/4"), GroupingError::Length("vlan/4".into()));
        assert_eq!(error("src,src/24"), GroupingError::Twice("src/24".into()));
        assert_eq!(error(""), GroupingError::Unknown(String::new()));
        assert_eq!(error("src, dst"), GroupingError::Unknown(" dst".into()));
    }

    #[test]
    fn only_what_asks_makes_a_group() {
        let mut groups = groups("src/24", 10);
        let (there, back) = (packet("10.1.2.3", "192.0.2.1", 0), packet("192.0.2.9", "10.1.2.200", 0));
        assert_eq!(groups.of(&there).number(true, false), 0);
        assert_eq!(groups.of(&there).number(true, true), 1);
        // What the packet answers has the reversed key.
        let mut of = groups.of(&back);
        assert_eq!([of.number(false, false), of.number(true, false), of.number(true, true)], [1, 0, 2]);
        assert_eq!((groups.len(), groups.name(2)), (3, "src=192.0.2.0/24".to_owned()));
    }

    /// No VLAN is not VLAN 0, and no part is mistaken for another.
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
        assert_eq!(groups.len(), 3);
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
        assert_eq!((groups.len(), groups.state_bytes()), (101, before));
    }
}
