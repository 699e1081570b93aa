//! Compares snapshots of a queue with their definition, with what really departed, and with the contents of a simulated
//! queue.
#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use dwell_simulate::queue::{Background, Discipline, Passages, Settings};
use dwell_sketch::conquest::{
    Cleaning, Conquest, ConquestError, Counter, Counts, Culprit, Exact, Params, Queued, Rule, Unit,
};
use dwell_types::{Departure, FlowId, Nanos, Timestamp};
use proptest::prelude::*;

const ALL_RULES: [Rule; 4] = [Rule::Paper, Rule::Text, Rule::Hardware, Rule::Interpolated];
/// The paper's snapshots cover this much time [conquest §6.3].
const SPAN: Nanos = Nanos::new(6_400_000);

fn departure(arrived: i64, departed: i64, flow: u64, bytes: u32) -> Departure {
    let at = Timestamp::from_nanos;
    Departure { arrived: Some(at(arrived)), departed: at(departed), flow: FlowId(flow), bytes }
}

/// Up to 200 departures of 6 flows, 0 to 9 ns apart, after up to 79 ns; some arrivals are unknown.
fn any_departures() -> impl Strategy<Value = Vec<Departure>> {
    let one = (0..10i64, 0..80i64, 0..6u64, 1..2_000u32, any::<u8>());
    (-500..500i64, prop::collection::vec(one, 1..200)).prop_map(|(start, packets)| {
        let mut now = start;
        let depart = |(gap, delay, flow, bytes, known): (i64, i64, u64, u32, u8)| {
            now += gap;
            let departure = departure(now - delay, now, flow, bytes);
            Departure { arrived: departure.arrived.filter(|_| known > 20), ..departure }
        };
        packets.into_iter().map(depart).collect()
    })
}

/// With which weight a packet counts window *w*, by the definition of each rule.
fn weight(rule: Rule, window: i64, length: i64, arrived: i64, departed: i64) -> f64 {
    let (begins, newest) = (window * length, departed.div_euclid(length));
    // ⌈a/T⌉ is the first window that begins at a or later.
    let is_after = begins >= arrived && window <= newest;
    let counts = match rule {
        Rule::Paper => is_after,
        Rule::Text => is_after && window < newest,
        Rule::Hardware => window <= newest && window >= newest - (departed - arrived) / length,
        Rule::Interpolated => {
            let ticks = begins..(begins + length).min(departed + 1);
            let within = ticks.clone().filter(|tick| (arrived..=departed).contains(tick)).count();
            return within as f64 / ticks.count().max(1) as f64;
        }
    };
    f64::from(u8::from(counts))
}

/// Sizes of the last packet's flow and of the queue, by the definition of a rule; and whether a group with its number
/// of finished windows contains all of it.
fn by_definition(seen: &[Departure], params: &Params) -> (f64, f64, bool) {
    let length = params.windows[0].get();
    let (own, before) = seen.split_last().unwrap();
    let (arrived, departed) = (own.arrived.unwrap().as_nanos(), own.departed.as_nanos());
    let oldest = departed.div_euclid(length) - i64::from(params.finished());
    let (mut flow, mut queue) = (0.0, 0.0);
    let mut add = |size: f64, is_own: bool| {
        queue += size;
        flow += if is_own { size } else { 0.0 };
    };
    for other in before {
        let window = other.departed.as_nanos().div_euclid(length);
        add(f64::from(other.bytes) * weight(params.rule, window, length, arrived, departed), other.flow == own.flow);
    }
    let newest = weight(params.rule, departed.div_euclid(length), length, arrived, departed);
    let counts_own = if params.rule == Rule::Interpolated { 1.0 } else { newest };
    add(f64::from(own.bytes) * counts_own, true);
    let weighed = |window: i64| weight(params.rule, window, length, arrived, departed) > 0.0;
    let is_held = !(oldest - 100..oldest).any(weighed) && arrived >= seen[0].departed.as_nanos();
    (flow, queue, is_held)
}

