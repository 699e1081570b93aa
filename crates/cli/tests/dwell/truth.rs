//! Reports on captures, compared with the known truth.

use crate::run::{assert_conserved, dwell, dwell_in, ends, line, lines, quantile, testdata};
use dwell_report::quantiles::QUANTILES;
use dwell_types::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

const CAPTURES: [&str; 7] = [
    "mixed/mixed.pcap.zst",
    "tcp/tcp.pcap.gz",
    "handshake-slow/handshake-slow.pcap.gz",
    "dns/dns.pcap.xz",
    "ntp/ntp.pcap",
    "icmp/icmp.pcapng",
    "quic/quic.pcap.zst",
];
const MATCHES: &str = "tcp-handshake,tcp-ack,tcp-ts,tcp-response,tcp-flow,dns,ntp,icmp-echo,quic-handshake";
/// How far the kernel's timestamp and the recorder's clock readings can be apart, beyond the error of the latter.
const CLOCKS_NS: i64 = 50_000;

/// An answered exchange from the truth log; times in nanoseconds.
struct Exchange {
    /// Absent if none of its requests can have caused the response.
    delay: Option<i64>,
    error: i64,
    since_first: i64,
    since_last: i64,
    is_repeated: bool,
}

impl Exchange {
    fn is_near(&self, delay: i64, found: i64) -> bool {
        (delay - found).abs() <= self.error
    }
}

/// Exchanges or delays by match and leg, each in the order of the responses.
type Lines<T> = BTreeMap<(String, String), Vec<T>>;

fn exchanges(csv: impl Read) -> Lines<Exchange> {
    let mut reader = csv::Reader::from_reader(csv);
    let head = reader.headers().unwrap().clone();
    let mut lines: Lines<Exchange> = BTreeMap::new();
    for row in reader.records() {
        let row = row.unwrap();
        let field = |name: &str| head.iter().position(|column| column == name).map(|column| row[column].to_owned());
        let number = |name: &str| field(name).and_then(|text| text.parse::<i64>().ok());
        let (since_first, since_last) = (number("since_first_ns").unwrap(), number("since_last_ns").unwrap());
        lines.entry((field("match").unwrap(), field("leg").unwrap())).or_default().push(Exchange {
            delay: number("delay_ns"),
            error: number("error_ns").map_or(0, |error| error + CLOCKS_NS),
            since_first,
            since_last,
            is_repeated: since_first != since_last,
        });
    }
    lines
}

/// The truth log of a committed capture.
fn recorded(capture: &str) -> Lines<Exchange> {
    let path = Path::new(&testdata(capture)).with_file_name("truth.csv.zst");
    exchanges(zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap())
}

fn samples(path: &Path) -> Lines<i64> {
    let mut lines: Lines<i64> = BTreeMap::new();
    for row in csv::Reader::from_path(path).unwrap().records() {
        let row = row.unwrap();
        assert_eq!(&row[2], "1.0", "exact samples stand for themselves");
        lines.entry((row[4].to_owned(), row[6].to_owned())).or_default().push(row[1].parse().unwrap());
    }
    lines
}

/// Lines of the report that have samples.
fn answered(report: &Value) -> Vec<(String, String)> {
    let mut names: Vec<_> = lines(report)
        .iter()
        .filter(|line| line["samples"] != 0)
        .map(|line| (line["match"].as_str().unwrap().to_owned(), line["leg"].as_str().unwrap().to_owned()))
        .collect();
    names.sort();
    names
}

