//! CSV: one row for all packets, then one per interval and one per flow; fields are empty where JSON has `null`.

use super::{Line, OwdReport};
use crate::csv::{Columns, Rows, ends, text};
use crate::facts::{MethodFacts, Span};
use std::io::{self, Write};

/// All packets of a direction, or those of an interval or flow.
struct Row<'a> {
    kind: &'static str,
    span: Option<Span>,
    /// Empty unless `kind` is `flow`.
    flow: &'a str,
    line: &'a Line,
    uncounted_bytes: Option<u64>,
    method: &'a MethodFacts,
    sources: &'a [String; 2],
}

impl<'a> Row<'a> {
    /// Times in nanoseconds.
    const COLUMNS: Columns<'a, Self> = Columns {
        first: &[
            ("kind", |row| row.kind.to_owned()),
            ("start_ns", |row| text(row.span.map(|span| span.start))),
            ("end_ns", |row| text(row.span.map(|span| span.end))),
            ("flow", |row| row.flow.to_owned()),
            ("sent", |row| row.line.sent.to_string()),
            ("bytes", |row| text(row.line.bytes)),
            ("received", |row| row.line.received.to_string()),
            ("lost", |row| row.line.lost.to_string()),
            ("uncovered", |row| row.line.uncovered.to_string()),
            ("ambiguous", |row| row.line.ambiguous.to_string()),
            ("loss_rate", |row| text(row.line.loss_rate.map(|rate| rate.value))),
            ("loss_rate_low", |row| text(row.line.loss_rate.map(|rate| rate.low))),
            ("loss_rate_high", |row| text(row.line.loss_rate.map(|rate| rate.high))),
            ("loss_runs", |row| text(row.line.loss_runs.map(|runs| runs.count))),
            ("longest_loss_run", |row| text(row.line.loss_runs.map(|runs| runs.longest))),
            ("unusable", |row| text(row.line.unusable.as_ref())),
            ("effective_samples", |row| row.line.effective_samples.to_string()),
        ],
        ends: &[("mean", |row| ends(row.line.delay_ns.mean)), ("std", |row| ends(row.line.delay_ns.std))],
        quantiles: |row| row.line.delay_ns.quantiles,
        last: &[
            ("min_ns", |row| text(row.line.delay_ns.min.map(|min| min.value))),
            ("max_ns", |row| text(row.line.delay_ns.max.map(|max| max.value))),
            ("jitter_ns", |row| text(row.line.jitter_ns)),
            ("exact", |row| row.method.exact.to_string()),
            ("method", |row| row.method.name.to_owned()),
            ("sender", |row| row.sources[0].clone()),
            ("receiver", |row| row.sources[1].clone()),
            ("uncounted_bytes", |row| text(row.uncounted_bytes)),
        ],
    };
}

/// Writes the header and all rows.
pub fn write(report: &OwdReport, to: &mut impl Write) -> io::Result<()> {
    let OwdReport { method, sources, span_ns: span, .. } = report;
    let row = |kind, line| Row { kind, span: *span, flow: "", line, uncounted_bytes: None, method, sources };
    let totals =
        [row("total", &report.total)].into_iter().chain(report.reverse.iter().map(|line| row("reverse", line)));
    let intervals = report.intervals.iter();
    let intervals = intervals.map(|interval| Row { span: Some(interval.span()), ..row("interval", &interval.line) });
    let flows = report.flows.iter().map(|flow| {
        let uncounted_bytes = flow.uncounted_bytes;
        Row { flow: &flow.flow, uncounted_bytes, ..row("flow", &flow.line) }
    });
    let mut rows = Rows::new(to, Row::COLUMNS.names())?;
    for row in totals.chain(intervals).chain(flows) {
        rows.write(&Row::COLUMNS.cells(&row))?;
    }
    rows.flush()
}

#[cfg(test)]
mod tests {
    use super::super::{Delays, LossRuns};
    use super::*;
    use crate::quantiles::{P50, P99, Quantiles};
    use dwell_sketch::estimate::Estimate;

    #[test]
    fn every_cell_has_a_column() {
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
        let method = MethodFacts { name: "auto", exact: true, ..MethodFacts::default() };
        let (span, uncounted_bytes) = (Some(Span { start: -2, end: -1 }), Some(10));
        let sources = ["a".to_owned(), "b".to_owned()];
        let row =
            Row { kind: "flow", span, flow: "f", line: &line, uncounted_bytes, method: &method, sources: &sources };
        let names = Row::COLUMNS.names();
        let named = names.iter().zip(Row::COLUMNS.cells(&row)).filter(|(_, cell)| !cell.is_empty());
        assert_eq!(
            named.map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" "),
            "kind=flow start_ns=-2 end_ns=-1 flow=f sent=1 bytes=2 received=3 lost=4 uncovered=5 ambiguous=0 loss_rate=0.5 \
             loss_rate_low=0 loss_rate_high=1 loss_runs=6 longest_loss_run=7 effective_samples=0 mean_ns=30 mean_low_ns=29.5 \
             mean_high_ns=30.5 std_ns=40 std_low_ns=39.5 std_high_ns=40.5 p50_ns=50 p50_low_ns=49 p50_high_ns=51 p99_ns=99 \
             p99_low_ns=98 p99_high_ns=100 min_ns=8 jitter_ns=9.5 exact=true method=auto sender=a receiver=b \
             uncounted_bytes=10"
        );
    }
}
