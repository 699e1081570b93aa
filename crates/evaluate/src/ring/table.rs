use super::measure::{ERROR, FALSE_SHARE, WRONG_SHARE};
use super::method::Configuration;
use crate::metrics::Summary;
use crate::table::{Tabled, find, mean, percent};
use dwell_report::text;

impl Tabled for Configuration {
    const LEGEND: &'static str = "\
        error: mean of |estimate - truth| of the responses, mean over the runs ± its standard error. wrong: responses whose\n\
        request was looked for in another time slot. false: share of responses without a request that matched one.";

    fn heads(_: &[Summary]) -> Vec<String> {
        vec![format!("  {:>17}  {:>8}  {:>8}", "error, ms", "wrong", "false")]
    }

    fn line(case: &[Summary]) -> String {
        let [wrong_share, false_share] = [&WRONG_SHARE, &FALSE_SHARE].map(|quantity| percent(mean(case, quantity), 2));
        let error = find(case, &ERROR).and_then(|summary| Some((summary.mean?, summary.standard_error)));
        let error = match error {
            Some((mean, Some(error))) => format!("{mean:.1} ± {error:.1}"),
            Some((mean, None)) => format!("{mean:.1}"),
            None => text::DASH.to_owned(),
        };
        format!("  {error:>17}  {wrong_share:>8}  {false_share:>8}")
    }
}
