use super::measure::{MEAN, MEAN_98, PACKETS, STD, STD_BY_PAPER};
use super::method::Configuration;
use crate::case::Quantity;
use crate::metrics::Summary;
use crate::table::{Tabled, find, mean, percent};

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        error: mean of |estimate/truth - 1| over single runs. bias: mean of estimate/truth - 1. in 95%, in 98%: share of\n\
        intervals that contain the truth. packets: number that an estimate is based on. none: runs without an estimate.";

    fn heads(_: &[Summary]) -> Vec<String> {
        let of_mean = format!("{:>7} {:>7} {:>7} {:>7}", "error", "bias", "in 95%", "in 98%");
        let of_std = format!("{:>8} {:>7}", "error", "in 95%");
        vec![
            format!("  {:^31}  {:^16}  {:>7}", "mean delay", "deviation", "paper's"),
            format!("  {of_mean}  {of_std}  {:>7}  {:>9}  {:>5}", "error", "packets", "none"),
        ]
    }

    fn line(case: &[Summary]) -> String {
        let shown = |quantity: &Quantity, of: fn(&Summary) -> Option<f64>, digits: usize| {
            percent(find(case, quantity).and_then(of), digits)
        };
        let [error, std_error, paper_error] =
            [&MEAN, &STD, &STD_BY_PAPER].map(|quantity| shown(quantity, |s| s.mean_relative_error, 2));
        let bias = shown(&MEAN, |s| s.mean, 2);
        let [held, held_98, std_held] = [&MEAN, &MEAN_98, &STD].map(|quantity| shown(quantity, |s| s.covered, 0));
        let of_mean = format!("{error:>7} {bias:>7} {held:>7} {held_98:>7}");
        let of_std = format!("{std_error:>8} {std_held:>7}");
        let packets = mean(case, &PACKETS).unwrap_or(0.0);
        let missing = find(case, &MEAN).map_or(0, |summary| summary.missing);
        format!("  {of_mean}  {of_std}  {paper_error:>7}  {packets:>9.0}  {missing:>5}")
    }
}
