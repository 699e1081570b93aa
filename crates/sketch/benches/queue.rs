//! Speed of the sketches that show which flows built a queue: flows already hashed, state in the second-level cache.
//!
//! `cargo bench -p dwell-sketch --bench queue`. Every case processes the same 4 M departures five times, each with an
//! update and a query that reads nearly all snapshots, prints the fastest and the median run in nanoseconds per packet,
//! and checks the answer: a sketch that is fast but wrong fails.

mod common;

use common::times;
use dwell_sketch::conquest::{Cleaning, Conquest, Counter, Params, Rule};
use dwell_types::{Departure, FlowId, Nanos, Timestamp, hash};
use std::hint::black_box;

const PACKETS: u64 = 4_000_000;
/// Time between departures, and the length of the packets: a line of 10 Gb/s.
const GAP: i64 = 640;
const BYTES: u32 = 800;
/// Time covered by all snapshots together, and the longest delay of a packet.
const SPAN: i64 = 6_400_000;
const LONGEST: u64 = 5_600_000;
/// One in so many packets is of one flow; 1,000 others share the rest.
const HEAVY: u64 = 4;

fn departures() -> Vec<Departure> {
    let departure = |i: u64| {
        let random = hash::finish(i);
        let departed = Timestamp::from_nanos(i as i64 * GAP);
        let delay = LONGEST - (random >> 32) % (LONGEST / 4);
        let flow = if random.is_multiple_of(HEAVY) { 0 } else { 1 + random % 1_000 };
        Departure { arrived: Some(departed - Nanos::new(delay as i64)), departed, flow: FlowId(flow), bytes: BYTES }
    };
    (0..PACKETS).map(departure).collect()
}

/// Prints the times; the packets of the heavy flow must find its share of the queue, on average.
fn measure(name: &str, departures: &[Departure], params: &Params) {
    let mut state_bytes = 0;
    let run = || {
        let mut sketch = Conquest::new(params).expect("parameters are in range");
        let (mut shares, mut packets) = (0.0, 0.0);
        for departure in departures {
            let queued = sketch.update(departure);
            // Branchless, since the branch would be unpredictable.
            let is_heavy = f64::from(u8::from(departure.flow == FlowId(0)));
            shares += is_heavy * queued.and_then(|queued| queued.share).unwrap_or(0.0);
            packets += is_heavy;
        }
        (sketch, shares / packets)
    };
    let [fastest, median] = times(PACKETS, run, |(sketch, share)| {
        let error = black_box(share) * HEAVY as f64;
        assert!((0.98..1.1).contains(&error), "{name}: {error}");
        state_bytes = sketch.state_bytes();
    });
    println!("{name:40} {state_bytes:7} bytes {fastest:6.2} {median:6.2} ns/packet {:6.1} M/s", 1e3 / median);
}

fn main() {
    let departures = departures();
    let count_min = |is_conservative| Counter::CountMin { rows: 4, columns: 64, is_conservative };
    let counters = [
        ("4 x 64", count_min(false)),
        ("4 x 64, conservative", count_min(true)),
        ("space-saving 16", Counter::SpaceSaving { entries: 16 }),
    ];
    for (name, counter) in counters {
        for snapshots in [4, 8, 16, 32, 64] {
            let params = Params { counter, ..Params::new(snapshots, Nanos::new(SPAN), 64, 1) };
            measure(&format!("{name}, h = {snapshots}"), &departures, &params);
        }
    }
    let eight = Params::new(8, Nanos::new(SPAN), 64, 1);
    let rules = [("paper", Rule::Paper), ("text", Rule::Text), ("hardware", Rule::Hardware)];
    for (name, rule) in rules {
        measure(&format!("4 x 64, h = 8, {name}"), &departures, &Params { rule, ..eight.clone() });
    }
    let cleaned = Params { cleaning: Cleaning::Cyclic, snapshots: 9, ..eight.clone() };
    measure("4 x 64, h = 9, cleaned cyclically", &departures, &cleaned);
    let shifted = Params { windows: vec![Nanos::new(1 << 20)], ..eight.clone() };
    measure("4 x 64, h = 8, T = 2^20 ns", &departures, &shifted);
    let [short, long] = [Nanos::new(200_000), Nanos::new(1_000_000)];
    measure("4 x 64, h = 8, two groups", &departures, &Params { windows: vec![short, long], ..eight });
}
