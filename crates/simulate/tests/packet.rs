//! Simulated frames match their settings, and their truth equals what naive pairing of the frames finds.

mod common;

use common::{assert_near, is_near};
use dwell_simulate::packet::{Exchange, Line, PacketWorkload, Settings, SettingsError, Sizes};
use dwell_types::{Frame, Leg, Match, Nanos, Timestamp, hash};
use etherparse::{SlicedPacket, TransportSlice};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// Addresses and ports, sender first.
type Key = (IpAddr, u16, IpAddr, u16);

/// The parts of a frame that the tests use.
struct Packet {
    at: i64,
    key: Key,
    what: What,
}

enum What {
    Tcp {
        syn: bool,
        ack: bool,
        fin: bool,
        rst: bool,
        psh: bool,
        sequence: u32,
        acknowledgement: u32,
        length: u32,
        value: Option<(u32, u32)>,
    },
    Dns {
        id: u16,
        response: bool,
    },
}

fn parse(frame: &Frame<'_>) -> Packet {
    assert_eq!(frame.bytes.len(), frame.wire_length as usize, "whole frames, please");
    let sliced = SlicedPacket::from_ethernet(frame.bytes).expect("a well-formed frame");
    let (source, destination) = match sliced.net.expect("an IP packet") {
        etherparse::NetSlice::Ipv4(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        etherparse::NetSlice::Ipv6(ip) => (ip.header().source_addr().into(), ip.header().destination_addr().into()),
        etherparse::NetSlice::Arp(_) => panic!("no ARP here"),
    };
    let (ports, what) = match sliced.transport.expect("a transport") {
        TransportSlice::Tcp(tcp) => {
            let value = tcp.options_iterator().find_map(|option| match option.expect("well-formed options") {
                etherparse::TcpOptionElement::Timestamp(value, echo) => Some((value, echo)),
                _ => None,
            });
            let what = What::Tcp {
                syn: tcp.syn(),
                ack: tcp.ack(),
                fin: tcp.fin(),
                rst: tcp.rst(),
                psh: tcp.psh(),
                sequence: tcp.sequence_number(),
                acknowledgement: tcp.acknowledgment_number(),
                length: tcp.payload().len() as u32,
                value,
            };
            ((tcp.source_port(), tcp.destination_port()), what)
        }
        TransportSlice::Udp(udp) => {
            let message = udp.payload();
            let what = What::Dns { id: u16::from_be_bytes([message[0], message[1]]), response: message[2] & 0x80 != 0 };
            ((udp.source_port(), udp.destination_port()), what)
        }
        _ => panic!("TCP or UDP only"),
    };
    let at = frame.at.expect("a time").as_nanos();
    Packet { at, key: (source, ports.0, destination, ports.1), what }
}

/// One of the requests with the same id: when it passed, and its TSval.
type Copy = (i64, u32);

/// What a request and its response have in common: where the data ends, or the id of a query; and, for `TcpResponse`, where the
/// response begins, else zero.
type Numbers = (u32, u32);

/// Pairs like an observer who knows only the packets.
#[derive(Default)]
struct Pairing {
    open: HashMap<(Match, Leg, Key, Numbers), Vec<Copy>>,
    /// The flows, from the client, whose SYN-ACK was seen.
    accepted: HashSet<Key>,
    lines: HashMap<(Match, Leg), Line>,
    answered: Vec<Exchange>,
}

impl Pairing {
    fn request(&mut self, matching: Match, leg: Leg, key: Key, numbers: Numbers, at: i64, token: u32) {
        let copies = self.open.entry((matching, leg, key, numbers)).or_default();
        let line = self.lines.entry((matching, leg)).or_default();
        line.requests += 1;
        line.repeats += u64::from(!copies.is_empty());
        copies.push((at, token));
    }

    fn response(&mut self, matching: Match, leg: Leg, key: Key, numbers: Numbers, at: i64, token: u32) {
        let key = (key.2, key.3, key.0, key.1);
        let Some(copies) = self.open.remove(&(matching, leg, key, numbers)) else { return };
        self.lines.entry((matching, leg)).or_default().exchanges += 1;
        let named = copies.iter().find(|copy| token != 0 && copy.1 == token);
        let last = copies[copies.len() - 1].0;
        let since = |time: i64| Nanos::new(at - time);
        self.answered.push(Exchange {
            matching,
            leg,
            at: Timestamp::from_nanos(at),
            // The best guess if no token names the copy: compared only where there is one copy.
            delay: since(named.map_or(last, |copy| copy.0)),
            since_first: since(copies[0].0),
            since_last: since(last),
        });
    }

    fn take(&mut self, packet: &Packet) {
        use Match::{Dns, TcpAck, TcpHandshake, TcpResponse};
        let Packet { at, key, ref what } = *packet;
        match *what {
            What::Dns { id, response: false } => self.request(Dns, Leg::Both, key, (id.into(), 0), at, 0),
            What::Dns { id, response: true } => self.response(Dns, Leg::Both, key, (id.into(), 0), at, 0),
            What::Tcp { syn, ack, fin, rst, psh, sequence, acknowledgement, length, value } => {
                let (value, echo) = value.unwrap_or((0, 0));
                let end = sequence.wrapping_add(length + u32::from(syn) + u32::from(fin));
                if ack {
                    self.response(TcpAck, Leg::Both, key, (acknowledgement, 0), at, 0);
                }
                let has_data = ack && !syn && !rst && length > 0;
                let reversed = (key.2, key.3, key.0, key.1);
                let accepted = [key, reversed].map(|from| self.accepted.contains(&from));
                let asks = if accepted == [false; 2] { key.1 > key.3 } else { accepted[0] };
                if has_data && !asks {
                    self.response(TcpResponse, Leg::Both, key, (acknowledgement, sequence), at, 0);
                }
                if has_data && psh && asks {
                    self.request(TcpResponse, Leg::Both, key, (end, acknowledgement), at, 0);
                }
                if ack && !syn && !rst {
                    self.response(TcpHandshake, Leg::Before, key, (acknowledgement, 0), at, 0);
                    // The sum is keyed by the client's own direction, as its request is.
                    self.response(TcpHandshake, Leg::Sum, reversed, (sequence, 0), at, 0);
                }
                if syn && ack {
                    self.accepted.insert(reversed);
                    self.response(TcpHandshake, Leg::Beyond, key, (acknowledgement, 0), at, echo);
                    self.request(TcpHandshake, Leg::Before, key, (end, 0), at, 0);
                } else if syn {
                    self.request(TcpHandshake, Leg::Beyond, key, (end, 0), at, value);
                    self.request(TcpHandshake, Leg::Sum, key, (end, 0), at, 0);
                }
                if !rst && (length > 0 || syn || fin) {
                    self.request(TcpAck, Leg::Both, key, (end, 0), at, 0);
                }
            }
        }
    }
}

fn whole(settings: Settings) -> Settings {
    Settings { snap_length: 65_535, ..settings }
}

/// Settings in which everything that can happen happens often.
fn rough() -> Settings {
    let slow =
        dwell_simulate::Distribution::LogNormal { mean: Nanos::new(300_000_000), p99: Nanos::new(3_000_000_000) };
    Settings {
        flows: 3000,
        queries: 1000,
        span: Nanos::from_secs(20),
        syn_loss: 0.2,
        data_loss: 0.03,
        query_loss: 0.3,
        one_way: 0.1,
        beyond: slow,
        ..whole(Settings::small())
    }
}

fn assert_truth_is_what_pairing_finds(settings: &Settings, seed: u64) {
    let mut workload = PacketWorkload::new(settings, seed).expect("valid settings");
    let mut pairing = Pairing::default();
    let mut told = Vec::new();
    let (mut latest, mut frames, mut bytes) = (i64::MIN, 0, 0);
    while let Some(frame) = workload.next_frame() {
        let packet = parse(&frame);
        assert!(packet.at >= latest, "{} after {latest}", packet.at);
        latest = packet.at;
        frames += 1;
        bytes += u64::from(frame.wire_length);
        pairing.take(&packet);
        for exchange in workload.answered() {
            assert_eq!(exchange.at.as_nanos(), packet.at);
            assert!(exchange.since_last <= exchange.delay && exchange.delay <= exchange.since_first);
            assert!(exchange.since_last > Nanos::ZERO, "{exchange:?}");
            told.push(*exchange);
        }
    }
    let truth = *workload.truth();
    assert_eq!((truth.frames, truth.wire_bytes), (frames, bytes));
    assert_eq!((truth.flows, truth.queries), (settings.flows.into(), settings.queries.into()));
    assert_eq!(workload.open_flows(), 0);
    for (&(matching, leg), line) in &pairing.lines {
        assert_eq!(truth.line(matching, leg), Some(line), "{matching} {leg}");
    }
    assert_eq!(truth.exchanges(), told.len() as u64);
    told.sort_unstable();
    pairing.answered.sort_unstable();
    assert_eq!(told.len(), pairing.answered.len());
    let mut resolved = 0;
    for (told, found) in told.iter().zip(&pairing.answered) {
        let bounds = |exchange: &Exchange| {
            (exchange.at, exchange.matching, exchange.leg, exchange.since_first, exchange.since_last)
        };
        assert_eq!(bounds(told), bounds(found));
        resolved += u64::from(told.delay == found.delay);
    }
    // Pairing may be wrong only where copies differ and no token named the answered one.
    assert!(resolved as usize > told.len() * 99 / 100, "{resolved} of {}", told.len());
}

#[test]
fn truth_is_what_pairing_finds() {
    assert_truth_is_what_pairing_finds(&whole(Settings::small()), 1);
    for seed in 0..3 {
        assert_truth_is_what_pairing_finds(&rough(), seed);
    }
}

/// With timestamps on every connection, the TSecr of the SYN-ACK names the SYN that it answers, to the nanosecond.
#[test]
fn the_echo_tells_which_syn_was_answered() {
    let settings = Settings { timestamps: 1.0, ..rough() };
    let mut workload = PacketWorkload::new(&settings, 4).unwrap();
    let mut pairing = Pairing::default();
    let mut told: Vec<Exchange> = Vec::new();
    while let Some(frame) = workload.next_frame() {
        pairing.take(&parse(&frame));
        told.extend(workload.answered().iter().filter(|exchange| exchange.leg == Leg::Beyond));
    }
    let found: Vec<_> = pairing.answered.into_iter().filter(|exchange| exchange.leg == Leg::Beyond).collect();
    assert_eq!(told, found);
    let repeated = told.iter().filter(|exchange| exchange.since_first != exchange.since_last);
    let (of_first, of_last) = repeated.clone().fold((0, 0), |(first, last), exchange| {
        (
            first + u32::from(exchange.delay == exchange.since_first),
            last + u32::from(exchange.delay == exchange.since_last),
        )
    });
    // There are slow answers to the first SYN, and answers to a second or third after a loss.
    assert!(of_first > 30 && of_last > 200, "{of_first} and {of_last}");
}

/// Shares are within six standard errors (2·10⁻⁹ each) of the settings, on 20,000 connections. Shares that ignore
/// scans, take a share for its complement, or count a connection for both sides must fail.
#[test]
fn shares_are_as_asked() {
    let settings = whole(Settings { flows: 20_000, queries: 10_000, ..Settings::small() });
    let mut workload = PacketWorkload::new(&settings, 2).unwrap();
    let mut first = HashMap::new();
    let mut syn_acks = HashMap::new();
    let (mut fins, mut resets) = (HashMap::new(), HashMap::new());
    let mut dns = 0u64;
    while let Some(frame) = workload.next_frame() {
        let Packet { at, key, what } = parse(&frame);
        match what {
            What::Dns { .. } => dns += 1,
            What::Tcp { syn: true, ack: false, value, .. } => {
                first.entry(key).or_insert((at, value.is_some()));
            }
            What::Tcp { syn: true, ack: true, .. } => {
                syn_acks.insert((key.2, key.3), ());
            }
            What::Tcp { fin: true, .. } => {
                fins.insert(key, ());
            }
            What::Tcp { rst: true, ack: true, sequence, .. } if sequence != 0 => {
                resets.insert(key, ());
            }
            What::Tcp { .. } => {}
        }
    }
    let is_share = |found: usize, of: usize, share: f64| {
        // Counts are whole numbers.
        common::is_share(found as u64, of as u64, share) || (found as f64 - share * of as f64).abs() <= 1.0
    };
    let v6 = first.keys().filter(|key| key.0.is_ipv6()).count();
    let timestamps = first.values().filter(|first| first.1).count();
    for (name, found, of, share, wrong) in [
        // Half of the one-way connections hide their SYN.
        ("SYNs", first.len(), 20_000, 0.99, 0.98),
        ("v6", v6, first.len(), 0.2, 0.2 / 0.8),
        ("timestamps", timestamps, first.len(), 0.9, 0.1),
        // Nine in ten are not scans, and half of the one-way connections hide their SYN-ACK.
        ("SYN-ACKs", syn_acks.len(), 20_000, 0.9 * 0.99, 0.99),
        ("resets", resets.len(), 20_000, 0.9 * 0.1 * 0.99, 2.0 * 0.1),
        // Both sides send a FIN, each of which is seen in 99% of connections.
        ("FINs", fins.len(), 40_000, 0.9 * 0.85 * 0.99, 0.85 * 0.99),
    ] {
        assert!(is_share(found, of, share) && !is_share(found, of, wrong), "{name}: {found} of {of}, expected {share}");
    }
    // Per query: the query, 95% answers, and for 2.5% a repetition and its answer: 2.0, with σ below .3.
    assert_near(dns as f64, 20_000.0, 0.3 * 100.0);
    assert!(!is_near(dns as f64, 19_500.0, 0.3 * 100.0), "nothing is repeated");
    let start = settings.start.as_nanos();
    // Uniform over 3 s: the middle of 20,000 arrivals is at 1.5 s ± 6 · 3 s · ½/√20,000.
    let mut times: Vec<i64> = first.values().map(|first| first.0 - start).collect();
    times.sort_unstable();
    let middle = times[times.len() / 2] as f64 / 1e9;
    let is_middle = |time: f64| (time - 1.5).abs() < 6.0 * 1.5 / (20_000f64).sqrt() + 0.01;
    assert!(is_middle(middle) && !is_middle(times[times.len() / 3] as f64 / 1e9), "{middle}");
}

/// The properties of the speed preset, on a twentieth of it: 25 packets per connection, 5% DNS, 99 bytes per packet in
/// a pcap file. Sizes are heavy-tailed (σ ≈ 100 packets per connection), so 25 ± 6 · 100/√10,000: six standard errors,
/// 2·10⁻⁹. The other figures are from as many connections and have wider ranges. The small preset must fail.
#[test]
fn a_part_of_the_speed_preset() {
    let settings = Settings { span: Nanos::from_secs(3), flows: 10_000, queries: 6_400, ..Settings::speed() };
    /// Packets per connection, the share of DNS, bytes per packet, and the share of retransmissions.
    fn figures(settings: &Settings) -> [f64; 4] {
        let mut workload = PacketWorkload::new(settings, 3).unwrap();
        let (mut file, mut most_open) = (0u64, 0);
        while let Some(frame) = workload.next_frame() {
            file += 16 + frame.bytes.len() as u64;
            most_open = most_open.max(workload.open_flows());
        }
        assert!(most_open < settings.flows as usize, "{most_open}");
        let (truth, frames) = (workload.truth(), workload.truth().frames as f64);
        let dns = (truth.dns.requests + truth.dns.exchanges) as f64 / frames;
        let retransmissions = truth.ack.repeats as f64 / truth.ack.requests as f64;
        [frames / f64::from(settings.flows), dns, file as f64 / frames, retransmissions]
    }
    let are_right = |[packets, dns, bytes, retransmissions]: [f64; 4]| {
        (packets - 25.0).abs() < 6.0
            && (0.04..0.065).contains(&dns)
            && (85.0..105.0).contains(&bytes)
            && (0.0005..0.02).contains(&retransmissions)
    };
    let (speed, small) = (figures(&settings), figures(&Settings { flows: 1_000, ..Settings::small() }));
    assert!(are_right(speed) && !are_right(small), "{speed:?} {small:?}");
}

/// The snap length changes nothing but the number of captured bytes.
#[test]
fn a_cut_frame_is_the_beginning_of_the_whole() {
    let mut cut = PacketWorkload::new(&Settings::small(), 6).unwrap();
    let mut full = PacketWorkload::new(&whole(Settings::small()), 6).unwrap();
    while let Some(frame) = full.next_frame() {
        let beginning = cut.next_frame().unwrap();
        assert_eq!(beginning.bytes, &frame.bytes[..frame.bytes.len().min(96)]);
        assert_eq!((beginning.at, beginning.wire_length), (frame.at, frame.wire_length));
    }
    assert!(cut.next_frame().is_none());
}

/// Hash of the frames of the small preset. It changes only when the traffic is changed deliberately.
#[test]
fn the_same_frames_everywhere() {
    let digest = |seed| {
        let mut workload = PacketWorkload::new(&Settings::small(), seed).unwrap();
        let mut state = 0;
        while let Some(frame) = workload.next_frame() {
            state = hash::absorb(state, frame.at.unwrap().as_nanos() as u64);
            state = hash::absorb(state, hash::bytes(frame.wire_length.into(), frame.bytes));
        }
        (workload.truth().frames, format!("{:016x}", hash::finish(state)))
    };
    assert_ne!(digest(1), digest(2));
    assert_eq!(digest(1), (4207, "d6f31c554fe56bb9".to_string()));
}

#[test]
fn what_cannot_be_is_refused() {
    let error = |settings: Settings| PacketWorkload::new(&settings, 1).unwrap_err();
    let small = Settings::small;
    assert_eq!(error(Settings { v6: 1.5, ..small() }), SettingsError::Share { field: "v6", value: 1.5 });
    assert_eq!(error(Settings { resets: 0.6, silent: 0.5, ..small() }), SettingsError::Ends(1.1));
    assert_eq!(error(Settings { span: Nanos::ZERO, ..small() }), SettingsError::Span(Nanos::ZERO));
    let late = Timestamp::MAX;
    assert_eq!(error(Settings { start: late, ..small() }), SettingsError::Start(late));
    let sizes = Sizes { least: 9, most: 8, shape: 1.0 };
    let refused = error(Settings { sizes, ..small() });
    assert_eq!(refused, SettingsError::Sizes(sizes));
    assert!(refused.to_string().starts_with("turns of 9 to 8 segments"), "{refused}");
    let empty = dwell_simulate::Distribution::Empirical(vec![]);
    assert_eq!(error(Settings { pause: empty, ..small() }).to_string(), "pause: no values to draw from");
}

#[test]
fn no_traffic_at_all() {
    let mut workload = PacketWorkload::new(&Settings { flows: 0, queries: 0, ..Settings::small() }, 1).unwrap();
    assert!(workload.next_frame().is_none());
    assert_eq!(workload.truth().exchanges(), 0);
}
