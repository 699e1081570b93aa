//! CSV (RFC 4180 with line feeds): one row per result line and interval, then those of flows; fields are empty where
//! JSON has `null`.

use super::{Delays, Flow, FlowResult, ResultLine, RttReport};
use crate::csv::{Columns, Rows, ends, text};
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};

/// A result line, or the delays of a flow.
struct Row<'a> {
    report: &'a RttReport,
    line: Option<&'a ResultLine>,
    flow: Option<&'a Flow>,
    /// The delays of either; a flow may have none.
    delays: Option<FlowResult>,
}

impl<'a> Row<'a> {
    /// Times in nanoseconds.
    const COLUMNS: Columns<'a, Self> = Columns {
        first: &[
            ("start_ns", |row| text(row.report.span_ns.map(|span| span.start))),
            ("end_ns", |row| text(row.report.span_ns.map(|span| span.end))),
            ("match", |row| text(row.delays.as_ref().map(|delays| delays.matching))),
            ("leg", |row| text(row.delays.as_ref().map(|delays| delays.leg))),
            ("group", |row| text(row.line.map(|line| &line.group))),
            ("exact", |row| text(row.exchanges().map(|exchanges| exchanges.is_exact()))),
            ("requests_carried_over", |row| text(row.line.map(|line| line.requests.carried_over))),
            ("requests_seen", |row| text(row.line.map(|line| line.requests.seen))),
            ("requests_not_admitted", |row| text(row.line.map(|line| line.requests.not_admitted))),
            ("requests_matched", |row| text(row.line.map(|line| line.requests.matched))),
            ("requests_evicted", |row| text(row.line.map(|line| line.requests.evicted))),
            ("requests_expired", |row| text(row.line.map(|line| line.requests.expired))),
            ("requests_ambiguous", |row| text(row.line.map(|line| line.requests.ambiguous))),
            ("requests_pending", |row| text(row.line.map(|line| line.requests.pending))),
            ("responses_seen", |row| text(row.line.map(|line| line.responses.seen))),
            ("responses_unmatched", |row| text(row.line.map(|line| line.responses.unmatched))),
            ("samples", |row| text(row.delays.as_ref().map(|delays| delays.samples))),
            ("ambiguous_samples", |row| text(row.line.map(|line| line.ambiguous_samples))),
            ("exchanges", |row| text(row.exchanges().map(|exchanges| exchanges.value))),
            ("exchanges_low", |row| text(row.exchanges().map(|exchanges| exchanges.low))),
            ("exchanges_high", |row| text(row.exchanges().map(|exchanges| exchanges.high))),
        ],
        ends: &[("mean", |row| ends(row.delay_ns().mean))],
        quantiles: |row| row.delay_ns().quantiles,
        last: &[
            ("min_ns", |row| text(row.delay_ns().min.map(|min| min.value))),
            ("max_ns", |row| text(row.delay_ns().max.map(|max| max.value))),
            ("method", |row| row.report.method.name.to_owned()),
            ("flow", |row| text(row.flow.map(|flow| &flow.flow))),
            ("packets", |row| text(row.flow.map(|flow| flow.packets))),
            ("bytes", |row| text(row.flow.map(|flow| flow.bytes))),
            ("uncounted_bytes", |row| text(row.flow.map(|flow| flow.uncounted_bytes))),
            ("interval_start_ns", |row| text(row.report.interval_ns.map(|interval| interval.start))),
            ("interval_end_ns", |row| text(row.report.interval_ns.map(|interval| interval.end))),
        ],
    };

    fn exchanges(&self) -> Option<Estimate<f64>> {
        self.delays.as_ref()?.exchanges
    }

    fn delay_ns(&self) -> Delays {
        self.delays.as_ref().map(|delays| delays.delay_ns).unwrap_or_default()
    }
}

/// The columns, in order.
pub fn columns() -> Vec<String> {
    Row::COLUMNS.names()
}

/// Writes the header.
pub fn write_head(to: &mut impl Write) -> io::Result<()> {
    Rows::new(to, columns())?.flush()
}

