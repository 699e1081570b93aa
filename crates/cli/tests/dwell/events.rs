//! `dwell rtt --events`: requests and responses from a log.

use crate::run::{Run, assert_conserved, dwell_in, ends, lines};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

fn log(lines: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("log.csv"), lines).unwrap();
    folder
}

fn rtt(folder: &TempDir, more: &[&str]) -> Run {
    dwell_in(folder.path(), &[&["rtt", "--events", "log.csv"], more].concat())
}

#[test]
fn quantiles_of_a_log_are_those_of_its_delays() {
    // Request n at n s, its response n ms later: delays of 1 to 100 ms.
    let mut text = String::from("at_ns,kind,id\n");
    for n in 1..=100_i64 {
        let at = n * 1_000_000_000;
        text += &format!("{at},request,call-{n}\n{},response,call-{n}\n", at + n * 1_000_000);
    }
    // A request without a response, and a response without a request.
    text += "200000000000,request,lost\n200000000001,response,stray\n";
    let folder = log(&text);
    for method in ["auto", "exact"] {
        let report = rtt(&folder, &["--format", "json", "--method", method]).ok().json();
        assert_conserved(&report);
        assert!(report["frames"].is_null());
        assert_eq!(report["sources"][0], "log.csv");
        let [line] = lines(&report) else { panic!("{report}") };
        assert_eq!((&line["match"], &line["leg"], &line["group"]), (&"events".into(), &"both".into(), &"all".into()));
        assert_eq!(line["requests"]["seen"], 101);
        assert_eq!(line["requests"]["pending"].as_u64().unwrap() + line["requests"]["expired"].as_u64().unwrap(), 1);
        assert_eq!((&line["responses"]["unmatched"], &line["samples"]), (&1.into(), &100.into()));
        let delays = &line["delay_ns"];
        for (key, expected) in
            [("mean", 50.5e6), ("p50", 50e6), ("p90", 90e6), ("p95", 95e6), ("p99", 99e6), ("min", 1e6), ("max", 100e6)]
        {
            assert_eq!(ends(&delays[key]), (expected, expected, expected), "{method} {key}");
        }
    }
}

#[test]
fn logs_may_be_compressed() {
    let text = "at_ns,kind,id\n0,request,a\n1000,response,a\n";
    let folder = log(text);
    fs::write(folder.path().join("log.bin"), zstd::bulk::compress(text.as_bytes(), 3).unwrap()).unwrap();
    let lines =
        |name| lines(&dwell_in(folder.path(), &["rtt", "--events", name, "--format", "json"]).ok().json()).to_vec();
    assert_eq!(lines("log.bin"), lines("log.csv"));
    assert_eq!(lines("log.bin")[0]["samples"], 1);
}

/// A request after a pause of three hours, alone in its interval: it waits for its answer, which comes in the next one, and
/// the request from before the pause has expired. At the end of a log, such a request has not expired either.
#[test]
fn a_pause_expires_what_came_before_it() {
    const PAUSE: i64 = 3 * 3_600_000_000_000;
    let before = "0,request,a\n1000000,response,a\n2000000,request,never\n";
    let folder = log(&format!("at_ns,kind,id\n{before}{PAUSE},request,b\n{},response,b\n", PAUSE + 130_000_000));
    let fates = |line: &serde_json::Value| {
        ["carried_over", "seen", "matched", "expired", "pending"]
            .map(|fate| line["requests"][fate].as_u64().unwrap_or(0))
    };
    for method in [&["auto"][..], &["exact"], &["auto", "--memory", "16KiB"], &["hash-sample"], &["simple"], &["mis"]] {
        let arguments = [&["--interval", "100ms", "--format", "jsonl", "--method"], method].concat();
        let out = String::from_utf8(rtt(&folder, &arguments).out).unwrap();
        let reports = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let seen: Vec<_> = reports.flat_map(|report| lines(&report).iter().map(fates).collect::<Vec<_>>()).collect();
        assert_eq!(seen, [[0, 2, 1, 0, 1], [1, 1, 0, 1, 1], [1, 0, 1, 0, 0]], "{method:?}");
    }
    fs::write(folder.path().join("log.csv"), format!("at_ns,kind,id\n{before}{PAUSE},request,b\n")).unwrap();
    for method in ["auto", "exact", "hash-sample", "simple", "mis"] {
        let report = rtt(&folder, &["--format", "json", "--method", method]).json();
        assert_eq!(fates(&lines(&report)[0])[3], 0, "{method}");
    }
}

