//! Runs the parser on packets with known fields, on every shorter slice of them, and on damaged ones.

mod packets;

use dwell_observe::packet::{Packet, Tcp, Transport};
use dwell_observe::pair::Pairing;
use dwell_observe::parse::{Key, Reject, parse};
use dwell_observe::{Observer, Settings};
use dwell_types::{Frame, LinkType, Match, Timestamp};
use packets::{plain_sample, sample};
use proptest::prelude::*;

fn untagged(packet: Packet<'_>) -> Packet<'_> {
    Packet { vlan: None, ..packet }
}

/// Parses, and checks what holds for every frame: slices lie inside it, and no payload is longer than its stated
/// length.
fn parse_checked(link: LinkType, bytes: &[u8], wire: usize, key: Key) -> Result<Packet<'_>, Reject> {
    let result = parse(link, bytes, wire as u32, key);
    if let Ok(packet) = &result {
        let slice = match packet.transport {
            Transport::Tcp(tcp) => {
                assert!(tcp.payload_length as usize >= tcp.payload.len());
                tcp.payload
            }
            Transport::Udp(slice) | Transport::Icmp(slice) | Transport::Other(slice) => slice,
        };
        let within = bytes.as_ptr_range();
        let range = slice.as_ptr_range();
        assert!(slice.is_empty() || within.start <= range.start && range.end <= within.end);
        assert!(packet.dscp < 64 && packet.vlan.is_none_or(|id| id < 4096));
    }
    result
}

