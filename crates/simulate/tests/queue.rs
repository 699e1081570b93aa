//! A queue matches its settings, and the truth equals what departs while a packet waits.

mod common;

use common::{assert_near, is_near};
use dwell_simulate::queue::{
    Arrival, Background, Bursts, Discipline, Event, Passage, Passages, Settings, SettingsError,
};
use dwell_types::{FlowId, Nanos, Timestamp};
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;

fn passages(settings: &Settings) -> Vec<Passage> {
    Passages::new(settings, 3).expect("valid settings").collect()
}

fn delay(passage: &Passage) -> i64 {
    passage.departure.delay().map_or(0, Nanos::get)
}

/// In a first-in-first-out queue, the bytes in the queue with a packet are those that depart while it waits
/// [conquest §2.2], which counts them in another way.
#[test]
fn the_truth_is_what_departs_meanwhile() {
    let start = Timestamp::from_parts(1_700_000_000, 5);
    for settings in [Settings::conquest_data_center(), Settings { start, ..Settings::incast() }] {
        let seen = passages(&settings.with_packets(30_000));
        assert!(seen.is_sorted_by_key(|passage| passage.departure.departed));
        assert!(seen.is_sorted_by_key(|passage| passage.departure.arrived));
        for (number, passage) in seen.iter().enumerate().step_by(37) {
            let (mut flow, mut queue) = (0, 0);
            let waiting = seen[..=number].iter().rev().map(|other| other.departure);
            for other in waiting.take_while(|other| Some(other.departed) >= passage.departure.arrived) {
                queue += u64::from(other.bytes);
                flow += u64::from(other.bytes) * u64::from(other.flow == passage.departure.flow);
            }
            assert_eq!((passage.flow_bytes, passage.queue_bytes), (flow, queue), "packet {number}");
        }
    }
}

/// A link of 10 Gb/s takes 0.8 ns per byte: a packet waits as long as the bytes before it and its own take, less the
/// part already sent of the packet in transmission, and a nanosecond of rounding.
#[test]
fn delays_are_those_of_the_line() {
    let seen = passages(&Settings::conquest_data_center().with_packets(200_000));
    for passage in &seen {
        let line = passage.queue_bytes as f64 * 0.8;
        let waited = delay(passage) as f64;
        assert!(waited < line + 2.0 && waited > line - 1_500.0 * 0.8 - 2.0, "{passage:?}");
    }
    let longest = seen.iter().map(delay).max().unwrap_or(0);
    assert!((4_000_000..8_000_000).contains(&longest), "{longest}");
}

const TURNS: Discipline = Discipline::RoundRobin { quantum: 1_500 };

/// Under every discipline the link is never idle while a packet waits, so bytes leave at the same times as first in,
/// first out; a flow's packets keep their order; and the queue contains what has arrived and not departed.
#[test]
fn disciplines_change_the_order_and_nothing_else() {
    let busy = |discipline| {
        let settings = Settings { discipline, ..Settings::conquest_data_center() }.with_packets(30_000);
        let mut stream = Passages::new(&settings, 3).expect("valid settings");
        let (mut in_queue, mut found, mut seen) = (0, BTreeMap::new(), Vec::new());
        while let Some(event) = stream.next_event() {
            match event {
                Event::Arrival(arrival, has_room) => {
                    assert!(has_room);
                    in_queue += u64::from(arrival.bytes);
                    found.insert(arrival.number, in_queue);
                }
                Event::Departure(passage) => {
                    in_queue -= u64::from(passage.departure.bytes);
                    assert_eq!(found.get(&passage.number), Some(&passage.queue_bytes));
                    seen.push(passage);
                }
            }
        }
        assert!(seen.is_sorted_by_key(|passage| passage.departure.departed));
        let mut last: BTreeMap<FlowId, u64> = BTreeMap::new();
        let in_order = |passage: &Passage| last.insert(passage.departure.flow, passage.number) < Some(passage.number);
        assert!(seen.iter().all(in_order));
        seen
    };
    let [fifo, priority, turns] = [Discipline::Fifo, Discipline::Priority, TURNS].map(busy);
    assert!(fifo.is_sorted_by_key(|passage| passage.number) && !priority.is_sorted_by_key(|passage| passage.number));
    // When the queue is empty, everything that arrived has left: so the same packets find it empty under all
    // disciplines, compared as far as all streams have got.
    let alone = |seen: &[Passage]| {
        let is_alone = |passage: &&Passage| passage.queue_bytes == u64::from(passage.departure.bytes);
        let numbers = seen.iter().filter(is_alone).map(|passage| passage.number);
        numbers.filter(|&number| number < 20_000).collect::<HashSet<u64>>()
    };
    assert!(alone(&fifo).len() > 1_000 && alone(&fifo) == alone(&priority) && alone(&fifo) == alone(&turns));
    // Small flows wait at most for the packet in transmission, or for one turn of all other flows.
    let longest_small =
        |seen: &[Passage]| seen.iter().filter(|passage| !passage.is_burst).map(delay).max().unwrap_or(0);
    assert!(longest_small(&fifo) > 1_000_000);
    assert!(longest_small(&priority) < 20_000, "{}", longest_small(&priority));
    assert!(longest_small(&turns) < longest_small(&fifo) / 4, "{}", longest_small(&turns));
}

