//! Every variant of pcap, built byte by byte.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{MICROSECONDS, MODIFIED, NANOSECONDS, Owned, Pcap, frame, read};
use dwell_capture::{CaptureError, CaptureFile, FrameSource, PcapWriter};
use dwell_types::{LinkType, Timestamp};

#[test]
fn every_magic_in_both_byte_orders() {
    for (magic, unit_ns) in [(MICROSECONDS, 1_000), (NANOSECONDS, 1), (MODIFIED, 1_000)] {
        for big_endian in [false, true] {
            let mut file = Pcap::new(magic, big_endian);
            file.record(1_700_000_000, 123_456, 3, 60, b"abc").record(1_700_000_001, 999_999, 0, 0, b"");
            let outcome = read(file.bytes.as_slice());
            let expected = [
                frame(1_700_000_000_000_000_000 + 123_456 * unit_ns, 1, 60, b"abc"),
                frame(1_700_000_001_000_000_000 + 999_999 * unit_ns, 1, 0, b""),
            ];
            assert_eq!(outcome.frames, expected, "{magic:x}, big-endian: {big_endian}");
            assert!(outcome.cut.is_none() && outcome.error.is_none());
        }
    }
}

/// Concatenated files of any kinds, one of them without records: all frames are read, none is invented, and offsets
/// count from the first byte of the stream. A header of another version is read as an empty frame, which is what it
/// looks like.
#[test]
fn files_behind_one_another_are_read_on() {
    let mut stream = Vec::new();
    let mut expected = Vec::new();
    for (number, (magic, unit_ns)) in
        [(MICROSECONDS, 1_000), (NANOSECONDS, 1), (MODIFIED, 1_000)].into_iter().enumerate()
    {
        for big_endian in [false, true] {
            let mut file = Pcap::with_header(magic, big_endian, (2, 4), 65_535, 1 + number as u32);
            file.record(1_700_000_000, 5, 3, 60, b"abc").record(1_700_000_001, 6, 0, 0, b"");
            stream.extend(&file.bytes);
            stream.extend(Pcap::new(magic, !big_endian).bytes);
            let link = 1 + number as u16;
            expected.push(Owned { link, ..frame(1_700_000_000_000_000_000 + 5 * unit_ns, 1, 60, b"abc") });
            expected.push(Owned { link, ..frame(1_700_000_001_000_000_000 + 6 * unit_ns, 1, 0, b"") });
        }
    }
    let outcome = read(stream.as_slice());
    assert_eq!(outcome.frames, expected);
    assert!(outcome.cut.is_none() && outcome.error.is_none());
    let length = stream.len() as u64;
    stream.extend(&Pcap::new(MICROSECONDS, false).bytes[..20]);
    let cut = read(stream.as_slice()).cut.unwrap();
    assert_eq!((cut.offset, cut.frames), (length, 12));
    let mut file = Pcap::new(MICROSECONDS, false);
    file.record(MICROSECONDS, 0x0005_0002, 0, 0, b"");
    assert_eq!(read(file.bytes.as_slice()).frames.len(), 1);
}

#[test]
fn fractions_of_more_than_a_second_are_added() {
    let mut file = Pcap::new(MICROSECONDS, false);
    file.record(10, 1_000_000, 1, 1, b"a").record(u32::MAX, u32::MAX, 1, 1, b"b");
    let times: Vec<_> = read(file.bytes.as_slice()).frames.iter().map(|frame| frame.at_ns).collect();
    assert_eq!(times, [Some(11_000_000_000), Some(4_294_967_295_000_000_000 + 4_294_967_295_000)]);
    let mut file = Pcap::new(NANOSECONDS, true);
    file.record(10, 1_882_137_472, 1, 1, b"a");
    assert_eq!(read(file.bytes.as_slice()).frames[0].at_ns, Some(11_882_137_472));
}

#[test]
fn the_link_type_is_the_lower_half_of_its_field() {
    // Upper half: a frame check sequence of 4 bytes follows each packet.
    let mut file = Pcap::with_header(MICROSECONDS, false, (2, 4), 65_535, 0x5400_0114);
    file.record(1, 0, 1, 1, b"a");
    assert_eq!(read(file.bytes.as_slice()).frames[0].link, 276);
}

/// A captured length above the length on the wire makes no sense, but occurs in real files.
#[test]
fn a_captured_length_above_the_wire_length_is_kept() {
    let mut file = Pcap::new(MICROSECONDS, true);
    file.record(1, 0, 4, 2, b"abcd");
    assert_eq!(read(file.bytes.as_slice()).frames, [frame(1_000_000_000, 1, 2, b"abcd")]);
}

/// Before version 2.4 some writers put the wire length first.
#[test]
fn lengths_of_old_versions_come_in_either_order() {
    for big_endian in [false, true] {
        let mut file = Pcap::with_header(MICROSECONDS, big_endian, (2, 2), 68, 1);
        file.record(1, 0, 60, 3, b"abc").record(2, 0, 3, 60, b"def").record(3, 0, 60, 60, &[7; 60]);
        let [first, second] = [frame(1_000_000_000, 1, 60, b"abc"), frame(2_000_000_000, 1, 60, b"def")];
        let expected = [first, second, frame(3_000_000_000, 1, 60, &[7; 60])];
        assert_eq!(read(file.bytes.as_slice()).frames, expected);
    }
}

