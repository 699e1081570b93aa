//! `dwell compare`: errors are correct, and what does not fit or does not exist is reported.

use crate::run::{assert_refused, dwell, dwell_in, line, matches, number, testdata};
use dwell_sketch::rtt::Method;
use dwell_types::Match;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// The results of a match and leg.
fn results<'a>(report: &'a Value, matching: &str, leg: &str) -> &'a [Value] {
    let find = |list: &'a Value, key: &str, name: &str| {
        let found = list.as_array().unwrap().iter().find(|one| one[key] == name);
        found.unwrap_or_else(|| panic!("no {name}"))
    };
    let matched = find(&report["matches"], "match", matching);
    find(&matched["legs"], "leg", leg)["results"].as_array().unwrap()
}

/// The only result of a method.
fn of<'a>(results: &'a [Value], method: &str) -> &'a Value {
    let found: Vec<&Value> = results.iter().filter(|line| line["method"] == method).collect();
    assert_eq!(found.len(), 1, "{method}");
    found[0]
}

/// The methods that can be compared on DNS.
fn methods() -> String {
    let measures = |method: &Method| *method != Method::Exact && method.measures(Match::Dns);
    Method::ALL.into_iter().filter(measures).map(Method::name).collect::<Vec<_>>().join(",")
}

/// Slow exchanges are overwritten first: the simple array, the negative control, loses them, while the other methods
/// weight the samples that remain. The array has a bias of an octave with any seed; the errors of the others are
/// medians over seeds, which are fixed.
#[test]
fn slow_exchanges_are_lost_by_the_simple_array_alone() {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("s.pcap").to_str().unwrap().to_owned();
    let how = ["--flows", "1", "--queries", "20000", "--span", "10s", "--snap-length", "96"];
    assert_eq!(dwell(&[&["simulate", "-w", &capture], &how[..]].concat()).code, 0);
    let report = dwell(&["compare", &capture, "--match", "dns", "--memory", "16KiB", "--format", "json"]).ok().json();
    let results = results(&report, "dns", "both");
    let error = |method: &str| number(&of(results, method)["errors"]["p95"]["median_octaves"]);
    assert!(error("simple") > 0.8, "{}", error("simple"));
    for method in ["km", "fridge", "hash-sample", "auto"] {
        assert!(error(method) < 0.6 * error("simple"), "{method}: {}", error(method));
    }
    // Averaging over seeds does not remove bias, and its intervals do not contain the true value.
    let simple = &of(results, "simple")["errors"]["p95"];
    assert!(number(&simple["mean_octaves"]) < -0.8 && number(&simple["ten_rms_octaves"]) > 0.8);
    assert_eq!(simple["covered_share"], 0.0);
    let recommended = report["matches"][0]["recommended"]["method"].as_str().unwrap();
    assert!(["auto", "hash-sample"].contains(&recommended), "{recommended}");
}

/// A log is compared like a capture: its groups are one, and what is true is what the exact method says.
#[test]
fn methods_are_compared_on_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let of = |id: u64| {
        let (at, delay) = (id * 100_000, 1_000_000 + id * 7_919 % 200_000_000);
        [(at, "request", id), (at + delay, "response", id)]
    };
    let mut events: Vec<(u64, &str, u64)> = (0..5_000).flat_map(of).collect();
    events.sort_unstable();
    let group = |id: u64| if id.is_multiple_of(2) { "even" } else { "odd" };
    let lines = events.iter().map(|(at, kind, id)| format!("{at},{kind},{id},{}\n", group(*id)));
    fs::write(folder.path().join("log.csv"), "at_ns,kind,id,group\n".to_owned() + &lines.collect::<String>()).unwrap();
    let how = ["--memory", "8KiB,4MiB", "--methods", "auto,simple", "--seeds", "3", "--format", "json"];
    let report = dwell_in(folder.path(), &[&["compare", "--events", "log.csv"], &how[..]].concat()).ok().json();
    assert_eq!(report["matches"][0]["legs"][0]["exchanges"], 5_000);
    let lines = results(&report, "events", "both");
    let error = |method: &str, memory: u64| {
        let of = |line: &&Value| line["method"] == method && line["memory_bytes"] == memory;
        number(&lines.iter().find(of).unwrap()["errors"]["p95"]["median_octaves"])
    };
    assert_eq!(error("auto", 4 << 20), 0.0);
    assert!(error("simple", 8 << 10) > 3.0 * error("auto", 8 << 10));
    for refused in [["--match", "dns"], ["--inside", "10.0.0.0/8"], ["x.pcap", "y.pcap"]] {
        assert_eq!(dwell_in(folder.path(), &[&["compare", "--events", "log.csv"], &refused[..]].concat()).code, 2);
    }
    fs::write(folder.path().join("bad.csv"), "at_ns,kind,id\n5,request,1\n3,response,1\nx\n").unwrap();
    let bad = dwell_in(folder.path(), &["compare", "--events", "bad.csv"]);
    assert!(bad.code == 1 && bad.err.contains("out of time order") && bad.err.lines().count() == 2, "{}", bad.err);
}

