//! Pairing: whatever the packets, their observations are few, responses first, and the same for the same packets; no
//! state grows, and frames are conserved.

use dwell_observe::packet::{Packet, Tcp, Transport};
use dwell_observe::pair::{PORTS, Pairing};
use dwell_observe::{Observer, Settings};
use dwell_types::{Address, FlowKey, Frame, IdForm, LinkType, Match, Observation, Sighting, Timestamp, protocol};

/// Settings that name legs and groups, with every rule.
fn settings(grouped: bool) -> Settings {
    Settings {
        matches: Match::ALL.to_vec(),
        inside: if grouped { vec!["10.0.0.0/8".parse().expect("a prefix")] } else { Vec::new() },
        group: grouped.then(|| "src/24,port,vlan".parse().expect("a grouping")),
        max_groups: 3,
        ..Settings::default()
    }
}

/// Frames of raw bytes, one after the other, through the whole observer.
pub fn check_frames<'a>(link: LinkType, grouped: bool, frames: impl Iterator<Item = &'a [u8]>) {
    let (mut one, mut other) = (Observer::new(settings(grouped)), Observer::new(settings(grouped)));
    let before = one.state_bytes();
    let mut total = 0;
    let mut usual = Observer::new(Settings::default());
    for (number, bytes) in frames.enumerate() {
        let at = (number % 7 != 6).then(|| Timestamp::from_nanos(number as i64 * 1_000_000));
        let frame = Frame { at, link, bytes, wire_length: bytes.len() as u32 };
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        one.observe(&frame, &mut |observation| seen.push(observation));
        other.observe(&frame, &mut |observation| again.push(observation));
        check(&seen, at, grouped);
        assert_eq!(seen, again);
        if !grouped {
            // The way of nearly all packets, which few rules take, gives what every rule does.
            seen.retain(|seen| Match::USUAL.contains(&sighting(seen).series.matching));
            again.clear();
            usual.observe(&frame, &mut |observation| again.push(observation));
            assert_eq!(seen, again);
        }
        total += 1;
    }
    let rejected: u64 = one.frames().rejected().map(|(_, count)| count).sum();
    assert_eq!((one.frames().total, one.frames().decoded() + rejected), (total, total));
    // A kilobyte more once the numbers of a flow have begun again.
    assert!((before..=before + 1_028).contains(&one.state_bytes()));
    assert!(one.groups() <= 4);
}

/// Payloads of the protocols that are looked into, as packets of a few flows; each begins with three bytes that choose.
pub fn check_packets<'a>(packets: impl Iterator<Item = &'a [u8]>) {
    let known = [&PORTS[..], &[50_000, 0]].concat();
    let Settings { matches, inside, .. } = settings(false);
    let mut pairing = Pairing::new(&matches, IdForm::Hashed, inside, None, 1);
    let before = pairing.state_bytes();
    let mut now = 0i64;
    for bytes in packets {
        let [kind, ends, flags, payload @ ..] = bytes else { continue };
        now = now.wrapping_add(i64::from(*flags) << (ends & 63));
        let ports = [ends >> 1, ends >> 4].map(|choice| known[usize::from(choice) % known.len()]);
        let numbers = payload.first_chunk().map_or(0, |n| u32::from_be_bytes(*n));
        let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        let (protocol, transport) = match kind % 4 {
            0 => {
                let [value, echo] = [numbers, numbers.rotate_left(16)].map(u32::to_be_bytes);
                options[4..8].copy_from_slice(&value);
                options[8..].copy_from_slice(&echo);
                let segment = Tcp {
                    sequence: numbers,
                    acknowledgement: numbers.rotate_left(8),
                    flags: *flags,
                    payload_length: payload.len() as u32 + u32::from(kind >> 2),
                    is_header_cut: false,
                    options: if kind & 4 == 0 { &[] } else { &options },
                    payload,
                };
                (protocol::TCP, Transport::Tcp(segment))
            }
            1 => (protocol::ICMP, Transport::Icmp(payload)),
            2 => (protocol::ICMPV6, Transport::Icmp(payload)),
            _ => (protocol::UDP, Transport::Udp(payload)),
        };
        let (a, b) = (Address::v4(0x0a00_0001), Address::v6([0x20; 16]));
        let key = FlowKey { source: a, destination: b, source_port: ports[0], destination_port: ports[1], protocol };
        let flow = if ends & 1 == 0 { key } else { key.reversed() };
        let at = Timestamp::from_nanos(now);
        let mut seen = Vec::new();
        pairing.observe(
            &Packet { flow, vlan: None, dscp: 0, identification: 0, length: 0, is_cut: false, transport },
            at,
            &mut |observation| seen.push(observation),
        );
        check(&seen, Some(at), false);
    }
    // A kilobyte more once the numbers of a flow have begun again.
    assert!((before..=before + 1_028).contains(&pairing.state_bytes()));
    let quic = pairing.quic().expect("quic-spin is asked for");
    assert_eq!(quic.connections, quic.spinning + quic.not_spinning + quic.undecided);
}

fn check(seen: &[Observation], at: Option<Timestamp>, grouped: bool) {
    assert!(seen.is_sorted_by_key(|observation| matches!(observation, Observation::Request(_))));
    for sighting in seen.iter().map(sighting) {
        assert_eq!(Some(sighting.at), at);
        assert!(sighting.series.group <= if grouped { 3 } else { 0 });
        assert!(sighting.series.matching != Match::Events);
    }
}

fn sighting(observation: &Observation) -> &Sighting {
    let (Observation::Request(sighting) | Observation::Response(sighting)) = observation;
    sighting
}
