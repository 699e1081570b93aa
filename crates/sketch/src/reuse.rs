//! How often ids are reused.
//!
//! **Answers**: the number of responses with an exchange's id, averaged over exchanges: Σ *n*² / Σ *n* where an id has
//! *n* responses. Methods that sample by id sample all exchanges of an id or none: variances are larger by this factor
//! than those of independent exchanges, if the exchanges of an id are alike (see
//! [`crate::distribution::Distribution::with_shared_ids`]).
//!
//! **Model**: the smallest of all ids seen are a uniform sample of the ids, and the responses of each are counted from
//! its first one on.
//!
//! **State**: 32 ids with their counts.
//!
//! **Source**: bottom-*k* samples (Cohen and Kaplan 2007).

use dwell_types::ExchangeId;

/// Counts the responses of a few ids.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// The smallest ids, in ascending order.
    ids: [u64; IDS],
    responses: [u32; IDS],
    used: usize,
}

const IDS: usize = 32;

impl Reuse {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a response.
    #[inline]
    pub fn see(&mut self, ExchangeId(id): ExchangeId) {
        if self.used < IDS || id <= self.ids[IDS - 1] {
            self.count(id);
        }
    }

    fn count(&mut self, id: u64) {
        match self.ids[..self.used].binary_search(&id) {
            Ok(at) => self.responses[at] = self.responses[at].saturating_add(1),
            Err(at) => {
                self.used = (self.used + 1).min(IDS);
                self.ids.copy_within(at..self.used - 1, at + 1);
                self.responses.copy_within(at..self.used - 1, at + 1);
                (self.ids[at], self.responses[at]) = (id, 1);
            }
        }
    }

    /// The average number of responses with the id of an exchange; `None` before the first one.
    pub fn per_exchange(&self) -> Option<f64> {
        let numbers = || self.responses[..self.used].iter().map(|&responses| f64::from(responses));
        (self.used > 0).then(|| numbers().map(|n| n * n).sum::<f64>() / numbers().sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    fn seen(ids: impl Iterator<Item = u64>) -> Option<f64> {
        let mut reuse = Reuse::new();
        ids.for_each(|id| reuse.see(ExchangeId(hash::finish(id))));
        reuse.per_exchange()
    }

    /// Ids used once; 50 times each, in turn or in a row; some once and some nine times, where the average over
    /// exchanges is (1 + 81) / 10.
    #[test]
    fn exchanges_share_ids() {
        assert_eq!(seen(std::iter::empty()), None);
        assert_eq!(seen(0..10_000), Some(1.0));
        assert_eq!(seen((0..100_000).map(|i| i % 2_000)), Some(50.0));
        assert_eq!(seen((0..100_000).map(|i| i / 50)), Some(50.0));
        assert_eq!(seen((0..70).map(|i| i % 7)), Some(10.0));
        let mixed = seen((0..10_000u64).flat_map(|id| vec![id; if id % 2 == 0 { 1 } else { 9 }])).unwrap();
        assert!((6.5..9.0).contains(&mixed), "{mixed}");
    }
}
