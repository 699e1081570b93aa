//! A packet has the same id along its whole path, and a different id from all other packets.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use dwell_observe::crossing::{Crossings, Settings};
use dwell_observe::parse::{Key, Reject, any};
use dwell_types::{Crossing, Frame, LinkType, Timestamp};

/// UDP from 10.0.0.1:5000 to 10.0.0.2:6000 with the payload, over IPv4.
fn udp(identification: u16, payload: &[u8]) -> Vec<u8> {
    let length = (28 + payload.len()) as u16;
    let [id, total, datagram] = [identification, length, length - 20].map(u16::to_be_bytes);
    let mut bytes =
        vec![0x45, 0, total[0], total[1], id[0], id[1], 0x40, 0, 64, 17, 0xab, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([0x13, 0x88, 0x17, 0x70, datagram[0], datagram[1], 0x12, 0x34]);
    bytes.extend(payload);
    bytes
}

/// A TCP segment from 10.0.0.1 with this sequence number.
fn tcp(identification: u16, sequence: u32) -> Vec<u8> {
    let id = identification.to_be_bytes();
    let mut bytes =
        vec![0x45, 0, 0, 40, id[0], id[1], 0x40, 0, 64, 6, 0xab, 0xcd, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x88, 0, 80];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend([0, 0, 0, 9, 0x50, 0x10, 1, 0, 0x77, 0x66, 0, 0]);
    bytes
}

fn frame(link: LinkType, bytes: &[u8]) -> Frame<'_> {
    Frame { at: Some(Timestamp::from_nanos(5)), link, bytes, wire_length: bytes.len() as u32 }
}

fn cross(settings: &Settings, bytes: &[u8]) -> Crossing {
    Crossings::new(settings.clone()).observe(&frame(LinkType::RAW, bytes)).unwrap().crossing
}

fn is_same(settings: &Settings, a: &[u8], b: &[u8]) -> bool {
    cross(settings, a).packet == cross(settings, b).packet
}

/// Flips a bit in each byte of the headers: the id stays the same for fields that the path changes, and for no others.
#[test]
fn what_the_way_changes_does_not_count() {
    let plain = Settings::default();
    for (packet, changed) in
        [(udp(7, b"hello"), vec![1, 8, 10, 11, 26, 27]), (tcp(7, 1), vec![1, 8, 10, 11, 34, 35, 36, 37, 38, 39])]
    {
        let flags = 6..8;
        for at in (0..packet.len()).filter(|at| !flags.contains(at)) {
            // Changing lengths, versions or protocols would make the packet invalid.
            if [0, 2, 3, 9, 24, 25, 32].contains(&at) && !(packet[9] == 6 && [24, 25].contains(&at)) {
                continue;
            }
            let mut other = packet.clone();
            other[at] ^= 0x10;
            assert_eq!(is_same(&plain, &packet, &other), changed.contains(&at), "byte {at} of protocol {}", packet[9]);
        }
    }
}

/// A segment from 10.0.0.1 with this many bytes of payload, of which none are captured.
fn long(identification: u16, sequence: u32, flags: u8, payload: u16) -> Vec<u8> {
    let mut bytes = tcp(identification, sequence);
    bytes[2..4].copy_from_slice(&(40 + payload).to_be_bytes());
    bytes[33] = flags;
    bytes
}

fn segments(settings: &Settings, bytes: &[u8]) -> Vec<Crossing> {
    let wire_length = u32::from(u16::from_be_bytes([bytes[2], bytes[3]]));
    let frame = Frame { wire_length, ..frame(LinkType::RAW, bytes) };
    let mut crossings = Crossings::new(settings.clone());
    let passing = crossings.observe(&frame).unwrap();
    if !crossings.is_long(passing.crossing.bytes) {
        return vec![passing.crossing];
    }
    crossings.segments(frame.link, frame.bytes, frame.wire_length, passing.crossing)
}