/// Writes the rows of a report; a time series is one call per interval.
pub fn write_rows(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::without_header(to);
    let of_lines = report.results.iter().map(|line| result(report, line));
    let of_flows = report.flows.iter().flat_map(|flow| {
        let lines = flow.results.iter().map(Some).chain(flow.results.is_empty().then_some(None));
        lines.map(move |line| of_flow(report, flow, line))
    });
    for row in of_lines.chain(of_flows) {
        rows.write(&Row::COLUMNS.cells(&row))?;
    }
    rows.flush()
}

fn result<'a>(report: &'a RttReport, line: &'a ResultLine) -> Row<'a> {
    let ResultLine { matching, leg, samples, exchanges, delay_ns, .. } = *line;
    let delays = Some(FlowResult { matching, leg, samples, exchanges, delay_ns });
    Row { report, line: Some(line), flow: None, delays }
}

/// A row for the delays of a flow, or for a flow without any delays.
fn of_flow<'a>(report: &'a RttReport, flow: &'a Flow, delays: Option<&FlowResult>) -> Row<'a> {
    Row { report, line: None, flow: Some(flow), delays: delays.cloned() }
}

#[cfg(test)]
mod tests {
    use super::super::{Requests, Responses};
    use super::*;
    use crate::facts::{MethodFacts, Span};
    use crate::quantiles::{P50, Quantiles};

    /// The cells of a row that are not empty, with the names of their columns.
    fn named(row: &Row<'_>) -> String {
        let columns = columns();
        let named = columns.iter().zip(Row::COLUMNS.cells(row)).filter(|(_, cell)| !cell.is_empty());
        named.map(|(name, cell)| format!("{name}={cell}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_cell_has_a_column() {
        let estimate = |value| Some(Estimate { value, low: value - 1, high: value + 1 });
        let mut quantiles = Quantiles::default();
        quantiles[P50] = estimate(50);
        let line = ResultLine {
            matching: "dns",
            leg: "both",
            group: "g".into(),
            requests: Requests {
                carried_over: 1,
                seen: 2,
                not_admitted: 3,
                matched: 4,
                evicted: 5,
                expired: 6,
                ambiguous: 7,
                pending: 8,
            },
            responses: Responses { seen: 9, unmatched: 10 },
            samples: 11,
            ambiguous_samples: 12,
            exchanges: Some(Estimate { value: 13.5, low: 12.0, high: 15.0 }),
            delay_ns: Delays { mean: estimate(30), quantiles, min: estimate(20), max: estimate(90) },
            ..ResultLine::default()
        };
        let flow = Flow { flow: "f".into(), packets: 14, bytes: 15, uncounted_bytes: 16, results: Vec::new() };
        let (matching, leg, samples) = (line.matching, line.leg, line.samples);
        let of = FlowResult { matching, leg, samples, exchanges: line.exchanges, delay_ns: line.delay_ns };
        let report = RttReport {
            span_ns: Some(Span { start: -1, end: -2 }),
            interval_ns: Some(Span { start: -3, end: -4 }),
            method: MethodFacts { name: "fridge", ..MethodFacts::default() },
            ..RttReport::default()
        };
        let delays = "exchanges=13.5 exchanges_low=12 exchanges_high=15 mean_ns=30 mean_low_ns=29 mean_high_ns=31 p50_ns=50 \
                      p50_low_ns=49 p50_high_ns=51 min_ns=20 max_ns=90 method=fridge";
        let interval = "interval_start_ns=-3 interval_end_ns=-4";
        let of_flow = |delays| named(&of_flow(&report, &flow, delays));
        assert_eq!(
            named(&result(&report, &line)),
            format!(
                "start_ns=-1 end_ns=-2 match=dns leg=both group=g exact=false requests_carried_over=1 requests_seen=2 \
                 requests_not_admitted=3 requests_matched=4 requests_evicted=5 requests_expired=6 requests_ambiguous=7 \
                 requests_pending=8 responses_seen=9 responses_unmatched=10 samples=11 ambiguous_samples=12 {delays} {interval}"
            )
        );
        assert_eq!(
            of_flow(Some(&of)),
            format!(
                "start_ns=-1 end_ns=-2 match=dns leg=both exact=false samples=11 {delays} flow=f packets=14 bytes=15 \
                 uncounted_bytes=16 {interval}"
            )
        );
        let without = "start_ns=-1 end_ns=-2 method=fridge flow=f packets=14 bytes=15 uncounted_bytes=16";
        assert_eq!(of_flow(None), format!("{without} {interval}"));
    }
}
