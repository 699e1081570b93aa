//! Queues made by `dwell simulate`, as captures on both sides and as a log: what `dwell queue` reports, and the errors
//! for captures that cannot be replayed.

use crate::run::{Run, assert_refusal, dwell_in, names, testdata};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The captures and the log of a queue: `in.pcap`, `out.pcap`, `log.csv`.
fn simulated(more: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let outputs = ["-w", "in.pcap", "--egress", "out.pcap", "--truth", "log.csv", "--seed", "3"];
    let run = dwell_in(folder.path(), &[&["simulate"], &outputs[..], more].concat());
    assert!(run.code == 0 && run.err.contains(" packets arrived, "), "{}", run.err);
    folder
}

/// How long each packet of the log waited.
fn waits(folder: &Path) -> Vec<i64> {
    let log = fs::read_to_string(folder.join("log.csv")).unwrap();
    let wait = |line: &str| {
        let mut times = line.split(',').map(|field| field.parse::<i64>().unwrap_or_default());
        -times.next().unwrap() + times.next().unwrap()
    };
    log.lines().skip(1).map(wait).collect()
}

fn queue(folder: &Path, more: &[&str]) -> Run {
    let what = ["queue", "--threshold", "800us", "--quiet", "1ms", "--longest", "1s", "--format", "json"];
    dwell_in(folder, &[&what[..], more].concat())
}

/// The same packets, read from captures or from the log, give the same episodes, queue lengths and culprits.
#[test]
fn captures_and_log_tell_the_same() {
    for how in [
        &["--queue", "bursts", "--packets", "40000"][..],
        &["--queue", "incast", "--packets", "20000", "--discipline", "turns"],
        &["--queue", "bursts", "--packets", "40000", "--discipline", "priority", "--load", "0.5"],
    ] {
        let folder = simulated(how);
        let captures = queue(folder.path(), &["in.pcap", "out.pcap"]).ok().json();
        let log = queue(folder.path(), &["--sojourns", "log.csv"]).ok().json();
        let episodes = log["episodes"].as_array().unwrap();
        assert!(!episodes.is_empty() && !episodes[0]["culprits"].as_array().unwrap().is_empty(), "{how:?}: {log}");
        for key in ["episodes", "longest_delay_ns", "peak_queue_bytes"] {
            assert_eq!(captures[key], log[key], "{how:?}: {key}");
        }
        assert_eq!(captures["packets"]["matched"], log["packets"]["departed"]);
    }
}