/// Delays shorter than half a tick of a fridge: no interval begins below zero.
#[test]
fn very_short_delays_are_not_negative() {
    let folder = log("at_ns,kind,id\n0,request,a\n5,response,a\n1000,request,b\n1005,response,b\n");
    for method in ["fridge", "km"] {
        let report = rtt(&folder, &["--format", "json", "--method", method, "--entry-probability", "1"]).json();
        let (low, value, high) = ends(&lines(&report)[0]["delay_ns"]["mean"]);
        assert!(low >= 0.0 && low <= value && value < high, "{method}: {low} {value} {high}");
    }
}

/// A log that ends in the middle of a line, of a value or of a letter: the whole lines count.
#[test]
fn a_truncated_line_ends_the_log() {
    for cut in ["7,reque", "7,request,\"b", "7,request,\u{fc}"] {
        let folder = log("");
        let text = format!("at_ns,kind,id\n1,request,a\n5,response,a\n{cut}");
        let bytes = text.len() - usize::from(!cut.is_ascii());
        std::fs::write(folder.path().join("log.csv"), &text.as_bytes()[..bytes]).unwrap();
        let run = rtt(&folder, &["--format", "json"]);
        let words = "log.csv: the last line is truncated after line 3: the rest is not used";
        assert!(run.err.contains(words) && run.err.lines().count() == 1, "{}", run.err);
        assert_eq!((run.code, &run.json()["results"][0]["samples"]), (0, &1.into()));
    }
}

/// A response of id 1234 that is cut off is one of id 12, which is open, too: it counts, but not without a warning.
#[test]
fn a_last_line_that_may_be_cut_off_is_doubted() {
    let said = |end: &str| {
        let folder = log(&format!("at_ns,kind,id\n1,request,12\n2,request,1234\n5,response,12{end}"));
        let run = rtt(&folder, &["--format", "json"]);
        assert_eq!((run.code, &run.json()["results"][0]["samples"]), (0, &1.into()));
        assert_eq!(run.json()["warnings"].as_array().unwrap().len(), run.err.lines().count());
        run.err
    };
    let words = "dwell: warning: log.csv: the last line has no line end, and is used, but may be cut off\n";
    assert_eq!([said(""), said("\n"), said("34\n")], [words, "", ""]);
}

/// A line that cannot be used ends the log: the lines before count, as the packets before the damage of a capture.
#[test]
fn a_line_that_cannot_be_used_ends_the_log() {
    for (line, words) in [
        ("7,reply,b", "expected request or response as kind, found 'reply'"),
        ("noon,request,b", "expected a whole number of nanoseconds as at_ns, found 'noon'"),
        ("7,request", "expected as many fields as on the first line, 3, found 2"),
    ] {
        let folder = log(&format!("at_ns,kind,id\n1,request,a\n5,response,a\n{line}\n8,request,c\n9,response,c\n"));
        let run = rtt(&folder, &["--format", "json"]);
        let words = format!("dwell: warning: log.csv: line 4: {words}: only the lines before are used\n");
        assert_eq!((run.code, run.err.as_str()), (1, words.as_str()));
        let report = run.json();
        assert_eq!((&report["results"][0]["samples"], report["warnings"].as_array().unwrap().len()), (&1.into(), 1));
    }
}

/// How many requests of a report were dropped.
fn dropped(report: &Value) -> u64 {
    lines(report).iter().map(|line| line["requests"]["evicted"].as_u64().unwrap()).sum()
}

