use super::Passage;

/// What a stream contained: sums over all packets, exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Truth {
    /// Packets that the sender counts.
    pub sent: u64,
    /// Packets that the receiver counts.
    pub received: u64,
    /// Packets that the sender counts and that never arrive.
    pub lost: u64,
    /// Packets that both count, and whose delays are known.
    pub both: u64,
    sum: i128,
    squares: u128,
}

impl Truth {
    /// Adds a passage to the sums.
    #[inline]
    pub fn update(&mut self, passage: &Passage) {
        self.sent += u64::from(passage.sent.is_some());
        self.received += u64::from(passage.received.is_some());
        self.lost += u64::from(passage.sent.is_some() && passage.is_lost);
        if let Some(delay) = passage.delay() {
            let ns = i128::from(delay.get());
            self.both += 1;
            self.sum += ns;
            self.squares += (ns * ns) as u128;
        }
    }

    /// Mean delay in nanoseconds; `None` without delays.
    pub fn mean(&self) -> Option<f64> {
        (self.both > 0).then(|| self.sum as f64 / self.both as f64)
    }

    /// Standard deviation of the delays in nanoseconds, with divisor *n* − 1, as estimates have; `None` below two delays.
    pub fn std(&self) -> Option<f64> {
        let (mean, others) = (self.mean()?, self.both - 1);
        let variance = (self.squares as f64 - mean * self.sum as f64) / others as f64;
        (others > 0).then(|| libm::sqrt(variance.max(0.0)))
    }
}
