//! Link types of devices: what switches, routers, radios and operating systems put around the frames they capture.

use super::link;
use super::next::{Next, Step};
use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at};
use dwell_types::LinkType;

/// Parses the first header of a frame of such a link type. Out of line, since few captures have it.
#[inline(never)]
pub(super) fn first(link: LinkType, rest: &mut Rest<'_>) -> Step {
    match link {
        LinkType::MARVELL => marvell(0, rest),
        // The tag's own type and two reserved bytes come before it.
        LinkType::MARVELL_TYPED => marvell(4, rest),
        LinkType::BROADCOM => {
            rest.skip(ADDRESSES + 4, Layer::Link)?;
            typed(rest)
        }
        LinkType::BROADCOM_PREPENDED => {
            rest.skip(4, Layer::Link)?;
            Ok(Next::Ethernet)
        }
        LinkType::JUNIPER_ETHERNET => juniper(rest),
        LinkType::IP_OVER_INFINIBAND => {
            // A global routing header, with the destination only, and the header of RFC 4391 §6.
            let header = rest.take::<44>(Layer::Link)?;
            link::next(u16_at(header, 40))
        }
        LinkType::IPNET => solaris(rest),
        LinkType::PKTAP => darwin(rest),
        LinkType::IEEE_802_11 => wireless(false, rest),
        LinkType::RADIOTAP => radiotap(rest),
        LinkType::PPI => {
            let &[_, _, low, high, link @ ..] = rest.peek::<8>(Layer::Link)?;
            rest.skip(usize::from(u16::from_le_bytes([low, high])).max(8), Layer::Link)?;
            wrapped(u32::from_le_bytes(link), rest)
        }
        _ => Err(Reject::LinkType),
    }
}

/// Bytes of the two addresses of Ethernet.
const ADDRESSES: usize = 12;

/// What follows the addresses of Ethernet.
fn typed(rest: &mut Rest<'_>) -> Step {
    let field = u16::from_be_bytes(*rest.take::<2>(Layer::Link)?);
    link::type_or_length(field, rest)
}

/// The frame inside a header that names its link type.
fn wrapped(link: u32, rest: &mut Rest<'_>) -> Step {
    match u16::try_from(link).map(LinkType) {
        // Not twice, so that no frame is deeper than others.
        Ok(LinkType::PKTAP | LinkType::PPI) | Err(_) => Err(Reject::LinkType),
        Ok(link) => link::first(link, rest),
    }
}

/// The tag of Marvell's switches (DSA), which replaces the VLAN tag of a frame that had one: its first bit after the mode
/// says so, its second half is then that of the VLAN tag.
fn marvell(before: usize, rest: &mut Rest<'_>) -> Step {
    const HAD_VLAN: u8 = 0x20;
    rest.skip(ADDRESSES + before, Layer::Link)?;
    let [flags, _] = *rest.take::<2>(Layer::Link)?;
    if flags & HAD_VLAN != 0 {
        return Ok(Next::Vlan);
    }
    rest.skip(2, Layer::Link)?;
    typed(rest)
}

/// What Juniper's routers write (`monitor traffic write-file`): a magic number, flags, extensions if there are any, and
/// the frame, or the packet if its header has been removed.
fn juniper(rest: &mut Rest<'_>) -> Step {
    const NO_LINK_HEADER: u8 = 2;
    const HAS_EXTENSIONS: u8 = 0x80;
    let [magic @ .., flags] = *rest.take::<4>(Layer::Link)?;
    if magic != *b"MGC" {
        return Err(Reject::LinkHeader);
    }
    if flags & HAS_EXTENSIONS != 0 {
        let length = u16::from_be_bytes(*rest.take::<2>(Layer::Link)?);
        rest.skip(length.into(), Layer::Link)?;
    }
    if flags & NO_LINK_HEADER != 0 { link::raw(rest) } else { Ok(Next::Ethernet) }
}

/// Solaris' IPNET: 24 bytes, of which the second is the address family.
fn solaris(rest: &mut Rest<'_>) -> Step {
    match rest.take::<24>(Layer::Link)?[1] {
        2 => Ok(Next::Ipv4),
        26 => Ok(Next::Ipv6),
        _ => Err(Reject::NotIp),
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

/// Radiotap: how a frame of IEEE 802.11 was received. Of its fields only the flags matter, which follow the time if that
/// is present.
fn radiotap(rest: &mut Rest<'_>) -> Step {
    const HAS_TIME: u8 = 1;
    const HAS_FLAGS: u8 = 2;
    const MORE_FIELDS: u8 = 0x80;
    const PADDED: u8 = 0x20;
    const BAD_CHECKSUM: u8 = 0x40;
    let mut header = *rest;
    let &[_, _, low, high, present, _, _, more] = header.take::<8>(Layer::Link)?;
    let mut at: usize = 8;
    let mut is_last = more & MORE_FIELDS == 0;
    while !is_last {
        is_last = header.take::<4>(Layer::Link)?[3] & MORE_FIELDS == 0;
        at += 4;
    }
    let mut flags = 0;
    if present & HAS_FLAGS != 0 {
        if present & HAS_TIME != 0 {
            // Fields are aligned.
            header.skip(at.next_multiple_of(8) - at + 8, Layer::Link)?;
        }
        [flags] = *header.take::<1>(Layer::Link)?;
    }
    rest.skip(usize::from(u16::from_le_bytes([low, high])).max(8), Layer::Link)?;
    if flags & BAD_CHECKSUM != 0 {
        return Err(Reject::LinkHeader);
    }
    wireless(flags & PADDED != 0, rest)
}

/// IEEE 802.11: the data frames that are not encrypted, and have one packet (no A-MSDU) of which this is the beginning.
fn wireless(is_padded: bool, rest: &mut Rest<'_>) -> Step {
    const ADDRESS_BYTES: usize = 6;
    const SERVICE_QUALITY: u8 = 0x80;
    const NO_DATA: u8 = 0x40;
    const FROM_AND_TO_DISTRIBUTION: u8 = 3;
    const ENCRYPTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const SEVERAL: u8 = 0x80;
    let header = rest.peek::<2>(Layer::Link)?;
    let [kind, flags] = *header;
    // Version 0, type 2.
    if kind & 0x0f != 8 || kind & NO_DATA != 0 || flags & ENCRYPTED != 0 {
        return Err(Reject::NotIp);
    }
    let header = rest.take::<24>(Layer::Link)?;
    if header[22] & 0x0f != 0 {
        return Err(Reject::Fragment);
    }
    let mut bytes = 0;
    if flags & FROM_AND_TO_DISTRIBUTION == FROM_AND_TO_DISTRIBUTION {
        bytes += ADDRESS_BYTES;
    }
    rest.skip(bytes, Layer::Link)?;
    if kind & SERVICE_QUALITY != 0 {
        let [quality, _] = *rest.take::<2>(Layer::Link)?;
        if quality & SEVERAL != 0 {
            return Err(Reject::NotIp);
        }
        bytes += 2;
        if flags & ORDER != 0 {
            rest.skip(4, Layer::Link)?;
        }
    }
    if is_padded {
        rest.skip(bytes.next_multiple_of(4) - bytes, Layer::Link)?;
    }
    link::llc(rest)
}