/// What hosts merge are the segments that the link carries, however they are merged: IP numbers them, and only the last one
/// says that no more follows.
#[test]
fn merged_segments_are_those_of_the_link() {
    const ACK: u8 = 0x10;
    const LAST: u8 = 0x19;
    let settings = Settings { mtu: Some(1_500), ..Settings::default() };
    let on_link = [
        long(70, 1_000, ACK, 1_460),
        long(71, 2_460, ACK, 1_460),
        long(72, 3_920, ACK, 1_460),
        long(73, 5_380, LAST, 300),
    ];
    let each: Vec<_> = on_link.iter().flat_map(|bytes| segments(&settings, bytes)).collect();
    assert_eq!(each.iter().map(|one| one.bytes).collect::<Vec<_>>(), [1_500, 1_500, 1_500, 340]);
    let merged = [
        vec![long(70, 1_000, LAST, 4_680)],
        vec![long(1, 1_000, ACK, 2_920), long(2, 3_920, LAST, 1_760)],
        vec![long(9, 1_000, ACK, 1_460), long(9, 2_460, 0x18, 2_920), long(9, 5_380, LAST, 300)],
    ];
    for frames in merged {
        assert_eq!(frames.iter().flat_map(|bytes| segments(&settings, bytes)).collect::<Vec<_>>(), each);
    }
    // By another MTU only what is short is the same.
    let other = Settings { mtu: Some(1_400), ..Settings::default() };
    let [first, .., last] = &segments(&other, &long(70, 1_000, LAST, 4_680))[..] else { panic!() };
    assert!(![first, last].into_iter().any(|one| each.contains(one)));
    assert_eq!(segments(&other, &on_link[3]), each[3..]);
    // Without it nothing is split, and a long segment is none of the others.
    let plain = Settings::default();
    let whole = segments(&plain, &long(70, 1_000, LAST, 4_680));
    assert_eq!(whole.iter().map(|one| one.bytes).collect::<Vec<_>>(), [4_720]);
    assert!(on_link.iter().all(|bytes| segments(&plain, bytes)[0].packet != whole[0].packet));
    assert_ne!(segments(&plain, &on_link[0]), segments(&plain, &long(71, 1_000, ACK, 1_460)));
    // A long datagram is whole.
    let datagram = segments(&settings, &udp(7, &[7; 3_000]));
    assert_eq!((datagram.len(), datagram[0].packet), (1, cross(&plain, &udp(7, &[7; 3_000])).packet));
}

/// Acknowledgements that repeat a number differ by the blocks that arrived behind a gap, and over IPv6 by nothing else:
/// with and without timestamps, in every place among the options.
#[test]
fn acknowledgements_differ_by_what_they_acknowledge_selectively() {
    let segment = |options: &[u8]| {
        let mut bytes = tcp(0, 1);
        bytes.extend(options);
        (bytes[3], bytes[32]) = (bytes.len() as u8, (((20 + options.len()) / 4) << 4) as u8);
        cross(&Settings::default(), &bytes).packet
    };
    let stamps = [1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9];
    let block = |end: u8| [1, 1, 5, 10, 0, 0, 0, 1, 0, 0, 0, end];
    for [before, behind] in [[&[][..], &[]], [&stamps, &[]], [&[], &stamps], [&[3, 3, 7, 1], &[]]] {
        let with = |end| segment(&[before, &block(end), behind].concat());
        assert!(with(5) == with(5) && with(5) != with(6) && with(5) != segment(&[before, behind].concat()));
    }
    // Segment size and window scale may be changed on the way.
    assert_eq!(segment(&[2, 4, 5, 180, 3, 3, 7, 1]), segment(&[2, 4, 5, 100, 3, 3, 9, 1]));
}

/// Data without options differ by their length, keep-alives with timestamps by these.
#[test]
fn segments_differ_by_length_and_timestamps() {
    let plain = Settings::default();
    let segment = |options: &[u8], payload: usize| {
        let mut bytes = [&tcp(0, 1), options, &vec![7; payload]].concat();
        (bytes[3], bytes[32]) = (bytes.len() as u8, (((20 + options.len()) / 4) << 4) as u8);
        bytes
    };
    assert!(!is_same(&plain, &segment(&[], 10), &segment(&[], 20)));
    let stamped = |value: u8, echo: u8| segment(&[1, 1, 8, 10, 0, 0, 0, value, 0, 0, 0, echo], 0);
    for (value, echo) in [(8, 9), (7, 8), (9, 7)] {
        assert!(!is_same(&plain, &stamped(7, 9), &stamped(value, echo)), "{value} {echo}");
    }
}

