//! The one-way delay meter, compared with lists of packets whose fates are known.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use dwell_sketch::estimate::Estimate;
use dwell_sketch::owd::{BothWays, FlowAnswer, IntervalAnswer, LossRuns, OwdMeter, Settings, Side, Tally, Totals};
use dwell_types::{Crossing, FlowId, Nanos, PacketId, Timestamp, hash};

const SECOND: i64 = 1_000_000_000;
const MILLI: i64 = 1_000_000;

const EXACT: Settings = Settings { memory: None, longest: Nanos::from_secs(2), interval: None, flows: 0, seed: 1 };

/// A packet: when it was sent, and its delay if it arrived.
#[derive(Clone, Copy, Debug)]
struct Packet {
    id: u64,
    sent: i64,
    delay: Option<i64>,
}

fn crossing(id: u64, at: i64) -> Crossing {
    Crossing { packet: PacketId(id), flow: FlowId(id % 7), at: Timestamp::from_nanos(at), bytes: 100 + (id % 5) as u32 }
}

/// Both points' crossings in order of time.
fn crossings(packets: &[Packet]) -> Vec<(Side, Crossing)> {
    let sent = packets.iter().map(|p| (Side::Sender, crossing(p.id, p.sent)));
    let received = packets.iter().filter_map(|p| Some((Side::Receiver, crossing(p.id, p.sent + p.delay?))));
    let mut all: Vec<_> = sent.chain(received).collect();
    all.sort_by_key(|(_, crossing)| crossing.at);
    all
}

fn measure(settings: &Settings, packets: &[Packet]) -> OwdMeter {
    let mut meter = OwdMeter::new(settings).unwrap();
    for (side, crossing) in crossings(packets) {
        meter.update(side, &crossing);
    }
    meter.end();
    meter
}

/// A packet with an absurd timestamp, at either point and at either end of the range, does not change the fate of
/// others.
#[test]
fn an_absurd_time_hides_no_other_fate() {
    let packets = stream(500, 4);
    let arrived = packets.iter().filter(|p| p.delay.is_some()).count() as f64;
    for side in [Side::Sender, Side::Receiver] {
        for at in [i64::MAX, i64::MAX - SECOND, i64::MIN, 0] {
            let mut meter = OwdMeter::new(&EXACT).unwrap();
            meter.update(side, &crossing(77, at));
            for (side, crossing) in crossings(&packets) {
                meter.update(side, &crossing);
            }
            meter.end();
            let total = meter.total();
            assert_eq!(total.tally.received().value, arrived, "{side:?} at {at}");
            let fates = [total.tally.received(), total.tally.lost(), total.tally.uncovered()];
            assert_eq!(fates.iter().map(|fate| fate.value).sum::<f64>(), total.sent as f64);
        }
    }
}

/// A number in `0..1`, the same for the same seed and number.
fn uniform(seed: u64, n: u64) -> f64 {
    hash::unit(hash::word(hash::start(seed), n))
}

/// Packets about a millisecond apart, 3% lost, with delays of 5 to 105 ms, so that they are reordered. The first and
/// the last arrive.
fn stream(packets: u64, seed: u64) -> Vec<Packet> {
    (0..packets)
        .map(|n| {
            let is_lost = uniform(seed, 3 * n) < 0.03 && n != 0 && n + 1 != packets;
            let sent = n as i64 * MILLI + (uniform(seed, 3 * n + 1) * 9e5) as i64;
            let delay = 5 * MILLI + (uniform(seed, 3 * n + 2).powi(3) * 1e8) as i64;
            Packet { id: hash::word(hash::start(seed ^ 99), n), sent, delay: (!is_lost).then_some(delay) }
        })
        .collect()
}

fn delays(packets: &[Packet]) -> Vec<i64> {
    packets.iter().filter_map(|p| p.delay).collect()
}

fn mean(delays: &[i64]) -> f64 {
    delays.iter().map(|&d| d as f64).sum::<f64>() / delays.len() as f64
}

fn deviation(delays: &[i64]) -> f64 {
    let mean = mean(delays);
    (delays.iter().map(|&d| (d as f64 - mean).powi(2)).sum::<f64>() / delays.len() as f64).sqrt()
}

fn assert_near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} and {b}");
}

#[test]
fn every_packet_counts_while_there_is_memory() {
    let packets = stream(20_000, 1);
    let meter = measure(&EXACT, &packets);
    let total = meter.total();
    let delays = delays(&packets);
    let lost = (packets.len() - delays.len()) as f64;
    assert!(meter.is_exact());
    assert_eq!((total.sent, total.arrived, total.unsent), (20_000, delays.len() as u64, 0.0));
    let tally = &total.tally;
    assert_eq!((tally.received().value, tally.received().high), (delays.len() as f64, delays.len() as f64));
    assert_eq!((tally.lost().value, tally.lost().low, tally.uncovered().value), (lost, lost, 0.0));
    assert_near(tally.loss_rate(total.sent).unwrap().value, lost / 20_000.0);
    let mean_delay = tally.mean(total.sent).unwrap();
    assert_near(mean_delay.value, mean(&delays));
    assert_eq!(mean_delay.low, mean_delay.high);
    assert_near(tally.standard_deviation(total.sent).unwrap().value, deviation(&delays));
    let steps: f64 = delays.windows(2).map(|two| two[0].abs_diff(two[1]) as f64).sum();
    assert_near(tally.jitter(packets.len() as u64).unwrap(), steps / (delays.len() - 1) as f64);
    let runs: Vec<u64> = packets
        .chunk_by(|a, b| a.delay.is_none() == b.delay.is_none())
        .filter(|r| r[0].delay.is_none())
        .map(|r| r.len() as u64)
        .collect();
    let runs = LossRuns { count: runs.len() as u64, longest: *runs.iter().max().unwrap() };
    assert_eq!(tally.loss_runs(packets.len() as u64), Some(runs));
    let mut sorted = delays;
    sorted.sort_unstable();
    let median = total.distribution.quantile(0.5).unwrap();
    assert_eq!(median.value, sorted[sorted.len().div_ceil(2) - 1]);
}

