//! `dwell queue`: the log of a simulated queue, and captures on both sides of a real one.

use crate::run::{assert_refusal, dwell, dwell_in, names, testdata};
use crate::truth_owd;
use dwell_simulate::queue::{Passage, Passages, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const THRESHOLD: i64 = 800_000;
const QUIET: i64 = 1_000_000;
/// Arguments that match these constants.
const WHAT: [&str; 6] = ["--threshold", "800us", "--quiet", "1ms", "--longest", "10ms"];

fn passages() -> Vec<Passage> {
    Passages::new(&Settings::conquest_data_center().with_packets(40_000), 3).unwrap().collect()
}

fn delay(passage: &Passage) -> i64 {
    (passage.departure.departed - passage.departure.arrived.unwrap()).get()
}

fn departed(passage: &Passage) -> i64 {
    passage.departure.departed.as_nanos()
}

fn flow(passage: &Passage) -> String {
    format!("{:016x}", passage.departure.flow.0)
}

fn log(passages: &[Passage]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "arrived_ns,departed_ns,flow,bytes\n".to_owned();
    for passage in passages {
        let arrived = passage.departure.arrived.unwrap().as_nanos();
        writeln!(text, "{arrived},{},{},{}", departed(passage), flow(passage), passage.departure.bytes).unwrap();
    }
    fs::write(folder.path().join("log.csv"), text).unwrap();
    folder
}

fn queue(folder: &Path, more: &[&str]) -> crate::run::Run {
    dwell_in(folder, &[&["queue", "--sojourns", "log.csv"], &WHAT[..], more].concat())
}

fn json(folder: &Path, more: &[&str]) -> Value {
    queue(folder, &[&["--format", "json"], more].concat()).ok().json()
}

/// Packets of each episode, by the definition.
fn episodes(passages: &[Passage]) -> Vec<&[Passage]> {
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for place in (0..passages.len()).filter(|&place| delay(&passages[place]) >= THRESHOLD) {
        match ends.last_mut() {
            Some((_, last)) if departed(&passages[place]) - departed(&passages[*last]) <= QUIET => *last = place,
            _ => ends.push((place, place)),
        }
    }
    ends.into_iter().map(|(first, last)| &passages[first..=last]).collect()
}

/// Bytes of each flow.
fn flows(passages: &[Passage]) -> BTreeMap<String, u64> {
    let mut flows = BTreeMap::new();
    for passage in passages {
        *flows.entry(flow(passage)).or_default() += u64::from(passage.departure.bytes);
    }
    flows
}

/// Asserts that the counts of packets add up.
#[track_caller]
fn assert_conserved(report: &Value) {
    let packets = &report["packets"];
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no count in {packets}"));
    assert_eq!(count(&packets["departed"]), count(&packets["matched"]) + count(&packets["unknown"]), "{packets}");
    let arrivals = &packets["arrivals"];
    if !arrivals.is_null() {
        let fates = ["matched", "backwards", "evicted", "expired", "repeated", "waiting"];
        assert_eq!(count(&arrivals["seen"]), fates.iter().map(|fate| count(&arrivals[fate])).sum::<u64>(), "{packets}");
    }
}

/// Compares the report with the simulated queue. Seeds are fixed, so this never fails by chance.
#[test]
fn a_log_gives_the_truth() {
    let passages = passages();
    let folder = log(&passages);
    let report = json(folder.path(), &["--per-packet", "packets.csv"]);
    assert_conserved(&report);
    assert_eq!((report["schema"].as_str(), report["method"]["exact"].as_bool()), (Some("dwell.queue/1"), Some(true)));
    assert!(report["frames"].is_null() && report["packets"]["arrivals"].is_null());
    assert_eq!(report["longest_delay_ns"].as_i64(), passages.iter().map(delay).max());
    assert_eq!(report["peak_queue_bytes"].as_u64(), passages.iter().map(|passage| passage.queue_bytes).max());

    let found = report["episodes"].as_array().unwrap();
    let truth = episodes(&passages);
    assert!(found.len() == truth.len() && truth.len() >= 2, "{} of {}", found.len(), truth.len());
    for (found, own) in found.iter().zip(truth) {
        let number = |key: &str| found[key].as_i64().unwrap_or_else(|| panic!("no {key} in {found}"));
        assert_eq!((number("start_ns"), number("end_ns")), (departed(&own[0]), departed(&own[own.len() - 1])));
        assert_eq!((number("packets"), Some(number("peak_delay_ns"))), (own.len() as i64, own.iter().map(delay).max()));
        let mean = own.iter().map(delay).sum::<i64>() as f64 / own.len() as f64;
        assert!((found["mean_delay_ns"].as_f64().unwrap() - mean).abs() < 1e-3);
        assert_eq!(found["peak_queue_bytes"].as_u64(), own.iter().map(|passage| passage.queue_bytes).max());
        let flows = flows(own);
        let bytes: u64 = flows.values().sum();
        assert_eq!(
            (found["bytes"].as_u64(), found["flow_bytes"]["max"].as_u64()),
            (Some(bytes), flows.values().copied().max())
        );
        assert_eq!(found["flow_bytes"]["flows"].as_u64(), Some(flows.len() as u64));
        // The flow with the burst is named first.
        let culprits = found["culprits"].as_array().unwrap();
        let (most, name) = (*flows.values().max().unwrap(), culprits[0]["flow"].as_str().unwrap());
        assert_eq!((flows[name], culprits[0]["bytes"].as_u64()), (most, Some(most)));
        assert!((culprits[0]["share"].as_f64().unwrap() - most as f64 / bytes as f64).abs() < 1e-12);
        assert!(culprits.len() <= 5);
    }

    let mut rows = csv::Reader::from_path(folder.path().join("packets.csv")).unwrap();
    assert_eq!(*rows.headers().unwrap(), vec!["departed_ns", "flow", "delay_ns", "bytes_in_queue", "share", "culprit"]);
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), passages.len());
    // The first packet arrived before anything was seen.
    for (row, passage) in rows.iter().zip(&passages).skip(1) {
        let share = passage.flow_bytes as f64 / passage.queue_bytes as f64;
        let expected =
            [departed(passage).to_string(), flow(passage), delay(passage).to_string(), passage.flow_bytes.to_string()];
        assert_eq!(row.iter().take(4).collect::<Vec<_>>(), expected);
        assert!((row[4].parse::<f64>().unwrap() - share).abs() < 1e-12);
        assert_eq!(&row[5], (delay(passage) >= THRESHOLD && share > 0.01).to_string());
    }
}

