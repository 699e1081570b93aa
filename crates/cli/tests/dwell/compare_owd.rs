//! `dwell compare owd`, on a recorded pair of captures.

use crate::run::{assert_refused, dwell, number, testdata};
use serde_json::Value;
use std::path::Path;

fn captures() -> [String; 2] {
    ["near", "server"].map(|name| testdata(&format!("one-way/{name}.pcap.xz")))
}

fn compare(more: &[&str]) -> Vec<u8> {
    let [near, server] = captures();
    dwell(&[&["compare", "owd", &near, &server], more].concat()).ok().out
}

fn json(more: &[&str]) -> Value {
    serde_json::from_slice(&compare(&[more, &["--format", "json"]].concat())).unwrap()
}

/// The only result of a method.
fn of<'a>(report: &'a Value, method: &str) -> &'a Value {
    let mut found = report["results"].as_array().unwrap().iter().filter(|line| line["method"] == method);
    let line = found.next().unwrap_or_else(|| panic!("no {method}"));
    assert!(found.next().is_none(), "{method}");
    line
}

/// The true values are those of `dwell owd`, and a sample of all packets has no error (without link-local packets,
/// which are repeated literally).
#[test]
fn the_truth_is_every_packet() {
    let [near, server] = captures();
    let from = ["--from", "10.10.0.0/16,fd00:10::/32"];
    let owd =
        dwell(&[&["owd", &near, &server, "--method", "exact", "--format", "json"], &from[..]].concat()).ok().json();
    let report = json(&[&["--memory", "64KiB", "--seeds", "3"], &from[..]].concat());
    let (packets, total) = (&report["packets"], &owd["total"]);
    for name in ["sent", "received", "lost"] {
        assert_eq!(
            number(&packets[name]),
            number(&total[name]["value"].as_f64().map_or(total[name].clone(), Value::from))
        );
    }
    assert_eq!(report["truth"]["mean_ns"], total["delay_ns"]["mean"]["value"]);
    let trajectory = &of(&report, "trajectory")["errors"];
    assert!(number(&trajectory["mean"]["rms_relative"]) < 1e-9 && number(&trajectory["std"]["rms_relative"]) < 1e-6);
    assert_eq!((&trajectory["mean"]["missing"], &trajectory["mean"]["covered_share"]), (&0.into(), &1.0.into()));
    let intervals = number(&packets["intervals"]);
    assert_eq!(number(&trajectory["mean"]["runs"]), 3.0 * intervals);
    // Both points count all packets, so there is no error of the loss; intervals without loss are left out.
    for method in ["lda", "lda-paper", "trajectory"] {
        let loss = &of(&report, method)["errors"]["loss"];
        assert_eq!((&loss["rms_relative"], &loss["missing"]), (&0.0.into(), &0.into()), "{method}");
        assert!(number(&loss["runs"]) < 3.0 * intervals);
    }
    // However good, it is not recommended: dwell owd does not have it.
    assert_eq!(report["recommended"]["method"], "lda");
    // Probes meet other losses than the real packets do, so their estimate is not exact.
    assert!(number(&of(&report, "probes")["errors"]["loss"]["rms_relative"]) > 0.0);
}

/// Every combination has exactly one line, in order, in all formats; and a second run gives the same bytes.
#[test]
fn every_combination_is_there_and_repeats() {
    let how = ["--memory", "4KiB,600,4KiB,100", "--methods", "probes,lda,probes", "--seeds", "2", "--interval", "10s"];
    let run = |format: &str| {
        let run = || compare(&[&how[..], &["--format", format]].concat());
        let out = run();
        assert_eq!(out, run());
        String::from_utf8(out).unwrap()
    };
    let report: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!((&report["schema"], &report["interval_ns"]), (&"dwell.compare-owd/1".into(), &10_000_000_000u64.into()));
    let lines = report["results"].as_array().unwrap();
    let combinations: Vec<_> =
        lines.iter().map(|line| (number(&line["memory_bytes"]), line["method"].as_str())).collect();
    let both = [Some("probes"), Some("lda")];
    let expected = [100.0, 600.0, 4096.0].into_iter().flat_map(|memory| both.map(|method| (memory, method)));
    assert_eq!(combinations, expected.collect::<Vec<_>>());
    // A memory that is too small is reported with the memory needed.
    let small = &lines[1];
    let needed = number(&small["needed_bytes"]);
    assert!(small["errors"].as_object().unwrap().is_empty() && needed > 100.0, "{small}");
    let csv = run("csv");
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(|r| r.unwrap()).collect();
    let fitting = lines.iter().filter(|line| line["needed_bytes"].is_null()).count();
    assert_eq!(rows.len(), 3 * fitting + lines.len() - fitting);
    let table = run("table");
    assert!(table.contains(" packets sent, ") && table.contains("  needs "), "{table}");
    let is_narrow = |line: &str| line.starts_with("as in dwell owd ") || line.chars().count() <= 120;
    assert!(table.lines().skip(1).all(is_narrow), "{table}");
}