/// An interval contains the packets sent in it, whenever they arrived, and intervals are in order.
#[test]
fn intervals_are_of_the_time_of_sending() {
    let packets = stream(10_000, 2);
    let mut meter = measure(&Settings { interval: Some(Nanos::from_secs(1)), ..EXACT }, &packets);
    let intervals = meter.take_intervals();
    assert_eq!(intervals.len(), 10);
    for (n, interval) in (0..).zip(&intervals) {
        assert_eq!(interval.start.as_nanos(), n * SECOND);
        assert_eq!(interval.end.as_nanos(), (n + 1) * SECOND);
        let within: Vec<Packet> = packets.iter().filter(|p| p.sent / SECOND == n).copied().collect();
        let delays = delays(&within);
        assert_eq!(interval.sent, within.len() as u64);
        assert_eq!(interval.tally.received().value, delays.len() as f64);
        assert_eq!(interval.tally.lost().value, (within.len() - delays.len()) as f64);
        assert_near(interval.tally.mean(interval.sent).unwrap().value, mean(&delays));
        assert_eq!(interval.distribution.samples(), delays.len() as u64);
    }
    let total = meter.total();
    assert_eq!(intervals.iter().map(|i| i.sent_bytes).sum::<u64>(), total.sent_bytes);
}

#[test]
fn flows_are_ranked_by_bytes_and_the_rest_is_other() {
    let packets = stream(7_000, 3);
    let mut meter = measure(&Settings { flows: 7, ..EXACT }, &packets);
    assert!(meter.has_all_flows());
    let flows = meter.flows(3);
    assert_eq!(flows.len(), 4);
    let mut names = Vec::new();
    for packet in &packets {
        if !names.contains(&(packet.id % 7)) {
            names.push(packet.id % 7);
        }
    }
    let told: Vec<u64> = flows[..3].iter().map(|flow| names[flow.number - 1]).collect();
    for flow in &flows {
        let is_own = |p: &&Packet| match flow.number {
            0 => !told.contains(&(p.id % 7)),
            number => p.id % 7 == names[number - 1],
        };
        let own: Vec<Packet> = packets.iter().filter(is_own).copied().collect();
        assert_eq!((flow.sent, flow.uncounted_bytes), (own.len() as u64, 0), "{}", flow.number);
        assert_near(flow.tally.mean(flow.sent).unwrap().value, mean(&delays(&own)));
        assert_near(flow.tally.standard_deviation(flow.sent).unwrap().value, deviation(&delays(&own)));
        assert_eq!(flow.tally.lost().value, (own.len() - delays(&own).len()) as f64);
        assert_eq!(flow.distribution.samples(), delays(&own).len() as u64);
        assert_eq!(flow.tally.jitter(flow.sent).is_some(), flow.number > 0);
    }
    assert_eq!(flows[3].number, 0);
    assert!(flows[..3].is_sorted_by(|a, b| a.sent_bytes >= b.sent_bytes));
}

/// Packets of many flows, 50 µs apart: the share of flow *i* falls as 1/*i*, 3% are lost, some equal an earlier one of
/// their flow. Each flow has a delay of its own, up to 50 ms, so that hundreds are in flight, and overtake each other.
fn many_flows(packets: u64, seed: u64) -> Vec<(u64, Packet)> {
    let flow_of = |n: u64| 500f64.powf(uniform(seed, 2 * n)) as u64;
    (0..packets)
        .map(|n| {
            let flow = flow_of(n);
            let original = (n.saturating_sub(200)..n).rev().find(|&m| n % 50 == 7 && flow_of(m) == flow).unwrap_or(n);
            let is_lost = uniform(seed, 2 * n + 1) < 0.03;
            let delay = (!is_lost).then_some(100_000 * flow as i64);
            (flow, Packet { id: hash::word(hash::start(seed), original), sent: n as i64 * 50_000, delay })
        })
        .collect()
}

/// Whatever is replaced, all flows together are everything, and each has its own delays and no more than its own bytes.
/// In little memory packets are sampled.
#[test]
fn replaced_flows_are_among_the_others() {
    const FLOWS: usize = 40;
    let packets = many_flows(40_000, 8);
    let points = |side, delay: i64, flow, packet: &Packet| {
        let at = Timestamp::from_nanos(packet.sent + delay);
        (
            side,
            Crossing {
                packet: PacketId(packet.id),
                flow: FlowId(hash::finish(flow)),
                at,
                bytes: 100 + flow as u32 % 7,
            },
        )
    };
    let sent = packets.iter().map(|(flow, packet)| points(Side::Sender, 0, *flow, packet));
    let received =
        packets.iter().filter_map(|(flow, packet)| Some(points(Side::Receiver, packet.delay?, *flow, packet)));
    let mut crossings: Vec<_> = sent.chain(received).collect();
    crossings.sort_by_key(|(_, crossing)| crossing.at);
    let truth = |flow: FlowId| {
        let own = packets.iter().filter(|(other, _)| hash::finish(*other) == flow.0);
        own.map(|(flow, _)| (100 + flow % 7, 100_000 * *flow as i64))
            .fold((0, 0), |(sum, _), (bytes, delay)| (sum + bytes, delay))
    };
    for memory in [None, Some(16 << 20), Some(120 << 10)] {
        for most in [3, FLOWS] {
            let mut meter = OwdMeter::new(&Settings { memory, flows: FLOWS, ..EXACT }).unwrap();
            let mut names = [FlowId(0); FLOWS];
            for (side, crossing) in &crossings {
                if let Some(number) = meter.update(*side, crossing) {
                    names[number - 1] = crossing.flow;
                }
                assert!(meter.state_bytes() <= memory.unwrap_or(usize::MAX));
            }
            meter.end();
            assert_eq!((meter.is_exact(), meter.has_all_flows()), (memory != Some(120 << 10), false));
            let total = meter.total();
            let flows = meter.flows(most);
            assert!(meter.state_bytes() <= memory.unwrap_or(usize::MAX));
            let (others, named) = flows.split_last().unwrap();
            // Up to an eighth of the numbers is vacant.
            assert!(others.number == 0 && named.len() <= most && named.len() >= most - most / 8);
            let sum = |of: fn(&FlowAnswer) -> u64| flows.iter().map(of).sum::<u64>();
            assert_eq!((sum(|f| f.sent), sum(|f| f.sent_bytes)), (total.sent, total.sent_bytes));
            assert_eq!(sum(|f| f.tally.samples()), total.tally.samples());
            assert_eq!(sum(|f| f.distribution.samples()), total.distribution.samples());
            let fates = |tally: &Tally| {
                [tally.received(), tally.lost(), tally.uncovered(), tally.ambiguous()].map(|fate| fate.value)
            };
            for (fate, all) in fates(&total.tally).into_iter().enumerate() {
                assert_near(flows.iter().map(|flow| fates(&flow.tally)[fate]).sum(), all);
            }
            // At most an eighth is replaced at a time.
            let share = total.sent_bytes / (FLOWS - FLOWS / 8) as u64;
            for flow in named {
                let (bytes, delay) = truth(names[flow.number - 1]);
                assert!(flow.sent_bytes <= bytes && bytes <= flow.sent_bytes + flow.uncounted_bytes, "{flow:?}");
                assert!(flow.uncounted_bytes <= share, "{}", flow.uncounted_bytes);
                let seen = flow.distribution.extremes().map(|(min, max)| (min.value, max.value));
                assert!(seen.is_none_or(|seen| seen == (delay, delay)), "{seen:?} {delay}");
            }
            if most == FLOWS {
                let large = (1..500).map(|flow| FlowId(hash::finish(flow))).filter(|flow| truth(*flow).0 > share);
                assert!(large.clone().count() > 2 && large.into_iter().all(|flow| names.contains(&flow)));
            }
        }
    }
}

