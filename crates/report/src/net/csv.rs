//! CSV: one row per instrumented router, per probe, or per segment and path.

use super::{DelayShift, LocalizeReport, LossShift, PathLine, PathsReport, PlanReport, Point, Route, SegmentLine};
use crate::csv::{self, Column, Rows, text};
use std::io::{self, Write};

const PLAN: [Column<Point>; 8] = [
    ("routers", |point| point.routers.to_string()),
    ("added", |point| text(point.added.as_ref())),
    ("cost", |point| point.cost.to_string()),
    ("segments", |point| point.segments.to_string()),
    ("probe_hops", |point| point.probe_hops.to_string()),
    ("granularity_mean", |point| text(point.granularity.map(|hops| hops.mean))),
    ("granularity_min", |point| text(point.granularity.map(|hops| hops.min))),
    ("granularity_max", |point| text(point.granularity.map(|hops| hops.max))),
];

/// Writes the curve of a plan.
pub fn write_plan(report: &PlanReport, to: &mut impl Write) -> io::Result<()> {
    csv::write(PLAN, &report.curve, to)
}

/// Writes the probes; the routers in between are joined by spaces.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    let mut rows = Rows::new(to, ["from", "to", "hops", "via"])?;
    for probe in &report.probes {
        rows.write(&(&probe.from, &probe.to, probe.hops, probe.via.join(" ")))?;
    }
    rows.flush()
}

/// The cell of a probability; of a tiny one as `2e-300`, not with 300 decimals.
fn chance(value: Option<f64>) -> String {
    match value {
        Some(tiny) if tiny > 0.0 && tiny < 1e-6 => format!("{tiny:e}"),
        value => text(value),
    }
}

/// The verdict on a segment or path.
struct Verdict<'a> {
    kind: &'static str,
    of: &'a Route,
    delay: Option<DelayShift>,
    probability: Option<f64>,
    loss: Option<LossShift>,
    /// Of segments, that of `loss`.
    loss_found: Option<f64>,
}

impl Verdict<'_> {
    const COLUMNS: [Column<Self>; 19] = [
        ("kind", |on| on.kind.to_owned()),
        ("from", |on| on.of.from.to_string()),
        ("to", |on| on.of.to.to_string()),
        ("hops", |on| on.of.hops.to_string()),
        ("via", |on| on.of.via.join(" ")),
        ("since_ns", |on| text(on.delay.map(|delay| delay.since_ns))),
        ("intervals", |on| text(on.delay.map(|delay| delay.intervals))),
        ("usual_ns", |on| text(on.delay.map(|delay| delay.usual_ns))),
        ("spread_ns", |on| text(on.delay.map(|delay| delay.spread_ns))),
        ("found_ns", |on| text(on.delay.map(|delay| delay.found_ns))),
        ("excess_ns", |on| text(on.delay.map(|delay| delay.excess_ns))),
        ("score", |on| text(on.delay.map(|delay| delay.score))),
        ("p_value", |on| chance(on.delay.map(|delay| delay.p_value))),
        ("alarm", |on| text(on.delay.map(|delay| delay.alarm))),
        ("probability", |on| chance(on.probability)),
        ("loss_usual", |on| text(on.loss.map(|loss| loss.usual))),
        ("loss_found", |on| text(on.loss_found)),
        ("loss_p_value", |on| chance(on.loss.map(|loss| loss.p_value))),
        ("loss_alarm", |on| text(on.loss.map(|loss| loss.alarm))),
    ];
}

impl<'a> From<&'a SegmentLine> for Verdict<'a> {
    fn from(line: &'a SegmentLine) -> Self {
        let SegmentLine { segment, intervals: _, delay, probability, loss } = line;
        let loss_found = loss.map(|loss| loss.found);
        Self { kind: "segment", of: segment, delay: *delay, probability: *probability, loss: *loss, loss_found }
    }
}

impl<'a> From<&'a PathLine> for Verdict<'a> {
    fn from(line: &'a PathLine) -> Self {
        let PathLine { path, delay, loss, .. } = line;
        Self { kind: "path", of: path, delay: *delay, probability: None, loss: None, loss_found: *loss }
    }
}

/// Writes the verdict on every segment, then the verdict on every listed path.
pub fn write_localize(report: &LocalizeReport, to: &mut impl Write) -> io::Result<()> {
    let segments = report.segments.iter().map(Verdict::from);
    csv::write(Verdict::COLUMNS, segments.chain(report.path_lines.iter().map(Verdict::from)), to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiny_probabilities_are_short() {
        let cells = [Some(2.5e-300), Some(0.0), Some(0.25), None].map(chance);
        assert_eq!(cells, ["2.5e-300", "0", "0.25", ""]);
    }
}
