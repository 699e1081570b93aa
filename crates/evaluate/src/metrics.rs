//! Summaries over the runs of a case.
//!
//! The error of a run is *e* = log₂(estimate/truth), in octaves. Two protocols are kept apart, because their ranking of
//! methods with variance and methods with bias differs:
//!
//! - *single run*: the median of |*e*| and the root mean square of *e* over the seeds. This is what a user gets.
//! - *average of ten*, as in the papers: averages the estimates of ten seeds, and the truths of their streams; takes
//!   |log₂| of their ratio, then median and root mean square over the groups of ten. This removes variance and leaves
//!   bias.
//!
//! A run without an estimate counts as missing and is excluded from all means. An estimate that is not above zero has
//! no logarithm: such a run is missing, too. If the truth is not above zero, there is no error, and none is missing.

use crate::case::{Case, Measurement, Run, Scale, Shown, label};
use dwell_sketch::estimate::Z95;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// How many seeds the papers average.
pub(crate) const AVERAGED: usize = 10;

/// One quantity of one case, over all seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The workload's name.
    pub workload: String,
    /// The method's name.
    pub method: String,
    /// The method's parameters.
    pub parameters: BTreeMap<String, f64>,
    /// The quantity that was estimated.
    pub quantity: String,
    /// How estimates are compared with the truth, which gives the values below.
    pub scale: Scale,
    /// Number of seeds.
    pub runs: u64,
    /// Number of runs without an estimate.
    pub missing: u64,
    /// Median of |*e*|, in octaves; for [`Scale::Log2`] only, like all up to `ten_rms_error_interval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_error: Option<f64>,
    /// Its 95% interval, by order statistics; `None` with fewer than six runs, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_error_interval: Option<[f64; 2]>,
    /// Root mean square of *e*, in octaves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms_error: Option<f64>,
    /// Its 95% interval (`rms_interval`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms_error_interval: Option<[f64; 2]>,
    /// Median of |*e*| of averages of ten, in octaves; `None` with fewer than ten seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ten_median_error: Option<f64>,
    /// Root mean square of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ten_rms_error: Option<f64>,
    /// Its 95% interval (`rms_interval`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ten_rms_error_interval: Option<[f64; 2]>,
    /// Mean of |estimate/truth − 1|; for [`Scale::Relative`] only, like the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_relative_error: Option<f64>,
    /// Root mean square of the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rms_relative_error: Option<f64>,
    /// By scale, the mean of *e*, of estimate over truth less one, of estimate over truth, or of the estimate: the
    /// bias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Its standard error; `None` with fewer than two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// Share of the intervals that contain the truth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covered: Option<f64>,
}

impl Summary {
    /// Method and parameters as text.
    pub(crate) fn configuration(&self) -> String {
        format!("{} {}", self.method, label(&self.parameters)).trim_end().to_owned()
    }

    /// How many standard errors the mean ratio is from one: infinitely many if every run has the same wrong ratio, such
    /// as zero when nothing was ever sampled. `None` for other scales, or without a standard error.
    pub(crate) fn deviations_from_one(&self) -> Option<f64> {
        let error = self.standard_error.filter(|_| self.scale == Scale::Ratio)?;
        let away = self.mean? - 1.0;
        Some(if away == 0.0 { 0.0 } else { away / error })
    }
}

/// Whether at most one run in 20 has no estimate, so that the errors of the others speak for all.
pub(crate) const fn is_told(missing: u64, runs: u64) -> bool {
    20 * missing <= runs
}

/// Summaries in the order of the cases; the runs must be sorted by case and seed.
pub fn summarise(cases: &[Case], shown: Shown, runs: &[Run]) -> Vec<Summary> {
    let mut summaries = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let from = runs.partition_point(|run| run.case < index);
        let to = runs.partition_point(|run| run.case <= index);
        let runs = &runs[from..to];
        summaries.extend(shown.quantities.iter().map(|quantity| one(case, quantity, runs)));
        summaries.extend(shown.largest.map(|(name, members)| largest(case, name, members, runs)));
        // The others in the order in which they are first measured.
        let mut seen = BTreeSet::new();
        let others = runs.iter().flat_map(|run| &run.measurements).filter(|m| m.scale != Scale::Log2);
        let others = others.filter(|m| seen.insert((m.scale, &m.quantity)));
        summaries.extend(others.map(|m| one(case, &m.quantity, runs)));
    }
    summaries
}