#[test]
fn equal_datagrams_differ_by_identification_alone() {
    let plain = Settings::default();
    assert!(!is_same(&plain, &udp(1, b"tick"), &udp(2, b"tick")));
    assert!(is_same(&plain, &udp(0, b"tick"), &udp(0, b"tick")), "these are ambiguous");
    assert!(!is_same(&Settings { seed: 1, ..plain.clone() }, &udp(1, b"tick"), &udp(2, b"tick")));
    assert_ne!(
        cross(&plain, &udp(1, b"t")).packet,
        cross(&Settings { seed: 1, ..plain.clone() }, &udp(1, b"t")).packet
    );
}

#[test]
fn layers_below_ip_do_not_count() {
    let mut plain = Crossings::new(Settings::default());
    let packet = udp(7, b"hello");
    let raw = plain.observe(&frame(LinkType::RAW, &packet)).unwrap();
    assert_eq!((plain.name(&raw.flow).as_str(), raw.crossing.bytes), ("10.0.0.1:5000 → 10.0.0.2:6000 udp", 33));
    let ethernet = [&[2; 12][..], &[8, 0], &packet, &[0; 13]].concat();
    let tagged = [&[4; 12][..], &[0x81, 0, 0, 5, 8, 0], &packet].concat();
    let mut vxlan = udp(9, &[&[8, 0, 0, 0, 0, 0, 5, 0][..], &ethernet].concat());
    vxlan[22..24].copy_from_slice(&4789u16.to_be_bytes());
    for (link, bytes) in [(LinkType::ETHERNET, &ethernet), (LinkType::ETHERNET, &tagged), (LinkType::RAW, &vxlan)] {
        let seen = plain.observe(&frame(link, bytes)).unwrap();
        assert_eq!((seen.crossing, seen.flow.key), (raw.crossing, raw.flow.key));
    }
    assert_eq!(plain.frames().decoded(), 4);
    // Frames of the commonest layout take a path of their own.
    let ipv6 = |next: u8, payload: &[u8]| {
        [&[0x60, 0, 0, 0, 0, payload.len() as u8, next, 64][..], &[1; 16], &[2; 16], payload].concat()
    };
    for (kind, packet) in
        [(0x86dd_u16, ipv6(17, &packet[20..])), (0x86dd, ipv6(6, &tcp(7, 1)[20..])), (0x800, tcp(7, 1))]
    {
        let ethernet = [&[2; 12][..], &kind.to_be_bytes(), &packet].concat();
        let [raw, framed] = [(LinkType::RAW, &packet), (LinkType::ETHERNET, &ethernet)]
            .map(|(link, bytes)| plain.observe(&frame(link, bytes)).unwrap());
        assert_eq!((framed.crossing, framed.flow.key), (raw.crossing, raw.flow.key));
    }
}

/// A segment endpoint writes the next address of the list into the IP header; the flow and the id stay.
#[test]
fn the_same_packet_before_and_after_a_segment_endpoint() {
    let datagram = [&[0x13, 0x88, 0x17, 0x70, 0, 13, 0, 0][..], b"hello"].concat();
    let at = |last: u8| [[0xfd; 15].as_slice(), &[last]].concat();
    let packet = |destination: &[u8], left: u8| {
        let route = [&[17, 4, 4, left, 1, 0, 0, 0][..], &at(2), &at(9)].concat();
        let payload = [route, datagram.clone()].concat();
        [&[0x60, 0, 0, 0, 0, payload.len() as u8, 43, 64][..], &at(1), destination, &payload].concat()
    };
    for key in [Key::Inner, Key::Outer] {
        let mut crossings = Crossings::new(Settings { key, ..Settings::default() });
        let mut cross = |bytes: &[u8]| crossings.observe(&frame(LinkType::RAW, bytes)).unwrap();
        let (before, after) = (cross(&packet(&at(9), 1)), cross(&packet(&at(2), 0)));
        assert_eq!(before, after);
        assert_eq!(before.flow.key.destination.halves().1 & 0xff, 2);
        // TCP without the header, too.
        let segment = &tcp(0, 1)[20..];
        let plain = [&[0x60, 0, 0, 0, 0, 20, 6, 64][..], &at(1), &at(2), segment].concat();
        let routed = [&[0x60, 0, 0, 0, 0, 44, 43, 64][..], &at(1), &at(9), &[6, 2, 4, 1, 0, 0, 0, 0], &at(2), segment];
        assert_eq!(cross(&plain).crossing.packet, cross(&routed.concat()).crossing.packet);
    }
}