/// The README next to a capture has the same quantiles as a report: those of the same rank, not of a neighbouring one.
#[test]
fn descriptions_have_the_quantiles_of_the_truth() {
    for capture in CAPTURES {
        let readme = std::fs::read_to_string(Path::new(&testdata(capture)).with_file_name("README.md")).unwrap();
        for ((matching, leg), exchanges) in recorded(capture) {
            let delays: Vec<i64> = exchanges.iter().filter_map(|exchange| exchange.delay).collect();
            let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| Nanos::new(quantile(&delays, share)));
            let (start, end) = (format!("| {matching} | {leg} |"), format!("| {p50} | {p99} | {max} |"));
            let row = readme.lines().find(|line| line.starts_with(&start));
            assert!(row.is_some_and(|row| row.ends_with(&end)), "{capture}: {row:?} does not end with {end}");
        }
    }
}

/// Compares a report and its samples with the truth: every exchange is there, in order, with its delay or, if it is not
/// known which of several requests was answered, with a bound; and the bounds contain the quantiles.
fn assert_true(capture: &str, matches: &str, truth: &Lines<Exchange>, method: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.csv");
    let run = |ambiguous: &str| {
        let samples_file = file.to_str().unwrap();
        let how = ["--method", method, "--ambiguous", ambiguous, "--samples", samples_file, "--format", "json"];
        let report = dwell(&[&["rtt", capture, "--match", matches], &how[..]].concat()).ok().json();
        assert_conserved(&report);
        assert_eq!(report["method"]["exact"], true);
        assert_eq!(answered(&report), truth.keys().cloned().collect::<Vec<_>>(), "{capture}");
        (report, samples(&file))
    };
    type Bound = fn(&Exchange) -> i64;
    let bounds: [(&str, Bound); 2] = [("first", |e| e.since_first), ("last", |e| e.since_last)];
    for (ambiguous, bound) in bounds {
        let (report, samples) = run(ambiguous);
        for (name, exchanges) in truth {
            let delays = &samples[name];
            assert_eq!(delays.len(), exchanges.len(), "{capture} {name:?}");
            for (number, (exchange, &found)) in exchanges.iter().zip(delays).enumerate() {
                let is_true = exchange.delay.is_some_and(|delay| exchange.is_near(delay, found));
                let is_open = exchange.is_repeated || exchange.delay.is_none();
                let is_bound = is_open && exchange.is_near(bound(exchange), found);
                assert!(is_true || is_bound, "{capture} {name:?} {ambiguous} sample {number}: {found} ns");
            }
            let found = line(&report, &name.0, &name.1);
            for (key, share) in QUANTILES {
                assert_eq!(found["delay_ns"][key]["value"], quantile(delays, share), "{capture} {name:?} {key}");
            }
        }
    }
    let (report, _) = run("bounds");
    for (name, exchanges) in truth {
        let found = line(&report, &name.0, &name.1);
        assert_eq!(found["samples"], exchanges.len(), "{capture} {name:?}");
        assert_eq!(found["requests"]["matched"], exchanges.len(), "{capture} {name:?}");
        let repeated = exchanges.iter().filter(|e| e.is_repeated).count();
        assert!(found["ambiguous_samples"].as_u64().unwrap() <= repeated as u64, "{capture} {name:?}");
        let error = exchanges.iter().map(|e| e.error).max().unwrap() as f64;
        let least: Vec<i64> = exchanges.iter().map(|e| e.delay.unwrap_or(e.since_last)).collect();
        let most: Vec<i64> = exchanges.iter().map(|e| e.delay.unwrap_or(e.since_first)).collect();
        for (key, share) in QUANTILES {
            let (low, value, high) = ends(&found["delay_ns"][key]);
            let (least, most) = (quantile(&least, share) as f64, quantile(&most, share) as f64);
            let holds = low - error <= most && least <= high + error && low <= value && value <= high;
            assert!(holds, "{capture} {name:?} {key}: {least} to {most} ns, found {value} [{low}, {high}]");
            if found["ambiguous_samples"] == 0 {
                assert!(low == high && (value - least).abs() <= error, "{capture} {name:?} {key}: {value} ns");
            }
        }
    }
}

#[test]
fn every_recorded_exchange_is_found_at_its_delay() {
    for capture in CAPTURES {
        assert_true(&testdata(capture), MATCHES, &recorded(capture), "exact");
    }
}

