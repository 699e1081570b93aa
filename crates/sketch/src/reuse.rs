//! How often ids are used again.
//!
//! **Answers**: responses with the exchange's id, on average over exchanges: Σ *n*² / Σ *n* where an id has *n* responses.
//! Methods that sample by ids sample all exchanges of an id or none, and their variances take each exchange for one of
//! its own: they are so many times too small where exchanges of one id are alike.
//!
//! **Model**: the ids that are smallest of all that were seen are a sample of ids, each as likely as the others, and
//! the responses of each are counted from its first one on.
//!
//! **State**: 32 ids with their counts.
//!
//! **Source**: bottom-*k* samples (Cohen and Kaplan 2007).

use dwell_types::ExchangeId;

/// Counts the responses of a few ids.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// Those of the smallest ids, in rising order.
    ids: [u64; IDS],
    responses: [u32; IDS],
    used: usize,
}

const IDS: usize = 32;

impl Reuse {
    /// None seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a response.
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

    /// Responses with the id of an exchange, on average; `None` before the first one.
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

    /// Each once; each 50 times, in turn or one behind the other; some once and some nine times, of which exchanges see
    /// (1 + 81) / 10.
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
