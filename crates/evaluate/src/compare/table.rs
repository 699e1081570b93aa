//! A comparison as tables: one block per match and leg, one line per memory and method.

use super::{Errors, LARGEST, LegResult, Line, MatchResult, MethodFacts, Results};
use crate::delay::SINGLE;
use crate::table::percent;
use dwell_report::text::{self, exact_bytes};
use dwell_types::Nanos;
use std::io::{self, Write};

/// Writes the results.
pub fn write(results: &Results, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}: {}", text::plain(&results.sources.join(", ")), text::of(results.seeds, "seed"))?;
    for warning in &results.warnings {
        writeln!(to, "warning: {warning}")?;
    }
    for matched in &results.matches {
        for leg in &matched.legs {
            block(results, matched.matching, leg, to)?;
        }
    }
    writeln!(
        to,
        "\nError: difference from the true value, up or down; median and rms over single seeds; avg: rms after averaging the\n\
         estimates of ten seeds. in 95%: share of seeds whose 95% interval contains the true value. none: seeds without an\n\
         estimate, not included in the others, which are left out (–) where this is more than one seed in 20. max: the largest\n\
         error over p5, p10 … p95."
    )?;
    for (names, knowledge) in knowledgeable(&results.methods) {
        writeln!(to, "* Prior knowledge of {}: {knowledge}.", names.join(", "))?;
    }
    if results.methods.iter().all(|method| method.prior_knowledge.is_none()) {
        writeln!(to, "None of the methods needs prior knowledge.")?;
    }
    writeln!(to)?;
    results.matches.iter().try_for_each(|matched| writeln!(to, "{}", recommendation(matched, results.seeds)))
}

/// Methods grouped by the prior knowledge that they need.
fn knowledgeable(methods: &[MethodFacts]) -> Vec<(Vec<&str>, &str)> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for method in methods {
        let Some(knowledge) = method.prior_knowledge.as_deref() else { continue };
        match groups.iter_mut().find(|(_, of_group)| *of_group == knowledge) {
            Some((names, _)) => names.push(method.name),
            None => groups.push((vec![method.name], knowledge)),
        }
    }
    groups
}

fn block(results: &Results, matching: &str, leg: &LegResult, to: &mut impl Write) -> io::Result<()> {
    write!(to, "\n{matching} {}: {} exchanges", leg.leg, leg.exchanges)?;
    let truth = leg.truth_ns;
    for (name, delay) in SINGLE.into_iter().zip([truth.p50, truth.p95, truth.p99]) {
        if let Some(delay) = delay {
            write!(to, ", {name} {}", Nanos::new(delay))?;
        }
    }
    let names: Vec<String> = leg.results.iter().map(|line| name(results, line)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let sizes: Vec<String> = leg.results.iter().map(|line| exact_bytes(line.memory_bytes)).collect();
    let head = width + 2 + sizes.iter().map(|size| size.chars().count()).max().unwrap_or(0);
    write!(to, "\n{:head$}", "")?;
    for quantity in SINGLE {
        write!(to, "  {quantity:^21}")?;
    }
    write!(to, "  {:^21}\n{:head$}", "max", "")?;
    for _ in SINGLE {
        write!(to, "  {:>6} {:>6} {:>7}", "median", "rms", "in 95%")?;
    }
    writeln!(to, "  {:>6} {:>6} {:>7}  {:>4}", "median", "rms", "avg", "none")?;
    for ((line, name), size) in leg.results.iter().zip(&names).zip(&sizes) {
        let gap = head - width;
        write!(to, "{name:<width$}{size:>gap$}")?;
        cells(line, results.seeds, to)?;
    }
    Ok(())
}

/// The name of the method, marked if it needs prior knowledge.
fn name(results: &Results, line: &Line) -> String {
    let is_marked = |method: &str| results.methods.iter().any(|m| m.name == method && m.prior_knowledge.is_some());
    format!("{}{}", line.method, if is_marked(line.method) { "*" } else { "" })
}

fn cells(line: &Line, seeds: u64, to: &mut impl Write) -> io::Result<()> {
    if let Some(needed) = line.needed_bytes {
        return writeln!(to, "  needs {}", exact_bytes(needed.next_multiple_of(1024)));
    }
    let find = |quantity: &str| line.errors.get(quantity)?.told(seeds);
    for errors in SINGLE.map(find) {
        let of = |value: fn(&Errors) -> Option<f64>| error(errors.and_then(value));
        let covered = percent(errors.and_then(|e| e.covered_share), 0);
        write!(to, "  {:>6} {:>6} {covered:>7}", of(|e| e.median_octaves), of(|e| e.rms_octaves))?;
    }
    let of = |value: fn(&Errors) -> Option<f64>| error(find(LARGEST).and_then(value));
    let missing = line.errors.values().map(|errors| errors.missing).max().unwrap_or(0);
    let (median, rms, ten) = (of(|e| e.median_octaves), of(|e| e.rms_octaves), of(|e| e.ten_rms_octaves));
    writeln!(to, "  {median:>6} {rms:>6} {ten:>7}  {missing:>4}")
}

fn recommendation(matched: &MatchResult, seeds: u64) -> String {
    let seeds = text::of(seeds, "seed");
    let name = matched.matching;
    let Some(best) = &matched.recommended else {
        let lines = matched.legs.iter().flat_map(|leg| &leg.results);
        let mut errors = lines.filter_map(|line| line.errors.get(LARGEST)).peekable();
        let reason = if matched.legs.is_empty() {
            "no exchanges"
        } else if errors.peek().is_some() && errors.all(|errors| errors.missing == 0) {
            "no delay is above zero, so errors in percent are undefined"
        } else {
            "no method gave an estimate"
        };
        return format!("{name}: {reason}.");
    };
    let leg = match matched.legs.len() {
        1 => String::new(),
        _ if best.max_error_octaves == 0.0 => String::new(),
        _ => format!(", worst leg ({})", best.worst_leg),
    };
    let (method, memory, error) = (best.method, exact_bytes(best.memory_bytes), error(Some(best.max_error_octaves)));
    if best.is_good {
        return format!("{name}: {method} in {memory} is enough: max error {error}, median of {seeds}{leg}.");
    }
    format!(
        "{name}: no method stays below 5%; the best is {method} in {memory}: max error {error}, median of \
         {seeds}{leg}."
    )
}

/// Octaves as a percentage of the smaller of estimate and true value, or as a factor from two on.
fn error(octaves: Option<f64>) -> String {
    let Some(octaves) = octaves else { return text::DASH.to_owned() };
    let factor = octaves.exp2();
    let percent = (factor - 1.0) * 100.0;
    match percent {
        0.0 => "0%".to_owned(),
        p if p < 9.95 => format!("{p:.1}%"),
        p if p < 99.5 => format!("{p:.0}%"),
        _ if factor < 99.5 => format!("×{factor:.1}"),
        _ => format!("×{factor:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_well() {
        for (octaves, text) in [
            (None, "–"),
            (Some(0.0), "0%"),
            (Some(0.0703), "5.0%"),
            (Some(0.5), "41%"),
            (Some(1.0), "×2.0"),
            (Some(7.0), "×128"),
        ] {
            assert_eq!(error(octaves), text);
        }
    }
}
