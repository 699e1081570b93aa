use super::reject::Reject;
use super::rest::{Layer, Rest, u16_at, u32_at};
use crate::packet::{Packet, Transport};
use dwell_types::{Address, FlowKey, protocol};

/// Numbers of IPv6 extension headers (RFC 7045), and of anything else than a transport that IP can carry.
pub(super) mod next_header {
    pub(crate) const HOP_BY_HOP: u8 = 0;
    pub(crate) const IPV4: u8 = 4;
    pub(crate) const IPV6: u8 = 41;
    pub(crate) const ROUTING: u8 = 43;
    pub(crate) const FRAGMENT: u8 = 44;
    pub(crate) const GRE: u8 = 47;
    pub(crate) const AUTHENTICATION: u8 = 51;
    /// Nothing follows.
    pub(crate) const NONE: u8 = 59;
    pub(crate) const DESTINATION_OPTIONS: u8 = 60;
    pub(crate) const ETHERNET_IN_IP: u8 = 97;
    pub(crate) const MOBILITY: u8 = 135;
    pub(crate) const MPLS: u8 = 137;
    pub(crate) const HOST_IDENTITY: u8 = 139;
    pub(crate) const SHIM6: u8 = 140;
}

/// An IP header with its extension headers.
pub(super) struct Ip {
    /// With a home address option: that address.
    pub(super) source: Address,
    /// With a routing header: the last address of the route.
    pub(super) destination: Address,
    /// `0..64`.
    pub(super) dscp: u8,
    /// Protocol number of what follows the last extension header.
    pub(super) protocol: u8,
    pub(super) fragment: Fragment,
    /// As in [`Packet::identification`].
    pub(super) identification: u64,
    /// Length on the wire, header included, in bytes.
    pub(super) length: usize,
    /// Whether bytes of its payload are missing.
    pub(super) is_cut: bool,
}

/// Which part of the original packet an IP packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    /// All of it.
    Whole,
    /// The first part.
    First,
    /// A part that does not begin with the transport header.
    Later,
}

impl Fragment {
    const fn new(offset: u16, more: bool) -> Self {
        match (offset, more) {
            (0, false) => Self::Whole,
            (0, true) => Self::First,
            _ => Self::Later,
        }
    }
}

impl Ip {
    /// Whether the protocol is the ICMP of this version of IP.
    pub(super) const fn has_icmp(&self) -> bool {
        self.protocol == if self.source.is_v4() { protocol::ICMP } else { protocol::ICMPV6 }
    }

    /// The packet with this transport header.
    #[inline(always)]
    pub(super) fn packet<'a>(
        &self,
        vlan: Option<u16>,
        [source_port, destination_port]: [u16; 2],
        transport: Transport<'a>,
    ) -> Packet<'a> {
        let &Self { source, destination, protocol, dscp, identification, length, is_cut, .. } = self;
        let flow = FlowKey { source, destination, source_port, destination_port, protocol };
        Packet { flow, vlan, dscp, identification, length: length as u32, is_cut, transport }
    }
}

/// The IP version, from the first nibble.
#[inline(always)]
pub(super) fn version(rest: &Rest<'_>) -> Result<u8, Reject> {
    Ok(rest.peek::<1>(Layer::Ip)?[0] >> 4)
}

/// Parses IPv4 with options and authentication headers; leaves the payload in `rest`.
#[inline(always)]
pub(super) fn v4(rest: &mut Rest<'_>) -> Result<Ip, Reject> {
    if version(rest)? != 4 {
        return Err(Reject::IpVersion);
    }
    let whole = rest.wire;
    let header = rest.take::<20>(Layer::Ip)?;
    let header_length = usize::from(header[0] & 0xf) * 4;
    let total_length = match usize::from(u16_at(header, 2)) {
        0 => whole,
        length => length,
    };
    if header_length < 20 || header_length > total_length {
        return Err(Reject::IpHeader);
    }
    rest.set_length(total_length - 20);
    rest.skip(header_length - 20, Layer::Ip)?;
    let place = u16_at(header, 6);
    let fragment = Fragment::new(place & 0x1fff, place & 0x2000 != 0);
    let mut protocol = header[9];
    let mut identification = u64::from(place & 0x1fff) << 32 | u64::from(u16_at(header, 4));
    if fragment != Fragment::Later {
        while protocol == next_header::AUTHENTICATION {
            identification = numbered(identification, rest);
            protocol = skip_extension(protocol, rest)?;
        }
    }
    let (source, destination) = (Address::v4(u32_at(header, 12)), Address::v4(u32_at(header, 16)));
    let (dscp, length, is_cut) = (header[1] >> 2, total_length, rest.is_cut());
    Ok(Ip { source, destination, dscp, protocol, fragment, identification, length, is_cut })
}

