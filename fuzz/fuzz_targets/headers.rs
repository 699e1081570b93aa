#![no_main]
//! Frame headers: arbitrary bytes with any link type.

use dwell_fuzz::headers;
use dwell_observe::parse::Key;
use dwell_types::LinkType;
use libfuzzer_sys::fuzz_target;

const LINKS: [LinkType; 29] = [
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
    LinkType::CISCO_HDLC,
    LinkType::CISCO_HDLC_WITH_DIRECTION,
    LinkType::PPP_ETHER,
    LinkType::NFLOG,
    LinkType::IEEE_802_11,
    LinkType::RADIOTAP,
    LinkType::JUNIPER_ETHERNET,
    LinkType::PPI,
    LinkType::IPNET,
    LinkType::IP_OVER_INFINIBAND,
    LinkType::PKTAP,
    LinkType::BROADCOM,
    LinkType::BROADCOM_PREPENDED,
    LinkType::MARVELL,
    LinkType::MARVELL_TYPED,
    LinkType(2000),
];

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