/// A capture of both directions, all of which pass the queue, whether little or much of it waits: no packet is taken for
/// one that goes back.
#[test]
fn both_directions_may_pass_a_queue() {
    let captures = ["tcp/tcp.pcap.gz", "mixed/mixed.pcap.zst", "dns/dns.pcap.xz", "icmp/icmp.pcapng"].map(testdata);
    for (arrivals, rate) in captures.iter().flat_map(|arrivals| ["1e9", "20e6"].map(|rate| (arrivals, rate))) {
        let folder = tempfile::tempdir().unwrap();
        let how = ["simulate", "--queue", "capture", "--arrivals", arrivals, "--speed-up", "20", "--rate", rate];
        let run = dwell_in(folder.path(), &[&how[..], &["-w", "in.pcap", "--egress", "out.pcap"]].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        let report =
            |command: &str| dwell_in(folder.path(), &[command, "in.pcap", "out.pcap", "--format", "json"]).json();
        let (queue, owd) = (report("queue"), report("owd"));
        let decoded = queue["frames"]["decoded"].as_u64().unwrap() / 2;
        let packets = &queue["packets"];
        assert!(decoded > 200 && packets["elsewhere"] == 0, "{arrivals}: {packets}");
        assert_eq!([&packets["arrivals"]["seen"], &packets["departed"]], [decoded; 2], "{arrivals} at {rate}");
        assert!(packets["matched"].as_u64().unwrap() * 50 > decoded * 49, "{arrivals} at {rate}: {packets}");
        // Where hardly a packet waits, replies that are shorter than requests seem to go back between other clocks.
        if rate == "1e9" && decoded > 5_000 {
            assert_eq!([&owd["total"]["sent"], &owd["total"]["received"]], [decoded; 2], "{arrivals} at {rate}");
        }
    }
}

/// Packets that wait for longer than `--longest` are neither lost nor new: the only warning names that flag, and the
/// answer is not called exact. Likewise the only warning is about the memory if that is too small.
#[test]
fn one_cause_is_told_once() {
    let folder = simulated(&["--queue", "bursts", "--packets", "40000"]);
    let run = |more: &[&str]| {
        dwell_in(folder.path(), &[&["queue", "--threshold", "800us", "--format", "json"], more].concat())
    };
    let longer = waits(folder.path()).iter().filter(|&&wait| wait > 1_000_000).count();
    assert!(longer > 1_000, "{longer}");
    for (source, words) in [
        (&["in.pcap", "out.pcap"][..], "packets departed after more than --longest, 1.00 ms, and up to "),
        (&["--sojourns", "log.csv"], "packets waited for more than --longest, 1.00 ms, and up to "),
    ] {
        let short = run(&[source, &["--longest", "1ms"]].concat());
        let is_told = short.err.contains(&format!("warning: {longer} {words}")) && short.err.lines().count() == 1;
        assert!(is_told, "{}", short.err);
        let report = short.json();
        assert_eq!((&report["packets"]["overlong"], &report["method"]["exact"]), (&longer.into(), &false.into()));
        let long = run(&[source, &["--longest", "100ms"]].concat()).ok().json();
        assert_eq!((&long["packets"]["overlong"], &long["method"]["exact"]), (&0.into(), &true.into()));
    }
    let small = run(&["in.pcap", "out.pcap", "--memory", "64KiB"]);
    assert!(small.json()["packets"]["unknown"].as_u64() > Some(1_000), "{}", small.json()["packets"]);
    assert!(small.err.contains("did not fit the memory") && small.err.lines().count() == 1, "{}", small.err);
    let wrong = run(&["in.pcap", "out.pcap", "--longest", "500us"]);
    let words = "--threshold 800 µs: expected at most the longest delay, 500 µs (--longest)";
    assert!(wrong.code == 2 && wrong.err.contains(words), "{} {}", wrong.code, wrong.err);
}

/// Where snapshots have too few counters for many flows that share the queue, a warning says so, unless they were chosen
/// by hand, or no packet waits.
#[test]
fn too_few_counters_are_told() {
    let folder = simulated(&["--queue", "incast", "--packets", "20000"]);
    let told = |threshold: &str, more: &[&str]| {
        let what = ["queue", "--sojourns", "log.csv", "--method", "conquest", "--threshold", threshold];
        dwell_in(folder.path(), &[&what[..], more].concat()).err
    };
    for (memory, words) in
        [("32KiB", "only 11 entries: where more flows"), ("64KiB", "only 38 columns: where small flows")]
    {
        let err = told("800us", &["--memory", memory]);
        assert!(err.contains(words) && err.lines().count() == 1, "{memory}: {err}");
    }
    let silent: [(&str, &[&str]); 3] = [
        ("800us", &["--memory", "256KiB"]),
        ("1s", &["--memory", "64KiB", "--longest", "1s"]),
        ("800us", &["--counter", "space-saving"]),
    ];
    for (threshold, more) in silent {
        assert_eq!(told(threshold, more), "", "{more:?}");
    }
}

/// The same seed gives the same stream, and a limited buffer drops packets.
#[test]
fn queues_repeat() {
    let how = ["--queue", "incast", "--packets", "5000", "--buffer", "64KiB", "--rate", "5e9"];
    let [one, two] = [simulated(&how), simulated(&how)];
    for name in ["in.pcap", "out.pcap", "log.csv"] {
        assert!(fs::read(one.path().join(name)).unwrap() == fs::read(two.path().join(name)).unwrap(), "{name}");
    }
    let report = queue(one.path(), &["in.pcap", "out.pcap"]).ok().json();
    assert!(report["packets"]["arrivals"]["waiting"].as_u64() > Some(100), "{}", report["packets"]);
    assert!(report["peak_queue_bytes"].as_u64() <= Some(64 << 10), "{}", report["peak_queue_bytes"]);
}

/// Ten packets of a microsecond each that arrive together, from a log that is replayed at twice the speed.
#[test]
fn a_log_of_arrivals_is_fed() {
    let folder = tempfile::tempdir().unwrap();
    let write = |rows: &str| fs::write(folder.path().join("at.csv"), format!("at_ns,flow,bytes\n{rows}")).unwrap();
    let run = |more: &[&str]| dwell_in(folder.path(), &[&["simulate", "--queue", "log"], more].concat());
    write(&(0..10).map(|packet| format!("{},f{},1000\n", 500 + 20 * packet, packet % 2)).collect::<String>());
    let fed = run(&["--arrivals", "at.csv", "--rate", "8e9", "--speed-up", "2", "--truth", "-"]);
    assert_eq!((fed.code, fed.err.as_str()), (0, "dwell: 10 packets arrived, 10 departed, 0 dropped\n"));
    let row = |packet: i64| format!("{},{},f{},1000\n", 500 + 10 * packet, 1_500 + 1_000 * packet, packet % 2);
    let expected = (0..10).map(row).collect::<String>();
    assert_eq!(String::from_utf8(fed.out).unwrap(), format!("arrived_ns,departed_ns,flow,bytes\n{expected}"));

    write("7,a,1\n5,a,1\n");
    let refused: [(i32, &[&str], &str); 10] = [
        (2, &["--arrivals", "at.csv", "--truth", "new.csv", "--snap-length", "0"], "--snap-length"),
        (1, &["--arrivals", "at.csv", "--truth", "new.csv"], "at.csv: line 3: earlier than the line before"),
        (1, &["--arrivals", "none.csv", "--truth", "new.csv"], "none.csv"),
        (2, &["--arrivals", "at.csv"], "expected an output"),
        (2, &["--arrivals", "at.csv", "-w", "in.pcap"], "only --truth can be written"),
        (2, &["--arrivals", "at.csv", "--truth", "at.csv"], "is an input, and would be changed"),
        (2, &[], "--arrivals"),
        (2, &["--arrivals", "at.csv", "--traffic", "speed"], "--traffic"),
        (2, &["--arrivals", "at.csv", "--truth", "new.csv", "--seed", "1"], "--seed"),
        (2, &["--arrivals", "at.csv", "--truth", "new.csv", "--snap-length", "64"], "--write <FILE>|--egress <FILE>"),
    ];
    for (code, arguments, words) in refused {
        assert_refusal(&run(arguments), arguments, code, &[words]);
        assert_eq!(names(folder.path()), ["at.csv"]);
    }
    for bytes in ["many", "65536", "-1"] {
        write(&format!("7,a,{bytes}\n"));
        let run = run(&["--arrivals", "at.csv", "--truth", "-"]);
        let words = format!("at.csv: line 2: expected a whole number of bytes, up to 65535, as bytes, found '{bytes}'");
        assert!(run.code == 1 && run.err.contains(&words), "{}", run.err);
    }
}

/// A log of many blocks is read to its end; of a truncated one what was read is used, with a warning.
#[test]
fn a_long_log_of_arrivals_is_fed_whole() {
    const PACKETS: usize = 50_000;
    let folder = tempfile::tempdir().unwrap();
    let row = |packet: usize| format!("{},f{},1000\n", 1_000 * packet, packet % 100);
    let text = format!("at_ns,flow,bytes\n{}", (0..PACKETS).map(row).collect::<String>());
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let fed = |bytes: &[u8]| {
        fs::write(folder.path().join("at"), bytes).unwrap();
        dwell_in(folder.path(), &["simulate", "--queue", "log", "--arrivals", "at", "--rate", "16e9", "--truth", "out"])
    };
    for bytes in [text.as_bytes(), &packed] {
        let run = fed(bytes);
        let words = format!("dwell: {PACKETS} packets arrived, {PACKETS} departed, 0 dropped\n");
        assert_eq!((run.code, run.err), (0, words));
    }
    let run = fed(&packed[..packed.len() / 2]);
    let lines = fs::read_to_string(folder.path().join("out")).unwrap().lines().count() - 1;
    assert!((PACKETS / 4..PACKETS / 4 * 3).contains(&lines), "{lines}");
    assert!(run.code == 0 && run.err.contains("the zstd data is truncated after line"), "{} {}", run.code, run.err);
}

/// Names of flows are kept unchanged.
#[test]
fn the_truth_of_a_log_is_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "1,\"a, \"\"b\"\"\",100\n2,plain,100\n";
    fs::write(folder.path().join("at.csv"), format!("at_ns,flow,bytes\n{rows}")).unwrap();
    let how = ["simulate", "--queue", "log", "--arrivals", "at.csv", "--rate", "8e8", "--truth", "log.csv"];
    assert_eq!(dwell_in(folder.path(), &how).code, 0);
    let truth = fs::read_to_string(folder.path().join("log.csv")).unwrap();
    let expected = "1,1001,\"a, \"\"b\"\"\",100\n2,2001,plain,100\n";
    assert_eq!(truth, format!("arrived_ns,departed_ns,flow,bytes\n{expected}"));
    assert_eq!(dwell_in(folder.path(), &["queue", "--sojourns", "log.csv", "--threshold", "1us"]).code, 0);
}

