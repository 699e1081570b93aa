//! Values with their 95% confidence intervals.

/// The standard normal quantile at .975: a 95% interval reaches this many standard errors to either side.
pub const Z95: f64 = 1.959_963_984_540_054;

/// The same quantile of Student's distribution with `freedom` degrees of freedom, at least 1.
pub(crate) fn student95(freedom: f64) -> f64 {
    student(Z95, freedom)
}

/// The quantile of Student's distribution with `freedom` degrees of freedom, at least 1, for the standard normal
/// quantile `z`: to 1% from 3 on at 95% (Abramowitz and Stegun 1964, 26.7.5).
pub(crate) fn student(z: f64, freedom: f64) -> f64 {
    let square = z * z;
    let inverse = 1.0 / freedom.max(1.0);
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z * (1.0 + inverse * (first + inverse * (second + inverse * third)))
}

/// The share of successes in this many independent trials, with Wilson's interval (1927), which has a width even if no
/// success was observed. With infinitely many trials the share is exact.
pub(crate) fn wilson(share: f64, trials: f64) -> Estimate<f64> {
    let z2 = Z95 * Z95 / trials;
    let middle = (share + 0.5 * z2) / (1.0 + z2);
    let error = (z2 * (share * (1.0 - share) + 0.25 * z2)).sqrt() / (1.0 + z2);
    Estimate::around(share, (middle - error).max(0.0), (middle + error).min(1.0))
}

/// A value and its 95% confidence interval. `low ≤ value ≤ high`; the three are equal where nothing was estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate<T> {
    /// The estimate.
    pub value: T,
    /// Lower end of the interval.
    pub low: T,
    /// Upper end of the interval.
    pub high: T,
}

impl<T: Copy> Estimate<T> {
    /// A value that is known, not estimated.
    pub const fn exact(value: T) -> Self {
        Self { value, low: value, high: value }
    }

    /// The estimate of a function of the value that never falls.
    pub fn map<U>(self, of: impl Fn(T) -> U) -> Estimate<U> {
        Estimate { value: of(self.value), low: of(self.low), high: of(self.high) }
    }
}

impl<T: PartialEq> Estimate<T> {
    /// Whether the value is known: its interval has no width.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl<T: Copy + PartialOrd> Estimate<T> {
    /// A value with the ends of its interval, which are moved as far as needed to include the value.
    pub(crate) fn around(value: T, low: T, high: T) -> Self {
        Self { value, low: if low < value { low } else { value }, high: if high > value { high } else { value } }
    }
}

impl Estimate<f64> {
    /// A value with an interval that reaches this far to either side.
    pub fn within(value: f64, error: f64) -> Self {
        Self { value, low: value - error, high: value + error }
    }

    /// The standard deviation with this variance, if the variance has this standard error, with an interval that is
    /// normal on its logarithm (d log √*v* = d*v* / 2*v*).
    pub(crate) fn root(variance: f64, standard_error: f64) -> Self {
        /// A few samples that are nearly equal tell nothing; ends stay finite.
        const MOST: f64 = 10.0;
        let value = variance.max(0.0).sqrt();
        let factor = if value > 0.0 { (Z95 * standard_error / (2.0 * variance)).min(MOST).exp() } else { 1.0 };
        Self { value, low: value / factor, high: value * factor }
    }

    /// The same for a value that cannot be negative.
    pub(crate) fn not_negative(self) -> Self {
        Self { low: self.low.max(0.0), ..self }
    }

    /// The same count, with an interval that is wider by this much at each end.
    pub(crate) fn wider(self, less: f64, more: f64) -> Self {
        Self { low: (self.low - less).max(0.0), high: self.high + more, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of Brown, Cai and `DasGupta` (2001) and by hand: no success in 20 trials, 3 in 156, all of 20.
    #[test]
    fn what_was_not_seen_may_be() {
        let close = |found: Estimate<f64>, low: f64, high: f64| {
            assert!((found.low - low).abs() < 5e-4 && (found.high - high).abs() < 5e-4, "{found:?}");
        };
        close(wilson(0.0, 20.0), 0.0, 0.1611);
        close(wilson(3.0 / 156.0, 156.0), 0.0066, 0.0551);
        close(wilson(1.0, 20.0), 0.8389, 1.0);
        assert_eq!(wilson(0.3, f64::INFINITY), Estimate::exact(0.3));
    }

    #[test]
    fn few_degrees_of_freedom_widen_intervals() {
        for (freedom, quantile) in [(3.0, 3.182), (5.0, 2.571), (10.0, 2.228), (30.0, 2.042), (f64::INFINITY, Z95)] {
            assert!((student95(freedom) / quantile - 1.0).abs() < 0.01, "{freedom}: {}", student95(freedom));
        }
        assert_eq!(student95(0.0), student95(1.0));
    }
}
