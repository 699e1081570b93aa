use crate::hash;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// The IP protocol numbers that dwell parses.
pub mod protocol {
    /// ICMP for IPv4.
    pub const ICMP: u8 = 1;
    /// Transmission Control Protocol.
    pub const TCP: u8 = 6;
    /// User Datagram Protocol.
    pub const UDP: u8 = 17;
    /// Datagram Congestion Control Protocol.
    pub const DCCP: u8 = 33;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// Stream Control Transmission Protocol.
    pub const SCTP: u8 = 132;
    /// Lightweight User Datagram Protocol.
    pub const UDP_LITE: u8 = 136;

    /// The name of one of these protocols.
    pub const fn name(number: u8) -> Option<&'static str> {
        match number {
            ICMP => Some("icmp"),
            TCP => Some("tcp"),
            UDP => Some("udp"),
            DCCP => Some("dccp"),
            ICMPV6 => Some("icmpv6"),
            SCTP => Some("sctp"),
            UDP_LITE => Some("udplite"),
            _ => None,
        }
    }
}

/// An IPv4 or IPv6 address in 128 bits; IPv4 as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    high: u64,
    low: u64,
}

const V4_MAPPED: u64 = 0xffff << 32;

impl Address {
    /// An IPv4 address from its four bytes, first byte most significant.
    #[inline]
    pub const fn v4(bits: u32) -> Self {
        Self { high: 0, low: V4_MAPPED | bits as u64 }
    }

    /// An IPv6 address from its 16 bytes in network order.
    #[inline]
    pub const fn v6(bytes: [u8; 16]) -> Self {
        let bits = u128::from_be_bytes(bytes);
        Self { high: (bits >> 64) as u64, low: bits as u64 }
    }

    /// Whether this is an IPv4 address.
    #[inline]
    pub const fn is_v4(self) -> bool {
        self.high == 0 && self.low >> 32 == 0xffff
    }

    /// Whether this is the unspecified address, used by a host that has none yet (RFC 4291 §2.5.2; `0.0.0.0`).
    #[inline]
    pub const fn is_unspecified(self) -> bool {
        self.high == 0 && (self.low == 0 || self.low == V4_MAPPED)
    }

    /// Whether this is link-local, that is, never routed: `fe80::/10` (RFC 4291 §2.5.6), `169.254.0.0/16` (RFC 3927).
    #[inline]
    pub const fn is_link_local(self) -> bool {
        if self.is_v4() { self.low as u32 >> 16 == 0xa9fe } else { self.high >> 54 == 0xfe80 >> 6 }
    }

    /// Whether packets to this address reach all neighbours on a link, or a group of them, and are never routed: multicast
    /// of link scope (`ff02::/16` with any flags, RFC 4291 §2.7, as `ff12::/16`, and `ff32::/16` of RFC 4489;
    /// `224.0.0.0/24`, RFC 5771 §4) and `255.255.255.255`.
    #[inline]
    pub const fn is_link_group(self) -> bool {
        if self.is_v4() {
            self.low as u32 >> 8 == 0xe0_0000 || self.low as u32 == u32::MAX
        } else {
            self.high >> 48 & 0xff0f == 0xff02
        }
    }

    /// The two 64-bit halves, most significant first.
    #[inline]
    pub const fn halves(self) -> (u64, u64) {
        (self.high, self.low)
    }

    /// The address with all but the first `length` bits cleared; an IPv4 length counts from the first of its 32 bits.
    pub const fn truncated(self, length: u8) -> Self {
        let length = if self.is_v4() { length.saturating_add(96) } else { length };
        let mask = match length {
            0 => 0,
            1..=127 => u128::MAX << (128 - length),
            _ => u128::MAX,
        };
        Self { high: self.high & (mask >> 64) as u64, low: self.low & mask as u64 }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::v4(v4.to_bits()),
            IpAddr::V6(v6) => Self::v6(v6.octets()),
        }
    }
}