/// Every packet that arrives departs, even at the end of the time range.
#[test]
fn nothing_arrives_too_late_to_depart() {
    let folder = tempfile::tempdir().unwrap();
    let last = i64::MAX;
    let rows = format!("at_ns,flow,bytes\n0,a,100\n{},b,100\n{last},c,100\n{last},c,100\n", last - 1);
    fs::write(folder.path().join("at.csv"), rows).unwrap();
    for discipline in ["fifo", "turns"] {
        let how =
            ["simulate", "--queue", "log", "--arrivals", "at.csv", "--discipline", discipline, "--truth", "log.csv"];
        assert_eq!(dwell_in(folder.path(), &how).err, "dwell: 4 packets arrived, 4 departed, 0 dropped\n");
        let run = queue(folder.path(), &["--sojourns", "log.csv"]);
        assert_eq!((run.code, &run.json()["packets"]["departed"]), (0, &4.into()), "{}", run.err);
    }
}

/// A clock that is ahead and fast shifts all delays by its error; the true log has the correct ones.
#[test]
fn clocks_can_be_wrong() {
    let right = simulated(&["--queue", "bursts", "--packets", "5000"]);
    let wrong =
        simulated(&["--queue", "bursts", "--packets", "5000", "--clock-offset", "-3ms", "--clock-drift", "500"]);
    let same = |name: &str| fs::read(right.path().join(name)).unwrap() == fs::read(wrong.path().join(name)).unwrap();
    assert!(same("in.pcap") && same("log.csv") && !same("out.pcap"));
    let owd = |folder: &tempfile::TempDir, offset: &str| {
        let told = ["owd", "in.pcap", "out.pcap", "--clock-offset", offset, "--format", "json"];
        let delay = dwell_in(folder.path(), &told).ok().json()["total"]["delay_ns"].take();
        ["min", "mean"].map(|key| delay[key]["value"].as_f64().unwrap())
    };
    let ([least, mean], [early, moved]) = (owd(&right, "0"), owd(&wrong, "-3ms"));
    // The mean error is half of the duration of the stream times the drift.
    let rows = fs::read_to_string(right.path().join("log.csv")).unwrap();
    let departed: Vec<f64> = rows.lines().skip(1).map(|row| row.split(',').nth(1).unwrap().parse().unwrap()).collect();
    let start = 1_767_225_600e9;
    let gained = departed.iter().map(|at| (at - start) * 500e-6).sum::<f64>() / departed.len() as f64;
    assert!(gained > 1_000.0 && (moved - mean - gained).abs() < 200.0, "{moved} - {mean} = {gained}");
    assert!(early >= least, "{early} {least}");
    let nonsense =
        dwell_in(right.path(), &["simulate", "--queue", "bursts", "--egress", "x.pcap", "--clock-drift", "-1e6"]);
    assert!(nonsense.code == 2 && nonsense.err.contains("expected parts per million above -1e6"), "{}", nonsense.err);
}

