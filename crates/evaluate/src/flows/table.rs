use super::measure::{
    COVERED, ERROR, FROM_1_000, FROM_10_000, FROM_100, NONE, OF_1_000, OF_10, OF_100, OF_500, class_name,
};
use super::method::Configuration;
use crate::case::Quantity;
use crate::metrics::Summary;
use crate::table::{Tabled, find, mean, percent};

/// Groups of flows by size, and their column headings.
const SIZES: [(&str, &str); 6] = [
    (OF_10, "10-99"),
    (OF_100, "100-499"),
    (OF_500, "500-999"),
    (OF_1_000, "1000-9999"),
    (FROM_10_000, "10^4-"),
    (FROM_1_000, "1000-"),
];
/// Number of classes with a column each, where flows have classes.
const CLASSES: usize = 3;

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        Median of |estimate/truth - 1| over the flows of a size in a run, mean over the runs; classes from 100 packets on.\n\
        in 95%: share of intervals that contain the truth, from 100 packets on. none: flows without an estimate, from 1,000 on.";

    fn heads(case: &[Summary]) -> Vec<String> {
        let heads: String = columns(case).map(|(_, head)| format!(" {head:>9}")).collect();
        vec![format!("{heads}  {:>6} {:>6}", "in 95%", "none")]
    }

    fn line(case: &[Summary]) -> String {
        let errors: String =
            columns(case).map(|(group, _)| format!(" {:>9}", share(case, &ERROR, &group, 3))).collect();
        format!("{errors}  {:>6} {:>6}", share(case, &COVERED, FROM_100, 0), share(case, &NONE, FROM_1_000, 1))
    }
}

/// The groups of flows with a column each, and their headings.
fn columns(case: &[Summary]) -> impl Iterator<Item = (String, String)> {
    let has_classes = find(case, &ERROR.of(class_name(0))).is_some();
    let classes = (0..if has_classes { CLASSES } else { 0 }).map(|class| (class_name(class), format!("class {class}")));
    SIZES.into_iter().map(|(size, head)| (size.to_owned(), head.to_owned())).chain(classes)
}

fn share(case: &[Summary], quantity: &Quantity, group: &str, digits: usize) -> String {
    percent(mean(case, &quantity.of(group)), digits)
}
