use super::measure::{LARGE_DROPPED, LARGE_MARKED, PEAK, SMALL_DELAY, SMALL_DROPPED, SMALL_MARKED};
use super::method::Configuration;
use crate::case::Quantity;
use crate::metrics::Summary;
use crate::table::{Tabled, find, mean};

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        longest queue: mean of the runs' ± its standard error. dropped, marked: shares of bytes. small delay: mean over packets.";

    fn heads(_: &[Summary]) -> Vec<String> {
        let of_kind = format!("{:>8} {:>8}", "dropped", "marked");
        vec![
            format!("  {:>15}  {:^17}  {:^17}  {:>8}", "longest", "small flows", "bursts", "small"),
            format!("  {:>15}  {of_kind}  {of_kind}  {:>8}", "queue", "delay"),
        ]
    }

    fn line(case: &[Summary]) -> String {
        let mean = |quantity: &Quantity| mean(case, quantity).unwrap_or(0.0);
        let error = find(case, &PEAK).and_then(|summary| summary.standard_error).unwrap_or(0.0);
        let peak = format!("{:.2} ± {:.2} MB", mean(&PEAK) / 1e6, error / 1e6);
        let of_kind = |quantities: [&Quantity; 2]| {
            let [dropped, marked] = quantities.map(|quantity| 100.0 * mean(quantity));
            format!("{dropped:>7.3}% {marked:>7.3}%")
        };
        let (small, large) = (of_kind([&SMALL_DROPPED, &SMALL_MARKED]), of_kind([&LARGE_DROPPED, &LARGE_MARKED]));
        format!("  {peak:>15}  {small}  {large}  {:>5.1} µs", mean(&SMALL_DELAY) / 1e3)
    }
}
