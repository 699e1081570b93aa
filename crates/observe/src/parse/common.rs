//! The layout of nearly all packets. `None` for any other and for malformed ones; otherwise the same result as the walk
//! over all layers. One function per IP version, so that a caller that uses the packet at once need not check it again.

use super::first::NETLINK;
use super::key::Key;
use super::link::ether_type;
use super::rest::{Rest, u16_at, u32_at};
use super::transport as headers;
use super::tunnel::is_tunnel_port;
use crate::packet::{Packet, Tcp, Transport};
use dwell_types::{Address, FlowKey, LinkType, protocol};

/// The part above the link layer of a frame of Ethernet II with at most one VLAN tag, of Linux cooked capture (either
/// version), or of raw IP.
pub(crate) struct Link<'a> {
    ether_type: u16,
    vlan: Option<u16>,
    bytes: &'a [u8],
}

impl<'a> Link<'a> {
    #[inline(always)]
    pub(super) fn of(link: LinkType, bytes: &'a [u8]) -> Option<Self> {
        match link {
            LinkType::ETHERNET => Self::ethernet(bytes),
            LinkType::LINUX_SLL => {
                let (header, bytes) = bytes.split_first_chunk::<16>()?;
                Self::cooked(u16_at(header, 2), u16_at(header, 14), bytes)
            }
            LinkType::LINUX_SLL2 => {
                let (header, bytes) = bytes.split_first_chunk::<20>()?;
                Self::cooked(u16_at(header, 8), u16_at(header, 0), bytes)
            }
            LinkType::RAW => {
                let ether_type = if bytes.first()? >> 4 == 6 { ether_type::IPV6 } else { ether_type::IPV4 };
                Some(Self { ether_type, vlan: None, bytes })
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn cooked(device: u16, ether_type: u16, bytes: &'a [u8]) -> Option<Self> {
        (device != NETLINK).then_some(Self { ether_type, vlan: None, bytes })
    }

    #[inline(always)]
    pub(super) fn ethernet(bytes: &'a [u8]) -> Option<Self> {
        let (ethernet, bytes) = bytes.split_first_chunk::<14>()?;
        let ether_type = u16_at(ethernet, 12);
        if ether_type != ether_type::VLAN {
            return Some(Self { ether_type, vlan: None, bytes });
        }
        let (tag, bytes) = bytes.split_first_chunk::<4>()?;
        Some(Self { ether_type: u16_at(tag, 2), vlan: Some(u16_at(tag, 0) & 0xfff), bytes })
    }

    /// IPv4 without options and fragmentation.
    #[inline(always)]
    pub(crate) fn v4(&self) -> Option<Ip<'a>> {
        if self.ether_type != ether_type::IPV4 {
            return None;
        }
        let (header, bytes) = self.bytes.split_first_chunk::<20>()?;
        // Version 4, no options; no more fragments, and no fragment offset.
        if header[0] != 0x45 || u16_at(header, 6) & 0x3fff != 0 {
            return None;
        }
        let length = usize::from(u16_at(header, 2)).checked_sub(20)?;
        Some(Ip {
            vlan: self.vlan,
            dscp: header[1] >> 2,
            identification: u16_at(header, 4).into(),
            length: 20 + length,
            protocol: header[9],
            source: Address::v4(u32_at(header, 12)),
            destination: Address::v4(u32_at(header, 16)),
            rest: payload(bytes, length),
        })
    }

    /// IPv6 without extension headers.
    #[inline(always)]
    pub(crate) fn v6(&self) -> Option<Ip<'a>> {
        if self.ether_type != ether_type::IPV6 {
            return None;
        }
        let (header, bytes) = self.bytes.split_first_chunk::<40>()?;
        let length = usize::from(u16_at(header, 4));
        if header[0] >> 4 != 6 || length == 0 {
            return None;
        }
        let (addresses, _) = header[8..].as_chunks::<16>();
        Some(Ip {
            vlan: self.vlan,
            dscp: (u16_at(header, 0) >> 6 & 0x3f) as u8,
            identification: 0,
            length: 40 + length,
            protocol: header[6],
            source: Address::v6(addresses[0]),
            destination: Address::v6(addresses[1]),
            rest: payload(bytes, length),
        })
    }
}

#[inline(always)]
fn payload(bytes: &[u8], length: usize) -> Rest<'_> {
    // Whether a frame was cut is hard to predict: no branch.
    Rest { bytes: bytes.split_at(length.min(bytes.len())).0, wire: length }
}

/// An IP header and the data after it.
pub(crate) struct Ip<'a> {
    vlan: Option<u16>,
    dscp: u8,
    identification: u64,
    /// Including the header, in bytes.
    length: usize,
    protocol: u8,
    source: Address,
    destination: Address,
    rest: Rest<'a>,
}

impl<'a> Ip<'a> {
    /// Ports and segment, if it carries TCP.
    #[inline(always)]
    pub(crate) fn tcp(&self) -> Option<([u16; 2], Tcp<'a>)> {
        if self.protocol == protocol::TCP { headers::tcp(self.rest).ok() } else { None }
    }

    /// Ports and payload, if it carries UDP and, with `Key::Inner`, not to the port of a tunnel.
    #[inline(always)]
    pub(crate) fn udp(&self, key: Key) -> Option<([u16; 2], &'a [u8])> {
        if self.protocol != protocol::UDP {
            return None;
        }
        let mut rest = self.rest;
        let ports = headers::udp(&mut rest).ok()?;
        let is_tunnel = key == Key::Inner && is_tunnel_port(ports[1]);
        (!is_tunnel).then_some((ports, rest.bytes))
    }

    /// Whether bytes are missing at the end.
    #[inline(always)]
    pub(crate) const fn is_cut(&self) -> bool {
        self.rest.is_cut()
    }

    /// The flow between these ports.
    #[inline(always)]
    pub(crate) fn flow(&self, [source_port, destination_port]: [u16; 2]) -> FlowKey {
        let &Self { source, destination, protocol, .. } = self;
        FlowKey { source, destination, source_port, destination_port, protocol }
    }

    /// The packet, if it carries TCP or UDP.
    #[inline(always)]
    pub(crate) fn packet(&self, key: Key) -> Option<Packet<'a>> {
        let (ports, transport) = match self.tcp() {
            Some((ports, segment)) => (ports, Transport::Tcp(segment)),
            None => self.udp(key).map(|(ports, payload)| (ports, Transport::Udp(payload)))?,
        };
        let &Self { vlan, dscp, identification, length, .. } = self;
        let is_cut = self.is_cut();
        Some(Packet { flow: self.flow(ports), vlan, dscp, identification, length: length as u32, is_cut, transport })
    }
}
