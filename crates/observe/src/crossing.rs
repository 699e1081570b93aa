//! From frames to crossings: an id for each packet that is the same at every point of its path.
//!
//! **What is hashed.** Only fields that nothing on the path changes: not hop limit, DSCP or ECN, not checksums (which
//! are incomplete where they are offloaded), and nothing below IP, including VLAN tags.
//!
//! | packet | hashed |
//! |---|---|
//! | all | addresses, ports, protocol; IP identification (without one, the authentication header's sequence number) and fragment offset, if any |
//! | TCP | sequence and acknowledgement number, flags except ECE and CWR, payload length, timestamp and SACK options |
//! | UDP | IP length, the first bytes of the payload |
//! | PTP, over UDP or Ethernet | message type, domain, source port identity, sequence number: transparent clocks rewrite the rest |
//! | ICMP | IP length, type and code, the first bytes after the checksum; of the packet that an ICMPv6 error quotes also those behind its header |
//! | others, first fragments | IP length, the first bytes of the payload; of SCTP, UDP-Lite and DCCP without the checksum |
//! | later fragments | IP length, the first bytes |
//!
//! **Identification.** Linux numbers the packets of a connected socket, so that retransmissions and equal datagrams
//! have different ids; where the field is always zero (no socket, IPv6), packets that agree in all of the above share
//! an id. They are ambiguous; the code that compares two points counts them.
//!
//! **First bytes.** [`Settings::payload_bytes`] of them, or all if the packet has fewer. If the capture ends before
//! them, or within a TCP header, the captured part is hashed and the packet counted as [`Crossings::cut`]: two
//! captures that end at different bytes, counted from the IP header, will not agree on such packets.
//!
//! **Translated addresses.** With [`Settings::nat`] addresses and ports are not hashed, wherever they are: not in first
//! fragments, nor in protocols that dwell does not parse (SCTP, UDP-Lite, DCCP); nor is the identifier of ICMP echoes. Of
//! a packet quoted by an ICMP error only untranslated fields count.
//!
//! **Routes.** With an IPv6 routing header the address of the last node counts, which is the same before and behind each
//! node of the route. A node that removes the header changes the IP length, and so the ids of all but TCP.
//!
//! **Tunnels.** The id is that of the packet whose IP header [`Key`] selects: with the innermost, a tunnel may begin or
//! end between the points. If the tunnel's own packet is fragmented, its first fragment is that packet, and the others
//! are packets that only one point sees.
//!
//! **Offloading.** With [`Settings::mtu`], long segments count as those of which they consist on the link (`segments`), so
//! that captures taken on hosts match. Without it they match nothing.

// The segments of which long ones consist.
mod segments;
// Which way packets go between two points.
mod directions;
pub use directions::{Directions, Found};
// What both directions between two addresses show together.
mod both;
// How their clocks run apart.
mod drift;
// How to find that out.
mod sightings;
pub use sightings::{Bypassing, Sightings, Unreached, connection};

use crate::group::{Extractor, Group, Grouping};
use crate::observer::Frames;
use crate::packet::{Packet, Tcp, Transport, port};
use crate::parse::{self, Key, Reject};
use crate::role::Role;
use dwell_types::{Crossing, FlowId, FlowKey, Frame, LinkType, PacketId, Timestamp, hash, protocol};
use std::ops::Range;

/// How to identify packets and flows.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which IP header of a tunnelled packet identifies it.
    pub key: Key,
    /// Whether addresses and ports are translated between the points.
    pub nat: bool,
    /// How many bytes of a payload are hashed, at most.
    pub payload_bytes: usize,
    /// The longest packet on the links between the points, in bytes from the IP header on, if TCP segments that exceed it
    /// are to be split ([`Crossings::segments`]).
    pub mtu: Option<u32>,
    /// What the packets of one flow have in common, instead of the addresses, ports and protocol as sent.
    pub group: Option<Grouping>,
    /// Seed of the ids; both points must use the same.
    pub seed: u64,
}

impl Settings {
    /// The usual number of payload bytes.
    pub const PAYLOAD_BYTES: usize = 40;
}

impl Default for Settings {
    fn default() -> Self {
        Self { key: Key::Inner, nat: false, payload_bytes: Self::PAYLOAD_BYTES, mtu: None, group: None, seed: 0 }
    }
}

/// A packet that passes the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passing {
    /// What is compared with the other point.
    pub crossing: Crossing,
    /// The flow that it belongs to.
    pub flow: Flow,
}

/// The flow of a packet, and what else of the packet may name it ([`Crossings::name`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Addresses, ports and protocol as sent.
    pub key: FlowKey,
    vlan: Option<u16>,
    dscp: u8,
}

