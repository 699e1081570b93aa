use crate::table::{CaseSummaries, by_workload, dash, mean, name, width};
use std::io::{self, Write};

/// Quantities and their column headings: those of all cases, then those only of flows with classes.
const SIZES: [(&str, &str); 6] = [
    ("10_99", "10-99"),
    ("100_499", "100-499"),
    ("500_999", "500-999"),
    ("1000_9999", "1000-9999"),
    ("10000_up", "10^4-"),
    ("1000_up", "1000-"),
];
const CLASSES: [(&str, &str); 3] = [("class_0", "class 0"), ("class_1", "class 1"), ("class_2", "class 2")];

/// Writes the cases of an experiment on the delays of flows.
pub(crate) fn write<W: Write>(cases: &[CaseSummaries<'_>], to: &mut W) -> io::Result<()> {
    let width = width(cases);
    let has_classes = cases.iter().flatten().any(|summary| summary.quantity == "error_class_0");
    let classes: &[_] = if has_classes { &CLASSES } else { &[] };
    let columns: Vec<_> = SIZES.iter().chain(classes).copied().collect();
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            write!(to, "\n{workload}\n  {:width$}", "")?;
            columns.iter().try_for_each(|(_, head)| write!(to, " {head:>9}"))?;
            writeln!(to, "  {:>6} {:>6}", "in 95%", "none")?;
        }
        write!(to, "  {:width$}", name(case))?;
        for (column, _) in &columns {
            write!(to, " {:>9}", share(case, "error", column, 3))?;
        }
        writeln!(to, "  {:>6} {:>6}", share(case, "covered", "100_up", 0), share(case, "none", "1000_up", 1))?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "Median of |estimate/truth - 1| over the flows of a size in a run, mean over the runs; classes from 100 packets on.\n\
         in 95%: share of intervals that contain the truth, from 100 packets on. none: flows without an estimate, from 1,000 on."
    )
}

fn share(case: &CaseSummaries<'_>, what: &str, of: &str, digits: usize) -> String {
    let quantity = format!("{what}_{of}");
    mean(case, &quantity).map_or_else(dash, |mean| format!("{:.digits$}%", mean * 100.0))
}
