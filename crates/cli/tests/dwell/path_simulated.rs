//! Paths made by `dwell simulate --path`: what `dwell owd` reports of both captures, compared with the truth.

use crate::run::{assert_refusal, dwell_in, ends, names, testdata};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The captures and the truth of a path: `a.pcap`, `b.pcap`, `truth.csv`.
fn simulated(more: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["simulate", "--path", "-w", "a.pcap", "--egress", "b.pcap", "--truth", "truth.csv"];
    let run = dwell_in(folder.path(), &[&outputs[..], more].concat());
    assert!(run.code == 0 && run.err.contains(" packets sent, "), "{}", run.err);
    folder
}

/// A packet that was sent: its number in the first capture, when it was sent and received, and how often it arrived.
struct Packet {
    frame: u64,
    sent: i64,
    received: Option<i64>,
    copies: u64,
}

fn truth(folder: &Path) -> Vec<Packet> {
    let text = fs::read_to_string(folder.join("truth.csv")).unwrap();
    assert_eq!(text.lines().next(), Some("frame,sent_ns,received_ns,copies"));
    let packet = |line: &str| {
        let [frame, sent, received, copies] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        Packet {
            frame: frame.parse().unwrap(),
            sent: sent.parse().unwrap(),
            received: received.parse().ok(),
            copies: copies.parse().unwrap(),
        }
    };
    text.lines().skip(1).map(packet).collect()
}

/// The report of `dwell owd`, and when each packet was sent, with its delay if it arrived.
fn measured(folder: &Path, more: &[&str]) -> (Value, Vec<(i64, Option<i64>)>) {
    let what = ["owd", "a.pcap", "b.pcap", "--format", "json", "--samples", "samples.csv"];
    let report = dwell_in(folder, &[&what[..], more].concat()).ok().json();
    let text = fs::read_to_string(folder.join("samples.csv")).unwrap();
    let row = |line: &str| {
        let mut fields = line.split(',').map(|field| field.parse().ok());
        (fields.next().unwrap().unwrap(), fields.next().unwrap())
    };
    let mut rows: Vec<_> = text.lines().skip(1).map(row).collect();
    rows.sort_unstable();
    (report, rows)
}

/// The numbers of runs of lost packets, and the mean and the largest length.
fn runs(packets: &[Packet]) -> (u64, f64, u64) {
    let arrived: Vec<bool> = packets.iter().map(|packet| packet.received.is_some()).collect();
    let lengths = arrived.chunk_by(|one, next| one == next).filter(|run| !run[0]).map(|run| run.len() as u64);
    let lengths: Vec<u64> = lengths.collect();
    let (number, lost) = (lengths.len() as u64, lengths.iter().sum::<u64>());
    (number, lost as f64 / number.max(1) as f64, lengths.into_iter().max().unwrap_or(0))
}

fn has_overtaking(packets: &[Packet]) -> bool {
    let received: Vec<i64> = packets.iter().filter_map(|packet| packet.received).collect();
    !received.is_sorted()
}

/// Every delay and every loss is measured as it was. (With these seeds the last packets arrive, and no two equal ones are
/// in flight together. Otherwise the receiver's capture ends too early to call them lost, and equal ones have no delay.)
#[test]
fn the_report_is_the_truth() {
    for how in [
        &["--loss", "2%"][..],
        &["--loss", "5%", "--loss-run", "4", "--reorder", "--delay", "exponential:5ms", "--seed", "5"],
        &["--loss", "1%", "--delay", "uniform:1ms:9ms", "--reorder", "--seed", "7"],
        &["--delay", "5ms", "--traffic", "small", "--flows", "50"],
    ] {
        let folder = simulated(how);
        let packets = truth(folder.path());
        let (report, rows) = measured(folder.path(), &[]);
        let expected: Vec<_> =
            packets.iter().map(|packet| (packet.sent, packet.received.map(|at| at - packet.sent))).collect();
        assert!(packets.len() > 400 && rows == expected, "{how:?}");
        let delays: Vec<i64> = expected.iter().filter_map(|(_, delay)| *delay).collect();
        let total = &report["total"];
        assert_eq!((&total["uncovered"], &total["ambiguous"]), (&0.into(), &0.into()), "{how:?}");
        assert_eq!(total["sent"].as_u64(), Some(packets.len() as u64), "{how:?}");
        assert_eq!(total["lost"].as_u64(), Some((packets.len() - delays.len()) as u64), "{how:?}");
        let mean = delays.iter().sum::<i64>() as f64 / delays.len() as f64;
        assert!((ends(&total["delay_ns"]["mean"]).1 / mean - 1.0).abs() < 1e-9, "{how:?}: {mean}");
        let (number, _, longest) = runs(&packets);
        let told = &total["loss_runs"];
        assert_eq!((told["count"].as_u64(), told["longest"].as_u64()), (Some(number), Some(longest)), "{how:?}");
        assert_eq!(has_overtaking(&packets), how.contains(&"--reorder"), "{how:?}");
    }
}

