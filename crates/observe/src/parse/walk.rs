use super::ip::{self, Fragment, next_header};
use super::rest::Rest;
use super::tunnel::{self, UdpTunnel};
use super::{Key, Reject, link, transport};
use crate::packet::{Packet, Transport};
use dwell_types::{FlowKey, LinkType, protocol};

/// How many headers in a row are followed behind that of the link type, each VLAN tag and MPLS label counting as one, IPv6
/// extension headers and the transport header not.
pub const LAYERS: usize = 32;

/// What stands at the front of the bytes not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Ethernet,
    Vlan,
    Mpls,
    Pppoe,
    Ppp,
    Ipv4,
    Ipv6,
    Gre,
}

/// Parses a frame header by header.
#[inline(never)]
pub(super) fn parse<'a>(link: LinkType, bytes: &'a [u8], wire_length: u32, key: Key) -> Result<Packet<'a>, Reject> {
    let mut carrier = None;
    match walk(link, bytes, wire_length, key, &mut carrier) {
        // No IP header in the tunnel: the packet is one of the UDP flow that carries it.
        Err(reject) if !reject.is_truncated() => carrier.ok_or(reject),
        result => result,
    }
}

/// As [`parse`]; leaves in `carrier` the datagram in which no IP header has been found so far.
fn walk<'a>(
    link: LinkType,
    bytes: &'a [u8],
    wire_length: u32,
    key: Key,
    carrier: &mut Option<Packet<'a>>,
) -> Result<Packet<'a>, Reject> {
    let mut rest = Rest { bytes, wire: bytes.len().max(wire_length as usize) };
    let mut next = link::first(link, &mut rest)?;
    let mut outermost_vlan = None;
    for _ in 0..LAYERS {
        next = match next {
            Next::Ethernet => link::ethernet(&mut rest)?,
            Next::Vlan => {
                let (id, inside) = link::vlan(&mut rest)?;
                outermost_vlan = outermost_vlan.or(Some(id));
                inside
            }
            Next::Mpls => link::mpls(&mut rest)?,
            Next::Pppoe => link::pppoe(&mut rest)?,
            Next::Ppp => link::ppp(&mut rest)?,
            Next::Gre => tunnel::gre(&mut rest)?,
            version @ (Next::Ipv4 | Next::Ipv6) => {
                let ip = if version == Next::Ipv4 { ip::v4(&mut rest)? } else { ip::v6(&mut rest)? };
                *carrier = None;
                if ip.fragment == Fragment::Later {
                    return Err(Reject::Fragment);
                }
                let packet = |[source_port, destination_port]: [u16; 2], transport| Packet {
                    flow: FlowKey {
                        source: ip.source,
                        destination: ip.destination,
                        source_port,
                        destination_port,
                        protocol: ip.protocol,
                    },
                    vlan: outermost_vlan,
                    dscp: ip.dscp,
                    transport,
                };
                match ip.protocol {
                    protocol::TCP if ip.fragment == Fragment::First => return Err(Reject::Fragment),
                    protocol::TCP => {
                        let (ports, tcp) = transport::tcp(rest)?;
                        return Ok(packet(ports, Transport::Tcp(tcp)));
                    }
                    protocol::UDP => {
                        let ports = transport::udp(&mut rest)?;
                        let datagram = packet(ports, Transport::Udp(rest.bytes));
                        match UdpTunnel::of_port(ports[1]) {
                            Some(tunnel) if key == Key::Inner => {
                                *carrier = Some(datagram);
                                tunnel.open(&mut rest)?
                            }
                            _ => return Ok(datagram),
                        }
                    }
                    next_header::IPV4 if key == Key::Inner => Next::Ipv4,
                    next_header::IPV6 if key == Key::Inner => Next::Ipv6,
                    next_header::GRE if key == Key::Inner => Next::Gre,
                    next_header::MPLS if key == Key::Inner => Next::Mpls,
                    _ if ip.has_icmp() => return Ok(packet([0; 2], Transport::Icmp(transport::icmp(rest)?))),
                    _ => return Err(Reject::Transport),
                }
            }
        };
    }
    Err(Reject::Layers)
}
