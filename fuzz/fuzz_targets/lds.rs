#![no_main]
//! Sketches of flows: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::lds;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lds::check(input);
    let mut body = b"dwel\x03\x01".to_vec();
    body.extend(input);
    lds::check(&dwell_sketch::codec::seal(body));
});
