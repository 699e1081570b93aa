//! Nanoseconds per packet of the header parser: divide by the elements per iteration.
//!
//! Each case parses the same 1,024 packets (of 1,024 flows, in 100 to 200 kB: inside the second-level cache) over and
//! over, reads every field that pairing reads, and first checks the sum of what it read.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dwell_observe::packet::{Packet, Transport};
use dwell_observe::parse::{Key, parse};
use dwell_types::{LinkType, protocol};
use std::hint::black_box;

/// Packets per case.
const PACKETS: u32 = 1024;

const TCP: &[u8] = &[0x80, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0];
const TCP_TIMESTAMPS: &[u8] =
    &[0x80, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x80, 0x10, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 3, 0, 0, 0, 4];
const UDP: &[u8] = &[0x80, 0, 0, 53, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A frame with this link header and transport; the number of the packet is in the source address.
fn frame(link_header: &[u8], ipv6: bool, number: u32, transport: &[u8]) -> Vec<u8> {
    let protocol = if transport == UDP { protocol::UDP } else { protocol::TCP };
    let mut frame = link_header.to_vec();
    if ipv6 {
        frame.extend([0x60, 0, 0, 0, 0, transport.len() as u8 + 20, protocol, 64]);
        frame.extend([0x20; 12]);
        frame.extend(number.to_be_bytes());
        frame.extend([0x30; 16]);
    } else {
        frame.extend([0x45, 0, 0, transport.len() as u8 + 40, 0, 0, 0x40, 0, 64, protocol, 0, 0]);
        frame.extend((10 << 24 | number).to_be_bytes());
        frame.extend([10, 1, 1, 1]);
    }
    frame.extend(transport);
    frame.extend([0; 20]);
    frame
}

/// A value that depends on every field that pairing reads.
#[inline(always)]
fn digest(packet: &Packet<'_>) -> u64 {
    let flow = packet.flow;
    let addresses = flow.source.halves().1 ^ flow.destination.halves().1;
    let sum = (addresses & 0xffff_ffff) + u64::from(flow.source_port) + u64::from(flow.destination_port);
    sum + match packet.transport {
        Transport::Tcp(tcp) => {
            let (value, echo) = tcp.timestamps().unwrap_or_default();
            let numbers = u64::from(tcp.sequence) + u64::from(tcp.acknowledgement) + u64::from(value) + u64::from(echo);
            numbers + u64::from(tcp.payload_length) + u64::from(tcp.flags) + tcp.payload.len() as u64
        }
        Transport::Udp(payload) | Transport::Icmp(payload) | Transport::Other(payload) => payload.len() as u64,
    }
}

fn parsing(c: &mut Criterion) {
    let ethernet = |kind: &[u8]| [&[0; 12], kind].concat();
    let (v4, v6) = (ethernet(&[8, 0]), ethernet(&[0x86, 0xdd]));
    let tagged = ethernet(&[0x81, 0, 0, 7, 8, 0]);
    let twice_tagged = ethernet(&[0x88, 0xa8, 0, 7, 0x81, 0, 0, 7, 8, 0]);
    let cooked = [&[0; 14][..], &[8, 0]].concat();
    // Ethernet, IPv4 and UDP headers of a tunnel to port 4789, its VXLAN header, and Ethernet again.
    let mut vxlan = v4.clone();
    vxlan.extend([
        0x45, 0, 0, 122, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x80, 0, 0x12, 0xb5, 0, 102, 0, 0,
    ]);
    vxlan.extend([8, 0, 0, 0, 0, 0, 7, 0]);
    vxlan.extend(&v4);

    // What a packet adds to the sum besides its number: ports, transport fields and, twice for TCP, the payload length.
    let tcp = 0x8000 + 80 + 1 + 2 + 0x10 + 40;
    let timestamps = tcp + 3 + 4;
    let udp = 0x8000 + 53 + 32;
    let cases = [
        ("ethernet ipv4 tcp timestamps", LinkType::ETHERNET, &v4, false, TCP_TIMESTAMPS, timestamps),
        ("ethernet ipv4 tcp", LinkType::ETHERNET, &v4, false, TCP, tcp),
        ("ethernet ipv4 udp", LinkType::ETHERNET, &v4, false, UDP, udp),
        ("ethernet vlan ipv4 tcp timestamps", LinkType::ETHERNET, &tagged, false, TCP_TIMESTAMPS, timestamps),
        ("ethernet ipv6 tcp timestamps", LinkType::ETHERNET, &v6, true, TCP_TIMESTAMPS, timestamps),
        ("ethernet qinq ipv4 tcp timestamps", LinkType::ETHERNET, &twice_tagged, false, TCP_TIMESTAMPS, timestamps),
        ("cooked ipv4 tcp timestamps", LinkType::LINUX_SLL, &cooked, false, TCP_TIMESTAMPS, timestamps),
        ("vxlan ethernet ipv4 tcp timestamps", LinkType::ETHERNET, &vxlan, false, TCP_TIMESTAMPS, timestamps),
    ];
    let mut group = c.benchmark_group("parse");
    group.throughput(Throughput::Elements(PACKETS.into()));
    for (name, link, link_header, ipv6, transport, each) in cases {
        let frames: Vec<Vec<u8>> = (0..PACKETS).map(|i| frame(link_header, ipv6, i, transport)).collect();
        let ends: Vec<usize> = frames
            .iter()
            .scan(0, |end, frame| {
                *end += frame.len();
                Some(*end)
            })
            .collect();
        let buffer = frames.concat();
        let run = || {
            let (mut start, mut sum) = (0, 0u64);
            for &end in &ends {
                let bytes = &buffer[start..end];
                if let Ok(packet) = parse(link, bytes, bytes.len() as u32, Key::Inner) {
                    sum += digest(&packet);
                }
                start = end;
            }
            sum
        };
        // IPv4: 10.0.x.y ^ 10.1.1.1; IPv6: the low halves end in x.y and 48.48.48.48.
        let numbers: u64 =
            (0..PACKETS).map(|i| u64::from(if ipv6 { i ^ 0x3030_3030 } else { (10 << 24 | i) ^ 0x0a01_0101 })).sum();
        assert_eq!(run(), numbers + u64::from(PACKETS) * each, "{name}");
        group.bench_function(name, |b| b.iter(|| black_box(run())));
    }
    group.finish();
}

criterion_group!(benches, parsing);
criterion_main!(benches);
