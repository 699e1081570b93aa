//! Nanoseconds per packet of the whole observer, header parsing and pairing: divide by the elements per iteration. The
//! bench `parse` measures the share of the headers.
//!
//! 16,384 packets of 1,024 connections in shuffled order (1.1 MB), so that direction, flags and payload are as hard to
//! predict as in real traffic: of 100 packets 2 are SYN, 2 SYN-ACK, 2 FIN, 5 DNS over UDP, 45 data, the rest bare ACKs;
//! all TCP packets have the timestamp option. Each case first checks its numbers of requests and responses.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dwell_observe::{Observer, Settings};
use dwell_types::{Frame, LinkType, Match, Observation, Timestamp, hash};
use std::hint::black_box;

const PACKETS: usize = 16_384;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Size of a frame in bytes; the frames follow one another without gaps.
const FRAME: usize = 86;

fn frames() -> (Vec<u8>, Expected) {
    let mut random = 0;
    let mut below = |n: u64| {
        random += 1;
        hash::word(hash::start(1), random) % n
    };
    let (mut bytes, mut expected) = (Vec::new(), Expected::default());
    for _ in 0..PACKETS {
        let (connection, to_server) = (below(1024), below(2) == 0);
        match below(100) {
            0..5 => {
                bytes.extend(dns(connection, to_server));
                expected.dns[usize::from(!to_server)] += 1;
            }
            kind => {
                let (flags, payload) = match kind {
                    5..7 => (SYN, 0),
                    7..9 => (SYN | ACK, 0),
                    9..11 => (FIN | ACK, 0),
                    11..56 => (ACK, 1448),
                    _ => (ACK, 0),
                };
                bytes.extend(tcp(connection, to_server, flags, payload, below(1 << 32) as u32, below(1 << 32) as u32));
                expected.syn += u64::from(flags == SYN);
                expected.syn_ack += u64::from(flags == SYN | ACK);
                expected.asking += u64::from(payload > 0 || flags != ACK);
                expected.ack += u64::from(flags & ACK != 0);
                expected.fin += u64::from(flags & FIN != 0);
                expected.tcp += 1;
            }
        }
    }
    assert_eq!(bytes.len(), PACKETS * FRAME);
    (bytes, expected)
}

/// What the frames contain.
#[derive(Clone, Copy, Default)]
struct Expected {
    tcp: u64,
    syn: u64,
    syn_ack: u64,
    asking: u64,
    ack: u64,
    fin: u64,
    dns: [u64; 2],
}

fn ipv4(connection: u64, to_server: bool, protocol: u8, length: u16, server_port: u16) -> Vec<u8> {
    let (client, server) = (0x0a00_0000 | connection as u32, 0xc000_0200 | (connection % 16) as u32);
    let (source, destination) = if to_server { (client, server) } else { (server, client) };
    let client_port = 32_768 + connection as u16;
    let (from, to) = if to_server { (client_port, server_port) } else { (server_port, client_port) };
    let mut bytes = [[0; 12].as_slice(), &[8, 0]].concat();
    bytes.extend([0x45, 0]);
    bytes.extend(length.to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(from.to_be_bytes());
    bytes.extend(to.to_be_bytes());
    bytes
}

fn tcp(connection: u64, to_server: bool, flags: u8, payload: u16, sequence: u32, acknowledgement: u32) -> Vec<u8> {
    let mut bytes = ipv4(connection, to_server, 6, 52 + payload, 443);
    bytes.extend(sequence.to_be_bytes());
    bytes.extend(acknowledgement.to_be_bytes());
    bytes.extend([0x80, flags, 1, 0, 0, 0, 0, 0, 1, 1, 8, 10]);
    bytes.extend((sequence ^ 5).to_be_bytes());
    bytes.extend((acknowledgement ^ 5).to_be_bytes());
    bytes.resize(FRAME, 0);
    bytes
}

fn dns(connection: u64, to_server: bool) -> Vec<u8> {
    let name = b"\x03www\x07example\x03org\0\0\x01\0\x01";
    let mut bytes = ipv4(connection, to_server, 17, 20 + 8 + 12 + name.len() as u16, 53);
    bytes.extend([0, 20 + name.len() as u8, 0, 0]);
    bytes.extend([0, connection as u8, if to_server { 1 } else { 0x81 }, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    bytes.extend(name);
    bytes.resize(FRAME, 0);
    bytes
}

/// Requests and responses of one pass over the frames, and a sum that depends on every id.
fn pass(observer: &mut Observer, bytes: &[u8]) -> (u64, u64, u64) {
    let (mut requests, mut responses, mut ids) = (0, 0, 0u64);
    for (number, bytes) in bytes.chunks_exact(FRAME).enumerate() {
        let at = Some(Timestamp::from_nanos(number as i64 * 1_000));
        let frame = Frame { at, link: LinkType::ETHERNET, bytes, wire_length: 1514 };
        observer.observe(&frame, &mut |seen| {
            let sighting = match seen {
                Observation::Request(sighting) => {
                    requests += 1;
                    sighting
                }
                Observation::Response(sighting) => {
                    responses += 1;
                    sighting
                }
            };
            ids = ids.wrapping_add(sighting.id.0 ^ sighting.at.as_nanos() as u64);
        });
    }
    (requests, responses, ids)
}

fn observing(c: &mut Criterion) {
    let (bytes, e) = frames();
    let standard = Settings::default();
    let handshake = (2 * e.syn + e.syn_ack, e.syn_ack + 2 * (e.ack - e.syn_ack));
    let default = (handshake.0 + e.asking + e.dns[0], handshake.1 + e.ack + e.dns[1]);
    // Requests and responses of timestamps and lifetimes.
    let all = (default.0 + e.asking + e.syn, default.1 + e.ack + e.fin);
    let matches = |matches: &[Match]| Settings { matches: matches.to_vec(), ..standard.clone() };
    let grouped = Settings { group: Some("src/24,vlan".parse().expect("a grouping")), ..standard.clone() };
    let inside = Settings { inside: vec!["10.0.0.0/8".parse().expect("a prefix")], ..standard.clone() };
    let cases = [
        ("no rule: headers and flow only", matches(&[]), (0, 0)),
        ("tcp-ack", matches(&[Match::TcpAck]), (e.asking, e.ack)),
        ("tcp-handshake", matches(&[Match::TcpHandshake]), handshake),
        ("default matches", standard.clone(), default),
        ("default matches, one prefix inside", inside, default),
        ("default matches, grouped by src/24,vlan", grouped, default),
        ("all matches", matches(&Match::ALL), all),
    ];
    let mut group = c.benchmark_group("observe");
    group.throughput(Throughput::Elements(PACKETS as u64));
    for (name, settings, (requests, responses)) in cases {
        let mut observer = Observer::new(settings);
        let first = pass(&mut observer, &bytes);
        assert_eq!((first.0, first.1), (requests, responses), "{name}");
        assert_eq!(pass(&mut observer, &bytes), first, "{name}: the second pass differs");
        assert_eq!(observer.frames().decoded(), 2 * PACKETS as u64);
        println!("{name}: {:.2} requests, {:.2} responses per packet", per(requests), per(responses));
        group.bench_function(name, |b| b.iter(|| pass(&mut observer, black_box(&bytes))));
    }
    group.finish();
}

fn per(count: u64) -> f64 {
    count as f64 / PACKETS as f64
}

criterion_group!(benches, observing);
criterion_main!(benches);
