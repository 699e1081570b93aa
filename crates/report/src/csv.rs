//! CSV (RFC 4180 with line feeds): one row per result line and interval, flat, empty where JSON has `null`.

use crate::rtt::{ResultLine, RttReport};
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};

/// The columns of [`write()`], in order. Times in nanoseconds.
pub const COLUMNS: [&str; 39] = [
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
    "mean_ns",
    "mean_low_ns",
    "mean_high_ns",
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
    "method",
];

/// Writes the head and the rows of all reports: one report, or one per interval.
pub fn write<'a>(reports: impl IntoIterator<Item = &'a RttReport>, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(COLUMNS).map_err(io_error)?;
    for report in reports {
        for line in &report.results {
            writer.write_record(record(report, line)).map_err(io_error)?;
        }
    }
    writer.flush()
}

/// The writer's own error, so that a closed pipe stays recognisable.
pub(crate) fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn record(report: &RttReport, line: &ResultLine) -> [String; COLUMNS.len()] {
    let time = |ns: Option<i64>| ns.map_or_else(String::new, |n| n.to_string());
    let ends = |e: Option<Estimate<i64>>| [time(e.map(|e| e.value)), time(e.map(|e| e.low)), time(e.map(|e| e.high))];
    let share = |e: Option<f64>| e.map_or_else(String::new, |e| e.to_string());
    let (requests, d) = (&line.requests, &line.delay_ns);
    let [mean, mean_low, mean_high] = ends(d.mean);
    let [p50, p50_low, p50_high] = ends(d.p50);
    let [p90, p90_low, p90_high] = ends(d.p90);
    let [p95, p95_low, p95_high] = ends(d.p95);
    let [p99, p99_low, p99_high] = ends(d.p99);
    [
        time(report.span_ns.map(|s| s.start)),
        time(report.span_ns.map(|s| s.end)),
        line.matching.into(),
        line.leg.into(),
        line.group.clone(),
        line.exchanges.map_or_else(String::new, |_| line.is_complete().to_string()),
        requests.carried_over.to_string(),
        requests.seen.to_string(),
        requests.not_admitted.to_string(),
        requests.matched.to_string(),
        requests.evicted.to_string(),
        requests.expired.to_string(),
        requests.ambiguous.to_string(),
        requests.pending.to_string(),
        line.responses.seen.to_string(),
        line.responses.unmatched.to_string(),
        line.samples.to_string(),
        line.ambiguous_samples.to_string(),
        share(line.exchanges.map(|e| e.value)),
        share(line.exchanges.map(|e| e.low)),
        share(line.exchanges.map(|e| e.high)),
        mean,
        mean_low,
        mean_high,
        p50,
        p50_low,
        p50_high,
        p90,
        p90_low,
        p90_high,
        p95,
        p95_low,
        p95_high,
        p99,
        p99_low,
        p99_high,
        time(d.min.map(|e| e.value)),
        time(d.max.map(|e| e.value)),
        report.method.name.into(),
    ]
}
