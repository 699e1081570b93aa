//! Captures from all the world, sound and broken, in the folder that `DWELL_DATA` names.

use crate::run::{assert_conserved, data, dwell};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const MATCHES: &str = "tcp-handshake,tcp-ack,tcp-ts,tcp-flow,dns,ntp,icmp-echo,quic-spin";

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// No file makes it panic or hang; every report balances; what cannot be read is named.
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
        let run = dwell(&["rtt", name, "--match", MATCHES, "--format", "json", "--memory", "1MiB"]);
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