/// A flow that begins when all numbers are given to small ones gets one of these.
#[test]
fn a_late_flow_with_many_bytes_is_first() {
    let mut meter = OwdMeter::new(&Settings { flows: 64, ..EXACT }).unwrap();
    let mut number = None;
    for n in 0..3_400u64 {
        let flow = FlowId(n.min(3_000));
        let sent = Crossing { packet: PacketId(hash::finish(n)), flow, ..crossing(0, n as i64 * MILLI) };
        let new = meter.update(Side::Sender, &sent);
        assert_eq!(new.is_some(), n <= 3_000);
        number = new.or(number);
        meter.update(Side::Receiver, &Crossing { at: sent.at + Nanos::new(n as i64), ..sent });
    }
    meter.end();
    let flows = meter.flows(1);
    let [first, others] = &flows[..] else { panic!("{} flows", flows.len()) };
    assert_eq!((Some(first.number), first.sent, first.sent_bytes), (number, 400, 40_000));
    assert!((1..=300_000 / 57).contains(&first.uncounted_bytes), "{}", first.uncounted_bytes);
    assert_eq!((others.number, others.sent, others.sent_bytes), (0, 3_000, 300_000));
    assert_eq!(first.distribution.extremes().unwrap().0.value, 3_000);
    assert_near(others.tally.mean(3_000).unwrap().value, 1_499.5);
}

#[test]
fn equal_packets_count_but_give_no_delay() {
    let at = |id, sent, delay| Packet { id, sent: sent * MILLI, delay: Some(delay * MILLI) };
    let lost = |id, sent| Packet { delay: None, ..at(id, sent, 0) };
    // The second 5 is sent while the first is in flight; the second 6 when the first has arrived.
    let packets = [
        at(1, 0, 10),
        at(5, 1, 10),
        lost(5, 2),
        at(6, 3, 4),
        at(6, 9, 5),
        at(7, 20, 10),
        lost(8, 21),
        lost(8, 22),
        at(9, 30, 10),
    ];
    let total = measure(&EXACT, &packets).total();
    assert_eq!((total.sent, total.arrived, total.unsent), (9, 6, 0.0));
    assert_eq!(total.tally.received().value, 6.0);
    assert_eq!((total.tally.ambiguous().value, total.tally.lost().value), (1.0, 3.0));
    assert_eq!(total.tally.samples(), 5);
    assert_near(total.tally.mean(total.sent).unwrap().value, 39.0 / 5.0 * MILLI as f64);
}

/// Identical heartbeats, of which every second one in the first second is lost: the number lost is known, but not when,
/// nor in which runs. An interval's loss ranges from none of those counted as lost in it to all identical ones.
#[test]
fn nobody_knows_which_of_equal_packets_were_lost() {
    let settings = Settings { interval: Some(Nanos::from_secs(1)), ..EXACT };
    let lost_first: Vec<Packet> = (0..6_000)
        .map(|i| Packet { id: 7, sent: i * MILLI, delay: (i >= 1_000 || i % 2 == 0).then_some(20 * MILLI) })
        .collect();
    let alone = [-1, 6_000].map(|at| Packet { id: 8 + at as u64 % 2, sent: at * MILLI, delay: Some(20 * MILLI) });
    let packets = [&alone[..1], &lost_first, &alone[1..]].concat();
    let mut meter = measure(&settings, &packets);
    let total = meter.total();
    assert_eq!((total.tally.lost().value, total.tally.lost().low, total.tally.lost().high), (500.0, 500.0, 500.0));
    assert_eq!(total.tally.loss_runs(total.sent), None);
    let intervals = meter.take_intervals();
    let truth = |start: i64| if start == 0 { 500.0 } else { 0.0 };
    for interval in &intervals {
        let (start, lost) = (interval.start.as_nanos(), interval.tally.lost());
        assert!(lost.low <= truth(start) && truth(start) <= lost.high, "{start} {lost:?}");
        let (rate, truth) = (interval.tally.loss_rate(interval.sent).unwrap(), truth(start) / interval.sent as f64);
        assert!(rate.low <= truth && truth <= rate.high, "{start} {rate:?}");
    }
    assert_eq!(intervals.iter().map(|interval| interval.tally.lost().value).sum::<f64>(), 500.0);
}

/// More identical packets in flight than 16 bits can count, as from a traffic generator: those that arrive are not
/// lost.
#[test]
fn very_many_equal_packets_arrive() {
    let many = 70_000;
    let mut meter = OwdMeter::new(&EXACT).unwrap();
    meter.update(Side::Sender, &crossing(3, -9));
    meter.update(Side::Receiver, &crossing(3, -8));
    (0..many).for_each(|i| _ = meter.update(Side::Sender, &crossing(1, i)));
    (0..many - 7).for_each(|i| _ = meter.update(Side::Receiver, &crossing(1, many + i)));
    meter.update(Side::Sender, &crossing(2, 2 * many));
    meter.update(Side::Receiver, &crossing(2, 2 * many + 1));
    meter.end();
    let total = meter.total();
    assert_eq!((total.sent, total.arrived, total.unsent), (many as u64 + 2, many as u64 - 5, 0.0));
    assert_eq!((total.tally.received().value, total.tally.lost().value), (many as f64 - 5.0, 7.0));
}

