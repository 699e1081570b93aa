//! Compares the parser with `etherparse`, on layouts that both support: whole, cut at every length, and damaged.

#[expect(dead_code, reason = "other tests use the rest of the generators")]
mod packets;

use dwell_observe::packet::{Packet, Transport};
use dwell_observe::parse::{Key, parse};
use dwell_types::{FlowKey, LinkType, protocol};
use etherparse::{LaxNetSlice, LaxSlicedPacket, TransportSlice};
use packets::plain_sample;
use proptest::prelude::*;
use std::net::IpAddr;

/// The fields that both parsers report; the payload where the capture is not cut.
#[derive(Debug, PartialEq, Eq)]
struct Fields {
    flow: FlowKey,
    vlan: Option<u16>,
    dscp: u8,
    /// Sequence number, acknowledgement number, flags.
    tcp: Option<(u32, u32, u8)>,
    payload: Vec<u8>,
}

fn ours(packet: &Packet<'_>) -> Fields {
    let (tcp, payload) = match packet.transport {
        Transport::Tcp(tcp) => (Some((tcp.sequence, tcp.acknowledgement, tcp.flags)), tcp.payload),
        Transport::Udp(payload) | Transport::Icmp(payload) | Transport::Other(payload) => (None, payload),
    };
    Fields { flow: packet.flow, vlan: packet.vlan, dscp: packet.dscp, tcp, payload: payload.to_vec() }
}

fn theirs(bytes: &[u8]) -> Option<Fields> {
    let sliced = LaxSlicedPacket::from_ethernet(bytes).ok()?;
    let (source, destination, dscp): (IpAddr, IpAddr, u8) = match sliced.net.as_ref()? {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.dcp().value())
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            (header.source_addr().into(), header.destination_addr().into(), header.traffic_class() >> 2)
        }
        LaxNetSlice::Arp(_) => return None,
    };
    let key = |protocol, source_port, destination_port| FlowKey {
        source: source.into(),
        destination: destination.into(),
        source_port,
        destination_port,
        protocol,
    };
    let (flow, tcp, payload) = match sliced.transport.as_ref()? {
        TransportSlice::Tcp(tcp) => (
            key(protocol::TCP, tcp.source_port(), tcp.destination_port()),
            Some((tcp.sequence_number(), tcp.acknowledgment_number(), tcp.slice()[13])),
            tcp.payload(),
        ),
        TransportSlice::Udp(udp) => {
            (key(protocol::UDP, udp.source_port(), udp.destination_port()), None, udp.payload())
        }
        TransportSlice::Icmpv4(icmp) => (key(protocol::ICMP, 0, 0), None, icmp.slice()),
        TransportSlice::Icmpv6(icmp) => (key(protocol::ICMPV6, 0, 0), None, icmp.slice()),
        TransportSlice::Igmp(_) => return None,
    };
    let vlan = sliced.vlan_ids().first().map(|id| id.value());
    Some(Fields { flow, vlan, dscp, tcp, payload: payload.to_vec() })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn agrees_on_whole_and_cut_packets(sample in plain_sample()) {
        let bytes = sample.bytes();
        let expected = theirs(&bytes).expect("etherparse knows these layers");
        let packet = parse(LinkType::ETHERNET, &bytes, bytes.len() as u32, Key::Outer).expect("we too");
        assert_eq!(ours(&packet), expected);
        for length in 0..bytes.len() {
            let cut = parse(LinkType::ETHERNET, &bytes[..length], bytes.len() as u32, Key::Outer);
            // etherparse requires the whole transport header, dwell only the part with the numbers.
            if let Some(theirs) = theirs(&bytes[..length]) {
                assert_eq!(ours(&cut.expect("they decode it")), theirs, "{length} bytes");
            }
        }
    }

    #[test]
    fn agrees_on_damaged_packets_where_both_decode(sample in plain_sample(), mask in 1..=255u8) {
        let mut bytes = sample.bytes();
        for place in 12..bytes.len() {
            bytes[place] ^= mask;
            let packet = parse(LinkType::ETHERNET, &bytes, bytes.len() as u32, Key::Outer);
            if let (Ok(packet), Some(theirs)) = (packet, theirs(&bytes)) {
                assert_eq!(ours(&packet), theirs, "byte {place} ^ {mask:#04x}");
            }
            bytes[place] ^= mask;
        }
    }
}