#[test]
fn small_memory_hands_over_to_snapshots() {
    let passages = passages();
    let folder = log(&passages);
    let exact = json(folder.path(), &[]);
    let report = json(folder.path(), &["--memory", "96KiB", "--plot", "queue.png"]);
    assert_conserved(&report);
    assert!(report["method"]["exact"] == false && report["method"]["snapshots_since_ns"].as_i64() > Some(0));
    assert!(report["memory"]["state_bytes"].as_u64() <= Some(96 << 10), "{}", report["memory"]);
    let [exact, found] = [&exact, &report].map(|report| report["episodes"].as_array().unwrap());
    assert_eq!(found.len(), exact.len());
    for (found, exact) in found.iter().zip(exact) {
        for key in ["start_ns", "end_ns", "peak_delay_ns", "bytes", "packets"] {
            assert_eq!(found[key], exact[key], "{key}");
        }
        assert_eq!(found["culprits"][0]["flow"], exact["culprits"][0]["flow"]);
    }
    // Two kilobytes, as in the paper.
    let sketch = ["--method", "conquest", "--snapshots", "8", "--columns", "8", "--counter", "cms", "--rule", "paper"];
    let run = queue(folder.path(), &[&["--format", "json", "--compare-exact"], &sketch[..]].concat());
    // Windows longer than the threshold are reported, in one line.
    assert!(run.code == 0 && run.err.lines().count() == 1, "{}", run.err);
    assert!(
        run.err.contains("the shortest window of snapshots, 1.43 ms, is longer than --threshold, 800 µs"),
        "{}",
        run.err
    );
    let small = run.json();
    assert_eq!(small["against_exact"]["unknown"], 0);
    // What waited for longer than the reference remembers is not compared.
    let forgetful = ["--method", "conquest", "--memory", "1MiB", "--compare-exact", "--longest", "1500us"];
    let forgetful =
        dwell_in(folder.path(), &[&["queue", "--sojourns", "log.csv", "--format", "json"], &forgetful[..]].concat());
    let against = &forgetful.json()["against_exact"];
    let over = passages.iter().filter(|passage| delay(passage) > 1_500_000).count() as u64;
    assert!(over > 0 && against["unknown"] == over, "{over} {against}");
    assert!(against["recall"].as_f64() > Some(0.9), "{against}");
    assert!(small["method"]["sketch_bytes"].as_u64() < Some(2_000), "{}", small["method"]);
    assert!(small["against_exact"]["recall"].as_f64() > Some(0.8), "{}", small["against_exact"]);
    assert_eq!(small["episodes"][0]["start_ns"], exact[0]["start_ns"]);
}

