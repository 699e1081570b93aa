use crate::case::label;
use crate::metrics::Summary;
use dwell_report::csv::{self, Column, text};
use std::io::{self, Write};

/// Errors and their intervals are in octaves; `mean` depends on `scale`: of the error in octaves, of estimate over truth,
/// or of the value itself.
const COLUMNS: [Column<Summary>; 22] = [
    ("workload", |summary| summary.workload.clone()),
    ("method", |summary| summary.method.clone()),
    ("parameters", |summary| label(&summary.parameters)),
    ("quantity", |summary| summary.quantity.clone()),
    ("scale", |summary| summary.scale.name().to_owned()),
    ("runs", |summary| summary.runs.to_string()),
    ("missing", |summary| summary.missing.to_string()),
    ("median_error_octaves", |summary| text(summary.median_error)),
    ("rms_error_octaves", |summary| text(summary.rms_error)),
    ("ten_median_error_octaves", |summary| text(summary.ten_median_error)),
    ("ten_rms_error_octaves", |summary| text(summary.ten_rms_error)),
    ("mean", |summary| text(summary.mean)),
    ("standard_error", |summary| text(summary.standard_error)),
    ("covered_share", |summary| text(summary.covered)),
    ("mean_relative_error", |summary| text(summary.mean_relative_error)),
    ("rms_relative_error", |summary| text(summary.rms_relative_error)),
    ("median_error_low", |summary| low(summary.median_error_interval)),
    ("median_error_high", |summary| high(summary.median_error_interval)),
    ("rms_error_low", |summary| low(summary.rms_error_interval)),
    ("rms_error_high", |summary| high(summary.rms_error_interval)),
    ("ten_rms_error_low", |summary| low(summary.ten_rms_error_interval)),
    ("ten_rms_error_high", |summary| high(summary.ten_rms_error_interval)),
];

fn low(interval: Option<[f64; 2]>) -> String {
    text(interval.map(|[low, _]| low))
}

fn high(interval: Option<[f64; 2]>) -> String {
    text(interval.map(|[_, high]| high))
}

/// Writes summaries as CSV.
pub fn write(summaries: &[Summary], to: &mut impl Write) -> io::Result<()> {
    csv::write(COLUMNS, summaries, to)
}