#[test]
fn translated_addresses() {
    let nat = Settings { nat: true, ..Settings::default() };
    for packet in [udp(7, b"hello"), tcp(7, 1)] {
        let mut translated = packet.clone();
        translated[12..16].copy_from_slice(&[192, 0, 2, 1]);
        translated[20..22].copy_from_slice(&[0xff, 0xfe]);
        assert!(is_same(&nat, &packet, &translated));
        assert!(!is_same(&Settings::default(), &packet, &translated));
        let mut other = packet.clone();
        other[5] = 8;
        assert!(!is_same(&nat, &packet, &other));
    }
}

/// An IPv4 packet with this protocol, these flags and fragment offset, and this payload.
fn ip(protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let [[long, short], [high, low]] = [20 + payload.len() as u16, fragment].map(u16::to_be_bytes);
    [&[0x45, 0, long, short, 0, 7, high, low, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], payload].concat()
}

/// Errors about packets of one flow of IPv6 differ in what they quote behind its header: here, a sequence number. Only its first
/// eight bytes are certain.
#[test]
fn errors_quote_more_than_a_header() {
    let ipv6 = |next: u8, payload: &[u8]| {
        let [long, short] = (payload.len() as u16).to_be_bytes();
        [&[0x60, 0, 0, 0, long, short, next, 64][..], &[0xfd; 15], &[1], &[0xfd; 15], &[2], payload].concat()
    };
    let error = |number: u8, after: u8| {
        let segment = [&[0, 80, 1, 187, 0, 0, 0, number][..], &[after; 12]].concat();
        ipv6(58, &[&[3, 0, 0, 0, 0, 0, 0, 0][..], &ipv6(6, &segment)].concat())
    };
    for settings in [Settings::default(), Settings { nat: true, ..Settings::default() }] {
        assert!(is_same(&settings, &error(1, 9), &error(1, 9)));
        assert!(!is_same(&settings, &error(1, 9), &error(2, 9)), "nat {}", settings.nat);
        assert!(is_same(&settings, &error(1, 9), &error(1, 8)), "nat {}", settings.nat);
    }
}

