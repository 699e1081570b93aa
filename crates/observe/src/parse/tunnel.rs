use super::ip::next_header;
use super::link::{self, ether_type};
use super::next::{Next, Step};
use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at};
use dwell_types::protocol;

/// A tunnel over UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UdpTunnel {
    Vxlan,
    VxlanGpe,
    Geneve,
    GtpU,
    L2tp,
    Mpls,
}

/// Whether a datagram to this port is taken for that of a tunnel, if what it contains agrees.
#[inline]
pub const fn is_tunnel_port(destination: u16) -> bool {
    UdpTunnel::of_port(destination).is_some()
}

/// Whether the payload of IP in `rest` may be that of a tunnel, by its protocol and port.
pub(super) fn may_begin(protocol: u8, rest: &Rest<'_>) -> Result<bool, Reject> {
    match protocol {
        protocol::UDP => match rest.peek::<8>(Layer::Transport) {
            Ok(udp) => Ok(is_tunnel_port(u16_at(udp, 2))),
            Err(reject) if reject.is_truncated() => Err(reject),
            Err(_) => Ok(false),
        },
        _ => Ok(over_ip(protocol).is_some()),
    }
}

/// What IP of this protocol contains, if that is a tunnel.
#[inline]
pub(super) const fn over_ip(protocol: u8) -> Option<Next> {
    match protocol {
        next_header::IPV4 => Some(Next::Ipv4),
        next_header::IPV6 => Some(Next::Ipv6),
        next_header::GRE => Some(Next::Gre),
        next_header::MPLS => Some(Next::Mpls),
        next_header::ETHERNET_IN_IP => Some(Next::EthernetInIp),
        _ => None,
    }
}

impl UdpTunnel {
    /// The tunnel protocol of a UDP destination port: IANA's numbers, and the default of Linux for VXLAN.
    #[inline]
    pub(super) const fn of_port(destination: u16) -> Option<Self> {
        match destination {
            4789 | 8472 => Some(Self::Vxlan),
            4790 => Some(Self::VxlanGpe),
            6081 => Some(Self::Geneve),
            6635 => Some(Self::Mpls),
            2152 => Some(Self::GtpU),
            1701 => Some(Self::L2tp),
            _ => None,
        }
    }

    /// Consumes the tunnel's header at the start of a datagram's payload.
    #[inline(always)]
    pub(super) fn open(self, rest: &mut Rest<'_>) -> Step {
        match self {
            Self::Vxlan => vxlan(rest),
            Self::VxlanGpe => vxlan_gpe(rest),
            Self::Geneve => geneve(rest),
            Self::GtpU => gtp_u(rest),
            Self::L2tp => l2tp(rest),
            // RFC 7510: nothing between the datagram and the labels.
            Self::Mpls => Ok(Next::Mpls),
        }
    }
}

/// VXLAN (RFC 7348 §5), with group policy bits or without: the flag *I* must be set.
fn vxlan(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<8>(Layer::Link)?;
    if header[0] & 0x08 == 0 { Err(Reject::LinkHeader) } else { Ok(Next::Ethernet) }
}

/// VXLAN with a next protocol (draft-ietf-nvo3-vxlan-gpe-13 §3), version 0; without the flag *P* it is plain VXLAN.
fn vxlan_gpe(rest: &mut Rest<'_>) -> Step {
    const NAMED: u8 = 0x04;
    const VERSION: u8 = 0x30;
    let header = rest.take::<8>(Layer::Link)?;
    match (header[0] & VERSION, header[0] & NAMED, header[3]) {
        (0, 0, _) | (0, _, 3) => Ok(Next::Ethernet),
        (0, _, 1) => Ok(Next::Ipv4),
        (0, _, 2) => Ok(Next::Ipv6),
        _ => Err(Reject::NotIp),
    }
}

/// Ethernet directly over IP (RFC 3378): four bits of version 3 and twelve of zero.
pub(super) fn ethernet_in_ip(rest: &mut Rest<'_>) -> Step {
    match *rest.take::<2>(Layer::Link)? {
        [0x30, 0] => Ok(Next::Ethernet),
        _ => Err(Reject::LinkHeader),
    }
}

/// Geneve (RFC 8926 §3.4), version 0.
fn geneve(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<8>(Layer::Link)?;
    if header[0] >> 6 != 0 {
        return Err(Reject::LinkHeader);
    }
    rest.skip(usize::from(header[0] & 0x3f) * 4, Layer::Link)?;
    link::next(u16_at(header, 2))
}

