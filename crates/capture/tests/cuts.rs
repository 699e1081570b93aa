//! Files that end too early, arrive in small pieces, or are no captures at all.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{
    MICROSECONDS, MODIFIED, NANOSECONDS, Outcome, Pcap, Pcapng, Trickle, compressed, peak_bytes, read, read_compressed,
};
use dwell_capture::{CaptureError, CaptureFile, FrameSource};
use std::io::Read;

/// Small files: name, length of the file header in bytes, content.
fn files() -> Vec<(&'static str, usize, Vec<u8>)> {
    let mut files = Vec::new();
    for big_endian in [false, true] {
        for (name, magic) in [("microseconds", MICROSECONDS), ("nanoseconds", NANOSECONDS), ("modified", MODIFIED)] {
            let mut file = Pcap::new(magic, big_endian);
            file.record(1, 2, 3, 4, b"abc").record(5, 6, 0, 7, b"").record(8, 9, 5, 9, b"defgh");
            files.push((name, 24, file.bytes));
        }
        let mut file = Pcapng::new(big_endian);
        file.interface(1, 3, &[(9, &[9])]).enhanced(0, 1, 4, b"abc").block(5, &[7; 30]).simple(9, b"xyz");
        file.section(!big_endian).interface(101, 0, &[]).obsolete(0, 0, 2, 5, b"defgh");
        files.push(("pcapng", 28, file.bytes));
    }
    files
}

/// Every prefix of a file yields a prefix of its frames, and either ends between two records or is cut.
#[test]
fn cut_at_every_byte() {
    for (name, header, bytes) in files() {
        let whole = read(bytes.as_slice());
        assert_eq!(whole.frames.len(), 3, "{name}");
        assert!(whole.cut.is_none() && whole.error.is_none());
        let mut clean = 0;
        for length in 0..bytes.len() {
            let Outcome { frames, cut, error } = read(&bytes[..length]);
            assert_eq!(frames, whole.frames[..frames.len()], "{name} cut at {length}");
            if length < header {
                match error {
                    Some(CaptureError::Empty { .. }) => assert_eq!(length, 0),
                    Some(CaptureError::NotACapture { .. }) => assert!(length < 4),
                    Some(CaptureError::Damaged { offset: 0, frames: 0, .. }) => assert!(length >= 4),
                    other => panic!("{name} cut at {length}: {other:?}"),
                }
                continue;
            }
            assert!(error.is_none(), "{name} cut at {length}: {error:?}");
            match cut {
                None => clean += 1,
                Some(cut) => {
                    assert_eq!(cut.frames, frames.len() as u64);
                    assert!((header as u64..length as u64).contains(&cut.offset));
                    let left = length as u64 - cut.offset;
                    assert_eq!(cut.found, if left == 1 { "1 byte".to_owned() } else { format!("{left} bytes") });
                }
            }
        }
        // Prefixes that end between two records or blocks, or right after the header.
        assert_eq!(clean, if name == "pcapng" { 7 } else { 3 }, "{name}");
    }
}

#[test]
fn small_pieces_make_no_difference() {
    for (name, _, bytes) in files() {
        let whole = read(bytes.as_slice());
        for (compression, packed) in compressed(&bytes).into_iter().chain([("plain", bytes)]) {
            for limit in 1..=7 {
                let outcome = read(Trickle { reader: packed.as_slice(), limit, turn: 0 });
                assert_eq!(outcome.frames, whole.frames, "{name} {compression}, up to {limit} bytes at a time");
                assert!(outcome.cut.is_none() && outcome.error.is_none());
            }
        }
    }
}

/// A truncated compressed file yields a prefix of its frames and is cut; an error while the header is incomplete.
#[test]
fn compressed_files_cut_at_every_byte() {
    for (name, _, bytes) in files() {
        let whole = read(bytes.as_slice());
        for (compression, packed) in compressed(&bytes) {
            for length in 6..packed.len() {
                let Outcome { frames, cut, error } = read_compressed(&packed[..length]);
                assert_eq!(frames, whole.frames[..frames.len()], "{name} {compression} cut at {length}");
                let words = match (cut, error) {
                    (Some(cut), None) => cut.found,
                    (None, Some(CaptureError::Damaged { found, frames: 0, .. })) => found,
                    other => panic!("{name} {compression} cut at {length}: {other:?}"),
                };
                assert!(words.ends_with(&format!("before the truncated {compression} data ends")), "{words}");
            }
        }
    }
}

