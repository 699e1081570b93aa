//! How frames of each link type begin.

use super::link;
use super::next::{Next, Step};
use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at};
use super::{device, wireless};
use dwell_types::LinkType;

/// `ARPHRD_NETLINK`: the protocol field of a cooked header holds a netlink family.
pub(super) const NETLINK: u16 = 824;

/// Parses the first header of a frame.
#[inline(always)]
pub(super) fn first(link: LinkType, rest: &mut Rest<'_>) -> Step {
    match link {
        LinkType::ETHERNET => link::ethernet(rest),
        LinkType::LINUX_SLL => linux_cooked(rest),
        LinkType::LINUX_SLL2 => linux_cooked_2(rest),
        // The last two stand for one version, but some writers put both into a file.
        LinkType::RAW | LinkType::RAW_BSD | LinkType::RAW_OPENBSD | LinkType::IPV4 | LinkType::IPV6 => link::raw(rest),
        _ => rare(link, rest),
    }
}

/// As [`first`], for link types that few captures have. Out of line, since it is long.
#[inline(never)]
fn rare(link: LinkType, rest: &mut Rest<'_>) -> Step {
    match link {
        LinkType::NULL | LinkType::LOOP => loopback(rest),
        LinkType::PPP | LinkType::PPP_HDLC | LinkType::CISCO_HDLC => hdlc(rest),
        LinkType::PPP_WITH_DIRECTION | LinkType::CISCO_HDLC_WITH_DIRECTION => {
            rest.skip(1, Layer::Link)?;
            hdlc(rest)
        }
        LinkType::PPP_ETHER => Ok(Next::Pppoe),
        LinkType::NFLOG => logged(rest),
        LinkType::PKTAP => darwin(rest),
        LinkType::PPI => per_packet(rest),
        LinkType::IPNET => solaris(rest),
        LinkType::IP_OVER_INFINIBAND => infiniband(rest),
        LinkType::IEEE_802_11 => wireless::frame(false, rest),
        LinkType::RADIOTAP => wireless::radiotap(rest),
        LinkType::MARVELL => device::marvell(rest),
        LinkType::MARVELL_TYPED => device::marvell_typed(rest),
        LinkType::BROADCOM => device::broadcom(rest),
        LinkType::BROADCOM_PREPENDED => device::broadcom_prepended(rest),
        LinkType::JUNIPER_ETHERNET => device::juniper(rest),
        _ => Err(Reject::LinkType),
    }
}

/// Linux cooked capture, version 1: 16 bytes, the protocol last.
#[inline(always)]
fn linux_cooked(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<16>(Layer::Link)?;
    cooked(u16_at(header, 2), u16_at(header, 14), rest)
}

/// Linux cooked capture, version 2: 20 bytes, the protocol first.
#[inline(always)]
fn linux_cooked_2(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<20>(Layer::Link)?;
    cooked(u16_at(header, 8), u16_at(header, 0), rest)
}

/// The header after a cooked header, by Linux' device type and protocol number.
#[inline(always)]
fn cooked(device: u16, protocol: u16, rest: &mut Rest<'_>) -> Step {
    /// `ETH_P_802_2`: an LLC header follows.
    const LLC: u16 = 4;
    match (device, protocol) {
        (NETLINK, _) => Err(Reject::NotIp),
        (_, LLC) => link::llc(rest),
        (_, ether_type) => link::next(ether_type),
    }
}

/// Attributes of a packet that Linux' packet filter logged, in the byte order of the capturing host: length and type of
/// each, contents, and zeros up to a multiple of four bytes. The packet is the last one.
fn logged(rest: &mut Rest<'_>) -> Step {
    const PAYLOAD: u16 = 9;
    /// More than there are types of attributes.
    const MOST: usize = 64;
    rest.skip(4, Layer::Link)?;
    for _ in 0..MOST {
        let attribute = rest.take::<4>(Layer::Link)?;
        // Types are small numbers, so that the order of their bytes shows; the upper bits say what they contain.
        let is_little = attribute[2] & 0x3f != 0;
        let at = |first: usize| {
            let bytes = [attribute[first], attribute[first + 1]];
            if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) }
        };
        let Some(length) = usize::from(at(0)).checked_sub(4) else { return Err(Reject::LinkHeader) };
        if at(2) & 0x3fff == PAYLOAD {
            rest.limit(length);
            return link::raw(rest);
        }
        rest.skip(length.next_multiple_of(4), Layer::Link)?;
    }
    Err(Reject::LinkHeader)
}

/// BSD loopback: an address family in the byte order of the capturing host.
fn loopback(rest: &mut Rest<'_>) -> Step {
    let family = rest.take::<4>(Layer::Link)?;
    match u32::from_le_bytes(*family).min(u32::from_be_bytes(*family)) {
        // AF_INET, the same on all systems.
        2 => Ok(Next::Ipv4),
        // AF_INET6 of NetBSD, OpenBSD and Npcap; of FreeBSD and DragonFly; of Darwin.
        24 | 28 | 30 => Ok(Next::Ipv6),
        _ => Err(Reject::NotIp),
    }
}

/// The link types of PPP and Cisco HDLC, which are told apart by the address: bare PPP, PPP behind address and control
/// bytes, or Cisco HDLC (RFC 1547 §4.3.1).
fn hdlc(rest: &mut Rest<'_>) -> Step {
    match *rest.peek::<1>(Layer::Link)? {
        [0x0f | 0x8f] => link::next(u16_at(rest.take::<4>(Layer::Link)?, 2)),
        _ => Ok(Next::Ppp),
    }
}

/// Darwin's PKTAP: its length, 1 if a packet follows, and that packet's link type, each in 32 bits.
fn darwin(rest: &mut Rest<'_>) -> Step {
    const PACKET: u32 = 1;
    let header = rest.peek::<12>(Layer::Link)?;
    let at = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (length, kind, link) = (at(0), at(4), at(8));
    if length < 12 {
        return Err(Reject::LinkHeader);
    }
    rest.skip(length as usize, Layer::Link)?;
    if kind == PACKET { wrapped(link, rest) } else { Err(Reject::NotIp) }
}

/// Per-packet information: version and flags, its length, and the link type of the frame, of which the last two are
/// little-endian.
fn per_packet(rest: &mut Rest<'_>) -> Step {
    let &[_, _, low, high, link @ ..] = rest.peek::<8>(Layer::Link)?;
    rest.skip(usize::from(u16::from_le_bytes([low, high])).max(8), Layer::Link)?;
    wrapped(u32::from_le_bytes(link), rest)
}

/// The frame inside a header that names its link type, which is no IP if that is unknown.
fn wrapped(link: u32, rest: &mut Rest<'_>) -> Step {
    match u16::try_from(link).map(LinkType) {
        // Not twice, so that no frame is deeper than others.
        Ok(LinkType::PKTAP | LinkType::PPI) | Err(_) => Err(Reject::NotIp),
        Ok(link) => first(link, rest).map_err(|reject| if reject == Reject::LinkType { Reject::NotIp } else { reject }),
    }
}

/// Solaris' IPNET: 24 bytes, of which the second is the address family.
fn solaris(rest: &mut Rest<'_>) -> Step {
    match rest.take::<24>(Layer::Link)?[1] {
        2 => Ok(Next::Ipv4),
        26 => Ok(Next::Ipv6),
        _ => Err(Reject::NotIp),
    }
}

/// IP over InfiniBand: a global routing header with the destination only, and the header of RFC 4391 §6.
fn infiniband(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<44>(Layer::Link)?;
    link::next(u16_at(header, 40))
}