#[test]
fn what_arrives_without_being_sent() {
    let mut meter = OwdMeter::new(&EXACT).unwrap();
    meter.update(Side::Sender, &crossing(1, 0));
    meter.update(Side::Receiver, &crossing(1, 5));
    meter.update(Side::Receiver, &crossing(1, 6));
    meter.update(Side::Receiver, &crossing(2, 7));
    meter.update(Side::Receiver, &crossing(2, 8));
    meter.end();
    let total = meter.total();
    assert_eq!((total.sent, total.arrived, total.unsent), (1, 4, 3.0));
    assert_eq!(total.tally.received().value, 1.0);
}

/// How far the receiver's clock is ahead in [`both_ways`].
const AHEAD: i64 = 3 * SECOND;

/// Passes packets of both directions through meters for which the receiver's clock is ahead by `assumed`. Returns these
/// and, for each packet whose fate became known, its time of sending and whether it goes back.
fn both_ways(there: &[Packet], back: Option<&[Packet]>, assumed: i64) -> (BothWays, Vec<(i64, bool)>) {
    let meter = || OwdMeter::new(&EXACT).unwrap();
    let mut meters = BothWays::new(meter(), back.map(|_| meter()), Nanos::new(assumed));
    let back =
        crossings(back.unwrap_or_default()).into_iter().map(|(side, crossing)| (side.opposite(), crossing, true));
    let there = crossings(there).into_iter().map(|(side, crossing)| (side, crossing, false));
    let by_receiver = |(side, _, _): &(Side, Crossing, bool), ahead: i64| {
        if *side == Side::Receiver { Nanos::new(ahead) } else { Nanos::ZERO }
    };
    let mut all: Vec<_> = there.chain(back).collect();
    all.iter_mut().for_each(|seen| seen.1.at = seen.1.at + by_receiver(seen, AHEAD));
    all.sort_by_key(|seen| seen.1.at - by_receiver(seen, assumed));
    let mut fates = Vec::new();
    for (side, crossing, is_reverse) in all {
        meters.update(side, is_reverse, &crossing, |passed, is_reverse| {
            fates.push((passed.sent.at.as_nanos(), is_reverse));
        });
    }
    meters.end_each(|passed, is_reverse| fates.push((passed.sent.at.as_nanos(), is_reverse)));
    (meters, fates)
}

/// Each direction has its own packets, times are those of the clocks as they are, and the smallest delays bound how much
/// these differ, as far as it was known before that packets may arrive within the longest delay.
#[test]
fn both_directions_bound_the_clocks() {
    let (there, back) = (stream(20_000, 7), stream(15_000, 8));
    let [arrived, returned] = [&there, &back].map(|packets| delays(packets).len());
    for assumed in [AHEAD - 40 * MILLI, AHEAD] {
        let (meters, mut fates) = both_ways(&there, Some(&back), assumed);
        let total = meters.total();
        let received = |totals: &Totals| totals.tally.received().value;
        let reverse = total.reverse.as_ref().unwrap();
        assert_eq!([received(&total.forward), received(reverse)], [arrived, returned].map(|n| n as f64));
        let [least, least_back] = [&there, &back].map(|packets| *delays(packets).iter().min().unwrap());
        assert_eq!(total.offset_ns, Some([AHEAD - least_back, AHEAD + least]));
        let [low, high] = total.drift.unwrap().ppm;
        assert!(low < 0.0 && high > 0.0 && high - low < 2e3, "{low} to {high}");
        let mut sent: Vec<_> = there.iter().map(|p| (p.sent, false)).collect();
        sent.extend(back.iter().map(|p| (p.sent + AHEAD, true)));
        sent.sort_unstable();
        fates.sort_unstable();
        assert!(fates == sent, "times of sending by the clock of either sender");
        let of = |packets: usize| Some(packets as u64);
        let [sender, receiver] = total.by_point(|totals| totals.sent, |totals| totals.arrived);
        assert_eq!((sender, receiver), ([20_000, returned].map(of), [15_000, arrived].map(of)));
    }
    let (meters, _) = both_ways(&there, Some(&back), 0);
    assert_eq!((meters.total().offset_ns, meters.total().forward.tally.received().value), (None, 0.0));
}

/// A packet arrives that the sender's capture lacks, and a second later an equal one is sent and lost. That these are one
/// packet, with a delay of minus a second, is excluded by the other direction: without that, it is taken for one.
#[test]
fn the_other_direction_excludes_delays() {
    let (mut there, back) = (stream(4_000, 7), stream(4_000, 8));
    let arrived = 2_000 * MILLI + 5;
    there.push(Packet { id: 1, sent: arrived + SECOND, delay: Some(-SECOND) });
    let least = |back| both_ways(&there, back, AHEAD).0.total().forward.distribution.extremes().unwrap().0.value;
    assert_eq!(least(None), AHEAD - SECOND);
    assert!(least(Some(&back)) > AHEAD);
}

/// Packets slower than `longest` are lost, even if no other packet passes meanwhile, or only one with a time far too
/// late.
#[test]
fn what_takes_longer_than_the_longest_is_lost() {
    let packet = |id, sent, delay| Packet { id, sent: sent * MILLI, delay: Some(delay * MILLI) };
    let packets = [packet(1, 0, 10), packet(2, 20, 2_001), packet(3, 30, 1_999), packet(4, 2_100, 10)];
    let equal = [packet(1, 0, 10), packet(2, 20, 2_005), packet(2, 21, 2_005), packet(4, 2_100, 10)];
    let late = (Side::Sender, crossing(9, 4_000 * MILLI));
    let [few, both, many] = [(&packets, 0), (&equal, 0), (&packets, 1)].map(|(packets, late_ones)| {
        let mut meter = OwdMeter::new(&EXACT).unwrap();
        for (side, crossing) in std::iter::repeat_n(late, late_ones).chain(crossings(packets)) {
            meter.update(side, &crossing);
        }
        meter.end();
        meter.total()
    });
    for (total, lost) in [(few, 1), (both, 2), (many, 1)] {
        let tally = &total.tally;
        assert_eq!((tally.received().value, tally.lost().value), (f64::from(4 - lost), f64::from(lost)));
        assert_eq!(total.unsent, f64::from(lost));
        assert!(total.distribution.quantile(1.0).unwrap().value <= 1_999 * MILLI);
    }
}

