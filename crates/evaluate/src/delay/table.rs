use super::LARGEST;
use super::measure::OCTAVE;
use super::method::Configuration;
use crate::case::Scale;
use crate::metrics::Summary;
use crate::table::{Tabled, number, percent};

/// Number of standard errors from which on an error counts as bias, as the legend says.
const BIASED: f64 = 3.0;

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        median, rms: of |log2(estimate/truth)| over single runs; ten: rms after averaging the estimates of ten seeds.\n\
        bias: mean of log2(estimate/truth). in 95%: share of intervals that contain the truth. none: runs without an\n\
        estimate. octaves: of all octaves of delay, those whose mean count is 3 or more standard errors from\n\
        the truth, or that were never sampled.";

    fn heads(case: &[Summary]) -> Vec<String> {
        let quantities: String = errors(case).map(|summary| format!("  {:^20}", summary.quantity)).collect();
        let of_each = errors(case).map(|summary| match is_largest(summary) {
            true => format!("  {:>6} {:>6} {:>6}", "median", "rms", "ten"),
            false => format!("  {:>6} {:>6} {:>6}", "median", "bias", "in 95%"),
        });
        vec![quantities, format!("{}  {:>5} {:>7}", of_each.collect::<String>(), "none", "octaves")]
    }

    fn line(case: &[Summary]) -> String {
        let of_each = errors(case).map(|s| {
            let [median, rms, ten] = [s.median_error, s.rms_error, s.ten_rms_error].map(|error| number(error, false));
            if is_largest(s) {
                format!("  {median:>6} {rms:>6} {ten:>6}")
            } else {
                format!("  {median:>6} {:>6} {:>6}", number(s.mean, true), percent(s.covered, 0))
            }
        });
        let missing = errors(case).map(|summary| summary.missing).max().unwrap_or(0);
        let octaves = case.iter().filter(|summary| summary.quantity.starts_with(&*OCTAVE.name));
        let deviations: Vec<f64> = octaves.filter_map(Summary::deviations_from_one).collect();
        let biased = deviations.iter().filter(|deviation| deviation.abs() >= BIASED).count();
        format!("{}  {missing:>5} {:>7}", of_each.collect::<String>(), format!("{biased}/{}", deviations.len()))
    }
}

/// The summaries of errors in octaves.
fn errors(case: &[Summary]) -> impl Iterator<Item = &Summary> {
    case.iter().filter(|summary| summary.scale == Scale::Log2)
}

/// Whether this is the maximum of several errors, which has no sign and no interval.
fn is_largest(summary: &Summary) -> bool {
    summary.quantity == LARGEST
}
