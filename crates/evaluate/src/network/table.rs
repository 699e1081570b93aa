use crate::table::{CaseSummaries, by_workload, dash, mean, name, width};
use std::io::{self, Write};

const FALSE_ALARM: &str = "false_alarm";

/// The quantities shown, with their column headings.
const COLUMNS: [(&str, &str); 4] =
    [("first", "named"), ("first_of_path", "of its path"), ("alarm", "in alarm"), (FALSE_ALARM, "false alarm")];

/// Writes the cases of an experiment on faulty links.
pub(crate) fn write<W: Write>(cases: &[CaseSummaries<'_>], to: &mut W) -> io::Result<()> {
    let width = width(cases);
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            write!(to, "\n{workload}\n  {:width$}", "")?;
            COLUMNS.iter().try_for_each(|(_, head)| write!(to, "  {head:>12}"))?;
            writeln!(to)?;
        }
        write!(to, "  {:width$}", name(case))?;
        for (quantity, _) in COLUMNS {
            let share = mean(case, quantity).map_or_else(dash, |share| format!("{:.1}%", share * 100.0));
            write!(to, "  {share:>12}")?;
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
