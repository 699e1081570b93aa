//! CSV (RFC 4180 with line feeds): one row per result line and interval, then those of flows; fields are empty where
//! JSON has `null`.

use super::{Delays, Flow, FlowResult, ResultLine, RttReport};
use crate::csv::{Rows, ends};
use crate::facts::Span;
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};

/// The columns before and after the mean and the quantiles.
const FIRST: [&str; 21] = [
    "start_ns",
    "end_ns",
    "match",
    "leg",
    "group",
    "exact",
    "requests_carried_over",
    "requests_seen",
    "requests_not_admitted",
    "requests_matched",
    "requests_evicted",
    "requests_expired",
    "requests_ambiguous",
    "requests_pending",
    "responses_seen",
    "responses_unmatched",
    "samples",
    "ambiguous_samples",
    "exchanges",
    "exchanges_low",
    "exchanges_high",
];

const LAST: [&str; 9] = [
    "min_ns",
    "max_ns",
    "method",
    "flow",
    "packets",
    "bytes",
    "uncounted_bytes",
    "interval_start_ns",
    "interval_end_ns",
];

/// The columns, in order. Times in nanoseconds.
pub fn columns() -> Vec<String> {
    crate::csv::columns(&FIRST, &["mean"], &LAST)
}

/// Writes the header.
pub fn write_head(to: &mut impl Write) -> io::Result<()> {
    Rows::new(to, columns())?.flush()
}

/// Writes the rows of a report; a time series is one call per interval.
pub fn write_rows(report: &RttReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::without_header(to);
    for line in &report.results {
        rows.write(&result(report, line))?;
    }
    for flow in &report.flows {
        for line in flow.results.iter().map(Some).chain(flow.results.is_empty().then_some(None)) {
            rows.write(&of_flow(report, flow, line))?;
        }
    }
    rows.flush()
}

fn result(report: &RttReport, line: &ResultLine) -> Vec<String> {
    let (requests, responses) = (&line.requests, &line.responses);
    let [start, end] = span(report.span_ns);
    let counts = [
        requests.carried_over,
        requests.seen,
        requests.not_admitted,
        requests.matched,
        requests.evicted,
        requests.expired,
        requests.ambiguous,
        requests.pending,
        responses.seen,
        responses.unmatched,
        line.samples,
        line.ambiguous_samples,
    ];
    let place = [start, end, line.matching.into(), line.leg.into(), line.group.clone(), exact(line.exchanges)];
    let mut cells = Vec::from(place);
    cells.extend(counts.map(|count| count.to_string()));
    cells.extend(estimates(line.exchanges, &line.delay_ns));
    cells.push(report.method.name.into());
    cells.extend([const { String::new() }; 4]);
    cells.extend(span(report.interval_ns));
    cells
}

/// A row for the delays of a flow, or for a flow without any delays.
fn of_flow(report: &RttReport, flow: &Flow, line: Option<&FlowResult>) -> Vec<String> {
    /// Number of columns on requests and responses, which only results have.
    const REQUESTS: usize = 10;
    let [start, end] = span(report.span_ns);
    let [matching, leg, is_exact, samples] = line.map_or_else(Default::default, |line| {
        [line.matching.to_owned(), line.leg.to_owned(), exact(line.exchanges), line.samples.to_string()]
    });
    let mut cells = vec![start, end, matching, leg, String::new(), is_exact];
    cells.extend([const { String::new() }; REQUESTS]);
    cells.extend([samples, String::new()]);
    cells.extend(estimates(line.and_then(|line| line.exchanges), &line.map(|line| line.delay_ns).unwrap_or_default()));
    cells.extend([report.method.name.to_owned(), flow.flow.clone()]);
    cells.extend([flow.packets, flow.bytes, flow.uncounted_bytes].map(|count| count.to_string()));
    cells.extend(span(report.interval_ns));
    cells
}

fn span(span: Option<Span>) -> [String; 2] {
    span.map_or_else(Default::default, |span| [span.start, span.end].map(|ns| ns.to_string()))
}

/// Whether the number of exchanges is exact; empty if there is none.
fn exact(exchanges: Option<Estimate<f64>>) -> String {
    exchanges.map_or_else(String::new, |e| e.is_exact().to_string())
}

/// Number of exchanges, then delays; all with the ends of their intervals, except for the minimum and maximum.
fn estimates(exchanges: Option<Estimate<f64>>, d: &Delays) -> Vec<String> {
    let mut cells = Vec::from(ends(exchanges));
    cells.extend([d.mean].into_iter().chain(d.quantiles).flat_map(ends));
    cells.extend([d.min, d.max].map(|e| e.map_or_else(String::new, |e| e.value.to_string())));
    cells
}
