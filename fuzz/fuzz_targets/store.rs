#![no_main]
//! Serialised stores of delays: arbitrary bytes, as they are and with a valid header and checksum.

use dwell_fuzz::store;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    store::check(input);
    let mut body = codec::head(codec::Kind::Delays);
    body.extend(input);
    store::check(&codec::seal(body));
});