/// Whether the packet of a cut frame equals that of the whole frame, except for what was cut off.
fn is_cut_of(cut: &Packet<'_>, whole: &Packet<'_>) -> bool {
    let transport = match (cut.transport, whole.transport) {
        (Transport::Tcp(cut), Transport::Tcp(whole)) => {
            let bare = |tcp| Tcp { payload: &[], options: &[], is_header_cut: false, ..tcp };
            let same = bare(cut) == bare(whole);
            let timestamps = cut.timestamps().is_none() || cut.timestamps() == whole.timestamps();
            let options = whole.options.starts_with(cut.options);
            same && timestamps && options && whole.payload.starts_with(cut.payload)
        }
        (Transport::Udp(cut), Transport::Udp(whole)) | (Transport::Icmp(cut), Transport::Icmp(whole)) => {
            whole.starts_with(cut)
        }
        _ => false,
    };
    transport && (cut.flow, cut.vlan, cut.dscp) == (whole.flow, whole.vlan, whole.dscp)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn finds_what_was_put_in(sample in sample()) {
        let bytes = sample.bytes();
        for key in [Key::Inner, Key::Outer] {
            sample.expect(key, |expected| {
                assert_eq!(parse_checked(sample.link, &bytes, bytes.len(), key), expected, "{key:?}");
            });
        }
    }

    /// A cut frame yields the remaining part of the packet, or is rejected as truncated. More bytes never yield less.
    #[test]
    fn every_cut_of_a_capture(sample in sample()) {
        let bytes = sample.bytes();
        for key in [Key::Inner, Key::Outer] {
            let whole = parse_checked(sample.link, &bytes, bytes.len(), key);
            let mut decoded = false;
            for length in 0..bytes.len() {
                match parse_checked(sample.link, &bytes[..length], bytes.len(), key) {
                    Ok(cut) => {
                        decoded = true;
                        assert!(whole.as_ref().is_ok_and(|whole| is_cut_of(&cut, whole)), "{length} bytes: {cut:?}");
                        assert_eq!(cut.is_cut, length < bytes.len() - sample.padding, "{length} bytes");
                    }
                    Err(reject) => {
                        assert!(!decoded, "{length} bytes yield {reject} and fewer a packet");
                        assert!(reject.is_truncated() || whole == Err(reject), "{length} bytes: {reject}");
                    }
                }
            }
        }
    }

    /// A frame that is short on the wire never counts as cut by the capture, unless an IP header says that it was
    /// longer.
    #[test]
    fn every_shorter_frame(sample in sample()) {
        let bytes = sample.bytes();
        for length in 0..bytes.len() {
            for key in [Key::Inner, Key::Outer] {
                let result = parse_checked(sample.link, &bytes[..length], length, key);
                assert!(result != Err(Reject::TruncatedLink) || sample.has_tunnel(), "{length} bytes");
            }
        }
    }

    #[test]
    fn every_damaged_byte(sample in sample(), mask in 1..=255u8) {
        let mut bytes = sample.bytes();
        for place in 0..bytes.len() {
            for mask in [mask, 0xff, 1] {
                bytes[place] ^= mask;
                for wire in [0, bytes.len(), 1_000_000] {
                    let _ = parse_checked(sample.link, &bytes, wire, Key::Inner);
                    let _ = parse_checked(sample.link, &bytes, wire, Key::Outer);
                }
                bytes[place] ^= mask;
            }
        }
    }

    /// The inlined path for common layouts yields the same as the walk over all layers, which is forced by a VLAN tag
    /// of a rare type. The observations are those of pairing any packet.
    #[test]
    fn the_common_path_is_no_other(sample in plain_sample(), place in any::<prop::sample::Index>(), mask: u8, cut in 0..40usize, rules: u16) {
        let mut bytes = sample.bytes();
        let place = place.index(bytes.len() - 12);
        bytes[12 + place] ^= mask;
        let captured = bytes.len().saturating_sub(cut).max(14);
        let (above, ether_type) = (&bytes[12..], [bytes[12], bytes[13]]);
        // Type fields are unambiguous from 1536 on.
        prop_assume!(u16::from_be_bytes(ether_type) >= 1536);
        let tagged = [&bytes[..12], &[0x91, 0, 0, 5], above].concat();
        let cooked = [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0], above].concat();
        let cooked_2 = [&ether_type[..], &[0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0], &above[2..]].concat();
        let mut frames =
            vec![(LinkType::ETHERNET, &bytes[..]), (LinkType::LINUX_SLL, &cooked), (LinkType::LINUX_SLL2, &cooked_2)];
        let version = above.get(2).map(|first| first >> 4);
        if ether_type == [8, 0] && version != Some(6) || ether_type == [0x86, 0xdd] && version == Some(6) {
            frames.push((LinkType::RAW, &above[2..]));
        }
        for ((link, frame), key) in frames.iter().flat_map(|frame| [(*frame, Key::Inner), (*frame, Key::Outer)]) {
            let not_captured = bytes.len() - captured;
            let parsed = parse_checked(link, &frame[..frame.len() - not_captured], frame.len(), key);
            let walked = parse_checked(LinkType::ETHERNET, &tagged[..captured + 4], tagged.len(), key);
            prop_assert_eq!(parsed.map(untagged), walked.map(untagged));
            let ethernet = parse_checked(LinkType::ETHERNET, &bytes[..captured], bytes.len(), key);
            prop_assert_eq!(parsed.map(|packet| packet.vlan), ethernet.map(|packet| packet.vlan));

            let (at, wire_length) = (Timestamp::from_nanos(5), frame.len() as u32);
            let frame = Frame { at: Some(at), link, bytes: &frame[..frame.len() - not_captured], wire_length };
            let drawn = Match::of_packets().filter(|&matching| rules >> matching as u16 & 1 != 0).collect();
            for matches in [Match::USUAL.to_vec(), drawn] {
                let settings = Settings { matches, key, ..Settings::default() };
                let (mut observed, mut paired) = (Vec::new(), Vec::new());
                let mut observer = Observer::new(settings.clone());
                observer.observe(&frame, &mut |seen| observed.push(seen));
                let mut pairing = Pairing::new(&settings.matches, settings.ids, Vec::new(), None, settings.seed);
                if let Ok(packet) = parsed {
                    pairing.observe(&packet, at, &mut |seen| paired.push(seen));
                }
                prop_assert_eq!(observed, paired);
                prop_assert_eq!(observer.frames().decoded(), u64::from(parsed.is_ok()));
            }
        }
        let netlink = [&[0, 0, 3, 56][..], &cooked[4..]].concat();
        prop_assert_eq!(parse_checked(LinkType::LINUX_SLL, &netlink, netlink.len(), Key::Inner), Err(Reject::NotIp));
        let netlink = [&cooked_2[..8], &[3, 56], &cooked_2[10..]].concat();
        prop_assert_eq!(parse_checked(LinkType::LINUX_SLL2, &netlink, netlink.len(), Key::Inner), Err(Reject::NotIp));
    }
}
