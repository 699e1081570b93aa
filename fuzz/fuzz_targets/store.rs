#![no_main]
//! Stores of delays: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::store;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    store::check(input);
    let mut body = codec::head(codec::Kind::Delays);
    body.extend(input);
    store::check(&codec::seal(body));
});