/// Some 10,000 packets, of which a twentieth is lost in some 60 runs of 8 on average: the mean of so many geometric
/// lengths has a standard error of √56/√60 = .97, and may be .66 or 1.34 times as large; six of them, 2·10⁻⁹. Independent
/// losses have runs of 1/.95.
#[test]
fn losses_come_in_runs() {
    let length = |more: &[&str]| {
        let folder = simulated(&[&["--flows", "1000", "--loss", "5%"], more].concat());
        let packets = truth(folder.path());
        assert!(packets.len() > 9_000, "{}", packets.len());
        runs(&packets).1
    };
    let is_eight = |length: f64| (length - 8.0).abs() < 5.8;
    let (bursts, single) = (length(&["--loss-run", "8"]), length(&[]));
    assert!(is_eight(bursts) && !is_eight(single), "{bursts} {single}");
}

/// A clock that is ahead and fast shifts all delays by its error; the truth has the correct ones.
#[test]
fn the_receivers_clock_may_be_wrong() {
    let (right, wrong) = (simulated(&[]), simulated(&["--clock-offset", "-3ms", "--clock-drift", "500"]));
    let same = |name: &str| fs::read(right.path().join(name)).unwrap() == fs::read(wrong.path().join(name)).unwrap();
    assert!(same("a.pcap") && same("truth.csv") && !same("b.pcap"));
    let packets = truth(wrong.path());
    let error = |at: i64| ((at - 1_767_225_600_000_000_000) as f64 * 500e-6) as i64;
    let by_clock = |packet: &Packet| (packet.sent, packet.received.map(|at| at + error(at) - packet.sent));
    let (_, rows) = measured(wrong.path(), &["--clock-offset", "-3ms"]);
    assert!(rows == packets.iter().map(by_clock).collect::<Vec<_>>());
    assert!(error(packets.last().unwrap().sent) > 1_000_000);
}

/// `dwell owd` counts as many duplicates as there are.
#[test]
fn copies_arrive() {
    let folder = simulated(&["--duplicates", "10%", "--loss", "5%"]);
    let packets = truth(folder.path());
    let doubled = packets.iter().filter(|packet| packet.copies == 2).count() as u64;
    let run = dwell_in(folder.path(), &["owd", "a.pcap", "b.pcap", "--format", "json"]);
    let report = run.json();
    assert!(doubled > 100 && run.err.contains(&format!("{doubled} of ")), "{doubled}: {}", run.err);
    assert_eq!(report["points"]["receiver"]["duplicates"], doubled);
    let lost = packets.iter().filter(|packet| packet.received.is_none()).count();
    assert_eq!(
        (&report["total"]["lost"], report["total"]["sent"].as_u64()),
        (&lost.into(), Some(packets.len() as u64))
    );
    assert!(packets.iter().all(|packet| (packet.copies == 0) == packet.received.is_none()));
}