/// `hash-sample` learns from fast exchanges how long to wait, and says so when it may have missed slow ones.
#[test]
fn what_waits_too_short_is_said() {
    let mut events = Vec::new();
    for n in 0..20_000_i64 {
        let delay = if n < 10_000 { 1_000_000 } else { 1_000_000_000 };
        events.push((n * 500_000, "request", n));
        events.push((n * 500_000 + delay, "response", n));
    }
    events.sort_unstable();
    let lines: String = events.iter().map(|(at, kind, id)| format!("{at},{kind},{id}\n")).collect();
    let folder = log(&format!("at_ns,kind,id\n{lines}"));
    let said = |method| rtt(&folder, &["--method", method, "--memory", "8KiB"]);
    let (sampled, other) = (said("hash-sample"), said("auto"));
    assert!(
        sampled.err.contains("events: ") && sampled.err.contains("slower exchanges are missing"),
        "{}",
        sampled.err
    );
    assert!(sampled.err.contains("as learnt from"), "{}", sampled.err);
    let given = rtt(&folder, &["--method", "hash-sample", "--memory", "8KiB", "--longest", "500ms"]);
    assert!(given.err.contains("waited for 500 ms (--longest) and were dropped"), "{}", given.err);
    // Of intervals, too, although nothing is dropped in the last ones, after the last request.
    let memory = ["--method", "hash-sample", "--memory", "8KiB", "--longest", "500ms", "--interval", "300ms"];
    let intervals = rtt(&folder, &[&memory[..], &["--format", "json"]].concat());
    assert!(intervals.err.contains("waited for 500 ms (--longest) and were dropped"), "{}", intervals.err);
    let reports = intervals.json();
    let evicted: Vec<u64> = reports.as_array().unwrap().iter().map(dropped).collect();
    let expected = format!("events: {} requests waited", evicted.iter().sum::<u64>());
    assert!(intervals.err.contains(&expected) && evicted.last() == Some(&0), "{} {evicted:?}", intervals.err);
    let table = String::from_utf8_lossy(&sampled.out);
    assert!(!table.contains("  all, ") && !other.err.contains("missing"), "{table} {}", other.err);
}

/// Compressed data that is truncated: all complete lines before the cut count, an incomplete one does not.
#[test]
fn of_a_log_that_is_cut_the_whole_lines_count() {
    let head = "at_ns,kind,id\n";
    let exchange = |n: u64| format!("{n}000,request,{n:04}\n{n}500,response,{n:04}\n");
    // In separate zstd frames, so that it is known which lines survive the cut.
    let frame = |text: &str| zstd::bulk::compress(text.as_bytes(), 3).unwrap();
    let whole: String = (0..5).map(exchange).collect();
    let before = [frame(head), frame(&whole), frame("9000,request,00"), frame("09\n")].concat();
    let folder = log(&(head.to_owned() + &whole));
    fs::write(folder.path().join("cut.csv.zst"), &before[..before.len() - 1]).unwrap();
    let run = dwell_in(folder.path(), &["rtt", "--events", "cut.csv.zst", "--format", "json"]);
    let cut = run.json();
    let warning = "cut.csv.zst: the zstd data is truncated after line 11: the rest is not used";
    assert_eq!(cut["warnings"], serde_json::json!([warning]));
    assert_eq!((run.code, run.err.as_str()), (0, format!("dwell: warning: {warning}\n").as_str()));
    assert_eq!(lines(&cut), lines(&rtt(&folder, &["--format", "json"]).ok().json()));

    // The same holds for the logs of other subcommands.
    let crossings: String = (0..5).map(|n| format!("{n}000,{n}\n")).collect();
    let sojourns: String = (0..5).map(|n| format!("{n}000,{n}900,flow,100\n")).collect();
    for (arguments, text) in [
        (&["owd", "--crossings", "whole.csv", "cut.csv.zst"][..], "at_ns,packet\n".to_owned() + &crossings),
        (
            &["queue", "--sojourns", "cut.csv.zst", "--threshold", "1us"],
            "arrived_ns,departed_ns,flow,bytes\n".to_owned() + &sojourns,
        ),
    ] {
        fs::write(folder.path().join("whole.csv"), &text).unwrap();
        let data = [frame(&text), frame("9000,more")].concat();
        fs::write(folder.path().join("cut.csv.zst"), &data[..data.len() - 1]).unwrap();
        let run = dwell_in(folder.path(), &[arguments, &["--format", "json"]].concat());
        let warnings = run.json()["warnings"].to_string();
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(warnings.contains("cut.csv.zst: the zstd data is truncated after line 6"), "{warnings}");
    }
}

