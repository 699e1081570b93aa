//! Frames of several interfaces of one file, which are yielded in the order of their times.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod common;

use common::{Outcome, Pcapng, Trickle, peak_bytes, read};
use dwell_capture::{CaptureError, CaptureFile, FrameSource};
use proptest::prelude::*;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// An interface's number in the section, and a time in milliseconds.
type Packet = (u32, u64);

/// A section with so many interfaces, and their packets, which are numbered from `first` on.
fn section(interfaces: usize, first: u32, packets: &[Packet]) -> Pcapng {
    let mut file = Pcapng::new(false);
    (0..interfaces).for_each(|_| _ = file.interface(1, 0, &[(9, &[3])]));
    for (number, &(interface, millis)) in (first..).zip(packets) {
        file.enhanced(interface, millis, 60, &number.to_le_bytes());
    }
    file
}

/// The numbers of packets, as they were yielded.
fn numbers(outcome: &Outcome) -> Vec<u32> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    outcome.frames.iter().map(|frame| number(&frame.bytes)).collect()
}

/// The packets in the order in which they are yielded.
fn merged(interfaces: usize, packets: &[Packet]) -> Vec<Packet> {
    let outcome = read(section(interfaces, 0, packets).bytes.as_slice());
    assert!(outcome.error.is_none() && outcome.cut.is_none());
    let order = numbers(&outcome);
    let mut all = order.clone();
    all.sort_unstable();
    assert_eq!(all, (0..packets.len() as u32).collect::<Vec<_>>(), "each one once");
    for (frame, &number) in outcome.frames.iter().zip(&order) {
        assert_eq!(frame.at_ns, Some(packets[number as usize].1 as i64 * 1_000_000), "with its own time");
    }
    order.into_iter().map(|number| packets[number as usize]).collect()
}

/// Blocks of two interfaces in turn, as dumpcap writes them: each in order, one up to 250 ms behind the other.
fn blocks() -> Vec<Packet> {
    let block = |n: u64| {
        let times = (250 * n..250 * (n + 1)).step_by(10);
        times.clone().map(|at| (1, at + 3)).chain(times.map(|at| (0, at)))
    };
    (4..20).flat_map(block).collect()
}

#[test]
fn blocks_of_interfaces_are_merged() {
    assert_eq!(merged(2, &[(1, 7), (0, 5)]), [(0, 5), (1, 7)]);
    let mut sorted = blocks();
    sorted.sort_by_key(|packet| packet.1);
    assert_eq!(merged(2, &blocks()), sorted);
    // One that has no packets changes nothing, and neither does one that has few.
    assert_eq!(merged(3, &blocks()), sorted);
    let few: Vec<Packet> = blocks().into_iter().filter(|&(interface, at)| interface == 0 || at % 1_000 == 3).collect();
    let mut sorted = few.clone();
    sorted.sort_by_key(|packet| packet.1);
    assert_eq!(merged(2, &few), sorted);
}

/// A request per second, each after its response in the file.
#[test]
fn pauses_do_not_matter() {
    let packets: Vec<Packet> = (1..9).flat_map(|second| [(1, 1_000 * second + 2), (0, 1_000 * second)]).collect();
    assert!(merged(2, &packets).is_sorted_by_key(|packet| packet.1));
}

#[test]
fn equal_times_keep_the_order_of_the_file() {
    for packets in [[(0, 5), (1, 5), (0, 5), (2, 5)], [(2, 5), (1, 5), (1, 5), (0, 5)]] {
        assert_eq!(merged(3, &packets), packets);
    }
}

/// An interface whose clock is set back by less than the span: its packets stay in order, and are as late as they say.
#[test]
fn packets_of_an_interface_keep_their_order() {
    let packets = [(0, 100), (0, 90), (0, 95), (1, 80), (1, 99), (1, 101), (0, 103)];
    assert_eq!(merged(2, &packets), [(1, 80), (1, 99), (0, 100), (0, 90), (0, 95), (1, 101), (0, 103)]);
}