/// Turns the frames of one point into crossings.
#[derive(Debug)]
pub struct Crossings {
    settings: Settings,
    packets: u64,
    flows: u64,
    grouping: Option<(Grouping, Extractor)>,
    frames: Frames,
    /// Link type of the first frame that was rejected for it.
    unknown_link: Option<LinkType>,
    cut: u64,
}

impl Crossings {
    /// Keeps no state but counts.
    pub fn new(settings: Settings) -> Self {
        let seed = hash::start(settings.seed);
        let (packets, flows) = (hash::word(seed, 1), hash::word(seed, 2));
        let grouping = settings.group.map(|grouping| (grouping, Extractor::new(grouping, flows)));
        Self { settings, packets, flows, grouping, frames: Frames::default(), unknown_link: None, cut: 0 }
    }

    /// The packet in a frame; `None` if it cannot be parsed. It may be [long](Crossings::is_long).
    #[inline]
    pub fn observe(&mut self, frame: &Frame<'_>) -> Option<Passing> {
        let &Frame { at, link, bytes, wire_length } = frame;
        self.frames.total += 1;
        let Some(at) = at else {
            self.frames.reject(Reject::NoTimestamp);
            return None;
        };
        // The path of nearly every packet: identified where it is parsed, so that its fields stay in registers.
        if self.grouping.is_none()
            && let Some(packet) = parse::common(link, bytes).and_then(|link| link.v4()?.packet(self.settings.key))
        {
            let flow = packet.flow.absorb(self.flows);
            return Some(self.passing(at, &packet, flow, bytes.len(), wire_length));
        }
        self.observe_other(at, link, bytes, wire_length)
    }

    // Takes the parts of the frame, not the frame, so that on the common path it is never stored in memory.
    #[inline(never)]
    fn observe_other(&mut self, at: Timestamp, link: LinkType, bytes: &[u8], wire_length: u32) -> Option<Passing> {
        match parse::any(link, bytes, wire_length, self.settings.key) {
            Ok(packet) => {
                let flow = match &self.grouping {
                    None => packet.flow.absorb(self.flows),
                    Some((grouping, extractor)) => extractor.hash(&group(grouping, extractor, &packet)),
                };
                Some(self.passing(at, &packet, flow, bytes.len(), wire_length))
            }
            Err(reject) => {
                self.frames.reject(reject);
                if reject == Reject::LinkType {
                    self.unknown_link.get_or_insert(link);
                }
                None
            }
        }
    }

    /// A packet of the flow with this hash, in a frame of which so many bytes were captured.
    #[inline(always)]
    fn passing(&mut self, at: Timestamp, packet: &Packet<'_>, flow: u64, captured: usize, wire_length: u32) -> Passing {
        let &Packet { flow: key, vlan, dscp, length, .. } = packet;
        // Missing are then bytes of the packet, and not only what the record counts behind it, such as a check sequence.
        let is_cut = packet.is_cut && (captured as u64) < u64::from(wire_length);
        let flow = FlowId(hash::finish(flow));
        let crossing = Crossing { packet: self.id(packet, is_cut), flow, at, bytes: length };
        Passing { crossing, flow: Flow { key, vlan, dscp } }
    }

    /// Whether a packet of so many bytes is longer than links carry ([`Settings::mtu`]).
    #[inline]
    pub fn is_long(&self, bytes: u32) -> bool {
        self.settings.mtu.is_some_and(|mtu| bytes > mtu)
    }

    /// The segments of which a long packet, in these bytes of a frame, consists on the link, in their order; or that packet
    /// alone, if it is none of TCP.
    #[cold]
    pub fn segments(&self, link: LinkType, bytes: &[u8], wire_length: u32, long: Crossing) -> Vec<Crossing> {
        match (self.settings.mtu, parse::parse(link, bytes, wire_length, self.settings.key)) {
            (Some(mtu), Ok(packet @ Packet { transport: Transport::Tcp(segment), .. })) => {
                let one = |(segment, bytes)| {
                    let packet = PacketId(self.segment(self.ends(&packet), packet.identification, &segment));
                    Crossing { packet, bytes, ..long }
                };
                let is_v4 = packet.flow.source.is_v4();
                segments::split(segment, is_v4, packet.length, mtu).map(one).collect()
            }
            _ => vec![long],
        }
    }

    /// The name of a flow: `10.0.0.1:443 → 10.0.0.2:51000 tcp`, or that of its group.
    pub fn name(&self, flow: &Flow) -> String {
        let &Flow { key, vlan, dscp } = flow;
        let Some((grouping, extractor)) = &self.grouping else { return key.to_string() };
        let transport = Transport::Other(&[]);
        let like = Packet { flow: key, vlan, dscp, identification: 0, length: 0, is_cut: false, transport };
        grouping.name(&group(grouping, extractor, &like))
    }