/// Parses IPv6 with any number of extension headers; leaves the payload in `rest`.
#[inline(always)]
pub(super) fn v6(rest: &mut Rest<'_>) -> Result<Ip, Reject> {
    if version(rest)? != 6 {
        return Err(Reject::IpVersion);
    }
    let header = rest.take::<40>(Layer::Ip)?;
    match usize::from(u16_at(header, 4)) {
        0 => {}
        length => rest.set_length(length),
    }
    let length = 40 + rest.wire;
    let mut fragment = Fragment::Whole;
    let mut identification = 0;
    let mut protocol = header[6];
    let (addresses, _) = header[8..].as_chunks::<16>();
    let (mut source, mut destination) = (&addresses[0], &addresses[1]);
    loop {
        match protocol {
            next_header::FRAGMENT => {
                let header = rest.take::<8>(Layer::Ip)?;
                let place = u16_at(header, 2);
                protocol = header[0];
                identification = u64::from(place >> 3) << 32 | u64::from(u32_at(header, 4));
                // A first fragment may hold another fragment header, which must not override the first.
                match Fragment::new(place >> 3, place & 1 != 0) {
                    Fragment::Whole => {}
                    Fragment::First => fragment = Fragment::First,
                    Fragment::Later => {
                        fragment = Fragment::Later;
                        break;
                    }
                }
                continue;
            }
            next_header::ROUTING => destination = final_destination(rest.bytes).unwrap_or(destination),
            next_header::DESTINATION_OPTIONS => source = home_address(rest.bytes).unwrap_or(source),
            next_header::AUTHENTICATION => identification = numbered(identification, rest),
            next_header::MOBILITY | next_header::HOST_IDENTITY | next_header::SHIM6 => {
                // A message of its own.
                if *rest.peek::<1>(Layer::Ip)? == [next_header::NONE] {
                    break;
                }
            }
            next_header::HOP_BY_HOP => {}
            _ => break,
        }
        protocol = skip_extension(protocol, rest)?;
    }
    let (source, destination) = (Address::v6(*source), Address::v6(*destination));
    let dscp = (u16_at(header, 0) >> 6 & 0x3f) as u8;
    Ok(Ip { source, destination, dscp, protocol, fragment, identification, length, is_cut: rest.is_cut() })
}

/// The identification of a packet with this authentication header: its sequence number, if IP has none.
#[cold]
fn numbered(identification: u64, rest: &Rest<'_>) -> u64 {
    match (identification, rest.bytes.first_chunk::<12>()) {
        (0, Some(header)) => u32_at(header, 8).into(),
        _ => identification,
    }
}

/// Skips an extension header, which begins with the next protocol and its own length (RFC 8200 §4, RFC 4302 §2.2), and
/// returns that protocol.
#[inline(always)]
fn skip_extension(protocol: u8, rest: &mut Rest<'_>) -> Result<u8, Reject> {
    let [next, length] = *rest.peek::<2>(Layer::Ip)?;
    let unit = if protocol == next_header::AUTHENTICATION { 4 } else { 8 };
    rest.skip(usize::from(length) * unit + 8, Layer::Ip)?;
    Ok(next)
}

/// Where a packet with this routing header will arrive, if that is not its destination yet: at the last address of type
/// 0 (RFC 5095 deprecates it), at the home address of type 2 (RFC 6275 §6.4), at the first in the list of type 4, which
/// is reversed (segment routing, RFC 8754 §2). TCP and UDP compute their checksums with that address (RFC 8200 §8.1),
/// and answers come from it. `None` for other types, and where the header contradicts itself.
#[cold]
fn final_destination(header: &[u8]) -> Option<&[u8; 16]> {
    let &[_, length, kind, segments_left, ..] = header else { return None };
    let (addresses, _) = header.get(8..8 + usize::from(length) * 8)?.as_chunks::<16>();
    if segments_left == 0 || usize::from(segments_left) > addresses.len() {
        return None;
    }
    match (kind, addresses) {
        (0, [.., last]) | (2, [last]) | (4, [last, ..]) => Some(last),
        _ => None,
    }
}

/// The home address of a mobile sender, from these destination options (RFC 6275 §6.3): answers go there, by way of a
/// routing header of type 2.
#[cold]
fn home_address(header: &[u8]) -> Option<&[u8; 16]> {
    const PADDING: u8 = 0;
    const HOME_ADDRESS: u8 = 0xc9;
    let mut options = header.get(2..8 + usize::from(*header.get(1)?) * 8)?;
    loop {
        options = match *options {
            [PADDING, ref rest @ ..] => rest,
            [HOME_ADDRESS, 16, ref rest @ ..] => return rest.first_chunk(),
            [_, length, ref rest @ ..] => rest.get(usize::from(length)..)?,
            [] | [_] => return None,
        }
    }
}
