use super::method::{Configuration, LEFT, MEAN_HOPS, PROBE_HOPS};
use crate::case::Quantity;
use crate::metrics::Summary;
use crate::table::{Tabled, mean, percent};
use dwell_report::text;

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        probe hops: links that one probe of each segment traverses; left: their share of those without instrumented routers.\n\
        mean length: of a segment, in links. bound: no choice of routers leaves less.";

    fn heads(_: &[Summary]) -> Vec<String> {
        vec![format!("  {:>12}  {:>8}  {:>11}", "probe hops", "left", "mean length")]
    }

    fn line(case: &[Summary]) -> String {
        let number =
            |quantity: &Quantity, digits| text::or_dash(mean(case, quantity), |value| format!("{value:.digits$}"));
        let (hops, length) = (number(&PROBE_HOPS, 0), number(&MEAN_HOPS, 2));
        format!("  {hops:>12}  {:>8}  {length:>11}", percent(mean(case, &LEFT), 2))
    }
}
