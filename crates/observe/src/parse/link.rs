use super::ip;
use super::next::{Next, Step};
use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at};

/// Values of Ethernet's type field (IANA, IEEE 802 numbers).
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
    pub(crate) const PROVIDER_BRIDGE: u16 = 0x88e7;
    pub(crate) const PRECISION_TIME: u16 = 0x88f7;
    pub(crate) const FABRIC_PATH: u16 = 0x8903;
    pub(crate) const SECURITY_GROUP: u16 = 0x8909;
    pub(crate) const VIRTUAL_INTERFACE: u16 = 0x8926;
    pub(crate) const SEAMLESS_REDUNDANCY: u16 = 0x892f;
    pub(crate) const PORT_EXTENDER: u16 = 0x893f;
    pub(crate) const VLAN_9100: u16 = 0x9100;
    pub(crate) const VLAN_9200: u16 = 0x9200;
    pub(crate) const REDUNDANCY: u16 = 0xf1c1;
}

/// Ethernet type fields up to this value are lengths in bytes (IEEE 802.3 §3.2.6).
const LONGEST_LENGTH: u16 = 1500;

/// The header that a type field announces.
#[inline(always)]
pub(super) fn next(ether_type: u16) -> Step {
    match ether_type {
        ether_type::IPV4 => Ok(Next::Ipv4),
        ether_type::IPV6 => Ok(Next::Ipv6),
        ether_type::VLAN | ether_type::VLAN_SERVICE => Ok(Next::Vlan),
        ether_type::MPLS | ether_type::MPLS_MULTICAST => Ok(Next::Mpls),
        ether_type::PPPOE_SESSION => Ok(Next::Pppoe),
        _ => rare(ether_type),
    }
}

/// As [`next`], for types that few frames have. Out of line: inlined at a dozen places, they cost the walk 8% of its
/// instructions.
#[inline(never)]
fn rare(ether_type: u16) -> Step {
    match ether_type {
        ether_type::VLAN_9100 | ether_type::VLAN_9200 => Ok(Next::Vlan),
        // Flags and service of a provider backbone bridge (IEEE 802.1ah).
        ether_type::PROVIDER_BRIDGE => Ok(Next::TagOfFrame(4)),
        // Tree and time to live in Cisco's FabricPath.
        ether_type::FABRIC_PATH => Ok(Next::TagOfFrame(2)),
        // The number of a frame on redundant paths: high-availability seamless redundancy (IEC 62439-3 §5.7), and
        // time-sensitive networks (IEEE 802.1CB §7.8).
        ether_type::SEAMLESS_REDUNDANCY | ether_type::REDUNDANCY => Ok(Next::Tag(4)),
        // The interfaces of Cisco's VN-Tag, and of port extenders (IEEE 802.1BR §7.5).
        ether_type::VIRTUAL_INTERFACE => Ok(Next::Tag(4)),
        ether_type::PORT_EXTENDER => Ok(Next::Tag(6)),
        // The sender's security group in Cisco's metadata.
        ether_type::SECURITY_GROUP => Ok(Next::Tag(6)),
        ether_type::TRANSPARENT_ETHERNET => Ok(Next::Ethernet),
        ether_type::PPP => Ok(Next::Ppp),
        ether_type::PRECISION_TIME => Ok(Next::PrecisionTime),
        _ => Err(Reject::NotIp),
    }
}

/// IPv4 or IPv6, by the first nibble.
#[inline(always)]
pub(super) fn raw(rest: &Rest<'_>) -> Step {
    Ok(if ip::version(rest)? == 6 { Next::Ipv6 } else { Next::Ipv4 })
}

/// Ethernet II, or IEEE 802.3 with a length and LLC.
#[inline(always)]
pub(super) fn ethernet(rest: &mut Rest<'_>) -> Step {
    let header = rest.take::<14>(Layer::Link)?;
    type_or_length(u16_at(header, 12), rest)
}