#[test]
fn every_simulated_exchange_is_found_at_its_delay() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (capture, truth) = (path("simulated.pcap"), path("truth.csv"));
    let run = dwell(&["simulate", "-w", &capture, "--truth", &truth, "--flows", "1000", "--queries", "500"]);
    assert_eq!(run.code, 0, "{}", run.err);
    let truth = exchanges(std::fs::File::open(truth).unwrap());
    assert!(truth.values().map(Vec::len).sum::<usize>() > 5_000);
    for method in ["exact", "auto"] {
        assert_true(&capture, "tcp-handshake,tcp-ack,tcp-response,dns", &truth, method);
    }
}

/// As long as everything fits, the default gives the same as the exact method.
#[test]
fn the_default_is_exact_while_it_fits() {
    for capture in CAPTURES {
        let capture = testdata(capture);
        let run = |method: &[&str]| {
            let mut all = vec!["rtt", &capture, "--match", MATCHES, "--format", "json"];
            all.extend(method);
            dwell(&all).ok().json()
        };
        let (auto, exact) = (run(&[]), run(&["--method", "exact"]));
        assert_eq!((&auto["method"]["name"], &auto["method"]["exact"]), (&"auto".into(), &true.into()));
        assert_eq!(auto["frames"], exact["frames"], "{capture}");
        let delays = |report: &Value| -> Vec<Value> {
            lines(report)
                .iter()
                .map(|l| serde_json::json!([l["match"], l["leg"], l["requests"], l["delay_ns"]]))
                .collect()
        };
        assert_eq!(delays(&auto), delays(&exact), "{capture}");
    }
}

/// Handshakes slower than a second retransmit their SYN, so dropping ambiguous ones drops the slow ones. Nothing has to
/// be dropped only where timestamps identify the SYN that was answered; this group has no timestamps.
#[test]
fn dropping_ambiguous_handshakes_cuts_the_tail() {
    let capture = testdata("handshake-slow/handshake-slow.pcap.gz");
    let p99 = |group: &str, ambiguous: &str| {
        let run = dwell(&["rtt", &capture, "--group", "src/24", "--ambiguous", ambiguous, "--format", "json"]).ok();
        let report = run.json();
        let is_it =
            |line: &&Value| line["match"] == "tcp-handshake" && line["leg"] == "beyond" && line["group"] == group;
        ends(&lines(&report).iter().find(is_it).unwrap()["delay_ns"]["p99"])
    };
    let truth = |source: &str| {
        let mut delays = Vec::new();
        let path = Path::new(&capture).with_file_name("truth.csv.zst");
        let mut reader = csv::Reader::from_reader(zstd::Decoder::new(std::fs::File::open(path).unwrap()).unwrap());
        for row in reader.records() {
            let row = row.unwrap();
            if (&row[0], &row[1], &row[11]) == ("tcp-handshake", "beyond", source) {
                delays.push(row[3].parse().unwrap());
            }
        }
        quantile(&delays, 0.99) as f64
    };

    let without_timestamps = truth("10.10.1.1");
    let (low, value, high) = p99("src=10.10.1.0/24", "bounds");
    let clocks = CLOCKS_NS as f64;
    let holds = low - clocks <= without_timestamps && without_timestamps <= high + clocks;
    assert!(holds, "{without_timestamps} not in [{low}, {high}]");
    let (_, last, _) = p99("src=10.10.1.0/24", "last");
    let (_, drop, _) = p99("src=10.10.1.0/24", "drop");
    println!("p99 {without_timestamps}: [{low}, {high}] {value}, last {last}, drop {drop}");
    assert!(without_timestamps > 3e9 && drop < 0.2e9 && last < 1.1e9, "last {last}, drop {drop}");

    let with_timestamps = truth("10.10.0.1");
    let near = |value: f64| (value - with_timestamps).abs() < 1e6;
    assert!(
        with_timestamps > 3e9 && near(p99("src=10.10.0.0/24", "bounds").1) && near(p99("src=10.10.0.0/24", "drop").1)
    );
}

