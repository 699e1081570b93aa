//! A comparison as a table: one line per memory and method.

use super::results::{LOSS, QUANTITIES};
use super::{Errors, Line, MethodFacts, Results};
use crate::table::percent;
use dwell_report::text::{self, exact_bytes};
use dwell_types::Nanos;
use std::io::{self, Write};

/// Writes the results.
pub fn write(results: &Results, to: &mut impl Write) -> io::Result<()> {
    let packets = &results.packets;
    let interval = Nanos::new(results.interval_ns);
    let seeds = text::of(results.seeds, "seed");
    let intervals = text::of(packets.intervals, "interval");
    writeln!(to, "{}: {seeds}, {intervals} of {interval}", text::plain(&results.sources.join(" → ")))?;
    for warning in &results.warnings {
        writeln!(to, "warning: {warning}")?;
    }
    truth(results, to)?;
    let left_out = packets.ambiguous + packets.uncovered + packets.unsent;
    if left_out > 0 {
        let (ambiguous, uncovered, unsent) = (packets.ambiguous, packets.uncovered, packets.unsent);
        writeln!(to, "left out: {ambiguous} ambiguous, {uncovered} uncovered, {unsent} seen only at the receiver")?;
    }
    lines(results, to)?;
    writeln!(
        to,
        "\nError: difference from the true value, as a share of it; median and rms over seeds and intervals. in 95%: share of the\n\
         95% intervals that contain the true value. none: without an estimate, not included in the others, which are left out\n\
         (–) where this is more than one run in 20.\n"
    )?;
    writeln!(to, "{}", recommendation(results))
}

fn truth(results: &Results, to: &mut impl Write) -> io::Result<()> {
    let (packets, truth) = (&results.packets, &results.truth);
    write!(to, "\n{} packets sent, {} lost", packets.sent, packets.lost)?;
    if let Some(loss) = truth.loss_share {
        write!(to, " ({:.2}%)", loss * 100.0)?;
    }
    for (name, value) in [("mean", truth.mean_ns), ("deviation", truth.std_ns)] {
        if let Some(ns) = value {
            write!(to, ", {name} {}", Nanos::new(ns.round() as i64))?;
        }
    }
    writeln!(to)
}

fn lines(results: &Results, to: &mut impl Write) -> io::Result<()> {
    let sizes: Vec<String> = results.results.iter().map(|line| exact_bytes(line.memory_bytes)).collect();
    let width = results.methods.iter().map(|method| method.name.len()).max().unwrap_or(0);
    let gap = 2 + sizes.iter().map(|size| size.chars().count()).max().unwrap_or(0);
    let head = width + gap;
    writeln!(to, "{:head$}  {:^29}  {:^29}  {:^14}", "", "mean", "deviation", "loss")?;
    write!(to, "{:head$}", "")?;
    for _ in 0..2 {
        write!(to, "  {:>7} {:>7} {:>7} {:>5}", "median", "rms", "in 95%", "none")?;
    }
    writeln!(to, "  {:>7} {:>7}", "median", "rms")?;
    for (line, size) in results.results.iter().zip(&sizes) {
        write!(to, "{:<width$}{size:>gap$}", line.method.name())?;
        cells(line, to)?;
    }
    Ok(())
}

fn cells(line: &Line, to: &mut impl Write) -> io::Result<()> {
    if let Some(needed) = line.needed_bytes {
        return writeln!(to, "  needs {}", exact_bytes(needed.next_multiple_of(64)));
    }
    for (quantity, _) in QUANTITIES {
        let errors = line.errors.get(quantity);
        let told = errors.and_then(Errors::told);
        let of = |value: fn(&Errors) -> Option<f64>| error(told.and_then(value));
        write!(to, "  {:>7} {:>7}", of(|e| e.median_relative), of(|e| e.rms_relative))?;
        if quantity != LOSS {
            let covered = percent(told.and_then(|e| e.covered_share), 0);
            write!(to, " {covered:>7} {:>5}", errors.map_or(0, |e| e.missing))?;
        }
    }
    writeln!(to)
}

fn recommendation(results: &Results) -> String {
    let (offered, compared): (Vec<&MethodFacts>, _) = results.methods.iter().partition(|method| method.is_offered);
    let names = |methods: &[&MethodFacts]| methods.iter().map(|method| method.name).collect::<Vec<_>>().join(", ");
    let not_offered = match &compared[..] {
        [] => String::new(),
        others => format!("\nonly compared, dwell owd does not have them: {}.", names(others)),
    };
    let Some(best) = &results.recommended else {
        let reason = if results.packets.intervals == 0 {
            "no interval with at least three received packets"
        } else if offered.is_empty() {
            "nothing to recommend"
        } else {
            "no method of dwell owd gave an estimate"
        };
        return format!("{reason}.{not_offered}");
    };
    let (method, memory, error) =
        (best.method.name(), exact_bytes(best.memory_bytes), error(Some(best.mean_error_relative)));
    let median = format!("error of the mean {error}, median of seeds and intervals");
    let command = best.command.as_ref().map_or_else(String::new, |command| format!("\nas in {command}"));
    if best.is_good {
        return format!("{method} in {memory} is enough: {median}.{command}{not_offered}");
    }
    format!(
        "no method of dwell owd is reliably below 5%; the best is {method} in {memory}: {median}.{command}{not_offered}"
    )
}

/// A share as a percentage, or as a multiple of the true value from ten on.
fn error(share: Option<f64>) -> String {
    let Some(share) = share else { return text::DASH.to_owned() };
    match share.abs() * 100.0 {
        0.0 => "0%".to_owned(),
        p if p < 0.995 => format!("{p:.2}%"),
        p if p < 9.95 => format!("{p:.1}%"),
        p if p < 999.5 => format!("{p:.0}%"),
        p => format!("×{:.0}", p / 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_well() {
        let cases =
            [(None, "–"), (Some(0.0), "0%"), (Some(0.0012), "0.12%"), (Some(-0.05), "5.0%"), (Some(0.41), "41%")];
        for (share, text) in cases.into_iter().chain([(Some(9.99), "999%"), (Some(12.0), "×12")]) {
            assert_eq!(error(share), text);
        }
    }
}
