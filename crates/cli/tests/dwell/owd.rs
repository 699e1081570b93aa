//! `dwell owd`: logs with known truth, captures made from them, and recorded captures if they are present.

use crate::run::{assert_refusal, command, data, dwell, dwell_in, ends, finish, names, testdata};
use dwell_report::openmetrics::Label;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const MILLI: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// A packet: when it was sent, and its delay if it arrived.
struct Packet {
    id: u64,
    flow: u64,
    bytes: u64,
    sent: i64,
    delay: Option<i64>,
}

/// Writes IP packets with their times in nanoseconds as a pcap file.
fn write_capture(path: &Path, packets: &[(i64, Vec<u8>)]) {
    let mut capture = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    capture.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    for (at, packet) in packets {
        let length = packet.len() as u32;
        for word in [(at / SECOND) as u32, (at % SECOND) as u32, length, length] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    fs::write(path, capture).unwrap();
}

/// A number in `0..1`.
fn uniform(n: u64) -> f64 {
    dwell_types::hash::unit(dwell_types::hash::finish(n ^ 0x5eed))
}

/// One packet per millisecond for ten seconds, of eight flows, 2% lost, with delays of 10 to 60 ms.
fn packets() -> Vec<Packet> {
    (0..10_000)
        .map(|n| Packet {
            id: n,
            flow: (uniform(4 * n).powi(2) * 8.0) as u64,
            bytes: 100 + n % 1_000,
            sent: n as i64 * MILLI,
            delay: (uniform(4 * n + 1) >= 0.02 || n == 0 || n == 9_999)
                .then_some(10 * MILLI + (uniform(4 * n + 2).powi(2) * 5e7) as i64),
        })
        .collect()
}

/// Writes both logs, in the order of their times, with the receiver's clock ahead by this much.
fn write_logs(folder: &Path, packets: &[Packet], ahead: i64) {
    let write = |name: &str, mut rows: Vec<(i64, &Packet)>| {
        rows.sort_by_key(|&(at, _)| at);
        let mut text = "at_ns,packet,flow,bytes\n".to_owned();
        for (at, packet) in rows {
            writeln!(text, "{at},p{},f{},{}", packet.id, packet.flow, packet.bytes).unwrap();
        }
        fs::write(folder.join(name), text).unwrap();
    };
    write("a.csv", packets.iter().map(|p| (p.sent, p)).collect());
    write("b.csv", packets.iter().filter_map(|p| Some((p.sent + p.delay? + ahead, p))).collect());
}

fn logs(packets: &[Packet]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_logs(folder.path(), packets, 0);
    folder
}

fn json(folder: &Path, more: &[&str]) -> Value {
    let arguments = [&["owd", "--crossings", "a.csv", "b.csv", "--format", "json"], more].concat();
    dwell_in(folder, &arguments).ok().json()
}

fn mean<'a>(packets: impl Iterator<Item = &'a Packet>) -> (f64, f64) {
    let delays: Vec<f64> = packets.filter_map(|p| p.delay).map(|d| d as f64).collect();
    (delays.iter().sum::<f64>() / delays.len() as f64, delays.len() as f64)
}

/// Asserts that received, lost and uncovered packets add up to those sent.
#[track_caller]
fn assert_conserved(line: &Value) {
    let count = |name: &str| line[name].as_u64().unwrap_or_else(|| panic!("no {name} in {line}"));
    let parts = count("received") + count("lost") + count("uncovered");
    assert_eq!(parts, count("sent"), "{line}");
}

#[test]
fn logs_give_the_truth() {
    let packets = packets();
    let folder = logs(&packets);
    let report = json(folder.path(), &["--flows", "--top", "3"]);
    assert_eq!((report["schema"].as_str(), report["method"]["exact"].as_bool()), (Some("dwell.owd/1"), Some(true)));
    let total = &report["total"];
    assert_conserved(total);
    let (truth, received) = mean(packets.iter());
    assert_eq!((total["sent"].as_u64(), total["received"].as_f64()), (Some(10_000), Some(received)));
    assert_eq!(total["lost"].as_f64(), Some(10_000.0 - received));
    let (low, value, high) = ends(&total["delay_ns"]["mean"]);
    assert!((value / truth - 1.0).abs() < 1e-9 && low == value && high == value, "{value} {truth}");
    assert_eq!(ends(&total["loss_rate"]).1, (10_000.0 - received) / 10_000.0);
    assert!(report["frames"].is_null() && total["unusable"].is_null());

    let intervals = report["intervals"].as_array().unwrap();
    assert_eq!(intervals.len(), 10);
    for (n, interval) in (0..).zip(intervals) {
        assert_conserved(interval);
        assert_eq!(interval["start_ns"].as_i64(), Some(n * SECOND));
        let (truth, received) = mean(packets.iter().filter(|p| p.sent / SECOND == n));
        assert_eq!((interval["sent"].as_u64(), interval["received"].as_f64()), (Some(1_000), Some(received)));
        assert!((ends(&interval["delay_ns"]["mean"]).1 / truth - 1.0).abs() < 1e-9);
    }

    let flows = report["flows"].as_array().unwrap();
    assert_eq!((flows.len(), flows[3]["flow"].as_str()), (4, Some("other")));
    for name in ["packets", "bytes", "received", "lost", "uncovered", "effective_samples"] {
        let all = if name == "packets" { "sent" } else { name };
        assert_eq!(flows.iter().map(|flow| flow[name].as_u64().unwrap()).sum::<u64>(), total[all].as_u64().unwrap());
    }
    let mut bytes = [0; 8];
    packets.iter().for_each(|p| bytes[p.flow as usize] += p.bytes);
    let mut ranked: Vec<usize> = (0..8).collect();
    ranked.sort_by_key(|&flow| std::cmp::Reverse(bytes[flow]));
    for (flow, &number) in flows.iter().zip(&ranked[..3]) {
        assert_eq!(flow["flow"].as_str(), Some(format!("f{number}").as_str()));
        assert_eq!((flow["bytes"].as_u64(), flow["uncounted_bytes"].as_u64()), (Some(bytes[number]), Some(0)));
        let own = || packets.iter().filter(|p| p.flow == number as u64);
        assert_eq!(flow["packets"].as_u64(), Some(own().count() as u64));
        assert!((ends(&flow["delay_ns"]["mean"]).1 / mean(own()).0 - 1.0).abs() < 1e-9);
    }
}

/// One row of `--samples`.
struct Row {
    at: i64,
    delay: Option<i64>,
    weight: f64,
    /// Fate and direction.
    kind: String,
    bytes: u64,
    flow: String,
}

fn rows(path: &Path) -> Vec<Row> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("at_ns,delay_ns,weight,fate,direction,bytes,flow"));
    let row = |line: &str| {
        let [at, delay, weight, fate, direction, bytes, flow] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        Row {
            at: at.parse().unwrap(),
            delay: delay.parse().ok(),
            weight: weight.parse().unwrap(),
            kind: format!("{fate} {direction}"),
            bytes: bytes.parse().unwrap(),
            flow: flow.to_owned(),
        }
    };
    lines.map(row).collect()
}

/// Rows of samples are the packets sent, each once in the order of sending, with its delay, size and flow; where packets
/// are sampled, the weights of each fate are as large a share of all as in the report.
#[test]
fn samples_are_the_packets() {
    let packets = packets();
    let folder = logs(&packets);
    let samples = folder.path().join("samples.csv");
    json(folder.path(), &["--samples", "samples.csv", "--flows"]);
    let all = rows(&samples);
    assert_eq!(all.len(), packets.len());
    for (row, packet) in all.iter().zip(&packets) {
        let fate = if packet.delay.is_some() { "received forward" } else { "lost forward" };
        assert_eq!((row.at, row.delay, row.weight), (packet.sent, packet.delay, 1.0));
        assert_eq!((row.kind.as_str(), row.bytes), (fate, packet.bytes));
        assert_eq!(row.flow, format!("f{}", packet.flow));
    }
    let report = json(folder.path(), &["--samples", "samples.csv", "--memory", "20KiB"]);
    let some = rows(&samples);
    let weight = |fate: &str| some.iter().filter(|row| row.kind.starts_with(fate)).map(|row| row.weight).sum::<f64>();
    for fate in ["received", "lost"] {
        let told = report["total"][fate].as_f64().unwrap() / packets.len() as f64;
        assert!((weight(fate) / weight("") - told).abs() < 1e-3, "{fate}: {} {told}", weight(fate));
    }
    assert!(some.len() < packets.len() / 2 && some.iter().any(|row| row.weight > 1.0));
    let truth = |row: &&Row| packets[(row.at / MILLI) as usize].delay == row.delay && row.flow.is_empty();
    assert_eq!(some.iter().filter(truth).count(), some.len());
}

