#![no_main]
//! Frame headers: arbitrary bytes with any link type.

use dwell_fuzz::headers;
use dwell_observe::parse::{Key, Reject, parse};
use dwell_types::LinkType;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

/// All link types that the parser knows, and one that it does not.
static LINKS: LazyLock<Vec<LinkType>> = LazyLock::new(|| {
    let is_known = |link: &LinkType| parse(*link, &[], 0, Key::Inner) != Err(Reject::LinkType);
    let known = (0..1_000).map(LinkType).filter(is_known);
    known.chain([LinkType(2_000)]).collect()
});

// Bytes rather than a tuple, so that mutations of the frame leave the other choices unchanged.
fuzz_target!(|input: &[u8]| {
    let [link, more, frame @ ..] = input else { return };
    let link = LINKS[usize::from(*link) % LINKS.len()];
    let key = if more & 1 == 0 { Key::Inner } else { Key::Outer };
    // The frame's original length: not truncated, longer by a multiple of 100 bytes, or impossibly long.
    let wire = match more >> 1 {
        127 => u32::MAX,
        hundreds => frame.len() as u32 + u32::from(hundreds) * 100,
    };
    headers::check(link, frame, wire, key);
});
