//! `dwell owd --sort`: flows in the order of a value, in every format.

use crate::run::{dwell_in, testdata};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const ORDERS: [&str; 7] = ["bytes", "loss", "mean", "p50", "p90", "p95", "p99"];
/// The sender's side of the captures.
const FROM: &str = "10.10.0.0/16,fd00:10::/32";

/// The arguments that compare the captures, and these.
fn of_captures<'a>(captures: &'a [String; 2], more: &[&'a str]) -> Vec<&'a str> {
    [&["owd", &captures[0], &captures[1]], more].concat()
}

fn captures() -> [String; 2] {
    ["one-way/near.pcap.xz", "one-way/server.pcap.xz"].map(testdata)
}

fn flows(report: &Value) -> Vec<Value> {
    report["flows"].as_array().unwrap().clone()
}

fn names(flows: &[Value]) -> Vec<String> {
    flows.iter().map(|flow| flow["flow"].as_str().unwrap().to_owned()).collect()
}

/// The value of a flow by which it is ordered; `None` where it is not known, or rests on fewer than 20 packets.
fn value(flow: &Value, order: &str) -> (bool, Option<f64>) {
    let packets = |name: &str| flow[name].as_u64().unwrap();
    let (few, estimate) = match order {
        "loss" => (packets("received") + packets("lost") < 20, &flow["loss_rate"]),
        _ => (packets("effective_samples") < 20, &flow["delay_ns"][order]),
    };
    (few, estimate["value"].as_f64())
}

/// Whether flows are in this order: those of enough packets, fewer, without the value, and `other`; each from the largest
/// value on.
fn are_ordered(flows: &[Value], order: &str) -> bool {
    let place = |flow: &Value| match value(flow, order) {
        _ if flow["flow"] == "other" => (3, Reverse(0)),
        (_, None) => (2, Reverse(0)),
        // Means in whole nanoseconds, and shares in parts per billion.
        (few, Some(value)) => {
            (u8::from(few), Reverse((value * if order == "loss" { 1e9 } else { 1.0 }).round() as i64))
        }
    };
    flows.is_sorted_by_key(place)
}

/// The flows of the usual report are the same in any order: by values that differ between flows, the fifteen packets of
/// the slowest after others, and `other` last.
#[test]
fn flows_follow_their_values() {
    let (folder, captures) = (tempfile::tempdir().unwrap(), captures());
    let run = |more: &[&str]| {
        let how = [&["--format", "json"], more].concat();
        flows(&dwell_in(folder.path(), &of_captures(&captures, &how)).ok().json())
    };
    for (how, all) in [
        (&["--flows", "--top", "12"][..], &ORDERS[1..]),
        (&["--flows", "--group", "dst"], &ORDERS[1..]),
        (&["--flow", "10.20.1.1"], &ORDERS[1..]),
        (&["--flows", "--memory", "96KiB", "--longest", "500ms"], &ORDERS[1..]),
        (&["--flows", "--top", "12", "--method", "lda", "--from", FROM], &["loss", "mean"]),
    ] {
        let usual = run(how);
        let is_same = |flows: &[Value]| {
            BTreeSet::from_iter(flows.iter().map(Value::to_string))
                == BTreeSet::from_iter(usual.iter().map(Value::to_string))
        };
        assert_eq!(run(&[how, &["--sort", "bytes"]].concat()), usual);
        for order in all {
            let sorted = run(&[how, &["--sort", order]].concat());
            assert!(are_ordered(&sorted, order), "{how:?} {order}: {:?}", names(&sorted));
            assert!(is_same(&sorted) && !are_ordered(&usual, order), "{how:?} {order}");
        }
    }
    let [loss, mean] = ["loss", "mean"].map(|order| names(&run(&["--flows", "--top", "12", "--sort", order])));
    for sorted in [&loss, &mean] {
        assert_eq!(sorted[11..], ["10.10.1.1:43932 → 10.20.1.1:80 tcp", "other"]);
    }
    assert_eq!(loss[0], "10.10.0.1:43480 → 10.20.1.1:80 tcp");
    assert_eq!(mean[0], "10.10.1.1:43926 → 10.20.1.1:80 tcp");
}

/// The names of flows in the order of a report in this format.
fn written(text: &str, format: &str) -> Vec<String> {
    match format {
        "table" => {
            let is_name = |line: &&str| line.contains(" → ") && !line.contains("pcap") || *line == "other";
            text.lines().filter(is_name).map(str::to_owned).collect()
        }
        "json" => names(&flows(&serde_json::from_str(text).unwrap())),
        "jsonl" => names(&flows(&serde_json::from_str(text.lines().last().unwrap()).unwrap())),
        "csv" => {
            let mut rows = csv::Reader::from_reader(text.as_bytes());
            let rows = rows.records().map(Result::unwrap).filter(|row| &row[0] == "flow");
            rows.map(|row| row[3].to_owned()).collect()
        }
        _ => {
            let fates =
                text.lines().filter(|line| line.starts_with("dwell_owd_packets_total{") && line.contains("lost"));
            let names = fates.map(|line| line.split("flow=\"").nth(1).unwrap().split('"').next().unwrap().to_owned());
            names.filter(|name| !name.is_empty()).collect()
        }
    }
}

/// Every format has the flows in this order, and the plot of distributions draws the first of them.
#[test]
fn every_format_has_the_order() {
    let (folder, captures) = (tempfile::tempdir().unwrap(), captures());
    let run = |order: &str, format: &str| {
        let how = ["--flows", "--top", "12", "--sort", order, "--format", format, "--plot-cdf", "cdf.svg"];
        let run = dwell_in(folder.path(), &of_captures(&captures, &how)).ok();
        written(&String::from_utf8(run.out).unwrap(), format)
    };
    let mut seen = BTreeSet::new();
    for (order, words) in [
        ("bytes", "the 6 largest of 15"),
        ("loss", "the 4 lossiest flows of 12"),
        ("mean", "the 4 slowest (mean) flows of 12"),
        ("p99", "the 4 slowest (p99) flows of 12"),
    ] {
        let expected = run(order, "json");
        assert_eq!((expected.len(), expected[12].as_str()), (13, "other"));
        for format in ["table", "jsonl", "csv", "openmetrics"] {
            assert_eq!(run(order, format), expected, "{order} {format}");
        }
        let plot = fs::read_to_string(folder.path().join("cdf.svg")).unwrap();
        let drawn: Vec<&str> = plot.lines().filter(|line| expected.iter().any(|name| name == line)).collect();
        assert!(plot.contains(words) && drawn == expected[..4], "{order}: {drawn:?}");
        seen.insert(expected);
    }
    assert_eq!(seen.len(), 4, "orders differ");
}

/// Flows of joined sketches are ordered as those of `--method lda`.
#[test]
fn joined_flows_follow_their_values() {
    let (folder, captures) = (tempfile::tempdir().unwrap(), captures());
    let run = |arguments: &[&str]| dwell_in(folder.path(), arguments);
    for (capture, name) in captures.iter().zip(["a.dwell", "b.dwell"]) {
        run(&["owd", "sketch", capture, "--from", FROM, "--flows", "-o", name]).ok();
    }
    let join = |more: &[&str]| {
        let arguments = [&["owd", "join", "a.dwell", "b.dwell", "--top", "12", "--format", "json"], more].concat();
        flows(&run(&arguments).ok().json())
    };
    let usual = join(&[]);
    assert_eq!((join(&["--sort", "bytes"]), usual.len()), (usual.clone(), 12));
    for order in ["loss", "mean"] {
        let sorted = join(&["--sort", order]);
        assert!(are_ordered(&sorted, order) && !are_ordered(&usual, order), "{order}: {:?}", names(&sorted));
        assert!(sorted.iter().all(|flow| usual.contains(flow)));
    }
}

/// An order that there is not is refused in one line that names those that there are.
#[test]
fn an_unknown_order_is_refused() {
    let captures = captures();
    let run = dwell_in(Path::new("."), &of_captures(&captures, &["--flows", "--sort", "jitter"]));
    assert_eq!((run.code, run.out.len(), run.err.lines().count()), (2, 0, 1), "{}", run.err);
    assert!(run.err.contains("'jitter'") && run.err.contains(&ORDERS.join(", ")), "{}", run.err);
}