/// Both directions of recorded captures: numbers of each fate, and extreme delays, are those of the report.
#[test]
fn samples_of_both_directions_add_up_to_the_report() {
    let captures = ["one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["owd", &captures[0], &captures[1], "--samples", "samples.csv", "--format", "json"];
    let report = dwell_in(folder.path(), &arguments).ok().json();
    let rows = rows(&folder.path().join("samples.csv"));
    for (name, direction) in [("total", "forward"), ("reverse", "reverse")] {
        let line = &report[name];
        let own = |fate: &str| {
            let kind = format!("{fate} {direction}");
            rows.iter().filter(move |row| row.kind == kind)
        };
        for fate in ["received", "lost", "uncovered"] {
            assert_eq!(line[fate].as_u64(), Some(own(fate).count() as u64), "{fate} {name}");
        }
        let delays = || own("received").filter_map(|row| row.delay);
        assert_eq!(line["effective_samples"].as_u64(), Some(delays().count() as u64));
        assert_eq!(line["delay_ns"]["min"]["value"].as_i64(), delays().min());
        assert_eq!(line["delay_ns"]["max"]["value"].as_i64(), delays().max());
    }
}

/// The histogram has every packet that arrived in its bin; where packets are sampled, its numbers add up to those that
/// arrived. Of 60 intervals of 95%, fewer than 42 contain the truth with a probability of 3·10⁻⁵ if the three bins of a run
/// always agree; those a quarter as wide, the control, must fail.
#[test]
fn the_histogram_is_of_the_packets() {
    let packets = packets();
    let folder = logs(&packets);
    let bins = |line: &Value| -> Vec<(i64, i64, (f64, f64, f64))> {
        let edge = |bin: &Value, name: &str| bin[name].as_i64().unwrap();
        let bins = line["histogram"].as_array().unwrap().iter();
        bins.map(|bin| (edge(bin, "from_ns"), edge(bin, "to_ns"), ends(&bin["packets"]))).collect()
    };
    let truth = |from, to, of: &dyn Fn(&Packet) -> bool| {
        packets.iter().filter(|p| of(p) && p.delay.is_some_and(|delay| from < delay && delay <= to)).count() as f64
    };
    let report = json(folder.path(), &["--flows", "--top", "8"]);
    let all = bins(&report["total"]);
    let edges: Vec<_> = all.iter().map(|bin| (bin.0 / MILLI, bin.1 / MILLI)).collect();
    assert_eq!(edges, [(10, 20), (20, 50), (50, 100)]);
    for (from, to, number) in all {
        let truth = truth(from, to, &|_| true);
        assert_eq!(number, (truth, truth, truth));
    }
    for interval in report["intervals"].as_array().unwrap() {
        let second = interval["start_ns"].as_i64().unwrap() / SECOND;
        for (from, to, number) in bins(interval) {
            assert_eq!(number.1, truth(from, to, &|p| p.sent / SECOND == second), "{from} in second {second}");
        }
    }
    for flow in &report["flows"].as_array().unwrap()[..8] {
        for (from, to, number) in bins(flow) {
            let is_own = |p: &Packet| flow["flow"] == format!("f{}", p.flow).as_str();
            assert_eq!(number.1, truth(from, to, &is_own), "{from} of {}", flow["flow"]);
        }
    }
    let mut held = [0; 2];
    for seed in 0..20 {
        let report = json(folder.path(), &["--memory", "24KiB", "--longest", "200ms", "--seed", &seed.to_string()]);
        for line in report["intervals"].as_array().unwrap().iter().chain([&report["total"]]) {
            let sum: f64 = bins(line).iter().map(|bin| bin.2.1).sum();
            assert!((sum - line["received"].as_f64().unwrap()).abs() < 1e-6, "{sum} {line}");
        }
        for (from, to, (low, value, high)) in bins(&report["total"]) {
            let truth = truth(from, to, &|_| true);
            assert!(low < value && value < high, "{from} is an estimate");
            for (held, width) in held.iter_mut().zip([1.0, 0.25]) {
                *held += u32::from((-width * (value - low)..=width * (high - value)).contains(&(truth - value)));
            }
        }
    }
    let are_enough = |held: u32| held >= 42;
    assert!(are_enough(held[0]) && !are_enough(held[1]), "{held:?} of 60 numbers hold");
}

/// Of 40 intervals of 95%, fewer than 27 contain the true value with a probability of 4·10⁻⁹; those a quarter as wide,
/// the control, must fail. A mean has a standard error of .55%, and seven of these are allowed.
#[test]
fn small_memory_gives_estimates_with_intervals_that_hold() {
    let packets = packets();
    let folder = logs(&packets);
    let (truth, received) = mean(packets.iter());
    let mut held = [0; 2];
    for seed in 0..40 {
        let report = json(folder.path(), &["--memory", "24KiB", "--longest", "200ms", "--seed", &seed.to_string()]);
        assert_eq!(report["method"]["exact"], false);
        assert!(report["memory"]["state_bytes"].as_u64() <= Some(24 << 10));
        let total = &report["total"];
        assert_conserved(total);
        let (low, value, high) = ends(&total["delay_ns"]["mean"]);
        assert!((value / truth - 1.0).abs() < 0.04 && low < high, "{value} {truth}");
        for (held, width) in held.iter_mut().zip([1.0, 0.25]) {
            *held += u64::from((-width * (value - low)..=width * (high - value)).contains(&(truth - value)));
        }
        let rate = ends(&total["loss_rate"]);
        assert!(rate.0 <= 1.0 - received / 1e4 + 0.02 && rate.2 >= 1.0 - received / 1e4 - 0.02, "{rate:?}");
    }
    let are_enough = |held: u64| held >= 27;
    assert!(are_enough(held[0]) && !are_enough(held[1]), "{held:?} of 40 intervals hold the truth");
}

/// Sketches, made in one run or separately, agree with the packets: means of delays with a deviation of .56 of their
/// mean, from 4,000 packets and more, within 5% (five standard errors and more, 6·10⁻⁷), and losses within .4 points,
/// since all packets but those at the borders are counted. A mean that includes a shift of the cuts must fail.
#[test]
fn sketches_join() {
    let packets = packets();
    let folder = logs(&packets);
    let (truth, received) = mean(packets.iter());
    let together = json(folder.path(), &["--method", "lda", "--flows"]);
    for (name, log) in [("a.dwell", "a.csv"), ("b.dwell", "b.csv")] {
        let shift = if log == "b.csv" { "25ms" } else { "0" };
        dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "--shift", shift, "--flows", "-o", name]).ok();
    }
    let apart = dwell_in(folder.path(), &["owd", "join", "a.dwell", "b.dwell", "--format", "json"]).ok().json();
    for report in [&together, &apart] {
        let total = &report["total"];
        assert_eq!((report["method"]["name"].as_str(), total["sent"].as_u64()), (Some("lda"), Some(10_000)));
        let covered = 10_000 - total["uncovered"].as_u64().unwrap();
        assert!(covered >= 7_500, "{covered}");
        let lost = total["lost"].as_f64().unwrap() / covered as f64;
        assert!((lost - (1.0 - received / 1e4)).abs() < 0.004, "{lost}");
        let (low, value, high) = ends(&total["delay_ns"]["mean"]);
        // Half of the cells are spoilt by loss and by packets reordered around the borders.
        let is_near = |mean: f64| (mean / truth - 1.0).abs() < 0.05;
        assert!(is_near(value) && low < value && value < high, "{value} {truth}");
        assert!(!is_near(value + 25e6) && !is_near(value - 25e6), "{value} {truth}");
        assert!(total["delay_ns"]["p50"].is_null() && total["jitter_ns"].is_null());
        let intervals = report["intervals"].as_array().unwrap();
        assert_eq!(intervals.iter().map(|i| i["sent"].as_u64().unwrap()).sum::<u64>(), 10_000);
        assert!(intervals.iter().filter(|i| i["unusable"].is_null()).count() >= 5);
        let flows = report["flows"].as_array().unwrap();
        assert_eq!(flows.len(), 8);
        for flow in flows {
            let number: u64 = flow["flow"].as_str().unwrap().strip_prefix('f').unwrap().parse().unwrap();
            let own = packets.iter().filter(|p| p.flow == number).count() as u64;
            assert_eq!(flow["packets"].as_u64(), Some(own));
        }
    }
}

/// Each duplicate hides a lost packet from the counters: the report warns, and its interval contains the true loss.
/// Without duplicates the loss is exact. Sketches in the wrong order are reported, even if no packet arrives before it
/// is sent.
#[test]
fn sketches_say_that_duplicates_hide_losses() {
    let folder = tempfile::tempdir().unwrap();
    let dwell = |arguments: &[&str]| {
        let run = dwell_in(folder.path(), arguments);
        assert_eq!(run.code, 0, "{}", run.err);
        run
    };
    // Without reordering, 100 ms later; two in a hundred are lost.
    let mut packets = packets();
    packets.iter_mut().for_each(|packet| packet.delay = packet.delay.map(|_| 100 * MILLI));
    write_logs(folder.path(), &packets, 0);
    let lost = packets.iter().filter(|packet| packet.delay.is_none()).count() as f64;
    let twice: String = fs::read_to_string(folder.path().join("b.csv"))
        .unwrap()
        .lines()
        .enumerate()
        .map(|(n, line)| format!("{line}\n").repeat(if n % 45 == 44 { 2 } else { 1 }))
        .collect();
    fs::write(folder.path().join("twice.csv"), twice).unwrap();
    for (log, sketch) in [("a.csv", "a.dwell"), ("b.csv", "b.dwell"), ("twice.csv", "twice.dwell")] {
        dwell(&["owd", "sketch", log, "--crossings", "-o", sketch, "--sketch-bytes", "20000"]);
    }
    for (receiver, is_twice) in [("b.dwell", false), ("twice.dwell", true)] {
        let run = dwell(&["owd", "join", "a.dwell", receiver, "--format", "json"]);
        assert_eq!(run.err.contains("duplicate hides a loss"), is_twice, "{}", run.err);
        let total = &run.json()["total"];
        assert_conserved(total);
        let usable = (total["received"].as_u64().unwrap() + total["lost"].as_u64().unwrap()) as f64;
        let (low, value, high) = ends(&total["loss_rate"]);
        let truth = lost / packets.len() as f64;
        if is_twice {
            assert!(value < truth / 3.0 && low <= truth && truth <= high && high < 1.5 * truth, "{total}");
        } else {
            assert!(low == high && (value - truth).abs() < 20.0 / usable, "{total}");
        }
    }
    let run = dwell(&["owd", "join", "b.dwell", "a.dwell", "--format", "json"]);
    assert!(run.err.contains("wrong order"), "{}", run.err);
    assert_conserved(&run.json()["total"]);
    write_logs(folder.path(), &packets, -SECOND);
    dwell(&["owd", "sketch", "b.csv", "--crossings", "-o", "b.dwell", "--sketch-bytes", "20000"]);
    let run = dwell(&["owd", "join", "b.dwell", "a.dwell", "--format", "json"]);
    assert!(run.err.contains("more packets were received than sent: the points are in the wrong order"), "{}", run.err);
    assert_conserved(&run.json()["total"]);
}