/// No packet arrives after three seconds, and the receiver's capture goes on with others until ten: what was sent long
/// enough before is lost. Unless it is known how long the capture goes on, none is.
#[test]
fn what_a_running_capture_lacks_is_lost() {
    let packets: Vec<Packet> =
        stream(9_000, 5).iter().map(|p| Packet { delay: p.delay.filter(|_| p.sent < 3_000 * MILLI), ..*p }).collect();
    let lost = |until: Option<i64>| {
        let mut meter = OwdMeter::new(&EXACT).unwrap();
        let all = crossings(&packets);
        let last = all.iter().rposition(|(side, _)| *side == Side::Receiver).unwrap();
        for (number, (side, crossing)) in all.iter().enumerate() {
            meter.update(*side, crossing);
            if number == last {
                meter.end_receiver(until.map_or(crossing.at, Timestamp::from_nanos));
            }
        }
        meter.end();
        let tally = meter.total().tally;
        assert_eq!(
            tally.lost().value + tally.uncovered().value,
            packets.iter().filter(|p| p.delay.is_none()).count() as f64
        );
        tally.lost().value
    };
    let until = 10_000 * MILLI;
    let covered = packets.iter().filter(|p| p.delay.is_none() && p.sent <= until - EXACT.longest.get()).count() as f64;
    assert_eq!(lost(Some(until)), covered);
    assert!(lost(None) < 0.1 * covered, "{} of {covered}", lost(None));
}

/// A receiver whose clock is behind sees packets before they are sent.
#[test]
fn negative_delays() {
    let packets: Vec<Packet> =
        stream(1_000, 4).iter().map(|p| Packet { delay: p.delay.map(|d| d - 50 * MILLI), ..*p }).collect();
    let total = measure(&EXACT, &packets).total();
    assert_near(total.tally.mean(total.sent).unwrap().value, mean(&delays(&packets)));
    assert_eq!((total.unsent, total.tally.samples()), (0.0, delays(&packets).len() as u64));
    assert!(total.distribution.quantile(0.01).unwrap().value < 0);
}

/// Packets sent before the receiver's capture began, or after it ended, are uncovered. The number of losses, real ones
/// and those at the edges, is allowed nine standard deviations of 8 packets; counting all unseen packets as lost must
/// fail.
#[test]
fn packets_that_nobody_could_see_are_not_lost() {
    let packets = stream(10_000, 5);
    let (from, to) = (2_000 * MILLI, 7_000 * MILLI);
    let mut meter = OwdMeter::new(&EXACT).unwrap();
    let mut has_ended = false;
    for (side, crossing) in crossings(&packets) {
        if !has_ended && crossing.at.as_nanos() >= to {
            has_ended = true;
            meter.end_receiver(crossing.at);
        }
        if side == Side::Sender || (from..to).contains(&crossing.at.as_nanos()) {
            meter.update(side, &crossing);
        }
    }
    meter.end();
    let total = meter.total();
    let seen = |p: &&Packet| p.delay.is_some_and(|delay| (from..to).contains(&(p.sent + delay)));
    let first = packets.iter().find(seen).unwrap().sent;
    let last = packets.iter().rfind(seen).unwrap().sent;
    let covered: Vec<&Packet> = packets.iter().filter(|p| (first..=last).contains(&p.sent)).collect();
    assert_eq!(total.tally.uncovered().value, (packets.len() - covered.len()) as f64);
    assert_eq!(total.tally.lost().value, covered.iter().filter(|p| !seen(p)).count() as f64);
    // Packets reordered at the edges: 100 ms of delay at 1,000 packets per second.
    let truly = covered.iter().filter(|p| p.delay.is_none()).count() as f64;
    let is_near = |lost: f64| lost < truly + 150.0;
    assert!(is_near(total.tally.lost().value), "{}", total.tally.lost().value);
    assert!(!is_near(packets.iter().filter(|p| !seen(p)).count() as f64));
}

/// Of two equal packets one arrives: since it may be the second, the receiver's capture need not have begun when the
/// first was sent.
#[test]
fn equal_packets_do_not_begin_a_capture() {
    let mut packets: Vec<Packet> =
        (0..100).map(|n| Packet { id: n, sent: n as i64 * 10 * MILLI, delay: (n >= 50).then_some(MILLI) }).collect();
    packets.push(Packet { id: 1_000, sent: 5 * MILLI, delay: None });
    packets.push(Packet { id: 1_000, sent: 505 * MILLI, delay: Some(MILLI) });
    packets.sort_by_key(|p| p.sent);
    let total = measure(&EXACT, &packets).total();
    assert_eq!((total.tally.uncovered().value, total.tally.received().value), (50.0, 51.0));
    assert_eq!(total.tally.lost().value, 1.0, "one of the equal two, nobody knows which");
}

/// But what is sent after one of them has arrived would have been seen: it is lost, also before any packet with a delay.
#[test]
fn an_equal_packet_that_arrived_begins_a_capture() {
    let equal = |sent: i64, delay| Packet { id: 1_000, sent, delay };
    let mut packets = vec![equal(0, None), equal(MILLI, Some(9 * MILLI))];
    packets.extend([5, 10, 20, 30].map(|at| Packet { id: at as u64, sent: at * MILLI, delay: None }));
    packets.push(Packet { id: 40, sent: 40 * MILLI, delay: Some(MILLI) });
    let total = measure(&EXACT, &packets).total();
    assert_eq!((total.tally.uncovered().value, total.tally.lost().value), (2.0, 3.0));
}