    /// How many frames were decoded, and how many rejected for which reason.
    pub const fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The link type of the first frame that was rejected for it.
    pub const fn unknown_link(&self) -> Option<LinkType> {
        self.unknown_link
    }

    /// Packets that the capture cut before the last byte to be hashed.
    pub const fn cut(&self) -> u64 {
        self.cut
    }

    #[inline(always)]
    fn id(&mut self, packet: &Packet<'_>, is_cut: bool) -> PacketId {
        let Packet { flow, identification, length, .. } = *packet;
        let ends = self.ends(packet);
        let state = hash::absorb(ends, identification);
        let sized = hash::absorb(state, length.into());
        PacketId(match packet.transport {
            Transport::Tcp(segment) => {
                self.cut += u64::from(segment.is_header_cut);
                self.segment(ends, identification, &segment)
            }
            Transport::Udp(message) if is_precision_time(&flow) => {
                self.cut += u64::from(is_cut && message.len() < PRECISION_TIME_HEADER);
                precision_time(state, message)
            }
            // Not a later fragment.
            Transport::Other(payload) if identification >> 32 == 0 => {
                self.unchanged(sized, flow.protocol, payload, is_cut)
            }
            Transport::Udp(payload) | Transport::Other(payload) => self.bytes(sized, payload, is_cut),
            Transport::Icmp(message) => self.icmp(sized, flow.protocol, message, is_cut),
        })
    }

    /// Hashes the ends of a packet.
    #[inline(always)]
    fn ends(&self, packet: &Packet<'_>) -> u64 {
        if self.settings.nat {
            hash::absorb(self.packets, packet.flow.protocol.into())
        } else {
            packet.flow.absorb(self.packets)
        }
    }

    /// Hashes a segment; where long ones are split, without what one of several need not have.
    #[inline(always)]
    fn segment(&self, ends: u64, identification: u64, segment: &Tcp<'_>) -> u64 {
        match self.settings.mtu {
            None => tcp(hash::absorb(ends, identification), LASTING, segment),
            Some(_) => tcp(ends, LASTING & !Tcp::PSH, segment),
        }
    }

    /// Hashes type and code, then the bytes after the checksum; with `nat` neither the identifier of echoes nor
    /// addresses, ports and checksum of a quoted packet.
    fn icmp(&mut self, state: u64, protocol: u8, message: &[u8], is_cut: bool) -> u64 {
        let (kind, rest) = message.split_at(message.len().min(2));
        if !self.settings.nat {
            let state = self.bytes(hash::bytes(state, kind), rest.get(2..).unwrap_or_default(), is_cut);
            return match quoted(protocol, message) {
                // Those of one flow begin with equal headers.
                Some(packet) if protocol == protocol::ICMPV6 => {
                    self.cut += u64::from(is_cut && packet.is_short());
                    hash::bytes(state, packet.transport)
                }
                _ => state,
            };
        }
        let Some(packet @ Quoted { identification, protocol, transport }) = quoted(protocol, message) else {
            return self.unchanged(state, protocol, message, is_cut);
        };
        self.cut += u64::from(is_cut && packet.is_short());
        let packet = u64::from(identification) << 8 | u64::from(protocol);
        let state = hash::absorb(hash::bytes(state, kind), packet);
        self.unchanged(state, protocol, transport, false)
    }

    /// Hashes the first bytes of a transport header and its payload, without the fields that change on the way.
    fn unchanged(&mut self, state: u64, protocol: u8, captured: &[u8], is_cut: bool) -> u64 {
        let [first, second] = changing(protocol, self.settings.nat);
        let part = |range: Range<usize>| captured.get(range.start..range.end.min(captured.len())).unwrap_or_default();
        let (before, mut between) = (part(0..first.start), part(first.end..second.start));
        let mut masked = [0; 16];
        if protocol == protocol::TCP {
            let copy = &mut masked[..between.len()];
            copy.copy_from_slice(between);
            if let Some(flags) = copy.get_mut(FLAGS - first.end) {
                *flags &= LASTING;
            }
            between = copy;
        }
        let state = hash::bytes(hash::bytes(state, before), between);
        self.bytes(state, part(second.end..captured.len()), is_cut)
    }

    /// Hashes the first bytes of a payload; counts the packet as cut if some of them were not captured.
    fn bytes(&mut self, state: u64, captured: &[u8], is_cut: bool) -> u64 {
        let wanted = self.settings.payload_bytes;
        self.cut += u64::from(is_cut && captured.len() < wanted);
        hash::bytes(state, captured.get(..wanted).unwrap_or(captured))
    }
}

