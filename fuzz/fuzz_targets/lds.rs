#![no_main]
//! Serialised sketches of flows: arbitrary bytes, as they are and with a valid header and checksum.

use dwell_fuzz::lds;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lds::check(input);
    let mut body = codec::head(codec::Kind::Lds);
    body.extend(input);
    lds::check(&codec::seal(body));
});
