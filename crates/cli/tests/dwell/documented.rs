//! Every key of a JSON report and every column of CSV is named on the page of its format, and every rule and method in
//! the guides.

use crate::run::{Run, dwell_in, testdata};
use dwell_sketch::rtt::Method;
use dwell_types::Match;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The pages in `docs/formats`, and commands whose reports have as many of the keys as possible. Words that name a file
/// in `testdata` stand for it.
const PAGES: [(&str, &[&str]); 7] = [
    (
        "dwell.rtt.md",
        &[
            "rtt mixed/mixed.pcap.zst --group src/24 --inside 10.0.0.0/8 --flows --match tcp-ack,tcp-flow,quic-spin",
            "rtt mixed/mixed.pcap.zst --interval 1m",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method mis --fingerprint-bits 12",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method fridge",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method hash-sample",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method stages",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method timebloom",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method ale-u",
            "rtt mixed/mixed.pcap.zst --match tcp-ack --memory 16KiB --method dart",
        ],
    ),
    (
        "dwell.owd.md",
        &[
            "owd one-way/near.pcap.xz one-way/server.pcap.xz --flows --group dst --interval 1s --clock-offset 1s --nat",
            "owd one-way/near.pcap.xz one-way/server.pcap.xz --memory 32KiB",
            "owd one-way/near.pcap.xz one-way/server.pcap.xz --method lda --from 10.10.0.0/16 --flows \
             --weights weights.csv --packets-per-interval 1000 --loss 1%",
        ],
    ),
    (
        "dwell.queue.md",
        &[
            "queue one-way/near.pcap.xz one-way/server.pcap.xz --threshold 120ms --from 10.10.0.0/16 --group dst --nat",
            "queue queue/ingress.pcap.xz queue/egress.pcap.xz --method conquest --compare-exact --cleaning cyclic",
        ],
    ),
    (
        "dwell.net.md",
        &[
            "net plan net/ladder.toml --routers 12 --bound",
            "net paths net/ladder.toml --instrumented b3,b4 --failed b3,b4",
            "net localize net/ladder.toml --routers 12 --measurements net/ladder-slow.csv --path a1,b6",
        ],
    ),
    (
        "dwell.size.md",
        &[
            "size rtt --error 5% --requests-per-second 1000 --mean 50ms --p99 500ms",
            "size owd --memory 9000 --packets-per-interval 100000",
            "size flows --memory 64KiB --packets-per-interval 40000 --flows 400",
            "size queue --memory 4KiB",
        ],
    ),
    ("dwell.compare.md", &["compare mixed/mixed.pcap.zst --match dns --memory 1KiB,16KiB --seeds 10"]),
    (
        "dwell.compare-owd.md",
        &["compare owd one-way/near.pcap.xz one-way/server.pcap.xz --from 10.10.0.0/16 --memory 100,4KiB --seeds 1"],
    ),
];

/// A page of the documentation.
fn read(name: &str) -> String {
    fs::read_to_string(testdata(&format!("../docs/{name}"))).unwrap()
}

/// Runs a command in the folder, with its report in this format.
fn run(folder: &Path, command: &str, format: &str) -> Run {
    let words = command.split_whitespace().map(|word| match testdata(word) {
        file if Path::new(&file).is_file() => file,
        _ => word.to_owned(),
    });
    let words: Vec<String> = words.collect();
    let mut arguments: Vec<&str> = words.iter().map(String::as_str).collect();
    arguments.extend(["--format", format]);
    let run = dwell_in(folder, &arguments);
    assert_eq!(run.code, 0, "{command}: {}", run.err);
    run
}

/// Adds the keys of all objects, except reasons of rejection, which are data.
fn add_keys(value: &Value, keys: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| add_keys(value, keys)),
        Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                if key != "rejected" {
                    add_keys(value, keys);
                }
            }
        }
        _ => {}
    }
}

/// Whether a page contains the key as a whole word.
fn names(page: &str, key: &str) -> bool {
    page.match_indices(key).any(|(at, _)| {
        let ends = |next: Option<char>| next.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        ends(page[..at].chars().next_back()) && ends(page[at + key.len()..].chars().next())
    })
}

