#![no_main]
//! Sketches of flows: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::lds;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lds::check(input);
    let mut body = codec::head(codec::Kind::Lds);
    body.extend(input);
    lds::check(&codec::seal(body));
});
