//! Compares every text format with the files in `snapshots/`. After an intended change, run
//! `DWELL_UPDATE_SNAPSHOTS=1 cargo test` and review the diff.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use dwell_report::facts::Parameter;
use dwell_report::json;
use dwell_report::openmetrics::Label;
use dwell_report::quantiles::QUANTILES;
use dwell_report::rtt::{ResultLine, RttReport, csv, table};
use std::path::PathBuf;
use std::time::Instant;
use std::{fs, io};

fn check(name: &str, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("DWELL_UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    for (i, (got, want)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, want, "{name}, line {}", i + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "lines of {name}");
    text
}

fn check_table(name: &str, reports: &[RttReport]) {
    let text = check(name, |to| match reports {
        [one] => table::write(one, to),
        several => table::write_series(several, to),
    });
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{name}: more than 100 columns: {line}");
        assert_eq!(line.trim_end(), line, "{name}: blanks at the end");
    }
}

#[test]
fn tables() {
    check_table("exact.txt", &[common::exact()]);
    check_table("flows.txt", &[common::with_flows()]);
    check_table("bounded.txt", &[common::bounded()]);
    check_table("sampled.txt", &[common::sampled()]);
    check_table("series-exact.txt", &common::series(1.0));
    check_table("series-sampled.txt", &common::series(0.05));
    let mut nothing = common::exact();
    nothing.results.clear();
    nothing.span_ns = None;
    check_table("nothing.txt", &[nothing]);
}

/// A name is one line, whatever is in it.
#[test]
fn names_do_not_break_lines() {
    let mut report = common::exact();
    report.sources = ["a\nb.pcap".into()].into();
    report.warnings = vec!["c\nd.pcap is cut".into()];
    let mut text = Vec::new();
    table::write(&report, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("a?b.pcap\n") && text.contains("warning   c?d.pcap is cut\n"), "{text}");
}