/// Flows that always have packets waiting share the link by bytes, whatever the lengths of their packets, to within two
/// of the longest packets.
#[test]
fn turns_share_by_bytes() {
    let flows = [(1, 1_500), (2, 300), (3, 64)];
    let all = (0..6_000u64).flat_map(|_| flows);
    let arrivals = (0u64..).zip(all).map(|(number, (flow, bytes))| Arrival {
        number,
        at: 0.0,
        flow: FlowId(flow),
        bytes,
        is_burst: false,
    });
    let settings = Settings { discipline: TURNS, ..Settings::conquest_data_center() }.with_packets(2_000);
    let mut sent: BTreeMap<u64, i64> = BTreeMap::new();
    let seen = Passages::of(arrivals, &settings).expect("valid settings");
    seen.for_each(|passage| *sent.entry(passage.departure.flow.0).or_default() += i64::from(passage.departure.bytes));
    let (least, most) = (sent.values().min(), sent.values().max());
    assert!(sent.len() == 3 && most.zip(least).is_some_and(|(most, least)| most - least <= 2 * 1_500), "{sent:?}");
}

/// Given arrivals pass in their order, and the stream ends when all have left.
#[test]
fn a_log_of_arrivals_is_fed() {
    let arrival = |number: u64| Arrival {
        number,
        at: number as f64 * 100.0,
        flow: FlowId(number % 3),
        bytes: 1_000,
        is_burst: false,
    };
    let settings = Settings { rate: 8e9, buffer_bytes: Some(3_000), ..Settings::conquest_data_center() };
    let seen: Vec<Passage> = Passages::of((0..100).map(arrival), &settings).expect("valid settings").collect();
    // A packet takes 1 µs, during which ten arrive; three have room.
    assert_eq!(seen.len(), 12);
    let departed: Vec<i64> = seen.iter().map(|passage| passage.departure.departed.as_nanos()).collect();
    assert_eq!(departed, (1..=12).map(|packet| packet * 1_000).collect::<Vec<_>>());
    assert_eq!(
        (delay(&seen[0]), seen[0].queue_bytes, delay(&seen[2]), seen[2].queue_bytes),
        (1_000, 1_000, 2_800, 3_000)
    );
}

#[test]
fn a_full_buffer_drops() {
    let seen = passages(&Settings::incast().with_packets(100_000));
    let most = seen.iter().map(|passage| passage.queue_bytes).max().unwrap_or(0);
    let bound = 2 << 20;
    assert!(most <= bound && most > bound - 1_500, "{most}");
    // Whoever came before the last one has departed or was dropped.
    let dropped = seen.last().map_or(0, |last| last.number + 1 - seen.len() as u64);
    assert!(dropped > 1_000, "{dropped}");
}

/// The load is within six standard errors (2·10⁻⁹): *n* packets of 64 to 512 bytes at Poisson times. Their number in a
/// given time has a relative standard error of 1/√*n*, their length one of .45/√*n*. A load that includes the gaps
/// between packets must fail.
#[test]
fn the_background_has_its_rate() {
    let settings = Settings { bursts: None, ..Settings::conquest_data_center() }.with_packets(200_000);
    let seen = passages(&settings);
    let bytes: u64 = seen.iter().map(|passage| u64::from(passage.departure.bytes)).sum();
    let seconds = seen[seen.len() - 1].departure.departed.as_nanos() as f64 / 1e9;
    let load = bytes as f64 * 8.0 / seconds / settings.background.rate;
    let error = 1.1 / (seen.len() as f64).sqrt();
    assert_near(load, 1.0, error);
    // Including the 20 bytes between two packets on a wire.
    assert!(!is_near(load * (1.0 + 20.0 / 288.0), 1.0, error));
    let flows: HashSet<FlowId> = seen.iter().map(|passage| passage.departure.flow).collect();
    assert!(flows.len() > 1_000, "{}", flows.len());
}