/// A time far from all others moves no other packet by more than a block.
#[test]
fn a_wild_time_keeps_its_place() {
    let packets = blocks();
    for wild in [0, 500, 7_000, 4_000_000_000_000] {
        for place in (0..packets.len()).step_by(7) {
            let mut packets = packets.clone();
            packets[place].1 = wild;
            let merged = merged(2, &packets);
            let at = merged.iter().position(|packet| packet.1 == wild).unwrap();
            assert!(place.abs_diff(at) <= 50, "{wild} ms at {place} is yielded at {at}");
            let [before, after] = [&merged[..at], &merged[at + 1..]];
            assert!([before, after].iter().all(|part| part.is_sorted_by_key(|packet| packet.1)), "{wild} at {place}");
            assert!(
                before.iter().rev().take(51).skip(50).all(|b| after.iter().all(|a| b.1 < a.1)),
                "{wild} at {place}"
            );
        }
    }
}

/// Interfaces with different clocks, and one whose clock is set.
#[test]
fn clocks_that_differ_leave_the_order_of_the_file() {
    let packets: Vec<Packet> = blocks().into_iter().map(|(n, at)| (n, at + 37_000 * u64::from(n))).collect();
    assert_eq!(merged(2, &packets), packets);
    for step in [-700i64, 5_000] {
        let set = |(n, at): Packet| (n, if n == 1 && at > 2_000 { at.saturating_add_signed(step) } else { at });
        let packets: Vec<Packet> = blocks().into_iter().map(set).collect();
        let merged = merged(2, &packets);
        // The last block before the step may be cut into two.
        let same = merged.iter().zip(&packets).skip(250).all(|(a, b)| a == b);
        assert!(same, "set by {step} ms");
    }
}

#[test]
fn packets_without_a_time_keep_their_place() {
    let mut file = section(2, 0, &[(1, 9), (0, 8)]);
    file.simple(4, &2u32.to_le_bytes()).simple(4, &3u32.to_le_bytes());
    file.enhanced(1, 7, 60, &4u32.to_le_bytes()).enhanced(0, 6, 60, &5u32.to_le_bytes());
    file.simple(4, &6u32.to_le_bytes());
    assert_eq!(numbers(&read(file.bytes.as_slice())), [1, 0, 2, 3, 5, 4, 6]);
}

#[test]
fn sections_are_not_merged() {
    let parts = [section(2, 0, &[(1, 9), (0, 8)]), section(2, 2, &[(1, 5), (0, 4)]), section(1, 4, &[(0, 3), (0, 2)])];
    let bytes: Vec<u8> = parts.into_iter().flat_map(|part| part.bytes).collect();
    assert_eq!(numbers(&read(bytes.as_slice())), [1, 0, 3, 2, 4, 5]);
}

/// An interface that is declared after the first packets.
#[test]
fn interfaces_may_be_declared_late() {
    let mut file = section(1, 0, &[(0, 10), (0, 20)]);
    file.interface(1, 0, &[(9, &[3])]);
    for (number, (interface, at)) in (2..).zip([(1, 35), (0, 30), (0, 40), (1, 45)]) {
        file.enhanced(interface, at, 60, &u32::to_le_bytes(number));
    }
    assert_eq!(numbers(&read(file.bytes.as_slice())), [0, 1, 3, 2, 4, 5]);
}

/// The packets of one interface are yielded as they are.
#[test]
fn a_chosen_interface_is_not_merged() {
    let mut file = Pcapng::new(false);
    // The name of the first is the number of the second.
    file.interface(1, 0, &[(2, b"1")]).interface(1, 0, &[(2, b"eth1")]);
    file.enhanced(1, 8, 4, b"b").enhanced(0, 7, 4, b"a").enhanced(1, 9, 4, b"c").enhanced(0, 5, 4, b"d");
    let mut capture = CaptureFile::open("x", file.bytes.as_slice()).unwrap().only("1");
    let mut seen = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        seen.extend_from_slice(frame.bytes);
    }
    assert_eq!(seen, b"bacd");
}

/// Yields one block at a time, and counts them.
struct Blocks {
    blocks: Vec<Vec<u8>>,
    read: Rc<Cell<usize>>,
}

impl Read for Blocks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(block) = self.blocks.get_mut(self.read.get()) else { return Ok(0) };
        let length = buffer.len().min(block.len());
        buffer[..length].copy_from_slice(&block[..length]);
        block.drain(..length);
        self.read.update(|read| read + usize::from(block.is_empty()));
        Ok(length)
    }
}

