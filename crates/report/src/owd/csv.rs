//! CSV: one row for all packets, then one per interval and one per flow; fields are empty where JSON has `null`.

use super::{Line, OwdReport};
use crate::csv::{Rows, ends, span, text};
use std::io::{self, Write};

/// The columns before and after mean, deviation and quantiles.
const FIRST: [&str; 17] = [
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
];

const LAST: [&str; 8] = ["min_ns", "max_ns", "jitter_ns", "exact", "method", "sender", "receiver", "uncounted_bytes"];

/// The columns of [`write()`], in order. Times in nanoseconds.
pub fn columns() -> Vec<String> {
    crate::csv::columns(&FIRST, &["mean", "std"], &LAST)
}

/// Writes the header and all rows.
pub fn write(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::new(to, columns())?;
    let span = span(report.span_ns);
    let lines = [("total", Some(&report.total)), ("reverse", report.reverse.as_ref())];
    for (kind, line) in lines.into_iter().filter_map(|(kind, line)| Some((kind, line?))) {
        let [start, end] = span.clone();
        rows.write(&record(report, [kind.into(), start, end, String::new()], line, None))?;
    }
    for interval in &report.intervals {
        let place = ["interval".into(), interval.start_ns.to_string(), interval.end_ns.to_string(), String::new()];
        rows.write(&record(report, place, &interval.line, None))?;
    }
    for flow in &report.flows {
        let [start, end] = span.clone();
        let place = ["flow".into(), start, end, flow.flow.clone()];
        rows.write(&record(report, place, &flow.line, flow.uncounted_bytes))?;
    }
    rows.flush()
}

fn record(report: &OwdReport, place: [String; 4], line: &Line, uncounted_bytes: Option<u64>) -> Vec<String> {
    let mut cells = Vec::from(place);
    cells.extend(of_line(line));
    cells.extend([report.method.exact.to_string(), report.method.name.to_owned()]);
    cells.extend(report.sources.clone());
    cells.push(text(uncounted_bytes));
    cells
}

/// The cells from `sent` to `jitter_ns`.
fn of_line(line: &Line) -> Vec<String> {
    let d = &line.delay_ns;
    let mut cells = vec![line.sent.to_string(), text(line.bytes)];
    cells.extend([line.received, line.lost, line.uncovered, line.ambiguous].map(|n| n.to_string()));
    cells.extend(ends(line.loss_rate));
    cells.extend([line.loss_runs.map(|runs| runs.count), line.loss_runs.map(|runs| runs.longest)].map(text));
    cells.extend([text(line.unusable.as_ref()), line.effective_samples.to_string()]);
    cells.extend([d.mean, d.std].into_iter().flat_map(ends));
    cells.extend(d.quantiles.into_iter().flat_map(ends));
    cells.extend([d.min, d.max].map(|end| text(end.map(|end| end.value))));
    cells.push(text(line.jitter_ns));
    cells
}

#[cfg(test)]
mod tests {
    use super::super::{Delays, LossRuns};
    use super::*;
    use crate::quantiles::{P50, P99, Quantiles};
    use dwell_sketch::estimate::Estimate;

    #[test]
    fn every_cell_has_a_column() {
        let mut seen = std::collections::BTreeSet::new();
        let columns = columns();
        assert!(columns.iter().all(|column| seen.insert(column)));
        let estimate = |value| Some(Estimate { value, low: value - 1, high: value + 1 });
        let float = |value: f64| Some(Estimate { value, low: value - 0.5, high: value + 0.5 });
        let mut quantiles = Quantiles::default();
        (quantiles[P50], quantiles[P99]) = (estimate(50), estimate(99));
        let delay_ns = Delays { mean: float(30.0), std: float(40.0), quantiles, min: estimate(8), max: None };
        let loss_runs = Some(LossRuns { count: 6, longest: 7 });
        let (bytes, loss_rate, jitter_ns) = (Some(2), float(0.5), Some(9.5));
        let line = Line {
            sent: 1,
            received: 3,
            lost: 4,
            uncovered: 5,
            bytes,
            loss_rate,
            loss_runs,
            jitter_ns,
            delay_ns,
            ..Line::default()
        };
        let cells = of_line(&line);
        let columns = &columns[4..columns.len() - 5];
        assert_eq!(cells.len(), columns.len());
        let named = columns.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
        assert_eq!(
            named.map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" "),
            "sent=1 bytes=2 received=3 lost=4 uncovered=5 ambiguous=0 loss_rate=0.5 loss_rate_low=0 loss_rate_high=1 \
             loss_runs=6 longest_loss_run=7 effective_samples=0 mean_ns=30 mean_low_ns=29.5 mean_high_ns=30.5 std_ns=40 \
             std_low_ns=39.5 std_high_ns=40.5 p50_ns=50 p50_low_ns=49 p50_high_ns=51 p99_ns=99 p99_low_ns=98 \
             p99_high_ns=100 min_ns=8 jitter_ns=9.5"
        );
    }
}