fn small(snapshots: u32, length: i64, rule: Rule) -> Params {
    // Space-saving with room for all flows counts exactly.
    let counter = Counter::SpaceSaving { entries: 6 };
    Params { windows: vec![Nanos::new(length)], counter, rule, ..Params::new(snapshots, SPAN, 1, 1) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Exact snapshots agree with the definition of their rule, for windows of any length, if they contain the
    /// requested time. Sums of floating-point numbers may round differently.
    #[test]
    fn exact_snapshots_are_what_a_rule_says(departures in any_departures(), length in 1..40i64, snapshots in 2..20u32) {
        for rule in ALL_RULES {
            let params = small(snapshots, length, rule);
            let mut sketch = Conquest::new(&params).unwrap();
            for (number, packet) in departures.iter().enumerate() {
                let queued = sketch.update(packet);
                prop_assert_eq!(queued.is_some(), packet.arrived.is_some());
                let Some(queued) = queued else { continue };
                let (flow, queue, is_held) = by_definition(&departures[..=number], &params);
                prop_assert_eq!(queued.is_complete, is_held);
                if is_held {
                    prop_assert!((queued.flow_size as f64 - flow).abs() < 0.51, "{:?} {:?} {}", rule, queued, flow);
                    prop_assert!((queued.queue_size as f64 - queue).abs() < 0.51, "{:?} {:?} {}", rule, queued, queue);
                    prop_assert_eq!(queued.share.is_some(), queue > 0.0);
                }
            }
        }
    }

    /// With windows of a nanosecond all rules but `Text`, which leaves out the newest, are exact; so is the exact
    /// reference. Groups of longer windows change nothing where the shortest reach, and nothing at all where packets
    /// come and go when windows begin.
    #[test]
    fn short_windows_are_the_truth(departures in any_departures(), tail in 80..100i64) {
        let mut exact = Exact::new(Nanos::new(tail), Unit::Bytes, Params::new(8, SPAN, 1, 1).culprit);
        let rules = [Rule::Paper, Rule::Hardware, Rule::Interpolated];
        let mut sketches = rules.map(|rule| Conquest::new(&small(128, 1, rule)).unwrap());
        for (number, packet) in departures.iter().enumerate() {
            let truth = exact.update(packet);
            for sketch in &mut sketches {
                prop_assert_eq!(sketch.update(packet), truth);
            }
            let Some(arrived) = packet.arrived else { continue };
            let within = departures[..=number].iter().filter(|other| other.departed >= arrived);
            let bytes = |own: bool| within.clone().filter(|other| !own || other.flow == packet.flow).map(|other| u64::from(other.bytes)).sum::<u64>();
            prop_assert_eq!(truth.map(|queued| (queued.flow_size, queued.queue_size)), Some((bytes(true), bytes(false))));
        }
        prop_assert_eq!(sketches[0].counts(), exact.counts());
    }

    /// With any timestamps nothing panics, and every packet is counted.
    #[test]
    fn nonsense_times_are_counted(times in prop::collection::vec((any::<i64>(), any::<i64>()), 1..60), cyclic in any::<bool>()) {
        for rule in ALL_RULES {
            let cleaning = if cyclic { Cleaning::Cyclic } else { Cleaning::Epochs };
            let windows = vec![Nanos::new(5), Nanos::new(20), Nanos::new(40)];
            let mut sketch = Conquest::new(&Params { windows, cleaning, ..small(8, 5, rule) }).unwrap();
            let answers = times.iter().filter(|&&(a, d)| sketch.update(&departure(a, d, 1, 1)).is_some()).count();
            let counts = sketch.counts();
            prop_assert_eq!(counts.packets, times.len() as u64);
            prop_assert_eq!(counts.packets - counts.unknown, answers as u64);
        }
    }
}

proptest! {
    /// A sketch that takes over from the exact reference answers like one that saw everything, for each way of cleaning
    /// and with several groups.
    #[test]
    fn a_sketch_goes_on_after_its_twin(
        departures in any_departures(),
        part in 0usize..200,
        cyclic in any::<bool>(),
        rule in prop::sample::select(&ALL_RULES[..]),
    ) {
        let cleaning = if cyclic { Cleaning::Cyclic } else { Cleaning::Epochs };
        let params = Params { windows: vec![Nanos::new(7), Nanos::new(35)], cleaning, ..small(8, 7, rule) };
        let mut exact = Exact::new(Nanos::new(1_000_000), params.unit, params.culprit);
        let mut all = Conquest::new(&params).unwrap();
        let (before, after) = departures.split_at(part.min(departures.len()));
        for departure in before {
            let before = exact.state_bytes();
            let mut bytes = (0..).step_by(100).map(|more| before + more);
            let enough = bytes.find(|&bytes| exact.fits(departure.flow, bytes)).unwrap();
            exact.update(departure);
            prop_assert!(exact.state_bytes() <= enough && enough < 2 * before + 2_000);
            all.update(departure);
        }
        let mut sketch = Conquest::after(&exact, &params).unwrap();
        prop_assert_eq!(sketch.state_bytes(), Conquest::bytes(&params));
        for departure in after {
            prop_assert_eq!(sketch.update(departure), all.update(departure));
        }
        // The exact reference decides by its stored departures which answers are incomplete, and a sketch by windows.
        prop_assert_eq!((sketch.counts().packets, sketch.counts().unknown), (all.counts().packets, all.counts().unknown));
    }

    /// Departures that the exact reference has dropped make answers incomplete: those that are complete are the same as
    /// if all had been seen.
    #[test]
    fn what_was_forgotten_is_not_taken_for_nothing(departures in any_departures(), part in 0usize..200, longest in 0i64..100) {
        let params = small(8, 20, Rule::Interpolated);
        let mut exact = Exact::new(Nanos::new(longest), params.unit, params.culprit);
        let mut all = Conquest::new(&params).unwrap();
        let (before, after) = departures.split_at(part.min(departures.len()));
        for departure in before {
            exact.update(departure);
            all.update(departure);
        }
        let mut sketch = Conquest::after(&exact, &params).unwrap();
        for departure in after {
            let (found, expected) = (sketch.update(departure), all.update(departure));
            if let Some((found, expected)) = found.zip(expected).filter(|(found, _)| found.is_complete) {
                // Of the window in which the stored departures begin, the missing part cannot be interpolated.
                prop_assert!(expected.is_complete && found.queue_size <= expected.queue_size, "{found:?} {expected:?}");
            }
        }
    }
}

/// Three groups find in windows of 1, 8 and 64 ns what departed in up to 448 ns: exactly, with one packet per
/// nanosecond.
#[test]
fn groups_meet_where_windows_begin() {
    let windows = [1, 8, 64].map(Nanos::new).to_vec();
    let params = Params { windows, ..small(9, 1, Rule::Interpolated) };
    assert_eq!(params.longest(), Nanos::new(512));
    let mut sketch = Conquest::new(&params).unwrap();
    for now in 0..5_000i64 {
        let delay = (now * now) % 512;
        let queued = sketch.update(&departure(now - delay, now, 3, 10)).unwrap();
        assert_eq!(queued.queue_size, 10 * (delay.min(now) as u64 + 1), "{now} {delay}");
        assert_eq!(queued.flow_size, queued.queue_size);
        assert_eq!(queued.is_complete, delay <= now);
    }
}

/// A window with fewer packets than columns leaves cells dirty, which are read as if they were of its time; epochs
/// avoid that.
#[test]
fn cyclic_cleaning_leaves_dirt() {
    let params = |cleaning| Params { windows: vec![Nanos::new(100)], cleaning, ..Params::new(4, SPAN, 64, 1) };
    let run = |cleaning, gap: i64| {
        let mut sketch = Conquest::new(&params(cleaning)).unwrap();
        let answers = (0..5_000).filter_map(|i| sketch.update(&departure(i * gap - 150, i * gap, i as u64 % 3, 1)));
        let sizes: u64 = answers
            .map(|queued| {
                assert!(queued.share <= Some(1.0), "{queued:?}");
                queued.flow_size
            })
            .sum();
        (sizes, sketch.counts())
    };
    // 100 packets per window clean 64 columns, 10 do not.
    let (often, rarely) = (run(Cleaning::Cyclic, 1), run(Cleaning::Cyclic, 10));
    assert_eq!((often.1.dirty, rarely.1.dirty), (0, 496));
    assert_eq!(often.0, run(Cleaning::Epochs, 1).0);
    let clean = run(Cleaning::Epochs, 10);
    assert_eq!(clean.1.dirty, 0);
    assert!(2 * rarely.0 > 3 * clean.0, "{} {}", rarely.0, clean.0);
}

#[test]
fn a_flow_that_ramps_up_is_seen() {
    let mut sketch = Conquest::new(&small(4, 100, Rule::Interpolated)).unwrap();
    assert_eq!(sketch.rate_change(FlowId(1)), None);
    for now in 0..250 {
        // 1 byte per ns, and in the second window 3.
        sketch.update(&departure(now, now, 1, if now < 100 { 1 } else { 3 }));
        sketch.update(&departure(now, now, 2, 5));
    }
    assert_eq!(sketch.rate_change(FlowId(1)), Some(2e9));
    assert_eq!(sketch.rate_change(FlowId(2)), Some(0.0));
    let two = Params { snapshots: 2, ..small(4, 100, Rule::Interpolated) };
    assert_eq!(Conquest::new(&two).unwrap().rate_change(FlowId(1)), None);
}

/// The window in which the first departure is counts only if it begins with that departure.
#[test]
fn windows_that_were_not_seen_whole_tell_no_rate() {
    for (first, known_from) in [(0, 200), (1, 300), (50, 300), (99, 300), (100, 300)] {
        let mut sketch = Conquest::new(&small(8, 100, Rule::Interpolated)).unwrap();
        let mut exact = Exact::new(Nanos::new(1_000), Unit::Bytes, Culprit { share: 0.01, delay: Nanos::ZERO });
        for now in first..400 {
            sketch.update(&departure(now, now, 1, 1));
            exact.update(&departure(now, now, 1, 1));
            let expected = (now >= known_from).then_some(0.0);
            assert_eq!(sketch.rate_change(FlowId(1)), expected, "{now} from {first}");
            assert_eq!(exact.rate_change(FlowId(1), Nanos::new(100)), expected, "{now} from {first}");
        }
    }
}

/// Rates change between the same windows as in the snapshots, and there is no answer where departures were dropped.
#[test]
fn the_twin_knows_the_same_change_of_rate() {
    let mut sketch = Conquest::new(&small(8, 100, Rule::Interpolated)).unwrap();
    let culprit = Culprit { share: 0.01, delay: Nanos::ZERO };
    let [mut twin, mut short] = [1_000, 150].map(|longest| Exact::new(Nanos::new(longest), Unit::Bytes, culprit));
    let mut known = 0;
    for now in 0..2_000 {
        let packet = departure(now, now, 1 + now as u64 * 7 % 3, 1 + (now * now % 13) as u32);
        sketch.update(&packet);
        twin.update(&packet);
        short.update(&packet);
        let change = twin.rate_change(packet.flow, Nanos::new(100));
        assert_eq!(change, sketch.rate_change(packet.flow), "{now}");
        known += i32::from(change.is_some_and(|change| change != 0.0));
        assert_eq!(short.rate_change(packet.flow, Nanos::new(100)), None);
    }
    assert!(known > 1_000, "{known}");
    assert_eq!(twin.rate_change(FlowId(99), Nanos::new(100)), Some(0.0));
}

#[test]
fn packets_are_counted_where_asked() {
    let mut sketch = Conquest::new(&Params { unit: Unit::Packets, ..small(4, 100, Rule::Interpolated) }).unwrap();
    sketch.update(&departure(0, 0, 1, 1_500));
    let queued = sketch.update(&departure(0, 10, 1, 40)).unwrap();
    assert_eq!((queued.flow_size, queued.queue_size), (2, 2));
}

#[test]
fn nonsense_parameters_are_refused() {
    type Spoil = fn(&mut Params);
    let count_min = |rows, columns| Counter::CountMin { rows, columns, is_conservative: false };
    let mut rows = small(8, 10, Rule::Paper);
    rows.counter = count_min(9, 8);
    assert_eq!(Conquest::new(&rows).err(), Some(ConquestError::Rows(9)));
    rows.counter = count_min(4, 0);
    assert_eq!(Conquest::new(&rows).err(), Some(ConquestError::Counters(0)));
    let ns = Nanos::new;
    let cases: [(Spoil, ConquestError); 8] = [
        (|p| p.snapshots = 1, ConquestError::Snapshots(1)),
        (|p| (p.snapshots, p.cleaning) = (2, Cleaning::Cyclic), ConquestError::Snapshots(2)),
        (|p| p.windows.clear(), ConquestError::Groups(0)),
        (|p| p.windows[0] = Nanos::ZERO, ConquestError::Window(Nanos::ZERO)),
        (|p| p.windows.push(Nanos::new(15)), ConquestError::Hierarchy(ns(10), ns(15))),
        (|p| p.windows.push(Nanos::new(90)), ConquestError::Hierarchy(ns(10), ns(90))),
        (|p| p.culprit.share = 1.5, ConquestError::Share(1.5)),
        (|p| p.counter = Counter::SpaceSaving { entries: u32::MAX }, ConquestError::Counters(8 * u64::from(u32::MAX))),
    ];
    for (spoil, error) in cases {
        let mut params = small(8, 10, Rule::Paper);
        spoil(&mut params);
        assert_eq!(Conquest::new(&params).err(), Some(error));
    }
}

/// The accuracy of a sketch for the packets of a queue that wait for at least *τ*.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    precision: f64,
    recall: f64,
    /// Mean absolute error of the flow's size, in bytes.
    error: f64,
    state_bytes: usize,
}