/// Requests repeated after a second and answered .1 s later: from which copy delays count is the same in the truth and in
/// the estimates.
#[test]
fn repeats_count_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let of = |id: u64| {
        let at = |millis: u64| (id * 2_000 + millis) * 1_000_000;
        format!("{},request,{id}\n{},request,{id}\n{},response,{id}\n", at(0), at(1_000), at(1_100))
    };
    let lines: String = (0..100).map(of).collect();
    fs::write(folder.path().join("log.csv"), "at_ns,kind,id\n".to_owned() + &lines).unwrap();
    for (ambiguous, p50, p95) in [("bounds", 100, 1_100), ("first", 1_100, 1_100), ("last", 100, 100)] {
        let how = ["--ambiguous", ambiguous, "--memory", "1MiB", "--methods", "auto", "--format", "json"];
        let report = dwell_in(folder.path(), &[&["compare", "--events", "log.csv"], &how[..]].concat()).ok().json();
        let leg = &report["matches"][0]["legs"][0];
        let truth = |name: &str| leg["truth_ns"][name].as_u64().unwrap() / 1_000_000;
        assert_eq!((&report["ambiguous"], truth("p50"), truth("p95")), (&ambiguous.into(), p50, p95));
        let auto = self::of(leg["results"].as_array().unwrap(), "auto");
        assert_eq!(auto["errors"]["p50"]["median_octaves"], 0.0);
    }
}

