#![no_main]
//! Aggregators: any bytes, as they are and behind a head and a checksum that fit.

use dwell_fuzz::lda;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    lda::check(input);
    let mut body = b"dwel\x02\x01".to_vec();
    body.extend(input);
    lda::check(&dwell_sketch::codec::seal(body));
});