/// For each packet of `length` bytes that comes through a pipe, how many had been read when it was yielded.
fn as_they_come(interfaces: usize, packets: &[Packet], length: usize) -> Vec<usize> {
    let mut blocks = vec![section(interfaces, 0, &[]).bytes];
    blocks.extend(packets.iter().map(|&(interface, millis)| {
        let mut block = Pcapng::default();
        block.enhanced(interface, millis, 60, &vec![7; length]);
        block.bytes
    }));
    let read = Rc::new(Cell::new(0));
    let mut capture = CaptureFile::open("x", Blocks { blocks, read: Rc::clone(&read) }).unwrap();
    let mut yielded = Vec::new();
    while capture.next_frame().unwrap().is_some() {
        yielded.push(read.get() - 1);
    }
    yielded
}

/// One packet per 10 ms of the first of two interfaces, then also some of the other: none waits for longer than half a
/// second, nor while the other has a packet.
#[test]
fn an_idle_interface_holds_up_the_others_for_half_a_second() {
    let packets: Vec<Packet> = (100..400).map(|n| (0, 10 * n)).collect();
    let read = as_they_come(2, &packets, 100);
    assert!(read.iter().enumerate().all(|(n, &read)| read == (n + 52).min(packets.len())), "{read:?}");

    let packets: Vec<Packet> = (100..400).map(|n| (n as u32 % 2, 10 * n)).collect();
    let read = as_they_come(2, &packets, 100);
    assert!(read.iter().enumerate().all(|(n, &read)| read == (n + 2).min(packets.len())), "{read:?}");
}

/// Packets of equal times: at most 32 MiB are held. After that, an interface that had none is not waited for.
#[test]
fn memory_is_bounded() {
    let packets = [(0, 5); 600];
    let read = as_they_come(2, &packets, 100_000);
    let most = (32 << 20) / 100_128 + 1;
    for (number, read) in read.into_iter().enumerate() {
        let held = if number < most { most } else { number + 1 };
        assert_eq!(read, held, "packet {number}");
    }
    // One that had some is.
    let packets: Vec<Packet> = (0..600).map(|n| (u32::from(n == 0), 5)).collect();
    let read = as_they_come(2, &packets, 100_000);
    for (number, read) in read.into_iter().enumerate().skip(2) {
        assert_eq!(read, (number + most).min(600), "packet {number}");
    }
}

/// What has been given is freed, and small packets share memory.
#[test]
fn memory_is_that_of_held_frames() {
    for (length, packets, sections) in [(100_000, 20, 100), (4, 100_000, 1)] {
        let mut part = section(2, 0, &[]);
        for number in 0..packets {
            let interface = u32::from(number + 1 == packets);
            part.enhanced(interface, 100 * number / packets, 60, &vec![7; length]);
        }
        let before = peak_bytes();
        let mut file: Box<dyn Read> = Box::new(io::empty());
        for _ in 0..sections {
            file = Box::new(file.chain(part.bytes.as_slice()));
        }
        let mut capture = CaptureFile::open("x", file).unwrap();
        while capture.next_frame().unwrap().is_some() {}
        assert_eq!(capture.frames(), packets * sections);
        assert!(peak_bytes() - before < 64 << 20, "{} bytes more", peak_bytes() - before);
    }
}

/// Every prefix of a file yields the frames that it has, in the order of their times, and says where it was cut.
#[test]
fn cut_at_every_byte() {
    let packets = &blocks()[20..60];
    let header = section(2, 0, &[]).bytes.len();
    let bytes = section(2, 0, packets).bytes;
    for length in header..bytes.len() {
        let outcome = read(&bytes[..length]);
        let whole = (length - header) / 36;
        let mut expected: Vec<u32> = (0..whole as u32).collect();
        expected.sort_by_key(|&number| packets[number as usize].1);
        assert_eq!(numbers(&outcome), expected, "cut at {length}");
        let cut = outcome.cut.map(|cut| (cut.offset, cut.frames));
        assert_eq!(
            cut,
            (!(length - header).is_multiple_of(36)).then_some(((header + whole * 36) as u64, whole as u64))
        );
    }
}

#[test]
fn what_precedes_damage_is_yielded() {
    let packets = &blocks()[20..60];
    let mut file = section(2, 0, packets);
    let offset = file.bytes.len() as u64;
    file.enhanced(7, 5, 4, b"lost").enhanced(0, 5, 4, b"lost");
    let outcome = read(file.bytes.as_slice());
    assert!(outcome.frames.is_sorted_by_key(|frame| frame.at_ns));
    let Some(CaptureError::Damaged { offset: at, frames, .. }) = outcome.error else { panic!("{outcome:?}") };
    assert_eq!((at, frames), (offset + 8, 40));
}