/// The frames of a recorded capture travel unchanged; with `--from`, some of them.
#[test]
fn a_capture_travels() {
    let arrivals = testdata("mixed/mixed.pcap.zst");
    let folder = simulated(&["--arrivals", &arrivals, "--delay", "constant:0"]);
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap();
    assert!(read(folder.path(), "a.pcap") == read(folder.path(), "b.pcap"));
    let packets = truth(folder.path());
    let is_numbered = (1..).zip(&packets).all(|(number, packet)| packet.frame == number);
    assert!(is_numbered && packets.iter().all(|packet| packet.received == Some(packet.sent)));
    let frames = |capture: &str| dwell_in(folder.path(), &["rtt", capture, "--format", "json"]).json()["frames"].take();
    assert_eq!(frames("a.pcap"), frames(&arrivals));

    let from = "10.20.1.1";
    let some = simulated(&["--arrivals", &arrivals, "--from", from]);
    let (report, rows) = measured(some.path(), &["--from", from, "--longest", "1s"]);
    assert!(rows.len() > 500 && rows.len() < packets.len() / 2, "{} of {}", rows.len(), packets.len());
    for point in ["sender", "receiver"] {
        assert_eq!(report["points"][point]["packets"], truth(some.path()).len());
        assert_eq!(report["points"][point]["frames"]["total"], truth(some.path()).len());
    }
}

/// Delays of a file, each equally likely; the same seed gives the same bytes.
#[test]
fn delays_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("delays"), "# ms\n1 2.5\n7,7\n").unwrap();
    let run = |seed: &str, truth: &str| {
        let how = ["simulate", "--path", "--reorder", "--delay", "file:delays", "--seed", seed, "--truth", truth];
        assert_eq!(dwell_in(folder.path(), &how).code, 0);
        fs::read(folder.path().join(truth)).unwrap()
    };
    assert!(run("1", "again.csv") == run("1", "truth.csv") && run("2", "other.csv") != run("1", "truth.csv"));
    let mut delays: Vec<i64> =
        truth(folder.path()).iter().map(|packet| packet.received.unwrap() - packet.sent).collect();
    delays.sort_unstable();
    delays.dedup();
    assert_eq!(delays, [1_000_000, 2_500_000, 7_000_000]);
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("delays"), "1 soon").unwrap();
    let cases: [(i32, &[&str], &[&str]); 18] = [
        (2, &["--path", "-w", "new", "--queue", "bursts"], &["--path", "--queue"]),
        (2, &["--path"], &["expected an output"]),
        (2, &["--path", "-w", "new", "--delay", "fast"], &["'fast'", "log-normal:20ms:40ms"]),
        (2, &["--path", "-w", "new", "--delay", "-5ms"], &["'-5ms'", "--delay"]),
        (2, &["--path", "-w", "new", "--delay", "log-normal:5ms:5ms"], &["--delay: no log-normal distribution"]),
        (2, &["--path", "-w", "new", "--delay", "uniform:9ms:1ms"], &["--delay: the upper end"]),
        (2, &["--path", "-w", "new", "--delay", "pareto:1ms:0"], &["--delay: shape 0"]),
        (1, &["--path", "-w", "new", "--delay", "file:none"], &["none: "]),
        (1, &["--path", "-w", "new", "--delay", "file:delays"], &["delays: line 1: 'soon'"]),
        (1, &["--path", "-w", "new", "--delay", "file:/dev/zero"], &["/dev/zero: expected delays", "at most 256 MiB"]),
        (2, &["--path", "-w", "delays", "--delay", "file:delays"], &["delays: is an input"]),
        (2, &["--path", "-w", "new", "--loss", "100%"], &["'100%'", "below 1"]),
        (2, &["--path", "-w", "new", "--loss", "90%", "--loss-run", "2"], &["--loss-run 2: expected at least 9.0"]),
        (2, &["--path", "-w", "new", "--loss", "1%", "--loss-run", "0.5"], &["'0.5'", "at least 1"]),
        (2, &["--path", "-w", "new", "--loss-run", "2"], &["--loss"]),
        (2, &["--path", "-w", "new", "--duplicates", "-1"], &["'-1'", "--duplicates"]),
        (2, &["-w", "new", "--loss", "1%"], &["--path"]),
        (2, &["-w", "new", "--egress", "other"], &["--path", "--queue"]),
    ];
    for (code, arguments, words) in cases {
        let run = dwell_in(folder.path(), &[&["simulate"], arguments].concat());
        assert_refusal(&run, arguments, code, words);
        assert_eq!(names(folder.path()), ["delays"], "{arguments:?}");
    }
}