/// A mirror port duplicates every packet: none has a delay, but losses are still known, except for packets at the edges
/// that the receiver could not see.
#[test]
fn doubled_packets_are_counted() {
    let lost = |n: i64| n % 50 == 7;
    let packets: Vec<Packet> = (0..1_000)
        .flat_map(|n| {
            let delay = (!lost(n) && n >= 100).then_some(20 * MILLI);
            [0, 1_000].map(|more| Packet { id: n as u64, sent: n * MILLI + more, delay })
        })
        .collect();
    let total = measure(&EXACT, &packets).total();
    let covered = (100..1_000).filter(|&n| lost(n)).count();
    assert_eq!(total.tally.samples(), 0);
    assert_eq!((total.tally.ambiguous().value, total.tally.uncovered().value), (2.0 * (900 - covered) as f64, 200.0));
    assert_eq!(total.tally.lost().value, 2.0 * covered as f64);
}

/// A sample may contain no lost packet, and none as slow as the slowest: intervals of the loss rate and of p99 must
/// still contain the true value in most of 200 runs. Without Wilson's interval half of them excluded any loss, and
/// without the allowance for unseen packets p99 was between the samples.
#[test]
fn few_samples_say_how_little_they_know() {
    let packets = stream(3_000, 11);
    let lost = packets.iter().filter(|p| p.delay.is_none()).count() as f64 / packets.len() as f64;
    let mut sorted = delays(&packets);
    sorted.sort_unstable();
    let p99 = sorted[sorted.len() * 99 / 100];
    let (mut held, mut samples) = ([0; 2], 0);
    for seed in 0..200 {
        let total = measure(&Settings { memory: Some(16 << 10), seed, ..EXACT }, &packets).total();
        let holds = |low: f64, truth: f64, high: f64| usize::from(low <= truth && truth <= high);
        let (rate, told) = (total.tally.loss_rate(total.sent).unwrap(), total.distribution.quantile(0.99).unwrap());
        held[0] += holds(rate.low, lost, rate.high);
        held[1] += holds(told.low as f64, p99 as f64, told.high as f64);
        samples += total.tally.samples();
    }
    assert!((100..600).contains(&(samples / 200)), "{} samples", samples / 200);
    assert!(held.iter().all(|&held| held >= 180), "{held:?} of 200");
}

#[test]
fn nothing_in_common() {
    let mut meter = OwdMeter::new(&EXACT).unwrap();
    for n in 0..100 {
        meter.update(Side::Sender, &crossing(n, n as i64 * MILLI));
        meter.update(Side::Receiver, &crossing(n + 1_000, n as i64 * MILLI));
    }
    meter.end();
    let total = meter.total();
    assert_eq!((total.tally.uncovered().value, total.tally.lost().value, total.unsent), (100.0, 0.0, 100.0));
    assert_eq!(
        (total.tally.mean(total.sent), total.tally.standard_deviation(total.sent), total.tally.loss_rate(total.sent)),
        (None, None, None)
    );
}

/// In small memory every estimate is unbiased over seeds, and its intervals contain the true value. Over 200 runs a
/// mean that is more than 6 standard errors off has a probability of 2·10⁻⁹; of 200 intervals of 95%, fewer than 168
/// contain it with 2·10⁻⁹. Samples without weights, and intervals half as wide, must fail.
#[test]
fn samples_stand_for_all_in_small_memory() {
    let packets = stream(30_000, 6);
    let delays = delays(&packets);
    let truths = [delays.len() as f64, (packets.len() - delays.len()) as f64, mean(&delays), deviation(&delays)];
    const RUNS: u64 = 200;
    // The last element of `errors` is for the control, and so is the second of `held`.
    let mut errors = [const { Vec::new() }; 5];
    let mut held = [[0; 4]; 2];
    for seed in 0..RUNS {
        let meter = measure(&Settings { memory: Some(12 << 10), seed, ..EXACT }, &packets);
        assert!(meter.state_bytes() <= 12 << 10, "{}", meter.state_bytes());
        assert!(!meter.is_exact() && meter.sampling() < 0.2);
        let total = meter.total();
        assert_eq!(total.sent, 30_000);
        let tally = &total.tally;
        assert_eq!((tally.jitter(total.sent), tally.loss_runs(total.sent)), (None, None));
        let (mean, deviation) = (tally.mean(total.sent).unwrap(), tally.standard_deviation(total.sent).unwrap());
        let estimates = [tally.received(), tally.lost(), mean, deviation];
        for (at, (estimate, truth)) in estimates.iter().zip(truths).enumerate() {
            errors[at].push(estimate.value / truth - 1.0);
            for (held, width) in held.iter_mut().zip([1.0, 0.5]) {
                let (below, above) = (estimate.value - estimate.low, estimate.high - estimate.value);
                held[at] += u64::from((-width * below..=width * above).contains(&(truth - estimate.value)));
            }
        }
        errors[4].push(tally.samples() as f64 / truths[0] - 1.0);
    }
    let is_unbiased = |at: usize| {
        let errors: &[f64] = &errors[at];
        let mean = errors.iter().sum::<f64>() / RUNS as f64;
        let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / RUNS as f64;
        let standard_error = (variance / RUNS as f64).sqrt();
        println!("{at}: {mean} ± {standard_error}");
        // A standard deviation is itself biased by a small part of its error.
        mean.abs() < 6.0 * standard_error + if at == 3 { variance } else { 0.0 }
    };
    assert!((0..4).all(is_unbiased) && !is_unbiased(4));
    let are_enough = |held: &[u64; 4]| held.iter().all(|&held| held >= 168);
    assert!(are_enough(&held[0]) && !are_enough(&held[1]), "{held:?} of {RUNS} intervals");
}