impl From<Address> for IpAddr {
    fn from(address: Address) -> Self {
        if address.is_v4() {
            Self::V4(Ipv4Addr::from_bits(address.low as u32))
        } else {
            Self::V6(Ipv6Addr::from_bits(u128::from(address.high) << 64 | u128::from(address.low)))
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        IpAddr::from(*self).fmt(f)
    }
}

/// The 5-tuple of a packet, as sent: source first. Ports are zero where the protocol has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowKey {
    /// Sender's address.
    pub source: Address,
    /// Receiver's address.
    pub destination: Address,
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

impl FlowKey {
    /// The memory that the name of a flow and its place in a list take at most: two IPv6 addresses with ports, or a name from
    /// a log, which is truncated.
    pub const NAME_BYTES: usize = 128;

    /// The key of packets in the opposite direction.
    #[inline]
    pub const fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            protocol: self.protocol,
        }
    }

    /// Whether the sender's endpoint comes first in the order of [`FlowKey::undirected`]. Exactly one of a key and its
    /// reverse does, unless both endpoints are the same.
    #[inline]
    fn is_forward(self) -> bool {
        (self.source, self.source_port) <= (self.destination, self.destination_port)
    }

    /// The same key for both directions: the lower endpoint as the source.
    #[inline]
    pub fn undirected(self) -> Self {
        if self.is_forward() { self } else { self.reversed() }
    }

    /// Whether the packet goes from the higher port to the lower one, which is mostly that of the service.
    #[inline]
    pub const fn is_to_server(self) -> bool {
        self.source_port > self.destination_port
    }

    /// The same key for both directions: from the higher port to the lower one, which is mostly that of the service; with
    /// equal ports, or none, from the lower address.
    pub fn to_lower_port(self) -> Self {
        let (from, to) = (self.source_port, self.destination_port);
        let is_kept = if from == to { self.source <= self.destination } else { self.is_to_server() };
        if is_kept { self } else { self.reversed() }
    }

    /// Absorbs the key into a hash: one word for the addresses and one for ports and protocol with IPv4, five in all
    /// with IPv6.
    #[inline]
    pub const fn absorb(self, state: u64) -> u64 {
        let (source, destination) = (self.source, self.destination);
        let ports = (self.source_port as u64) << 24 | (self.destination_port as u64) << 40 | self.protocol as u64;
        if source.is_v4() && destination.is_v4() {
            let state = hash::absorb(state, source.low << 32 | destination.low & 0xffff_ffff);
            hash::absorb(state, ports)
        } else {
            let state = hash::absorb(hash::absorb(state, source.high), source.low);
            let state = hash::absorb(hash::absorb(state, destination.high), destination.low);
            hash::absorb(state, ports | 1 << 8)
        }
    }
}

/// `10.0.0.1:443 → 10.0.0.2:51000 tcp`, or without ports `10.0.0.1 → 10.0.0.2 icmp`.
impl fmt::Display for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_ports = (self.source_port, self.destination_port) != (0, 0);
        let endpoint = |f: &mut fmt::Formatter<'_>, address: Address, port: u16| match IpAddr::from(address) {
            address if !has_ports => write!(f, "{address}"),
            IpAddr::V4(v4) => write!(f, "{v4}:{port}"),
            IpAddr::V6(v6) => write!(f, "[{v6}]:{port}"),
        };
        endpoint(f, self.source, self.source_port)?;
        f.write_str(" → ")?;
        endpoint(f, self.destination, self.destination_port)?;
        match protocol::name(self.protocol) {
            Some(name) => write!(f, " {name}"),
            None => write!(f, " proto {}", self.protocol),
        }
    }
}

/// A set of addresses that share their first bits: `10.0.0.0/8`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: Address,
    length: u8,
}

/// Why a text is not a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefixError {
    /// The part before the slash is not an IPv4 or IPv6 address.
    Address,
    /// The part after the slash is not a number, or is more than 32 (IPv4) or 128 (IPv6), or less than the 96 bits before
    /// an IPv4 address in the form of IPv6.
    Length,
}

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "expected an IPv4 or IPv6 address before the slash, as in 10.0.0.0/8 or 2001:db8::/32",
            Self::Length => "expected a length of at most 32 (IPv4) or 128 (IPv6) bits after the slash",
        })
    }
}

