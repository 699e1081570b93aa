#![no_main]
//! Frames: any bytes behind any link type.

use dwell_fuzz::headers;
use dwell_observe::parse::Key;
use dwell_types::LinkType;
use libfuzzer_sys::fuzz_target;

const LINKS: [LinkType; 15] = [
    LinkType::ETHERNET,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::RAW,
    LinkType::RAW_BSD,
    LinkType::RAW_OPENBSD,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
    LinkType::PPP_HDLC,
    LinkType::PPP_WITH_DIRECTION,
    LinkType::PPP_ETHER,
    LinkType(2000),
];

// Bytes rather than a tuple: mutations of the frame then leave the choices alone.
fuzz_target!(|input: &[u8]| {
    let [link, more, frame @ ..] = input else { return };
    let link = LINKS[usize::from(*link) % LINKS.len()];
    let key = if more & 1 == 0 { Key::Inner } else { Key::Outer };
    // How much longer the frame was: nothing, some multiple of 100 bytes, or more than there can be.
    let wire = match more >> 1 {
        127 => u32::MAX,
        hundreds => frame.len() as u32 + u32::from(hundreds) * 100,
    };
    headers::check(link, frame, wire, key);
});
