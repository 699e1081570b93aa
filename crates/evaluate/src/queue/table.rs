use super::measure::facts::{BITS_PER_SECOND, CULPRITS, FLOWS, LONGEST_DELAY, WAITED};
use super::measure::{INCOMPLETE, MEDIAN_SIZE_ERROR, PRECISION, RECALL, SIZE_ERROR};
use super::method::Configuration;
use crate::case::{Quantity, STATE_BYTES};
use crate::metrics::Summary;
use crate::table::{Tabled, find, mean, percent};
use dwell_report::text;

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        precision, recall: over packets that reached the threshold, mean over the runs ± its standard error. error of sizes:\n\
        of a flow in the queue, mean and median over packets. incomplete: answers for which windows were missing.";

    fn heads(_: &[Summary]) -> Vec<String> {
        let errors = format!("{:>17}  {:>17}  {:>17}", "precision", "recall", "error of sizes");
        vec![format!("  {errors}  {:>10}  {:>7}", "incomplete", "bytes")]
    }

    fn line(case: &[Summary]) -> String {
        accuracy(case).unwrap_or_else(|| facts(case))
    }
}

/// The accuracy of a sketch.
fn accuracy(case: &[Summary]) -> Option<String> {
    let state = mean(case, &STATE_BYTES)?;
    let [precision, recall] = [&PRECISION, &RECALL].map(|quantity| with_error(case, quantity));
    let [error, median] = [&SIZE_ERROR, &MEDIAN_SIZE_ERROR].map(|quantity| kilobytes(mean(case, quantity)));
    let error = format!("{error} ({median}) kB");
    let incomplete = percent(mean(case, &INCOMPLETE), 1);
    Some(format!("  {precision:>17}  {recall:>17}  {error:>17}  {incomplete:>10}  {state:>7.0}"))
}

/// Properties of the stream, by the exact reference method.
fn facts(case: &[Summary]) -> String {
    let of = |quantity| mean(case, quantity).unwrap_or(0.0);
    format!(
        "  {:.2} Gb/s, longest delay {:.2} ms, {:.1}% of the packets waited, {:.1} flows and {:.1} culprits in a queue",
        of(&BITS_PER_SECOND) / 1e9,
        of(&LONGEST_DELAY) / 1e6,
        of(&WAITED) * 100.0,
        of(&FLOWS),
        of(&CULPRITS),
    )
}

fn with_error(case: &[Summary], quantity: &Quantity) -> String {
    let found = find(case, quantity).and_then(|summary| summary.mean.zip(summary.standard_error));
    text::or_dash(found, |(mean, error)| format!("{mean:.4} ± {error:.4}"))
}

fn kilobytes(bytes: Option<f64>) -> String {
    text::or_dash(bytes, |bytes| format!("{:.1}", bytes / 1e3))
}
