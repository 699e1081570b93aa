#![no_main]
//! Aggregators: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::lda;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lda::check(input);
    let mut body = codec::head(codec::Kind::Lda);
    body.extend(input);
    lda::check(&codec::seal(body));
});
