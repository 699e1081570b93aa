#![no_main]
//! Compressed captures: arbitrary bytes after a compression format's magic number, and valid data with a changed byte.

use dwell_fuzz::compressed;
use libfuzzer_sys::fuzz_target;

const MAGIC: [&[u8]; 4] = [&[0x1f, 0x8b, 8], b"\xfd7zXZ\0", &[0x28, 0xb5, 0x2f, 0xfd], &[0x50, 0x2a, 0x4d, 0x18]];

/// The header of a pcap file of Ethernet frames.
const PCAP: [u8; 24] = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];

fuzz_target!(|input: (u8, u16, u16, u8, &[u8])| {
    let (kind, cut, place, change, rest) = input;
    if kind & 1 == 0 {
        let magic = MAGIC[usize::from(kind >> 1) % MAGIC.len()];
        return compressed::check(&[magic, rest].concat(), usize::from(cut));
    }
    let capture = [&PCAP, rest].concat();
    compressed::check_whole(kind >> 1, &capture);
    let mut bytes = compressed::compress(kind >> 1, &capture);
    let place = usize::from(place) % bytes.len();
    bytes[place] ^= change;
    compressed::check(&bytes, usize::from(cut));
});