/// A recorded capture is replayed frame by frame. If nothing waits for long, it departs unchanged; through a slow line,
/// captures and log give the same report.
#[test]
fn a_capture_is_fed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    let mixed = testdata("mixed/mixed.pcap.zst");
    let feed = |more: &[&str]| {
        let outputs = ["--arrivals", &mixed, "-w", "in.pcap", "--egress", "out.pcap", "--truth", "log.csv"];
        let run = dwell_in(place, &[&["simulate", "--queue", "capture"], &outputs[..], more].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    let rtt = |name: &str| {
        let mut report = dwell_in(place, &["rtt", name, "--format", "json"]).ok().json();
        report["sources"].take();
        report
    };
    feed(&["--rate", "1e12"]);
    let (whole, fed) = (rtt(&mixed), rtt("in.pcap"));
    assert!(whole["frames"]["total"].as_u64() > Some(10_000), "{}", whole["frames"]);
    assert_eq!(whole["frames"], fed["frames"]);
    assert_eq!(whole["results"], fed["results"]);
    assert_eq!(rtt("out.pcap")["frames"], fed["frames"]);

    let said = feed(&["--rate", "5e7", "--speed-up", "50", "--buffer", "300000"]);
    let dropped: u64 = said.rsplit(' ').nth(1).and_then(|word| word.parse().ok()).unwrap();
    let arrived = whole["frames"]["total"].as_u64().unwrap();
    let captures = queue(place, &["in.pcap", "out.pcap", "--from", "0.0.0.0/0,::/0"]).ok().json();
    let log = queue(place, &["--sojourns", "log.csv"]).ok().json();
    let departed = log["packets"]["departed"].as_u64().unwrap();
    assert!(dropped > 0 && dropped + departed == arrived, "{said}");
    let longest = log["longest_delay_ns"].as_f64().unwrap();
    assert!((0.9 * 300_000.0 * 160.0..300_000.0 * 160.0 + 1.0).contains(&longest), "{longest}");
    assert!(log["peak_queue_bytes"].as_u64() <= Some(300_000));
    assert_eq!(captures["longest_delay_ns"], log["longest_delay_ns"]);
    // Frames that cannot be decoded are in the queue, but are not counted as packets.
    let rows = fs::read_to_string(place.join("log.csv")).unwrap();
    let others = rows.lines().filter(|row| row.contains(",other,")).count() as u64;
    assert!(
        others > 0 && captures["packets"]["departed"].as_u64() == Some(departed - others),
        "{others} of {departed}"
    );
}

/// The part of a capture that cannot be replayed is reported, and the rest is replayed.
#[test]
fn captures_that_cannot_be_fed_are_told() {
    let folder = simulated(&["--queue", "bursts", "--packets", "1000"]);
    let place = folder.path();
    let run = |more: &[&str]| dwell_in(place, &[&["simulate", "--queue", "capture", "--truth", "-"], more].concat());
    let bytes = fs::read(place.join("in.pcap")).unwrap();
    let mut odd = bytes[..bytes.len() / 2].to_vec();
    odd.extend([0xff; 300]);
    fs::write(place.join("odd.pcap"), odd).unwrap();
    let fed = run(&["--arrivals", "odd.pcap"]);
    assert!(fed.code == 1 && fed.err.contains("the rest of the file was not read"), "{} {}", fed.code, fed.err);
    assert!(String::from_utf8_lossy(&fed.out).lines().count() > 400);
    // Two sections of a pcapng file with different link types cannot be written to one pcap file.
    let block = |kind: u32, body: &[u32]| {
        let length = 12 + 4 * body.len() as u32;
        let words = [&[kind, length], body, &[length]].concat();
        words.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
    };
    let section = |link: u32| {
        let head = block(0x0a0d_0d0a, &[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]);
        [head, block(1, &[link, 0]), block(6, &[0, 0, 5, 4, 4, 0x45])].concat()
    };
    fs::write(place.join("links.pcapng"), [section(1), section(101)].concat()).unwrap();
    let refused: [(i32, &[&str], &str); 5] = [
        (
            1,
            &["--arrivals", "links.pcapng"],
            "links.pcapng: frame 2 has another link type (101) than those before it (1)",
        ),
        (1, &["--arrivals", "log.csv"], "expected a pcap or pcapng file"),
        (2, &[], "--arrivals"),
        (2, &["--arrivals", "in.pcap", "--load", "0.5"], "--load"),
        (2, &["--arrivals", "in.pcap", "--discipline", "priority"], "--discipline priority"),
    ];
    for (code, more, words) in refused {
        let run = run(more);
        assert!(run.code == code && run.err.contains(words), "{} {}", run.code, run.err);
        assert_eq!(run.err.lines().filter(|line| !line.contains("warning")).count(), 1, "{}", run.err);
    }
}

/// Rewrites a capture with new times for its frames, given in nanoseconds since the first; frames without a time are
/// left out.
fn retime(folder: &Path, from: &str, to: &str, time: impl Fn(i64) -> Option<i64>) {
    let bytes = fs::read(folder.join(from)).unwrap();
    let (head, mut rest) = bytes.split_at(24);
    let mut kept = head.to_vec();
    let word = |bytes: &[u8], at: usize| i64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let mut first = None;
    while !rest.is_empty() {
        let (frame, next) = rest.split_at(16 + word(rest, 8) as usize);
        let at = word(frame, 0) * 1_000_000_000 + word(frame, 4);
        let start = *first.get_or_insert(at);
        if let Some(at) = time(at - start).map(|at| start + at) {
            let words =
                [at.div_euclid(1_000_000_000), at.rem_euclid(1_000_000_000)].map(|word| (word as u32).to_le_bytes());
            kept.extend(words.as_flattened());
            kept.extend(&frame[8..]);
        }
        rest = next;
    }
    fs::write(folder.join(to), kept).unwrap();
}

/// Warnings about captures with clocks that disagree, in the wrong order, or with a gap: the report still counts every
/// packet, and does not invent a queue.
#[test]
fn clocks_and_gaps_are_told() {
    let folder = simulated(&["--queue", "bursts", "--packets", "40000"]);
    let place = folder.path();
    let truth = queue(place, &["in.pcap", "out.pcap"]).ok().json();
    let told = |captures: [&str; 2], words: &str| -> Value {
        let run = queue(place, &captures);
        assert!(run.code == 0 && run.err.contains(words), "{captures:?}: {}", run.err);
        run.json()
    };
    told(["out.pcap", "in.pcap"], "the captures are in the wrong order (the last one is where packets depart)");
    // The clock behind the queue is slow by less than most packets take, by more, by much more, by an hour.
    for (behind, words) in [
        (100, "the clocks differ by at least that"),
        (20_000, "or the last one's clock is behind"),
        (
            50_000_000,
            "the captures are in the wrong order (the last one is where packets depart), or the last one's clock is behind",
        ),
        (3_600_000_000_000, "no packet was seen on both sides"),
    ] {
        retime(place, "out.pcap", "late.pcap", |at| Some(at - behind));
        let report = told(["in.pcap", "late.pcap"], words);
        assert!(report["longest_delay_ns"].as_i64().unwrap_or(0) <= truth["longest_delay_ns"].as_i64().unwrap());
    }
    // It is fast: a warning says by how much at most, and the flag that it names gives the truth.
    let least = waits(place).into_iter().min().unwrap();
    for ahead in [700_000, 5_000_000, 50_000_000] {
        retime(place, "out.pcap", "early.pcap", |at| Some(at + ahead));
        let flag = format!("--clock-offset {}ns", ahead + least);
        let report = told(["in.pcap", "early.pcap"], &flag);
        assert!(report["longest_delay_ns"].as_i64() > truth["longest_delay_ns"].as_i64());
        let right = queue(place, &["in.pcap", "early.pcap", "--clock-offset", &format!("{ahead}ns")]).ok().json();
        assert_eq!(right["method"]["clock_offset_ns"], ahead);
        for key in ["episodes", "longest_delay_ns", "peak_queue_bytes"] {
            assert_eq!(right[key], truth[key], "{ahead}: {key}");
        }
    }
    let (from, to) = (10_000_000, 20_000_000);
    let outside = |at: i64| Some(at).filter(|at| !(from..to).contains(at));
    retime(place, "in.pcap", "gap.pcap", outside);
    let report = told(["gap.pcap", "out.pcap"], "a capture where packets arrive has a gap");
    assert!(report["packets"]["unknown"].as_u64() > Some(100), "{}", report["packets"]);
    retime(place, "out.pcap", "gap.pcap", outside);
    let report = told(["in.pcap", "gap.pcap"], "the capture where packets depart has a gap");
    assert_eq!(report["longest_delay_ns"], truth["longest_delay_ns"]);
    for report in [&report, &truth] {
        let arrivals = &report["packets"]["arrivals"];
        let count = |fate: &str| arrivals[fate].as_u64().unwrap();
        let fates = ["matched", "backwards", "evicted", "expired", "repeated", "waiting"];
        assert_eq!(count("seen"), fates.into_iter().map(count).sum::<u64>(), "{arrivals}");
    }
}
