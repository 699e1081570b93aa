//! The OpenMetrics output as parsed by the reference parser (`prometheus_client.openmetrics.parser`, Python).
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

/// Reads standard input and prints one line per sample: name, labels sorted by name, value.
const READER: &str = r"
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        labels = ' '.join(repr((name, value)) for name, value in sorted(sample.labels.items()))
        print(family.type, family.unit or '-', sample.name, float(sample.value), labels, sep='\t')
";

fn is_installed() -> bool {
    let import = Command::new("python3").args(["-c", "import prometheus_client.openmetrics.parser"]).output();
    import.is_ok_and(|output| output.status.success())
}

#[test]
fn the_reference_parser_reads_it() {
    if !is_installed() {
        eprintln!("skipped: python3 has no module prometheus_client (pip install prometheus_client)");
        return;
    }
    let labels = ["interface=eth0", "site=\"a\\b\"\n, {c}"].map(|label| label.parse().unwrap());
    let reports = [common::exact(), common::sampled(), common::with_flows(), common::absurd()];
    for (report, labels) in reports.into_iter().flat_map(|report| [(report.clone(), &[][..]), (report, &labels)]) {
        let mut python = Command::new("python3")
            .args(["-c", READER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut text = Vec::new();
        common::labelled_openmetrics(&report, labels, &mut text).unwrap();
        python.stdin.take().unwrap().write_all(&text).unwrap();
        let output = python.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read = String::from_utf8(output.stdout).unwrap();
        let value = |parts: &[&str]| -> Option<f64> {
            let line = read.lines().find(|l| parts.iter().all(|p| l.contains(p)))?;
            line.split('\t').nth(3)?.parse().ok()
        };
        let written = text.split(|&b| b == b'\n').filter(|l| !l.is_empty() && l[0] != b'#').count();
        assert_eq!(read.lines().count(), written);
        let added = r#"('interface', 'eth0')"#;
        let quoted = r#"('site', '"a\\b"\n, {c}')"#;
        let has_added = |line: &str| line.contains(added) && line.contains(quoted);
        assert!(read.lines().all(|line| has_added(line) != labels.is_empty()), "{read}");
        assert_eq!(value(&["dwell_memory_state_bytes"]), Some(report.memory.state_bytes as f64));
        assert_eq!(value(&["dwell_frames_total", "('fate', 'decoded')"]), report.frames.map(|f| f.decoded as f64));
        if report.results.len() == 5 {
            let count = value(&["histogram\tseconds\tdwell_rtt_delay_seconds_count", "'tcp-ack'"]).unwrap();
            assert_eq!(count, 48_221.0);
            let sum = value(&["dwell_rtt_delay_seconds_sum", "'tcp-ack'"]).unwrap();
            let mean = report.results[3].delay_ns.mean.unwrap().value as f64 / 1e9;
            assert!((sum / count - mean).abs() < 1e-9, "{sum} / {count}");
        }
    }
}