/// Translation changes ports and checksums, too: those of first fragments, of protocols that dwell does not parse, and
/// of packets quoted by ICMP errors. With `nat` they do not count and all other bytes do; without it only checksums do
/// not count.
#[test]
fn translation_changes_more_than_addresses() {
    const MORE: u16 = 1 << 13;
    let payload: Vec<u8> = (1..=40).collect();
    let error = [&[3, 1, 0, 0, 0, 0, 0, 0][..], &ip(17, 0, &payload)].concat();
    let udp = (0..4, 6..8);
    // What is translated, and the checksum.
    let cases = [
        (ip(17, MORE, &payload), udp.clone()),
        (ip(6, MORE, &payload), (0..4, 16..18)),
        (ip(1, MORE, &payload), (4..6, 2..4)),
        (ip(17, MORE | 1, &payload), (0..0, 0..0)),
        (ip(132, 0, &payload), (0..4, 8..12)),
        (ip(136, 0, &payload), udp.clone()),
        (ip(33, 0, &payload), udp),
        (ip(50, 0, &payload), (0..0, 0..0)),
    ];
    let nat = Settings { nat: true, ..Settings::default() };
    let changed = |packet: &[u8], at: usize| {
        let mut changed = packet.to_vec();
        changed[at] ^= 0x10;
        changed
    };
    for (packet, (translated, checksum)) in &cases {
        for at in 0..payload.len() {
            let other = changed(packet, 20 + at);
            let is_checksum = checksum.contains(&at);
            let is_changed = is_checksum || translated.contains(&at);
            assert_eq!(is_same(&nat, packet, &other), is_changed, "byte {at} of protocol {}", packet[9]);
            assert_eq!(
                is_same(&Settings::default(), packet, &other),
                is_checksum,
                "byte {at} of protocol {}",
                packet[9]
            );
        }
    }
    // Bits of congestion control in the first fragment of a segment.
    let mut marked = cases[1].0.clone();
    marked[20 + 13] ^= 0xc0;
    assert!(is_same(&nat, &cases[1].0, &marked) && is_same(&Settings::default(), &cases[1].0, &marked));
    // Fields that count: type and code; of the quoted packet identification, protocol and eight bytes of transport.
    let counts = [0..2, 12..14, 17..18, 32..34];
    let packet = ip(1, 0, &error);
    for at in 1..error.len() {
        let does_count = counts.iter().any(|range| range.contains(&at));
        assert_eq!(is_same(&nat, &packet, &changed(&packet, 20 + at)), !does_count, "byte {at}");
        // Without `nat` the first forty bytes behind the checksum count.
        let does_count = (1..2).contains(&at) || (4..44).contains(&at);
        assert_eq!(is_same(&Settings::default(), &packet, &changed(&packet, 20 + at)), !does_count, "byte {at}");
    }
    // The same with IPv6: of the quoted packet the protocol and eight bytes of transport.
    let ipv6 = |next: u8, payload: &[u8]| {
        [&[0x60, 0, 0, 0, 0, payload.len() as u8, next, 64], &[0x20; 32][..], payload].concat()
    };
    let six_error = [&[1, 4, 0, 0, 0, 0, 0, 0][..], &ipv6(17, &payload)].concat();
    let counts = [0..2, 14..15, 52..54];
    for at in 1..six_error.len() {
        let does_count = counts.iter().any(|range| range.contains(&at));
        let other = changed(&ipv6(58, &six_error), 40 + at);
        assert_eq!(is_same(&nat, &ipv6(58, &six_error), &other), !does_count, "byte {at}");
    }
    // What is no error quotes nothing.
    let solicitation = |kind: u8| [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &ipv6(17, &payload)].concat();
    for (kind, is_quote) in [(127, true), (128, false)] {
        let packet = ipv6(58, &solicitation(kind));
        assert_eq!(is_same(&nat, &packet, &changed(&packet, 40 + 20)), is_quote, "type {kind}");
    }
    // The capture is cut right after the last of these fields, or before it.
    let mut crossings = Crossings::new(nat);
    for (captured, cut) in [(20 + 36, 0), (20 + 35, 1)] {
        let frame = Frame { wire_length: packet.len() as u32, ..frame(LinkType::RAW, &packet[..captured]) };
        assert!(crossings.observe(&frame).is_some() && crossings.cut() == cut, "{captured}");
    }
}

#[test]
fn ports_without_a_known_header() {
    for (protocol, name) in [(132, "sctp"), (136, "udplite"), (33, "dccp")] {
        let packet = ip(protocol, 0, &[0x13, 0x88, 0x17, 0x70, 0, 0, 0, 0]);
        let mut crossings = Crossings::new(Settings::default());
        let passing = crossings.observe(&frame(LinkType::RAW, &packet)).unwrap();
        assert_eq!(crossings.name(&passing.flow), format!("10.0.0.1:5000 → 10.0.0.2:6000 {name}"));
        // The flow does not depend on the snap length.
        let flow = any(LinkType::RAW, &packet, 28, Key::Inner).unwrap().flow;
        for captured in 20..28 {
            let found = any(LinkType::RAW, &packet[..captured], 28, Key::Inner).map(|packet| packet.flow);
            let expected = if captured < 24 { Err(Reject::TruncatedTransport) } else { Ok(flow) };
            assert_eq!(found, expected, "{name}: {captured} bytes");
        }
    }
}

#[test]
fn frames_are_counted_by_fate() {
    let packet = udp(7, b"hello");
    let mut crossings = Crossings::new(Settings::default());
    for other in [
        Frame { at: None, ..frame(LinkType::RAW, &packet) },
        frame(LinkType::RAW, &packet[..19]),
        frame(LinkType(9999), &packet),
        frame(LinkType(9998), &packet),
    ] {
        assert!(crossings.observe(&other).is_none());
    }
    assert_eq!((crossings.frames().total, crossings.frames().decoded()), (4, 0));
    let rejected: Vec<_> = crossings.frames().rejected().filter(|&(_, count)| count > 0).collect();
    assert_eq!(rejected, [(Reject::NoTimestamp, 1), (Reject::LinkType, 2), (Reject::IpHeader, 1)]);
    assert_eq!(crossings.unknown_link(), Some(LinkType(9999)));
}