#[test]
fn every_key_is_on_the_page_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weights.csv"), "flow,weight\n10.10.0.0/16,3\n").unwrap();
    let mut missing = Vec::new();
    for (page, commands) in PAGES {
        let text = read(&format!("formats/{page}"));
        let mut keys = BTreeSet::new();
        commands.iter().for_each(|command| add_keys(&run(folder.path(), command, "json").json(), &mut keys));
        assert!(keys.len() > 20, "{page}: {keys:?}");
        missing.extend(keys.into_iter().filter(|key| !names(&text, key)).map(|key| format!("{page} lacks {key}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The keys and columns of all committed records.
#[test]
fn every_key_of_a_record_is_on_the_page_of_its_format() {
    let page = read("formats/dwell.evaluate.md");
    let mut keys = BTreeSet::new();
    for folder in fs::read_dir(testdata("../experiments/record")).unwrap() {
        let folder = folder.unwrap().path();
        let Ok(result) = fs::read_to_string(folder.join("result.json")) else { continue };
        let facts = fs::read_to_string(folder.join("facts.json")).unwrap();
        for text in [result, facts] {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            // The names of parameters are those of the definition.
            for summary in value["summaries"].as_array_mut().into_iter().flatten() {
                summary["parameters"] = Value::Null;
            }
            add_keys(&value, &mut keys);
        }
        let rows = fs::read_to_string(folder.join("results.csv")).unwrap();
        keys.extend(rows.lines().next().unwrap().split(',').map(str::to_owned));
    }
    assert!(keys.len() > 40, "{keys:?}");
    let missing: Vec<&String> = keys.iter().filter(|key| !names(&page, key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_column_is_on_the_page_of_its_format() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("weights.csv"), "flow,weight\n10.10.0.0/16,3\n").unwrap();
    let mut missing = Vec::new();
    for (page, commands) in PAGES {
        let text = read(&format!("formats/{page}"));
        if !text.contains("CSV") {
            continue;
        }
        for command in commands {
            let rows = String::from_utf8(run(folder.path(), command, "csv").out).unwrap();
            let columns: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
            assert!(columns.len() >= 4, "{command}: {columns:?}");
            // Pages name the ends of an interval, and the unit of quantiles, once.
            let is_named = |column: &str| {
                let value = column.replace("_low", "").replace("_high", "");
                names(&text, &value) || value.strip_suffix("_ns").is_some_and(|quantile| names(&text, quantile))
            };
            missing.extend(
                columns.iter().filter(|column| !is_named(column)).map(|column| format!("{page} lacks {column}")),
            );
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_rule_and_method_is_in_the_guides() {
    let methods = Method::ALL.map(Method::name);
    let all: Vec<&str> = Match::of_packets().map(Match::name).chain(methods).collect();
    let mut missing = Vec::new();
    for (page, names) in [("guide/rtt.md", &all[..]), ("guide/compare.md", &methods)] {
        let text = read(page);
        let absent = names.iter().filter(|name| !text.contains(&format!("`{name}`")));
        missing.extend(absent.map(|name| format!("{page} lacks {name}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The keys that an error names are all.
#[test]
fn every_group_key_is_in_the_guide_and_the_help() {
    let folder = tempfile::tempdir().unwrap();
    let words = dwell_in(folder.path(), &["rtt", "--group", "none", "x.pcap"]).err;
    let (_, listed) = words.split_once("expected ").unwrap();
    let listed = listed.split(',').flat_map(|keys| keys.split(" or ")).filter_map(|key| key.split_whitespace().next());
    let keys: Vec<&str> = listed.take_while(|&key| key != "separated").filter(|key| !key.starts_with('/')).collect();
    assert!(keys.len() >= 8 && keys.contains(&"src-port"), "{keys:?}");
    let help = String::from_utf8(dwell_in(folder.path(), &["rtt", "--help"]).out).unwrap();
    let guide = read("guide/rtt.md");
    for key in keys {
        assert!(guide.contains(&format!("`{key}`")), "the guide lacks {key}");
        assert!(
            help.split(|c: char| !c.is_ascii_lowercase() && c != '-').any(|word| word == key),
            "the help lacks {key}"
        );
    }
}