impl core::error::Error for PrefixError {}

impl Prefix {
    /// The prefix of `length` bits that contains `address`; longer lengths are limited to the whole address.
    pub const fn new(address: Address, length: u8) -> Self {
        let longest = if address.is_v4() { 32 } else { 128 };
        let length = if length < longest { length } else { longest };
        Self { address: address.truncated(length), length }
    }

    /// The number of bits that all its addresses share.
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether the address is in this set.
    #[inline]
    pub fn contains(self, address: Address) -> bool {
        address.is_v4() == self.address.is_v4() && address.truncated(self.length) == self.address
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;

    fn from_str(text: &str) -> Result<Self, PrefixError> {
        let (address, length) = text.split_once('/').map_or((text, None), |(a, l)| (a, Some(l)));
        let written: IpAddr = address.parse().map_err(|_| PrefixError::Address)?;
        let address = Address::from(written);
        let longest: u8 = if address.is_v4() { 32 } else { 128 };
        // An IPv4 address in the form of IPv6 has 96 bits before its own.
        let mapped = if written.is_ipv6() && address.is_v4() { 96 } else { 0 };
        let length = match length {
            None => Some(longest),
            Some(text) => text.parse().ok().and_then(|bits: u8| bits.checked_sub(mapped)),
        };
        Ok(Self::new(address, length.filter(|&length| length <= longest).ok_or(PrefixError::Length)?))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    fn key() -> FlowKey {
        FlowKey {
            source: Address::v4(0x0a00_0001),
            destination: Address::v4(0x0a00_0002),
            source_port: 51_000,
            destination_port: 443,
            protocol: protocol::TCP,
        }
    }

    #[test]
    fn directions() {
        let key = key();
        assert_eq!(key.reversed().reversed(), key);
        assert_eq!(key.undirected(), key.reversed().undirected());
        assert!(key.is_forward() != key.reversed().is_forward());
        assert_eq!(key.to_string(), "10.0.0.1:51000 → 10.0.0.2:443 tcp");
    }

    /// Whichever end has the lower address.
    #[test]
    fn both_directions_lead_to_the_lower_port() {
        let from_lower_address = key();
        let swapped_ports = FlowKey { source_port: 443, destination_port: 51_000, ..key() };
        let to_itself = FlowKey { destination: key().source, ..key() };
        let without_ports = FlowKey { source_port: 0, destination_port: 0, protocol: protocol::ICMP, ..key() };
        for (key, name) in [
            (from_lower_address, "10.0.0.1:51000 → 10.0.0.2:443 tcp"),
            (swapped_ports, "10.0.0.2:51000 → 10.0.0.1:443 tcp"),
            (to_itself, "10.0.0.1:51000 → 10.0.0.1:443 tcp"),
            (without_ports, "10.0.0.1 → 10.0.0.2 icmp"),
        ] {
            for key in [key, key.reversed()] {
                assert_eq!(key.to_lower_port().to_string(), name);
            }
        }
    }

    #[test]
    fn names_have_ports_if_there_are_any() {
        let v4 = |[source_port, destination_port]: [u16; 2], protocol| FlowKey {
            source_port,
            destination_port,
            protocol,
            ..key()
        };
        let v6 = |key| FlowKey { source: Address::v6([1; 16]), destination: Address::v6([2; 16]), ..key };
        assert_eq!(v4([0, 0], protocol::ICMP).to_string(), "10.0.0.1 → 10.0.0.2 icmp");
        assert_eq!(v4([0, 0], 47).to_string(), "10.0.0.1 → 10.0.0.2 proto 47");
        assert_eq!(v4([0, 53], protocol::UDP).to_string(), "10.0.0.1:0 → 10.0.0.2:53 udp");
        let long = "101:101:101:101:101:101:101:101 → 202:202:202:202:202:202:202:202 icmpv6";
        assert_eq!(v6(v4([0, 0], protocol::ICMPV6)).to_string(), long);
        let long = "[101:101:101:101:101:101:101:101]:7 → [202:202:202:202:202:202:202:202]:53 udp";
        assert_eq!(v6(v4([7, 53], protocol::UDP)).to_string(), long);
    }

    #[test]
    fn special_addresses() {
        let of = |text: &str| Address::from(text.parse::<IpAddr>().unwrap());
        let all = ["0.0.0.0", "::", "169.254.7.1", "fe80::1", "febf::1", "fec0::1", "169.253.0.1", "10.0.0.1", "::1"];
        let special = all.map(|text| (of(text).is_unspecified(), of(text).is_link_local()));
        let expected = [[(true, false); 2].as_slice(), &[(false, true); 3], &[(false, false); 4]].concat();
        assert_eq!(special.as_slice(), expected);
    }

    /// Groups of link scope have any flags: permanent, transient, or made of a prefix or an interface.
    #[test]
    fn groups_of_a_link() {
        let is_group = |text: &str| Address::from(text.parse::<IpAddr>().unwrap()).is_link_group();
        for group in ["224.0.0.251", "255.255.255.255", "ff02::fb", "ff12::1", "ff32:ff::1", "ff72::1"] {
            assert!(is_group(group), "{group}");
        }
        for other in ["224.0.1.1", "239.255.255.250", "ff05::1", "ff0e::1", "ff3e::1", "ff20::2", "fe80::1", "::ff02"] {
            assert!(!is_group(other), "{other}");
        }
    }

    #[test]
    fn every_field_changes_the_hash() {
        let hash = |key: FlowKey| hash::finish(key.absorb(hash::start(1)));
        let base = key();
        let v6 = Address::v6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        let variants = [
            base,
            base.reversed(),
            FlowKey { source: Address::v4(1), ..base },
            FlowKey { destination: Address::v4(1), ..base },
            FlowKey { source_port: 1, ..base },
            FlowKey { destination_port: 1, ..base },
            FlowKey { protocol: protocol::UDP, ..base },
            FlowKey { source: v6, ..base },
            FlowKey { destination: v6, ..base },
        ];
        for (i, a) in variants.iter().enumerate() {
            for b in &variants[..i] {
                assert_ne!(hash(*a), hash(*b), "{a} and {b}");
            }
        }
    }

    #[test]
    fn prefixes() {
        let inside: Prefix = "10.0.0.0/8".parse().unwrap();
        assert!(inside.contains(Address::v4(0x0aff_ffff)) && !inside.contains(Address::v4(0x0b00_0000)));
        assert_eq!("10.1.2.3/8".parse::<Prefix>().unwrap().to_string(), "10.0.0.0/8");
        let v6: Prefix = "2001:db8::/32".parse().unwrap();
        assert!(v6.contains("2001:db8:1::1".parse::<IpAddr>().unwrap().into()));
        assert!(!v6.contains(Address::v4(0x2001_0db8)));
        assert!(!"::/0".parse::<Prefix>().unwrap().contains(Address::v4(1)));
        assert!("0.0.0.0/0".parse::<Prefix>().unwrap().contains(Address::v4(1)));
        assert_eq!("1.2.3.4".parse::<Prefix>().unwrap().to_string(), "1.2.3.4/32");
        assert_eq!("::ffff:10.1.2.3/104".parse::<Prefix>().unwrap(), inside);
        assert_eq!("::ffff:1.2.3.4".parse::<Prefix>().unwrap().to_string(), "1.2.3.4/32");
        assert_eq!("::ffff:1.2.3.4/32".parse::<Prefix>(), Err(PrefixError::Length));
        assert_eq!("1.2.3.4/33".parse::<Prefix>(), Err(PrefixError::Length));
        assert_eq!("::1/129".parse::<Prefix>(), Err(PrefixError::Length));
        assert_eq!("host/8".parse::<Prefix>(), Err(PrefixError::Address));
    }
}