#[test]
fn first_bytes_and_snap_lengths() {
    let long = udp(7, &[1; 60]);
    let mut late = long.clone();
    late[28 + 50] = 2;
    assert!(is_same(&Settings::default(), &long, &late), "byte 50 is behind the first 40");
    assert!(!is_same(&Settings { payload_bytes: 60, ..Settings::default() }, &long, &late));

    let mut crossings = Crossings::new(Settings { payload_bytes: 20, ..Settings::default() });
    let whole = crossings.observe(&frame(LinkType::RAW, &long)).unwrap();
    let cut = |bytes: usize| Frame { wire_length: long.len() as u32, ..frame(LinkType::RAW, &long[..bytes]) };
    assert_eq!(crossings.observe(&cut(28 + 20)), Some(whole));
    assert_eq!(crossings.cut(), 0);
    assert_ne!(crossings.observe(&cut(28 + 19)), Some(whole));
    assert_eq!(crossings.cut(), 1);
    assert_eq!(crossings.observe(&frame(LinkType::RAW, &udp(7, &[1; 3]))).unwrap().crossing.bytes, 31);
    assert_eq!(crossings.cut(), 1, "a short packet is not cut");
}

/// A frame's length may include a check sequence that was not captured, and some ICMP errors are shorter than their IP length:
/// neither is a packet that the capture cut.
#[test]
fn a_packet_is_cut_where_its_own_bytes_were_not_captured() {
    let ping = [&[8, 0, 0, 0][..], &[1; 60]].concat();
    for packet in [udp(7, &[1; 60]), ip(1, 0, &ping), ip(132, 0, &[1; 60])] {
        let cut = |captured: usize, wire_length: usize| {
            let mut crossings = Crossings::new(Settings::default());
            let frame = Frame { wire_length: wire_length as u32, ..frame(LinkType::RAW, &packet[..captured]) };
            assert!(crossings.observe(&frame).is_some());
            crossings.cut()
        };
        let whole = packet.len();
        assert_eq!([cut(whole, whole), cut(40, whole), cut(40, 40)], [0, 1, 0], "protocol {}", packet[9]);
    }
    for short in [udp(7, b"hello"), ip(1, 0, &ping[..8]), ip(132, 0, &[1; 12])] {
        let mut crossings = Crossings::new(Settings::default());
        let frame = Frame { wire_length: short.len() as u32 + 4, ..frame(LinkType::RAW, &short) };
        assert!(crossings.observe(&frame).is_some());
        assert_eq!(crossings.cut(), 0, "protocol {}", short[9]);
    }
}

/// A packet with cut TCP options or a cut PTP header has the id of the whole one, or is counted as cut.
#[test]
fn headers_that_are_cut_are_counted() {
    let mut segment = tcp(7, 1);
    (segment[3], segment[32]) = (80 + 60, 0xf0);
    segment.extend([1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9]);
    segment.extend([1, 1, 5, 26]);
    segment.extend([7; 24]);
    segment.extend([1; 60]);
    let mut sync = udp(7, &[2; 44]);
    (sync[22], sync[23]) = (1, 63);
    for (packet, least, named) in [(segment, 34, 80), (sync, 28, 28 + 34)] {
        let whole = cross(&Settings::default(), &packet);
        for bytes in least..packet.len() {
            let mut crossings = Crossings::new(Settings::default());
            let cut = Frame { wire_length: packet.len() as u32, ..frame(LinkType::RAW, &packet[..bytes]) };
            let same = crossings.observe(&cut).unwrap().crossing == whole;
            assert_eq!((same, crossings.cut()), (bytes >= named, u64::from(bytes < named)), "{bytes} bytes");
        }
    }
    let bare = tcp(7, 1);
    let mut crossings = Crossings::new(Settings::default());
    // After a header without options only padding can be missing.
    assert!(crossings.observe(&Frame { wire_length: 46, ..frame(LinkType::RAW, &bare) }).is_some());
    assert_eq!(crossings.cut(), 0);
}

