#![no_main]
//! Matching of requests and responses: arbitrary frames, and arbitrary payloads of the protocols that are parsed.

use dwell_fuzz::pair;
use dwell_types::LinkType;
use libfuzzer_sys::fuzz_target;

// The input is divided into packets by a length byte before each: the spin bit's state needs several packets.
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
