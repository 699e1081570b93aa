//! The error that methods minimise when they choose their parameters, from how much data, and how slow the slowest
//! exchanges are.

use std::iter::Sum;
use std::ops::{Mul, SubAssign};

/// A quantile whose predicted error is minimised.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    /// *F*.
    pub(crate) share: f64,
    /// The density of a normal distribution at *F*.
    density: f64,
    /// The weight of its error.
    weight: f64,
}

/// The quantiles that count where a product limit is used. The last stands for means and for the far tail.
pub(crate) const TARGETS: [Target; 6] = [
    Target { share: 0.05, density: 0.103, weight: 0.5 },
    Target { share: 0.5, density: 0.399, weight: 1.0 },
    Target { share: 0.75, density: 0.3178, weight: 0.5 },
    Target { share: 0.95, density: 0.103, weight: 1.0 },
    Target { share: 0.99, density: 0.0267, weight: 0.25 },
    Target { share: 0.999, density: 0.00337, weight: 0.05 },
];

impl Target {
    /// The factor for a standard deviation at *F*. Where the logarithms of delays are normal, however wide, errors
    /// divided by the density are comparable errors in octaves.
    pub(crate) fn scale(self) -> f64 {
        self.weight / self.density
    }
}

/// With fewer samples than this the tail is unknown.
pub(crate) const ENOUGH: u32 = 64;

/// The probability that an entry is there after so many mean lifetimes; bounded from below, since a sample hardly ever
/// occurs whose weight would be larger.
pub(crate) fn survival(lifetimes: f64) -> f64 {
    const MOST: f64 = 12.0;
    (-lifetimes.min(MOST)).exp()
}

/// Quantiles where samples are weighted by one over their probability. Errors are relative to *F*(1 − *F*), so that
/// tails count more: there single heavy samples do more harm than the variance shows.
const TARGETS_OF_WEIGHTED: [f64; 3] = [0.5, 0.95, 0.99];

/// Predicted error, up to a factor, of samples weighted by one over their probability: from exchanges by ascending
/// delay, each with its weight and its probability of being sampled.
///
/// The variance of the estimated distribution function at *F* is proportional to (1 − *F*)² *V*≤ + *F*² *V*>, where
/// *V*≤ and *V*> sum 1/*q* − 1 over the exchanges below and above it.
pub(crate) fn error_of_weighted(exchanges: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let total: f64 = exchanges.clone().map(|(weight, _)| weight).sum();
    let mut below = [(0.0, 0.0); TARGETS_OF_WEIGHTED.len()];
    let mut all = (0.0, 0.0);
    for (weight, chance) in exchanges {
        all.0 += weight;
        all.1 += weight * (1.0 / chance - 1.0);
        for (sums, target) in below.iter_mut().zip(TARGETS_OF_WEIGHTED) {
            if all.0 <= target * total {
                *sums = all;
            }
        }
    }
    let error = |&(share, variance): &(f64, f64)| {
        let f = (share / total).clamp(0.01, 0.99);
        (variance / (f * f) + (all.1 - variance) / ((1.0 - f) * (1.0 - f))).sqrt()
    };
    below.iter().map(error).sum()
}

/// The bin of ascending delays in which the slowest exchanges begin, which are this part of all of them; `None` if there
/// are no exchanges.
pub(crate) fn slowest<F>(weights: &[F], part: F) -> Option<usize>
where
    F: Copy + Default + PartialOrd + Sum + Mul<Output = F> + SubAssign,
{
    let mut left = weights.iter().copied().sum::<F>() * part;
    weights.iter().rposition(|&weight| {
        left -= weight;
        left < F::default()
    })
}
