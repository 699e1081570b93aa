//! Every part of pcapng that affects packets, built byte by byte.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{Owned, Pcapng, frame, read};
use dwell_capture::file::CaptureFile;
use dwell_capture::{CaptureError, FrameSource};

const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

fn damage(file: &Pcapng) -> (u64, u64, String) {
    match read(file.bytes.as_slice()).error {
        Some(CaptureError::Damaged { offset, frames, expected, found, .. }) => {
            (offset, frames, format!("expected {expected}, found {found}"))
        }
        other => panic!("no damage: {other:?}"),
    }
}

#[test]
fn every_packet_block_in_both_byte_orders() {
    for big_endian in [false, true] {
        let mut file = Pcapng::new(big_endian);
        file.interface(1, 4, &[]).interface(101, 0, &[]);
        file.enhanced(1, 1_700_000_000_000_001, 60, b"abcde");
        file.obsolete(0, 0xffff, 0x1_0000_0002, 9, b"abc");
        // Interface 0 has a snap length of four bytes; the rest of the block is padding or nothing.
        file.simple(60, b"abcd").simple(3, b"abc");
        let outcome = read(file.bytes.as_slice());
        let simple = |wire_length, bytes: &[u8]| Owned { at_ns: None, link: 1, wire_length, bytes: bytes.to_vec() };
        let expected = [
            frame(1_700_000_000_000_001_000, 101, 60, b"abcde"),
            frame(0x1_0000_0002 * 1_000, 1, 9, b"abc"),
            simple(60, b"abcd"),
            simple(3, b"abc"),
        ];
        assert_eq!(outcome.frames, expected, "big-endian: {big_endian}");
        assert!(outcome.cut.is_none() && outcome.error.is_none());
    }
}

/// Each section has its own byte order, interfaces and clocks.
#[test]
fn sections_are_independent() {
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[(RESOLUTION, &[9])]).enhanced(0, 7, 1, b"a");
    file.section(true).interface(113, 0, &[(RESOLUTION, &[0])]).enhanced(0, 7, 1, b"b");
    file.section(false).interface(276, 0, &[]).interface(1, 0, &[]).enhanced(0, 7, 1, b"c").enhanced(1, 8, 1, b"d");
    let expected = [
        frame(7, 1, 1, b"a"),
        frame(7_000_000_000, 113, 1, b"b"),
        frame(7_000, 276, 1, b"c"),
        frame(8_000, 1, 1, b"d"),
    ];
    assert_eq!(read(file.bytes.as_slice()).frames, expected);

    // The interfaces of the first section do not exist in the second.
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a").section(false);
    let offset = file.bytes.len() as u64;
    file.enhanced(0, 7, 1, b"b");
    let words = "expected one of the section's 0 interfaces, found interface 0";
    assert_eq!(damage(&file), (offset + 8, 1, words.to_owned()));
}

#[test]
fn clocks_of_interfaces() {
    for big_endian in [false, true] {
        let mut file = Pcapng::new(big_endian);
        let ahead = file.u64(1_600_000_000);
        let behind = file.u64(-5i64 as u64);
        file.interface(1, 0, &[(RESOLUTION, &[3]), (OFFSET, &ahead)]);
        file.interface(1, 0, &[(2, b"eth0"), (RESOLUTION, &[0x8a]), (3, b"odd length")]);
        file.interface(1, 0, &[(OFFSET, &behind)]);
        file.interface(1, 0, &[(RESOLUTION, &[12])]);
        file.interface(1, 0, &[(RESOLUTION, &[]), (OFFSET, &[])]);
        file.enhanced(0, 1_234, 0, b"").enhanced(1, 1_025, 0, b"").enhanced(2, 1, 0, b"").enhanced(3, 9_999, 0, b"");
        file.enhanced(4, 2_000_000, 0, b"");
        let times: Vec<_> = read(file.bytes.as_slice()).frames.iter().filter_map(|frame| frame.at_ns).collect();
        assert_eq!(times, [1_600_000_001_234_000_000, 1_000_976_562, -4_999_999_000, 9, 2_000_000_000]);
    }
}

