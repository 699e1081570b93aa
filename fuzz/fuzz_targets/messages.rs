#![no_main]
//! Messages between points with sketches: arbitrary bytes, as they are and as bodies with valid framing and checksums.

use dwell_fuzz::messages;
use dwell_sketch::codec::{self, Kind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((&at, rest)) = input.split_first() else { return };
    let (sender, receiver) = rest.split_at(usize::from(at).min(rest.len()));
    messages::check(sender, receiver);
    let whole = |body: &[u8], kind: Kind| {
        let sealed = codec::seal([&codec::head(kind)[..], body].concat());
        [b"next", &(sealed.len() as u32).to_le_bytes()[..], &sealed].concat()
    };
    messages::check(
        &[whole(sender, Kind::Summary), whole(receiver, Kind::Flows)].concat(),
        &whole(sender, Kind::Summary),
    );
});