/// A counter of a snapshot has 32 bits, which some windows of two objects of 3 GB exceed.
#[test]
fn flows_too_large_for_snapshots_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let line = |number: u64| format!("{},{},{},3000000000\n", number * 100, 1_000_000 + number * 200, number % 2);
    let lines: String = (0..20).map(line).collect();
    fs::write(folder.path().join("log.csv"), format!("arrived_ns,departed_ns,flow,bytes\n{lines}")).unwrap();
    let run = |more: &[&str]| queue(folder.path(), &[&["--format", "json"], more].concat());
    assert_eq!(run(&[]).ok().json()["peak_queue_bytes"], 60_000_000_000_u64);
    for counter in ["cms", "cms-conservative", "space-saving"] {
        let sketch = |window: &str| run(&["--method", "conquest", "--counter", counter, "--window", window]);
        let words = "a flow had 2³² bytes or more in one window of snapshots: its size and share are too small";
        assert!(sketch("500us").err.contains(words), "{counter}: {}", sketch("500us").err);
        assert!(!sketch("200ns").err.contains("2³²"), "{counter}: {}", sketch("200ns").err);
    }
}

#[test]
fn queues_can_be_counted_in_packets() {
    let passages = passages();
    let folder = log(&passages);
    let report = json(folder.path(), &["--unit", "packets", "--per-packet", "packets.csv"]);
    assert!(report["peak_queue_bytes"].is_null() && report["peak_queue_packets"].as_u64() > Some(100));
    let head = fs::read_to_string(folder.path().join("packets.csv")).unwrap();
    assert!(head.starts_with("departed_ns,flow,delay_ns,packets_in_queue,"));
}

const FROM: &str = "10.10.0.0/16,fd00:10::/32";

/// A name that would clear the screen is kept as it is in JSON, and escaped in a table.
#[test]
fn names_are_not_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String =
        (0..20).map(|at| format!("{at}000000,{},\u{1b}[2Jbad\u{7},1000\n", 2_000_000 + at * 1_000_000)).collect();
    fs::write(folder.path().join("log.csv"), format!("arrived_ns,departed_ns,flow,bytes\n{rows}")).unwrap();
    let table = String::from_utf8(queue(folder.path(), &[]).ok().out).unwrap();
    assert!(table.contains("?[2Jbad?") && !table.contains(['\u{1b}', '\u{7}']), "{table}");
    let report = json(folder.path(), &[]);
    assert_eq!(report["episodes"][0]["culprits"][0]["flow"], "\u{1b}[2Jbad\u{7}");
}