/// While everything fits, `auto` equals the exact result on every leg, to the last bit; and it is what is recommended.
#[test]
fn what_fits_has_no_error() {
    let capture = testdata("mixed/mixed.pcap.zst");
    let report = dwell(&["compare", &capture, "--memory", "4MiB", "--methods", "auto", "--format", "json"]).ok().json();
    let exact = dwell(&["rtt", &capture, "--method", "exact", "--format", "json"]).ok().json();
    for (matching, leg) in [("tcp-handshake", "sum"), ("tcp-handshake", "before"), ("tcp-ack", "both"), ("dns", "both")]
    {
        let auto = of(results(&report, matching, leg), "auto");
        let errors = auto["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["max_p05_p95", "p50", "p95", "p99"]);
        for error in errors.values() {
            assert_eq!((&error["rms_octaves"], &error["ten_rms_octaves"]), (&0.0.into(), &0.0.into()));
            assert_eq!(error["missing"], 0);
        }
        for name in ["p50", "p95", "p99"] {
            assert_eq!(errors[name]["covered_share"], 1.0);
        }
        assert_eq!(auto["samples"].as_f64(), line(&exact, matching, leg)["samples"].as_f64());
    }
    for matched in report["matches"].as_array().unwrap() {
        let recommended = &matched["recommended"];
        assert_eq!((&recommended["method"], &recommended["is_good"]), (&"auto".into(), &true.into()));
        for leg in matched["legs"].as_array().unwrap() {
            let truth = line(&exact, matched["match"].as_str().unwrap(), leg["leg"].as_str().unwrap());
            for name in ["p50", "p95", "p99"] {
                assert_eq!(leg["truth_ns"][name], truth["delay_ns"][name]["value"]);
            }
        }
    }
}

/// Every combination has exactly one line, in order, in all formats; and a second run gives the same bytes.
#[test]
fn every_combination_is_there_and_repeats() {
    let capture = testdata("dns/dns.pcap.xz");
    let how = ["--match", "dns,dns,tcp-ack", "--memory", "64KiB,16KiB,16KiB", "--methods", "simple,km,simple"];
    let run = |format: &str| {
        let run = || dwell(&[&["compare", &capture, "--format", format, "--seeds", "3"], &how[..]].concat()).ok().out;
        let out = run();
        assert_eq!(out, run());
        String::from_utf8(out).unwrap()
    };
    let report: Value = serde_json::from_str(&run("json")).unwrap();
    assert_eq!((&report["schema"], &report["seeds"]), (&"dwell.compare/1".into(), &3.into()));
    assert_eq!(report["memory_bytes"], serde_json::json!([16384, 65536]));
    let names: Vec<&Value> = report["matches"].as_array().unwrap().iter().map(|m| &m["match"]).collect();
    assert_eq!(names, ["tcp-ack", "dns"]);
    for method in report["methods"].as_array().unwrap() {
        assert!(method["tuning"].is_string() && method["prior_knowledge"].is_null());
    }
    let lines = results(&report, "dns", "both");
    let combinations: Vec<_> = lines.iter().map(|line| (number(&line["memory_bytes"]), &line["method"])).collect();
    let (simple, km) = (&Value::from("simple"), &Value::from("km"));
    assert_eq!(combinations, [(16384.0, simple), (16384.0, km), (65536.0, simple), (65536.0, km)]);
    for line in lines {
        assert!(number(&line["state_bytes"]) <= number(&line["memory_bytes"]), "{line}");
        // With fewer than ten seeds there is no average of ten.
        assert!(line["errors"]["p50"]["ten_rms_octaves"].is_null() && line["errors"]["p50"]["rms_octaves"].is_f64());
    }

    let csv = run("csv");
    let rows: Vec<csv::StringRecord> = csv::Reader::from_reader(csv.as_bytes()).records().map(|r| r.unwrap()).collect();
    assert_eq!(rows.len(), 2 * 4 * 4);
    let keys = rows.iter().map(|row| [0, 1, 3, 4, 6].map(|column| row[column].to_owned()));
    assert_eq!(keys.collect::<BTreeSet<_>>().len(), rows.len());
    let table = run("table");
    assert!(table.contains("\ndns both: 660 exchanges, p50 ") && table.contains("\ntcp-ack: "), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
}

/// Methods that need the longest delay are marked, and the value used is stated once.
#[test]
fn prior_knowledge_is_marked() {
    let capture = testdata("dns/dns.pcap.xz");
    let compare = |more: &[&str]| {
        let how = ["compare", &capture, "--match", "dns", "--memory", "64KiB", "--seeds", "1", "--methods", &methods()];
        dwell(&[&how[..], more].concat()).ok()
    };
    let table = String::from_utf8(compare(&["--longest", "500ms", "--rate", "40"]).out).unwrap();
    let marked: Vec<&str> = table.lines().filter_map(|line| line.split_once("*  ").map(|(name, _)| name)).collect();
    assert_eq!(marked, ["stages", "timebloom", "bloomtime", "ale-u", "ale-e", "ddbf"]);
    let with_rate =
        "* Prior knowledge of timebloom, bloomtime, ale-u: the longest delay, here 500 ms, and the rate, here 40/s.";
    let without = "* Prior knowledge of stages, ale-e, ddbf: the longest delay, here 500 ms.";
    assert!(table.contains(with_rate) && table.contains(without), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 122), "{table}");
    let report = compare(&["--format", "json"]).json();
    for method in report["methods"].as_array().unwrap() {
        let is_marked = marked.contains(&method["name"].as_str().unwrap());
        assert_eq!(method["prior_knowledge"].is_string(), is_marked, "{method}");
    }
    // With the longest delay given, the filters resolve times more finely.
    let told = compare(&["--format", "json", "--longest", "500ms"]).json();
    for method in ["timebloom", "bloomtime", "ale-u"] {
        let error =
            |report: &Value| number(&of(results(report, "dns", "both"), method)["errors"]["p50"]["median_octaves"]);
        assert!(error(&told) < 0.5 * error(&report), "{method}: {} {}", error(&told), error(&report));
    }
}

/// A memory that is too small is reported with one that is enough: `dwell rtt` runs in that one, and not in one step
/// less.
#[test]
fn too_small_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    fs::write(&log, "at_ns,kind,id\n1000,request,1\n2000,response,1\n").unwrap();
    let methods = methods();
    let (capture, log) = (testdata("mixed/mixed.pcap.zst"), log.to_str().unwrap());
    for (matching, input) in [
        ("dns", vec![&*capture, "--match", "dns"]),
        ("tcp-ack", vec![&*capture, "--match", "tcp-ack"]),
        ("events", vec!["--events", log]),
    ] {
        let compare = |memory: &str, format: &str| {
            let how = ["--memory", memory, "--format", format, "--seeds", "1", "--methods", &methods];
            dwell(&[&["compare"], &input[..], &how[..]].concat()).ok()
        };
        let small = compare("1KiB", "json").json();
        assert!(small["matches"][0]["recommended"].is_null());
        for line in results(&small, matching, "both") {
            assert!(line["state_bytes"].is_null() && line["errors"].as_object().unwrap().is_empty());
            let needed = line["needed_bytes"].as_u64().unwrap();
            let method = line["method"].as_str().unwrap();
            for (memory, fits) in [(needed, true), (needed - 64, false)] {
                let memory = memory.to_string();
                let report = compare(&memory, "json").json();
                let line = of(results(&report, matching, "both"), method);
                assert_eq!(line["needed_bytes"].is_null(), fits, "{memory}: {line}");
                let rtt = [&["rtt"], &input[..], &["--method", method, "--memory", &memory]].concat();
                assert_eq!(dwell(&rtt).code == 0, fits, "{memory}: {line}");
            }
        }
        if matching == "dns" {
            let table = String::from_utf8(compare("1KiB", "table").out).unwrap();
            assert!(table.contains("km           1 KiB  needs 6 KiB\n"), "{table}");
            assert!(table.ends_with("dns: no method gave an estimate.\n"), "{table}");
        }
    }
}

