use dwell_types::Nanos;

/// All delays of a set of exchanges, and so their exact distribution.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    values: Vec<Nanos>,
    sorted: bool,
}

impl Delays {
    /// Adds one delay.
    #[inline]
    pub fn record(&mut self, delay: Nanos) {
        self.values.push(delay);
        self.sorted = false;
    }

    /// Number of delays.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Arithmetic mean in nanoseconds; `None` without delays.
    pub fn mean(&self) -> Option<f64> {
        let sum: i128 = self.values.iter().map(|delay| i128::from(delay.get())).sum();
        (!self.is_empty()).then(|| sum as f64 / self.len() as f64)
    }

    /// The smallest delay that at least the share `p` of all delays does not exceed: the ⌈p·n⌉-th in ascending order.
    /// `p` is clamped to `0..=1`; `None` without delays.
    pub fn quantile(&mut self, p: f64) -> Option<Nanos> {
        let rank = libm::ceil(p * self.len() as f64).max(1.0) as usize;
        let last = self.len().checked_sub(1)?;
        Some(self.sorted()[(rank - 1).min(last)])
    }

    /// The share of delays up to and including `delay`, in `0..=1`; zero without delays.
    pub fn share_up_to(&mut self, delay: Nanos) -> f64 {
        let n = self.len().max(1) as f64;
        self.sorted().partition_point(|&value| value <= delay) as f64 / n
    }

    /// All delays in ascending order.
    pub fn sorted(&mut self) -> &[Nanos] {
        if !self.sorted {
            self.values.sort_unstable();
            self.sorted = true;
        }
        &self.values
    }
}

impl FromIterator<Nanos> for Delays {
    fn from_iter<I: IntoIterator<Item = Nanos>>(delays: I) -> Self {
        Self { values: delays.into_iter().collect(), sorted: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_shares() {
        let mut delays: Delays = [40, 10, 30, 20].map(Nanos::new).into_iter().collect();
        assert_eq!(delays.mean(), Some(25.0));
        let ranks = [(-1.0, 10), (0.0, 10), (0.25, 10), (0.26, 20), (0.5, 20), (0.99, 40), (1.0, 40), (2.0, 40)];
        for (p, expected) in ranks {
            assert_eq!(delays.quantile(p), Some(Nanos::new(expected)), "p = {p}");
        }
        assert_eq!([9, 10, 35, 40].map(|x| delays.share_up_to(Nanos::new(x))), [0.0, 0.25, 0.75, 1.0]);
        delays.record(Nanos::new(5));
        assert_eq!((delays.len(), delays.quantile(0.0)), (5, Some(Nanos::new(5))));
    }

    #[test]
    fn none_at_all() {
        let mut delays = Delays::default();
        assert_eq!((delays.mean(), delays.quantile(0.5), delays.share_up_to(Nanos::ZERO)), (None, None, 0.0));
    }
}
