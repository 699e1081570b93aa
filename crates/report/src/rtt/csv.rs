//! CSV (RFC 4180 with line feeds): one row per result line and interval, then those of flows; fields are empty where
//! JSON has `null`.

use super::{Delays, Flow, FlowResult, ResultLine, RttReport};
use crate::csv::{Rows, ends, span, text};
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

/// Whether the number of exchanges is exact; empty if there is none.
fn exact(exchanges: Option<Estimate<f64>>) -> String {
    text(exchanges.map(|all| all.is_exact()))
}

/// Number of exchanges, then delays; all with the ends of their intervals, except for the minimum and maximum.
fn estimates(exchanges: Option<Estimate<f64>>, d: &Delays) -> Vec<String> {
    let mut cells = Vec::from(ends(exchanges));
    cells.extend([d.mean].into_iter().chain(d.quantiles).flat_map(ends));
    cells.extend([d.min, d.max].map(|end| text(end.map(|end| end.value))));
    cells
}

#[cfg(test)]
mod tests {
    use super::super::{Requests, Responses, SCHEMA};
    use super::*;
    use crate::facts::{Memory, MethodFacts, Span};
    use crate::quantiles::{P50, Quantiles};
    use std::collections::BTreeMap;

    /// The cells of a row that are not empty, with the names of their columns.
    fn named(row: Vec<String>) -> String {
        let columns = columns();
        assert_eq!(row.len(), columns.len());
        let named = columns.iter().zip(row).filter(|(_, cell)| !cell.is_empty());
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
            histogram: Vec::new(),
            cdf: Vec::new(),
            dependent: None,
        };
        let flow = Flow { flow: "f".into(), packets: 14, bytes: 15, uncounted_bytes: 16, results: Vec::new() };
        let (matching, leg, samples) = (line.matching, line.leg, line.samples);
        let of = FlowResult { matching, leg, samples, exchanges: line.exchanges, delay_ns: line.delay_ns };
        let report = RttReport {
            schema: SCHEMA,
            sources: Vec::new(),
            warnings: Vec::new(),
            span_ns: Some(Span { start: -1, end: -2 }),
            interval_ns: Some(Span { start: -3, end: -4 }),
            frames: None,
            memory: Memory { budget_bytes: None, state_bytes: 0 },
            method: MethodFacts { name: "fridge", exact: false, parameters: BTreeMap::new() },
            quic: None,
            results: Vec::new(),
            flows: Vec::new(),
        };
        let delays = "exchanges=13.5 exchanges_low=12 exchanges_high=15 mean_ns=30 mean_low_ns=29 mean_high_ns=31 p50_ns=50 \
                      p50_low_ns=49 p50_high_ns=51 min_ns=20 max_ns=90 method=fridge";
        let interval = "interval_start_ns=-3 interval_end_ns=-4";
        let of_flow = |line| named(of_flow(&report, &flow, line));
        assert_eq!(
            named(result(&report, &line)),
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