#[test]
fn fragments_and_other_protocols() {
    let plain = Settings::default();
    let mut first = udp(7, b"hello");
    first[6..8].copy_from_slice(&[0x20, 0]);
    let mut later = first.clone();
    later[6..8].copy_from_slice(&[0, 1]);
    assert!(!is_same(&plain, &first, &later));
    // Those of IPv6 differ by their identification, and by their offset.
    let six = |place: u16, identification: u8| {
        let [high, low] = place.to_be_bytes();
        let header = [17, 0, high, low, 0, 0, 0, identification];
        [&[0x60, 0, 0, 0, 0, 24, 44, 64], &[0x20; 32][..], &header, &[7; 16]].concat()
    };
    for place in [1, 8, 9] {
        assert!(is_same(&plain, &six(place, 1), &six(place, 1)) && !is_same(&plain, &six(place, 1), &six(place, 2)));
    }
    assert!(!is_same(&plain, &six(8, 1), &six(16, 1)) && !is_same(&plain, &six(8, 1), &six(1, 1)));
    let mut sctp = udp(7, b"hello");
    sctp[9] = 132;
    assert!(!is_same(&plain, &sctp, &udp(7, b"hello")));
    let seen = Crossings::new(plain).observe(&frame(LinkType::RAW, &sctp)).unwrap();
    assert_eq!((seen.flow.key.protocol, seen.flow.key.source_port, seen.crossing.bytes), (132, 5000, 33));
}

/// A tunnel between the points makes full packets too long, and fragments its own: the first one holds what identifies them.
#[test]
fn a_fragmented_tunnel_is_followed() {
    let plain = Settings::default();
    let outer = Settings { key: Key::Outer, ..Settings::default() };
    let packet = udp(7, &[9; 1_400]);
    let generic = [&[0, 0, 8, 0], &packet[..]].concat();
    let virtual_lan =
        [&[0xc3, 0x50, 0x12, 0xb5, 5, 0xd2, 0, 0, 8, 0, 0, 0, 0, 0, 7, 0][..], &[2; 12], &[8, 0], &packet];
    for (protocol, payload) in [(47, generic), (17, virtual_lan.concat()), (4, packet.clone())] {
        let [first, later] = [ip(protocol, 0x2000, &payload[..1_000]), ip(protocol, 125, &payload[1_000..])];
        assert!(is_same(&plain, &packet, &first), "{protocol}");
        assert!(!is_same(&plain, &packet, &later), "{protocol}");
        assert!(!is_same(&outer, &packet, &first), "{protocol}");
        assert!(is_same(&outer, &first, &first), "{protocol}");
        let seen = Crossings::new(outer.clone()).observe(&frame(LinkType::RAW, &first)).unwrap();
        assert_eq!((seen.flow.key.source_port, seen.flow.key.destination_port), (0, 0), "{protocol}");
        let cut = Frame { wire_length: first.len() as u32, ..frame(LinkType::RAW, &first[..36]) };
        assert!(Crossings::new(plain.clone()).observe(&cut).is_none(), "{protocol}");
    }
    // A first fragment that ends before the headers inside do is one like any other, and one that the capture cuts is
    // none, whatever the port would be.
    let short = ip(47, 0x2000, &[&[0, 0, 8, 0], &packet[..24]].concat());
    assert!(is_same(&plain, &short, &short));
    for other in [ip(47, 0x2000, &[&[0, 0, 8, 6][..], &[0; 28]].concat()), ip(17, 0x2000, &[0xc3, 0x50, 0x12])] {
        assert!(is_same(&plain, &other, &other));
    }
    let datagram = ip(17, 0x2000, &udp(7, &[9; 800])[20..]);
    for captured in [21, 27] {
        let cut = Frame { wire_length: datagram.len() as u32, ..frame(LinkType::RAW, &datagram[..captured]) };
        assert!(Crossings::new(plain.clone()).observe(&cut).is_none(), "{captured}");
    }
    // A datagram inside that is not what its port promises is known as well as others; the innermost fragment counts.
    let datagram = ip(17, 0, &[&[0xc3, 0x50, 0x12, 0xb5, 3, 0x8c, 0, 0][..], &[9; 900]].concat());
    let fragment = ip(17, 0x2000, &datagram[20..]);
    for packet in [datagram, fragment] {
        let first = ip(47, 0x2000, &[&[0, 0, 8, 0], &packet[..800]].concat());
        assert!(is_same(&plain, &packet, &first));
    }
    // Not what the port promises: a fragment like any other.
    let strange = [&[0xc3, 0x50, 0x12, 0xb5, 5, 0xd2, 0, 0][..], &[0; 900]].concat();
    let seen = Crossings::new(plain).observe(&frame(LinkType::RAW, &ip(17, 0x2000, &strange))).unwrap();
    assert_eq!((seen.flow.key.source_port, seen.crossing.bytes), (0, 928));
}

