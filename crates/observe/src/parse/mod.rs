//! From bytes to headers: from a frame of any supported link type down to TCP, UDP or ICMP.
//!
//! No allocation, no copy of payload, and every frame becomes either a [`Packet`] or exactly one [`Reject`].
//!
//! **Layers.** Ethernet II, 802.3 with LLC or SNAP, Linux cooked v1 and v2, raw IP, BSD loopback, PPP and Cisco HDLC
//! (each also in the other's link types), PPPoE sessions, NFLOG, IPNET, IP over InfiniBand, IEEE 802.11 (bare or
//! behind radiotap), PKTAP and PPI, and Ethernet with what switches of Marvell and Broadcom and routers of Juniper
//! add; below IP any mix of VLAN tags, MPLS labels (IP, or an Ethernet pseudowire with a control word), provider
//! backbone bridges, Cisco `FabricPath`, VN-Tag and metadata, tags of redundant paths (HSR, IEEE 802.1CB) and of port
//! extenders, and PPPoE; between IP headers GRE version 0 (also with Ethernet, MPLS or ERSPAN inside) and version 1
//! (PPTP), IP in IP in all four combinations, MPLS in IP and in UDP, Ethernet in IP, VXLAN, VXLAN-GPE, Geneve, GTP-U
//! and L2TP version 2. At most [`LAYERS`] headers are followed, in a loop.
//!
//! **Tunnels.** [`Key`] says which IP header gives a packet its flow. With [`Key::Inner`] that is the innermost one. A
//! UDP datagram to the port of a tunnel counts as tunnelled only if there is an IP header at the place that the tunnel
//! header implies; otherwise (ARP in VXLAN, a GTP echo, another protocol on that port) the innermost IP header is the
//! outer one, and the packet is plain UDP. If the capture is cut before that can be decided, the frame is rejected as
//! truncated: the flow of a packet must not depend on the snap length. Tunnels directly above IP (GRE, IP in IP) have
//! no ports to fall back to; they are rejected for the reason found inside.
//!
//! **Ends.** The addresses of a flow are those between which the transport runs: with IPv6 extension headers (routing,
//! home address) these are not the ones in the IP header as long as the packet is under way. Both directions name the
//! same ends, wherever they were captured.
//!
//! **Lengths.** The IP length determines the payload: link padding is not part of it, and what the snap length cut off
//! still counts in [`Tcp::payload_length`](crate::packet::Tcp::payload_length). An IP length of zero (segmentation
//! offload, BIG TCP, jumbograms) means the rest of the frame on the wire. Slices hold captured bytes only.
//!
//! **Minimum.** IP headers and UDP headers must be captured completely, of TCP the first 14 bytes (ports, sequence and
//! acknowledgement numbers, header length, flags), of ICMP the first 4. A timestamp option that is not captured
//! completely is not reported.
//!
//! **Fragments.** Later fragments have no transport header and are rejected. A first fragment yields its UDP or ICMP
//! header and its part of the message; the first fragment of a TCP segment is rejected, too, because the segment's
//! length, and so the number that will acknowledge it, is unknown. A tunnel is followed into a first fragment: the
//! inner IP header has its own length.

use crate::packet::Packet;
use dwell_types::LinkType;

// Which IP header of a tunnelled packet counts.
mod key;
pub use key::Key;
// Why a frame yields no packet.
mod reject;
pub use reject::Reject;
// The bytes not parsed yet.
mod rest;
// The kinds of headers that may come next.
mod next;
// The fast path, inlined: the layout of nearly all packets.
mod common;
pub(crate) use common::Ip;
use common::Link;
// The general path: all layouts, one header after another.
mod walk;
pub use walk::LAYERS;
use walk::Wanted;
// How frames of each link type begin.
mod first;
// What switches and routers add to frames.
mod device;
// Wi-Fi.
mod wireless;
// Headers below IP.
mod link;
// IPv4 and IPv6.
mod ip;
// Tunnel headers between two IP headers.
mod tunnel;
pub use tunnel::is_tunnel_port;
// TCP, UDP, ICMP.
mod transport;

/// Parses the headers of one frame. `wire_length` is its length before it was cut at the snap length, in bytes, and
/// counts as `bytes.len()` if it is less.
///
/// ```
/// use dwell_observe::parse::{Key, Reject, parse};
/// use dwell_types::LinkType;
/// let ipv4 = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc3, 0x50, 0, 53, 0, 8, 0, 0];
/// let packet = parse(LinkType::RAW, &ipv4, 28, Key::Inner)?;
/// assert_eq!(packet.flow.to_string(), "10.0.0.1:50000 → 10.0.0.2:53 udp");
/// assert_eq!(parse(LinkType::RAW, &ipv4[..27], 28, Key::Inner), Err(Reject::TruncatedTransport));
/// # Ok::<(), Reject>(())
/// ```
#[inline]
pub fn parse(link: LinkType, bytes: &[u8], wire_length: u32, key: Key) -> Result<Packet<'_>, Reject> {
    common_packet(link, bytes, key).map_or_else(|| uncommon(link, bytes, wire_length, key), Ok)
}

/// As [`parse`], but packets without a transport header that dwell knows are packets, too: fragments (of a tunnel's first
/// one the packet inside) and other protocols over IP (as [`Transport::Other`](crate::packet::Transport::Other), with
/// the ports of SCTP, DCCP and UDP-Lite), and Precision Time Protocol messages directly over Ethernet (as UDP from the
/// identity of the sending port).
#[inline]
pub fn any(link: LinkType, bytes: &[u8], wire_length: u32, key: Key) -> Result<Packet<'_>, Reject> {
    common_packet(link, bytes, key).map_or_else(|| walk::packet(link, bytes, wire_length, key, Wanted::Any), Ok)
}

/// As [`parse`], for frames that do not have the common layout.
#[inline]
pub(crate) fn uncommon(link: LinkType, bytes: &[u8], wire_length: u32, key: Key) -> Result<Packet<'_>, Reject> {
    walk::packet(link, bytes, wire_length, key, Wanted::Transport)
}

/// The parsed link layer of an Ethernet frame of the common layout: the first step towards the result of [`parse`]. A
/// caller that uses the packet in place saves a copy of it.
#[inline(always)]
pub(crate) fn common(link: LinkType, bytes: &[u8]) -> Option<Link<'_>> {
    if link == LinkType::ETHERNET { Link::ethernet(bytes) } else { None }
}

/// The packet in a frame of the common layout, over Ethernet or another link type.
#[inline(always)]
pub(crate) fn common_packet(link: LinkType, bytes: &[u8], key: Key) -> Option<Packet<'_>> {
    let link = Link::of(link, bytes)?;
    match link.v4() {
        Some(ip) => ip.packet(key),
        None => link.v6()?.packet(key),
    }
}
