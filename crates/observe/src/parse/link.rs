use super::Reject;
use super::rest::{Layer, Rest, number};
use super::walk::Next;
use dwell_types::LinkType;

/// Numbers of Ethernet's type field (IANA, IEEE 802 numbers).
pub(super) mod ether_type {
    pub(crate) const IPV4: u16 = 0x0800;
    pub(crate) const TRANSPARENT_ETHERNET: u16 = 0x6558;
    pub(crate) const VLAN: u16 = 0x8100;
    pub(crate) const IPV6: u16 = 0x86dd;
    pub(crate) const PPP: u16 = 0x880b;
    pub(crate) const MPLS: u16 = 0x8847;
    pub(crate) const MPLS_MULTICAST: u16 = 0x8848;
    pub(crate) const PPPOE_SESSION: u16 = 0x8864;
    pub(crate) const VLAN_SERVICE: u16 = 0x88a8;
    pub(crate) const VLAN_9100: u16 = 0x9100;
}

/// Ethernet type fields up to this are lengths in bytes (IEEE 802.3 §3.2.6).
const LONGEST_LENGTH: u16 = 1500;

/// A header, read: what follows it, and the bytes of that.
pub(super) type Step<'a> = Result<(Next, Rest<'a>), Reject>;

/// What stands behind a type field.
#[inline(always)]
pub(super) fn next(ether_type: u16) -> Result<Next, Reject> {
    match ether_type {
        ether_type::IPV4 => Ok(Next::Ipv4),
        ether_type::IPV6 => Ok(Next::Ipv6),
        ether_type::VLAN | ether_type::VLAN_SERVICE | ether_type::VLAN_9100 => Ok(Next::Vlan),
        ether_type::MPLS | ether_type::MPLS_MULTICAST => Ok(Next::Mpls),
        ether_type::PPPOE_SESSION => Ok(Next::Pppoe),
        ether_type::TRANSPARENT_ETHERNET => Ok(Next::Ethernet),
        ether_type::PPP => Ok(Next::Ppp),
        _ => Err(Reject::NotIp),
    }
}

