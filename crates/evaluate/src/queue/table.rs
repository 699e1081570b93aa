use super::measure::facts::{BITS_PER_SECOND, CULPRITS, FLOWS, LONGEST_DELAY, WAITED};
use super::measure::{INCOMPLETE, MEDIAN_SIZE_ERROR, PRECISION, RECALL, SIZE_ERROR};
use crate::case::STATE_BYTES;
use crate::table::{CaseSummaries, by_workload, dash, find, mean, name, percent, width};
use std::io::{self, Write};

/// Writes the cases of an experiment on queues.
pub(crate) fn write(cases: &[CaseSummaries<'_>], to: &mut dyn Write) -> io::Result<()> {
    let width = width(cases);
    for (case, begun) in by_workload(cases) {
        if let Some(workload) = begun {
            writeln!(to, "\n{workload}")?;
            write!(to, "  {:width$}  {:>17}  {:>17}", "", "precision", "recall")?;
            writeln!(to, "  {:>17}  {:>10}  {:>7}", "error of sizes", "incomplete", "bytes")?;
        }
        write!(to, "  {:width$}  ", name(case))?;
        let Some(state) = mean(case, STATE_BYTES) else {
            facts(case, to)?;
            continue;
        };
        write!(to, "{:>17}  {:>17}", with_error(case, PRECISION), with_error(case, RECALL))?;
        let [error, median] = [SIZE_ERROR, MEDIAN_SIZE_ERROR].map(|q| kilobytes(mean(case, q)));
        let incomplete = percent(mean(case, INCOMPLETE), 1);
        writeln!(to, "  {:>17}  {incomplete:>10}  {state:>7.0}", format!("{error} ({median}) kB"))?;
    }
    writeln!(to)?;
    writeln!(
        to,
        "precision, recall: over packets that reached the threshold, mean over the runs ± its standard error. error of sizes:\n\
         of a flow in the queue, mean and median over packets. incomplete: answers for which windows were missing."
    )
}

/// Properties of the stream, and of the exact reference method.
fn facts(case: &CaseSummaries<'_>, to: &mut dyn Write) -> io::Result<()> {
    let of = |quantity| mean(case, quantity).unwrap_or(0.0);
    writeln!(
        to,
        "{:.2} Gb/s, longest delay {:.2} ms, {:.1}% of the packets waited, {:.1} flows and {:.1} culprits in a queue",
        of(BITS_PER_SECOND) / 1e9,
        of(LONGEST_DELAY) / 1e6,
        of(WAITED) * 100.0,
        of(FLOWS),
        of(CULPRITS),
    )
}

fn with_error(case: &CaseSummaries<'_>, quantity: &str) -> String {
    let Some((mean, error)) = find(case, quantity).and_then(|summary| summary.mean.zip(summary.standard_error)) else {
        return dash();
    };
    format!("{mean:.4} ± {error:.4}")
}

fn kilobytes(bytes: Option<f64>) -> String {
    bytes.map_or_else(dash, |bytes| format!("{:.1}", bytes / 1e3))
}