/// Clocks 700 s apart, more than sums of 40 bits can hold, are found and reported: all delays are longer or shorter by
/// that, and a warning names the remedy, if there is one.
#[test]
fn sketches_find_clocks_that_disagree() {
    let packets = packets();
    let (truth, _) = mean(packets.iter());
    for offset in [700_000_000_000, -700_000_000_000] {
        let folder = tempfile::tempdir().unwrap();
        write_logs(folder.path(), &packets, offset);
        for (name, log) in [("a.dwell", "a.csv"), ("b.dwell", "b.csv")] {
            dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "-o", name]).ok();
        }
        let together =
            dwell_in(folder.path(), &["owd", "--crossings", "a.csv", "b.csv", "--method", "lda", "--format", "json"]);
        let apart = dwell_in(folder.path(), &["owd", "join", "a.dwell", "b.dwell", "--format", "json"]);
        assert!(together.err.contains("--clock-offset"), "{}", together.err);
        assert_eq!(apart.err.contains("clocks disagree"), offset < 0, "{}", apart.err);
        for run in [together, apart] {
            let (low, value, high) = ends(&run.json()["total"]["delay_ns"]["mean"]);
            assert!((value - offset as f64 - truth).abs() < 0.1 * truth, "{value}");
            assert!(high - low < 0.2 * truth, "{low} {high}");
        }
    }
}

/// Without losses the sketch of flows gives every flow's mean delay: eight flows in many cells, within the error due to
/// packets at the borders of an interval. The mean of all flows is the control that must fail.
#[test]
fn sketches_tell_flows() {
    let packets: Vec<Packet> = packets()
        .into_iter()
        .map(|p| Packet { delay: Some(10 * MILLI + p.flow as i64 * 3 * MILLI + (p.id % 7) as i64 * 10_000), ..p })
        .collect();
    let folder = logs(&packets);
    let how = ["--method", "lda", "--flows", "--longest", "500ms", "--format", "json"];
    let run = dwell_in(folder.path(), &[&["owd", "--crossings", "a.csv", "b.csv"], &how[..]].concat());
    // Flows differ by up to 21 ms, so that packets are reordered around every border.
    assert!(run.err.contains("more packets were received than sent"), "{}", run.err);
    let report = run.json();
    let flows = report["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 8);
    let (of_all, _) = mean(packets.iter());
    let mut others = 0;
    for flow in flows {
        let number: u64 = flow["flow"].as_str().unwrap().strip_prefix('f').unwrap().parse().unwrap();
        let (truth, _) = mean(packets.iter().filter(|p| p.flow == number));
        let value = ends(&flow["delay_ns"]["mean"]).1;
        let is_near = |mean: f64| (mean / truth - 1.0).abs() < 0.03;
        assert!(is_near(value), "{number}: {value} {truth}");
        others += u32::from(!is_near(of_all));
    }
    assert!(others >= 6, "{others}");
}

/// 4,400 flows of five packets, of which those not listed take twenty times as long: confidence intervals of the others
/// hold (3,623 of 4,096, seeds are fixed), and the report says how many packets are left out. A tenth as wide, they
/// must not (604). With clocks ten years apart, the means differ by that.
#[test]
fn flows_beyond_the_list_widen_the_others() {
    const FLOWS: u64 = 4_400;
    const LISTED: u64 = 4_096;
    const YEARS: i64 = 10 * 365 * 86_400 * SECOND;
    let delay = |flow: u64| if flow < LISTED { MILLI } else { 20 * MILLI };
    let packets: Vec<Packet> = (0..5 * FLOWS)
        .map(|id| (id, id % FLOWS))
        .map(|(id, flow)| Packet { id, flow, bytes: 100, sent: id as i64 * MILLI, delay: Some(delay(flow)) })
        .collect();
    let folder = logs(&packets);
    let how = ["--method", "lda", "--flows", "--top", "5000", "--interval", "1000s", "--longest", "500ms"];
    let run = || {
        let logs = ["owd", "--crossings", "a.csv", "b.csv", "--format", "json"];
        dwell_in(folder.path(), &[&logs[..], &how].concat()).json()
    };
    let report = run();
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("1520 packets belong to flows beyond the first 4096"), "{warnings}");
    let flows = report["flows"].as_array().unwrap();
    let held = |ahead: i64, width: f64| {
        let holds = |flow: &&Value| {
            let (low, value, high) = ends(&flow["delay_ns"]["mean"]);
            let off = (MILLI + ahead) as f64 - value;
            (-width * (value - low) - 1.0..=width * (high - value) + 1.0).contains(&off)
        };
        flows.iter().filter(holds).count()
    };
    println!("{} and {} of {}", held(0, 1.0), held(0, 0.1), flows.len());
    assert!(flows.len() == 4_096 && held(0, 1.0) > 3_500 && held(0, 0.1) < 1_000);
    write_logs(folder.path(), &packets, YEARS);
    let apart = run();
    for (flow, other) in flows.iter().zip(apart["flows"].as_array().unwrap()) {
        let [near, far] = [flow, other].map(|flow| flow["delay_ns"]["mean"]["value"].as_f64().unwrap());
        assert!((far - near - YEARS as f64).abs() < 1e3, "{near} {far}");
    }
}

/// Packets sent in intervals that could not be joined are uncovered for flows as for the total; a flow sent only in
/// such intervals has no delay.
#[test]
fn flows_of_what_could_not_be_joined_are_uncovered() {
    let packets: Vec<Packet> =
        packets().into_iter().map(|p| Packet { flow: if p.sent < 2 * SECOND { 99 } else { p.flow }, ..p }).collect();
    let folder = logs(&packets);
    let late: Vec<Packet> = packets.into_iter().filter(|p| p.sent >= 3 * SECOND).collect();
    let received = tempfile::tempdir().unwrap();
    write_logs(received.path(), &late, 0);
    fs::copy(received.path().join("b.csv"), folder.path().join("b.csv")).unwrap();
    let how = ["--method", "lda", "--flows", "--interval", "1s", "--longest", "500ms", "--format", "json"];
    let report = dwell_in(folder.path(), &[&["owd", "--crossings", "a.csv", "b.csv"], &how[..]].concat()).json();
    let count = |line: &Value, name: &str| line[name].as_u64().unwrap();
    let flows = report["flows"].as_array().unwrap();
    for name in ["sent", "uncovered"] {
        let sum: u64 = flows.iter().map(|flow| count(flow, name)).sum();
        assert_eq!(sum, count(&report["total"], name), "{name}");
    }
    flows.iter().for_each(assert_conserved);
    let early = flows.iter().find(|flow| flow["flow"] == "f99").unwrap();
    assert_eq!((count(early, "uncovered"), &early["delay_ns"]["mean"]), (2_000, &Value::Null));
    assert!(early["unusable"].as_str().unwrap().contains("could not be joined"), "{early}");
}

/// 200 flows of 50 packets each in sketches of 30 columns: with weight 1,000 for the packets of `f7`, the error of its
/// mean is about half of the error without, which is the control that must fail.
#[test]
fn weights_tell_flows_among_many() {
    let packets: Vec<Packet> = packets()
        .into_iter()
        .map(|p| Packet { flow: p.id % 200, delay: Some(if p.id % 200 == 7 { 40 } else { 20 } * MILLI), ..p })
        .collect();
    let folder = logs(&packets);
    fs::write(folder.path().join("w.csv"), "flow, weight\nf8,5\nf7,1000\nf7,3\n").unwrap();
    let sketches = ["--flows", "--longest", "500ms", "--interval", "5s"];
    let how = [&sketches[..], &["--method", "lda", "--flow-bytes", "2500", "--flow", "f7"]].concat();
    let found = |report: &Value| {
        let flow = report["flows"].as_array().unwrap().iter().find(|flow| flow["flow"] == "f7").unwrap();
        ends(&flow["delay_ns"]["mean"]).1 / MILLI as f64
    };
    let bound = 0.6 * (found(&json(folder.path(), &how)) - 40.0).abs();
    let report = json(folder.path(), &[&how[..], &["--weights", "w.csv"]].concat());
    assert!((found(&report) - 40.0).abs() < bound && bound > 6.0, "{} {bound}", found(&report));
    assert_eq!(report["method"]["weights"], "1, 5, 1000, 3");
    for (name, log) in [("a.dwell", "a.csv"), ("b.dwell", "b.csv")] {
        let at = ["owd", "sketch", "--crossings", log, "--weights", "w.csv", "--flow-bytes", "2500", "-o", name];
        dwell_in(folder.path(), &[&at[..], &sketches].concat()).ok();
    }
    let apart = dwell_in(folder.path(), &["owd", "join", "a.dwell", "b.dwell", "--top", "200", "--format", "json"]);
    assert!((found(&apart.ok().json()) - 40.0).abs() < bound);
    for (text, words) in [
        ("flow,wait\n", "expected the columns flow,weight"),
        ("flow,weight\nf1,2\nf2,0\n", "line 3: expected a weight from 1 to 65536, found '0'"),
    ] {
        fs::write(folder.path().join("w.csv"), text).unwrap();
        let run = dwell_in(
            folder.path(),
            &[&["owd", "--crossings", "a.csv", "b.csv"], &how[..], &["--weights", "w.csv"]].concat(),
        );
        assert!(run.code == 1 && run.err.contains(words), "{}", run.err);
    }
}

