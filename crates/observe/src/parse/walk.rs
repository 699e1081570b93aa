use super::ip::{self, Fragment, Ip};
use super::key::Key;
use super::next::Next;
use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at};
use super::tunnel::{self, UdpTunnel};
use super::{first, link, transport};
use crate::packet::port;
use crate::packet::{Packet, Transport};
use dwell_types::{Address, FlowKey, LinkType, protocol};
use std::ops::ControlFlow::{self, Break, Continue};

/// How many consecutive headers are followed after the one of the link type; each VLAN tag and MPLS label counts as
/// one, IPv6 extension headers and the transport header do not count.
pub const LAYERS: usize = 32;

/// What a frame must contain to yield a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A whole header of TCP, UDP or ICMP.
    Transport,
    /// Anything over IP, and the Precision Time Protocol over Ethernet.
    Any,
}

/// Parses a frame header by header.
#[inline(never)]
pub(super) fn packet<'a>(
    link: LinkType,
    bytes: &'a [u8],
    wire_length: u32,
    key: Key,
    wanted: Wanted,
) -> Result<Packet<'a>, Reject> {
    let mut walk = Walk { key, wanted, outermost_vlan: None, carrier: None, part: None };
    match walk.headers(link, bytes, wire_length) {
        // No IP header in the tunnel: the packet is the UDP datagram itself.
        Err(reject) if !reject.is_truncated() => walk.carrier.or(walk.part).ok_or(reject),
        // Nothing is cut, but a fragment ends before the headers inside do.
        Err(reject) if bytes.len() >= wire_length as usize => walk.part.ok_or(reject),
        result => result,
    }
}

/// What is wanted of a frame, and what its headers so far say.
struct Walk<'a> {
    key: Key,
    wanted: Wanted,
    outermost_vlan: Option<u16>,
    /// The tunnel's datagram, or its first fragment, as long as no IP header has been found in it.
    carrier: Option<Packet<'a>>,
    /// The innermost first fragment that a tunnel begins in.
    part: Option<Packet<'a>>,
}

impl<'a> Walk<'a> {
    /// The packet whose headers can all be parsed.
    fn headers(&mut self, link: LinkType, bytes: &'a [u8], wire_length: u32) -> Result<Packet<'a>, Reject> {
        let mut rest = Rest { bytes, wire: bytes.len().max(wire_length as usize) };
        let mut next = first::first(link, &mut rest)?;
        for _ in 0..LAYERS {
            next = match next {
                Next::Ethernet => link::ethernet(&mut rest)?,
                Next::Vlan => {
                    let (id, inside) = link::vlan(&mut rest)?;
                    self.outermost_vlan = self.outermost_vlan.or(Some(id));
                    inside
                }
                Next::Tag(bytes) => link::tag(bytes.into(), &mut rest)?,
                Next::TagOfFrame(bytes) => link::tag_of_frame(bytes.into(), &mut rest)?,
                Next::Mpls => link::mpls(&mut rest)?,
                Next::Pppoe => link::pppoe(&mut rest)?,
                Next::Ppp => link::ppp(&mut rest)?,
                Next::Gre => tunnel::gre(&mut rest)?,
                Next::EthernetInIp => tunnel::ethernet_in_ip(&mut rest)?,
                Next::PrecisionTime => match self.wanted {
                    Wanted::Any => return precision_time(&rest, self.outermost_vlan),
                    Wanted::Transport => return Err(Reject::NotIp),
                },
                version @ (Next::Ipv4 | Next::Ipv6) => {
                    let ip = if version == Next::Ipv4 { ip::v4(&mut rest)? } else { ip::v6(&mut rest)? };
                    match self.over_ip(&ip, &mut rest)? {
                        Break(packet) => return Ok(packet),
                        Continue(inside) => inside,
                    }
                }
            };
        }
        Err(Reject::Layers)
    }

    /// The packet with this IP header, or the first header of the tunnel in it.
    #[inline(always)]
    fn over_ip(&mut self, ip: &Ip, rest: &mut Rest<'a>) -> Result<ControlFlow<Packet<'a>, Next>, Reject> {
        let Self { key, wanted, outermost_vlan, .. } = *self;
        self.carrier = None;
        let packet = |ports, transport| ip.packet(outermost_vlan, ports, transport);
        let fragment = |rest: &Rest<'a>| match wanted {
            Wanted::Any => Ok(packet([0; 2], Transport::Other(rest.bytes))),
            Wanted::Transport => Err(Reject::Fragment),
        };
        match ip.fragment {
            Fragment::First if wanted == Wanted::Any => {
                if key == Key::Outer || !tunnel::may_begin(ip.protocol, rest)? {
                    return fragment(rest).map(Break);
                }
                self.part = fragment(rest).ok();
            }
            Fragment::Later => return fragment(rest).map(Break),
            Fragment::First | Fragment::Whole => {}
        }
        match ip.protocol {
            protocol::TCP if ip.fragment == Fragment::First => Err(Reject::Fragment),
            protocol::TCP => {
                let (ports, tcp) = transport::tcp(*rest)?;
                Ok(Break(packet(ports, Transport::Tcp(tcp))))
            }
            protocol::UDP => {
                let ports = transport::udp(rest)?;
                let datagram = packet(ports, Transport::Udp(rest.bytes));
                match UdpTunnel::of_port(ports[1]) {
                    Some(tunnel) if key == Key::Inner => {
                        let is_whole = ip.fragment == Fragment::Whole;
                        self.carrier = Some(if is_whole { datagram } else { self.part.unwrap_or(datagram) });
                        tunnel.open(rest).map(Continue)
                    }
                    _ => Ok(Break(datagram)),
                }
            }
            _ if ip.has_icmp() => Ok(Break(packet([0; 2], Transport::Icmp(transport::icmp(*rest)?)))),
            _ => match tunnel::over_ip(ip.protocol) {
                Some(inside) if key == Key::Inner => Ok(Continue(inside)),
                _ if wanted == Wanted::Transport => Err(Reject::Transport),
                _ => {
                    let ports = transport::ports(ip.protocol, *rest)?;
                    Ok(Break(packet(ports, Transport::Other(rest.bytes))))
                }
            },
        }
    }
}

/// A Precision Time Protocol message directly over Ethernet (IEEE 1588 annex F). It has no addresses: the flow is named
/// by the identity of the sending port, with the clock's 64 bits as the lower half of an IPv6 address; the rest is as
/// over UDP.
fn precision_time<'a>(rest: &Rest<'a>, vlan: Option<u16>) -> Result<Packet<'a>, Reject> {
    let header = rest.peek::<34>(Layer::Transport)?;
    let mut clock = [0; 16];
    clock[8..].copy_from_slice(&header[20..28]);
    let flow = FlowKey {
        source: Address::v6(clock),
        destination: Address::v6([0; 16]),
        source_port: u16_at(header, 28),
        destination_port: port::PRECISION_TIME[0],
        protocol: protocol::UDP,
    };
    Ok(Packet {
        flow,
        vlan,
        dscp: 0,
        identification: 0,
        length: rest.wire as u32,
        is_cut: rest.is_cut(),
        transport: Transport::Udp(rest.bytes),
    })
}