fn score(settings: &Settings, params: &Params, key: impl Fn(&Departure) -> FlowId) -> Score {
    let mut sketch = Conquest::new(params).unwrap();
    let mut exact = Exact::new(Nanos::new(20_000_000), params.unit, params.culprit);
    let (mut found, mut wrong, mut missed, mut error, mut packets) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for passage in Passages::new(settings, 1).unwrap() {
        let departure = Departure { flow: key(&passage.departure), ..passage.departure };
        let (queued, truth): (Queued, Queued) = (sketch.update(&departure).unwrap(), exact.update(&departure).unwrap());
        assert_eq!(truth.queue_size, passage.queue_bytes);
        if departure.delay().unwrap() < params.culprit.delay {
            assert!(!queued.is_culprit && !truth.is_culprit);
            continue;
        }
        packets += 1.0;
        error += queued.flow_size.abs_diff(truth.flow_size) as f64;
        match (queued.is_culprit, truth.is_culprit) {
            (true, true) => found += 1.0,
            (true, false) => wrong += 1.0,
            (false, true) => missed += 1.0,
            (false, false) => {}
        }
    }
    // The first packet came before any departure was seen.
    assert_eq!(exact.counts(), Counts { packets: settings.packets, incomplete: 1, ..Counts::default() });
    let state_bytes = sketch.state_bytes();
    Score { precision: found / (found + wrong), recall: found / (found + missed), error: error / packets, state_bytes }
}

