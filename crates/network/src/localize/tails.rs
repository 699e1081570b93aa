//! Tail probabilities of Student's and the binomial distribution, both by the incomplete beta function.

use libm::{exp, lgamma, log, log1p};

/// The most terms of the continued fraction; it needs about √max(*a*, *b*) of them.
const MOST_TERMS: u32 = 1 << 16;

/// P(*T* > `score`) for Student's *T* with this many degrees of freedom: ½ *I*ₓ(*ν*/2, ½) with *x* = *ν*/(*ν* + *t*²)
/// above zero (Abramowitz and Stegun 1964, 26.7.1).
pub(super) fn student(score: f64, freedom: f64) -> f64 {
    let beyond = 0.5 * beta(freedom / 2.0, 0.5, freedom / (freedom + score * score));
    if score > 0.0 { beyond } else { 1.0 - beyond }
}

/// ln of the density of Student's *T* (Abramowitz and Stegun 1964, 26.7.2).
pub(super) fn ln_student_density(score: f64, freedom: f64) -> f64 {
    let half = freedom / 2.0;
    lgamma(half + 0.5)
        - lgamma(half)
        - 0.5 * log(freedom * std::f64::consts::PI)
        - (half + 0.5) * log1p(score * score / freedom)
}

/// P(*X* ≥ *k*) in *n* trials with success probability `probability`: *I*ₚ(*k*, *n* − *k* + 1) (Abramowitz and Stegun
/// 1964, 26.5.24). For *k* and *n* that are not whole it interpolates smoothly.
pub(super) fn binomial(k: f64, n: f64, probability: f64) -> f64 {
    if k <= 0.0 { 1.0 } else { beta(k, n - k + 1.0, probability) }
}

/// The regularised incomplete beta function *I*ₓ(*a*, *b*), by its continued fraction for *x* or for 1 − *x*, whichever
/// converges fast.
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 1964, 26.5.8), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let safe = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / safe(1.0 - (a + b) * x / (a + 1.0));
    let mut value = below;
    for term in 1..=MOST_TERMS {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for numerator in [even, odd] {
            below = 1.0 / safe(1.0 + numerator * below);
            above = safe(1.0 + numerator / above);
            step = below * above;
            value *= step;
        }
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    /// Compares with closed forms for one and two degrees of freedom, and with tabulated quantiles.
    #[test]
    fn tails_of_student() {
        for score in [-3.0f64, -0.2, 0.0, 0.5, 4.0, 1e3] {
            let one = 0.5 - score.atan() / std::f64::consts::PI;
            let two = 1.0 / ((score * score + 2.0) + score * (score * score + 2.0).sqrt());
            assert!((student(score, 1.0) - one).abs() < 1e-13, "{score}: {}", student(score, 1.0));
            assert!(near(student(score, 2.0), two), "{score}: {}", student(score, 2.0));
        }
        for (freedom, quantile) in [(5.0, 4.032_142_983), (19.0, 2.860_934_604), (60.0, 2.660_283_029)] {
            assert!((student(quantile, freedom) / 0.005 - 1.0).abs() < 1e-7, "{freedom}");
        }
        assert_eq!(student(f64::INFINITY, 9.0), 0.0);
    }

    #[test]
    fn densities_are_what_tails_fall_by() {
        for freedom in [1.0, 7.0, 40.0] {
            for score in [-2.0, 0.0, 1.0, 6.0] {
                let step = 1e-4;
                let slope = (student(score - step, freedom) - student(score + step, freedom)) / (2.0 * step);
                assert!((exp(ln_student_density(score, freedom)) / slope - 1.0).abs() < 1e-6, "{freedom} {score}");
            }
        }
    }

    /// Compares with the sums of all terms.
    #[test]
    fn tails_of_the_binomial() {
        for (trials, probability) in [(1u32, 0.3f64), (12, 0.04), (30, 0.9)] {
            for least in 0..=trials {
                let choose = |k: u32| (0..k).fold(1.0, |c, i| c * f64::from(trials - i) / f64::from(i + 1));
                let term =
                    |k: u32| choose(k) * probability.powi(k as i32) * (1.0 - probability).powi((trials - k) as i32);
                let sum: f64 = (least..=trials).map(term).sum();
                let found = binomial(least.into(), trials.into(), probability);
                assert!((found - sum).abs() < 1e-12, "{least} of {trials}: {found}, expected {sum}");
            }
        }
        assert!(binomial(30.0, 1e6, 1e-6) < 1e-30);
        assert!((binomial(5e8, 1e9, 0.5) - 0.5).abs() < 1e-4);
    }
}
