//! Speed of the methods that measure the delays of flows: packets already hashed, state in the second-level cache.
//!
//! `cargo bench -p dwell-sketch --bench flows`. Every case processes the same 4 M packets of 20,000 flows at both
//! points five times, prints the fastest and the median run in nanoseconds per packet and point, and the fastest as a
//! multiple of a mere walk over the packets, and checks the answer.

mod common;

use common::times;
use dwell_sketch::lds::{Comparison, Lds, Params};
use dwell_sketch::rivals::flow_table::FlowTable;
use dwell_types::{Crossing, FlowId, PacketId, Timestamp, hash};
use std::hint::black_box;

const PACKETS: u64 = 4_000_000;
const FLOWS: u64 = 20_000;
const DELAY: i64 = 500;

/// Packets 200 ns apart, at the sender and at the receiver.
fn streams() -> [Vec<Crossing>; 2] {
    let crossing = |i: u64, delay: i64| Crossing {
        packet: PacketId(hash::finish(i)),
        flow: FlowId(hash::finish(hash::finish(!i) % FLOWS)),
        at: Timestamp::from_nanos(i as i64 * 200 + delay),
        bytes: 100,
    };
    [0, DELAY].map(|delay| (0..PACKETS).map(|i| crossing(i, delay)).collect())
}

/// The lower limit: nanoseconds per packet and point of a walk over both streams that only reads them.
fn walk(streams: &[Vec<Crossing>; 2]) -> f64 {
    let word = |crossing: &Crossing| crossing.packet.0 ^ crossing.flow.0 ^ crossing.at.as_nanos() as u64;
    let sum = || streams.iter().flatten().fold(0, |sum, crossing| sum ^ word(crossing));
    let [fastest, _] = times(2 * PACKETS, || black_box(sum()), |_| ());
    println!("{:36} {fastest:6.2}", "walk");
    fastest
}

/// Prints the times of a method, and checks its mean delay.
fn measure<S>(
    name: &str,
    floor: f64,
    streams: &[Vec<Crossing>; 2],
    make: impl Fn() -> S,
    update: impl Fn(&mut S, &Crossing),
    mean: impl Fn(&S, &S) -> Option<f64>,
) {
    let run = || {
        [0, 1].map(|point| {
            let mut sketch = make();
            streams[point].iter().for_each(|crossing| update(&mut sketch, crossing));
            sketch
        })
    };
    let [fastest, median] = times(2 * PACKETS, run, |[sender, receiver]| {
        assert_eq!(black_box(mean(&sender, &receiver)), Some(DELAY as f64), "{name}");
    });
    let rate = 1e3 / median;
    println!("{name:36} {fastest:6.2} {median:6.2} ns/packet {rate:8.1} M/s, {:5.1} walks", fastest / floor);
}

fn measure_lds(name: &str, floor: f64, streams: &[Vec<Crossing>; 2], params: &Params, class: impl Fn(&Crossing) -> u8) {
    let make = || Lds::new(params.clone()).expect("parameters are in range");
    let name = format!("lds {name}, {} KiB", make().state_bytes() >> 10);
    let update = |sketch: &mut Lds, crossing: &Crossing| sketch.update_class(crossing, class(crossing));
    measure(&name, floor, streams, make, update, |sender, receiver| {
        Comparison::new(sender, receiver).expect("they have equal parameters").average_ns()
    });
}

fn main() {
    let streams = streams();
    let floor = walk(&streams);
    for columns in [4_096, 17_500] {
        let one = Params::new(4, columns, 1);
        let all = |_: &Crossing| 0;
        measure_lds("4 rows", floor, &streams, &one, all);
        measure_lds("4 rows, bytes", floor, &streams, &Params { has_bytes: true, ..one.clone() }, all);
        let spread = Params { cells_per_flow: 5, rates: vec![1.0, 0.5, 0.1, 0.01], ..one.clone() };
        measure_lds("4 rows of 5 cells, sampled", floor, &streams, &spread, all);
        let weighted = Params { weights: vec![1, 25, 100], ..one };
        measure_lds("4 rows, weights", floor, &streams, &weighted, |crossing| match crossing.flow.0 % 100 {
            0 => 2,
            1..=9 => 1,
            _ => 0,
        });
    }
    let table = || FlowTable::new(1 << 20, 1).expect("enough bytes");
    measure("table of flows, 1 MiB", floor, &streams, table, FlowTable::update, |sender, receiver| {
        let found = streams[0].iter().find_map(|crossing| receiver.since(sender, crossing.flow))?;
        Some(found.delay_ns as f64 / f64::from(found.packets))
    });
}
