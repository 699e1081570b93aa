//! Speed of the methods that measure between two points: packets already hashed, state in the second-level cache.
//!
//! `cargo bench -p dwell-sketch --bench crossings`. Every case processes the same 4 M packets at both points five
//! times, prints the fastest and the median run in nanoseconds per packet and point, and the fastest as a multiple of a
//! mere walk over the packets, and checks the answer: a sketch that is fast but wrong fails.

mod common;

use common::times;
use dwell_sketch::lda::{Bank, CellSize, Expected, Lda, Params};
use dwell_sketch::moments::{Level, Moments};
use dwell_sketch::rivals::trajectory::Trajectory;
use dwell_types::{PacketId, Timestamp, hash};
use std::hint::black_box;

const PACKETS: u64 = 4_000_000;
const MEAN: f64 = 500.0;

/// Packets 200 ns apart, of which one in a thousand is lost; delays of 0 to 1,000 ns.
fn streams() -> [Vec<(PacketId, Timestamp)>; 2] {
    let at = |i: u64, delay: u64| Timestamp::from_nanos((i * 200 + delay) as i64);
    let packet = |i: u64| PacketId(hash::finish(i));
    let arrives = |i: &u64| !hash::finish(!i).is_multiple_of(1_000);
    let sent = (0..PACKETS).map(|i| (packet(i), at(i, 0))).collect();
    [sent, (0..PACKETS).filter(arrives).map(|i| (packet(i), at(i, hash::finish(i ^ 0x5555) % 1_001))).collect()]
}

/// Packets at both points.
fn packets(streams: &[Vec<(PacketId, Timestamp)>; 2]) -> u64 {
    (streams[0].len() + streams[1].len()) as u64
}

/// The lower limit: nanoseconds per packet and point of a walk over both streams that only reads them.
fn walk(streams: &[Vec<(PacketId, Timestamp)>; 2]) -> f64 {
    let sum = || streams.iter().flatten().fold(0, |sum, &(packet, at)| sum ^ packet.0 ^ at.as_nanos() as u64);
    let [fastest, _] = times(packets(streams), || black_box(sum()), |_| ());
    println!("{:36} {fastest:6.2}", "walk");
    fastest
}

/// Prints the times of a sketch for both streams; its interval of the mean, 5 times as wide, must contain the true
/// value.
fn measure<S>(
    name: &str,
    floor: f64,
    streams: &[Vec<(PacketId, Timestamp)>; 2],
    make: impl Fn() -> S,
    update: impl Fn(&mut S, &[(PacketId, Timestamp)]),
    answer: impl Fn(&S, &S) -> Option<Moments>,
) {
    let run = || {
        [0, 1].map(|point| {
            let mut sketch = make();
            update(&mut sketch, &streams[point]);
            sketch
        })
    };
    let [fastest, median] = times(packets(streams), run, |[sender, receiver]| {
        let mean = answer(&sender, &receiver).expect("enough packets").mean(Level::P95);
        assert!((mean.value - MEAN).abs() < 5.0 * (mean.high - mean.low), "{name}: {mean:?}");
        black_box(mean);
    });
    let rate = 1e3 / median;
    println!("{name:36} {fastest:6.2} {median:6.2} ns/packet {rate:8.1} M/s, {:5.1} walks", fastest / floor);
}

fn measure_lda(name: &str, floor: f64, streams: &[Vec<(PacketId, Timestamp)>; 2], params: &Params) {
    let make = || Lda::new(params.clone()).expect("parameters are in range");
    let name = format!("lda {name}, {} bytes", params.state_bytes());
    let update = |lda: &mut Lda, packets: &[(PacketId, Timestamp)]| lda.update_all(packets.iter().copied());
    measure(&name, floor, streams, make, update, |sender, receiver| {
        receiver.since(sender).ok().and_then(|answer| answer.delays)
    });
}

fn main() {
    let streams = streams();
    let floor = walk(&streams);
    for bytes in [9216, 1 << 18] {
        let params = Params::budget_for(bytes, &Expected::default()).expect("enough bytes");
        measure_lda("default", floor, &streams, &params);
    }
    for cell in CellSize::ALL {
        // All packets are sampled: the largest possible amount of work.
        let rows = ((256 << 10) / cell.bytes()) as u32;
        let params = Params { banks: vec![Bank { rows, probability: 1.0 }], cell, seed: 1 };
        measure_lda(&format!("of all, {} bit", 8 * cell.bytes()), floor, &streams, &params);
    }
    let make = || Trajectory::new(9216, 1).expect("enough bytes");
    let update = |sample: &mut Trajectory, packets: &[(PacketId, Timestamp)]| {
        packets.iter().for_each(|&(packet, at)| sample.update(packet, at));
    };
    measure("trajectory, 9216 bytes", floor, &streams, make, update, |sender, receiver| {
        receiver.since(sender).ok().flatten()
    });
}