/// GTP-U version 1 (3GPP TS 29.281 §5): message type 255 carries a user's packet, the others are control.
fn gtp_u(rest: &mut Rest<'_>) -> Step {
    const EXTENDED: u8 = 0x04;
    const SEQUENCED: u8 = 0x02;
    const NUMBERED: u8 = 0x01;
    let header = rest.take::<8>(Layer::Link)?;
    if header[0] & 0xf0 != 0x30 {
        return Err(Reject::LinkHeader);
    }
    if header[1] != 255 {
        return Err(Reject::NotIp);
    }
    rest.limit(u16_at(header, 2).into());
    if header[0] & (EXTENDED | SEQUENCED | NUMBERED) != 0 {
        let options = rest.take::<4>(Layer::Link)?;
        // Extension headers: a length in units of four bytes, contents, and the type of the next one.
        let mut extension = if header[0] & EXTENDED != 0 { options[3] } else { 0 };
        while extension != 0 {
            let length = usize::from(rest.peek::<1>(Layer::Link)?[0]) * 4;
            if length == 0 {
                return Err(Reject::LinkHeader);
            }
            rest.skip(length - 1, Layer::Link)?;
            [extension] = *rest.take::<1>(Layer::Link)?;
        }
    }
    link::raw(rest)
}

/// L2TP version 2 (RFC 2661 §3.1): data messages carry a user's PPP, the others are control.
fn l2tp(rest: &mut Rest<'_>) -> Step {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    const VERSION: u16 = 0x000f;
    let flags = u16_at(rest.take::<2>(Layer::Link)?, 0);
    if flags & VERSION != 2 {
        return Err(Reject::LinkHeader);
    }
    if flags & CONTROL != 0 {
        return Err(Reject::NotIp);
    }
    if flags & LENGTH != 0 {
        // Of the message, from the flags on.
        let length = usize::from(u16_at(rest.take::<2>(Layer::Link)?, 0));
        rest.limit(length.checked_sub(4).ok_or(Reject::LinkHeader)?);
    }
    // Tunnel and session, then the numbers of this and the next message.
    rest.skip(if flags & SEQUENCE != 0 { 8 } else { 4 }, Layer::Link)?;
    if flags & OFFSET != 0 {
        let padding = u16_at(rest.take::<2>(Layer::Link)?, 0);
        rest.skip(padding.into(), Layer::Link)?;
    }
    Ok(Next::Ppp)
}

/// Generic routing encapsulation: version 0 (RFC 2784, 2890), version 1 as PPTP uses it (RFC 2637 §4.1).
pub(super) fn gre(rest: &mut Rest<'_>) -> Step {
    const CHECKSUM: u16 = 0x8000;
    const ROUTING: u16 = 0x4000;
    const KEY: u16 = 0x2000;
    const SEQUENCE: u16 = 0x1000;
    const ACKNOWLEDGEMENT: u16 = 0x0080;
    const VERSION: u16 = 0x0007;
    /// Mirrored Ethernet frames: ERSPAN types I and II, and III.
    const ERSPAN: u16 = 0x88be;
    const ERSPAN_3: u16 = 0x22eb;

    let header = rest.take::<4>(Layer::Link)?;
    let (flags, kind) = (u16_at(header, 0), u16_at(header, 2));
    let words = |bits: u16| (flags & bits).count_ones() as usize * 4;
    match flags & VERSION {
        // The routing field of RFC 1701 has no defined use any more.
        0 if flags & ROUTING != 0 => Err(Reject::LinkHeader),
        0 => {
            rest.skip(words(CHECKSUM | KEY | SEQUENCE), Layer::Link)?;
            match kind {
                ERSPAN if flags & SEQUENCE == 0 => Ok(Next::Ethernet),
                ERSPAN => {
                    rest.skip(8, Layer::Link)?;
                    Ok(Next::Ethernet)
                }
                ERSPAN_3 => erspan_3(rest),
                // Here Cisco's metadata comes behind the type of what it carries.
                ether_type::SECURITY_GROUP => link::next(u16_at(rest.take::<8>(Layer::Link)?, 0)),
                _ => link::next(kind),
            }
        }
        1 if kind == ether_type::PPP => {
            let payload = rest.take::<4>(Layer::Link)?;
            rest.skip(words(SEQUENCE | ACKNOWLEDGEMENT), Layer::Link)?;
            // Only packets with a sequence number have a payload.
            if flags & SEQUENCE == 0 {
                return Err(Reject::NotIp);
            }
            rest.limit(u16_at(payload, 0).into());
            Ok(Next::Ppp)
        }
        _ => Err(Reject::LinkHeader),
    }
}

/// ERSPAN type III (draft-foschiano-erspan-03 §4.3): 12 bytes, 8 more with the last bit set.
fn erspan_3(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<12>(Layer::Link)?;
    if header[11] & 1 != 0 {
        rest.skip(8, Layer::Link)?;
    }
    match header[10] >> 2 & 0x1f {
        0 => Ok(Next::Ethernet),
        2 => link::raw(rest),
        _ => Err(Reject::NotIp),
    }
}
