//! CSV: one row for all packets, then one per interval and one per flow, empty where JSON has `null`.

use super::{Line, OwdReport};
use crate::csv::io_error;
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};

/// The columns of [`write()`], in order. Times in nanoseconds.
pub const COLUMNS: [&str; 42] = [
    "kind",
    "start_ns",
    "end_ns",
    "flow",
    "sent",
    "bytes",
    "received",
    "lost",
    "uncovered",
    "ambiguous",
    "loss_rate",
    "loss_rate_low",
    "loss_rate_high",
    "loss_runs",
    "longest_loss_run",
    "unusable",
    "effective_samples",
    "mean_ns",
    "mean_low_ns",
    "mean_high_ns",
    "std_ns",
    "std_low_ns",
    "std_high_ns",
    "p50_ns",
    "p50_low_ns",
    "p50_high_ns",
    "p90_ns",
    "p90_low_ns",
    "p90_high_ns",
    "p95_ns",
    "p95_low_ns",
    "p95_high_ns",
    "p99_ns",
    "p99_low_ns",
    "p99_high_ns",
    "min_ns",
    "max_ns",
    "jitter_ns",
    "exact",
    "method",
    "sender",
    "receiver",
];

/// Writes the head and all rows.
pub fn write(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(COLUMNS).map_err(io_error)?;
    let span = report.span_ns.map_or([String::new(), String::new()], |s| [s.start, s.end].map(|ns| ns.to_string()));
    let lines = [("total", Some(&report.total)), ("reverse", report.reverse.as_ref())];
    for (kind, line) in lines.into_iter().filter_map(|(kind, line)| Some((kind, line?))) {
        let [start, end] = span.clone();
        writer.write_record(record(report, [kind.into(), start, end, String::new()], line)).map_err(io_error)?;
    }
    for interval in &report.intervals {
        let place = ["interval".into(), interval.start_ns.to_string(), interval.end_ns.to_string(), String::new()];
        writer.write_record(record(report, place, &interval.line)).map_err(io_error)?;
    }
    for flow in &report.flows {
        let [start, end] = span.clone();
        let place = ["flow".into(), start, end, flow.flow.clone()];
        writer.write_record(record(report, place, &flow.line)).map_err(io_error)?;
    }
    writer.flush()
}

fn record(report: &OwdReport, place: [String; 4], line: &Line) -> Vec<String> {
    let text = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    fn ends<T: ToString>(estimate: Option<Estimate<T>>) -> [String; 3] {
        estimate.map_or_else(Default::default, |e| [e.value.to_string(), e.low.to_string(), e.high.to_string()])
    }
    let d = &line.delay_ns;
    let runs = line.loss_runs.map_or([String::new(), String::new()], |r| [r.count.to_string(), r.longest.to_string()]);
    let mut cells = Vec::from(place);
    cells.extend([line.sent.to_string(), line.bytes.map_or_else(String::new, |bytes| bytes.to_string())]);
    cells.extend([line.received, line.lost, line.uncovered, line.ambiguous].map(|n| n.to_string()));
    cells.extend(ends(line.loss_rate));
    cells.extend(runs);
    cells.extend([line.unusable.clone().unwrap_or_default(), line.effective_samples.to_string()]);
    cells.extend([d.mean, d.std].into_iter().flat_map(ends));
    cells.extend([d.p50, d.p90, d.p95, d.p99].into_iter().flat_map(ends));
    cells.extend([d.min, d.max].map(|e| e.map_or_else(String::new, |e| e.value.to_string())));
    cells.push(text(line.jitter_ns));
    cells.extend([report.method.exact.to_string(), report.method.name.to_owned()]);
    cells.extend(report.sources.clone());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checked by the writer, too: rows of unequal length are errors.
    #[test]
    fn every_cell_has_a_column() {
        let mut seen = std::collections::BTreeSet::new();
        assert!(COLUMNS.iter().all(|column| seen.insert(column)));
    }
}
