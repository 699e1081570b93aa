#![no_main]
//! pcapng files: arbitrary bytes after a valid section header and two interfaces or none, or after the type of a header.

use dwell_fuzz::capture;
use libfuzzer_sys::fuzz_target;

const SECTION_HEADER: [[u8; 28]; 2] = [
    *b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0",
    *b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\x1c",
];

const INTERFACE: [[u8; 20]; 2] = [
    *b"\x01\0\0\0\x14\0\0\0\x01\0\0\0\0\0\0\0\x14\0\0\0",
    *b"\0\0\0\x01\0\0\0\x14\0\x01\0\0\0\0\0\0\0\0\0\x14",
];

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, cut, rest) = input;
    let order = usize::from(kind) & 1;
    let header = &SECTION_HEADER[order];
    let mut bytes = if kind & 2 == 0 { header.to_vec() } else { header[..4].to_vec() };
    if kind & 6 == 4 {
        // Frames of both are merged.
        bytes.extend(INTERFACE[order].repeat(2));
    }
    bytes.extend_from_slice(rest);
    capture::check(&bytes, usize::from(cut));
});