/// The first header of a frame.
#[inline(always)]
pub(super) fn first(link: LinkType, rest: Rest<'_>) -> Step<'_> {
    match link {
        LinkType::ETHERNET => Ok((Next::Ethernet, rest)),
        LinkType::LINUX_SLL => linux_cooked(rest),
        LinkType::LINUX_SLL2 => linux_cooked_2(rest),
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Ok((Next::Ip, rest)),
        LinkType::IPV4 => Ok((Next::Ipv4, rest)),
        LinkType::IPV6 => Ok((Next::Ipv6, rest)),
        LinkType::NULL | LinkType::LOOP => loopback(rest),
        LinkType::PPP | LinkType::PPP_HDLC => hdlc(rest),
        LinkType::PPP_WITH_DIRECTION => hdlc(rest.skip(1, Layer::Link)?),
        LinkType::PPP_ETHER => Ok((Next::Pppoe, rest)),
        _ => Err(Reject::LinkType),
    }
}

/// Ethernet II, or IEEE 802.3 with a length and LLC.
#[inline(always)]
pub(super) fn ethernet(rest: Rest<'_>) -> Step<'_> {
    let (header, rest) = rest.take::<14>(Layer::Link)?;
    match number(header, 12) {
        length @ ..=LONGEST_LENGTH => llc(rest.limit(length.into())),
        ether_type => Ok((next(ether_type)?, rest)),
    }
}

/// IEEE 802.2: IP behind SNAP with the OUI of RFC 1042 or of bridges (IEEE 802.1H), or behind IP's own number.
fn llc(rest: Rest<'_>) -> Step<'_> {
    match rest.take::<3>(Layer::Link)? {
        ([0xaa, 0xaa, 3], rest) => match rest.take::<5>(Layer::Link)? {
            (&[0, 0, 0 | 0xf8, high, low], rest) => Ok((next(u16::from_be_bytes([high, low]))?, rest)),
            _ => Err(Reject::NotIp),
        },
        ([6, 6, 3], rest) => Ok((Next::Ipv4, rest)),
        _ => Err(Reject::NotIp),
    }
}

/// Priority and VLAN id, then a type or length field. Yields the VLAN id too.
#[inline(always)]
pub(super) fn vlan(rest: Rest<'_>) -> Result<(u16, (Next, Rest<'_>)), Reject> {
    let (tag, rest) = rest.take::<4>(Layer::Link)?;
    let step = match number(tag, 2) {
        length @ ..=LONGEST_LENGTH => llc(rest.limit(length.into()))?,
        ether_type => (next(ether_type)?, rest),
    };
    Ok((number(tag, 0) & 0xfff, step))
}

/// Linux cooked capture, version 1: 16 bytes, the protocol last.
#[inline(always)]
fn linux_cooked(rest: Rest<'_>) -> Step<'_> {
    let (header, rest) = rest.take::<16>(Layer::Link)?;
    cooked(number(header, 2), number(header, 14), rest)
}

/// Linux cooked capture, version 2: 20 bytes, the protocol first.
#[inline(always)]
fn linux_cooked_2(rest: Rest<'_>) -> Step<'_> {
    let (header, rest) = rest.take::<20>(Layer::Link)?;
    cooked(number(header, 8), number(header, 0), rest)
}

/// What Linux' device types and protocol numbers say about the bytes behind a cooked header.
#[inline(always)]
fn cooked(device: u16, protocol: u16, rest: Rest<'_>) -> Step<'_> {
    /// `ARPHRD_NETLINK`: the protocol field holds a netlink family.
    const NETLINK: u16 = 824;
    /// `ETH_P_802_2`: an LLC header follows.
    const LLC: u16 = 4;
    match (device, protocol) {
        (NETLINK, _) => Err(Reject::NotIp),
        (_, LLC) => llc(rest),
        (_, ether_type) => Ok((next(ether_type)?, rest)),
    }
}

/// BSD loopback: an address family in the byte order of whoever captured.
fn loopback(rest: Rest<'_>) -> Step<'_> {
    let (family, rest) = rest.take::<4>(Layer::Link)?;
    match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
        // AF_INET everywhere.
        2 => Ok((Next::Ipv4, rest)),
        // AF_INET6 of NetBSD, OpenBSD and Npcap; of FreeBSD and DragonFly; of Darwin.
        24 | 28 | 30 => Ok((Next::Ipv6, rest)),
        _ => Err(Reject::NotIp),
    }
}

/// The PPP link types: bare PPP, PPP behind address and control bytes, or Cisco HDLC (RFC 1547 §4.3.1).
fn hdlc(rest: Rest<'_>) -> Step<'_> {
    match *rest.peek::<1>(Layer::Link)? {
        [0x0f | 0x8f] => {
            let (header, rest) = rest.take::<4>(Layer::Link)?;
            Ok((next(number(header, 2))?, rest))
        }
        _ => Ok((Next::Ppp, rest)),
    }
}

/// PPP, with or without address and control bytes, its protocol field in two bytes or compressed to one (RFC 1661 §2,
/// §6.5; RFC 1662 §3.1).
pub(super) fn ppp(rest: Rest<'_>) -> Step<'_> {
    let rest = match *rest.peek::<1>(Layer::Link)? {
        [0xff] => match rest.take::<2>(Layer::Link)? {
            ([_, 3], rest) => rest,
            _ => return Err(Reject::NotIp),
        },
        _ => rest,
    };
    let (protocol, rest) = match *rest.peek::<1>(Layer::Link)? {
        [odd] if odd & 1 != 0 => (odd.into(), rest.skip(1, Layer::Link)?),
        _ => {
            let (header, rest) = rest.take::<2>(Layer::Link)?;
            (number(header, 0), rest)
        }
    };
    match protocol {
        0x0021 => Ok((Next::Ipv4, rest)),
        0x0057 => Ok((Next::Ipv6, rest)),
        0x0281 | 0x0283 => Ok((Next::Mpls, rest)),
        _ => Err(Reject::NotIp),
    }
}

/// PPP over Ethernet (RFC 2516 §4). Only code 0 is a session packet.
pub(super) fn pppoe(rest: Rest<'_>) -> Step<'_> {
    match rest.take::<6>(Layer::Link)? {
        (&[0x11, 0, _, _, high, low], rest) => Ok((Next::Ppp, rest.limit(u16::from_be_bytes([high, low]).into()))),
        ([0x11, ..], _) => Err(Reject::NotIp),
        _ => Err(Reject::LinkHeader),
    }
}

/// One MPLS label (RFC 3032). No field says what lies below the last one: by custom the first nibble does, 4 and 6 for
/// IP, 0 for the control word of a pseudowire (RFC 4385 §3), taken for one of Ethernet (RFC 4448).
#[inline(always)]
pub(super) fn mpls(rest: Rest<'_>) -> Step<'_> {
    let (label, rest) = rest.take::<4>(Layer::Link)?;
    if label[2] & 1 == 0 {
        return Ok((Next::Mpls, rest));
    }
    match rest.peek::<1>(Layer::Link)?[0] >> 4 {
        4 => Ok((Next::Ipv4, rest)),
        6 => Ok((Next::Ipv6, rest)),
        0 => Ok((Next::Ethernet, rest.skip(4, Layer::Link)?)),
        _ => Err(Reject::NotIp),
    }
}
