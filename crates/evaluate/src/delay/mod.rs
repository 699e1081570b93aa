//! Response times observed at one point: methods of [`dwell_sketch::rtt`] on streams of [`dwell_simulate::exchange`].

use crate::case::Shown;

// The streams of a definition.
mod workload;
pub(crate) use workload::{DelaysEntry, WorkloadEntry, check_length, orphan_share};
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// What they build: the meter of `dwell rtt`, or one that it does not have.
mod meter;
// Runs one stream through many meters.
mod measure;
pub(crate) use measure::{SAMPLES, compare_quantiles};
// The table of its results.
mod table;

/// Names and shares of the quantiles that are estimated.
pub(crate) const QUANTILES: [(&str, f64); 20] = [
    ("p05", 0.05),
    ("p10", 0.10),
    ("p15", 0.15),
    ("p20", 0.20),
    ("p25", 0.25),
    ("p30", 0.30),
    ("p35", 0.35),
    ("p40", 0.40),
    ("p45", 0.45),
    ("p50", 0.50),
    ("p55", 0.55),
    ("p60", 0.60),
    ("p65", 0.65),
    ("p70", 0.70),
    ("p75", 0.75),
    ("p80", 0.80),
    ("p85", 0.85),
    ("p90", 0.90),
    ("p95", 0.95),
    ("p99", 0.99),
];

/// The name of the largest error from p5 to p95.
pub const LARGEST: &str = "max_p05_p95";

/// The quantiles whose errors are shown one by one.
pub(crate) const SINGLE: [&str; 3] = ["p50", "p95", "p99"];

/// These, and the largest error from p5 to p95 in steps of 5 as in the fridge paper [zheng22 §5].
pub(crate) const SHOWN: Shown = Shown {
    quantities: &SINGLE,
    largest: Some((
        LARGEST,
        &[
            "p05", "p10", "p15", "p20", "p25", "p30", "p35", "p40", "p45", "p50", "p55", "p60", "p65", "p70", "p75",
            "p80", "p85", "p90", "p95",
        ],
    )),
};
