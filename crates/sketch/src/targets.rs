//! What is made small where a method finds its parameters.

/// Quantiles whose predicted errors count where a product limit weighs: *F*, the density of a normal distribution there, and how much the error
/// counts. Where the logarithms of delays are normal, however wide, errors of *F* over that density are alike in octaves. The last
/// stands for means and what lies far out.
pub(crate) const TARGETS: [(f64, f64, f64); 6] = [
    (0.05, 0.103, 0.5),
    (0.5, 0.399, 1.0),
    (0.75, 0.3178, 0.5),
    (0.95, 0.103, 1.0),
    (0.99, 0.0267, 0.5),
    (0.999, 0.00337, 0.1),
];

/// Quantiles where samples are weighed with one over their chance. Errors count relative to *F*(1 − *F*), so that tails count more: there single heavy
/// samples do more harm than a variance tells.
const TARGETS_OF_WEIGHTED: [f64; 3] = [0.5, 0.95, 0.99];

/// Predicted error of samples that are weighed with one over their chance, up to a factor: of exchanges by ascending delay, each with its weight and
/// its chance to be sampled.
///
/// The variance of the estimated distribution function at *F* is proportional to (1 − *F*)² *V*≤ + *F*² *V*>, where *V*≤ and *V*> sum
/// 1/*q* − 1 over the exchanges below and above it.
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
