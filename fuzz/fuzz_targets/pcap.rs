#![no_main]
//! pcap files: arbitrary bytes after any of the magic numbers.

use dwell_fuzz::capture;
use libfuzzer_sys::fuzz_target;

const MAGIC: [u32; 3] = [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];

fuzz_target!(|input: (u8, u16, &[u8])| {
    let (kind, cut, rest) = input;
    let magic = MAGIC[usize::from(kind >> 1) % MAGIC.len()];
    let mut bytes = if kind & 1 == 0 { magic.to_le_bytes() } else { magic.to_be_bytes() }.to_vec();
    bytes.extend_from_slice(rest);
    capture::check(&bytes, usize::from(cut));
});
