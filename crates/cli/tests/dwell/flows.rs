//! The largest flows, compared with the known truth of each.

use crate::run::{assert_conserved, dwell, ends, lines, quantile, testdata};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const CAPTURES: [&str; 3] = ["mixed/mixed.pcap.zst", "tcp/tcp.pcap.gz", "dns/dns.pcap.xz"];
const MATCHES: &str = "tcp-handshake,tcp-ack,tcp-ts,tcp-response,tcp-flow,dns,ntp,icmp-echo";

/// Both ends of a flow, in the order of their names.
fn ends_of(flow: &str) -> Vec<String> {
    let (there, protocol) = flow.rsplit_once(' ').unwrap();
    assert!(["tcp", "udp", "icmp", "icmpv6"].contains(&protocol), "{flow}");
    let mut ends: Vec<String> = there.split(" → ").map(str::to_owned).collect();
    ends.sort();
    ends
}

fn end(address: &str, port: &str) -> String {
    match port {
        "" | "0" => address.to_owned(),
        _ if address.contains(':') => format!("[{address}]:{port}"),
        _ => format!("{address}:{port}"),
    }
}

/// The true delays of a flow, by match and leg.
#[derive(Default)]
struct Known {
    delays: Vec<i64>,
    /// The largest possible error of each.
    error: i64,
    /// Whether any request was repeated, so that more than one delay is possible.
    is_repeated: bool,
}

type Truth = BTreeMap<(Vec<String>, String, String), Known>;