/// A clock that is too coarse for half of the delays, or for all: true values of zero must not give errors.
#[test]
fn delays_of_zero_have_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let head = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    let packet = |at: u32, is_answer: bool, id: u8| {
        let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (from, to) = if is_answer { (server, client) } else { (client, server) };
        let ports = if is_answer { [0, 53, 4, 0] } else { [4, 0, 0, 53] };
        let ip = [&[0x45, 0, 0, 53, 0, 0, 0, 0, 64, 17, 0, 0][..], &from, &to].concat();
        let flags = if is_answer { 0x81 } else { 1 };
        let dns = [&[0, id, flags, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"\x07example\x00\x00\x01\x00\x01"].concat();
        let bytes = [&ip[..], &ports, &[0, 33, 0, 0], &dns].concat();
        [[5, at, 53, 53].map(u32::to_le_bytes).concat(), bytes].concat()
    };
    for (delay, words) in [(40, "is enough"), (0, "no delay is above zero")] {
        let exchange = |id: u8| {
            let at = 1_000 * u32::from(id);
            [packet(at, false, id), packet(at + u32::from(id % 2) * delay, true, id)].concat()
        };
        let frames: Vec<u8> = (0..100).flat_map(exchange).collect();
        std::fs::write(folder.path().join("coarse.pcap"), [&head[..], &frames].concat()).unwrap();
        let arguments = ["compare", "coarse.pcap", "--match", "dns", "--memory", "16KiB", "--seeds", "1"];
        let table = String::from_utf8(dwell_in(folder.path(), &arguments).ok().out).unwrap();
        assert!(table.lines().last().unwrap().contains(words), "{table}");
    }
}

#[test]
fn without_exchanges_nothing_is_recommended() {
    let capture = testdata("icmp/icmp.pcapng");
    let run = dwell(&["compare", &capture, "--match", "dns", "--memory", "16KiB"]).ok();
    assert!(String::from_utf8(run.out).unwrap().ends_with("\ndns: no exchanges.\n"));
    let report = dwell(&["compare", &capture, "--match", "dns", "--format", "json"]).ok().json();
    assert_eq!(report["matches"], serde_json::json!([{ "match": "dns", "legs": [], "recommended": null }]));
}

#[test]
fn legs_are_named_by_what_is_inside() {
    let capture = testdata("icmp/icmp.pcapng");
    let how =
        ["--match", "icmp-echo", "--inside", "10.10.0.0/16,fd00:10::/31", "--memory", "64KiB", "--format", "json"];
    let report = dwell(&[&["compare", &capture], &how[..]].concat()).ok().json();
    assert_eq!(of(results(&report, "icmp-echo", "outward"), "auto")["errors"]["p50"]["missing"], 0);
}

#[test]
fn results_go_where_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("compared.json").to_str().unwrap().to_owned();
    let capture = testdata("ntp/ntp.pcap");
    let how = ["compare", &capture, "--match", "ntp", "--format", "json", "--seeds", "2"];
    assert!(dwell(&[&how[..], &["-o", &to]].concat()).ok().out.is_empty());
    assert_eq!(std::fs::read(&to).unwrap(), dwell(&how).ok().out);
    // The output must not overwrite the capture.
    let copy = folder.path().join("c.pcap").to_str().unwrap().to_owned();
    std::fs::copy(&capture, &copy).unwrap();
    assert_eq!(dwell(&["compare", &copy, "-o", &copy]).code, 2);
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&capture).unwrap());
    // Packets before the damage count.
    let mut bytes = std::fs::read(&capture).unwrap();
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&copy, &bytes).unwrap();
    let cut = dwell(&["compare", &copy, "--match", "ntp", "--memory", "64KiB"]);
    assert!(cut.err.starts_with("dwell: warning: ") && cut.err.contains("c.pcap"), "{}", cut.err);
    assert!(String::from_utf8(cut.out).unwrap().contains("\nntp both: "));
}