fn paper_score(params: &Params) -> Score {
    score(&Settings::conquest_data_center().with_packets(500_000), params, |departure| departure.flow)
}

fn paper_params(snapshots: u32, columns: u32, rule: Rule) -> Params {
    Params { rule, ..Params::new(snapshots, SPAN, columns, 1) }
}

// In the following tests seeds are fixed: they never fail by chance. The deviations stated are those over 8 to 9 other
// choices of seeds.

/// The exact reference agrees with the simulated queue, which counts in another way.
#[test]
fn the_twin_is_the_queue() {
    for settings in [Settings::conquest_data_center(), Settings::incast()] {
        let mut exact = Exact::new(SPAN, Unit::Bytes, Params::new(8, SPAN, 1, 1).culprit);
        for passage in Passages::new(&settings.with_packets(100_000), 2).unwrap() {
            let truth = exact.update(&passage.departure).unwrap();
            if truth.is_complete {
                assert_eq!((truth.flow_size, truth.queue_size), (passage.flow_bytes, passage.queue_bytes));
            }
        }
        assert!(exact.counts().incomplete < 1_000);
    }
}

/// The paper's setting, 4 × 8 counters in less than 2 KB: eight snapshots find the culprits by every rule that counts
/// the newest one; four miss some by the paper's, since it reads nothing for packets that came and went within one.
/// Precisions are .96 ± .006 and more, recalls 1.000, .87 ± .02 with four, and .73 ± .04 without the newest: six of
/// these deviations (2·10⁻⁹) and more. The last two are the controls that must fail.
#[test]
fn eight_snapshots_find_the_culprits_of_the_paper() {
    let is_complete = |score: Score| score.recall >= 0.99;
    for rule in [Rule::Paper, Rule::Hardware, Rule::Interpolated] {
        let score = paper_score(&paper_params(8, 8, rule));
        assert!(score.precision >= 0.89 && is_complete(score), "{rule:?}: {score:?}");
        assert!(score.state_bytes <= 2_000, "{}", score.state_bytes);
    }
    let four = paper_score(&paper_params(4, 8, Rule::Paper));
    assert!((0.77..=0.97).contains(&four.recall) && !is_complete(four), "{four:?}");
    // Finished windows alone are not enough.
    let text = paper_score(&paper_params(8, 8, Rule::Text));
    assert!(text.recall < 0.95 && !is_complete(text), "{text:?}");
}