/// `--rate-change` for two flows, one of which sends twice as much in each window as in the one before.
#[test]
fn a_change_of_rate_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows = (0..40).flat_map(|at| [(at, "steady", 100), (at, "rising", 100 << (at / 10))]);
    let rows: String = rows.map(|(at, flow, bytes)| format!("{at}00,{at}00,{flow},{bytes}\n")).collect();
    fs::write(folder.path().join("log.csv"), format!("arrived_ns,departed_ns,flow,bytes\n{rows}")).unwrap();
    let column = |more: &[&str]| {
        let what = ["--window", "1us", "--snapshots", "4", "--per-packet", "-", "-o", "report.txt", "--rate-change"];
        let text = String::from_utf8(queue(folder.path(), &[&what, more].concat()).ok().out).unwrap();
        text.lines().map(|line| line.rsplit(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let exact = column(&[]);
    let of = |at: usize, is_rising: usize| exact[1 + 2 * at + is_rising].as_str();
    assert_eq!((exact[0].as_str(), of(19, 1), of(20, 0)), ("rate_change", "", "0"));
    // 1,000, 2,000, 4,000 and 8,000 bytes in a microsecond each.
    assert_eq!((of(20, 1), of(29, 1), of(30, 1), of(39, 1)), ("1000000000", "1000000000", "2000000000", "2000000000"));
    assert_eq!(column(&["--method", "conquest"]), exact);
    let alone = queue(folder.path(), &["--rate-change"]);
    assert!(alone.code == 2 && alone.err.contains("--per-packet"), "{}", alone.err);
}

fn recorded(more: &[&str]) -> crate::run::Run {
    let [near, server] = ["near", "server"].map(|name| testdata(&format!("one-way/{name}.pcap.xz")));
    dwell(&[&["queue", &near, &server, "--format", "json"], more].concat())
}

/// A recorded link of 2 Mbit/s: the longest delay is the one logged, and the deepest queue is what follows from the
/// log.
#[test]
fn a_recorded_queue_is_true() {
    /// Maximum difference between the clocks of captures and log, and the error stated in the log.
    const CLOCKS_NS: i64 = 300_000;
    let out: Vec<truth_owd::Packet> = truth_owd::packets().into_iter().filter(|packet| packet.is_out).collect();
    let passed: Vec<(i64, i64, u64)> = out.iter().filter_map(|p| Some((p.sent, p.sent + p.delay?, p.bytes))).collect();
    let report = recorded(&["--threshold", "50ms", "--quiet", "200ms"]).ok().json();
    assert_conserved(&report);
    assert_eq!(report["method"]["exact"], true);
    let packets = &report["packets"];
    assert_eq!(
        (packets["departed"].as_u64(), packets["arrivals"]["seen"].as_u64()),
        (Some(passed.len() as u64), Some(out.len() as u64))
    );
    // Equal packets that waited together have one delay; the recorded reverse direction is left out.
    assert!(packets["unknown"].as_u64() < Some(20) && packets["elsewhere"].as_u64() > Some(7_000), "{packets}");
    let longest = passed.iter().map(|(sent, departed, _)| departed - sent).max().unwrap();
    let found = report["longest_delay_ns"].as_i64().unwrap();
    assert!((found - longest).abs() <= CLOCKS_NS, "{found} {longest}");

    let depth = |&(sent, departed, _): &(i64, i64, u64)| -> u64 {
        passed.iter().filter(|other| (sent..=departed).contains(&other.1)).map(|other| other.2).sum()
    };
    let deepest = passed.iter().map(depth).max().unwrap();
    let found = report["peak_queue_bytes"].as_u64().unwrap();
    // A packet of 1.5 kB more or less at either end of the wait, since the clocks differ.
    assert!(found.abs_diff(deepest) <= 3_000 && deepest > 30_000, "{found} {deepest}");

    let episodes = report["episodes"].as_array().unwrap();
    assert!(!episodes.is_empty());
    let share = |episode: &Value| episode["culprits"][0]["share"].as_f64().unwrap();
    let longest =
        episodes.iter().max_by_key(|e| e["end_ns"].as_i64().unwrap() - e["start_ns"].as_i64().unwrap()).unwrap();
    // An upload fills the queue.
    assert!(
        share(longest) > 0.2 && longest["culprits"][0]["flow"].as_str().unwrap().ends_with("10.20.1.1:80 tcp"),
        "{longest}"
    );
}

/// Rows of integers of a committed table.
fn table(name: &str) -> Vec<Vec<i64>> {
    let mut rows = csv::Reader::from_path(testdata(name)).unwrap();
    rows.records().map(|row| row.unwrap().iter().map(|field| field.parse().unwrap()).collect()).collect()
}

/// A token bucket of Linux, 8 Mbit/s: every burst causes an episode and is named first in it, there are no other
/// episodes, and the packets waiting according to the captures are those that the kernel reports.
#[test]
fn a_token_bucket_names_who_burst() {
    let folder = tempfile::tempdir().unwrap();
    let [ingress, egress] = ["ingress", "egress"].map(|name| testdata(&format!("queue/{name}.pcap.xz")));
    // 20 kB of a connection wait for 20 ms, 60 datagrams for 60 ms.
    let what = ["--threshold", "30ms", "--quiet", "100ms", "--format", "json", "--per-packet", "packets.csv"];
    let report = dwell_in(folder.path(), &[&["queue", &ingress, &egress][..], &what].concat()).ok().json();
    assert_conserved(&report);
    let bursts = table("queue/truth.csv");
    let episodes = report["episodes"].as_array().unwrap();
    assert_eq!(episodes.len(), bursts.len());
    for (episode, burst) in episodes.iter().zip(&bursts) {
        // An episode begins when a packet has waited in the bucket for 30 ms.
        let since = episode["start_ns"].as_i64().unwrap() - burst[0];
        assert!((30_000_000..60_000_000).contains(&since), "{since}");
        let culprit = &episode["culprits"][0];
        assert!(
            culprit["flow"].as_str().unwrap().contains(&format!(":{} → 10.31.0.1:7001 udp", burst[2])),
            "{culprit}"
        );
        assert!(culprit["peak_share"].as_f64() > Some(0.8), "{culprit}");
    }

    let packets = fs::read_to_string(folder.path().join("packets.csv")).unwrap();
    let packets: Vec<(i64, i64)> = csv::Reader::from_reader(packets.as_bytes())
        .records()
        .map(Result::unwrap)
        .filter_map(|row| {
            let (departed, delay): (i64, i64) = (row[0].parse().unwrap(), row[2].parse().ok()?);
            Some((departed - delay, departed))
        })
        .collect();
    let samples = table("queue/backlog.csv");
    assert!(samples.len() > 100);
    for sample in &samples {
        let (after, before) = (sample[0], sample[1]);
        let waiting = |(from, to): (i64, i64)| packets.iter().filter(|&&(a, d)| a <= from && d > to).count() as i64;
        // Packets waiting throughout the sample, and at any time in it; one may be on its way to either tap.
        let (least, most) = (waiting((after, before)) - 1, waiting((before, after)) + 1);
        assert!((least..=most).contains(&sample[3]), "{sample:?}: {least} to {most}");
    }
    // The kernel counts 14 bytes of Ethernet per packet in addition, and was not sampled at the deepest moment.
    let deepest = report["peak_queue_bytes"].as_i64().unwrap();
    let told = samples.iter().map(|sample| sample[2] - 14 * sample[3]).max().unwrap();
    assert!((0.9 * deepest as f64..deepest as f64).contains(&(told as f64)), "{told} of {deepest}");
}

#[test]
fn captures_that_cannot_be_are_told() {
    let [near, server] = ["near", "server"].map(|name| testdata(&format!("one-way/{name}.pcap.xz")));
    let swapped = dwell(&["queue", &server, &near, "--from", FROM]);
    assert!(swapped.code == 0 && swapped.err.contains("the captures are in the wrong order"), "{}", swapped.err);
    // Where both directions are found, the other one is measured: it waits here as well, and only a little there.
    let bucket = ["ingress", "egress"].map(|name| testdata(&format!("queue/{name}.pcap.xz")));
    for captures in [[&near, &server], [&server, &near], [&bucket[0], &bucket[1]]] {
        assert_eq!(dwell(&["queue", captures[0], captures[1]]).ok().err, "");
    }
    let swapped = dwell(&["queue", &bucket[1], &bucket[0]]);
    let words = "960 of the first 2784 packets from the last capture to the first waited for --threshold, 1.00 ms, or \
                 longer, up to 74.5 ms, but 0 of the 2237 measured: if theirs is the queue, swap the captures";
    assert!(swapped.code == 0 && swapped.err.contains(words) && swapped.err.lines().count() == 1, "{}", swapped.err);
    let capture = names(Path::new(&testdata("mixed"))).into_iter().find(|name| name.contains(".pcap")).unwrap();
    let foreign = dwell(&["queue", &testdata(&format!("mixed/{capture}")), &server]);
    assert!(foreign.code == 0 && foreign.err.contains("no packet was seen on both sides"), "{}", foreign.err);
    assert!(String::from_utf8(foreign.out).unwrap().contains("No packet was seen on both sides of the queue."));
    // A second ingress capture that contains the same packets.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.pcap.xz");
    fs::copy(&near, &copy).unwrap();
    let [once, twice] = [&[near.as_str()][..], &[&near, copy.to_str().unwrap()]]
        .map(|ingress| dwell(&[&["queue"], ingress, &[&server, "--format", "json"]].concat()).ok().json());
    assert_conserved(&twice);
    let counts = |report: &Value| {
        let arrivals = &report["packets"]["arrivals"];
        ["seen", "matched", "repeated", "backwards"].map(|fate| arrivals[fate].as_u64().unwrap())
    };
    let ([seen, matched, repeated, backwards], twice) = (counts(&once), counts(&twice));
    // Equal packets that waited together may be matched once more.
    let more = twice[1] - matched;
    assert!(more <= repeated, "{more} of {repeated}");
    assert_eq!(twice, [2 * seen, matched + more, seen + repeated - backwards, backwards]);
    // Nothing departs, or nothing goes the measured way.
    let cut = folder.path().join("empty.pcap");
    let header = [0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0];
    fs::write(&cut, header).unwrap();
    let cut = cut.to_str().unwrap();
    for (from, words) in [(FROM, "No packet departed; 4,166 arrived."), ("192.0.2.1", "No packets of the measured")] {
        let nothing = String::from_utf8(dwell(&["queue", &near, cut, "--from", from]).out).unwrap();
        assert!(nothing.contains(words), "{nothing}");
    }
    let calm = dwell(&["queue", &near, &server, "--threshold", "10s", "--longest", "20s"]).ok();
    let text = String::from_utf8(calm.out).unwrap();
    assert!(text.contains("No episode: no delay reached 10.0 s (--threshold). The longest was 369 ms."), "{text}");
    // A small table between the captures evicts packets, and a warning says so.
    let small = recorded(&["--memory", "64KiB", "--ways", "1", "--sketch-bytes", "8KiB"]);
    assert_conserved(&small.json());
    assert!(small.err.contains("packets in the queue did not fit the memory"), "{}", small.err);
    assert!(small.json()["memory"]["state_bytes"].as_u64() <= Some(64 << 10), "{}", small.json()["memory"]);
}

#[test]
fn logs_that_cannot_be_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let run = |text: &str| {
        fs::write(folder.path().join("log.csv"), format!("arrived_ns,departed_ns,flow,bytes\n{text}")).unwrap();
        queue(folder.path(), &["--format", "json"])
    };
    let run_of = run("0,10,a,100\n5,8,b,100\n30,20,c,100\n,25,d,100\n");
    assert!(
        run_of.err.contains("log.csv: lines that depart before a line above them: 1, the first is line 3"),
        "{}",
        run_of.err
    );
    assert!(
        run_of.err.contains("log.csv: lines that depart before they arrive: 1, the first is line 4"),
        "{}",
        run_of.err
    );
    let packets = &run_of.json()["packets"];
    // The last time stretches the time range.
    let leap = run("0,10,a,100\n5,40000000000000000,a,100\n").err;
    let words = "log.csv: lines that depart more than a year after all above: 1, the first is line 3";
    assert!(leap.contains(words) && !run_of.err.contains("a year"), "{leap}");
    let counts = ["departed", "matched", "unknown", "backwards", "late"].map(|key| packets[key].as_u64().unwrap());
    assert_eq!(counts, [4, 2, 2, 1, 1]);
    for (text, words) in [
        ("0,noon,a,1\n", "log.csv: line 2: expected a whole number of nanoseconds as departed_ns, found 'noon'"),
        ("0,1,a,-1\n", "log.csv: line 2: expected a whole number of bytes as bytes, found '-1'"),
        // Control characters are escaped in messages.
        ("0,1,a,\u{1b}[2J\n", "log.csv: line 2: expected a whole number of bytes as bytes, found '\\u{1b}[2J'"),
    ] {
        let run = run(text);
        assert!(run.code == 1 && run.err.contains(words) && run.out.is_empty(), "{}", run.err);
    }
    fs::write(folder.path().join("log.csv"), "at_ns,flow\n1,a\n").unwrap();
    let run = queue(folder.path(), &[]);
    assert!(run.code == 1 && run.err.contains("expected the columns arrived_ns,departed_ns,flow,bytes"), "{}", run.err);
}

#[test]
fn what_cannot_be_is_said_in_one_line() {
    let folder = log(&passages()[..100]);
    let cases: [(i32, &[&str], &str); 9] = [
        (2, &["a.pcap"], "expected at least two captures"),
        (2, &["a.pcap", "a.pcap"], "found a.pcap twice"),
        (2, &["-", "-"], "standard input"),
        (2, &["--sojourns", "log.csv", "--memory", "1KiB"], "KiB is enough"),
        (2, &["--sojourns", "log.csv", "--compare-exact"], "--compare-exact applies only to --method conquest"),
        (2, &["--sojourns", "log.csv", "--snapshots", "1"], "1 snapshots: expected from 2"),
        (2, &["--sojourns", "log.csv", "--share", "101"], "a share above 0"),
        (2, &["--sojourns", "log.csv", "--per-packet", "log.csv"], "is an input, and would be changed"),
        (1, &["log.csv", "none.pcap"], "log.csv: byte 0: expected a pcap"),
    ];
    for (code, arguments, words) in cases {
        let run = dwell_in(folder.path(), &[&["queue"], arguments].concat());
        assert_refusal(&run, arguments, code, &[words]);
        assert_eq!(names(folder.path()), ["log.csv"]);
    }
}

#[test]
fn every_form_is_written() {
    let passages = passages();
    let folder = log(&passages);
    let number = episodes(&passages).len();
    let text = |more: &[&str]| String::from_utf8(queue(folder.path(), more).ok().out).unwrap();
    let table = text(&["--plot", "plot.svg", "--method", "conquest", "--compare-exact"]);
    assert!(table.contains("40,000 matched") && table.contains("estimated by snapshots"), "{table}");
    assert!(table.contains("precision") && table.contains("of the queue: "), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let lines: Vec<Value> =
        text(&["--format", "jsonl"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), number + 1);
    assert!(lines[0]["culprits"].is_array() && lines[number]["episodes"] == Value::Array(Vec::new()));
    let csv = text(&["--format", "csv"]);
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(Result::unwrap).collect();
    assert_eq!(rows.iter().filter(|row| &row[0] == "episode").count(), number);
    assert!(rows.iter().any(|row| &row[0] == "culprit"));
    let plot = fs::read_to_string(folder.path().join("plot.svg")).unwrap();
    assert!(plot.contains("deepest queue in bytes") && plot.contains("estimated over actual bytes"));
    assert_eq!(names(folder.path()), ["log.csv", "plot.svg"]);
}
