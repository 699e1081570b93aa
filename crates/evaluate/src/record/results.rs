use crate::case::label;
use crate::metrics::Summary;
use dwell_report::csv::{Rows, text};
use std::io::{self, Write};

/// Writes summaries as CSV. Errors are in octaves; `mean` depends on `scale`: of the error in octaves, of estimate over
/// truth, or of the value itself.
pub fn write(summaries: &[Summary], to: &mut impl Write) -> io::Result<()> {
    let columns = [
        "workload",
        "method",
        "parameters",
        "quantity",
        "scale",
        "runs",
        "missing",
        "median_error_octaves",
        "rms_error_octaves",
        "ten_median_error_octaves",
        "ten_rms_error_octaves",
        "mean",
        "standard_error",
        "covered_share",
        "mean_relative_error",
        "rms_relative_error",
        "median_error_low",
        "median_error_high",
        "rms_error_low",
        "rms_error_high",
        "ten_rms_error_low",
        "ten_rms_error_high",
    ];
    let mut rows = Rows::new(to, columns)?;
    for summary in summaries {
        let label = label(&summary.parameters);
        let numbers = [
            summary.median_error,
            summary.rms_error,
            summary.ten_median_error,
            summary.ten_rms_error,
            summary.mean,
            summary.standard_error,
            summary.covered,
            summary.mean_relative_error,
            summary.rms_relative_error,
        ];
        let mut row = vec![summary.workload.clone(), summary.method.clone(), label, summary.quantity.clone()];
        row.extend([summary.scale.name().to_owned(), summary.runs.to_string(), summary.missing.to_string()]);
        row.extend(numbers.map(text));
        let intervals = [summary.median_error_interval, summary.rms_error_interval, summary.ten_rms_error_interval];
        row.extend(intervals.into_iter().flat_map(|interval| [0, 1].map(|end| text(interval.map(|ends| ends[end])))));
        rows.write(&row)?;
    }
    rows.flush()
}
