//! One-way delay and loss between two points: sketches of [`dwell_sketch::lda`] and the methods they are compared with,
//! on streams of [`dwell_simulate::crossing`].

// The streams of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
pub(crate) use method::{ALPHA, Pair, tuned};
// Runs one stream through many pairs of sketches.
mod measure;
// The table of its results.
mod table;

#[cfg(test)]
mod tests {
    use crate::test_support::{accepted, assert_each_refused, assert_refused, mean, measured};

    const CLOCKS: &str = r#"
name = "clocks"
title = "clocks"
source = "none"
seeds = 1
[[crossing.workloads]]
name = "ahead"
packets = 20_000
delays = { distribution = "weibull", scale_ms = 0.2, shape = 0.6 }
clock_offset_ns = 300_000
[[crossing.workloads]]
name = "behind"
packets = 20_000
delays = { distribution = "weibull", scale_ms = 0.2, shape = 0.6 }
clock_offset_ns = -2_000_000
[[crossing.workloads]]
name = "gains"
packets = 20_000
delays = { distribution = "weibull", scale_ms = 0.2, shape = 0.6 }
clock_drift_ppm = 100_000
[[crossing.methods]]
method = "trajectory"
memory_bytes = [1_000_000]
"#;

    /// With every packet sampled, the bias is the clock error: 300 µs; −2 ms; and a tenth of the 2 ms at which packets
    /// arrive on average. The truth is that of the packets.
    #[test]
    fn delays_are_off_by_what_the_clock_is() {
        let summaries = measured(CLOCKS, 1);
        for (workload, expected) in [("ahead", 0.3), ("behind", -2.0), ("gains", 0.2)] {
            let bias = mean(&summaries, "mean", |s| s.workload == workload).unwrap();
            // Relative to the true mean, .301 ms, whose standard error is .004 ms.
            assert!((bias * 0.301 - expected).abs() < 0.05 + 0.03 * f64::abs(expected), "{workload}: {bias}");
        }
    }

    /// In bytes, too, sums of these delays fit the cells: with those for a router, the mean of the second is wrong by half.
    #[test]
    fn sketches_in_bytes_represent_the_delays_of_the_stream() {
        let lda = CLOCKS.replace("trajectory", "lda").replace("1_000_000", "9216");
        let summaries = measured(&lda, 1);
        for (workload, expected) in [("ahead", 0.3), ("behind", -2.0), ("gains", 0.2)] {
            let bias = mean(&summaries, "mean", |s| s.workload == workload).unwrap();
            assert!((bias * 0.301 - expected).abs() < 0.1 + 0.03 * f64::abs(expected), "{workload}: {bias}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_key() {
        let cases = [
            ("clock_offset_ns = 300_000", "clock_offset_ns = inf", "workloads[0].clock_offset_ns: inf"),
            ("clock_drift_ppm = 100_000", "displaced = 20_000", "workloads[2].displaced: "),
            ("clock_drift_ppm = 100_000", "clock_drift_ppm = 1e6", "workloads[2].clock_drift_ppm: 1000000"),
            ("\"trajectory\"", "\"lda\"\nrows = [64]", "methods[0].memory_bytes: either this or rows, not both"),
            (
                "{ distribution = \"weibull\", scale_ms = 0.2, shape = 0.6 }",
                "0.2",
                "expected a table such as { distrib",
            ),
        ];
        assert_each_refused(CLOCKS, &cases);
    }

    /// What has no interval cannot be shown as how often its interval contains the truth.
    #[test]
    fn only_intervals_can_be_drawn() {
        let figure = "[figure]\nx = 'workload'\ny = 'covered'\nquantities = ['mean']\n";
        let sketches = CLOCKS.replace("trajectory", "lda").replace("1_000_000", "9216");
        let sound = sketches.replace("[[crossing.methods]]", &[figure, "[[crossing.methods]]"].concat());
        accepted(&sound);
        let words = "figure.y: loss has no covered: expected mean_relative_error, mean";
        assert_refused(&sound, "['mean']", "['loss']", &[words]);
    }
}