/// Over all clients, half of them with timestamps, the default is correct and the bounds are narrow.
#[test]
fn the_tail_of_slow_handshakes_is_found() {
    let capture = "handshake-slow/handshake-slow.pcap.gz";
    let exchanges = &recorded(capture)[&("tcp-handshake".into(), "beyond".into())];
    let truth = quantile(&exchanges.iter().filter_map(|e| e.delay).collect::<Vec<_>>(), 0.99) as f64;
    assert!((3.8e9..3.95e9).contains(&truth), "{truth}");
    let report = dwell(&["rtt", &testdata(capture), "--format", "json"]).ok().json();
    let (low, value, high) = ends(&line(&report, "tcp-handshake", "beyond")["delay_ns"]["p99"]);
    let clocks = CLOCKS_NS as f64;
    assert!(low - clocks <= truth && truth <= high + clocks, "{truth} not in [{low}, {high}]");
    assert!((value / truth - 1.0).abs() < 0.02 && high - low < 0.1e9, "{value} [{low}, {high}]");
}

/// Of simulated connections, the ports of some clients are lower than their server's 8443. Wherever the capture has both directions,
/// and so the SYN-ACK, the service is known.
#[test]
fn services_on_higher_ports_than_their_clients() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(dwell_in(folder.path(), &["simulate", "--flows", "3000", "-w", "a.pcap"]).code, 0);
    let of = |group: &str| {
        let how = ["rtt", "a.pcap", "--match", "tcp-ack", "--group", group, "--max-groups", "8191", "--format", "json"];
        let report = dwell_in(folder.path(), &how).ok().json();
        let measured = |line: &&Value| line["samples"].as_u64() > Some(0);
        let name = |line: &Value| line["group"].as_str().unwrap().to_owned();
        lines(&report).iter().filter(measured).map(name).collect::<Vec<_>>()
    };
    let high = |name: &str| name.strip_prefix("port=").is_some_and(|port| port.parse::<u16>().unwrap() > 1023);
    assert_eq!(of("port").iter().filter(|name| high(name)).collect::<Vec<_>>(), ["port=8443"]);
    let servers = of("server");
    assert!(servers.len() > 100 && servers.iter().all(|name| name.starts_with("server=198.") || name.contains(":5::")));
}

/// Legs and groups partition the exchanges: each is counted exactly once.
#[test]
fn legs_and_groups_divide_the_whole() {
    let capture = testdata("mixed/mixed.pcap.zst");
    let totals = |how: &[&str]| {
        let report = dwell(&[&["rtt", &capture, "--format", "json"], how].concat()).ok().json();
        assert_conserved(&report);
        let mut totals: BTreeMap<String, [u64; 3]> = BTreeMap::new();
        for line in lines(&report) {
            let count = |pointer: &str| line.pointer(pointer).and_then(Value::as_u64).unwrap();
            let total = totals.entry(line["match"].as_str().unwrap().to_owned()).or_default();
            total[0] += count("/requests/seen");
            total[1] += count("/samples");
            total[2] += count("/responses/seen");
        }
        totals
    };
    let whole = totals(&[]);
    assert_eq!(whole["dns"], [2092, 2040, 2040]);
    for group in ["src/24", "dst/16", "server", "client,port", "port", "dscp", "protocol", "src,dst-port"] {
        assert_eq!(totals(&["--group", group, "--max-groups", "1000"]), whole, "{group}");
        assert_eq!(totals(&["--group", group, "--max-groups", "3"]), whole, "{group}");
    }
    assert_eq!(totals(&["--inside", "10.10.0.0/16"]), whole);
    assert_eq!(totals(&["--inside", "10.10.0.0/16,fd00:10::/48", "--group", "src/24"]), whole);
}