#[test]
fn groups_of_a_log_have_lines_of_their_own() {
    let folder = log("group,id,kind,at_ns\n\
        red,1,request,0\nblue,2,request,10\nred,1,response,1000\nblue,2,response,3010\n\
        blue,3,request,4000\nblue,3,response,5000\ngreen,4,request,6000\ngreen,4,response,6007\n");
    let p50 = |more: &[&str]| -> Vec<(String, i64)> {
        let report = rtt(&folder, &[&["--format", "json"], more].concat()).ok().json();
        let mut lines: Vec<_> = lines(&report)
            .iter()
            .map(|l| (l["group"].as_str().unwrap().to_owned(), l["delay_ns"]["p50"]["value"].as_i64().unwrap()))
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(p50(&[]), [("blue".into(), 1_000), ("green".into(), 7), ("red".into(), 1_000)]);
    assert_eq!(p50(&["--max-groups", "2"]), [("blue".into(), 1_000), ("other".into(), 7), ("red".into(), 1_000)]);
}

/// Responses without a request do not open a group, and take no group's place.
#[test]
fn only_requests_open_groups() {
    let unasked: String = (0..70).map(|i| format!("{i},response,{i},group {i}\n")).collect();
    let folder = log(&format!("at_ns,kind,id,group\n{unasked}100,request,x,eu\n107,response,x,eu\n"));
    let report = rtt(&folder, &["--format", "json"]).ok().json();
    let counts = |line: &serde_json::Value| (line["group"].clone(), line["responses"]["seen"].clone());
    let found: Vec<_> = lines(&report).iter().map(counts).collect();
    assert_eq!(found, [("eu".into(), 1.into()), ("other".into(), 70.into())]);
}

/// A group named `other` in the log is not merged with the rest, and no two groups have the same name.
#[test]
fn a_group_that_is_called_other_is_not_the_rest() {
    let folder = log("at_ns,kind,id,group\n\
        0,request,1,other\n1,response,1,other\n2,request,2,other'\n4,response,2,other'\n\
        5,request,3,blue\n8,response,3,blue\n");
    let report = rtt(&folder, &["--format", "json", "--max-groups", "2"]).ok().json();
    let p50 = |line: &serde_json::Value| (line["group"].clone(), line["delay_ns"]["p50"]["value"].clone());
    let found: Vec<_> = lines(&report).iter().map(p50).collect();
    assert_eq!(found, [("other'", 1), ("other''", 2), ("other", 3)].map(|(group, p50)| (group.into(), p50.into())));
}

/// Group names count towards `--memory`; groups whose names do not fit are merged into the rest.
#[test]
fn names_of_groups_are_in_the_memory() {
    let mut text = String::from("at_ns,kind,id,group\n0,request,a,short\n5,response,a,short\n");
    for n in 1..=100_000 {
        let name = format!("{n:a>300}");
        text += &format!("{},request,{n},{name}\n{},response,{n},{name}\n", 10 * n, 10 * n + 7);
    }
    let folder = log(&text);
    let refused = rtt(&folder, &["--memory", "1"]).err;
    let least = refused.split(' ').find(|word| word.ends_with("KiB")).unwrap();
    for (more, memory) in [(&[][..], "256KiB"), (&[], least), (&["--max-groups", "8191"], "64MiB")] {
        let run = rtt(&folder, &[&["--format", "json", "--memory", memory], more].concat());
        let report = run.json();
        assert_eq!((run.code, run.err.is_empty()), (0, !more.is_empty()), "{}", run.err);
        assert_conserved(&report);
        let bytes = |key| report["memory"][key].as_u64().unwrap();
        assert!(bytes("state_bytes") <= bytes("budget_bytes"), "{}", report["memory"]);
        let groups: Vec<_> = lines(&report).iter().map(|line| line["group"].as_str().unwrap()).collect();
        assert!(groups.len() > 2 && groups.contains(&"other") && groups.contains(&"short"), "{groups:?}");
    }
    let run = rtt(&folder, &["--format", "json", "--method", "exact"]);
    let words = "dwell: warning: 99937 of 100001 delays are in other, of groups that came after the first 64 (--max-groups): a group \
         begins with a request, answered or not\n";
    assert_eq!((lines(&run.json()).len(), run.err.as_str()), (65, words));
}

#[test]
fn a_repeated_request_is_answered_within_bounds() {
    let folder = log("at_ns,kind,id\n0,request,a\n1000,request,a\n1500,response,a\n");
    let p50 = |ambiguous: &str| {
        let run = rtt(&folder, &["--format", "json", "--ambiguous", ambiguous]).ok();
        let report = run.json();
        assert_conserved(&report);
        let line = lines(&report)[0].clone();
        assert_eq!((&line["requests"]["ambiguous"], &line["requests"]["matched"]), (&1.into(), &1.into()));
        line["delay_ns"]["p50"].clone()
    };
    assert_eq!(ends(&p50("first")), (1_500.0, 1_500.0, 1_500.0));
    assert_eq!(ends(&p50("last")), (500.0, 500.0, 500.0));
    let (low, value, high) = ends(&p50("bounds"));
    assert_eq!((low, high), (500.0, 1_500.0));
    assert!(low <= value && value <= high);
    assert!(p50("drop").is_null(), "an estimate without samples is absent");
}

/// One exchange in ten is requested again after 300 ms, when fridges and tables with a lifetime have forgotten most
/// first requests: then those exchanges are not left out, and a warning says so. The default allows for them, and its
/// intervals contain the true p99; those of a fridge, the control that must fail, do not.
#[test]
fn repeats_that_are_not_recognised_are_told() {
    let mut events = Vec::new();
    for n in 0..40_000u64 {
        let at = 50_000 * n as i64;
        // Within a millisecond, evenly.
        let delay = (n * 7_919 % 1_000 + 1) as i64 * 1_000;
        events.push((at, "request", n));
        match n % 10 {
            0 => events.extend([(at + 300_000_000, "request", n), (at + 350_000_000 + delay, "response", n)]),
            1..8 => events.push((at + delay, "response", n)),
            _ => (),
        }
    }
    events.sort_unstable();
    let lines: String = events.iter().map(|(at, kind, id)| format!("{at},{kind},{id}\n")).collect();
    let folder = log(&format!("at_ns,kind,id\n{lines}"));
    let run = |method: &str, ambiguous: &str| {
        let how = ["--memory", "16KiB", "--method", method, "--ambiguous", ambiguous, "--format", "json"];
        let run = rtt(&folder, &how);
        let (low, _, high) = ends(&crate::events::lines(&run.json())[0]["delay_ns"]["p99"]);
        let words = format!("--ambiguous {ambiguous}: {method} does not recognise every request that was sent again");
        (low <= 990_000.0 && 990_000.0 <= high, run.err.contains(&words))
    };
    assert_eq!(run("auto", "drop"), (true, false));
    assert_eq!(run("exact", "drop"), (true, false));
    assert!(!run("auto", "first").1);
    for method in ["fridge", "km", "mis", "hash-sample"] {
        assert_eq!((run(method, "drop"), run(method, "bounds").1), ((false, true), false), "{method}");
        assert!(run(method, "first").1 && !run(method, "last").1, "{method}");
    }
}

/// Where how repeated requests count can double a quantile, the table says by which flags.
#[test]
fn quantiles_that_depend_on_repeated_requests_are_named() {
    // Delays of 1 ms; three requests were sent once before, some time earlier.
    let hint = |exchanges: i64, earlier: i64, how: &[&str]| {
        let mut text = String::from("at_ns,kind,id\n");
        for n in 1..=exchanges {
            let at = n * 1_000_000_000;
            if n <= 3 {
                text += &format!("{},request,{n}\n", at - earlier);
            }
            text += &format!("{at},request,{n}\n{},response,{n}\n", at + 1_000_000);
        }
        let table = String::from_utf8(rtt(&log(&text), how).ok().out).unwrap();
        table.split_once("\nrepeated  ").map(|(_, hint)| hint.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let words = "p99 of events is 1.00 ms with --ambiguous last, which counts the repeated requests (3) from their last copies, \
                 501 ms with first; bounds, as above, counts half of each; drop leaves them out, often the slowest";
    assert_eq!(hint(100, 500_000_000, &[]).as_deref(), Some(words));
    // Chosen, or too few to matter, or not much earlier.
    assert_eq!(hint(100, 500_000_000, &["--ambiguous", "last"]), None);
    assert_eq!(hint(1_000, 500_000_000, &[]), None);
    assert_eq!(hint(100, 500_000, &[]), None);
}

#[test]
fn samples_are_written_as_they_are_found() {
    let folder =
        log("at_ns,kind,id,group\n5,request,a,\"x, y\"\n7,request,b,z\n17,response,b,z\n25,response,a,\"x, y\"\n");
    rtt(&folder, &["--samples", "samples.csv"]).ok();
    let written = fs::read_to_string(folder.path().join("samples.csv")).unwrap();
    let expected = "at_ns,delay_ns,weight,inserted_since,match,group,leg\n\
        17,10,1.0,0,events,z,both\n25,20,1.0,0,events,\"x, y\",both\n";
    assert_eq!(written, expected);
    let ppviz = String::from_utf8(rtt(&folder, &["--format", "ppviz"]).ok().out).unwrap();
    assert_eq!(
        ppviz,
        "0.000000017 0.000000010 0.000000010 events:both+z\n0.000000025 0.000000020 0.000000020 events:both+x,_y\n"
    );
}

/// With sampling, all exchanges of a reused id are sampled or none, which makes intervals wider: this is reported. A
/// response that comes twice is no second exchange.
#[test]
fn ids_that_are_used_again_are_told() {
    let lines = |ids: u64, responses: usize| -> String {
        let exchange = |i: u64| {
            let (at, id) = (i * 1_000_000, i % ids);
            format!("{at},request,{id}\n") + &format!("{},response,{id}\n", at + 400_000).repeat(responses)
        };
        // The other requests get no response, so memory fills.
        let others = (0..4_000).map(|i| format!("0,request,never-{i}\n"));
        others.chain((0..6_000).map(exchange)).collect()
    };
    for (ids, responses, memory, is_told) in [
        (60, 1, "16KiB", true),
        (60, 2, "16KiB", true),
        (6_000, 1, "16KiB", false),
        (6_000, 2, "16KiB", false),
        (60, 1, "64MiB", false),
    ] {
        let folder = log(&format!("at_ns,kind,id\n{}", lines(ids, responses)));
        let run = rtt(&folder, &["--memory", memory]);
        assert_eq!(run.err.contains("ids are reused"), is_told, "{ids} {responses} {memory}: {}", run.err);
    }
}

#[test]
fn lines_out_of_order_are_told() {
    let folder = log("at_ns,kind,id\n100,request,a\n300,response,a\n200,request,b\n250,request,c\n400,response,b\n");
    let run = rtt(&folder, &["--format", "json"]);
    assert_eq!((run.code, run.err.lines().count()), (0, 1), "{}", run.err);
    let report = run.json();
    let warning = report["warnings"][0].as_str().unwrap();
    assert!(warning.contains("2 lines are out of time order"), "{warning}");
    assert_eq!(run.err, format!("dwell: warning: {warning}\n"));
    assert_eq!((&report["results"][0]["samples"], &report["span_ns"]["start"]), (&2.into(), &100.into()));
}

/// Six seconds with a hundred exchanges each, and one request with a time in another year among them, or a clock that
/// is set back by an hour: later events must be in the intervals of their own times.
#[test]
fn intervals_go_on_behind_a_time_that_cannot_be() {
    let lines_at = |offset: i64, n: i64| {
        let at = offset + n * 10_000_000;
        format!("{at},request,{n}\n{},response,{n}\n", at + 1_000_000)
    };
    let hour = 3_600_000_000_000;
    for (wild, after) in [("100000000000000000,request,wild\n", 5 * hour), ("", 4 * hour)] {
        let before: String = (0..350).map(|n| lines_at(5 * hour, n)).collect();
        let behind: String = (350..600).map(|n| lines_at(after, n)).collect();
        let folder = log(&format!("at_ns,kind,id\n{before}{wild}{behind}"));
        let reports = rtt(&folder, &["--interval", "1s", "--format", "json"]).json();
        let reports = reports.as_array().unwrap();
        let samples =
            |report: &serde_json::Value| lines(report).first().map_or(0, |line| line["samples"].as_u64().unwrap());
        assert_eq!(reports.iter().map(samples).sum::<u64>(), 600);
        let last: Vec<u64> = reports[reports.len() - 2..].iter().map(samples).collect();
        assert_eq!(last, [100, 100], "of {} intervals", reports.len());
    }
}

/// A time years ahead stretches the time range of a report, also where it is the last one and nothing is out of order.
#[test]
fn a_time_range_with_a_leap_is_doubted() {
    let year = 365 * 86_400_000_000_000_i64;
    for (pause, is_told) in [(2 * year, true), (year, false)] {
        let folder = log(&format!("at_ns,kind,id\n0,request,a\n1000,response,a\n{},request,b\n", 1_000 + pause));
        let run = rtt(&folder, &["--format", "json"]);
        let told = "dwell: warning: 1 line is timestamped more than a year after all before, the first 1972-01-01 \
                    00:00:00.000001 UTC after 1970-01-01 00:00:00.000001 UTC: if one of these is wrong, so is the time range\n";
        assert_eq!(run.err, if is_told { told } else { "" });
    }
}

/// Prometheus adds histograms edge by edge: those of two logs with quite different delays give that of both together.
#[test]
fn histograms_of_two_reports_add_up() {
    // A request each millisecond: the n-th is answered after n³ ns.
    let exchanges = |numbers: std::ops::RangeInclusive<i64>| -> Vec<(i64, String)> {
        let request = |n: i64| (n * 1_000_000, format!("request,{n}"));
        let response = |n: i64| (n * 1_000_000 + n.pow(3), format!("response,{n}"));
        numbers.flat_map(|n| [request(n), response(n)]).collect()
    };
    let buckets = |events: &[(i64, String)]| -> Vec<(String, u64)> {
        let mut events = events.to_vec();
        events.sort();
        let lines: String = events.iter().map(|(at, event)| format!("{at},{event}\n")).collect();
        let run = rtt(&log(&format!("at_ns,kind,id\n{lines}")), &["--format", "openmetrics"]).ok();
        let text = String::from_utf8(run.out).unwrap();
        let buckets = text.lines().filter_map(|line| line.strip_prefix("dwell_rtt_delay_seconds_bucket"));
        buckets.map(|line| line.rsplit_once(' ').unwrap()).map(|(le, n)| (le.to_owned(), n.parse().unwrap())).collect()
    };
    let (near, far) = (exchanges(5..=40), exchanges(800..=900));
    let both = buckets(&[near.clone(), far.clone()].concat());
    let (near, far) = (buckets(&near), buckets(&far));
    let sums: Vec<(String, u64)> = near.iter().zip(&far).map(|(a, b)| (a.0.clone(), a.1 + b.1)).collect();
    assert_eq!(sums, both);
    assert!(near.iter().map(|bucket| &bucket.0).eq(far.iter().map(|bucket| &bucket.0)));
    let ends = |at: usize, le: &str| both[at].0.contains(le).then_some(both[at].1);
    assert_eq!((ends(0, "le=\"1e-06\""), ends(both.len() - 1, "le=\"+Inf\"")), (Some(6), Some(137)));
}