#[test]
fn damaged_sketches_are_never_wrong() {
    let packets = packets();
    let folder = logs(&packets);
    let sketch = |log: &str, name: &str, seed: &str| {
        dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "--seed", seed, "-o", name]).ok();
    };
    sketch("a.csv", "a.dwell", "0");
    sketch("b.csv", "b.dwell", "0");
    sketch("b.csv", "foreign.dwell", "1");
    let mut bytes = fs::read(folder.path().join("b.dwell")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(folder.path().join("damaged.dwell"), &bytes).unwrap();
    fs::write(folder.path().join("cut.dwell"), &bytes[..middle]).unwrap();
    let join = |name: &str| dwell_in(folder.path(), &["owd", "join", "a.dwell", name, "--format", "json"]);
    let usable = |report: &Value| -> u64 {
        let intervals = report["intervals"].as_array().unwrap();
        intervals.iter().filter(|i| i["unusable"].is_null()).map(|i| i["sent"].as_u64().unwrap()).sum()
    };
    let whole = join("b.dwell").ok().json();
    for name in ["damaged.dwell", "cut.dwell"] {
        let run = join(name);
        assert!(run.code == 0 && run.err.contains("1 message is damaged"), "{}", run.err);
        let report = run.json();
        assert!(usable(&report) < usable(&whole));
        for interval in report["intervals"].as_array().unwrap().iter().filter(|i| i["unusable"].is_null()) {
            assert!(ends(&interval["loss_rate"]).1 < 0.06, "{interval}");
        }
    }
    let run = join("foreign.dwell");
    let words = "warning: the sketches were made with different seeds (--seed 0 and 1)";
    assert!(run.err.contains(words) && run.err.lines().count() == 1, "{}", run.err);
    let report = run.json();
    assert_eq!(usable(&report), 0);
    assert!(report["total"]["delay_ns"]["mean"].is_null() && !report["total"]["unusable"].is_null());
}

/// What is known of an interval that is not joined, because of one message of the receiver.
#[test]
fn messages_that_are_missing_or_foreign_are_said() {
    let folder = logs(&packets());
    let messages = |log: &str, seed: &str| {
        let name = format!("{log}.{seed}");
        dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "--seed", seed, "-o", &name]).ok();
        let (mut rest, mut messages) = (fs::read(folder.path().join(&name)).unwrap(), Vec::new());
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[4..8].try_into().unwrap()) as usize;
            let behind = rest.split_off(8 + length);
            messages.push(std::mem::replace(&mut rest, behind));
        }
        messages
    };
    messages("a.csv", "0");
    let (own, foreign) = (messages("b.csv", "0"), messages("b.csv", "1"));
    let join = |fourth: &[u8]| {
        let file = [own[..3].concat(), fourth.to_vec(), own[4..].concat()].concat();
        fs::write(folder.path().join("b"), file).unwrap();
        let run = dwell_in(folder.path(), &["owd", "join", "a.csv.0", "b", "--format", "json"]);
        let report = run.json();
        let unusable = report["intervals"].as_array().unwrap().iter().map(|i| i["unusable"].to_string());
        (unusable.collect::<Vec<_>>().concat(), run.err)
    };
    let (missing, strange) = ("a message is missing", "the two sketches have different seeds");
    let (why, err) = join(&own[3]);
    assert!(!why.contains(missing) && !why.contains(strange) && err.is_empty(), "{why} {err}");
    let (why, err) = join(&[]);
    assert!(why.contains(missing) && err.contains("b: 1 message is missing"), "{why} {err}");
    let (why, err) = join(&foreign[3]);
    assert!(why.contains(strange) && err.contains("b: 1 message is of another seed"), "{why} {err}");
}

/// A file without end, which holds nothing that begins a message.
#[cfg(unix)]
#[test]
fn what_holds_no_sketch_is_not_read_to_its_end() {
    let folder = logs(&packets());
    dwell_in(folder.path(), &["owd", "sketch", "--crossings", "a.csv", "-o", "a.dwell"]).ok();
    let run = dwell_in(folder.path(), &["owd", "join", "a.dwell", "/dev/zero"]);
    assert!(run.code == 1 && run.err.contains("/dev/zero: expected sketches made by dwell owd sketch"), "{}", run.err);
}

#[test]
fn clocks_that_disagree_are_said() {
    let packets = packets();
    let folder = tempfile::tempdir().unwrap();
    write_logs(folder.path(), &packets, -200 * MILLI);
    let arguments = ["owd", "--crossings", "a.csv", "b.csv", "--format", "json"];
    let run = dwell_in(folder.path(), &arguments);
    assert!(run.err.contains("--swap") && run.err.contains("--clock-offset"), "{}", run.err);
    let truth = mean(packets.iter()).0;
    assert!((ends(&run.json()["total"]["delay_ns"]["mean"]).1 - truth + 200e6).abs() < 1.0);
    let mended = dwell_in(folder.path(), &[&arguments[..], &["--clock-offset", "-200ms"]].concat()).ok().json();
    assert!((ends(&mended["total"]["delay_ns"]["mean"]).1 - truth).abs() < 1.0);

    fs::write(folder.path().join("b.csv"), "at_ns,packet\n5,other\n").unwrap();
    let run = dwell_in(folder.path(), &arguments);
    assert!(run.code == 0 && run.err.contains("no packet was seen at both points"), "{}", run.err);
    let total = &run.json()["total"];
    assert!(total["delay_ns"]["mean"].is_null() && total["loss_rate"].is_null() && total["lost"] == 0);
}

/// Both directions between two hosts; one point, or both, see each packet twice, and a tenth of the packets is sent
/// again half a second later. The warnings name these points and mention neither clocks nor directions, and delays in
/// the direction to the point with duplicates are exact. Negative delays are reported even if the other direction has
/// no delays.
#[test]
fn duplicates_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let packet = |n: u32, is_back: bool| {
        let mut frame = vec![0x45, 0, 0, 32, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        if is_back {
            frame[12..20].rotate_left(4);
        }
        frame.extend([1, 0, 2, 0, 0, 12, 0, 0]);
        frame.extend((n % 10_000).to_be_bytes());
        frame
    };
    let write = |name: &str, is_receiver: bool, copies: i64| {
        let mut packets = Vec::new();
        for n in 0..2_000_u32 {
            for is_back in [false, true] {
                let delay = if is_receiver == is_back { 0 } else { (5 + i64::from(n % 2)) * MILLI };
                for at in [0, 500 * MILLI].into_iter().take(if n % 10 == 3 { 2 } else { 1 }) {
                    let at = SECOND + i64::from(n) * 3 * MILLI + i64::from(is_back) * 1_000_000 + at + delay;
                    packets.extend((0..copies).map(|copy| (at + copy * 8_000, packet(n, is_back))));
                }
            }
        }
        packets.sort();
        write_capture(&folder.path().join(name), &packets);
    };
    for copies in [1, 2] {
        write(&format!("a{copies}.pcap"), false, copies);
        write(&format!("b{copies}.pcap"), true, copies);
    }
    for (a, b) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
        let [a_file, b_file] = [format!("a{a}.pcap"), format!("b{b}.pcap")];
        for from in [&[][..], &["--from", "10.0.0.1"]] {
            let run = dwell_in(folder.path(), &[&["owd", &a_file, &b_file, "--format", "json"], from].concat());
            // Duplicates of one direction at its receiver are reported, too, and never attributed to the other point.
            let is_said = |file: &str| run.err.contains(&format!("{file}: ")) && run.err.contains("captured twice");
            assert_eq!(run.err.is_empty(), (a, b) == (1, 1), "{}", run.err);
            assert!(!is_said(&a_file) || a == 2, "{}", run.err);
            assert!(!is_said(&b_file) || b == 2, "{}", run.err);
            assert!(!run.err.contains("clocks") && !run.err.contains("--from"), "{}", run.err);
            let report = run.json();
            if a == 1 {
                let total = &report["total"];
                assert_eq!((&total["lost"], &total["ambiguous"]), (&0.into(), &0.into()), "{total}");
                let delays = ["min", "max"].map(|key| ends(&total["delay_ns"][key]).1);
                assert_eq!(delays, [5e6, 6e6], "{total}");
                let duplicates = [0, 2_200 * (b - 1) * if from.is_empty() { 2 } else { 1 }];
                let points =
                    ["sender", "receiver"].map(|point| report["points"][point]["duplicates"].as_i64().unwrap());
                assert_eq!(points, duplicates, "{total}");
            }
            if a == 1 && b == 1 && from.is_empty() {
                assert_eq!(report["reverse"]["sent"], 2_200);
            }
        }
    }
    let run = dwell_in(folder.path(), &["owd", "a1.pcap", "b2.pcap", "--clock-offset", "5500us"]);
    assert!(run.err.contains("some packets arrived before they were sent"), "{}", run.err);
}

