use super::measure::{ALARM, FALSE_ALARM, FIRST, FIRST_OF_PATH};
use super::method::Configuration;
use crate::case::Quantity;
use crate::metrics::Summary;
use crate::table::{Tabled, mean, percent};

/// The quantities shown, with their column headings.
const COLUMNS: [(Quantity, &str); 4] =
    [(FIRST, "named"), (FIRST_OF_PATH, "of its path"), (ALARM, "in alarm"), (FALSE_ALARM, "false alarm")];

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        named: faulty links ranked first of all links; of its path: ranked first on the longest path over the first of them.\n\
        in alarm: faulty links with an alarm. false alarm: runs with an alarm of a sound link or path at the last interval.";

    fn heads(_: &[Summary]) -> Vec<String> {
        vec![COLUMNS.map(|(_, head)| format!("  {head:>12}")).concat()]
    }

    fn line(case: &[Summary]) -> String {
        COLUMNS.map(|(quantity, _)| format!("  {:>12}", percent(mean(case, &quantity), 1))).concat()
    }
}