/// Times that nanoseconds in 64 bits cannot express wrap: what is between two of them is right.
#[test]
fn times_out_of_range_are_as_far_apart() {
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[]);
    let ticks = [u64::MAX - 500, u64::MAX - 100, i64::MAX as u64, i64::MAX as u64 + 70];
    for ticks in ticks {
        file.enhanced(0, ticks, 0, b"");
    }
    let times: Vec<_> = read(file.bytes.as_slice()).frames.iter().map(|frame| frame.at_ns.unwrap()).collect();
    assert_eq!((times[1] - times[0], times[3] - times[2]), (400_000, 70_000));
}

/// A captured length just below 2³², whose difference to the block's wraps to a small number, is damage, in the first
/// block and in one that is buffered.
#[test]
fn captured_lengths_that_wrap_are_damage() {
    for before in 0..3 {
        for short in [1u32, 2, 4, 7, 100] {
            let mut file = Pcapng::new(false);
            file.interface(1, 0, &[]);
            for at in 0..before {
                file.enhanced(0, at, 1, b"a");
            }
            let body = file.words(&[0, 0, 7, 0u32.wrapping_sub(short), 60]);
            file.block(6, &body);
            let (_, frames, words) = damage(&file);
            assert_eq!(frames, before, "{words}");
            assert!(words.starts_with("expected a captured length of at most 0"), "{words}");
        }
    }
}

#[test]
fn other_blocks_are_skipped_however_long() {
    let mut file = Pcapng::new(false);
    // Name resolution, statistics, custom, decryption secrets, and a megabyte of something unknown.
    for kind in [4, 5, 0xbad, 10, 0x7fff_0001] {
        file.block(kind, &vec![0xaa; 1 << 20]);
    }
    file.interface(1, 0, &[]).block(0xbad, &[]).enhanced(0, 7, 1, b"a");
    assert_eq!(read(file.bytes.as_slice()).frames, [frame(7_000, 1, 1, b"a")]);
}

/// Some writers pad their blocks as they must, but do not count the padding.
#[test]
fn a_block_length_may_lack_its_padding() {
    for big_endian in [false, true] {
        let mut file = Pcapng::new(big_endian);
        file.lengths_lack_padding = true;
        file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a").enhanced(0, 8, 9, b"abcde").simple(3, b"abc");
        file.block(0xbad, &[0; 5]).enhanced(0, 9, 1, b"abcd");
        let outcome = read(file.bytes.as_slice());
        let simple = Owned { at_ns: None, link: 1, wire_length: 3, bytes: b"abc".to_vec() };
        assert_eq!(
            outcome.frames,
            [frame(7_000, 1, 1, b"a"), frame(8_000, 1, 9, b"abcde"), simple, frame(9_000, 1, 1, b"abcd")]
        );
        assert!(outcome.cut.is_none() && outcome.error.is_none(), "{:?}", outcome.error);
    }
}

/// A block of 4 GiB without a packet is skipped without being buffered.
#[test]
fn a_block_of_four_gigabytes_takes_no_memory() {
    use std::io::Read;
    let mut file = Pcapng::new(false);
    let mut head = std::mem::take(&mut file.bytes);
    head.extend([0xad, 0x0b, 0, 0, 0xfc, 0xff, 0xff, 0xff]);
    file.bytes.extend(0xffff_fffcu32.to_le_bytes());
    file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a");
    let body = std::io::repeat(0).take(0xffff_fffc - 12);
    let outcome = read(head.as_slice().chain(body).chain(file.bytes.as_slice()));
    assert_eq!(outcome.frames, [frame(7_000, 1, 1, b"a")]);
    assert!(outcome.cut.is_none() && outcome.error.is_none());
}

