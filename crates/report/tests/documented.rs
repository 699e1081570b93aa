//! Asserts that `docs/formats/dwell.rtt.md` names every key, column and metric family that is written.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use dwell_report::json;
use dwell_report::quantiles::QUANTILES;
use dwell_report::rtt::{csv, samples};
use serde_json::Value;
use std::collections::BTreeSet;

fn document() -> String {
    std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/dwell.rtt.md")).unwrap()
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(values) => values.iter().for_each(|v| keys(v, found)),
        Value::Object(map) => {
            for (key, value) in map {
                // The keys below these are data: reasons of rejection, matches.
                if !["rejected", "rules"].contains(&key.as_str()) {
                    keys(value, found);
                }
                found.insert(key.clone());
            }
        }
        _ => {}
    }
}

#[test]
fn every_name_is_documented() {
    let document = document();
    let mut names = BTreeSet::new();
    let mut text = Vec::new();
    json::write(&common::short(), &mut text).unwrap();
    keys(&serde_json::from_slice(&text).unwrap(), &mut names);
    names.extend(csv::columns().into_iter().chain(samples::COLUMNS.map(String::from)));
    let mut text = Vec::new();
    common::openmetrics(&common::short(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    names.extend(text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next()).map(ToString::to_string));
    assert!(names.len() > 60, "{names:?}");
    for name in names {
        // `p90_ns`, `p90_low_ns` and so on are covered by "the same for" in the document.
        let described = QUANTILES.iter().any(|(q, _)| name.starts_with(&format!("{q}_")));
        let mentioned = document.match_indices(&name).any(|(at, _)| {
            let before = document[..at].chars().next_back();
            let after = document[at + name.len()..].chars().next();
            let ends = |c: Option<char>| c.is_some_and(|c| !c.is_alphanumeric() && c != '_');
            ends(before) && ends(after)
        });
        assert!(described || mentioned, "docs/formats/dwell.rtt.md lacks `{name}`");
    }
}

#[test]
fn the_example_is_a_report() {
    let document = document();
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let mut named = BTreeSet::new();
    keys(&serde_json::from_str(example).unwrap(), &mut named);
    let mut written = BTreeSet::new();
    let mut text = Vec::new();
    json::write(&common::short(), &mut text).unwrap();
    keys(&serde_json::from_slice(&text).unwrap(), &mut written);
    assert_eq!(named, written);
}