/// Bounds that are written like their value have no line, nor a head.
#[test]
fn bounds_that_nobody_sees_are_not_announced() {
    let mut report = common::exact();
    report.results.iter_mut().flat_map(|line| line.delay_ns.quantiles.iter_mut().flatten()).for_each(|q| q.high += 1);
    let text = |report: &RttReport| {
        let mut text = Vec::new();
        table::write(report, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(text(&report), text(&common::exact()));
}

/// The footing of a series states the parameters of its least accurate interval.
#[test]
fn a_series_is_as_accurate_as_its_worst_interval() {
    let (worst, mut last) = (common::sampled(), common::sampled());
    last.method.parameters.insert("relative_resolution", Parameter::Real(2.91e-11));
    last.method.parameters.remove("rules");
    let (mut alone, mut text) = (Vec::new(), Vec::new());
    table::write(&worst, &mut alone).unwrap();
    table::write_series(&[worst.clone(), last.clone()], &mut text).unwrap();
    let footing = |text: Vec<u8>| {
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().filter(|line| line.contains("resolution") || line.contains("entry probability"));
        lines.map(ToString::to_string).collect::<Vec<_>>()
    };
    let (alone, text) = (footing(alone), footing(text));
    assert!(alone.len() == 3 && alone == text, "{alone:?}, {text:?}");
}

/// As many lines take about as long in few intervals of many groups as in many intervals of few groups.
#[test]
fn a_series_of_many_groups_is_written_in_linear_time() {
    let took = |groups: u32, intervals: usize| {
        let mut report = common::exact();
        let line = report.results[0].clone();
        let named = |group: u32| ResultLine { group: format!("10.20.{}.{}", group >> 8, group & 255), ..line.clone() };
        report.results = (0..groups).map(named).collect();
        let reports = vec![report; intervals];
        let begin = Instant::now();
        table::write_series(&reports, &mut io::sink()).unwrap();
        begin.elapsed()
    };
    // The least of three, since other programs may run.
    let [few, many] =
        [(80, 400), (8_000, 4)].map(|(groups, intervals)| (0..3).map(|_| took(groups, intervals)).min().unwrap());
    assert!(many < 8 * few, "{few:?} for 80 groups, {many:?} for 8,000");
}

#[test]
fn json_has_the_documented_keys() {
    let report = common::short();
    let text = check("short.json", |to| json::write(&report, to));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "dwell.rtt/1");
    let frames = &value["frames"];
    let rejected: u64 = frames["rejected"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(frames["total"].as_u64().unwrap(), frames["decoded"].as_u64().unwrap() + rejected);
    assert_eq!(value["memory"]["budget_bytes"], 65_536);
    assert_eq!(value["method"]["rules"]["tcp-ack"]["slots"], 3_072);
    for line in value["results"].as_array().unwrap() {
        let requests = &line["requests"];
        let fate = |name: &str| requests[name].as_u64().unwrap();
        let fates = ["not_admitted", "matched", "evicted", "expired", "ambiguous", "pending"];
        assert_eq!(fate("carried_over") + fate("seen"), fates.map(fate).iter().sum::<u64>());
        for key in ["mean", "min", "max"].into_iter().chain(QUANTILES.map(|(name, _)| name)) {
            let delay = &line["delay_ns"][key];
            assert_eq!(delay.is_null(), line["samples"] == 0, "{key}");
            if !delay.is_null() {
                let [low, value, high] = ["low", "value", "high"].map(|end| delay[end].as_i64().unwrap());
                assert!(low <= value && value <= high, "{key}");
            }
        }
        assert_eq!(line["exchanges"].is_null(), line["samples"] == 0);
        assert!(line.get("cdf").is_none());
    }
    let mut lines = Vec::new();
    json::write_line(&report, &mut lines).unwrap();
    json::write_line(&report, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert_eq!(lines.lines().count(), 2);
    assert!(lines.lines().all(|l| serde_json::from_str::<serde_json::Value>(l).unwrap() == value));
    let mut series = Vec::new();
    json::write(&[report.clone(), report], &mut series).unwrap();
    let series: serde_json::Value = serde_json::from_slice(&series).unwrap();
    assert_eq!(series, serde_json::Value::Array(vec![value.clone(), value]));
}

#[test]
fn csv_is_flat() {
    let mut reports = vec![common::sampled()];
    reports.extend(common::series(1.0).into_iter().take(2));
    let text = check("reports.csv", |to| {
        csv::write_head(to)?;
        reports.iter().try_for_each(|report| csv::write_rows(report, to))
    });
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let columns = csv::columns();
    assert_eq!(reader.headers().unwrap(), &columns);
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 6 + 2 + 2);
    let column = |name: &str| columns.iter().position(|c| c == name).unwrap();
    assert_eq!(&rows[4][column("group")], "say \"hi\", \\ all");
    assert_eq!((&rows[0][column("exact")], &rows[4][column("exact")]), ("false", "true"));
    assert_eq!((&rows[5][column("p50_ns")], &rows[5][column("requests_seen")]), ("", "5"));
    assert_eq!(&rows[8][column("interval_start_ns")], "1700000010000000000");
    let mut flows = Vec::new();
    csv::write_head(&mut flows).and_then(|()| csv::write_rows(&common::with_flows(), &mut flows)).unwrap();
    assert!(::csv::Reader::from_reader(&flows[..]).records().all(|row| row.is_ok()), "a row has not a cell per column");
}

#[test]
fn openmetrics_text() {
    let text = check("short.openmetrics", |to| common::openmetrics(&common::short(), to));
    assert!(text.ends_with("# EOF\n"));
    let buckets: Vec<(&str, f64)> = text
        .lines()
        .filter(|l| l.starts_with("dwell_rtt_delay_seconds_bucket{match=\"dns\""))
        .map(|l| {
            let (labels, count) = l.rsplit_once(' ').unwrap();
            (labels, count.parse().unwrap())
        })
        .collect();
    assert!(buckets.len() > 8 && buckets.windows(2).all(|b| b[0].1 <= b[1].1));
    let (labels, total) = buckets.last().unwrap();
    assert!(labels.contains("le=\"+Inf\"") && (total - 4_120.0).abs() < 20.0, "{labels} {total}");
    assert!(!text.contains("dwell_rtt_exchanges{match=\"dns\",leg=\"both\",group=\"10.20.9.0/24\""));
    assert!(text.contains("group=\"say \\\"hi\\\", \\\\ all\""));
}

/// What users add to lines cannot be confused with what these have.
#[test]
fn openmetrics_labels_are_all_reserved() {
    let mut text = Vec::new();
    for report in [common::with_flows(), common::sampled()] {
        common::openmetrics(&report, &mut text).unwrap();
    }
    let text = String::from_utf8(text).unwrap();
    let labels = text.lines().filter_map(|line| line.split_once('{')?.1.split_once('}'));
    let names = labels.flat_map(|(labels, _)| labels.split("\",")).filter_map(|label| label.split_once("=\""));
    let mut found = 0;
    for (name, _) in names.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase())) {
        assert!(format!("{name}=a").parse::<Label>().is_err(), "{name}");
        found += 1;
    }
    assert!(found > 1_000);
}