/// One panel per match and one curve per method; without any exchanges there are no curves, but the run succeeds.
#[test]
fn a_picture_has_every_match_and_method() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let draw = |capture: &str, to: &str, more: &[&str]| {
        let capture = testdata(capture);
        dwell(&[&["compare", &capture, "--seeds", "1", "--plot", to], more].concat()).ok();
        std::fs::read(to).unwrap()
    };
    let svg = String::from_utf8(draw("mixed/mixed.pcap.zst", &at("p.svg"), &[])).unwrap();
    for word in ["tcp-handshake", "tcp-ack", "dns", "hash-sample", "simple", "km", "auto", "16 KiB", "10%", "1 seed"] {
        assert!(svg.contains(word), "{word}");
    }
    let every = String::from_utf8(draw("mixed/mixed.pcap.zst", &at("every.svg"), &["--methods", &methods()])).unwrap();
    assert!(methods().split(',').all(|method| every.contains(method)));
    assert_eq!(svg.as_bytes(), draw("mixed/mixed.pcap.zst", &at("q.svg"), &[]));
    let png = draw("ntp/ntp.pcap", &at("p.png"), &["--match", "ntp", "--memory", "16KiB", "--methods", "km"]);
    assert!(png.starts_with(b"\x89PNG"));
    draw("mixed/mixed.pcap.zst", &at("all.svg"), &["--match", &matches()]);
    let none = draw("icmp/icmp.pcapng", &at("none.svg"), &["--match", "dns"]);
    assert!(String::from_utf8(none).unwrap().contains("Nothing was measured."));
}

#[test]
fn nonsense_is_refused_in_one_line() {
    let capture = testdata("ntp/ntp.pcap");
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&[], 2, &["CAPTURE"]),
        (&[&capture, "--methods", "exact"], 2, &["'exact'", "possible values: auto, fridge"]),
        (&[&capture, "--methods", "km,best"], 2, &["'best'", "hash-sample"]),
        (&[&capture, "--methods", ""], 2, &["--methods"]),
        (&[&capture, "--longest", "soon"], 2, &["'soon'", "--longest"]),
        (&[&capture, "--longest", "1s"], 2, &["--longest applies only to --methods stages, timebloom"]),
        (&[&capture, "--methods", "ddbf", "--rate", "8"], 2, &["--rate applies only to --methods timebloom"]),
        (&[&capture, "--rate", "0"], 2, &["'0'", "--rate", "above 0"]),
        (&[&capture, "--memory", "16KiB,much"], 2, &["'much'", "64KiB"]),
        (&[&capture, "--memory", "0"], 2, &["--memory"]),
        (&[&capture, "--memory", "1GiB"], 2, &["--memory", "150 GiB", "16"]),
        (
            &[&capture, "--memory", "16500MiB", "--methods", "km", "--seeds", "1", "--match", "dns"],
            2,
            &["--memory: all methods, matches and seeds together would take 17 GiB, expected at most 16"],
        ),
        (&[&capture, "--seeds", "0"], 2, &["--seeds", "from 1 to 1000"]),
        (&[&capture, "--match", "dhcp"], 2, &["'dhcp'", "icmp-echo"]),
        (&[&capture, "--match", "events"], 2, &["'events'"]),
        (&[&capture, "--inside", "10.0.0.0/33"], 2, &["--inside"]),
        (&[&capture, "--format", "xml"], 2, &["'xml'", "json"]),
        (&[&capture, "--plot", "p.jpg"], 2, &["'p.jpg'", "--plot", ".svg"]),
        (&[&capture, "--plot", "p.svg", "-o", "p.svg"], 2, &["p.svg", "twice"]),
        (&["nothing.pcap"], 1, &["nothing.pcap", "No such file"]),
        (&[&capture, "-o", "nowhere/x.json"], 1, &["nowhere/x.json", "written"]),
    ];
    for (arguments, code, words) in cases {
        assert_refused(&[&["compare"], *arguments].concat(), *code, words);
    }
    let help = String::from_utf8(dwell(&["compare", "--help"]).ok().out).unwrap();
    for word in ["prior knowledge", "--longest", "km and fridge", "--seeds", "hash-sample its sampling rate"] {
        assert!(help.contains(word), "{help}");
    }
}
