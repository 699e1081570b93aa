use crate::metrics::Summary;
use crate::table::{CaseSummaries, by_workload, name, width};
use std::io::{self, Write};

/// Writes the cases of an experiment on one-way delays.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut impl Write) -> io::Result<()> {
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

fn line(case: &CaseSummaries<'_>, width: usize, to: &mut impl Write) -> io::Result<()> {
    let find = |quantity: &str| case.iter().copied().find(|summary| summary.quantity == quantity);
    let shown = |quantity: &str, of: fn(&Summary) -> Option<f64>, digits: usize| {
        let value = find(quantity).and_then(of);
        value.map_or_else(|| "–".to_owned(), |value| format!("{:.digits$}%", value * 100.0))
    };
    let [error, std_error, paper_error] =
        ["mean", "std", "std_paper"].map(|quantity| shown(quantity, |s| s.mean_relative_error, 2));
    let bias = shown("mean", |s| s.mean, 2);
    let [held, held_98, std_held] = ["mean", "mean_98", "std"].map(|quantity| shown(quantity, |s| s.covered, 0));
    write!(to, "  {:width$}  {error:>7} {bias:>7} {held:>7} {held_98:>7}", name(case))?;
    let packets = find("packets").and_then(|summary| summary.mean).unwrap_or(0.0);
    let missing = find("mean").map_or(0, |summary| summary.missing);
    writeln!(to, "  {std_error:>8} {std_held:>7}  {paper_error:>7}  {packets:>9.0}  {missing:>5}")
}