#[test]
fn blocks_that_contradict_themselves_are_damage() {
    let start = || {
        let mut file = Pcapng::new(false);
        file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a");
        let offset = file.bytes.len();
        (file, offset)
    };

    let (mut file, offset) = start();
    file.enhanced(0, 8, 1, b"abcd");
    let end = file.bytes.len() - 4;
    file.bytes[end] += 4;
    assert_eq!(damage(&file), (end as u64, 1, "expected the block's length of 36 again, found 40".to_owned()));

    for length in [0u32, 8, 0x0909_0909, 0xffff_ffff] {
        file.bytes[offset + 4..offset + 8].copy_from_slice(&length.to_le_bytes());
        let words = format!("expected a block length of at least 12 in steps of 4, found {length}");
        assert_eq!(damage(&file), (offset as u64 + 4, 1, words));
    }
    // 13 is 16 without padding, but the word before the end of such a block is no length.
    file.bytes[offset + 4..offset + 8].copy_from_slice(&13u32.to_le_bytes());
    assert_eq!(damage(&file), (offset as u64 + 12, 1, "expected the block's length of 16 again, found 0".to_owned()));
    file.bytes[offset + 4..offset + 8].copy_from_slice(&0x7000_0000u32.to_le_bytes());
    let words = "expected a block of at most 16842752 bytes, found 1879048192 bytes".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 4, 1, words));

    let (mut file, offset) = start();
    file.enhanced(0, 8, 1, b"abcd");
    file.bytes[offset + 20] = 5;
    let words = "expected a captured length of at most 4, the rest of the block, found 5".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 20, 1, words));

    let (mut file, offset) = start();
    file.simple(5, b"abcd");
    let words = "expected a captured length of at most 4, the rest of the block, found 5".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 8, 1, words));

    let (mut file, offset) = start();
    file.block(6, &[0; 16]);
    let words = "expected a packet block of at least 32 bytes, found 28 bytes".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 4, 1, words));

    let (mut file, offset) = start();
    file.enhanced(1, 8, 1, b"abcd");
    let words = "expected one of the section's 1 interfaces, found interface 1".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 8, 1, words));

    let (mut file, offset) = start();
    file.block(0xbad, &[0; 8]).enhanced(0, 8, 1, b"abcd");
    file.bytes[offset + 16] += 4;
    let words = "expected the block's length of 20 again, found 24".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 16, 1, words));

    let (mut file, offset) = start();
    file.section(false);
    file.bytes[offset + 4] = 24;
    let words = "expected a section header block of at least 28 bytes, found 24 bytes".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 4, 1, words));

    let (mut file, offset) = start();
    file.section(false);
    file.bytes[offset + 8] = 0;
    let words = "expected a section header's byte-order magic 1a 2b 3c 4d or 4d 3c 2b 1a, found 00 3c 2b 1a".to_owned();
    assert_eq!(damage(&file), (offset as u64 + 8, 1, words));
}

#[test]
fn interfaces_that_contradict_themselves_are_damage() {
    let mut file = Pcapng::new(true);
    let offset = file.bytes.len() as u64 + 8;
    file.interface(1, 0, &[(RESOLUTION, &[6, 0])]);
    assert_eq!(damage(&file), (offset, 0, "expected option if_tsresol with 1 bytes, found 2 bytes".to_owned()));

    let mut file = Pcapng::new(true);
    file.interface(1, 0, &[(OFFSET, &[0; 4])]);
    assert_eq!(damage(&file), (offset, 0, "expected option if_tsoffset with 8 bytes, found 4 bytes".to_owned()));

    let mut file = Pcapng::new(true);
    file.block(1, &[0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 9, 1, 2, 3, 4]);
    let words = "expected option 2 with at most 4 bytes, the rest of the block, found 9 bytes".to_owned();
    assert_eq!(damage(&file), (offset, 0, words));

    let mut file = Pcapng::new(true);
    file.block(1, &[0, 1, 0, 0]);
    let words = "expected an interface description of at least 8 bytes, found 4 bytes".to_owned();
    assert_eq!(damage(&file), (offset, 0, words));
}

/// The latest statistics of each interface and section say how many packets are missing; statistics of no interface, or
/// damaged ones, say nothing.
#[test]
fn statistics_say_what_was_dropped() {
    for big_endian in [false, true] {
        let mut file = Pcapng::new(big_endian);
        let statistics = |file: &mut Pcapng, interface: u32, options: &[(u16, u64)]| {
            let mut body = file.words(&[interface, 0, 0]);
            options.iter().for_each(|&(code, count)| body.extend(file.option(code, &file.u64(count))));
            file.block(5, &body);
        };
        file.interface(1, 0, &[]).interface(1, 0, &[]).enhanced(0, 7, 1, b"a");
        statistics(&mut file, 0, &[(4, 1_000), (5, 3), (7, 4), (8, 900)]);
        statistics(&mut file, 0, &[(4, 2_000), (5, 30), (7, 40)]);
        statistics(&mut file, 1, &[(5, 200)]);
        statistics(&mut file, 7, &[(5, 9_999)]);
        file.section(!big_endian).interface(1, 0, &[]);
        statistics(&mut file, 0, &[(7, 1_000)]);
        file.block(5, &[]);
        let short = [file.words(&[0, 0, 0]), file.option(5, b"12345678")[..8].to_vec()].concat();
        file.section(big_endian).interface(1, 0, &[]).block(5, &short).enhanced(0, 8, 1, b"b");
        let mut capture = CaptureFile::open("x", file.bytes.as_slice()).unwrap();
        let mut frames = 0;
        while capture.next_frame().unwrap().is_some() {
            frames += 1;
        }
        assert_eq!((frames, capture.dropped()), (2, 1_270));
    }
}

