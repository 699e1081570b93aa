//! What tables of results have in common: one block per workload, one line per case. What the blocks and lines show is
//! beside the measures of each kind.

use crate::case::Quantity;
use crate::metrics::Summary;
use dwell_report::text;
use std::io::{self, Write};

/// What the results of a kind of experiment look like for people.
pub(crate) trait Tabled {
    /// What the columns are, below the table.
    const LEGEND: &'static str;

    /// What is over the columns of a workload, whose first case this is.
    fn heads(case: &[Summary]) -> Vec<String>;

    /// What a case has in the columns, behind its name.
    fn line(case: &[Summary]) -> String;
}

/// Writes a block for each workload, then the legend; the summaries of a case are adjacent.
pub(crate) fn write<T: Tabled>(summaries: &[Summary], to: &mut dyn Write) -> io::Result<()> {
    let same =
        |a: &Summary, b: &Summary| (&a.workload, &a.method, &a.parameters) == (&b.workload, &b.method, &b.parameters);
    let width = summaries.iter().map(|summary| text::width(&summary.configuration())).max().unwrap_or(0);
    let mut workload = None;
    for case in summaries.chunk_by(same) {
        let [first, ..] = case else { continue };
        if workload.replace(&first.workload) != Some(&first.workload) {
            writeln!(to, "\n{}", first.workload)?;
            T::heads(case).iter().try_for_each(|head| writeln!(to, "  {}{head}", text::blanks("", width)))?;
        }
        let name = first.configuration();
        writeln!(to, "  {name}{}{}", text::blanks(&name, width), T::line(case))?;
    }
    writeln!(to, "\n{}", T::LEGEND)
}

/// The summary of a quantity.
pub(crate) fn find<'a>(case: &'a [Summary], quantity: &Quantity) -> Option<&'a Summary> {
    case.iter().find(|summary| summary.quantity == quantity.name)
}

/// The mean of a quantity.
pub(crate) fn mean(case: &[Summary], quantity: &Quantity) -> Option<f64> {
    find(case, quantity).and_then(|summary| summary.mean)
}

/// A share in percent, or a dash if there is none.
pub(crate) fn percent(share: Option<f64>, digits: usize) -> String {
    text::or_dash(share, |share| format!("{:.digits$}%", share * 100.0))
}

/// `.021`, `1.32`, or a dash if there is no value.
pub(crate) fn number(value: Option<f64>, signed: bool) -> String {
    let Some(value) = value else { return text::DASH.to_owned() };
    let text = if signed { format!("{value:+.3}") } else { format!("{value:.3}") };
    match text.replacen("0.", ".", 1) {
        short if value.abs() < 1.0 && text.trim_start_matches(['+', '-']).starts_with("0.") => short,
        _ => format!("{value:.2}"),
    }
}
