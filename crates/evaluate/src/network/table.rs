use super::measure::{ALARM, FALSE_ALARM, FIRST, FIRST_OF_PATH};
use crate::table::{CaseSummaries, by_workload, mean, name, percent, width};
use std::io::{self, Write};

/// The quantities shown, with their column headings.
const COLUMNS: [(&str, &str); 4] =
    [(FIRST, "named"), (FIRST_OF_PATH, "of its path"), (ALARM, "in alarm"), (FALSE_ALARM, "false alarm")];

/// Writes the cases of an experiment on faulty links.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    let width = width(cases);
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            write!(to, "\n{workload}\n  {:width$}", "")?;
            COLUMNS.iter().try_for_each(|(_, head)| write!(to, "  {head:>12}"))?;
            writeln!(to)?;
        }
        write!(to, "  {:width$}", name(case))?;
        for (quantity, _) in COLUMNS {
            write!(to, "  {:>12}", percent(mean(case, quantity), 1))?;
        }
        writeln!(to)?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "named: faulty links ranked first of all links; of its path: ranked first on the longest path over the first of them.\n\
         in alarm: faulty links with an alarm. false alarm: runs with an alarm of a sound link or path at the last interval."
    )
}
