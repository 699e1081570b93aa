//! One capture of several interfaces, whose packets are told apart by name.

use crate::run::{assert_refusal, dwell_in, testdata};
use dwell_capture::{CaptureFiles, FrameSource, PcapWriter};
use dwell_types::{LinkType, Nanos, Timestamp};
use std::fs;

/// Both sides of a router in one capture of all its interfaces, as `tcpdump -i any` makes it, against two captures.
#[test]
fn one_capture_of_two_interfaces() {
    let folder = tempfile::tempdir().unwrap();
    let sides = ["ingress", "egress"].map(|name| testdata(&format!("queue/{name}.pcap.xz")));
    let mut packets = Vec::new();
    for (number, side) in [2u8, 3].into_iter().zip(&sides) {
        let mut files = CaptureFiles::open([side]).unwrap();
        while let Some(frame) = files.next_frame().unwrap() {
            assert_eq!(frame.link, LinkType::ETHERNET);
            let (header, rest) = frame.bytes.split_at(14);
            let cooked = [&header[12..], &[0, 0, 0, 0, 0, number, 0, 1, 0, 6], &header[6..12], &[0, 0], rest].concat();
            packets.push((frame.at.unwrap(), frame.wire_length + 6, cooked));
        }
    }
    packets.sort_by_key(|&(at, ..)| at);
    let any = folder.path().join("any.pcap");
    let mut writer = PcapWriter::new(fs::File::create(&any).unwrap(), LinkType::LINUX_SLL2, 65_535).unwrap();
    for (at, wire_length, bytes) in packets {
        writer.write(at, wire_length, &bytes).unwrap();
    }
    writer.finish().unwrap();

    for command in ["queue", "owd"] {
        let report = |inputs: [&str; 2]| {
            let mut report =
                dwell_in(folder.path(), &[&[command], &inputs[..], &["--format", "json"]].concat()).ok().json();
            assert_eq!(report["sources"].take(), serde_json::json!(inputs));
            report
        };
        assert_eq!(report(["any.pcap%2", "any.pcap%3"]), report([&sides[0], &sides[1]]), "{command}");
    }
    let refused = ["owd", "any.pcap%2", "any.pcap%eth0"];
    let words = ["any.pcap%eth0", "expected packets of interface eth0, found only those of 2, 3"];
    assert_refusal(&dwell_in(folder.path(), &refused), &refused, 1, &words);
    // The file behind the name is an input.
    let refused = ["rtt", "any.pcap%2", "--output", "any.pcap"];
    assert_refusal(&dwell_in(folder.path(), &refused), &refused, 2, &["any.pcap: is an input"]);
}

/// A tap with a port per direction, as dumpcap writes it: a block of one interface's frames after the other's, so that
/// responses stand before their requests. Frames out of order in a pcap file are told.
#[test]
fn interfaces_are_merged_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let original = testdata("icmp/icmp.pcapng");
    let mut files = CaptureFiles::open([&original]).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = files.next_frame().unwrap() {
        assert_eq!(frame.link, LinkType::ETHERNET);
        // By its destination's and its source's hardware address: the two directions of a flow differ.
        let direction = u32::from(frame.bytes[..6] < frame.bytes[6..12]);
        frames.push((frame.at.unwrap(), direction, frame.wire_length, frame.bytes.to_vec()));
    }
    let rtt = |name: &str| dwell_in(folder.path(), &["rtt", name, "--match", "icmp-echo", "--format", "json"]);
    let expected = rtt(&original).ok().json();
    assert_eq!(expected["warnings"], serde_json::json!([]));

    for first in [0, 1] {
        frames.sort_by_key(|&(at, direction, ..)| (at.as_nanos() / 250_000_000, direction ^ first, at));
        let mut bytes = Vec::new();
        let mut block = |kind: u32, body: &[u8]| {
            let padded = body.len().next_multiple_of(4);
            let whole = (12 + padded as u32).to_le_bytes();
            let padding = &[0; 3][..padded - body.len()];
            bytes.extend([&kind.to_le_bytes()[..], &whole, body, padding, &whole].concat());
        };
        block(0x0a0d_0d0a, &[&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat());
        // Two interfaces, with times in nanoseconds.
        (0..2).for_each(|_| block(1, &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 9, 0, 0, 0]));
        let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, 65_535).unwrap();
        for (at, direction, wire_length, frame) in &frames {
            let ticks = at.as_nanos() as u64;
            let words = [*direction, (ticks >> 32) as u32, ticks as u32, frame.len() as u32, *wire_length];
            block(6, &[words.map(u32::to_le_bytes).as_flattened(), frame].concat());
            writer.write(*at, *wire_length, frame).unwrap();
        }
        fs::write(folder.path().join("tap.pcapng"), bytes).unwrap();
        let report = rtt("tap.pcapng").ok().json();
        assert_eq!(report["results"], expected["results"]);
        assert_eq!(report["warnings"], serde_json::json!([]));

        fs::write(folder.path().join("tap.pcap"), writer.finish().unwrap()).unwrap();
        let unsorted = rtt("tap.pcap");
        assert_ne!(unsorted.json()["results"], expected["results"]);
        let words = "exchanges across them are missing, or their delays wrong; sort the capture first (reordercap)";
        assert!(unsorted.err.contains(words), "{}", unsorted.err);
    }
}

/// Disorder of a fraction of a millisecond is told where exchanges are as short, and it is common.
#[test]
fn little_disorder_is_told_where_it_matters() {
    let folder = tempfile::tempdir().unwrap();
    let echo = |kind: u8, number: u8| {
        let ends = if kind == 8 { [[192, 0, 2, 1], [192, 0, 2, 2]] } else { [[192, 0, 2, 2], [192, 0, 2, 1]] };
        let ip = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0];
        [&[2; 12][..], &[8, 0], &ip, ends.as_flattened(), &[kind, 0, 0, 0, 0, 1, 0, number]].concat()
    };
    for (one_in, is_told) in [(1, true), (20, false)] {
        let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, 65_535).unwrap();
        for number in 0..100u8 {
            let at = Timestamp::from_parts(1_700_000_000, i64::from(number) * 1_000_000);
            let mut pair = [(at, echo(8, number)), (at + Nanos::new(300_000), echo(0, number))];
            if number % one_in == 0 {
                pair.reverse();
            }
            pair.iter().for_each(|(at, frame)| writer.write(*at, 42, frame).unwrap());
        }
        fs::write(folder.path().join("near.pcap"), writer.finish().unwrap()).unwrap();
        let run = dwell_in(folder.path(), &["rtt", "near.pcap", "--match", "icmp-echo"]);
        let words = "100 frames are out of time order, by up to 300 µs: exchanges across them are missing";
        assert_eq!((run.code, run.err.contains(words), run.err.is_empty()), (0, is_told, !is_told), "{}", run.err);
    }
}
