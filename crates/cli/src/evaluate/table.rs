//! Tables of results: one block per workload, one line per case.

use crate::words;
use dwell_evaluate::metrics::Summary;
use dwell_evaluate::record::Results;
use dwell_evaluate::{Scale, label};
use std::io::{self, Write};

// Kinds of experiments: with relative errors, with errors of many flows, on queues, on actions at a queue, on rings of
// Bloom filters, and on networks.
mod control;
mod flows;
mod network;
mod queue;
mod relative;
mod ring;

/// Number of standard errors from which on an error counts as bias.
const BIASED: f64 = 3.0;

/// The summaries of one case.
type CaseSummaries<'a> = Vec<&'a Summary>;

/// Writes the cases of one kind of experiment.
type WriteCases<W> = fn(&[CaseSummaries<'_>], &mut W) -> io::Result<()>;

/// Writes the results of one experiment.
pub(super) fn write<W: Write>(results: &Results, to: &mut W) -> io::Result<()> {
    writeln!(to, "{}: {}", results.name, results.title)?;
    writeln!(to, "{}; {} size, {}", results.source, results.size, words::of(results.seeds, "seed"))?;
    let cases = cases(&results.summaries);
    if results.summaries.iter().any(|summary| summary.scale == Scale::Relative) {
        return relative::write(&cases, to);
    }
    let kinds: [(&str, WriteCases<W>); 5] = [
        (flows::MARK, flows::write),
        (ring::MARK, ring::write),
        (queue::MARK, queue::write),
        (control::MARK, control::write),
        (network::MARK, network::write),
    ];
    let has = |mark: &str| results.summaries.iter().any(|summary| summary.quantity == mark);
    if let Some((_, write)) = kinds.into_iter().find(|(mark, _)| has(mark)) {
        return write(&cases, to);
    }
    for (case, begun) in by_workload(&cases) {
        if let Some(workload) = begun {
            head(case, workload, width(&cases), to)?;
        }
        line(case, width(&cases), to)?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "median, rms: of |log2(estimate/truth)| over single runs; ten: rms after averaging the estimates of ten seeds.\n\
         bias: mean of log2(estimate/truth). in 95%: share of intervals that contain the truth. none: runs without an\n\
         estimate. octaves: of all octaves of delay, those whose mean count is {BIASED} or more standard errors from\n\
         the truth, or that were never sampled."
    )
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

/// The summaries of errors in octaves.
fn errors<'a>(case: &'a CaseSummaries<'a>) -> impl Iterator<Item = &'a Summary> {
    case.iter().copied().filter(|summary| summary.scale == Scale::Log2)
}

fn head(case: &CaseSummaries<'_>, workload: &str, width: usize, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "\n{workload}")?;
    write!(to, "  {:width$}", "")?;
    for summary in errors(case) {
        write!(to, "  {:^20}", summary.quantity)?;
    }
    write!(to, "\n  {:width$}", "")?;
    for summary in errors(case) {
        match is_largest(summary) {
            true => write!(to, "  {:>6} {:>6} {:>6}", "median", "rms", "ten")?,
            false => write!(to, "  {:>6} {:>6} {:>6}", "median", "bias", "in 95%")?,
        }
    }
    writeln!(to, "  {:>5} {:>7}", "none", "octaves")
}

/// Whether this is the maximum of several errors, which has no sign and no interval.
fn is_largest(summary: &Summary) -> bool {
    summary.quantity.starts_with("max_")
}

fn line(case: &CaseSummaries<'_>, width: usize, to: &mut impl Write) -> io::Result<()> {
    write!(to, "  {:width$}", name(case))?;
    for s in errors(case) {
        let [median, rms, ten] = [s.median_error, s.rms_error, s.ten_rms_error].map(|error| number(error, false));
        if is_largest(s) {
            write!(to, "  {median:>6} {rms:>6} {ten:>6}")?;
        } else {
            let share = s.covered.map_or_else(dash, |share| format!("{:.0}%", share * 100.0));
            write!(to, "  {median:>6} {:>6} {share:>6}", number(s.mean, true))?;
        }
    }
    let missing = errors(case).map(|summary| summary.missing).max().unwrap_or(0);
    let octaves = case.iter().filter(|summary| summary.quantity.starts_with("octave_"));
    let deviations: Vec<f64> = octaves.filter_map(|summary| summary.deviations_from_one()).collect();
    let biased = deviations.iter().filter(|deviation| deviation.abs() >= BIASED).count();
    writeln!(to, "  {missing:>5} {:>7}", format!("{biased}/{}", deviations.len()))
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