/// Precisions are .90 ± .01, .95 ± .007, .97 ± .005 and .993 ± .002: six of these deviations (2·10⁻⁹) in each range;
/// their order, for the same packets, would be different in 10⁻⁴ of the choices of seeds. Few counters are the control
/// that must fail where many pass.
#[test]
fn precision_rises_with_counters_to_a_plateau() {
    let [few, more, many, plenty] =
        [4, 6, 8, 16].map(|columns| paper_score(&paper_params(8, columns, Rule::Interpolated)).precision);
    assert!(few < more && more < many && many < plenty, "{few} {more} {many} {plenty}");
    let is_high = |precision: f64| precision > 0.935;
    assert!((0.80..0.97).contains(&few), "{few}");
    assert!(!is_high(few) && is_high(many) && plenty - many < many - few, "{few} {more} {many} {plenty}");
    let conservative = Counter::CountMin { rows: 4, columns: 4, is_conservative: true };
    let better = paper_score(&Params { counter: conservative, ..paper_params(8, 4, Rule::Interpolated) });
    assert!(1.0 - better.precision < 0.8 * (1.0 - few), "{better:?}, plain {few}");
}

/// With counters that large flows seldom share: with the paper's eight columns two that do would spoil it, in six of 14
/// cases with other seeds. Without them the ratio is twenty and more. The paper's rule is the control that must fail.
#[test]
fn interpolation_divides_the_error_by_four() {
    for snapshots in [8, 16] {
        let [paper, hardware, interpolated] = [Rule::Paper, Rule::Hardware, Rule::Interpolated]
            .map(|rule| paper_score(&paper_params(snapshots, 256, rule)).error);
        println!("h = {snapshots}: {interpolated} of {hardware}, {paper}");
        let is_quarter = |error: f64| 4.0 * error < hardware;
        assert!(
            is_quarter(interpolated) && !is_quarter(paper),
            "h = {snapshots}: {interpolated} of {hardware}, {paper}"
        );
    }
}

