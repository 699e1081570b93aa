#![no_main]
//! Requests and responses: any frames, and any payloads of the protocols that are looked into.

use dwell_fuzz::pair;
use dwell_types::LinkType;
use libfuzzer_sys::fuzz_target;

// The input is cut into packets by a length of one byte before each: the state of the spin bit needs several.
fuzz_target!(|input: &[u8]| {
    let [choice, rest @ ..] = input else { return };
    let mut rest = rest;
    let mut packets = Vec::new();
    while let [length, more @ ..] = rest {
        let (packet, next) = more.split_at(usize::from(*length).min(more.len()));
        packets.push(packet);
        rest = next;
    }
    let grouped = choice & 1 == 1;
    if choice & 2 == 0 {
        pair::check_packets(packets.iter().copied());
    } else {
        let link = if choice & 4 == 0 { LinkType::ETHERNET } else { LinkType::RAW };
        pair::check_frames(link, grouped, packets.iter().copied());
    }
});