/// The summary of one quantity.
fn one(case: &Case, quantity: &str, runs: &[Run]) -> Summary {
    let found: Vec<Option<&Measurement>> = runs.iter().map(|run| find(run, quantity)).collect();
    let scale = found.iter().flatten().next().map_or(Scale::Log2, |m| m.scale);
    let values: Vec<f64> = found.iter().flatten().filter_map(|m| compared(m)).collect();
    let asked = found.iter().filter(|m| !m.is_some_and(has_no_ratio)).count();
    let mut summary = Summary::new(case, quantity, scale, asked, values.len());
    if scale == Scale::Relative {
        let magnitudes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        summary.mean_relative_error = mean(&magnitudes);
        summary.rms_relative_error = root_mean_square(&values);
    }
    summary.mean = mean(&values);
    summary.standard_error = standard_error(&values);
    let held = found.iter().flatten().filter_map(|m| {
        let (low, high) = m.interval?;
        m.truth.map(|truth| low <= truth && truth <= high)
    });
    let held: Vec<f64> = held.map(|is_held| f64::from(u8::from(is_held))).collect();
    summary.covered = mean(&held);
    if scale == Scale::Log2 {
        let averages: Vec<f64> =
            runs.chunks_exact(AVERAGED).filter_map(|ten| error_of_average(ten, quantity)).collect();
        summary.set_errors(&values, &averages);
    }
    summary
}

/// The largest |*e*| over several quantities, of runs that have an error for each that has a ratio.
fn largest(case: &Case, name: &str, members: &[&str], runs: &[Run]) -> Summary {
    let largest = |errors: Vec<Option<f64>>| {
        let errors: Option<Vec<f64>> = errors.into_iter().collect();
        errors.map(|errors| errors.into_iter().fold(0.0, |most: f64, e| most.max(e.abs())))
    };
    let asked = |runs: &[Run]| -> Vec<&str> {
        let has_ratio = |name: &str| !runs.iter().any(|run| find(run, name).is_some_and(has_no_ratio));
        members.iter().copied().filter(|name| has_ratio(name)).collect()
    };
    let of_run = |run: &Run| {
        let asked = asked(std::slice::from_ref(run));
        (!asked.is_empty()).then(|| largest(asked.iter().map(|name| find(run, name).and_then(compared)).collect()))
    };
    let of_ten = |ten: &[Run]| {
        let asked = asked(ten);
        largest(asked.iter().map(|name| error_of_average(ten, name)).collect()).filter(|_| !asked.is_empty())
    };
    let found: Vec<Option<f64>> = runs.iter().filter_map(of_run).collect();
    let values: Vec<f64> = found.iter().flatten().copied().collect();
    let averages: Vec<f64> = runs.chunks_exact(AVERAGED).filter_map(of_ten).collect();
    let mut summary = Summary::new(case, name, Scale::Log2, found.len(), values.len());
    summary.set_errors(&values, &averages);
    summary
}

impl Summary {
    fn new(case: &Case, quantity: &str, scale: Scale, runs: usize, found: usize) -> Self {
        Self {
            workload: case.workload.clone(),
            method: case.method.clone(),
            parameters: case.parameters.clone(),
            quantity: quantity.to_owned(),
            scale,
            runs: runs as u64,
            missing: runs.saturating_sub(found) as u64,
            ..Self::default()
        }
    }

    fn set_errors(&mut self, single: &[f64], averages: &[f64]) {
        self.median_error = median_magnitude(single);
        self.median_error_interval = median_interval(single);
        self.rms_error = root_mean_square(single);
        self.rms_error_interval = rms_interval(single);
        self.ten_median_error = median_magnitude(averages);
        self.ten_rms_error = root_mean_square(averages);
        self.ten_rms_error_interval = rms_interval(averages);
    }
}

fn find<'a>(run: &'a Run, quantity: &str) -> Option<&'a Measurement> {
    run.measurements.iter().find(|m| m.quantity == quantity)
}

/// Whether there is no ratio to the truth, whatever the estimate: for a stream without an exchange of some delay,
/// without loss, or with delays of zero or less. This does not count as a missing estimate.
fn has_no_ratio(measurement: &Measurement) -> bool {
    measurement.scale != Scale::Value && measurement.truth.is_some_and(|truth| truth <= 0.0)
}

/// Compares estimate and truth on the measurement's scale.
fn compared(measurement: &Measurement) -> Option<f64> {
    let estimate = measurement.estimate?;
    match measurement.scale {
        Scale::Value => Some(estimate),
        _ if has_no_ratio(measurement) => None,
        Scale::Log2 => log_ratio(estimate, measurement.truth?),
        Scale::Relative => Some(estimate / measurement.truth? - 1.0),
        Scale::Ratio => Some(estimate / measurement.truth?),
    }
}

fn log_ratio(estimate: f64, truth: f64) -> Option<f64> {
    (estimate > 0.0 && truth > 0.0).then(|| (estimate / truth).log2())
}

