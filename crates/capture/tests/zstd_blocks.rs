//! Zstd data that no compressor writes: few bytes that are very many, and damage right behind a sound block.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use dwell_capture::{CaptureError, CaptureFile, FrameSource};
use std::fs;

/// What a block holds: its bytes, one byte many times, or what no block may.
const RAW: u32 = 0;
const RUN: u32 = 1;
const RESERVED: u32 = 3;

/// The start of a zstd frame with a window of 128 KiB.
const FRAME: [u8; 6] = [0x28, 0xb5, 0x2f, 0xfd, 0, 7 << 3];

fn block(kind: u32, length: u32, is_last: bool, content: &[u8]) -> Vec<u8> {
    let header = (length << 3 | kind << 1 | u32::from(is_last)).to_le_bytes();
    [&header[..3], content].concat()
}

/// A pcap file header.
fn header() -> [u8; 24] {
    let mut file = [0; 24];
    file[..6].copy_from_slice(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]);
    file[20] = 1;
    file
}

/// A pcap file header, and so many blocks of 128 KiB of zeros, each of four bytes.
fn bomb(blocks: u32) -> Vec<u8> {
    let mut bytes = [&FRAME[..], &block(RAW, 24, false, &header())].concat();
    for number in 1..=blocks {
        bytes.extend_from_slice(&block(RUN, 128 << 10, number == blocks, &[0]));
    }
    bytes
}

/// The most memory that this process ever held, in bytes; `None` where the system does not say.
fn most_held() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

/// 8 kB that are 256 MiB: records without a byte, the only ones that zeros can be.
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
    assert_eq!((frames, file.warning()), (u64::from(BLOCKS) * (128 << 10) / 16, None));
    match most_held() {
        Some(bytes) => assert!(bytes < 64 << 20, "{bytes} bytes were held"),
        None => eprintln!("skipped: the system does not say how much memory was held"),
    }
}

/// Found by fuzzing: a sound block was lost with the header behind it.
#[test]
fn a_block_before_a_damaged_one_is_read() {
    let records = [header().as_slice(), &[0; 3 * 16]].concat();
    let sound = block(RAW, records.len() as u32, false, &records);
    let bytes = [&FRAME[..], &sound, &block(RESERVED, 0, true, &[])].concat();
    let mut file = CaptureFile::open("damaged", bytes.as_slice()).unwrap();
    for _ in 0..3 {
        assert!(file.next_frame().unwrap().is_some());
    }
    let Err(CaptureError::Damaged { offset, frames, .. }) = file.next_frame() else { panic!("not damaged") };
    assert_eq!((offset, frames), (records.len() as u64, 3));
}
