use super::link::ether_type;
use super::rest::{Rest, long, number};
use super::tunnel::UdpTunnel;
use super::{Key, transport};
use crate::packet::{Packet, Transport};
use dwell_types::{Address, FlowKey, protocol};

/// Parses Ethernet II, at most one VLAN tag, IPv4 without options or IPv6 without extension headers, and TCP or UDP that
/// carries no tunnel. Yields `None` for everything else, errors included; else what the walk over all layers would.
#[inline(always)]
pub(super) fn parse(bytes: &[u8], key: Key) -> Option<Packet<'_>> {
    let (ethernet, mut bytes) = bytes.split_first_chunk::<14>()?;
    let mut kind = number(ethernet, 12);
    let mut vlan = None;
    if kind == ether_type::VLAN {
        let tag;
        (tag, bytes) = bytes.split_first_chunk::<4>()?;
        kind = number(tag, 2);
        vlan = Some(number(tag, 0) & 0xfff);
    }

    let (source, destination, dscp, protocol, length);
    match kind {
        ether_type::IPV4 => {
            let header;
            (header, bytes) = bytes.split_first_chunk::<20>()?;
            // Version 4, no options; neither more fragments nor an offset.
            if header[0] != 0x45 || number(header, 6) & 0x3fff != 0 {
                return None;
            }
            (source, destination) = (Address::v4(long(header, 12)), Address::v4(long(header, 16)));
            (dscp, protocol) = (header[1] >> 2, header[9]);
            length = usize::from(number(header, 2)).checked_sub(20)?;
        }
        ether_type::IPV6 => {
            let header;
            (header, bytes) = bytes.split_first_chunk::<40>()?;
            if header[0] >> 4 != 6 {
                return None;
            }
            let (addresses, _) = header[8..].as_chunks::<16>();
            (source, destination) = (Address::v6(addresses[0]), Address::v6(addresses[1]));
            (dscp, protocol) = ((number(header, 0) >> 6 & 0x3f) as u8, header[6]);
            length = usize::from(number(header, 4));
            if length == 0 {
                return None;
            }
        }
        _ => return None,
    }

    let mut rest = Rest { bytes: bytes.get(..length).unwrap_or(bytes), wire: length };
    let ([source_port, destination_port], transport) = match protocol {
        protocol::TCP => {
            let (ports, tcp) = transport::tcp(rest).ok()?;
            (ports, Transport::Tcp(tcp))
        }
        protocol::UDP => {
            let ports = transport::udp(&mut rest).ok()?;
            if key == Key::Inner && UdpTunnel::of_port(ports[1]).is_some() {
                return None;
            }
            (ports, Transport::Udp(rest.bytes))
        }
        _ => return None,
    };
    let flow = FlowKey { source, destination, source_port, destination_port, protocol };
    Some(Packet { flow, vlan, dscp, transport })
}