/// The group of a packet. Ports tell who serves: the other point may not see the connection's beginning.
#[inline(never)]
fn group(grouping: &Grouping, extractor: &Extractor, packet: &Packet<'_>) -> Group {
    extractor.group(grouping, packet, Role::by_ports(&packet.flow), true)
}

/// The TCP flags that nothing on the path clears: all except those of congestion control; and their place in the header.
const LASTING: u8 = 0x3f;
const FLAGS: usize = 13;

#[inline(always)]
fn tcp(state: u64, flags: u8, segment: &Tcp<'_>) -> u64 {
    let numbers = u64::from(segment.sequence) << 32 | u64::from(segment.acknowledgement);
    let rest = u64::from(segment.payload_length) << 8 | u64::from(segment.flags & flags);
    let state = hash::absorb(hash::absorb(state, numbers), rest);
    let state = match segment.timestamps() {
        Some((value, echo)) => hash::absorb(state, u64::from(value) << 32 | u64::from(echo)),
        None => state,
    };
    // Repeated acknowledgements may differ in nothing else.
    match segment.selective_acknowledgement() {
        [] => hash::finish(state),
        blocks => hash::bytes(state, blocks),
    }
}

/// The byte ranges of what changes on the way in a protocol's header, in their order: the checksum and, with `nat`, the
/// ports, or the identifier of echoes; empty for a protocol not known to have them.
const fn changing(protocol: u8, nat: bool) -> [Range<usize>; 2] {
    const PORTS: Range<usize> = 0..4;
    match (protocol, nat) {
        (protocol::TCP, true) => [PORTS, 16..18],
        (protocol::TCP, false) => [0..0, 16..18],
        (protocol::UDP | protocol::UDP_LITE | protocol::DCCP, true) => [PORTS, 6..8],
        (protocol::UDP | protocol::UDP_LITE | protocol::DCCP, false) => [0..0, 6..8],
        (protocol::SCTP, true) => [PORTS, 8..12],
        (protocol::SCTP, false) => [0..0, 8..12],
        (protocol::ICMP | protocol::ICMPV6, true) => [2..4, 4..6],
        (protocol::ICMP | protocol::ICMPV6, false) => [2..4, 4..4],
        _ => [0..0, 0..0],
    }
}

/// What an ICMP error contains of the packet that caused it.
struct Quoted<'a> {
    /// Zero with IPv6.
    identification: u16,
    protocol: u8,
    /// The part of its transport header that is always quoted, as far as captured.
    transport: &'a [u8],
}

impl<'a> Quoted<'a> {
    /// Length of that part (RFC 792).
    const CERTAIN: usize = 8;

    fn new(identification: u16, protocol: u8, transport: &'a [u8]) -> Self {
        Self { identification, protocol, transport: transport.get(..Self::CERTAIN).unwrap_or(transport) }
    }

    const fn is_short(&self) -> bool {
        self.transport.len() < Self::CERTAIN
    }
}

/// The packet that an ICMP message quotes, if it is an error (RFC 792; RFC 4443: those below 128).
fn quoted(protocol: u8, message: &[u8]) -> Option<Quoted<'_>> {
    const HEADER: usize = 8;
    let (&kind, packet) = (message.first()?, message.get(HEADER..)?);
    if protocol == protocol::ICMPV6 {
        let (header, transport) = packet.split_first_chunk::<40>()?;
        return (kind < 128).then(|| Quoted::new(0, header[6], transport));
    }
    let header: &[u8; 20] = packet.first_chunk()?;
    let transport = packet.get(usize::from(header[0] & 0xf) * 4..)?;
    let identification = u16::from_be_bytes([header[4], header[5]]);
    matches!(kind, 3..=5 | 11 | 12).then(|| Quoted::new(identification, header[9], transport))
}

fn is_precision_time(flow: &FlowKey) -> bool {
    port::PRECISION_TIME.contains(&flow.destination_port)
}

/// Length in bytes of the header that all messages begin with (IEEE 1588-2019 §13.3).
const PRECISION_TIME_HEADER: usize = 34;

/// IEEE 1588-2019 §13.3: message type, domain number, source port identity, sequence number.
fn precision_time(state: u64, message: &[u8]) -> u64 {
    let Some(header) = message.first_chunk::<PRECISION_TIME_HEADER>() else { return hash::bytes(state, message) };
    let [kind, _, _, _, domain, ..] = *header;
    let state = hash::absorb(state, u64::from(kind & 0xf) << 8 | u64::from(domain));
    hash::bytes(state, &header[20..32])
}