/// log₂ of mean estimate over mean truth; `None` if one is missing.
fn error_of_average(runs: &[Run], quantity: &str) -> Option<f64> {
    let found: Option<Vec<&Measurement>> = runs.iter().map(|run| find(run, quantity)).collect();
    let found = found?;
    let sum = |of: fn(&Measurement) -> Option<f64>| found.iter().map(|m| of(m)).sum::<Option<f64>>();
    log_ratio(sum(|m| m.estimate)?, sum(|m| m.truth)?)
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn standard_error(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64 / values.len() as f64).sqrt())
}

pub(crate) fn root_mean_square(values: &[f64]) -> Option<f64> {
    let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
    mean(&squares).map(f64::sqrt)
}

/// Median of the magnitudes: the middle one, or the mean of the two in the middle.
pub(crate) fn median_magnitude(values: &[f64]) -> Option<f64> {
    let magnitudes = sorted_magnitudes(values);
    let last = magnitudes.len().checked_sub(1)?;
    Some(0.5 * (magnitudes[last / 2] + magnitudes[last.div_ceil(2)]))
}

fn sorted_magnitudes(values: &[f64]) -> Vec<f64> {
    let mut magnitudes: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    magnitudes.sort_by(f64::total_cmp);
    magnitudes
}

/// The 95% interval of the median of the magnitudes, between those of two ranks: how many of *n* values are below their
/// median is binomial. `None` if not even the least and the largest are far enough apart, with fewer than six values.
fn median_interval(values: &[f64]) -> Option<[f64; 2]> {
    /// The least *n* with 2 · 2⁻ⁿ ≤ 5%.
    const FEWEST: usize = 6;
    let n = values.len();
    let magnitudes = Some(sorted_magnitudes(values)).filter(|_| n >= FEWEST)?;
    let below = (0.5 * (n as f64 - Z95 * (n as f64).sqrt())) as usize;
    Some([magnitudes[below], magnitudes[n - 1 - below]])
}