/// Precision and recall are above .996 for all choices of seeds; with one entry, the control that must fail, recall is
/// .20 ± .05.
#[test]
fn a_kilobyte_of_space_saving_is_nearly_right() {
    let params = Params::budget(1_000, SPAN, 1).unwrap();
    assert!(matches!(params.counter, Counter::SpaceSaving { .. }));
    let score = paper_score(&params);
    let is_right = |score: Score| score.precision >= 0.99 && score.recall >= 0.98;
    assert!(is_right(score) && score.state_bytes <= 1_000, "{score:?}");
    // One entry per snapshot is not.
    let one = paper_score(&Params { counter: Counter::SpaceSaving { entries: 1 }, ..params });
    assert!(!is_right(one) && one.recall < 0.9, "{one:?}");
}

#[test]
fn a_budget_is_used_and_kept() {
    for bytes in [800, 2_000, 16_383, 16_384, 32_767, 32_768, 1 << 20] {
        let params = Params::budget(bytes, SPAN, 1).unwrap();
        assert!(params.longest() >= SPAN && params.longest().get() < SPAN.get() + 16);
        let state = Conquest::new(&params).unwrap().state_bytes();
        assert!(state <= bytes && state + 256 > bytes, "{state} of {bytes}");
    }
    let few = Params::budget(500, SPAN, 1);
    assert!(matches!(few, Err(ConquestError::Bytes { given: 500, needed }) if needed > 500), "{few:?}");
}