/// What is recommended can be run as it is printed, and is the sketch that was compared: with the directions as they
/// were found or given, and with other flags.
#[test]
fn the_recommended_command_works() {
    let folder = tempfile::tempdir().unwrap();
    let [near, server] = captures();
    let spaced = folder.path().join("the sender's.pcap.xz").to_str().unwrap().to_owned();
    std::fs::copy(&near, &spaced).unwrap();
    let more =
        ["--interval", "10s", "--longest", "4s", "--clock-offset", "-1ms", "--payload-bytes", "32", "--seed", "7"];
    let one_way = ["--from", "10.10.0.0/16"];
    for (near, more) in [(&near, &[][..]), (&near, &one_way), (&spaced, &[&one_way[..], &more].concat())] {
        let how = [&["compare", "owd", near, &server, "--seeds", "2", "--memory", "4KiB,16KiB"], more].concat();
        let report = dwell(&[&how[..], &["--format", "json"]].concat()).ok().json();
        let command = report["recommended"]["command"].as_str().unwrap();
        assert!(String::from_utf8(dwell(&how).ok().out).unwrap().contains(command), "{command}");
        let run = std::process::Command::new("/bin/sh")
            .args(["-c", &format!("{command} --format json")])
            .env("PATH", Path::new(env!("CARGO_BIN_EXE_dwell")).parent().unwrap())
            .output()
            .unwrap();
        let measured: Value = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|_| panic!("{command}: {}", String::from_utf8_lossy(&run.stderr)));
        assert_eq!(measured["method"]["name"], report["recommended"]["method"], "{command}");
        let bytes = number(&measured["method"]["sketch_bytes"]);
        let recommended = number(&report["recommended"]["memory_bytes"]);
        assert!(bytes <= recommended && 1.1 * bytes > recommended, "{command}: {bytes}");
        let of = |report: &Value, path: &str| number(report.pointer(path).unwrap());
        let (means, truth) = (of(&measured, "/total/delay_ns/mean/value"), of(&report, "/truth/mean_ns"));
        assert!((means / truth - 1.0).abs() < 0.25, "{command}: {means}, not {truth}");
    }
}

/// Nothing is recommended where dwell owd has none of the methods.
#[test]
fn what_is_only_compared_is_not_recommended() {
    let how = ["--seeds", "1", "--memory", "4KiB", "--methods", "trajectory,probes"];
    let report = json(&how);
    assert!(report["recommended"].is_null());
    assert!(report["methods"].as_array().unwrap().iter().all(|method| method["is_offered"] == false));
    let table = String::from_utf8(compare(&how)).unwrap();
    assert!(table.contains("only compared, dwell owd does not have them: trajectory, probes"), "{table}");
}

/// What `dwell owd` doubts is doubted here, too.
#[test]
fn wrong_order_and_clocks_are_told() {
    let [near, server] = captures();
    let from = ["--from", "10.10.0.0/16", "--seeds", "1", "--memory", "1KiB"];
    let err = |captures: [&str; 2], more: &[&str]| {
        let run = dwell(&[&["compare", "owd"], &captures[..], &from, more].concat());
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    let doubt = "packets arrived before they were sent";
    let right = err([&near, &server], &[]);
    assert!(!right.contains(doubt), "{right}");
    for (captures, more) in [([&server, &near], &[][..]), ([&near, &server], &["--clock-offset", "3s"])] {
        let err = err(captures.map(String::as_str), more);
        assert!(err.contains(doubt) && err.contains("--clock-offset"), "{err}");
    }
    let err = err([&near, &server], &["--clock-offset", "-1h"]);
    assert!(err.contains("no packet was seen at both points"), "{err}");
}

#[test]
fn a_picture_has_every_quantity_and_method() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("p.svg").to_str().unwrap().to_owned();
    compare(&["--seeds", "1", "--plot", &to]);
    let svg = std::fs::read_to_string(&to).unwrap();
    for word in ["mean", "deviation", "loss", "lda-paper", "trajectory", "probes", "16 KiB"] {
        assert!(svg.contains(word), "{word}");
    }
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let [near, server] = captures();
    let cases: &[(&[&str], &[&str])] = &[
        (&[&near], &["RECEIVER"]),
        (&[&near, &near], &["twice"]),
        (&["-", "-"], &["standard input"]),
        (&[&near, &server, "--methods", "lda,best"], &["'best'", "trajectory"]),
        (&[&near, &server, "--memory", "1GiB"], &["--memory", "80 GiB"]),
        (&[&near, &server, "--seeds", "0"], &["--seeds", "from 1 to 1000"]),
        (&[&near, &server, "--weights", "w.csv"], &["--weights"]),
        (&[&near, &server, "-o", &near], &["changed"]),
        (&[&near, &server, "--memory", "1MiB", "--interval", "10us", "--seeds", "1"], &["probes in 1048576 bytes"]),
    ];
    for (arguments, words) in cases {
        assert_refused(&[&["compare", "owd"], *arguments].concat(), 2, words);
    }
}