#[test]
fn members_streams_and_frames_are_joined() {
    for (name, _, bytes) in files() {
        let whole = read(bytes.as_slice());
        for split in [1, 24, 30, bytes.len() - 1] {
            let (first, second) = bytes.split_at(split);
            for ((compression, first), (_, second)) in compressed(first).into_iter().zip(compressed(second)) {
                let outcome = read_compressed([first, second].concat().as_slice());
                assert_eq!(outcome.frames, whole.frames, "{name} {compression} split at {split}");
                assert!(outcome.cut.is_none() && outcome.error.is_none());
            }
        }
    }
}

/// Some bytes in the middle are changed: what precedes them by far is yielded, and the error is always reported, even
/// if only the checksum at the end reveals it.
#[test]
fn corrupt_compressed_data_is_an_error() {
    let mut file = Pcap::new(MICROSECONDS, false);
    for i in 0..20_000u32 {
        let bytes = i.wrapping_mul(0x9e37_79b9).to_le_bytes();
        file.record(i, 0, 4, 4, &bytes);
    }
    let whole = read(file.bytes.as_slice());
    for (compression, mut packed) in compressed(&file.bytes) {
        let place = packed.len() * 3 / 4;
        for byte in &mut packed[place..place + 8] {
            *byte ^= 0xff;
        }
        let outcome = read_compressed(packed.as_slice());
        let Some(CaptureError::Damaged { frames, .. }) = outcome.error else {
            panic!("{compression}: {:?} after {} frames", outcome.error, outcome.frames.len());
        };
        // zstd checks a block of up to 128 KiB before it yields any of it; this file has four of them.
        let sound = if compression == "zstd" { 10_000 } else { 14_000 };
        assert!(frames >= sound, "{compression}: {frames}");
        assert_eq!(outcome.frames[..sound as usize], whole.frames[..sound as usize]);
    }
}

#[test]
fn garbage_after_compressed_data_is_an_error_after_all_frames() {
    let mut file = Pcap::new(MICROSECONDS, false);
    file.record(1, 0, 4, 4, b"abcd");
    for (compression, mut packed) in compressed(&file.bytes) {
        packed.extend(b"not compressed");
        let outcome = read_compressed(packed.as_slice());
        assert_eq!(outcome.frames.len(), 1, "{compression}");
        assert!(matches!(outcome.error, Some(CaptureError::Damaged { frames: 1, .. })), "{compression}");
    }
}

/// Zero padding, as `gzip` and `xz` accept it: after the data, and between two members.
#[test]
fn padding_is_no_garbage() {
    let mut file = Pcap::new(MICROSECONDS, false);
    file.record(1, 0, 4, 4, b"abcd");
    let (first, second) = file.bytes.split_at(30);
    for (compression, packed) in compressed(&file.bytes).into_iter().filter(|(name, _)| *name != "zstd") {
        let outcome = read_compressed([&packed[..], &[0; 1024]].concat().as_slice());
        assert!(outcome.frames.len() == 1 && outcome.error.is_none() && outcome.cut.is_none(), "{compression}");
        let parts = [first, second].map(|part| compressed(part).into_iter().find(|(name, _)| *name == compression));
        let [Some((_, first)), Some((_, second))] = parts else { panic!("{compression}") };
        let outcome = read_compressed([&first[..], &[0; 512], &second].concat().as_slice());
        assert!(outcome.frames.len() == 1 && outcome.error.is_none() && outcome.cut.is_none(), "{compression}");
    }
}