/// Where all delays are equal, sampled intervals know them as soon as they have two samples, however long they are.
/// One sample that stands for several says nothing of their deviation.
#[test]
fn equal_delays_are_known() {
    for delay in [SECOND, 3 * SECOND / 2] {
        let equal = |packet: Packet| Packet { delay: packet.delay.map(|_| delay), ..packet };
        let packets: Vec<Packet> = stream(30_000, 9).into_iter().map(equal).collect();
        let interval = Some(Nanos::new(100 * MILLI));
        let mut meter = measure(&Settings { memory: Some(16 << 10), interval, ..EXACT }, &packets);
        let (mut with_one, mut with_more) = (0, 0);
        for IntervalAnswer { tally, sent, .. } in meter.take_intervals().iter().filter(|i| !i.tally.is_exact(i.sent)) {
            let (mean, deviation) = (tally.mean(*sent), tally.standard_deviation(*sent));
            match tally.samples() {
                0 => assert_eq!((mean, deviation), (None, None)),
                1 if deviation.is_none() => with_one += u32::from(mean.unwrap().low < mean.unwrap().value),
                _ => {
                    let equal = Estimate::exact(delay as f64);
                    assert_eq!((mean, deviation), (Some(equal), Some(Estimate::exact(0.0))), "{sent}");
                    with_more += u32::from(tally.samples() > 1);
                }
            }
        }
        assert!(with_one > 5 && with_more > 5, "{with_one} {with_more}");
    }
}

/// Flows of which only a few packets were sampled, some of them before sampling began, when weights were 1: nothing of
/// them is certain, and the intervals of their means contain the true value in 97%. Of some 2,500 flows, with a standard
/// error of .4%, 92% are required. The control, even intervals as for many samples, must fail.
#[test]
fn flows_of_few_samples_say_how_little_is_known() {
    const FLOWS: usize = 400;
    let memory = Some((FLOWS + 2) * OwdMeter::FLOW_BYTES + (24 << 10));
    let (mut flows, mut held, mut narrow) = (0, 0, 0);
    for seed in 0..8 {
        // Seeds that sampling does not use.
        let [of_delay, of_flow] = [100 + seed, 200 + seed];
        let even = |packet: Packet| {
            let delay = 5 * MILLI + (uniform(of_delay, packet.id) * 5e7) as i64;
            Packet { delay: packet.delay.map(|_| delay), ..packet }
        };
        let packets: Vec<Packet> = stream(30_000, 20 + seed).into_iter().map(even).collect();
        let flow_of = |id: u64| FlowId((FLOWS as f64 * uniform(of_flow, id).powi(2)) as u64);
        let mut meter = OwdMeter::new(&Settings { memory, flows: FLOWS, seed, ..EXACT }).unwrap();
        let mut names = Vec::new();
        for (side, crossing) in crossings(&packets) {
            let crossing = Crossing { flow: flow_of(crossing.packet.0), ..crossing };
            if meter.update(side, &crossing).is_some() {
                names.push(crossing.flow);
            }
        }
        meter.end();
        for flow in meter.flows(FLOWS).iter().filter(|flow| flow.number > 0 && !flow.tally.is_exact(flow.sent)) {
            let (tally, sent) = (&flow.tally, flow.sent);
            let Some((mean, loss)) = tally.mean(sent).zip(tally.loss_rate(sent)) else { continue };
            let (median, samples) = (flow.distribution.quantile(0.5).unwrap(), tally.samples());
            assert!(!mean.is_exact() && !loss.is_exact() && !median.is_exact(), "{sent} {samples} {mean:?} {loss:?}");
            if samples <= 6 {
                let own = packets.iter().filter(|packet| flow_of(packet.id) == names[flow.number - 1]);
                let truth = self::mean(&delays(&own.copied().collect::<Vec<_>>()));
                flows += 1;
                held += u32::from((mean.low..=mean.high).contains(&truth));
                // Student's quantile for six samples is 1.3 times that for many.
                narrow += u32::from((truth - mean.value).abs() <= (mean.value - mean.low) / 1.3);
            }
        }
    }
    let are_enough = |held: u32| f64::from(held) > 0.92 * f64::from(flows);
    assert!(flows > 2_000 && are_enough(held) && !are_enough(narrow), "{held} and {narrow} of {flows}");
}

/// With sampling, neighbours are unknown and there is no jitter, even in intervals so short that few or no packets are
/// sampled.
#[test]
fn of_samples_no_neighbours_are_known() {
    let packets = stream(30_000, 9);
    let settings = Settings { memory: Some(12_742), interval: Some(Nanos::new(20 * MILLI)), ..EXACT };
    let mut meter = measure(&settings, &packets);
    let intervals = meter.take_intervals();
    let looked_at =
        |tally: &Tally| [tally.received(), tally.lost(), tally.uncovered()].iter().any(|fate| fate.value > 0.0);
    assert!(intervals.iter().any(|interval| !looked_at(&interval.tally)), "no interval is empty");
    let mut known = intervals.iter().filter(|interval| interval.tally.loss_runs(interval.sent).is_some());
    // Known only before the memory was full.
    assert!(known.all(|interval| interval.end.as_nanos() < SECOND));
    assert!(
        intervals
            .iter()
            .all(|interval| interval.tally.jitter(interval.sent).is_none() || interval.end.as_nanos() < SECOND)
    );
}

#[test]
fn too_little_memory_is_said() {
    let error = OwdMeter::new(&Settings { memory: Some(1_000), ..EXACT }).unwrap_err();
    assert!(OwdMeter::new(&Settings { memory: Some(error.needed), ..EXACT }).is_ok());
    assert!(OwdMeter::new(&Settings { memory: Some(error.needed - 1), ..EXACT }).is_err());
    let flows = Settings { flows: 100, ..EXACT };
    let error = OwdMeter::new(&Settings { memory: Some(10_000), ..flows }).unwrap_err();
    assert!(OwdMeter::new(&Settings { memory: Some(error.needed), ..flows }).is_ok());
}

/// Of more flows than there can be, as many are counted.
#[test]
fn any_number_of_flows_may_be_asked_for() {
    let all = Settings { flows: usize::MAX, ..EXACT };
    let most = Settings { flows: OwdMeter::MOST_FLOWS, ..EXACT };
    let [error, same] =
        [all, most].map(|settings| OwdMeter::new(&Settings { memory: Some(10_000), ..settings }).unwrap_err());
    assert_eq!(error, same);
    assert!(OwdMeter::new(&Settings { memory: Some(error.needed), ..all }).is_ok());
    assert!(OwdMeter::new(&all).is_ok());
}

