use super::measure::{
    COVERED, ERROR, FROM_1_000, FROM_10_000, FROM_100, NONE, OF_1_000, OF_10, OF_100, OF_500, class_name, quantity,
};
use crate::table::{CaseSummaries, by_workload, mean, name, percent, width};
use std::io::{self, Write};

/// Groups of flows by size, and their column headings.
const SIZES: [(&str, &str); 6] = [
    (OF_10, "10-99"),
    (OF_100, "100-499"),
    (OF_500, "500-999"),
    (OF_1_000, "1000-9999"),
    (FROM_10_000, "10^4-"),
    (FROM_1_000, "1000-"),
];
/// Number of classes with a column each, where flows have classes.
const CLASSES: usize = 3;

/// Writes the cases of an experiment on the delays of flows.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    let width = width(cases);
    let of_class = quantity(ERROR, &class_name(0));
    let has_classes = cases.iter().flatten().any(|summary| summary.quantity == of_class);
    let classes = (0..if has_classes { CLASSES } else { 0 }).map(|class| (class_name(class), format!("class {class}")));
    let sizes = SIZES.into_iter().map(|(size, head)| (size.to_owned(), head.to_owned()));
    let columns: Vec<(String, String)> = sizes.chain(classes).collect();
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            write!(to, "\n{workload}\n  {:width$}", "")?;
            columns.iter().try_for_each(|(_, head)| write!(to, " {head:>9}"))?;
            writeln!(to, "  {:>6} {:>6}", "in 95%", "none")?;
        }
        write!(to, "  {:width$}", name(case))?;
        for (group, _) in &columns {
            write!(to, " {:>9}", share(case, ERROR, group, 3))?;
        }
        writeln!(to, "  {:>6} {:>6}", share(case, COVERED, FROM_100, 0), share(case, NONE, FROM_1_000, 1))?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "Median of |estimate/truth - 1| over the flows of a size in a run, mean over the runs; classes from 100 packets on.\n\
         in 95%: share of intervals that contain the truth, from 100 packets on. none: flows without an estimate, from 1,000 on."
    )
}

fn share(case: &CaseSummaries<'_>, what: &str, group: &str, digits: usize) -> String {
    percent(mean(case, &quantity(what, group)), digits)
}
