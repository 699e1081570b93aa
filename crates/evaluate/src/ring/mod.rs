//! Errors of single delays measured by a ring of Bloom filters: [`dwell_sketch::rivals::timebloom`] with various filters, bits
//! and policies, on streams of [`dwell_simulate::exchange`].

// The streams of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The rings of a definition.
mod method;
pub(crate) use method::MethodEntry;
// Runs one stream through many rings.
mod measure;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::test_support::{assert_refused, mean, measured};

    const COURSE: &str = r#"
name = "course"
title = "course"
source = "none"
seeds = 1
[[ring.workloads]]
name = "sparse"
rate = 1000
delays = { distribution = "uniform", low_ms = 0, high_ms = 800 }
longest_ms = 800
span_ms = 4000
course_ms = 100
[[ring.methods]]
policy = ["closest"]
bits = ["2^16"]
filters = [5]
"#;

    /// Five filters of 200 ms each: the third is filled from 400 to 600 ms, frozen for 800 ms and then emptied.
    #[test]
    fn a_filter_is_emptied_filled_and_frozen() {
        let summaries = measured(COURSE, 1);
        let at = |quantity: &str, ms: u32| mean(&summaries, &format!("{quantity}_{ms}"), |_| true).unwrap();
        for turn in 0..3 {
            let [half, full, frozen] = [500, 600, 1_300].map(|ms| at("stored", ms + 1_000 * turn));
            // 200 requests are expected: six standard deviations, 2·10⁻⁹.
            assert!((full - 200.0).abs() < 6.0 * 200f64.sqrt(), "{full}");
            assert!(half > 0.0 && half < full && frozen == full, "{half} {full} {frozen}");
            let [half, full, frozen] = [500, 600, 1_300].map(|ms| at("occupancy", ms + 1_000 * turn));
            assert!(half > 0.0 && half < full && full < 0.7 && frozen == full, "{half} {full} {frozen}");
        }
        assert_eq!((at("stored", 300), at("occupancy", 300)), (0.0, 0.0));
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        assert_refused(COURSE, "course_ms = 100", "course_ms = 0.5", &["ring.workloads[0].course_ms: 0.5: expected"]);
        let cases = [
            ("table_ms = [[1, 1000, 5]]", "3 numbers: expected two"),
            (
                "table_ms = [[1, 500], [2, 400]]",
                "ring.workloads[0].table_ms: 400: expected counts of 1000 in rising order",
            ),
            ("table_ms = [[1, 0.5]]", "ring.workloads[0].table_ms: 0.5: expected counts of 1000"),
        ];
        for (table, words) in cases {
            assert_refused(
                COURSE,
                "delays = { distribution = \"uniform\", low_ms = 0, high_ms = 800 }",
                table,
                &[words],
            );
        }
    }
}
