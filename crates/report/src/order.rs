//! What the orders of results have in common: the statistics of delays, and what comes after others.

use crate::quantiles::{QUANTILES, Quantiles};
use dwell_sketch::estimate::Estimate;
use std::cmp::Reverse;
use std::iter::once;

/// With fewer samples a delay or a loss depends on few of them, and a histogram is less informative than the numbers.
pub(crate) const FEWEST_SAMPLES: u64 = 20;

/// The place of a result: first those that are not all others together; then those of enough samples, if these matter;
/// then the largest.
pub(crate) type Rank = Reverse<(bool, bool, i64)>;

/// A statistic of the delay, by which the slowest come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slowness {
    /// The mean delay.
    Mean,
    /// One of [`QUANTILES`], by its place there.
    Quantile(usize),
}

impl Slowness {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        once(Self::Mean).chain((0..QUANTILES.len()).map(Self::Quantile))
    }

    /// The name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Quantile(place) => QUANTILES[place].0,
        }
    }

    /// What the first ones are.
    pub(crate) fn first(self) -> String {
        format!("slowest ({})", self.name())
    }

    /// That of so many samples with these statistics, in nanoseconds: whether they are enough, and the value.
    pub(crate) fn of(self, samples: u64, mean: Option<Estimate<i64>>, quantiles: &Quantiles) -> (bool, i64) {
        let delay = match self {
            Self::Mean => mean,
            Self::Quantile(place) => quantiles[place],
        };
        (samples >= FEWEST_SAMPLES, delay.map_or(i64::MIN, |delay| delay.value))
    }
}
