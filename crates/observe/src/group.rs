//! Groups: which requests are reported together.

use crate::packet::Packet;
use core::fmt;
use core::str::FromStr;
use dwell_types::{Address, FlowKey, Leg, Match, Observation, Prefix, Series, hash, protocol};

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

/// What the packets of one group share; zero where the grouping does not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    source: Address,
    destination: Address,
    source_port: u16,
    destination_port: u16,
    port: u16,
    vlan: Option<u16>,
    dscp: u8,
    protocol: u8,
}

/// The groups of the requests seen so far, in a table of fixed size.
///
/// A group is that of the request: a response belongs to that of the reversed key, with its own VLAN id and DSCP. Only
/// requests make groups. The first of them get numbers from 1 on; when all are taken, whatever has no group goes to
/// number 0, "other".
#[derive(Debug)]
pub struct Groups {
    grouping: Grouping,
    start: u64,
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
            start: hash::start(seed),
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
        let mut slot = group.hash(self.start) as usize & mask;
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
        self.most * size_of::<Group>() + size_of_val(&*self.slots)
    }
}

/// Whether the request of an observation had the key of the packet itself, and not the reversed one, as far as the
/// packet tells: a request has, most responses have not.
///
/// The *sum* of a handshake ends with a packet of the side that asked, and an edge of the spin bit follows another in
/// the same direction. The end of a `tcp-flow` may come from either side: the higher port is taken for the client's,
/// which is a guess and decides only under which name a response is counted that no request fits.
#[inline]
pub(crate) fn is_own(seen: &Observation, packet: &FlowKey) -> bool {
    let Observation::Response(sighting) = seen else { return true };
    match sighting.series {
        Series { matching: Match::QuicSpin, .. } | Series { leg: Leg::Sum, .. } => true,
        Series { matching: Match::TcpFlow, .. } => packet.source_port > packet.destination_port,
        _ => false,
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
    /// Puts an observation of the packet into its group.
    pub(crate) fn name(&mut self, seen: &mut Observation) {
        let own = is_own(seen, &self.packet.flow);
        let known = &mut self.known[usize::from(own)];
        let number = known.unwrap_or_else(|| {
            let key = if own { self.packet.flow } else { self.packet.flow.reversed() };
            let group = self.groups.grouping.group(self.packet, &key);
            *known = match seen {
                Observation::Request(_) => Some(self.groups.find_or_add(&group)),
                Observation::Response(_) => self.groups.find(&group),
            };
            known.unwrap_or(0)
        });
        let (Observation::Request(sighting) | Observation::Response(sighting)) = seen;
        sighting.series.group = number;
    }
}

impl Grouping {
    /// The group of a packet with this key.
    pub(crate) fn group(&self, packet: &Packet<'_>, key: &FlowKey) -> Group {
        let cut = |lengths: Option<Lengths>, address: Address| {
            lengths.map_or(Address::default(), |lengths| address.truncated(lengths.of(address)))
        };
        let port = |wanted: bool, port: u16| if wanted { port } else { 0 };
        Group {
            source: cut(self.source, key.source),
            destination: cut(self.destination, key.destination),
            source_port: port(self.source_port, key.source_port),
            destination_port: port(self.destination_port, key.destination_port),
            port: port(self.port, key.source_port.min(key.destination_port)),
            vlan: packet.vlan.filter(|_| self.vlan),
            dscp: if self.dscp { packet.dscp } else { 0 },
            protocol: if self.protocol { key.protocol } else { 0 },
        }
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
        address("src", self.source, group.source);
        address("dst", self.destination, group.destination);
        let ports = [
            ("src-port", self.source_port, group.source_port),
            ("dst-port", self.destination_port, group.destination_port),
            ("port", self.port, group.port),
        ];
        parts.extend(ports.iter().filter(|(_, wanted, _)| *wanted).map(|(name, _, port)| format!("{name}={port}")));
        if self.vlan {
            parts.push(group.vlan.map_or_else(|| "vlan=none".to_owned(), |vlan| format!("vlan={vlan}")));
        }
        if self.dscp {
            parts.push(format!("dscp={}", group.dscp));
        }
        if self.protocol {
            parts.push(match group.protocol {
                protocol::TCP => "protocol=tcp".to_owned(),
                protocol::UDP => "protocol=udp".to_owned(),
                protocol::ICMP => "protocol=icmp".to_owned(),
                protocol::ICMPV6 => "protocol=icmpv6".to_owned(),
                other => format!("protocol={other}"),
            });
        }
        parts.join(" ")
    }
}

impl Group {
    pub(crate) fn hash(&self, start: u64) -> u64 {
        let key = FlowKey {
            source: self.source,
            destination: self.destination,
            source_port: self.source_port,
            destination_port: self.destination_port,
            protocol: self.protocol,
        };
        let vlan = self.vlan.map_or(1 << 16, u64::from);
        let rest = vlan << 32 | u64::from(self.port) << 8 | u64::from(self.dscp);
        hash::finish(hash::absorb(key.absorb(start), rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Tcp, Transport};
    use crate::pair::Pairing;
    use dwell_types::{Match, Timestamp};
    use std::net::IpAddr;

    fn packet(source: &str, destination: &str, flags: u8) -> Packet<'static> {
        let address = |text: &str| text.parse::<IpAddr>().unwrap().into();
        let segment = Tcp { sequence: 1, acknowledgement: 1, flags, payload_length: 0, timestamps: None, payload: &[] };
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

    fn pairing(matches: &[Match], grouping: &str, most: usize) -> Pairing {
        Pairing::new(matches, Vec::new(), Some(Groups::new(grouping.parse().unwrap(), most, 1)), 1)
    }

    /// The groups of what a packet gives, in order.
    fn groups(pairing: &mut Pairing, packet: &Packet<'_>) -> Vec<u16> {
        let mut groups = Vec::new();
        pairing.observe(
            packet,
            Timestamp::from_nanos(1),
            &mut |(Observation::Request(s) | Observation::Response(s))| {
                groups.push(s.series.group);
            },
        );
        groups
    }

    fn reversed(packet: &Packet<'static>) -> Packet<'static> {
        Packet { flow: packet.flow.reversed(), ..*packet }
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
    fn a_response_is_in_the_group_of_its_request() {
        let mut pairing = pairing(&[Match::TcpHandshake, Match::TcpAck], "src/24", 10);
        let syn = packet("10.1.2.3", "192.0.2.1", Tcp::SYN);
        assert_eq!(groups(&mut pairing, &syn), [1, 1, 1]);
        // Two responses to the client's requests, then two requests of the server.
        let answer = reversed(&packet("10.1.2.3", "192.0.2.1", Tcp::SYN | Tcp::ACK));
        assert_eq!(groups(&mut pairing, &answer), [1, 1, 2, 2]);
        // Answers of before (the server asked), sum (the client did) and to the server's SYN.
        let ack = packet("10.1.2.9", "192.0.2.8", Tcp::ACK);
        assert_eq!(groups(&mut pairing, &ack), [2, 1, 2]);
        let names: Vec<_> = (0..3).map(|number| pairing.groups().unwrap().name(number)).collect();
        assert_eq!(names, ["other", "src=10.1.2.0/24", "src=192.0.2.0/24"]);
    }

    #[test]
    fn names() {
        let mut pairing = pairing(&[Match::TcpAck], "src/24,dst,port,vlan,dscp,protocol,src-port,dst-port", 10);
        let v6 = Packet { vlan: Some(7), dscp: 46, ..packet("2001:db8:1:2::1", "2001:db8::2", Tcp::SYN) };
        assert_eq!(groups(&mut pairing, &v6), [1]);
        assert_eq!(groups(&mut pairing, &packet("10.1.2.3", "192.0.2.1", Tcp::SYN)), [2]);
        let groups = pairing.groups().unwrap();
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
        let mut pairing = pairing(&[Match::TcpAck], "src", 100);
        let before = pairing.state_bytes();
        for i in 0..1000u32 {
            let mut syn = packet("10.0.0.0", "192.0.2.1", Tcp::SYN);
            syn.flow.source = Address::v4(0x0a00_0000 + i);
            let expected = if i < 100 { i as u16 + 1 } else { 0 };
            assert_eq!(groups(&mut pairing, &syn), [expected]);
            assert_eq!(groups(&mut pairing, &syn), [expected]);
        }
        assert_eq!(pairing.groups().unwrap().len(), 101);
        assert_eq!(pairing.state_bytes(), before);
        let unasked = packet("192.0.2.99", "172.16.0.1", Tcp::ACK);
        assert_eq!(groups(&mut pairing, &unasked), [0], "a response makes no group");
    }
}