/// Of 100 places with *s* = .5 the first sends a tenth, √(1/100), and a flow there that does not end has that share:
/// within six standard errors (2·10⁻⁹). With equal places it has a hundredth, which must fail.
#[test]
fn a_background_may_be_unequal() {
    let largest = |skew: f64| {
        let base = Settings::conquest_data_center();
        let background = Background { flows: 100, skew, flow_packets: (1 << 20, 1.0), ..base.background.clone() };
        let seen = passages(&Settings { background, bursts: None, ..base }.with_packets(100_000));
        let mut flows: BTreeMap<FlowId, u64> = BTreeMap::new();
        seen.iter().for_each(|passage| *flows.entry(passage.departure.flow).or_default() += 1);
        flows.values().copied().max().unwrap_or(0) as f64 / seen.len() as f64
    };
    let error = (0.1f64 * 0.9 / 1e5).sqrt();
    let (unequal, equal) = (largest(0.5), largest(0.0));
    assert_near(unequal, 0.1, error);
    assert!(!is_near(equal, 0.1, error) && equal < 0.013, "{equal}");
}

#[test]
fn a_seed_is_a_stream() {
    let settings = Settings::incast().with_packets(5_000);
    assert_eq!(passages(&settings), passages(&settings));
    let other: Vec<Passage> = Passages::new(&settings, 4).expect("valid settings").collect();
    assert!(passages(&settings) != other);
}

/// The rate of the background plus that of bursts: three flows every 20 ms, of 50 kB to 5 MB with an index of ½, by the
/// antiderivative 2√(50 kB · x).
#[test]
fn what_arrives_on_average() {
    let settings = Settings::conquest_data_center();
    let bytes = 50e3 + 2.0 * 50e3f64.sqrt() * (5e6f64.sqrt() - 50e3f64.sqrt());
    let expected = 5e8 + 3.0 * bytes * 8.0 / 0.02;
    assert!((settings.arrival_rate() / expected - 1.0).abs() < 1e-12, "{} {expected}", settings.arrival_rate());
    // With an index of one: least · (1 + ln 2).
    let expected = 5e8 + 64.0 * 32e3 * (1.0 + std::f64::consts::LN_2) * 8.0 / 0.02;
    assert!((Settings::incast().arrival_rate() / expected - 1.0).abs() < 1e-12);
}

#[test]
fn what_cannot_be_is_refused() {
    let base = Settings::conquest_data_center;
    let background = |background: Background| Settings { background, ..base() };
    let bursts = |change: fn(&mut Bursts)| {
        let mut settings = base();
        settings.bursts.as_mut().into_iter().for_each(change);
        settings
    };
    let small = base().background;
    let cases = [
        (Settings { rate: 0.0, ..base() }, SettingsError::Rate(0.0)),
        (Settings { discipline: Discipline::RoundRobin { quantum: 0 }, ..base() }, SettingsError::Quantum(0)),
        (background(Background { rate: 1e14, ..small.clone() }), SettingsError::Rate(1e14)),
        (background(Background { flows: 0, ..small.clone() }), SettingsError::Flows(0)),
        (background(Background { skew: 1.0, ..small.clone() }), SettingsError::Skew(1.0)),
        (background(Background { flow_packets: (0, 1.0), ..small.clone() }), SettingsError::Sizes),
        (background(Background { packet_bytes: 0..=9, ..small.clone() }), SettingsError::PacketBytes(0)),
        (background(Background { packet_bytes: RangeInclusive::new(9, 8), ..small }), SettingsError::Sizes),
        (bursts(|bursts| bursts.every = Nanos::ZERO), SettingsError::Every(Nanos::ZERO)),
        (bursts(|bursts| bursts.senders = 0), SettingsError::Senders(0)),
        (bursts(|bursts| bursts.bytes = (9.0, 8.0)), SettingsError::Sizes),
        (bursts(|bursts| bursts.shape = 0.0), SettingsError::Sizes),
        (bursts(|bursts| bursts.packet_bytes = 1 << 16), SettingsError::PacketBytes(1 << 16)),
    ];
    for (settings, error) in cases {
        assert_eq!(Passages::new(&settings, 1).err(), Some(error));
    }
    // At least small packets must fit, or the stream would not end.
    let slow = Settings { rate: 1e9, ..base() }.with_packets(100);
    for (bytes, is_enough) in [(63, false), (64, true)] {
        let passages = Passages::new(&Settings { buffer_bytes: Some(bytes), ..slow.clone() }, 1);
        assert_eq!(passages.map(Iterator::count), if is_enough { Ok(100) } else { Err(SettingsError::Buffer(bytes)) });
    }
}
