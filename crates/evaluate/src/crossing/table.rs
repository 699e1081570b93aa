use super::measure::{MEAN, MEAN_98, PACKETS, STD, STD_BY_PAPER};
use crate::metrics::Summary;
use crate::table::{CaseSummaries, by_workload, find, mean, name, percent, width};
use std::io::{self, Write};

/// Writes the cases of an experiment on one-way delays.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    let width = width(cases);
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            writeln!(to, "\n{workload}")?;
            writeln!(to, "  {:width$}  {:^31}  {:^16}  {:>7}", "", "mean delay", "deviation", "paper's")?;
            write!(to, "  {:width$}  {:>7} {:>7} {:>7} {:>7}", "", "error", "bias", "in 95%", "in 98%")?;
            writeln!(to, "  {:>8} {:>7}  {:>7}  {:>9}  {:>5}", "error", "in 95%", "error", "packets", "none")?;
        }
        line(case, width, to)?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "error: mean of |estimate/truth - 1| over single runs. bias: mean of estimate/truth - 1. in 95%, in 98%: share of\n\
         intervals that contain the truth. packets: number that an estimate is based on. none: runs without an estimate."
    )
}

fn line(case: &CaseSummaries<'_>, width: usize, to: &mut dyn Write) -> io::Result<()> {
    let shown = |quantity: &str, of: fn(&Summary) -> Option<f64>, digits: usize| {
        percent(find(case, quantity).and_then(of), digits)
    };
    let [error, std_error, paper_error] =
        [MEAN, STD, STD_BY_PAPER].map(|quantity| shown(quantity, |s| s.mean_relative_error, 2));
    let bias = shown(MEAN, |s| s.mean, 2);
    let [held, held_98, std_held] = [MEAN, MEAN_98, STD].map(|quantity| shown(quantity, |s| s.covered, 0));
    write!(to, "  {:width$}  {error:>7} {bias:>7} {held:>7} {held_98:>7}", name(case))?;
    let packets = mean(case, PACKETS).unwrap_or(0.0);
    let missing = find(case, MEAN).map_or(0, |summary| summary.missing);
    writeln!(to, "  {std_error:>8} {std_held:>7}  {paper_error:>7}  {packets:>9.0}  {missing:>5}")
}