#[test]
fn other_versions_are_refused() {
    let file = Pcap::with_header(MICROSECONDS, true, (1, 2), 65_535, 1);
    let error = read(file.bytes.as_slice()).error.unwrap();
    assert!(matches!(error, CaptureError::Version { offset: 4, .. }));
    assert_eq!(error.to_string(), "test: byte 4: expected pcap 2.x, found pcap 1.2");
}

/// As found in captures of real programs; some other tools read them, some reject them.
#[test]
fn versions_in_the_wrong_byte_order_are_understood() {
    let mut file = Pcap::with_header(MICROSECONDS, false, (0x0200, 0x0400), 65_535, 1);
    file.record(1, 0, 3, 2, b"abc");
    assert_eq!(read(file.bytes.as_slice()).frames, [frame(1_000_000_000, 1, 2, b"abc")]);
    let mut file = Pcap::with_header(MICROSECONDS, false, (0x0200, 0x0200), 65_535, 1);
    file.record(1, 0, 3, 2, b"ab");
    assert_eq!(read(file.bytes.as_slice()).frames, [frame(1_000_000_000, 1, 3, b"ab")]);
}

/// The limit is the greater of the snap length and 262,144, and never more than 16 MiB.
#[test]
fn absurd_captured_lengths_are_damage() {
    for (snap_length, limit) in [(0, 262_144), (96, 262_144), (300_000, 300_000), (u32::MAX, 16 << 20)] {
        for big_endian in [false, true] {
            let mut file = Pcap::with_header(MICROSECONDS, big_endian, (2, 4), snap_length, 1);
            file.record(1, 0, 2, 2, b"ab").record(2, 0, limit, limit, &vec![7; limit as usize]);
            let sound = read(file.bytes.as_slice());
            assert_eq!(sound.frames.len(), 2);
            assert!(sound.error.is_none() && sound.cut.is_none());
            let offset = file.bytes.len() as u64 + 8;
            file.record(3, 0, limit + 1, limit + 1, b"more than this does not follow");
            let outcome = read(file.bytes.as_slice());
            assert_eq!(outcome.frames, sound.frames);
            let error = outcome.error.unwrap();
            assert!(matches!(&error, CaptureError::Damaged { offset: o, frames: 2, .. } if *o == offset), "{error:?}");
            let words = format!("expected a captured length of at most {limit}, found {} (after 2 frames)", limit + 1);
            assert_eq!(error.to_string(), format!("test: byte {offset}: {words}"));
        }
    }
}

/// A length field in the file allocates nothing: only bytes that arrive do. A record that claims 16 MiB and has none
/// leaves the reader's memory as it was, so this ends at once even when repeated often.
#[test]
fn lengths_that_are_not_kept_cost_nothing() {
    let mut file = Pcap::with_header(MICROSECONDS, false, (2, 4), u32::MAX, 1);
    file.record(1, 0, 16 << 20, 16 << 20, b"");
    for _ in 0..2_000 {
        let outcome = read(file.bytes.as_slice());
        let cut = outcome.cut.unwrap();
        assert_eq!((cut.offset, cut.frames), (24, 0));
        assert_eq!(cut.expected, "a record of 16777232 bytes");
        assert_eq!(cut.found, "16 bytes");
    }
}

#[test]
fn the_writer_gives_the_same_bytes_always() {
    let write = || {
        let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, 4).unwrap();
        writer.write(Timestamp::from_nanos(1_700_000_000_000_000_001), 60, b"abc").unwrap();
        writer.write(Timestamp::from_nanos(4_294_967_295_999_999_999), 0, b"abcdefgh").unwrap();
        writer.finish().unwrap()
    };
    let mut file = Pcap::with_header(NANOSECONDS, false, (2, 4), 4, 1);
    file.record(1_700_000_000, 1, 3, 60, b"abc").record(u32::MAX, 999_999_999, 4, 8, b"abcd");
    assert_eq!(write(), file.bytes);
    assert_eq!(write(), write());
    let expected = [frame(1_700_000_000_000_000_001, 1, 60, b"abc"), frame(4_294_967_295_999_999_999, 1, 8, b"abcd")];
    assert_eq!(read(write().as_slice()).frames, expected);
}

#[test]
fn the_writer_refuses_times_that_the_format_cannot_hold() {
    let mut writer = PcapWriter::new(Vec::new(), LinkType::RAW, 65_535).unwrap();
    for nanos in [-1, 4_294_967_296_000_000_000, i64::MIN, i64::MAX] {
        assert!(writer.write(Timestamp::from_nanos(nanos), 1, b"a").is_err(), "{nanos}");
    }
    assert_eq!(writer.finish().unwrap().len(), 24);
}

/// Records across all boundaries of the reader's blocks of 262,144 bytes.
#[test]
fn records_across_blocks() {
    for length in [1, 1_000, 65_535, 262_128, 262_129, 262_144] {
        let mut writer = PcapWriter::new(Vec::new(), LinkType::ETHERNET, u32::MAX).unwrap();
        let count = 1_200_000 / length + 2;
        for i in 0..count {
            writer.write(Timestamp::from_nanos(i as i64), 0, &vec![i as u8; length]).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let mut file = CaptureFile::open("test", bytes.as_slice()).unwrap();
        for i in 0..count {
            let frame = file.next_frame().unwrap().unwrap();
            assert_eq!(frame.at, Some(Timestamp::from_nanos(i as i64)));
            assert!(frame.bytes.len() == length && frame.bytes.iter().all(|&byte| byte == i as u8));
        }
        assert!(file.next_frame().unwrap().is_none() && file.cut().is_none());
        assert_eq!(file.bytes_read(), bytes.len() as u64);
    }
}