/// Binding updates, and packets that nothing but the authentication header numbers.
#[test]
fn messages_and_numbers_of_extension_headers() {
    let plain = Settings::default();
    let ipv6 = |next: u8, payload: &[u8]| {
        [&[0x60, 0, 0, 0, 0, payload.len() as u8, next, 64], &[0x20; 32][..], payload].concat()
    };
    let update = |sequence: u8| ipv6(135, &[59, 1, 5, 0, 0, 0, 0, sequence, 0, 0, 0, 9, 1, 2, 0, 0]);
    assert!(!is_same(&plain, &update(1), &update(2)));
    let numbered = |sequence: u8| {
        ipv6(
            51,
            &[17, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, sequence, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 9, 0, 9, 0, 8, 0, 0],
        )
    };
    assert!(!is_same(&plain, &numbered(1), &numbered(2)) && is_same(&plain, &numbered(1), &numbered(1)));
    let numbered = |identification: u8, sequence: u8| {
        let header =
            [17, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, sequence, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 9, 0, 9, 0, 8, 0, 0];
        let mut packet = ip(51, 0, &header);
        packet[5] = identification;
        packet
    };
    assert!(!is_same(&plain, &numbered(0, 1), &numbered(0, 2)) && is_same(&plain, &numbered(7, 1), &numbered(7, 2)));
}

/// A Sync message over Ethernet, whose correction field and length change at every hop, and the same over UDP.
#[test]
fn precision_time() {
    let message = |correction: u8, sequence: u8, more: usize| {
        let mut bytes = vec![0x10, 2, 0, 44, 0, 0, 2, 0, 0, 0, 0, 0, 0, correction, 0, 0, 0, 0, 0, 0];
        bytes.extend([8, 0, 0, 0xff, 0xfe, 0, 1, 0x11, 0, 1, 0, sequence, 0, 0]);
        bytes.resize(44 + more, 0);
        bytes
    };
    let ethernet = |message: Vec<u8>| [&[1; 12][..], &[0x88, 0xf7], &message].concat();
    let mut crossings = Crossings::new(Settings::default());
    let first = crossings.observe(&frame(LinkType::ETHERNET, &ethernet(message(0, 1, 0)))).unwrap();
    assert_eq!(crossings.name(&first.flow), "[::800:ff:fe00:111]:1 → [::]:319 udp");
    let mut id = |bytes: Vec<u8>| crossings.observe(&frame(LinkType::ETHERNET, &bytes)).unwrap();
    assert_eq!(id(ethernet(message(9, 1, 18))).crossing.packet, first.crossing.packet);
    assert_ne!(id(ethernet(message(0, 2, 0))).crossing.packet, first.crossing.packet);
    // Type (without the bits before it), domain, clock and port count, and nothing else in the header.
    for at in 0..44 {
        let mut other = message(0, 1, 0);
        other[at] ^= 1;
        let does_count = [0, 4].contains(&at) || (20..32).contains(&at);
        assert_eq!(id(ethernet(other)).crossing.packet != first.crossing.packet, does_count, "byte {at}");
    }
    let mut other = message(0, 1, 0);
    other[0] ^= 0x10;
    assert_eq!(id(ethernet(other)).crossing.packet, first.crossing.packet);
}

#[test]
fn flows_at_any_granularity() {
    let flow = |group: &str, bytes: &[u8]| {
        let group = Some(group.parse().unwrap());
        let mut crossings = Crossings::new(Settings { group, ..Settings::default() });
        let seen = crossings.observe(&frame(LinkType::RAW, bytes)).unwrap();
        (seen.crossing.flow, crossings.name(&seen.flow))
    };
    assert_eq!(flow("src/24", &udp(7, b"hello")), flow("src/24", &tcp(7, 1)));
    assert_eq!(flow("src/24", &tcp(7, 1)).1, "src=10.0.0.0/24");
    assert_ne!(flow("dst-port", &udp(7, b"hello")).0, flow("dst-port", &tcp(7, 1)).0);
}
