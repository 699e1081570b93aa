//! Agreement with the `pcap-file` crate, and between all ways of reading the same file.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{MICROSECONDS, NANOSECONDS, Owned, Pcap, Pcapng, Trickle, gzip, read, read_compressed};
use proptest::collection::vec;
use proptest::prelude::*;

/// Frames of a generated file: seconds, fraction of a second in the file's unit, bytes on the wire beyond the captured
/// ones, captured bytes.
fn frames() -> impl Strategy<Value = Vec<(u32, u32, u16, Vec<u8>)>> {
    vec((any::<u32>(), 0..1_000_000u32, 0..2_000u16, vec(any::<u8>(), 0..200)), 0..40)
}

fn pcap_file(bytes: &[u8]) -> Vec<Owned> {
    let mut reader = pcap_file::pcap::PcapReader::new(bytes).unwrap();
    let link = u32::from(reader.header().datalink) as u16;
    let mut frames = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        frames.push(Owned {
            at_ns: Some(packet.timestamp.as_nanos() as i64),
            link,
            wire_length: packet.orig_len,
            bytes: packet.data.into_owned(),
        });
    }
    frames
}

/// The oracle returns timestamps of pcapng as raw ticks, labelled nanoseconds: clocks are tested in their own module.
fn pcapng_file(bytes: &[u8]) -> Vec<Owned> {
    use pcap_file::pcapng::{Block, PcapNgReader};
    let mut reader = PcapNgReader::new(bytes).unwrap();
    let mut frames = Vec::new();
    while let Some(block) = reader.next_block() {
        let block = block.unwrap().into_owned();
        let (number, at_ns, wire_length, data) = match block {
            Block::EnhancedPacket(packet) => {
                let at_ns = packet.timestamp.as_nanos() as i64;
                (packet.interface_id, Some(at_ns), packet.original_len, packet.data.into_owned())
            }
            Block::SimplePacket(packet) => {
                // The oracle does not remove the padding.
                let data = packet.data[..packet.original_len as usize].to_vec();
                (0, None, packet.original_len, data)
            }
            _ => continue,
        };
        let link = u32::from(reader.interfaces()[number as usize].linktype) as u16;
        frames.push(Owned { at_ns, link, wire_length, bytes: data });
    }
    frames
}

proptest! {
    #[test]
    fn pcap_agrees(frames in frames(), big_endian: bool, nanoseconds: bool, link in 0..300u32, limit in 1..300usize) {
        let magic = if nanoseconds { NANOSECONDS } else { MICROSECONDS };
        let mut file = Pcap::with_header(magic, big_endian, (2, 4), 1 << 16, link);
        for (seconds, fraction, beyond, bytes) in &frames {
            let captured = bytes.len() as u32;
            file.record(*seconds, *fraction, captured, captured + u32::from(*beyond), bytes);
        }
        let outcome = read(file.bytes.as_slice());
        prop_assert!(outcome.cut.is_none() && outcome.error.is_none());
        prop_assert_eq!(outcome.frames.len(), frames.len());
        prop_assert_eq!(&outcome.frames, &pcap_file(&file.bytes));
        let pieces = read(Trickle { reader: file.bytes.as_slice(), limit, turn: 0 });
        prop_assert_eq!(&outcome.frames, &pieces.frames);
        let packed = read_compressed(gzip(&file.bytes).as_slice());
        prop_assert_eq!(&outcome.frames, &packed.frames);
    }

    #[test]
    fn pcapng_agrees(sections in vec((any::<bool>(), frames()), 1..4), limit in 1..300usize) {
        let mut file = Pcapng::default();
        for (big_endian, frames) in &sections {
            file.section(*big_endian).interface(1, 0, &[(9, &[9])]).interface(113, 0, &[(2, b"lo"), (9, &[9])]);
            for (i, (high, low, beyond, bytes)) in frames.iter().enumerate() {
                let wire_length = bytes.len() as u32;
                match i % 8 {
                    6 => file.block(0xbad_0000, bytes),
                    7 => file.simple(wire_length, bytes),
                    _ => {
                        let ticks = u64::from(high >> 1) << 32 | u64::from(*low);
                        file.enhanced(i as u32 % 2, ticks, wire_length + u32::from(*beyond), bytes)
                    }
                };
            }
        }
        let outcome = read(file.bytes.as_slice());
        prop_assert!(outcome.cut.is_none() && outcome.error.is_none());
        prop_assert_eq!(&outcome.frames, &pcapng_file(&file.bytes));
        let pieces = read(Trickle { reader: file.bytes.as_slice(), limit, turn: 0 });
        prop_assert_eq!(&outcome.frames, &pieces.frames);
    }

    /// Arbitrary bytes after a valid beginning: no panic, and reading in small pieces makes no difference.
    #[test]
    fn garbage_is_harmless(garbage in vec(any::<u8>(), 0..400), big_endian: bool, kind in 0..3u8, limit in 1..8usize) {
        let mut bytes = match kind {
            0 => Pcap::new(MICROSECONDS, big_endian).bytes,
            1 => {
                let mut file = Pcapng::new(big_endian);
                file.interface(1, 0, &[]);
                file.bytes
            }
            _ => Vec::new(),
        };
        bytes.extend(garbage);
        let outcome = read(bytes.as_slice());
        let captured: usize = outcome.frames.iter().map(|frame| frame.bytes.len()).sum();
        prop_assert!(captured <= bytes.len());
        let pieces = read(Trickle { reader: bytes.as_slice(), limit, turn: 0 });
        prop_assert_eq!(&outcome.frames, &pieces.frames);
        prop_assert_eq!(outcome.cut, pieces.cut);
        prop_assert_eq!(format!("{:?}", outcome.error), format!("{:?}", pieces.error));
    }
}
