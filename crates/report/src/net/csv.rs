//! CSV: one row per instrumented router, per probe, or per segment and path.

use super::{DelayShift, LocalizeReport, PathsReport, PlanReport, Probe};
use crate::csv::io_error;
use std::io::{self, Write};

/// Writes the curve of a plan.
pub fn write_plan(report: &PlanReport, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
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
    writer.write_record(head).map_err(io_error)?;
    for point in &report.curve {
        let [mean, min, max] = point.granularity.map_or([None; 3], |g| [g.mean, g.min as f64, g.max as f64].map(Some));
        let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
        writer
            .write_record([
                point.routers.to_string(),
                point.added.clone().unwrap_or_default(),
                point.cost.to_string(),
                point.segments.to_string(),
                point.probe_hops.to_string(),
                text(mean),
                text(min),
                text(max),
            ])
            .map_err(io_error)?;
    }
    writer.flush()
}

/// Writes the probes; the routers in between are joined by spaces.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(["from", "to", "hops", "via"]).map_err(io_error)?;
    for probe in &report.probes {
        let record = [probe.from.clone(), probe.to.clone(), probe.hops.to_string(), probe.via.join(" ")];
        writer.write_record(record).map_err(io_error)?;
    }
    writer.flush()
}

/// Writes the verdict on every segment, then the verdict on every listed path.
pub fn write_localize(report: &LocalizeReport, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
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
    writer.write_record(head).map_err(io_error)?;
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for line in &report.segments {
        let loss = line.loss.map(|loss| [Some(loss.usual), Some(loss.found), Some(loss.p_value)]).unwrap_or_default();
        let mut record = verdict("segment", &line.segment, line.delay.as_ref());
        record.push(text(line.probability));
        record.extend(loss.map(text));
        record.push(line.loss.map_or_else(String::new, |loss| loss.alarm.to_string()));
        writer.write_record(record).map_err(io_error)?;
    }
    for line in &report.path_lines {
        let mut record = verdict("path", &line.path, line.delay.as_ref());
        record.extend([String::new(), String::new(), text(line.loss), String::new(), String::new()]);
        writer.write_record(record).map_err(io_error)?;
    }
    writer.flush()
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
