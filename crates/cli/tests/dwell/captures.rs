//! Captures from many sources, valid and broken, in the folder named by `DWELL_DATA`.

use crate::run::{assert_conserved, data, dwell, lines, matches};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// No file causes a panic or takes long; every report adds up; messages name the file that cannot be read.
#[test]
fn every_file_is_reported_or_refused() {
    let Some(data) = data() else { return };
    let mut found = Vec::new();
    files(&data.join("captures"), &mut found);
    files(&data.join("captures-malformed"), &mut found);
    assert!(!found.is_empty(), "no files in {}", data.display());
    let (mut reported, mut damaged, mut refused) = (0, 0, 0);
    for path in &found {
        let name = path.to_str().unwrap();
        let start = Instant::now();
        let run = dwell(&["rtt", name, "--match", &matches(), "--format", "json", "--memory", "1MiB"]);
        assert!(start.elapsed() < Duration::from_secs(10), "{name}: {:?}", start.elapsed());
        assert!(!run.err.contains("panicked"), "{name}: {}", run.err);
        assert!(run.err.lines().all(|line| line.starts_with("dwell: ")), "{name}: {}", run.err);
        match run.code {
            0 => reported += 1,
            1 => {
                assert!(run.err.contains(name), "{name}: {}", run.err);
                if run.out.is_empty() { refused += 1 } else { damaged += 1 }
            }
            code => panic!("{name}: exit code {code}: {}", run.err),
        }
        if !run.out.is_empty() {
            let report = run.json();
            assert_conserved(&report);
            let memory = &report["memory"];
            assert!(memory["state_bytes"].as_u64() <= memory["budget_bytes"].as_u64(), "{name}: {memory}");
            let warnings = report["warnings"].as_array().unwrap();
            assert_eq!(run.err.lines().count(), warnings.len(), "{name}: {}", run.err);
        }
    }
    println!("{reported} files reported, {damaged} up to their damage, {refused} refused");
}

/// Where 16 KiB are too little for all exchanges, intervals must contain the exact values: for every series of at least
/// 250 exchanges, for quantiles, the mean and the count (or this is exact to .2%), in 34 of 40 seeds. 95% intervals
/// would miss this by chance in 3·10⁻³ of the choices of seeds; these are fixed. Overall 97% and more contain them;
/// intervals half as wide, the negative control, 84%.
#[test]
fn intervals_in_small_memory_hold_what_is_known() {
    const SEEDS: u64 = 40;
    let Some(data) = data() else { return };
    let mut found = Vec::new();
    files(&data.join("captures"), &mut found);
    let report = |path: &Path, how: &[&str]| {
        let run = dwell(&[&["rtt", path.to_str().unwrap(), "--format", "json"], how].concat());
        (run.code == 0).then(|| run.json())
    };
    let name = |line: &Value| format!("{} {}", line["match"], line["leg"]);
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let (mut all, mut all_held, mut half_held, mut captures, mut failed) = (0, 0, 0, 0, Vec::new());
    for path in &found {
        let small = |seed: &str| report(path, &["--memory", "16KiB", "--seed", seed]);
        let Some(first) = small("0").filter(|report| report["method"]["exact"] == false) else { continue };
        let Some(exact) = report(path, &["--method", "exact"]) else { continue };
        captures += 1;
        let truths: BTreeMap<String, &Value> = lines(&exact).iter().map(|line| (name(line), line)).collect();
        let mut held: BTreeMap<String, u64> = BTreeMap::new();
        for seed in 0..SEEDS {
            let report = if seed == 0 { first.clone() } else { small(&seed.to_string()).unwrap() };
            for line in lines(&report) {
                let truth = truths[&name(line)];
                if number(&truth["exchanges"]["value"]) < 250.0 {
                    continue;
                }
                for quantity in ["exchanges", "mean", "p50", "p95", "p99"] {
                    let of = |line: &Value| match quantity {
                        "exchanges" => line[quantity].clone(),
                        _ => line["delay_ns"][quantity].clone(),
                    };
                    let (estimate, truth) = (of(line), number(&of(truth)["value"]));
                    let [low, value, high] = ["low", "value", "high"].map(|end| number(&estimate[end]));
                    let is_near = quantity == "exchanges" && (value / truth - 1.0).abs() < 0.002;
                    let is_held = low <= truth && truth <= high || is_near;
                    *held.entry(format!("{} {quantity}", name(line))).or_default() += u64::from(is_held);
                    all += 1;
                    all_held += u64::from(is_held);
                    half_held += u64::from((low + value) / 2.0 <= truth && truth <= (high + value) / 2.0);
                }
            }
        }
        for (what, &held) in &held {
            println!("{}: {what}: {held} of {SEEDS}", path.display());
        }
        let few = held.into_iter().filter(|&(_, held)| held < SEEDS * 85 / 100);
        failed.extend(few.map(|(what, held)| format!("{}: {what}: {held} of {SEEDS}", path.display())));
    }
    println!("{all_held} of {all} intervals in {captures} captures, half as wide {half_held}");
    let are_enough = |held: u64| held * 100 >= all * 97;
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(are_enough(all_held) && !are_enough(half_held), "{all_held} of {all}, {half_held}");
}
