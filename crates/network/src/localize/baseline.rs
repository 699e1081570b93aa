//! A series of one value per interval: what is usual, and by how much the last values exceed it.

/// Lengths of the windows of last intervals that are tested: a lasting change shows best in the mean of all it affects.
pub const WINDOWS: [usize; 4] = [1, 2, 4, 8];

/// The least number of intervals with a value in a baseline.
pub const LEAST_BASELINE: usize = 3;

/// The measured value of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The value, in any unit; finite.
    pub value: f64,
    /// Its squared standard error due to the number of packets alone; above zero.
    pub variance: f64,
}

/// What is usual: statistics of the first intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Baseline {
    /// Number of intervals that had a value.
    pub intervals: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; at least what the number of packets implies.
    pub spread: f64,
    /// The mean of their variances.
    variance: f64,
}

/// How much larger than usual the values of the last intervals are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Number of the window's first interval.
    pub first: usize,
    /// How many of its intervals have a value.
    pub intervals: usize,
    /// Their mean.
    pub value: f64,
    /// By how much that exceeds the mean of the baseline.
    pub excess: f64,
    /// The excess in units of its standard error: Student's *t* with one degree of freedom less than the baseline has
    /// intervals.
    pub score: f64,
    /// The standard error of the excess in units of the baseline's spread.
    pub(super) width: f64,
}

impl Baseline {
    /// Of these values; `None` if too few are known.
    pub fn of(values: &[Option<Value>]) -> Option<Self> {
        let (intervals, Value { value: mean, variance }) = mean(values)?;
        if intervals < LEAST_BASELINE {
            return None;
        }
        let squares: f64 = values.iter().flatten().map(|v| (v.value - mean) * (v.value - mean)).sum();
        let spread = (squares / (intervals as f64 - 1.0)).max(variance).sqrt();
        Some(Self { intervals, mean, spread, variance })
    }

    /// Degrees of freedom of Student's *t* for values compared with this baseline.
    pub fn freedom(&self) -> f64 {
        self.intervals as f64 - 1.0
    }

    /// The score of each of its values, compared with the others: one degree of freedom less than [`Self::freedom`].
    pub(super) fn own_scores(&self, values: &[Option<Value>]) -> impl Iterator<Item = f64> {
        let n = self.intervals as f64;
        let squares: f64 = values.iter().flatten().map(|v| (v.value - self.mean).powi(2)).sum();
        values.iter().flatten().map(move |v| {
            // What is left of mean and sum of squares without this value.
            let excess = (v.value - self.mean) * n / (n - 1.0);
            let rest = squares - excess * (v.value - self.mean);
            let spread = (rest / (n - 2.0)).max(self.variance).sqrt();
            excess / (spread * (n / (n - 1.0)).sqrt())
        })
    }

    /// The shift of the values of a window that begins with interval `first`; `None` if there are none.
    ///
    /// Its variance is *s*² (1/*w* + 1/*B*) for a window of *w* intervals and a baseline of *B*, more if the window has
    /// fewer packets than the baseline.
    pub fn shift(&self, values: &[Option<Value>], first: usize) -> Option<Shift> {
        let (intervals, Value { value, variance }) = mean(values)?;
        let w = intervals as f64;
        let more = (variance - self.variance).max(0.0);
        let error = (self.spread * self.spread * (1.0 / w + 1.0 / self.intervals as f64) + more / w).sqrt();
        let excess = value - self.mean;
        Some(Shift { first, intervals, value, excess, score: excess / error, width: error / self.spread })
    }

    /// The windows that end with the last of these values and begin after the baseline, the values before `from`.
    pub fn shifts(&self, values: &[Option<Value>], from: usize) -> impl Iterator<Item = Shift> {
        windows(values.len(), from).filter_map(|first| self.shift(&values[first..], first))
    }
}

/// The number of the values that are known, and the means of them and of their variances; `None` if there are none.
pub(super) fn mean(values: &[Option<Value>]) -> Option<(usize, Value)> {
    let intervals = values.iter().flatten().count();
    let mean = |of: fn(&Value) -> f64| values.iter().flatten().map(of).sum::<f64>() / intervals as f64;
    (intervals > 0).then(|| (intervals, Value { value: mean(|v| v.value), variance: mean(|v| v.variance) }))
}

/// The first interval of each window that ends with the last of this many intervals, `from` of which are the baseline.
pub(super) fn windows(intervals: usize, from: usize) -> impl Iterator<Item = usize> {
    WINDOWS.into_iter().filter(move |&length| from + length <= intervals).map(move |length| intervals - length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::localize::test_support::values;

    /// A value's own score is that of a later interval with the same value, judged by a baseline without it.
    #[test]
    fn own_scores_leave_the_value_out() {
        let series = values(&[1.0, 3.0, 2.0, 1.5, 7.0, 2.0]);
        for (index, own) in Baseline::of(&series).unwrap().own_scores(&series).enumerate() {
            let mut rest = series.clone();
            let value = rest.remove(index);
            let score = Baseline::of(&rest).unwrap().shift(&[value], 5).unwrap().score;
            assert!((own - score).abs() < 1e-9, "{index}: {own} {score}");
        }
    }
}