/// Packets say how many were dropped since the one before, also by the obsolete block, where all ones mean that this is
/// not known. Statistics of the same interface count the same packets.
#[test]
fn packets_say_what_was_dropped_before() {
    for big_endian in [false, true] {
        let mut file = Pcapng::new(big_endian);
        let packet = |file: &mut Pcapng, interface: u32, options: &[(u16, &[u8])]| {
            let mut body = file.words(&[interface, 0, 7, 5, 5]);
            body.extend(b"abcde\0\0\0");
            options.iter().for_each(|(code, value)| body.extend(file.option(*code, value)));
            file.block(6, &body);
        };
        file.interface(1, 0, &[]).interface(1, 0, &[]);
        let [three, forty, many] = [3, 40, 500].map(|count| file.u64(count));
        packet(&mut file, 0, &[(4, &three)]);
        packet(&mut file, 0, &[(1, b"a comment"), (2, &[0; 4]), (4, &forty)]);
        packet(&mut file, 1, &[]);
        packet(&mut file, 0, &[(4, b"short"), (4, &many)]);
        packet(&mut file, 0, &[(0, b""), (4, &many)]);
        file.obsolete(1, 200, 7, 1, b"a").obsolete(1, 0xffff, 7, 1, b"a");
        let mut statistics = file.words(&[1, 0, 0]);
        statistics.extend(file.option(5, &file.u64(7)));
        file.block(5, &statistics);
        let mut capture = CaptureFile::open("x", file.bytes.as_slice()).unwrap();
        let mut lengths = Vec::new();
        while let Some(frame) = capture.next_frame().unwrap() {
            lengths.push(frame.bytes.len());
        }
        assert_eq!((lengths, capture.dropped()), (vec![5, 5, 5, 5, 5, 1, 1], 243));

        // Nothing is held where there is one interface.
        let mut file = Pcapng::new(big_endian);
        file.interface(1, 0, &[]);
        for options in [&[][..], &[(1, &b"a comment"[..])], &[(4, &three[..])], &[], &[(1, b"two"), (4, &forty)]] {
            packet(&mut file, 0, options);
        }
        let mut capture = CaptureFile::open("x", file.bytes.as_slice()).unwrap();
        while capture.next_frame().unwrap().is_some() {}
        assert_eq!((capture.frames(), capture.dropped()), (5, 43));
    }
}

/// A file that consists of interfaces must not exhaust memory.
#[test]
fn interfaces_are_bounded() {
    let mut file = Pcapng::new(false);
    for _ in 0..1 << 16 {
        file.interface(1, 0, &[]);
    }
    file.enhanced(65_535, 7, 1, b"a");
    assert_eq!(read(file.bytes.as_slice()).frames.len(), 1);
    let offset = file.bytes.len() as u64;
    file.interface(1, 0, &[]);
    let words = "expected at most 65536 interfaces in a section, found one more".to_owned();
    assert_eq!(damage(&file), (offset, 1, words));
}

#[test]
fn other_versions_are_refused() {
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a");
    let offset = file.bytes.len();
    file.section(true);
    file.bytes[offset + 13] = 2;
    let outcome = read(file.bytes.as_slice());
    assert_eq!(outcome.frames.len(), 1);
    let words = format!("test: byte {}: expected pcapng 1.x, found pcapng 2.0 (after 1 frame)", offset + 12);
    assert_eq!(outcome.error.unwrap().to_string(), words);
}

/// The largest frame, and one byte more.
#[test]
fn frames_of_sixteen_mebibytes() {
    let mut file = Pcapng::new(false);
    file.interface(1, 0, &[]).enhanced(0, 7, 1, &vec![1; 16 << 20]).enhanced(0, 8, 1, b"a");
    let frames = read(file.bytes.as_slice()).frames;
    assert_eq!((frames[0].bytes.len(), frames.len()), (16 << 20, 2));
}
