#![no_main]
//! Serialised aggregators: arbitrary bytes, as they are and with a valid header and checksum.

use dwell_fuzz::lda;
use dwell_sketch::codec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lda::check(input);
    let mut body = codec::head(codec::Kind::Lda);
    body.extend(input);
    lda::check(&codec::seal(body));
});