/// None of 64 senders has a twentieth of the queue; their common destination has it all [conquest §7]. Packets of
/// bursts are recognised by their length here. Precision and recall were 1.000 for all choices of seeds; grouping by
/// flow, the control, finds nothing.
#[test]
fn incast_shows_by_destination() {
    let settings = Settings::incast().with_packets(200_000);
    let culprit = Culprit { share: 0.2, delay: Nanos::new(800_000) };
    let params = Params { culprit, ..paper_params(8, 64, Rule::Interpolated) };
    let by_flow = score(&settings, &params, |departure| departure.flow);
    assert!(by_flow.precision.is_nan() && by_flow.recall.is_nan(), "there are culprits: {by_flow:?}");
    let by_destination =
        score(&settings, &params, |departure| if departure.bytes == 1_500 { FlowId(0) } else { departure.flow });
    assert!(by_destination.precision > 0.99 && by_destination.recall > 0.99, "{by_destination:?}");
}

/// With strict priority bursts wait for as long as small flows leave them no room, and with round robin for each other:
/// groups of windows reach back that far, one group, the control that must fail, does not [conquest §8]. A few bursts
/// determine the errors: over 9 choices of seeds those of queues were up to .043, those of flows .007 to .10, and those
/// of one group .05 to .37. The logarithm of a flow's deviates by .75: .3 is exceeded by chance once in 1,000.
#[test]
fn groups_follow_delays_that_one_group_cannot() {
    let base = Settings::conquest_data_center();
    let busy = Background { rate: 6e9, ..base.background.clone() };
    let priority = Settings { discipline: Discipline::Priority, background: busy, ..base.clone() };
    let turns = Settings { discipline: Discipline::RoundRobin { quantum: 1_500 }, ..base };
    for settings in [priority.with_packets(500_000), turns.with_packets(500_000)] {
        let counter = Counter::CountMin { rows: 4, columns: 256, is_conservative: true };
        let one = Params { counter, ..paper_params(8, 256, Rule::Interpolated) };
        let windows = [100, 800, 6_400].map(|micros| Nanos::new(1_000 * micros)).to_vec();
        let groups = Params { windows, snapshots: 9, ..one.clone() };
        let mut exact = Exact::new(Nanos::from_secs(1), Unit::Bytes, one.culprit);
        let [mut one, mut groups] = [one, groups].map(|params| Conquest::new(&params).unwrap());
        let (mut packets, mut known_to_one, mut known, mut errors) = (0.0, 0.0, 0.0, [0.0; 3]);
        for passage in Passages::new(&settings, 1).unwrap() {
            let departure = passage.departure;
            let truth = exact.update(&departure).unwrap();
            let [one, groups] = [&mut one, &mut groups].map(|sketch| sketch.update(&departure).unwrap());
            if departure.delay().unwrap() > SPAN && truth.is_complete {
                packets += 1.0;
                known_to_one += f64::from(u8::from(one.is_complete));
                known += f64::from(u8::from(groups.is_complete));
                let off = |found: u64, truth: u64| (found as f64 / truth as f64 - 1.0).abs();
                errors[0] += off(groups.queue_size, truth.queue_size);
                errors[1] += off(groups.flow_size, truth.flow_size);
                errors[2] += off(one.flow_size, truth.flow_size);
            }
        }
        assert!(packets > 100.0 && known == packets, "{known} of {packets}");
        assert!(known_to_one == 0.0, "{known_to_one} of {packets}");
        let [queue, flow, of_one] = errors.map(|sum| sum / packets);
        assert!(queue < 0.1 && flow < 0.3 && of_one > flow, "{queue} {flow} {of_one}");
    }
}
