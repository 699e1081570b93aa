use super::LARGEST;
use super::measure::OCTAVE;
use crate::case::Scale;
use crate::metrics::Summary;
use crate::table::{CaseSummaries, by_workload, name, number, percent, width};
use std::io::{self, Write};

/// Number of standard errors from which on an error counts as bias.
const BIASED: f64 = 3.0;

/// Writes the cases of an experiment on response times.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            head(case, workload, width(cases), to)?;
        }
        line(case, width(cases), to)?;
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

/// The summaries of errors in octaves.
fn errors<'a>(case: &'a CaseSummaries<'a>) -> impl Iterator<Item = &'a Summary> {
    case.iter().copied().filter(|summary| summary.scale == Scale::Log2)
}

fn head(case: &CaseSummaries<'_>, workload: &str, width: usize, to: &mut dyn Write) -> io::Result<()> {
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
    summary.quantity == LARGEST
}

fn line(case: &CaseSummaries<'_>, width: usize, to: &mut dyn Write) -> io::Result<()> {
    write!(to, "  {:width$}", name(case))?;
    for s in errors(case) {
        let [median, rms, ten] = [s.median_error, s.rms_error, s.ten_rms_error].map(|error| number(error, false));
        if is_largest(s) {
            write!(to, "  {median:>6} {rms:>6} {ten:>6}")?;
        } else {
            let share = percent(s.covered, 0);
            write!(to, "  {median:>6} {:>6} {share:>6}", number(s.mean, true))?;
        }
    }
    let missing = errors(case).map(|summary| summary.missing).max().unwrap_or(0);
    let octaves = case.iter().filter(|summary| summary.quantity.starts_with(OCTAVE));
    let deviations: Vec<f64> = octaves.filter_map(|summary| summary.deviations_from_one()).collect();
    let biased = deviations.iter().filter(|deviation| deviation.abs() >= BIASED).count();
    writeln!(to, "  {missing:>5} {:>7}", format!("{biased}/{}", deviations.len()))
}
