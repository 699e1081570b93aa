use super::measure::{LARGE_DROPPED, LARGE_MARKED, PEAK, SMALL_DELAY, SMALL_DROPPED, SMALL_MARKED};
use crate::table::{CaseSummaries, by_workload, find, mean, name, width};
use std::io::{self, Write};

/// Writes the cases of an experiment on actions at a queue.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    let width = width(cases);
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            writeln!(to, "\n{workload}")?;
            writeln!(
                to,
                "  {:width$}  {:>15}  {:^17}  {:^17}  {:>8}",
                "", "longest", "small flows", "bursts", "small"
            )?;
            write!(to, "  {:width$}  {:>15}  {:>8} {:>8}", "", "queue", "dropped", "marked")?;
            writeln!(to, "  {:>8} {:>8}  {:>8}", "dropped", "marked", "delay")?;
        }
        let mean = |quantity: &str| mean(case, quantity).unwrap_or(0.0);
        let error = find(case, PEAK).and_then(|summary| summary.standard_error).unwrap_or(0.0);
        let peak = format!("{:.2} ± {:.2} MB", mean(PEAK) / 1e6, error / 1e6);
        write!(to, "  {:width$}  {peak:>15}", name(case))?;
        for of_kind in [[SMALL_DROPPED, SMALL_MARKED], [LARGE_DROPPED, LARGE_MARKED]] {
            let [dropped, marked] = of_kind.map(|quantity| 100.0 * mean(quantity));
            write!(to, "  {dropped:>7.3}% {marked:>7.3}%")?;
        }
        writeln!(to, "  {:>5.1} µs", mean(SMALL_DELAY) / 1e3)?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "longest queue: mean of the runs' ± its standard error. dropped, marked: shares of bytes. small delay: mean over packets."
    )
}
