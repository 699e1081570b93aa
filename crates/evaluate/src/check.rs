//! Compares a fresh quick run with an earlier one's record, and lists what moved.

use crate::case::Scale;
use crate::definition::Tolerance;
use crate::metrics::Summary;
use std::collections::BTreeMap;
use std::fmt;

/// A number that differs from the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// Workload, method, parameters and quantity.
    pub place: String,
    /// The metric of the summary.
    pub metric: &'static str,
    /// The recorded number; `None` if absent.
    pub recorded: Option<f64>,
    /// The fresh number; `None` if absent.
    pub fresh: Option<f64>,
    /// How far it may move.
    pub tolerance: f64,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.4}"));
        let (recorded, fresh) = (text(self.recorded), text(self.fresh));
        write!(f, "{}: {} was {recorded}, is {fresh}, may move by {:.4}", self.place, self.metric, self.tolerance)
    }
}

/// The numbers that differ by more than the tolerance; those that are in only one of the two count as moved.
pub fn compare(recorded: &[Summary], fresh: &[Summary], tolerance: &Tolerance) -> Vec<Moved> {
    let mut left: BTreeMap<String, &Summary> = fresh.iter().map(|summary| (place(summary), summary)).collect();
    let mut moved = Vec::new();
    for old in recorded {
        let place = place(old);
        match left.remove(&place) {
            Some(new) => compare_one(&place, old, new, tolerance, &mut moved),
            None => moved.push(existence(place, Some(old.runs as f64), None)),
        }
    }
    moved.extend(left.into_iter().map(|(place, new)| existence(place, None, Some(new.runs as f64))));
    moved
}

fn place(summary: &Summary) -> String {
    format!("{}, {}, {}", summary.workload, summary.configuration(), summary.quantity)
}

fn existence(place: String, recorded: Option<f64>, fresh: Option<f64>) -> Moved {
    Moved { place, metric: "runs", recorded, fresh, tolerance: 0.0 }
}

fn compare_one(place: &str, old: &Summary, new: &Summary, tolerance: &Tolerance, moved: &mut Vec<Moved>) {
    let of_mean = match old.scale {
        Scale::Log2 => tolerance.octaves,
        Scale::Relative | Scale::Ratio => tolerance.ratio,
        Scale::Value => tolerance.relative * old.mean.unwrap_or(0.0).abs(),
    };
    let share = |summary: &Summary| Some(summary.missing as f64 / summary.runs.max(1) as f64);
    let metrics = [
        ("runs", Some(old.runs as f64), Some(new.runs as f64), 0.0),
        ("missing share", share(old), share(new), tolerance.share),
        ("median error", old.median_error, new.median_error, tolerance.octaves),
        ("rms error", old.rms_error, new.rms_error, tolerance.octaves),
        ("median error of ten", old.ten_median_error, new.ten_median_error, tolerance.octaves),
        ("rms error of ten", old.ten_rms_error, new.ten_rms_error, tolerance.octaves),
        ("mean relative error", old.mean_relative_error, new.mean_relative_error, tolerance.ratio),
        ("rms relative error", old.rms_relative_error, new.rms_relative_error, tolerance.ratio),
        ("mean", old.mean, new.mean, of_mean),
        ("covered share", old.covered, new.covered, tolerance.share),
    ];
    for (metric, recorded, fresh, tolerance) in metrics {
        /// Relative error of numbers written as text.
        const ROUNDING: f64 = 1e-9;
        let is_near = match (recorded, fresh) {
            (Some(recorded), Some(fresh)) => (recorded - fresh).abs() <= tolerance + ROUNDING * recorded.abs(),
            (recorded, fresh) => recorded.is_none() && fresh.is_none(),
        };
        if !is_near {
            moved.push(Moved { place: place.to_owned(), metric, recorded, fresh, tolerance });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(quantity: &str) -> Summary {
        Summary {
            workload: "w".into(),
            method: "m".into(),
            parameters: BTreeMap::from([("slots".into(), 64.0)]),
            quantity: quantity.into(),
            scale: Scale::Log2,
            runs: 10,
            median_error: Some(0.1),
            rms_error: Some(0.2),
            ten_median_error: Some(0.05),
            ten_rms_error: Some(0.05),
            mean: Some(0.0),
            standard_error: Some(0.01),
            covered: Some(0.9),
            ..Summary::default()
        }
    }

    #[test]
    fn what_moves_is_named() {
        let tolerance = Tolerance::default();
        let old = [summary("p50"), summary("p99")];
        assert_eq!(compare(&old, &old, &tolerance), []);
        let mut new = old.clone();
        new[1].rms_error = Some(0.209);
        assert_eq!(compare(&old, &new, &tolerance), []);
        new[1].rms_error = Some(0.211);
        let moved = compare(&old, &new, &tolerance);
        assert_eq!(moved.len(), 1);
        let words = "w, m slots=64, p99: rms error was 0.2000, is 0.2110, may move by 0.0100";
        assert_eq!(moved[0].to_string(), words);
        new[1].rms_error = None;
        assert_eq!(compare(&old, &new, &tolerance).len(), 1);
    }

    #[test]
    fn what_comes_or_goes_has_moved() {
        let (old, new) = ([summary("p50")], [summary("p99")]);
        let moved = compare(&old, &new, &Tolerance::default());
        assert_eq!(moved.len(), 2);
        assert!(moved[0].place.ends_with("p50") && moved[0].fresh.is_none());
        assert!(moved[1].place.ends_with("p99") && moved[1].recorded.is_none());
    }
}