/// Segments that one side's offloading merged match nothing, which is no loss: the warning names the side and the remedy,
/// by every method, and in `queue` and `compare`. Where all segments have one length, some are lost.
#[test]
fn merged_segments_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let between = |ends: [u8; 2], n: u16, first: usize, bytes: usize| {
        let [number, sequence] = [n.to_be_bytes(), [first as u8, (first >> 8) as u8]];
        let length = (40 + bytes as u16).to_be_bytes();
        let mut packet = vec![0x45, 0, length[0], length[1], number[0], number[1], 0x40, 0, 64, 6, 0, 0];
        packet.extend([10, 0, 0, ends[0], 10, 0, 0, ends[1], 1, 0, 2, 0, 0, sequence[1], sequence[0]]);
        packet.extend([0, 0, 0, 0, 0, 0x50, 0x10]);
        packet.resize(40 + bytes, 7);
        packet
    };
    let segment = |n, first, bytes| between([1, 2], n, first, bytes);
    // 60 large segments of ten full ones each, then 100 small ones.
    let merged = (0..60).map(|n| segment(n, 10 * usize::from(n), 14_600));
    let split = (0..600).map(|n| segment(n, usize::from(n), 1_460));
    let small = |n: u16| segment(1_000 + n, 600 + usize::from(n), 100);
    let write = |name: &str, packets: Vec<Vec<u8>>, delay: i64| {
        let times = (0..).map(|n| SECOND + n * MILLI + delay);
        let small = (0..100).map(|n| (3 * SECOND + i64::from(n) * MILLI + delay, small(n)));
        let packets: Vec<(i64, Vec<u8>)> = times.zip(packets).chain(small).collect();
        write_capture(&folder.path().join(name), &packets);
    };
    write("merged.pcap", merged.clone().collect(), 0);
    write("split.pcap", split.clone().collect(), 5 * MILLI);
    write("lost.pcap", split.clone().filter(|packet| packet[5] % 4 > 0).collect(), 5 * MILLI);
    write("whole.pcap", split.clone().collect(), 0);
    let said = |arguments: &[&str]| dwell_in(folder.path(), arguments).err;
    let all = ["--from", "0.0.0.0/0"];
    // In the other direction segments are merged at both points, and match.
    let write_both = |name: &str, packets: Vec<Vec<u8>>, delay: i64| {
        let there = (0..).map(|n| SECOND + n * MILLI + delay).zip(packets);
        let back = (0..60).map(|n| between([2, 1], n, 10 * usize::from(n), 14_600));
        let back = (0..).map(|n| 3 * SECOND + n * MILLI - delay).zip(back);
        write_capture(&folder.path().join(name), &Vec::from_iter(there.chain(back)));
    };
    write_both("both-merged.pcap", merged.collect(), 0);
    write_both("both-split.pcap", split.collect(), 5 * MILLI);
    let words = said(&["owd", "both-merged.pcap", "both-split.pcap", "--from", "10.0.0.1", "--reverse"]);
    assert!(words.contains("both-merged.pcap: TCP packets have up to 14640 bytes, but up to 1500"), "{words}");
    for (a, b) in [("merged.pcap", "split.pcap"), ("split.pcap", "merged.pcap")] {
        for command in [&["owd"][..], &["owd", "--method", "lda"], &["queue"], &["compare", "owd"]] {
            let words = said(&[command, &[a, b], &all].concat());
            let told = "merged.pcap: TCP packets have up to 14640 bytes, but up to 1500 at the other point";
            assert!(words.contains(told) && words.contains("(--mtu 1500)"), "{command:?}: {words}");
            assert!(words.contains("ethtool -K"), "{command:?}: {words}");
            assert_eq!(words.contains("name no culprit"), command == ["queue"], "{words}");
            assert!(!words.contains("clock") && !words.contains("twice"), "{command:?}: {words}");
        }
    }
    for (a, b) in [("whole.pcap", "split.pcap"), ("whole.pcap", "lost.pcap"), ("merged.pcap", "merged.pcap")] {
        let words = said(&[&["owd", a, b], &all[..]].concat());
        assert!(!words.contains("offloading merges"), "{a} {b}: {words}");
    }
}

/// Two hosts that let their cards split and merge segments, captured on the hosts: with the MTU of the link between them,
/// as many segments of each connection arrive as it carried, and as many are lost as the queue in the middle dropped.
#[test]
fn offloading_is_undone() {
    let folder = tempfile::tempdir().unwrap();
    let [sender, receiver] = ["sender", "receiver"].map(|name| testdata(&format!("offload/{name}.pcap.xz")));
    let table = |name: &str| -> Vec<Vec<i64>> {
        let mut rows = csv::Reader::from_path(testdata(&format!("offload/{name}.csv"))).unwrap();
        rows.records().map(|row| row.unwrap().iter().map(|field| field.parse().unwrap()).collect()).collect()
    };
    let (truth, dropped) = (table("truth"), table("dropped")[0][0]);
    let owd = |more: &[&str]| {
        let captures = ["owd", &sender, &receiver, "--flows", "--format", "json"];
        dwell_in(folder.path(), &[&captures, more].concat())
    };
    let run = owd(&["--mtu", "1500"]).ok();
    let report = run.json();
    assert_eq!(report["method"]["mtu_bytes"], 1_500);
    let segments: i64 = truth.iter().map(|row| row[1]).sum();
    let total = &report["total"];
    assert_eq!([&total["received"], &total["lost"], &total["ambiguous"]], [segments, dropped, 0]);
    assert_eq!(report["reverse"]["lost"], 0);
    for row in &truth {
        let name = format!("10.30.0.1:{} → 10.31.0.1:7000 tcp", row[0]);
        let flow = report["flows"].as_array().unwrap().iter().find(|flow| flow["flow"] == *name).unwrap();
        assert_eq!(flow["received"], row[1], "{flow}");
    }
    // Their bytes, too, are those of the link.
    owd(&["--mtu", "1500", "--samples", "samples.csv"]).ok();
    let mut bytes = BTreeMap::<String, i64>::new();
    for row in csv::Reader::from_path(folder.path().join("samples.csv")).unwrap().records().map(Result::unwrap) {
        if row[3] == *"received" && row[4] == *"forward" {
            *bytes.entry(row[6].to_owned()).or_default() += row[5].parse::<i64>().unwrap();
        }
    }
    for row in &truth {
        assert_eq!(bytes[&format!("10.30.0.1:{} → 10.31.0.1:7000 tcp", row[0])], row[2]);
    }
    // A queue of 40 kB at 50 Mbit/s is 6.4 ms long, and the receiver merges for another 2 ms at most.
    let longest = ends(&total["delay_ns"]["max"]).1;
    assert!((6.4e6..10e6).contains(&longest), "{total}");
    // Otherwise other numbers come out, and a warning says why.
    let run = owd(&[]);
    assert!(run.json()["total"]["lost"].as_i64() > Some(dropped) && run.err.contains("--mtu"), "{}", run.err);
    // What one sketch per interval sees is the same.
    let sums = dwell(&[
        "owd",
        &sender,
        &receiver,
        "--from",
        "10.30.0.1",
        "--mtu",
        "1500",
        "--method",
        "lda",
        "--format",
        "json",
    ]);
    let sums = sums.ok().json();
    assert_eq!([&sums["total"]["received"], &sums["total"]["lost"]], [segments, dropped]);
}

/// A wild timestamp of a frame that is split is replaced for each of its segments; those of others stay.
#[test]
fn wild_times_of_split_frames() {
    let folder = tempfile::tempdir().unwrap();
    let packet = |n: i64| {
        let mut packet = vec![0x45, 0, 0x39, 0x30, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 1, 0, 2, 0];
        packet.extend((n as u32 * 14_600).to_be_bytes());
        packet.extend([0, 0, 0, 0, 0x50, 0x10]);
        packet.resize(14_640, 7);
        packet
    };
    let write = |name: &str, wild: i64, delay: i64| {
        let at = |n: i64| if n == wild { 1_000_000 * SECOND } else { SECOND + n * MILLI + delay };
        let packets: Vec<_> = (0..50).map(|n| (at(n), packet(n))).collect();
        write_capture(&folder.path().join(name), &packets);
    };
    write("sane.pcap", -1, 0);
    write("wild.pcap", 20, 5 * MILLI);
    let run = dwell_in(folder.path(), &["owd", "sane.pcap", "wild.pcap", "--mtu", "1500", "--format", "json"]);
    assert!(run.err.contains("wild.pcap: 10 packets are timestamped far from"), "{}", run.err);
    let total = &run.json()["total"];
    assert_eq!([&total["received"], &total["lost"]], [500, 0], "{total}");
    assert_eq!(ends(&total["delay_ns"]["max"]).1, 5e6, "{total}");
}

/// A fifth of the packets is fragmented on the way, or cut before the ports at one point: they match nothing, and the
/// warning says why.
#[test]
fn fragments_and_truncated_frames_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let packet = |n: i64, place: u16, bytes: usize| {
        let [[long, short], number, place] = [20 + bytes as u16, n as u16, place].map(u16::to_be_bytes);
        let mut packet = vec![0x45, 0, long, short, number[0], number[1], place[0], place[1], 64, 17, 0, 0];
        packet.extend([10, 0, 0, 1, 10, 0, 0, 2, 1, 0, 2, 0, 2, 0, 0, 0]);
        packet.resize(20 + bytes, 7);
        packet
    };
    let write = |name: &str, delay: i64, packets: &dyn Fn(i64) -> Vec<Vec<u8>>| {
        let at = |n: i64| SECOND + n * MILLI + delay;
        let packets = (0..500).flat_map(|n| packets(n).into_iter().map(move |packet| (at(n), packet)));
        write_capture(&folder.path().join(name), &packets.collect::<Vec<_>>());
    };
    let whole = |n| packet(n, 0, 512);
    write("a.pcap", 0, &|n| vec![whole(n)]);
    write("whole.pcap", MILLI / 10, &|n| vec![whole(n)]);
    write("fragments.pcap", MILLI / 10, &|n| match n % 5 {
        0 => vec![packet(n, 0x2000, 200), packet(n, 0x2000 | 25, 200), packet(n, 50, 112)],
        _ => vec![whole(n)],
    });
    write("cut.pcap", MILLI / 10, &|n| vec![if n % 5 == 0 { whole(n)[..23].to_vec() } else { whole(n) }]);
    // What is cut need not be what goes to the other point.
    write("more.pcap", 0, &|n| if n % 5 == 0 { vec![whole(n), whole(n)[..23].to_vec()] } else { vec![whole(n)] });
    for command in [&["owd"][..], &["queue"], &["compare", "owd"]] {
        let said = |a: &str, b: &str| dwell_in(folder.path(), &[command, &[a, b, "--from", "10.0.0.1"]].concat()).err;
        let words = said("a.pcap", "fragments.pcap");
        assert!(words.contains("or fragment them"), "{command:?}");
        assert_eq!(words.contains("name no culprit"), command == ["queue"], "{words}");
        let cut = "cut.pcap: 100 frames more than at the other point are truncated before the ports";
        for words in [said("a.pcap", "cut.pcap"), said("cut.pcap", "whole.pcap")] {
            assert!(words.contains(cut) && !words.contains("none of them reached"), "{command:?}: {words}");
        }
        for a in ["a.pcap", "more.pcap"] {
            assert!(!said(a, "whole.pcap").contains("warning"), "{command:?} {a}");
        }
    }
}

