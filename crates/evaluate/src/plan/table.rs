use super::method::{Configuration, LEFT, MEAN_HOPS, PROBE_HOPS};
use crate::case::Quantity;
use crate::grid::Tabled;
use crate::metrics::Summary;
use crate::table::{self, mean, percent};
use dwell_report::text;
use std::io::{self, Write};

impl Tabled for Configuration {
    /// Writes the cases of an experiment on plans.
    fn write_table(cases: &[&[Summary]], to: &mut dyn Write) -> io::Result<()> {
        let line = |case: &[Summary]| {
            let number =
                |quantity: &Quantity, digits| text::or_dash(mean(case, quantity), |value| format!("{value:.digits$}"));
            format!(
                "  {:>12}  {:>8}  {:>11}",
                number(&PROBE_HOPS, 0),
                percent(mean(case, &LEFT), 2),
                number(&MEAN_HOPS, 2)
            )
        };
        table::write(
            cases,
            |_| vec![format!("  {:>12}  {:>8}  {:>11}", "probe hops", "left", "mean length")],
            line,
            "probe hops: links that one probe of each segment traverses; left: their share of those without instrumented routers.\n\
         mean length: of a segment, in links. bound: no choice of routers leaves less.",
            to,
        )
    }
}
