//! Values with their 95% confidence intervals.

/// The standard normal quantile at .975: a 95% interval reaches this many standard errors to either side.
pub const Z95: f64 = 1.959_963_984_540_054;

/// A number and the interval that holds the truth in 95 of 100 runs. `low ≤ value ≤ high`; the three are equal where
/// nothing was estimated.
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
}