/// A flow named `other` in a log is not confused with the sum of all other flows.
#[test]
fn a_flow_may_be_called_other() {
    let folder = tempfile::tempdir().unwrap();
    for (name, delay) in [("a.csv", 0), ("b.csv", 40)] {
        let line = |i: i64| format!("{},p{i},{}\n", 100 * i + delay, ["other", "other'", "web"][i as usize % 3]);
        let text: String = (0..30).map(line).collect();
        fs::write(folder.path().join(name), format!("at_ns,packet,flow\n{text}")).unwrap();
    }
    let report = json(folder.path(), &["--flows"]);
    let mut names: Vec<&str> =
        report["flows"].as_array().unwrap().iter().map(|flow| flow["flow"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["other'", "other''", "web"]);
}

/// A few packets with timestamps years away, at either point: every packet sent still has its fate, and its delay up to
/// the time between packets.
#[test]
fn wild_times_lose_nothing() {
    let packets = packets();
    let folder = logs(&packets);
    let sane = json(folder.path(), &[]);
    for name in ["a.csv", "b.csv"] {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, at) in [(1, 7 * SECOND), (2_000, 900_000 * SECOND), (4_000, -900_000 * SECOND), (8_000, i64::MAX)] {
            let (_, packet) = lines[line].split_once(',').unwrap();
            lines[line] = format!("{at},{packet}");
        }
        fs::write(folder.path().join(name), lines.join("\n") + "\n").unwrap();
        let run = dwell_in(folder.path(), &["owd", "--crossings", "a.csv", "b.csv", "--format", "json"]);
        fs::write(folder.path().join(name), text).unwrap();
        assert!(
            run.err.contains(&format!("{name}: 4 packets are timestamped far from neighbouring packets")),
            "{}",
            run.err
        );
        let wild = run.json();
        for count in ["sent", "received", "lost", "uncovered"] {
            assert_eq!(wild["total"][count], sane["total"][count], "{count}, {name}");
        }
        for delay in ["min", "p50", "p99", "max"] {
            let of = |report: &Value| report["total"]["delay_ns"][delay]["value"].as_i64().unwrap();
            assert!(of(&wild).abs_diff(of(&sane)) <= 2 * MILLI as u64, "{delay}, {name}: {} {}", of(&wild), of(&sane));
        }
        assert_eq!(wild["span_ns"]["end"], sane["span_ns"]["end"], "{name}");
    }
}

/// Two times years ahead at the end of a point may be a pause: they stay, and so in the time range, with a warning.
#[test]
fn a_time_range_with_a_leap_is_doubted() {
    let folder = logs(&packets());
    let text = fs::read_to_string(folder.path().join("a.csv")).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let last = lines.len() - 2;
    for (number, line) in lines[last..].iter_mut().enumerate() {
        let (_, packet) = line.split_once(',').unwrap();
        *line = format!("{},{packet}", (100_000_000 + number as i64) * SECOND);
    }
    fs::write(folder.path().join("a.csv"), lines.join("\n") + "\n").unwrap();
    let run = dwell_in(folder.path(), &["owd", "--crossings", "a.csv", "b.csv", "--format", "json"]);
    let words =
        "a.csv: 1 packet is timestamped more than a year after all before, the first 1973-03-03 09:46:40 UTC after";
    assert!(run.err.contains(words), "{}", run.err);
    assert_eq!(run.json()["span_ns"]["end"], 100_000_001 * SECOND);
}

/// Without packets there is nothing to join; `--from` is doubted only where it is given.
#[test]
fn a_capture_without_packets_is_sketched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), "at_ns,packet\n").unwrap();
    let capture = testdata("one-way/near.pcap.xz");
    let words = "dwell: warning: no packet was sketched, so that there is nothing to join";
    for (input, more, end) in [
        (&["--crossings", "a.csv"][..], &[][..], "\n"),
        (&[&capture], &["--from", "192.0.2.1"], ": is --from the sender's side?\n"),
    ] {
        let run = dwell_in(folder.path(), &[&["owd", "sketch", "-o", "a.dwell"], input, more].concat());
        assert_eq!((run.code, run.err), (0, format!("{words}{end}")));
    }
}

/// A sketch of both directions would mix their delays: it is refused unless `--from` names the sender's side.
#[test]
fn a_sketch_of_both_directions_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let sketch = |capture: &str, name: &str, more: &[&str]| {
        let capture = testdata(&format!("one-way/{capture}.pcap.xz"));
        dwell_in(folder.path(), &[&["owd", "sketch", &capture, "-o", name], more].concat())
    };
    for capture in ["near", "server"] {
        let run = sketch(capture, "x.dwell", &[]);
        assert!(run.code == 2 && run.err.contains("--from PREFIX") && run.err.lines().count() == 1, "{}", run.err);
    }
    let mut piped = command(&["owd", "sketch", "-", "-o", "x.dwell"]);
    let capture = fs::File::open(testdata("one-way/near.pcap.xz")).unwrap();
    piped.current_dir(folder.path()).stdin(capture);
    assert_refusal(&finish(piped), &["owd", "sketch", "-"], 2, &["dwell: standard input: holds packets from"]);
    assert!(names(folder.path()).is_empty());
    let from = ["--from", "10.10.0.0/16,fd00:10::/32"];
    sketch("near", "a.dwell", &from).ok();
    sketch("server", "b.dwell", &from).ok();
    let report = dwell_in(folder.path(), &["owd", "join", "a.dwell", "b.dwell", "--format", "json"]).json();
    // The mean of all packets is 50.3 ms; those at the beginning, which could not be joined, are missing from this one.
    let value = ends(&report["total"]["delay_ns"]["mean"]).1;
    assert!((value / 50.3e6 - 1.0).abs() < 0.02, "{value}");
    // The packets of the other direction, which the captures contain, are not in the sketches.
    for point in ["sender", "receiver"] {
        let facts = report["points"][point].as_object().unwrap();
        assert!(["elsewhere", "cut"].into_iter().all(|key| facts[key].is_null()), "{facts:?}");
        assert!(facts["packets"].as_u64().unwrap() > 3_000, "{facts:?}");
    }
    // The control: both directions, let through by a prefix that contains all addresses.
    for (capture, name) in [("near", "a.dwell"), ("server", "b.dwell")] {
        sketch(capture, name, &["--from", "0.0.0.0/0,::/0"]).ok();
    }
    let report = dwell_in(folder.path(), &["owd", "join", "a.dwell", "b.dwell", "--format", "json"]).json();
    assert!(ends(&report["total"]["delay_ns"]["mean"]).1 < 25e6);
}

/// The reason why sketches give no answer: packets that could not be joined are not attributed to a receiver that was
/// not listening, and captures that are too short are reported as such.
#[test]
fn sketches_say_what_they_could_not_join() {
    let folder = logs(&packets());
    let owd = |more: &[&str]| {
        let arguments = ["owd", "--crossings", "a.csv", "b.csv", "--method", "lda"];
        let run = dwell_in(folder.path(), &[&arguments[..], more].concat());
        (run.err, String::from_utf8(run.out).unwrap())
    };
    let (err, out) = owd(&["--interval", "1s"]);
    assert!(out.contains("in intervals that could not be joined") && !out.contains("not listening"), "{out}");
    assert_eq!(err, "");
    let (err, _) = owd(&["--interval", "20s"]);
    assert!(err.contains("last 10.0 s, less than two intervals of 20.0 s: set a shorter --interval"), "{err}");
    // One packet in each interval tells nothing of delays.
    let sparse = |file: &str, delay: u64| {
        let lines = (1..400).map(|n| format!("{},{n}\n", n * 1_000_000_000 + delay));
        fs::write(folder.path().join(file), "at_ns,packet\n".to_owned() + &lines.collect::<String>()).unwrap();
    };
    sparse("a.sparse", 0);
    sparse("b.sparse", 5_000_000);
    let sparse = ["owd", "--crossings", "a.sparse", "b.sparse", "--method", "lda", "--format", "json"];
    let run = dwell_in(folder.path(), &[&sparse[..], &["--interval", "1s"]].concat());
    let total = &run.json()["total"];
    assert!(total["received"].as_u64() > Some(300) && total["delay_ns"]["mean"].is_null());
    assert_eq!(total["unusable"], "too few cells hold the same packets at both points");
    assert!(run.err.contains("too few packets for a delay: set a longer --interval"), "{}", run.err);
    // Here a longer one would be no remedy.
    let (err, _) = owd(&["--interval", "8s"]);
    assert!(!err.contains("too few packets"), "{err}");
    let longer = dwell_in(folder.path(), &[&sparse[..], &["--interval", "100s"]].concat());
    assert!(longer.err.is_empty() && longer.json()["total"]["unusable"].is_null(), "{}", longer.err);
    // Sketches of different intervals, and ones that a file repeats.
    for (log, interval) in [("a.csv", "1s"), ("b.csv", "330ms"), ("b.csv", "1s")] {
        let name = format!("{log}.{interval}");
        dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "--interval", interval, "-o", &name]).ok();
    }
    let join = |receiver: &str| dwell_in(folder.path(), &["owd", "join", "a.csv.1s", receiver, "--format", "json"]);
    let unequal = join("b.csv.330ms").err;
    assert!(unequal.contains("--interval must be the same at both points"), "{unequal}");
    let once = fs::read(folder.path().join("b.csv.1s")).unwrap();
    fs::write(folder.path().join("twice"), [&once[..], &once].concat()).unwrap();
    let (once, twice) = (join("b.csv.1s"), join("twice"));
    // Captures of one interval or two, which begin and end with different packets; the control has more.
    let text = fs::read_to_string(folder.path().join("b.csv")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let within = [&lines[..1], &lines[100..lines.len() - 100]].concat();
    fs::write(folder.path().join("within.csv"), within.join("\n") + "\n").unwrap();
    for (interval, is_short) in [("20s", true), ("8s", true), ("2s", false)] {
        for (log, name) in [("a.csv", "a.short"), ("within.csv", "b.short")] {
            dwell_in(folder.path(), &["owd", "sketch", "--crossings", log, "--interval", interval, "-o", name]).ok();
        }
        let err = dwell_in(folder.path(), &["owd", "join", "a.short", "b.short"]).err;
        let is_said = err.contains("intervals, of which the first and the last are usually incomplete");
        assert!(is_said == is_short && !err.contains("must be the same"), "{interval}: {err}");
    }
    assert!(
        !once.err.contains("--interval must") && twice.err.contains("duplicate messages were ignored"),
        "{}",
        twice.err
    );
    assert_eq!(once.json()["points"], twice.json()["points"]);
    // Clocks that differ by much of an interval, which only sketches made apart must be told.
    write_logs(folder.path(), &packets(), 1_500 * MILLI);
    let sketch = |log: &str, shift: &str, name: &str| {
        let how = ["--interval", "1s", "--shift", shift, "-o", name];
        dwell_in(folder.path(), &[&["owd", "sketch", "--crossings", log], &how[..]].concat()).ok();
        dwell_in(folder.path(), &["owd", "join", "a.csv.1s", name, "--format", "json"])
    };
    let (ahead, told) = (sketch("b.csv", "0", "ahead"), sketch("b.csv", "1.5s", "told"));
    assert!(
        ahead.err.contains("the difference of the clocks? If not") && ahead.err.contains("--shift"),
        "{}",
        ahead.err
    );
    assert!(told.err.is_empty() && told.json()["total"]["received"].as_u64() > Some(5_000), "{}", told.err);
    assert!(!owd(&["--interval", "1s"]).0.contains("no interval"));
    fs::write(folder.path().join("b.csv"), "at_ns,packet\n5000000000,other\n6000000000,another\n").unwrap();
    let (err, _) = owd(&["--interval", "1s"]);
    assert!(err.contains("no interval could be joined") && !err.contains("--shift"), "{err}");
}