/// Priority and VLAN id, then a type or length field. Returns the VLAN id, too.
#[inline(always)]
pub(super) fn vlan(rest: &mut Rest<'_>) -> Result<(u16, Next), Reject> {
    let tag = rest.take::<4>(Layer::Link)?;
    Ok((u16_at(tag, 0) & 0xfff, type_or_length(u16_at(tag, 2), rest)?))
}

/// A tag of this length, then a type or length field.
pub(super) fn tag(bytes: usize, rest: &mut Rest<'_>) -> Step {
    rest.skip(bytes, Layer::Link)?;
    type_or_length(u16_at(rest.take::<2>(Layer::Link)?, 0), rest)
}

/// A tag of this length, then the whole frame that it carries.
pub(super) fn tag_of_frame(bytes: usize, rest: &mut Rest<'_>) -> Step {
    rest.skip(bytes, Layer::Link)?;
    Ok(Next::Ethernet)
}

/// What follows Ethernet's type or length field.
#[inline(always)]
pub(super) fn type_or_length(field: u16, rest: &mut Rest<'_>) -> Step {
    if field > LONGEST_LENGTH {
        return next(field);
    }
    rest.limit(field.into());
    llc(rest)
}

/// IEEE 802.2: IP after SNAP with the OUI of RFC 1042 or of bridges (IEEE 802.1H), or after IP's own number.
pub(super) fn llc(rest: &mut Rest<'_>) -> Step {
    match rest.take::<3>(Layer::Link)? {
        [0xaa, 0xaa, 3] => match *rest.take::<5>(Layer::Link)? {
            [0, 0, 0 | 0xf8, high, low] => next(u16::from_be_bytes([high, low])),
            _ => Err(Reject::NotIp),
        },
        [6, 6, 3] => Ok(Next::Ipv4),
        _ => Err(Reject::NotIp),
    }
}

/// PPP, with or without address and control bytes, its protocol field in two bytes or compressed to one (RFC 1661 §2,
/// §6.5; RFC 1662 §3.1).
pub(super) fn ppp(rest: &mut Rest<'_>) -> Step {
    if *rest.peek::<1>(Layer::Link)? == [0xff] {
        let [_, control] = *rest.take::<2>(Layer::Link)?;
        if control != 3 {
            return Err(Reject::NotIp);
        }
    }
    let protocol = match *rest.peek::<1>(Layer::Link)? {
        [odd] if odd & 1 != 0 => {
            rest.skip(1, Layer::Link)?;
            odd.into()
        }
        _ => u16_at(rest.take::<2>(Layer::Link)?, 0),
    };
    match protocol {
        0x0021 => Ok(Next::Ipv4),
        0x0057 => Ok(Next::Ipv6),
        0x0281 | 0x0283 => Ok(Next::Mpls),
        _ => Err(Reject::NotIp),
    }
}

/// PPP over Ethernet (RFC 2516 §4). Only code 0 is a session packet.
pub(super) fn pppoe(rest: &mut Rest<'_>) -> Step {
    match *rest.take::<6>(Layer::Link)? {
        [0x11, 0, _, _, high, low] => {
            rest.limit(u16::from_be_bytes([high, low]).into());
            Ok(Next::Ppp)
        }
        [0x11, ..] => Err(Reject::NotIp),
        _ => Err(Reject::LinkHeader),
    }
}

/// One MPLS label (RFC 3032). No field says what follows the last one: by convention its first nibble does, 4 and 6 for
/// IP, 0 for the control word of a pseudowire (RFC 4385 §3), assumed to be one of Ethernet (RFC 4448).
#[inline(always)]
pub(super) fn mpls(rest: &mut Rest<'_>) -> Step {
    let label = rest.take::<4>(Layer::Link)?;
    if label[2] & 1 == 0 {
        return Ok(Next::Mpls);
    }
    match rest.peek::<1>(Layer::Link)?[0] >> 4 {
        4 => Ok(Next::Ipv4),
        6 => Ok(Next::Ipv6),
        0 => {
            rest.skip(4, Layer::Link)?;
            Ok(Next::Ethernet)
        }
        _ => Err(Reject::NotIp),
    }
}