/// 1 GiB of zeros inside one skipped block is read in less than a megabyte of memory.
#[test]
fn decompression_bombs_do_not_grow_memory() {
    let mut file = Pcapng::new(false);
    let zeros = (1u32 << 30) - 12;
    file.bytes.extend([0xad, 0x0b, 0, 0]);
    file.bytes.extend((1u32 << 30).to_le_bytes());
    let head = std::mem::take(&mut file.bytes);
    file.bytes.extend((1u32 << 30).to_le_bytes());
    file.interface(1, 0, &[]).enhanced(0, 7, 1, b"a");
    let plain = head.as_slice().chain(std::io::repeat(0).take(u64::from(zeros))).chain(file.bytes.as_slice());
    let mut packed = Vec::new();
    zstd::stream::read::Encoder::new(std::io::BufReader::new(plain), 1).unwrap().read_to_end(&mut packed).unwrap();
    assert!(packed.len() < 1 << 20);
    let before = peak_bytes();
    assert_eq!(read_compressed(packed.as_slice()).frames.len(), 1);
    assert!(peak_bytes() - before < 16 << 20, "{} bytes more", peak_bytes() - before);
}

#[test]
fn what_is_no_capture_is_named() {
    let cases: [(&[u8], &str); 14] = [
        (b"snoop\0\0\0\0\0\0\x02", "a snoop capture: 73 6e 6f 6f 70 00 00 00"),
        (b"TRSNIFF data    ", "a Sniffer capture: 54 52 53 4e 49 46 46 20"),
        (b"GMBU\0\x02", "a Microsoft Network Monitor capture: 47 4d 42 55 00 02"),
        (b"RTSS\0\x02", "a Microsoft Network Monitor capture: 52 54 53 53 00 02"),
        (b"\x04\x22\x4d\x18\x64", "lz4 data: 04 22 4d 18 64"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive: 37 7a bc af 27 1c"),
        (b"%PDF-1.7\n", "a PDF document: 25 50 44 46 2d 31 2e 37"),
        (b"\x7fELF\x02\x01\x01\0", "an ELF program: 7f 45 4c 46 02 01 01 00"),
        (b"time,src,dst\n1,2,3\n", "text: \"time,src,dst\""),
        ("Grüße".as_bytes(), "text: \"Grüße\""),
        (b"BZh91AY&SY", "bzip2 data: 42 5a 68 39 31 41 59 26"),
        (b"PK\x03\x04\x14\0", "a zip archive: 50 4b 03 04 14 00"),
        (b"\0\0\0", "an unknown format: 00 00 00"),
        (&[0xff; 100], "text: \"����������������������������������������\""),
    ];
    for (bytes, words) in cases {
        match read(bytes).error {
            Some(CaptureError::NotACapture { found, .. }) => assert_eq!(found, words),
            other => panic!("{words}: {other:?}"),
        }
    }
    for (compression, packed) in compressed(b"hello, world\n") {
        match read_compressed(packed.as_slice()).error {
            Some(CaptureError::NotACapture { found, .. }) => {
                assert_eq!(found, "text: \"hello, world\"", "{compression}")
            }
            other => panic!("{compression}: {other:?}"),
        }
    }
    assert!(matches!(read_compressed(compressed(b"")[0].1.as_slice()).error, Some(CaptureError::Empty { .. })));
}

/// A pipe that has been written up to any byte: unless all is used up, the next frame is there, and else nothing is.
#[test]
fn what_a_pipe_holds_is_used_up_before_it_may_block() {
    struct Blocked;
    impl Read for Blocked {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("would block"))
        }
    }
    for (name, header, bytes) in files().into_iter().filter(|(name, ..)| *name != "pcapng") {
        for length in header..bytes.len() {
            let mut file = CaptureFile::open("pipe", bytes[..length].chain(Blocked)).unwrap();
            while !file.is_used_up() {
                assert!(matches!(file.next_frame(), Ok(Some(_))), "{name} up to {length}");
            }
            assert!(file.next_frame().is_err(), "{name} up to {length}");
        }
    }
}

/// Errors of the operating system are passed on with their message, and what was read before them counts.
#[test]
fn read_errors_are_passed_on() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is on fire"))
        }
    }
    let mut file = Pcap::new(MICROSECONDS, false);
    file.record(1, 0, 4, 4, b"abcd").record(1, 0, 4, 4, b"ab");
    let outcome = read(file.bytes.as_slice().chain(Broken));
    assert_eq!(outcome.frames.len(), 1);
    assert_eq!(outcome.error.unwrap().to_string(), "test: byte 62: the disk is on fire (after 1 frame)");
}