/// The 95% interval of the root mean square: that of the mean of squares, symmetric for its logarithm (delta method, with
/// Student's quantile to the order 1/*n*). Of normal errors it holds in 91% with ten values and 94% with a hundred; where
/// few values make up the sum, in fewer. `None` with fewer than five values, or if all are zero.
fn rms_interval(values: &[f64]) -> Option<[f64; 2]> {
    /// With fewer, the expansion of Student's quantile is off by more than a twentieth.
    const FEWEST: usize = 5;
    let squares: Vec<f64> = values.iter().map(|value| value * value).collect();
    let mean = mean(&squares).filter(|&mean| values.len() >= FEWEST && mean > 0.0)?;
    let student = Z95 * (1.0 + (Z95 * Z95 + 1.0) / (4.0 * (values.len() - 1) as f64));
    let factor = (0.5 * student * standard_error(&squares)? / mean).exp();
    Some([mean.sqrt() / factor, mean.sqrt() * factor])
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    fn case() -> Case {
        Case { stream: 0, workload: "w".into(), method: "m".into(), parameters: BTreeMap::new() }
    }

    /// Runs with these estimates of a true value of 100, each with an interval of ± 10.
    fn runs(estimates: &[Option<f64>], scale: Scale) -> Vec<Run> {
        let run = |(seed, &estimate): (usize, &Option<f64>)| {
            let interval = estimate.map(|e| (e - 10.0, e + 10.0));
            let measurement = Measurement { quantity: "q".into(), scale, truth: Some(100.0), estimate, interval };
            Run { case: 0, seed: seed as u64 + 1, measurements: vec![measurement] }
        };
        estimates.iter().enumerate().map(run).collect()
    }

    #[test]
    fn what_is_missing_is_counted_and_nothing_else() {
        let summary = one(&case(), "q", &runs(&[Some(200.0), None, Some(50.0), Some(100.0), Some(0.0)], Scale::Log2));
        assert_eq!((summary.runs, summary.missing), (5, 2));
        assert_eq!((summary.median_error, summary.mean), (Some(1.0), Some(0.0)));
        assert_eq!(summary.rms_error, Some((2f64 / 3.0).sqrt()));
        // 200 ± 10, 50 ± 10 and 0 ± 10 do not contain 100; 100 ± 10 does.
        assert_eq!(summary.covered, Some(0.25));
        assert_eq!(summary.ten_rms_error, None);
    }

    /// A quantity whose true value is zero has no error and does not count as missing.
    #[test]
    fn what_has_no_ratio_is_not_asked_for() {
        let of = |truths: [f64; 2], estimates: [Option<f64>; 2]| {
            let both = ["a", "b"].into_iter().zip(truths).zip(estimates);
            let measure = |((quantity, truth), estimate): ((&str, f64), Option<f64>)| Measurement {
                quantity: quantity.into(),
                scale: Scale::Log2,
                truth: Some(truth),
                estimate,
                interval: None,
            };
            let run = Run { case: 0, seed: 1, measurements: both.map(measure).collect() };
            let summary = largest(&case(), "ab", &["a", "b"], &vec![run; 10]);
            (summary.runs, summary.missing, summary.median_error, summary.ten_median_error)
        };
        assert_eq!(of([0.0, 100.0], [Some(0.0), Some(200.0)]), (10, 0, Some(1.0), Some(1.0)));
        assert_eq!(of([0.0, 100.0], [Some(0.0), None]), (10, 10, None, None));
        assert_eq!(of([0.0, -5.0], [Some(0.0), Some(-5.0)]), (0, 0, None, None));
    }

    #[test]
    fn averaging_removes_variance_but_not_bias() {
        let noisy = [50.0, 150.0].repeat(10).into_iter().map(Some).collect::<Vec<_>>();
        let summary = one(&case(), "q", &runs(&noisy, Scale::Log2));
        assert!(summary.rms_error > Some(0.7) && summary.ten_rms_error == Some(0.0), "{summary:?}");
        let biased = one(&case(), "q", &runs(&[Some(50.0); 20], Scale::Log2));
        assert_eq!(
            (biased.rms_error, biased.ten_rms_error, biased.ten_median_error),
            (Some(1.0), Some(1.0), Some(1.0))
        );
    }

    #[test]
    fn zero_is_an_estimate_of_a_count() {
        let summary = one(&case(), "q", &runs(&[Some(0.0), Some(200.0), Some(100.0)], Scale::Ratio));
        assert_eq!((summary.mean, summary.missing), (Some(1.0), 0));
        assert_eq!(summary.standard_error, Some((2f64 / 2.0 / 3.0).sqrt()));
        assert_eq!(summary.deviations_from_one(), Some(0.0));
        let never = one(&case(), "q", &runs(&[Some(0.0); 3], Scale::Ratio));
        assert_eq!(never.deviations_from_one(), Some(f64::NEG_INFINITY));
    }

    /// The shares of 4,000 samples of `n` normal errors in which the intervals of the median and of the root mean square
    /// contain the true one; each error counts `copies` times.
    fn coverage(n: u64, copies: usize) -> [f64; 2] {
        const SAMPLES: u64 = 4_000;
        // The sum of twelve uniform numbers is as good as normal.
        let uniform = |number| hash::unit(hash::word(hash::start(1), number)) - 0.5;
        let normal = |number: u64| (0..12).map(|part| uniform(12 * number + part)).sum::<f64>();
        let mut held = [0.0; 2];
        for sample in 0..SAMPLES {
            let errors: Vec<f64> = (0..n).map(|index| normal(sample * n + index)).collect();
            let errors = errors.repeat(copies);
            for (held, (interval, truth)) in
                held.iter_mut().zip([(median_interval(&errors), 0.6745), (rms_interval(&errors), 1.0)])
            {
                let [low, high] = interval.unwrap();
                *held += f64::from(u8::from(low <= truth && truth <= high)) / SAMPLES as f64;
            }
        }
        held
    }

    /// Within six standard errors of what is promised. The twin counts every run twice, as if they were as many again.
    #[test]
    fn intervals_of_errors_contain_the_truth() {
        for (n, promised) in [(10, [0.979, 0.91]), (100, [0.943, 0.94])] {
            for (share, promised) in coverage(n, 1).into_iter().zip(promised) {
                assert!((share - promised).abs() < 0.025, "{n} errors: {share}, not {promised}");
            }
            assert!(coverage(n, 2).into_iter().all(|share| share < 0.9), "{n}: {:?}", coverage(n, 2));
        }
    }

    #[test]
    fn few_errors_have_no_interval() {
        let errors = [0.25, -0.5, 1.0, 2.0, -4.0, 0.125];
        assert_eq!(median_interval(&errors), Some([0.125, 4.0]));
        assert_eq!(median_interval(&errors[1..]), None);
        let [low, high] = rms_interval(&errors[1..]).unwrap();
        assert!(0.0 < low && low < high && (low * high).sqrt() - root_mean_square(&errors[1..]).unwrap() < 1e-12);
        assert_eq!((rms_interval(&errors[2..]), rms_interval(&[0.0; 9])), (None, None));
    }

    #[test]
    fn the_largest_needs_all() {
        let mut two = runs(&[Some(200.0), Some(25.0)], Scale::Log2);
        for run in &mut two {
            run.measurements.push(Measurement { quantity: "r".into(), ..run.measurements[0].clone() });
        }
        two[1].measurements[1].estimate = None;
        let summary = largest(&case(), "max", &["q", "r"], &two);
        assert_eq!((summary.runs, summary.missing, summary.median_error), (2, 1, Some(1.0)));
    }
}
