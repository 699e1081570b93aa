//! Headers: every frame is a packet or one reason, its slices lie in it, and a cut of the capture changes no packet.

use dwell_observe::crossing::{Crossings, Settings};
use dwell_observe::packet::{Packet, Tcp, Transport};
use dwell_observe::parse::{Key, Reject, any, parse};
use dwell_types::{Frame, LinkType, Timestamp};

/// Parses a frame whole, cut at every length, and behind another link header.
pub fn check(link: LinkType, bytes: &[u8], wire: u32, key: Key) {
    let whole = parse(link, bytes, wire, key);
    assert_ne!(whole, Err(Reject::NoTimestamp), "that is the caller's to say");
    if let Ok(packet) = &whole {
        check_packet(bytes, packet);
    }

    // What is asked for less asks for less: the same packet, or one where there was none.
    let other = any(link, bytes, wire, key);
    match (&whole, &other) {
        (Ok(packet), Ok(same)) if !matches!(same.transport, Transport::Other(_)) => assert_eq!(packet, same),
        (Ok(_), Err(reject)) => panic!("{reject} where there is a packet"),
        _ => {}
    }
    for nat in [false, true] {
        let frame = Frame { at: Some(Timestamp::from_nanos(1)), link, bytes, wire_length: wire };
        let mut crossings = Crossings::new(Settings { key, nat, ..Settings::default() });
        let seen = crossings.observe(&frame);
        assert_eq!(seen.is_some(), other.is_ok());
        assert_eq!(crossings.observe(&frame), seen, "the same frame is the same packet");

        // However long it says to be, it is few segments, each of them a packet.
        const MTU: u32 = 576;
        let mut crossings = Crossings::new(Settings { key, nat, mtu: Some(MTU), ..Settings::default() });
        if let Some(long) = crossings.observe(&frame).map(|long| long.crossing).filter(|long| crossings.is_long(long.bytes)) {
            let segments = crossings.segments(link, bytes, wire, long);
            assert!((1..2_100).contains(&segments.len()) && segments.iter().all(|one| one.flow == long.flow));
            if let [rest @ .., _] = &segments[..] {
                assert!(rest.iter().all(|one| one.bytes == MTU));
            }
        }
    }

    // A shorter cut yields the same packet, less of its payload, or says that it is cut.
    let mut decoded = false;
    let wire = wire.max(bytes.len() as u32);
    for length in 0..bytes.len() {
        match parse(link, &bytes[..length], wire, key) {
            Ok(cut) => {
                decoded = true;
                check_packet(&bytes[..length], &cut);
                assert!(whole.as_ref().is_ok_and(|whole| is_cut_of(&cut, whole)), "{length}: {cut:?} {whole:?}");
            }
            Err(reject) => {
                assert!(!decoded, "{length}: {reject} after a packet");
                assert!(reject.is_truncated() || whole == Err(reject), "{length}: {reject} {whole:?}");
            }
        }
    }
    assert!(!decoded || whole.is_ok());

    // The common layouts are parsed by other code only behind Ethernet.
    if link == LinkType::ETHERNET
        && let Some((header, rest)) = bytes.split_first_chunk::<14>()
        && u16::from_be_bytes([header[12], header[13]]) >= 1536
        && let Some(wire) = wire.checked_add(2)
    {
        let cooked = [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0, header[12], header[13]], rest].concat();
        assert_eq!(parse(LinkType::LINUX_SLL, &cooked, wire, key), whole);
    }
}

/// Slices lie in the frame, and no payload is longer than it says.
fn check_packet(bytes: &[u8], packet: &Packet<'_>) {
    let slice = match packet.transport {
        Transport::Tcp(tcp) => {
            assert!(tcp.payload_length as usize >= tcp.payload.len());
            tcp.payload
        }
        Transport::Udp(slice) | Transport::Icmp(slice) | Transport::Other(slice) => slice,
    };
    let (within, range) = (bytes.as_ptr_range(), slice.as_ptr_range());
    assert!(slice.is_empty() || within.start <= range.start && range.end <= within.end);
    assert!(packet.dscp < 64 && packet.vlan.is_none_or(|id| id < 4096));
}

/// Whether a packet of a cut frame is what remains of the packet of the whole one.
fn is_cut_of(cut: &Packet<'_>, whole: &Packet<'_>) -> bool {
    let transport = match (cut.transport, whole.transport) {
        (Transport::Tcp(cut), Transport::Tcp(whole)) => {
            let bare = |tcp| Tcp { payload: &[], options: &[], is_header_cut: false, ..tcp };
            let timestamps = cut.timestamps().is_none() || cut.timestamps() == whole.timestamps();
            let is_part = whole.options.starts_with(cut.options) && whole.payload.starts_with(cut.payload);
            bare(cut) == bare(whole) && timestamps && is_part
        }
        (Transport::Udp(cut), Transport::Udp(whole)) | (Transport::Icmp(cut), Transport::Icmp(whole)) => {
            whole.starts_with(cut)
        }
        _ => false,
    };
    transport && (cut.flow, cut.vlan, cut.dscp) == (whole.flow, whole.vlan, whole.dscp)
}
