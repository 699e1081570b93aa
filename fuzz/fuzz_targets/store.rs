#![no_main]
//! Stores of delays: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::store;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    store::check(input);
    let mut body = b"dwel\x01\x01".to_vec();
    body.extend(input);
    store::check(&dwell_sketch::codec::seal(body));
});
