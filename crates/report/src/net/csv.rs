//! CSV: one row per instrumented router, per probe, or per segment and path.

use super::{DelayShift, LocalizeReport, PathsReport, PlanReport, Probe};
use crate::csv::Rows;
use std::io::{self, Write};

/// Writes the curve of a plan.
pub fn write_plan(report: &PlanReport, to: &mut impl Write) -> io::Result<()> {
    let head = [
        "routers",
        "added",
        "cost",
        "segments",
        "probe_hops",
        "granularity_mean",
        "granularity_min",
        "granularity_max",
    ];
    let mut rows = Rows::new(to, head)?;
    for point in &report.curve {
        let [mean, min, max] = point.granularity.map_or([None; 3], |g| [g.mean, g.min as f64, g.max as f64].map(Some));
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        rows.write(&[
            point.routers.to_string(),
            point.added.clone().unwrap_or_default(),
            point.cost.to_string(),
            point.segments.to_string(),
            point.probe_hops.to_string(),
            text(mean),
            text(min),
            text(max),
        ])?;
    }
    rows.flush()
}

/// Writes the probes; the routers in between are joined by spaces.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::new(to, ["from", "to", "hops", "via"])?;
    for probe in &report.probes {
        rows.write(&(&probe.from, &probe.to, probe.hops, probe.via.join(" ")))?;
    }
    rows.flush()
}

/// Writes the verdict on every segment, then the verdict on every listed path.
pub fn write_localize(report: &LocalizeReport, to: &mut impl Write) -> io::Result<()> {
    let head = [
        "kind",
        "from",
        "to",
        "hops",
        "via",
        "since_ns",
        "intervals",
        "usual_ns",
        "spread_ns",
        "found_ns",
        "excess_ns",
        "score",
        "p_value",
        "alarm",
        "probability",
        "loss_usual",
        "loss_found",
        "loss_p_value",
        "loss_alarm",
    ];
    let mut rows = Rows::new(to, head)?;
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for line in &report.segments {
        let loss = line.loss.map(|loss| [Some(loss.usual), Some(loss.found), Some(loss.p_value)]).unwrap_or_default();
        let mut record = verdict("segment", &line.segment, line.delay.as_ref());
        record.push(text(line.probability));
        record.extend(loss.map(text));
        record.push(line.loss.map_or_else(String::new, |loss| loss.alarm.to_string()));
        rows.write(&record)?;
    }
    for line in &report.path_lines {
        let mut record = verdict("path", &line.path, line.delay.as_ref());
        record.extend([String::new(), String::new(), text(line.loss), String::new(), String::new()]);
        rows.write(&record)?;
    }
    rows.flush()
}

fn verdict(kind: &str, of: &Probe, delay: Option<&DelayShift>) -> Vec<String> {
    let mut record = vec![kind.into(), of.from.clone(), of.to.clone(), of.hops.to_string(), of.via.join(" ")];
    match delay {
        None => record.extend(std::iter::repeat_n(String::new(), 9)),
        Some(d) => {
            record.extend([d.since_ns.to_string(), d.intervals.to_string()]);
            let reals = [d.usual_ns, d.spread_ns, d.found_ns, d.excess_ns, d.score, d.p_value];
            record.extend(reals.map(|real| real.to_string()));
            record.push(d.alarm.to_string());
        }
    }
    record
}
