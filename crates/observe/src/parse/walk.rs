use super::ip::{self, Fragment, next_header};
use super::rest::Rest;
use super::tunnel::{self, UdpTunnel};
use super::{Key, Reject, link, transport};
use crate::packet::{Packet, Transport};
use dwell_types::{FlowKey, LinkType, protocol};

/// How many headers in a row are followed, each VLAN tag and MPLS label counting as one, IPv6 extension headers and the
/// transport header not.
pub const LAYERS: usize = 32;

/// What stands at the front of the bytes not parsed yet.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    Ethernet,
    Vlan,
    Mpls,
    Pppoe,
    Ppp,
    /// IPv4 or IPv6: the first nibble tells.
    Ip,
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
    let wire = bytes.len().max(wire_length as usize);
    let (mut next, mut rest) = link::first(link, Rest { bytes, wire })?;
    let mut outermost_vlan = None;
    for _ in 0..LAYERS {
        let ip = match next {
            Next::Ethernet => {
                (next, rest) = link::ethernet(rest)?;
                continue;
            }
            Next::Vlan => {
                let id;
                (id, (next, rest)) = link::vlan(rest)?;
                outermost_vlan = outermost_vlan.or(Some(id));
                continue;
            }
            Next::Mpls => {
                (next, rest) = link::mpls(rest)?;
                continue;
            }
            Next::Pppoe => {
                (next, rest) = link::pppoe(rest)?;
                continue;
            }
            Next::Ppp => {
                (next, rest) = link::ppp(rest)?;
                continue;
            }
            Next::Gre => {
                (next, rest) = tunnel::gre(rest)?;
                continue;
            }
            Next::Ip => {
                next = if ip::version(rest)? == 6 { Next::Ipv6 } else { Next::Ipv4 };
                continue;
            }
            Next::Ipv4 => ip::v4(rest)?,
            Next::Ipv6 => ip::v6(rest)?,
        };
        *carrier = None;
        if ip.fragment == Fragment::Later {
            return Err(Reject::Fragment);
        }
        let tunnel = match ip.protocol {
            _ if key == Key::Outer => None,
            next_header::IPV4 => Some(Next::Ipv4),
            next_header::IPV6 => Some(Next::Ipv6),
            next_header::GRE => Some(Next::Gre),
            next_header::MPLS => Some(Next::Mpls),
            _ => None,
        };
        if let Some(inside) = tunnel {
            (next, rest) = (inside, ip.payload);
            continue;
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
                let (ports, tcp) = transport::tcp(ip.payload)?;
                return Ok(packet(ports, Transport::Tcp(tcp)));
            }
            protocol::UDP => {
                let (ports, payload) = transport::udp(ip.payload)?;
                let datagram = packet(ports, Transport::Udp(payload.bytes));
                match UdpTunnel::of_port(ports[1]) {
                    Some(tunnel) if key == Key::Inner => {
                        *carrier = Some(datagram);
                        (next, rest) = tunnel.open(payload)?;
                    }
                    _ => return Ok(datagram),
                }
            }
            _ if ip.has_icmp() => return Ok(packet([0; 2], Transport::Icmp(transport::icmp(ip.payload)?))),
            _ => return Err(Reject::Transport),
        }
    }
    Err(Reject::Layers)
}