/// Sections of as many interfaces as there can be, each with a packet, the latest first.
#[test]
fn very_many_interfaces() {
    let packets: Vec<Packet> = (0..1 << 16).map(|n| (n, 500 - u64::from(n) * 500 / (1 << 16))).collect();
    let bytes = section(1 << 16, 0, &packets).bytes;
    let mut file: Box<dyn Read> = Box::new(io::empty());
    for _ in 0..2 {
        file = Box::new(file.chain(bytes.as_slice()));
    }
    let mut capture = CaptureFile::open("x", file).unwrap();
    let (mut seen, mut last) = (0, 0);
    while let Some(frame) = capture.next_frame().unwrap() {
        let at = frame.at.unwrap().as_nanos();
        assert!(at >= last || seen % (1 << 16) == 0, "frame {seen}");
        (seen, last) = (seen + 1, at);
    }
    assert_eq!(seen, 2 << 16);
}

/// What may follow in a file.
#[derive(Clone, Debug)]
enum Part {
    /// A packet of one of three interfaces, so many milliseconds after the one before.
    Packet(u32, i64),
    Timeless,
    Section(usize),
    Interface,
    Other,
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        40 => (0..3u32, -300i64..320).prop_map(|(interface, step)| Part::Packet(interface, step)),
        2 => (0..3u32, -900_000i64..900_000).prop_map(|(interface, step)| Part::Packet(interface, step)),
        2 => Just(Part::Timeless),
        1 => (1..4usize).prop_map(Part::Section),
        1 => Just(Part::Interface),
        2 => Just(Part::Other),
    ]
}

proptest! {
    /// Whatever a file has: each frame is yielded once, those of an interface in their order, and it makes no difference in
    /// which pieces the file comes.
    #[test]
    fn nothing_is_lost_or_moved_within_an_interface(parts in prop::collection::vec(part(), 0..120), limit in 1..200usize) {
        let mut file = section(3, 0, &[]);
        let (mut at, mut interfaces, mut sections) = (10_000_000i64, 3, 0);
        // Section, interface and time of each packet.
        let mut packets = Vec::new();
        for part in parts {
            let number = packets.len() as u32;
            match part {
                Part::Packet(interface, step) if (interface as usize) < interfaces => {
                    at += step;
                    file.enhanced(interface, at as u64, 60, &number.to_le_bytes());
                    packets.push((sections, interface, Some(at * 1_000_000)));
                }
                Part::Timeless => {
                    file.simple(4, &number.to_le_bytes());
                    packets.push((sections, 0, None));
                }
                Part::Section(count) => {
                    file.section(false);
                    (0..count).for_each(|_| _ = file.interface(1, 0, &[(9, &[3])]));
                    (interfaces, sections) = (count, sections + 1);
                }
                Part::Interface => {
                    file.interface(1, 0, &[(9, &[3])]);
                    interfaces += 1;
                }
                Part::Packet(..) => {}
                Part::Other => _ = file.block(0xbad, &[7; 30]),
            }
        }
        let outcome = read(file.bytes.as_slice());
        let order = numbers(&outcome);
        let mut all = order.clone();
        all.sort_unstable();
        prop_assert_eq!(all, (0..packets.len() as u32).collect::<Vec<_>>());
        for (frame, &number) in outcome.frames.iter().zip(&order) {
            prop_assert_eq!(frame.at_ns, packets[number as usize].2);
        }
        for interface in 0..3 {
            let of_it = order.iter().filter(|&&number| packets[number as usize].1 == interface);
            prop_assert!(of_it.is_sorted());
        }
        prop_assert!(order.iter().map(|&number| packets[number as usize].0).is_sorted(), "sections in order");
        for (place, &number) in order.iter().enumerate() {
            if packets[number as usize].2.is_none() {
                prop_assert_eq!(place as u32, number, "without a time");
            }
        }
        let pieces = read(Trickle { reader: file.bytes.as_slice(), limit, turn: 0 });
        prop_assert_eq!(pieces.frames, outcome.frames);
    }
}