/// The memory limit holds down to the smallest accepted one, with many intervals in flight, and with flows.
#[test]
fn small_memory_holds() {
    let folder = logs(&packets());
    let run = |memory: &str, more: &[&str]| {
        let what = ["owd", "--crossings", "a.csv", "b.csv", "--format", "json", "--memory", memory];
        dwell_in(folder.path(), &[&what, more].concat())
    };
    let lda = ["--method", "lda", "--flows"];
    for more in [&[][..], &["--flows"], &["--interval", "20ms"], &["--flows", "--interval", "20ms"], &lda] {
        let refused = run("1KiB", more).err;
        let least = refused.split_whitespace().find(|word| word.ends_with("KiB")).unwrap_or("24KiB");
        for memory in [least, "24KiB", "48KiB", "100KiB"] {
            let report = run(memory, more).json();
            let [held, allowed] = ["state_bytes", "budget_bytes"].map(|name| report["memory"][name].as_u64().unwrap());
            assert!(held <= allowed, "{held} bytes of {memory} {more:?}");
        }
    }
    // The points have no common border: waiting sketches stay within the memory, too.
    let text = fs::read_to_string(folder.path().join("b.csv")).unwrap().replace(",p", ",q").replace("qacket", "packet");
    fs::write(folder.path().join("b.csv"), text).unwrap();
    let report = run("1MiB", &["--method", "lda", "--interval", "100ms", "--sketch-bytes", "64KiB"]).json();
    let held = report["memory"]["state_bytes"].as_u64().unwrap();
    assert!((12 << 16..=1 << 20).contains(&held), "{held}");
    let large = run("1MiB", &["--method", "lda", "--sketch-bytes", "4MiB"]);
    assert!(
        large.code == 2 && large.err.contains("--sketch-bytes") && large.err.contains("KiB is enough"),
        "{}",
        large.err
    );
}

/// Flow names longer than the memory reserved for each are cut; the flows remain separate.
#[test]
fn long_names_hold_the_memory() {
    let folder = tempfile::tempdir().unwrap();
    for (name, delay) in [("a.csv", 0), ("b.csv", 40)] {
        let line = |i: u64| format!("{},p{i},{}{}\n", 100 * i + delay, "n".repeat(10_000), i % 100);
        fs::write(folder.path().join(name), format!("at_ns,packet,flow\n{}", (0..300).map(line).collect::<String>()))
            .unwrap();
    }
    let line = |i: u64| format!("{},{},{}{},100\n", 100 * i, 100 * i + 5_000_000, "n".repeat(10_000), i % 100);
    let sojourns = (0..300).map(line).collect::<String>();
    fs::write(folder.path().join("q.csv"), format!("arrived_ns,departed_ns,flow,bytes\n{sojourns}")).unwrap();
    let two = ["owd", "--crossings", "a.csv", "b.csv", "--flows", "--top", "1000"];
    let queue = ["queue", "--sojourns", "q.csv"];
    for (how, memory) in
        [(&two[..], "600KiB"), (&[&two[..], &["--method", "lda"]].concat(), "1MiB"), (&queue[..], "200KiB")]
    {
        let run = dwell_in(folder.path(), &[how, &["--format", "json", "--memory", memory]].concat()).ok();
        let report = run.json();
        let [held, allowed] = ["state_bytes", "budget_bytes"].map(|name| report["memory"][name].as_u64().unwrap());
        assert!(held <= allowed, "{held} bytes of {memory} {how:?}");
        if let Some(flows) = report["flows"].as_array().filter(|flows| !flows.is_empty()) {
            let names: std::collections::BTreeSet<&str> =
                flows.iter().map(|flow| flow["flow"].as_str().unwrap()).collect();
            assert_eq!((flows.len(), names.len()), (100, 100), "{how:?}");
            assert!(names.iter().all(|name| name.len() == 112 && name.starts_with("nnn")), "{names:?}");
        }
    }
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let folder = logs(&packets());
    let cases: [(i32, &[&str], &str); 9] = [
        (2, &["a.csv", "b.csv", "--method", "lda", "--plot-cdf", "x.svg"], "--plot-cdf does not apply"),
        (2, &["a.csv", "b.csv", "--plot", "x.svg", "--plot-cdf", "x.svg"], "written twice"),
        (2, &["a.csv", "b.csv", "--nat", "--method", "lda", "--flows"], "--method auto"),
        (2, &["sketch", "a.csv", "-o", "x", "--nat", "--flows"], "omit --flows"),
        (2, &["--crossings", "a.csv", "b.csv", "--memory", "1KiB"], "KiB is enough"),
        (1, &["a.csv", "b.csv"], "a.csv: byte 0: expected a pcap"),
        (1, &["--crossings", "a.csv", "none.csv"], "none.csv"),
        (1, &["join", "a.csv", "b.csv"], "a.csv: expected sketches made by dwell owd sketch"),
        (1, &["--crossings", "a.csv", "b.csv", "-o", "none/x"], "none/x: cannot be written"),
    ];
    for (code, arguments, words) in cases {
        let run = dwell_in(folder.path(), &[&["owd"], arguments].concat());
        assert_refusal(&run, arguments, code, &[words]);
        assert_eq!(names(folder.path()), ["a.csv", "b.csv"]);
    }
    for line in ["noon,y,1", "6,y,-1", "6,y,4294967296", "6,y,"] {
        fs::write(folder.path().join("b.csv"), format!("at_ns,packet,bytes\n5,x,7\n{line}\n")).unwrap();
        let run = dwell_in(folder.path(), &["owd", "--crossings", "a.csv", "b.csv"]);
        assert!(run.code == 1 && run.err.contains("b.csv: line 3: expected a whole number"), "{line}: {}", run.err);
    }
}

#[test]
fn every_form_is_written() {
    let folder = logs(&packets());
    let run = |more: &[&str]| dwell_in(folder.path(), &[&["owd", "--crossings", "a.csv", "b.csv"], more].concat()).ok();
    let table =
        String::from_utf8(run(&["--interval", "2s", "--flows", "--plot", "plot.svg", "--plot-cdf", "cdf.svg"]).out)
            .unwrap();
    assert!(table.contains("10,000 = 9,7") && table.contains("exact: every packet was compared"), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let lines: Vec<Value> = String::from_utf8(run(&["--format", "jsonl"]).out)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), lines[10]["total"]["sent"].as_u64()), (11, Some(10_000)));
    let csv = run(&["--format", "csv", "--flows"]).out;
    let kinds: Vec<String> =
        csv::Reader::from_reader(&csv[..]).records().map(|record| record.unwrap()[0].to_owned()).collect();
    assert_eq!((kinds.len(), kinds[0].as_str(), kinds[18].as_str()), (19, "total", "flow"));
    let metrics = String::from_utf8(run(&["--format", "openmetrics"]).out).unwrap();
    assert!(metrics.contains("dwell_owd_packets_total{direction=\"forward\",flow=\"\",fate=\"lost\"} "));
    assert!(metrics.ends_with("# EOF\n"));
    // What users add to lines cannot be confused with what these have.
    let labels = metrics.lines().filter_map(|line| Some(line.split_once('{')?.1.split_once('}')?.0.split("\",")));
    let labels: BTreeSet<&str> = labels.flatten().filter_map(|label| Some(label.split_once("=\"")?.0)).collect();
    assert!(["direction", "le", "statistic"].iter().all(|label| labels.contains(label)), "{labels:?}");
    assert!(labels.iter().all(|label| format!("{label}=a").parse::<Label>().is_err()), "{labels:?}");
    let plot = fs::read_to_string(folder.path().join("plot.svg")).unwrap();
    assert!(plot.contains("loss") && plot.contains("</svg>"));
    let cdf = fs::read_to_string(folder.path().join("cdf.svg")).unwrap();
    for label in ["all", "f0", "the 6 largest of 9", "100%", "10 ms", "share of packets", "one-way delay"] {
        assert!(cdf.contains(&format!("\n{label}\n")), "{label} is missing");
    }
    assert_eq!(names(folder.path()), ["a.csv", "b.csv", "cdf.svg", "plot.svg"]);
}

