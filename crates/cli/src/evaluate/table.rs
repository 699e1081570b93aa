//! Tables of results: one block per workload, one line per case.

use dwell_evaluate::metrics::Summary;
use dwell_evaluate::record::Results;
use dwell_evaluate::{Kind, label};
use dwell_report::text;
use std::io::{self, Write};

// One for each kind of experiment.
mod control;
mod crossing;
mod delay;
mod flows;
mod network;
mod queue;
mod ring;

/// The summaries of one case.
type CaseSummaries<'a> = Vec<&'a Summary>;

/// Writes the results of one experiment.
pub(super) fn write(kind: Kind, results: &Results, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}: {}", results.name, results.title)?;
    writeln!(to, "{}; {} size, {}", results.source, results.size, text::of(results.seeds, "seed"))?;
    let cases = cases(&results.summaries);
    match kind {
        Kind::Delay => delay::write(&cases, to),
        Kind::Crossing => crossing::write(&cases, to),
        Kind::Flows => flows::write(&cases, to),
        Kind::Ring => ring::write(&cases, to),
        Kind::Queue => queue::write(&cases, to),
        Kind::Control => control::write(&cases, to),
        Kind::Network => network::write(&cases, to),
    }
}

/// The summaries of each case, which are adjacent.
fn cases(summaries: &[Summary]) -> Vec<CaseSummaries<'_>> {
    let same =
        |a: &Summary, b: &Summary| (&a.workload, &a.method, &a.parameters) == (&b.workload, &b.method, &b.parameters);
    summaries.chunk_by(same).map(|case| case.iter().collect()).collect()
}

/// The cases; the first case of each workload with the workload's name.
fn by_workload<'a>(cases: &'a [CaseSummaries<'a>]) -> impl Iterator<Item = (&'a CaseSummaries<'a>, Option<&'a str>)> {
    let mut last = None;
    cases.iter().filter_map(move |case| {
        let workload = case.first()?.workload.as_str();
        Some((case, (last.replace(workload) != Some(workload)).then_some(workload)))
    })
}

/// The mean of a quantity.
fn mean(case: &CaseSummaries<'_>, quantity: &str) -> Option<f64> {
    case.iter().find(|summary| summary.quantity == quantity).and_then(|summary| summary.mean)
}

/// Stands for a missing value.
fn dash() -> String {
    "–".to_owned()
}

fn name(case: &CaseSummaries<'_>) -> String {
    let first = case.first();
    first.map(|s| format!("{} {}", s.method, label(&s.parameters)).trim_end().to_owned()).unwrap_or_default()
}

fn width(cases: &[CaseSummaries<'_>]) -> usize {
    cases.iter().map(|case| name(case).chars().count()).max().unwrap_or(0)
}

/// `.021`, `1.32`, or a dash if there is no value.
fn number(value: Option<f64>, signed: bool) -> String {
    let Some(value) = value else { return dash() };
    let text = if signed { format!("{value:+.3}") } else { format!("{value:.3}") };
    match text.replacen("0.", ".", 1) {
        short if value.abs() < 1.0 && text.trim_start_matches(['+', '-']).starts_with("0.") => short,
        _ => format!("{value:.2}"),
    }
}
