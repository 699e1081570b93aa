//! The layout that nearly all packets have. `None` for every other, errors included; else what the walk over all layers
//! gives. One function per version of IP, so that whoever uses the packet at once need not ask again which it is.

use super::key::Key;
use super::link::ether_type;
use super::rest::{Rest, long, number};
use super::transport as headers;
use super::tunnel::UdpTunnel;
use crate::packet::{Packet, Transport};
use dwell_types::{Address, FlowKey, protocol};

/// An Ethernet II frame with at most one VLAN tag: what is above.
pub(crate) struct Link<'a> {
    ether_type: u16,
    vlan: Option<u16>,
    bytes: &'a [u8],
}

impl<'a> Link<'a> {
    #[inline(always)]
    pub(super) fn ethernet(bytes: &'a [u8]) -> Option<Self> {
        let (ethernet, bytes) = bytes.split_first_chunk::<14>()?;
        let ether_type = number(ethernet, 12);
        if ether_type != ether_type::VLAN {
            return Some(Self { ether_type, vlan: None, bytes });
        }
        let (tag, bytes) = bytes.split_first_chunk::<4>()?;
        Some(Self { ether_type: number(tag, 2), vlan: Some(number(tag, 0) & 0xfff), bytes })
    }

    /// IPv4 without options, and TCP or UDP that carries no tunnel.
    #[inline(always)]
    pub(crate) fn v4(&self, key: Key) -> Option<Packet<'a>> {
        if self.ether_type != ether_type::IPV4 {
            return None;
        }
        let (header, bytes) = self.bytes.split_first_chunk::<20>()?;
        // Version 4, no options; neither more fragments nor an offset.
        if header[0] != 0x45 || number(header, 6) & 0x3fff != 0 {
            return None;
        }
        let addresses = (Address::v4(long(header, 12)), Address::v4(long(header, 16)));
        let length = usize::from(number(header, 2)).checked_sub(20)?;
        let ip = Ip { dscp: header[1] >> 2, protocol: header[9], identification: number(header, 4).into(), header: 20 };
        transport(key, self.vlan, ip, addresses, bytes, length)
    }

    /// IPv6 without extension headers, and TCP or UDP that carries no tunnel.
    #[inline(always)]
    pub(crate) fn v6(&self, key: Key) -> Option<Packet<'a>> {
        if self.ether_type != ether_type::IPV6 {
            return None;
        }
        let (header, bytes) = self.bytes.split_first_chunk::<40>()?;
        let length = usize::from(number(header, 4));
        if header[0] >> 4 != 6 || length == 0 {
            return None;
        }
        let (addresses, _) = header[8..].as_chunks::<16>();
        let addresses = (Address::v6(addresses[0]), Address::v6(addresses[1]));
        let dscp = (number(header, 0) >> 6 & 0x3f) as u8;
        let ip = Ip { dscp, protocol: header[6], identification: 0, header: 40 };
        transport(key, self.vlan, ip, addresses, bytes, length)
    }
}

/// What both versions of IP say.
struct Ip {
    dscp: u8,
    protocol: u8,
    identification: u64,
    /// Length of the header in bytes.
    header: usize,
}

#[inline(always)]
fn transport<'a>(
    key: Key,
    vlan: Option<u16>,
    Ip { dscp, protocol, identification, header }: Ip,
    (source, destination): (Address, Address),
    bytes: &'a [u8],
    length: usize,
) -> Option<Packet<'a>> {
    // Whether a frame was cut is hard to foretell: no branch.
    let mut rest = Rest { bytes: bytes.split_at(length.min(bytes.len())).0, wire: length };
    let ([source_port, destination_port], transport) = match protocol {
        protocol::TCP => {
            let (ports, tcp) = headers::tcp(rest).ok()?;
            (ports, Transport::Tcp(tcp))
        }
        protocol::UDP => {
            let ports = headers::udp(&mut rest).ok()?;
            if key == Key::Inner && UdpTunnel::of_port(ports[1]).is_some() {
                return None;
            }
            (ports, Transport::Udp(rest.bytes))
        }
        _ => return None,
    };
    let flow = FlowKey { source, destination, source_port, destination_port, protocol };
    Some(Packet { flow, vlan, dscp, identification, length: (header + length) as u32, transport })
}
