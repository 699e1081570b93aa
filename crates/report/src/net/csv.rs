//! CSV: one row per instrumented router, or per probe.

use super::{PathsReport, PlanReport};
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
    writer.write_record(head).map_err(io::Error::from)?;
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
            .map_err(io::Error::from)?;
    }
    writer.flush()
}

/// Writes the probes; the routers between are joined by blanks.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(["from", "to", "hops", "via"]).map_err(io::Error::from)?;
    for probe in &report.probes {
        let record = [probe.from.clone(), probe.to.clone(), probe.hops.to_string(), probe.via.join(" ")];
        writer.write_record(record).map_err(io::Error::from)?;
    }
    writer.flush()
}