/// One capture as both points: delays are zero, directions cannot be told apart, and nothing is lost.
#[test]
fn a_capture_and_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.pcapng");
    let capture = names(Path::new(&testdata("mixed"))).into_iter().find(|name| name.contains(".pcap")).unwrap();
    let capture = testdata(&format!("mixed/{capture}"));
    fs::copy(&capture, &copy).unwrap();
    let report = dwell(&["owd", &capture, copy.to_str().unwrap(), "--format", "json"]).ok().json();
    let total = &report["total"];
    assert_conserved(total);
    assert_eq!((&total["lost"], &total["uncovered"]), (&0.into(), &0.into()));
    assert_eq!(ends(&total["delay_ns"]["mean"]).1, 0.0);
    assert_eq!(total["sent"], report["points"]["sender"]["frames"]["decoded"]);
}

/// Recorded captures: results agree with what was published about them, and with what other programs find.
#[test]
fn real_taps() {
    let Some(folder) = data() else { return };
    let folder = folder.join("captures/two-point");
    let run = |a: &str, b: &str, more: &[&str]| {
        let [a, b] = [a, b].map(|name| folder.join(name).to_str().unwrap().to_owned());
        dwell(&[&["owd", &a, &b, "--format", "json"], more].concat()).json()
    };
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number: {value}"));

    // 1,000 packets around one bridge take 4.41 to 4.67 µs.
    let bridge = run("tsn-bridge/tap-downstream.pcap", "tsn-bridge/tap-upstream.pcap", &[]);
    let delays = &bridge["total"]["delay_ns"];
    assert_eq!((number(&bridge["total"]["received"]), number(&bridge["total"]["lost"])), (1_000, 0));
    assert_eq!((ends(&delays["min"]).1, ends(&delays["max"]).1), (4_410.0, 4_670.0));

    // 2,764 packets of one TCP connection were seen at both ends of an emulated path of 50 ms, and ten router
    // solicitations, which nobody answers; one of these took 44.8 ms.
    let ends_of = run("end-to-end/client.pcap", "end-to-end/server.pcap", &[]);
    let both = number(&ends_of["total"]["received"]) + number(&ends_of["reverse"]["received"]);
    assert_eq!(both, 2_774);
    let offset = &ends_of["clock_offset_ns"];
    assert!(offset["low"].as_i64() < Some(-44 * MILLI) && offset["high"].as_i64() > Some(50 * MILLI - MILLI));
    for direction in ["total", "reverse"] {
        assert!(ends(&ends_of[direction]["delay_ns"]["min"]).1 >= 4.4e7 && number(&ends_of[direction]["lost"]) > 5);
    }

    // 7,058 PTP messages passed three switches.
    let points = ["point1-s1-in.pcap", "point2-s2-in.pcap", "point3-s3-in.pcap"].map(|p| format!("three-hop-ptp/{p}"));
    for hop in points.windows(2) {
        let report = run(&hop[0], &hop[1], &["--longest", "60s", "--flows", "--top", "1"]);
        let flow = &report["flows"][0];
        assert_eq!((number(&flow["packets"]), number(&flow["received"])), (7_058, 7_058));
        let median = ends(&flow["delay_ns"]["p50"]).1;
        assert!((1e6..4e6).contains(&median) && ends(&flow["delay_ns"]["min"]).1 >= 0.0, "{median}");
    }
}

/// A flow that begins after more small ones than there are places is first, and `--flow` finds it; one that lost its
/// place may be among the others, which is said. The same without sizes, by packets.
#[test]
fn a_large_flow_that_begins_late_is_first() {
    let folder = tempfile::tempdir().unwrap();
    for sizes in [true, false] {
        for (name, delay) in [("a.csv", 0), ("b.csv", MILLI)] {
            let mut text = format!("at_ns,packet,flow{}\n", if sizes { ",bytes" } else { "" });
            for n in 0..5_400 {
                let (at, flow) = (1_000 * n + delay, n.min(5_000));
                write!(text, "{at},p{n},f{flow}").unwrap();
                text += if sizes { ",100\n" } else { "\n" };
            }
            fs::write(folder.path().join(name), text).unwrap();
        }
        let run = |more: &[&str]| {
            let what = ["owd", "--crossings", "a.csv", "b.csv", "--memory", "1MiB", "--format", "json"];
            dwell_in(folder.path(), &[&what, more].concat())
        };
        let report = run(&["--flows", "--top", "2"]).json();
        let flows = report["flows"].as_array().unwrap();
        let of = |name: &str| -> Vec<Option<u64>> { flows.iter().map(|flow| flow[name].as_u64()).collect() };
        assert_eq!(flows[0]["flow"], "f5000");
        assert_eq!(of("packets"), [Some(400), Some(1), Some(4_999)]);
        assert_eq!(of("effective_samples"), [Some(400), Some(1), Some(4_999)]);
        assert_eq!(of("bytes"), [40_000, 100, 499_900].map(|bytes| sizes.then_some(bytes)));
        let uncounted = of("uncounted_bytes");
        assert_eq!(uncounted[2], sizes.then_some(0));
        assert!(uncounted[0].is_some() == sizes && uncounted[0].is_none_or(|bytes| (1..10_000).contains(&bytes)));
        let found = run(&["--flow", "f5000"]);
        assert_eq!(found.json()["flows"].as_array().unwrap().len(), 1);
        assert!(found.err.contains("some of the others may have names that contain f5000"), "{}", found.err);
        let lost = run(&["--flow", "f17"]).err;
        assert!(lost.contains("no flow in memory has a name that contains f17 (--flow)"), "{lost}");
    }
}

/// `--from` prefixes and `--flow` names that match nothing are reported, and so are packets changed between the points.
#[test]
fn what_is_not_found_is_said() {
    let captures = ["one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let said = |more: &[&str]| dwell(&[&["owd", &captures[0], &captures[1]], more].concat()).err;
    assert!(!said(&[]).contains("--from"));
    assert!(said(&["--from", "1.2.3.4"]).contains("no packet comes from a --from prefix"));
    let both_sides = said(&["--from", "10.0.0.0/8,fd00::/8"]);
    assert!(
        both_sides.contains("near.pcap.xz: 7963 packets are not measured") && both_sides.contains("name one side only")
    );
    assert!(said(&["--flows", "--flow", "nosuch"]).contains("no flow has a name that contains nosuch (--flow)"));

    // A third of the packets changes its id on the way.
    let folder = tempfile::tempdir().unwrap();
    let log = |delay: i64, is_changed: bool| {
        let line = |i: i64| format!("{},{}{i}\n", 1_000 * i + delay, if is_changed && i % 3 == 1 { "q" } else { "p" });
        format!("at_ns,packet\n{}", (0..300).map(line).collect::<String>())
    };
    fs::write(folder.path().join("a.csv"), log(0, false)).unwrap();
    for (is_changed, file) in [(false, "same.csv"), (true, "changed.csv")] {
        fs::write(folder.path().join(file), log(70, is_changed)).unwrap();
        let run = dwell_in(folder.path(), &["owd", "--crossings", "a.csv", file]);
        let words = "100 packets did not arrive, and 100 arrived that were not seen at the first point";
        assert_eq!(run.err.contains(words), is_changed, "{}", run.err);
    }
    // Clocks that differ by more than the longest delay, and three packets that seem to match.
    let early: String = (5..8).map(|i| format!("{},p{i}\n", 1_000 * i + 10)).collect();
    let late = log(10_000_000_000, false).replacen("at_ns,packet\n", &format!("at_ns,packet\n{early}"), 1);
    fs::write(folder.path().join("late.csv"), late).unwrap();
    let run = dwell_in(folder.path(), &["owd", "--crossings", "a.csv", "late.csv"]);
    assert!(run.err.contains("clocks differ by more than --longest (--clock-offset)"), "{}", run.err);
}

/// A receiver's clock that is ahead by more than the longest delay, where a few packets equal earlier ones: hardly a match
/// is real, although hardly anything counts as lost.
#[test]
fn clocks_too_far_apart_are_named_although_some_packets_match() {
    let folder = tempfile::tempdir().unwrap();
    let line = |i: i64, ahead: i64| format!("{},p{}\n", 10_000_000 * i + ahead, if i == 800 { 100 } else { i });
    for (name, ahead) in [("a.csv", 0), ("b.csv", 7_000_000_000)] {
        let lines: String = (0..1_000).map(|i| line(i, ahead)).collect();
        fs::write(folder.path().join(name), format!("at_ns,packet\n{lines}")).unwrap();
    }
    let run = |more: &[&str]| dwell_in(folder.path(), &[&["owd", "--crossings", "a.csv", "b.csv"], more].concat());
    let words = "hardly any packet was seen at both points";
    assert!(run(&[]).err.contains(words), "{}", run(&[]).err);
    assert_eq!(run(&["--longest", "10s"]).err, "");
    assert_eq!(run(&["--clock-offset", "7s"]).err, "");
}

/// The parts of a capture are not further points.
#[test]
fn a_point_has_one_capture() {
    let run = dwell(&["owd", "a.pcap", "b1.pcap", "b2.pcap"]);
    assert!(run.code == 2 && run.err.contains("expected two captures") && run.err.contains("cat"), "{}", run.err);
}

/// Sketches of points that read packets in different ways are joined, and the report says so.
#[test]
fn sketches_of_packets_read_otherwise_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let [near, server] = ["one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata);
    let from = "--from=10.10.0.0/16";
    let sketch = |capture: &str, name: &str, how: &[&str]| {
        dwell_in(folder.path(), &[&["owd", "sketch", capture, "-o", name], how].concat()).ok();
    };
    sketch(&near, "a", &[from]);
    for (how, is_told) in [
        (&[from][..], false),
        (&["--from=10.10.0.0/17,10.10.128.0/17"], true),
        (&[from, "--mtu=1500"], true),
        (&[from, "--payload-bytes=20"], true),
    ] {
        sketch(&server, "b", how);
        let run = dwell_in(folder.path(), &["owd", "join", "a", "b"]);
        let words = "packets were read in different ways at the two points";
        assert_eq!((run.code, run.err.contains(words)), (0, is_told), "{how:?}: {}", run.err);
    }
}
