//! Zstd data that no compressor writes: few bytes that decompress to very many, and damage right after a valid block.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::Trickle;
use dwell_capture::{CaptureError, CaptureFile, FrameSource};
use std::fs;
use std::io::Read;

/// Block types: raw bytes, one byte repeated, or reserved.
const RAW: u32 = 0;
const RUN: u32 = 1;
const RESERVED: u32 = 3;

/// The start of a zstd frame with a window of 128 KiB.
const FRAME: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];

fn block(kind: u32, length: u32, is_last: bool, content: &[u8]) -> Vec<u8> {
    let header = (length << 3 | kind << 1 | u32::from(is_last)).to_le_bytes();
    [&header[..3], content].concat()
}

/// The same for a frame that states its content size.
fn frame_of(bytes: usize) -> Vec<u8> {
    [&[0x28, 0xb5, 0x2f, 0xfd, 2 << 6, 7 << 3], &(bytes as u32).to_le_bytes()[..]].concat()
}

/// A pcap file header.
fn header() -> [u8; 24] {
    let mut file = [0; 24];
    file[..6].copy_from_slice(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]);
    file[20] = 1;
    file
}

/// A pcap file header, and this many blocks of 128 KiB of zeros, in four bytes each.
fn bomb(blocks: u32) -> Vec<u8> {
    let mut bytes = [&FRAME[..], &block(RAW, 24, false, &header())].concat();
    for number in 1..=blocks {
        bytes.extend_from_slice(&block(RUN, 128 << 10, number == blocks, &[0]));
    }
    bytes
}

/// The peak memory of this process in bytes; `None` where the system does not report it.
fn most_held() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// 8 kB that decompress to 256 MiB of empty records, the only records that zeros can encode.
#[test]
fn a_bomb_of_zeros_takes_no_memory() {
    const BLOCKS: u32 = 2_048;
    let bytes = bomb(BLOCKS);
    assert!(bytes.len() < 10_000);
    let mut file = CaptureFile::open("bomb", bytes.as_slice()).unwrap();
    let mut frames = 0u64;
    while let Some(frame) = file.next_frame().unwrap() {
        assert!(frame.bytes.is_empty());
        frames += 1;
    }
    assert_eq!((frames, file.cut()), (u64::from(BLOCKS) * (128 << 10) / 16, None));
    match most_held() {
        Some(bytes) => assert!(bytes < 64 << 20, "{bytes} bytes were held"),
        None => eprintln!("skipped: the system does not say how much memory was held"),
    }
}

/// Found by fuzzing: a valid block was lost if the header after it was damaged.
#[test]
fn a_block_before_a_damaged_one_is_read() {
    let records = [header().as_slice(), &[0; 3 * 16]].concat();
    let sound = block(RAW, records.len() as u32, false, &records);
    let bytes = [&FRAME[..], &sound, &block(RESERVED, 0, true, &[])].concat();
    damaged_behind(&bytes, records.len(), 3);
}

/// Found by fuzzing: the output of a block that is longer or shorter than its frame states depended on the sizes of the
/// pieces in which it was read.
#[test]
fn a_block_of_another_length_than_its_frame_is_read_as_far_as_it_is_sound() {
    let records = [header().as_slice(), &[0; 3 * 16]].concat();
    let content = block(RAW, records.len() as u32, true, &records);
    let fewer = 24 + 2 * 16;
    damaged_behind(&[frame_of(fewer), content.clone()].concat(), fewer, 2);
    damaged_behind(&[frame_of(records.len() + 1), content].concat(), records.len() - 1, 2);
}

/// Bytes that the decoder held because the output was full were lost if the header after them was damaged.
#[test]
fn a_block_that_does_not_fit_at_once_is_read_before_a_damaged_one() {
    // One record so long that the last 16 bytes of the second block do not fit into 256 KiB with it, then empty ones.
    const LENGTH: usize = 240_000;
    const EMPTY: usize = ((256 << 10) - LENGTH) / 16;
    let mut record = [0; 16];
    record[8..12].copy_from_slice(&(LENGTH as u32).to_le_bytes());
    record[12..].copy_from_slice(&(LENGTH as u32).to_le_bytes());
    let first = block(RAW, 40, false, &[&header()[..], &record].concat());
    let zeros = block(RUN, 128 << 10, false, &[0]).repeat(2);
    let bytes = [&FRAME[..], &first, &zeros, &block(RESERVED, 0, true, &[])].concat();
    damaged_behind(&bytes, 40 + (256 << 10), 1 + EMPTY);
}

/// Checks that a capture is read up to `records` frames and then damaged at `offset`, read at once and in pieces.
fn damaged_behind(bytes: &[u8], offset: usize, records: usize) {
    read_until_damaged(bytes, offset, records);
    for limit in [1, 2, 3, 5, 7, 16] {
        read_until_damaged(Trickle { reader: bytes, limit, turn: 0 }, offset, records);
    }
}

fn read_until_damaged(reader: impl Read, offset: usize, records: usize) {
    let mut file = CaptureFile::open("damaged", reader).unwrap();
    for _ in 0..records {
        assert!(file.next_frame().unwrap().is_some());
    }
    let error = file.next_frame().unwrap_err();
    let CaptureError::Damaged { offset: at, frames, .. } = error else { panic!("not damaged") };
    assert_eq!((at, frames), (offset as u64, records as u64));
    assert!(!error.to_string().contains("window"), "{error}");
}
