#![no_main]
//! pcapng files: arbitrary bytes after a valid section header, or after the type of one.

use dwell_fuzz::capture;
use libfuzzer_sys::fuzz_target;

const SECTION_HEADER: [[u8; 28]; 2] = [
    *b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
    *b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x1c",
];

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, cut, rest) = input;
    let header = &SECTION_HEADER[usize::from(kind) & 1];
    let mut bytes = if kind & 2 == 0 { header.to_vec() } else { header[..4].to_vec() };
    bytes.extend_from_slice(rest);
    capture::check(&bytes, usize::from(cut));
});