/// One packet per millisecond, and 200 ms after every tenth a second one with the same id, like retransmissions without
/// timestamps; a fiftieth of the others is lost.
fn with_retransmissions() -> Vec<Packet> {
    let mut packets: Vec<Packet> = (0..5_000_i64)
        .flat_map(|n| {
            let packet =
                Packet { id: n as u64, sent: n * MILLI, delay: (n % 50 != 3).then_some(5 * MILLI + n % 1_000) };
            let again = Packet { sent: packet.sent + 200 * MILLI, delay: Some(6 * MILLI), ..packet };
            [Some(packet), (n % 10 == 7).then_some(again)].into_iter().flatten()
        })
        .collect();
    packets.sort_by_key(|packet| packet.sent);
    packets
}

/// The crossings of both points, in the order of time, with `copies` duplicates of each arrival, `gap` apart.
fn doubled(packets: &[Packet], copies: i64, gap: i64) -> Vec<(Side, Crossing)> {
    let mut all = crossings(packets);
    let arrivals = all.iter().filter(|(side, _)| *side == Side::Receiver);
    let again: Vec<_> = arrivals
        .flat_map(|&(side, crossing)| {
            (1..=copies).map(move |n| (side, Crossing { at: crossing.at + Nanos::new(n * gap), ..crossing }))
        })
        .collect();
    all.extend(again);
    all.sort_by_key(|(_, crossing)| crossing.at);
    all
}

fn behind(packets: &[Packet], offset: i64) -> Vec<Packet> {
    packets.iter().map(|p| Packet { delay: p.delay.map(|delay| delay + offset), ..*p }).collect()
}

/// A receiver sees packets two or three times: no duplicate is taken for the later retransmission of its packet, so no
/// delay is wrongly negative, and every duplicate is counted; also if the receiver's clock is behind.
#[test]
fn a_doubled_arrival_is_not_the_next_equal_packet() {
    let packets = with_retransmissions();
    let arrived = delays(&packets).len() as u64;
    for offset in [0, -4 * MILLI, -7 * MILLI, -150 * MILLI, -300 * MILLI] {
        let packets = behind(&packets, offset);
        for (copies, gap) in [(1, 8_000), (1, 3 * MILLI), (2, 8_000)] {
            for memory in [None, Some(1 << 20)] {
                let mut meter = OwdMeter::new(&Settings { memory, ..EXACT }).unwrap();
                for (side, crossing) in doubled(&packets, copies, gap) {
                    meter.update(side, &crossing);
                }
                meter.end();
                let (total, case) = (meter.total(), (offset, copies, gap, memory));
                assert!(meter.is_exact(), "{case:?}");
                let tally = &total.tally;
                assert_eq!((tally.received().value, tally.lost().value), (arrived as f64, 100.0), "{case:?}");
                assert_eq!(total.received_again, (copies as u64 * arrived) as f64, "{case:?}");
                assert_eq!((total.unsent, total.sent_again), (total.received_again, 0.0), "{case:?}");
                let [least, most] = [0.0, 1.0].map(|q| total.distribution.quantile(q).unwrap().value - offset);
                assert!(5 * MILLI <= least && most <= 6 * MILLI, "{case:?} {least} {most}");
            }
        }
    }
}

/// Equal packets count as received and lost by their numbers, whichever clock is ahead.
#[test]
fn a_clock_offset_loses_nothing() {
    // Of some pairs the first packet is lost, of some the second, of some both.
    let packets: Vec<Packet> = with_retransmissions()
        .iter()
        .map(|p| {
            let is_lost = p.id % 10 == 7 && uniform(3, p.id * 2 + u64::from(p.sent > p.id as i64 * MILLI)) < 0.2;
            Packet { delay: p.delay.filter(|_| !is_lost), ..*p }
        })
        .collect();
    let arrived = delays(&packets).len() as f64;
    for offset in [0, 1, -1, 90, -90, 300, -300, 1_000, -1_000, 1_500, -1_500] {
        let total = measure(&EXACT, &behind(&packets, offset * MILLI)).total();
        assert_eq!((total.tally.received().value, total.unsent), (arrived, 0.0), "{offset} ms");
        let fates = [total.tally.lost(), total.tally.uncovered()];
        assert_eq!(fates.iter().map(|fate| fate.value).sum::<f64>(), packets.len() as f64 - arrived, "{offset} ms");
    }
}

/// Few ids that repeat, with losses, duplicates at either point and reordering, and clocks ahead or behind: every
/// packet has exactly one fate, and every arrival was sent or is counted as unsent. In little memory, no count is
/// negative.
#[test]
fn equal_packets_are_conserved() {
    for seed in 0..200 {
        let random = |n: u64, below: u64| hash::word(hash::start(seed), n) % below;
        let (ids, gap, offset) = (1 + random(1, 40), 1 + random(2, 20) as i64, random(3, 400) as i64 - 200);
        let mut all = Vec::new();
        for n in 0..2_000 {
            let draw = |k: u64, below: u64| random(100 + 10 * n + k, below);
            let (id, at) = (draw(0, ids), n as i64 * gap * MILLI / 4);
            let arrives = at + offset * MILLI + draw(1, 30) as i64 * MILLI;
            all.extend((0..1 + draw(2, 6) / 5).map(|k| (Side::Sender, crossing(id, at + k as i64 * 9_000))));
            let copies = [0, 1, 1, 1, 2, 3][draw(3, 6) as usize];
            all.extend((0..copies).map(|k| (Side::Receiver, crossing(id, arrives + k * 3 * MILLI))));
        }
        all.sort_by_key(|(_, crossing)| crossing.at);
        for memory in [None, Some(16 << 10), Some(1 << 20)] {
            let mut meter = OwdMeter::new(&Settings { memory, longest: Nanos::new(500 * MILLI), ..EXACT }).unwrap();
            all.iter().for_each(|(side, crossing)| _ = meter.update(*side, crossing));
            meter.end();
            let total = meter.total();
            let [received, lost, uncovered] =
                [total.tally.received(), total.tally.lost(), total.tally.uncovered()].map(|fate| fate.value);
            assert!(0.0 <= total.received_again && total.received_again <= total.unsent, "{seed} {memory:?}");
            if meter.is_exact() {
                assert_eq!(received + lost + uncovered, total.sent as f64, "{seed} {memory:?}");
                assert_eq!(received + total.unsent, total.arrived as f64, "{seed} {memory:?}");
            } else {
                assert!(memory == Some(16 << 10) && meter.state_bytes() <= 16 << 10, "{seed} {memory:?}");
            }
        }
    }
}