fn truth(capture: &str) -> Truth {
    let path = Path::new(&testdata(capture)).with_file_name("truth.csv.zst");
    let mut reader = csv::Reader::from_reader(zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap());
    let head = reader.headers().unwrap().clone();
    let mut truth = Truth::new();
    for row in reader.records() {
        let row = row.unwrap();
        let field = |name: &str| &row[head.iter().position(|column| column == name).unwrap()];
        let mut ends =
            [("source", "source_port"), ("destination", "destination_port")].map(|(a, p)| end(field(a), field(p)));
        ends.sort();
        let known = truth.entry((ends.to_vec(), field("match").to_owned(), field("leg").to_owned())).or_default();
        known.delays.push(field("since_first_ns").parse().unwrap());
        known.error = known.error.max(field("error_ns").parse().unwrap_or(0));
        known.is_repeated |= field("since_first_ns") != field("since_last_ns");
    }
    truth
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

fn flows(report: &Value) -> &[Value] {
    report["flows"].as_array().unwrap()
}

/// The flows together account for all packets and all samples.
#[track_caller]
fn assert_complete(report: &Value) {
    assert_conserved(report);
    let packets: u64 = flows(report).iter().map(|flow| count(&flow["packets"])).sum();
    assert_eq!(packets, count(&report["frames"]["decoded"]));
    for line in lines(report) {
        let is_of = |result: &&Value| (&result["match"], &result["leg"]) == (&line["match"], &line["leg"]);
        let results = flows(report).iter().flat_map(|flow| flow["results"].as_array().unwrap());
        assert_eq!(results.filter(is_of).map(|r| count(&r["samples"])).sum::<u64>(), count(&line["samples"]), "{line}");
    }
}

/// Every flow has exactly the exchanges that the truth lists for it.
#[test]
fn every_flow_has_its_own_delays() {
    /// How far the kernel's timestamp and the recorder's clock readings can be apart, beyond the error of the latter.
    const CLOCKS_NS: i64 = 50_000;
    for capture in CAPTURES {
        let file = testdata(capture);
        let how = ["--flows", "--top", "100000", "--method", "exact", "--ambiguous", "first", "--format", "json"];
        let report = dwell(&[&["rtt", &file, "--match", MATCHES], &how[..]].concat()).ok().json();
        assert_complete(&report);
        let (mut truth, mut compared) = (truth(capture), 0);
        for flow in flows(&report) {
            assert_eq!(flow["uncounted_bytes"], 0);
            for result in flow["results"].as_array().unwrap() {
                let name = |key: &str| result[key].as_str().unwrap().to_owned();
                let key = (ends_of(flow["flow"].as_str().unwrap()), name("match"), name("leg"));
                let known = truth.remove(&key).unwrap_or_else(|| panic!("{capture}: no {key:?}"));
                assert_eq!(count(&result["samples"]), known.delays.len() as u64, "{capture} {key:?}");
                if known.is_repeated {
                    continue;
                }
                let at = |share| quantile(&known.delays, share) as f64;
                let mean = known.delays.iter().sum::<i64>() as f64 / known.delays.len() as f64;
                for (name, delay) in
                    [("mean", mean), ("p50", at(0.5)), ("p95", at(0.95)), ("min", at(0.0)), ("max", at(1.0))]
                {
                    let (_, found, _) = ends(&result["delay_ns"][name]);
                    let error = (known.error + CLOCKS_NS) as f64;
                    assert!((found - delay).abs() <= error, "{capture} {key:?} {name}: {found}, not {delay}");
                    compared += 1;
                }
            }
        }
        assert!(truth.is_empty(), "{capture}: {:?}", truth.keys().collect::<Vec<_>>());
        assert!(compared > 500, "{capture}: {compared}");
    }
}

/// However little memory there is, the sums are complete, and the memory limit is kept.
#[test]
fn what_has_no_place_is_among_the_others() {
    let file = testdata("mixed/mixed.pcap.zst");
    for (memory, top) in [("64KiB", "3"), ("256KiB", "5"), ("64MiB", "10")] {
        for method in ["auto", "fridge"] {
            let how = ["--memory", memory, "--top", top, "--method", method, "--per-flow", "--format", "json"];
            let report = dwell(&[&["rtt", &file], &how[..]].concat()).ok().json();
            assert_complete(&report);
            let budget = &report["memory"];
            assert!(count(&budget["state_bytes"]) <= count(&budget["budget_bytes"]), "{budget}");
            let named: Vec<u64> = flows(&report)
                .iter()
                .filter(|flow| flow["flow"] != "other")
                .map(|flow| count(&flow["bytes"]))
                .collect();
            assert!(named.len() <= top.parse().unwrap() && named.is_sorted_by(|a, b| a >= b), "{named:?}");
            assert_eq!(flows(&report).len(), named.len() + 1);
        }
    }
}

/// Each interval has its own flows, and a flow has the same name in all, whichever end sends first in one.
#[test]
fn intervals_have_flows_of_their_own() {
    let file = testdata("tcp/tcp.pcap.gz");
    let run = dwell(&["rtt", &file, "--flows", "--interval", "200ms", "--format", "json"]).ok().json();
    let reports = run.as_array().unwrap();
    assert!(reports.len() > 20);
    let mut names = BTreeMap::new();
    for report in reports {
        assert_complete(report);
        for name in flows(report).iter().map(|flow| flow["flow"].as_str().unwrap()).filter(|&name| name != "other") {
            assert_eq!(*names.entry(ends_of(name)).or_insert(name), name);
        }
    }
    assert!(names.len() < reports.len(), "{names:?}");
}

/// All formats include the flows, and only with the flag.
#[test]
fn every_form_has_flows() {
    let file = testdata("mixed/mixed.pcap.zst");
    let rtt = |format: &str, more: &[&str]| {
        let how = ["rtt", &file, "--match", "tcp-ack", "--format", format];
        String::from_utf8(dwell(&[&how[..], more].concat()).ok().out).unwrap()
    };
    for (format, sign) in [
        ("table", " packets, "),
        ("json", "\"uncounted_bytes\""),
        ("jsonl", "\"uncounted_bytes\""),
        ("csv", " tcp,"),
        ("openmetrics", "dwell_rtt_flow_bytes_total"),
    ] {
        assert!(rtt(format, &["--flows", "--top", "2"]).matches(sign).count() >= 2, "{format}");
        assert!(!rtt(format, &[]).contains(sign), "{format}");
    }
    let csv = rtt("csv", &["--flows", "--top", "2"]);
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(|r| r.unwrap()).collect();
    assert_eq!(rows.iter().map(|row| row[39].to_owned()).filter(|flow| flow == "other").count(), 1);
    for (arguments, word) in [
        (&["--flows", "--top", "0"][..], "--top"),
        (&["--top", "3"], "--flows"),
        (&["--max-groups", "3"], "--group"),
        (&["--interval", "1s", "--format", "ppviz"], "ppviz"),
        (&["--flows", "--format", "ppviz"], "ppviz"),
        (&["--flows", "--interval", "1s"], "--format table"),
    ] {
        let run = dwell(&[&["rtt", &file], arguments].concat());
        assert!(run.code == 2 && run.err.contains(word), "{}", run.err);
    }
}
