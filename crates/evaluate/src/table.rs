//! What tables of results have in common: one block per workload, one line per case. What the blocks and lines show is
//! beside the measures of each kind.

use crate::case::Quantity;
use crate::metrics::Summary;
use dwell_report::text;
use std::io::{self, Write};

/// The summaries of each case, which are adjacent.
pub(crate) fn cases(summaries: &[Summary]) -> Vec<&[Summary]> {
    let same =
        |a: &Summary, b: &Summary| (&a.workload, &a.method, &a.parameters) == (&b.workload, &b.method, &b.parameters);
    summaries.chunk_by(same).collect()
}

/// Writes a block for each workload: its name, `heads` of its first case over the columns, and a `line` for each case,
/// behind its name; then what the columns are.
pub(crate) fn write(
    cases: &[&[Summary]],
    heads: impl Fn(&[Summary]) -> Vec<String>,
    line: impl Fn(&[Summary]) -> String,
    columns: &str,
    to: &mut dyn Write,
) -> io::Result<()> {
    let widths = cases.iter().filter_map(|case| case.first()).map(|first| text::width(&first.configuration()));
    let width = widths.max().unwrap_or(0);
    let mut workload = None;
    for case in cases {
        let Some(first) = case.first() else { continue };
        if workload.replace(&first.workload) != Some(&first.workload) {
            writeln!(to, "\n{}", first.workload)?;
            heads(case).iter().try_for_each(|head| writeln!(to, "  {}{head}", text::blanks("", width)))?;
        }
        let name = first.configuration();
        writeln!(to, "  {name}{}{}", text::blanks(&name, width), line(case))?;
    }
    writeln!(to, "\n{columns}")
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
