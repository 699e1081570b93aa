//! How often ids are reused.
//!
//! **Answers**: the number of exchanges, or of packets, with an exchange's id, averaged over exchanges: Σ *n*² / Σ *n*
//! where an id has *n*. Methods that sample by id sample all exchanges of an id or none: variances are larger by this
//! factor than those of independent exchanges, if the exchanges of an id are alike (see
//! [`crate::distribution::Distribution::with_shared_ids`]).
//!
//! **Model**: none. A few exchanges are chosen at random from all, and those with the same id that follow are counted: of
//! *n* exchanges with an id, (*n* + 1)/2 on average from one of them on. To choose among ids instead would miss the few
//! that many exchanges share.
//!
//! An exchange is known when it is answered. Responses of one id without a request between them are one exchange.
//!
//! **State**: 32 ids with their counts.
//!
//! **Estimate**: the mean of 2*r* − 1, where *r* exchanges come from a chosen one on: unbiased; its standard error is up
//! to a tenth where all ids have as many exchanges, a fifth where half of the exchanges have ids of their own. Exactly 1
//! if no id comes again.
//!
//! **Source**: the second frequency moment by Alon, Matias and Szegedy (1996); reservoirs, algorithm R (Vitter 1985).

use dwell_types::{ExchangeId, hash};

/// Counts the exchanges that follow a few, with the same ids.
#[derive(Clone, Debug, Default)]
pub struct Reuse {
    /// The ids of chosen exchanges.
    ids: [u64; CHOSEN],
    /// How often, from the response to each of them on, requests and responses of the same id took turns: 2*r* − 1, and one
    /// more if a request is open.
    turns: [u32; CHOSEN],
    seen: u64,
}

const CHOSEN: usize = 32;

impl Reuse {
    /// Adds a packet.
    #[inline]
    pub fn see(&mut self, ExchangeId(id): ExchangeId) {
        if self.is_chosen(id) {
            self.count(id, |_| 2);
        }
        self.choose(id);
    }

    /// Adds a request, which belongs to an exchange only if a response follows.
    #[inline]
    pub fn see_request(&mut self, ExchangeId(id): ExchangeId) {
        if self.is_chosen(id) {
            self.count(id, |turns| turns & 1);
        }
    }

    /// Adds a response.
    #[inline]
    pub fn see_response(&mut self, ExchangeId(id): ExchangeId) {
        if self.is_chosen(id) {
            self.count(id, |turns| turns & 1 ^ 1);
        }
        self.choose(id);
    }

    #[inline]
    fn is_chosen(&self, id: u64) -> bool {
        // Without a way out, so that several are compared at a time.
        self.ids.iter().fold(false, |any, &chosen| any | (chosen == id))
    }

    #[inline]
    fn choose(&mut self, id: u64) {
        let at = if self.seen < CHOSEN as u64 {
            self.seen as usize
        } else {
            (hash::unit(hash::finish(self.seen)) * (self.seen + 1) as f64) as usize
        };
        self.seen += 1;
        if let (Some(chosen), Some(turns)) = (self.ids.get_mut(at), self.turns.get_mut(at)) {
            (*chosen, *turns) = (id, 1);
        }
    }

    /// Those not chosen yet have the id 0, and their counts are overwritten.
    #[cold]
    fn count(&mut self, id: u64, more: impl Fn(u32) -> u32) {
        for (turns, _) in self.turns.iter_mut().zip(&self.ids).filter(|&(_, &chosen)| chosen == id) {
            *turns = turns.checked_add(more(*turns)).unwrap_or(*turns);
        }
    }

    /// The average number of exchanges with the id of an exchange; `None` before the first one.
    pub fn per_exchange(&self) -> Option<f64> {
        let chosen = self.seen.min(CHOSEN as u64) as usize;
        let sum = self.turns[..chosen].iter().map(|&turns| f64::from((turns - 1) | 1)).sum::<f64>();
        (chosen > 0).then(|| sum / chosen as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(ids: impl Iterator<Item = u64>) -> Option<f64> {
        let mut reuse = Reuse::default();
        ids.for_each(|id| reuse.see(ExchangeId(hash::finish(id))));
        reuse.per_exchange()
    }

    /// Ids used once; 50 times each, in turn or in a row; some once and some nine times, where the average over
    /// exchanges is (1 + 81) / 10; half of the exchanges in 300 of 50,300 ids. The tolerance is three standard errors
    /// and more: other seeds would fail once in 100 times.
    #[test]
    fn exchanges_share_ids() {
        assert_eq!(seen(std::iter::empty()), None);
        assert_eq!(seen(0..10_000), Some(1.0));
        let is_near = |found: Option<f64>, truth: f64, error: f64| {
            assert!((found.unwrap() - truth).abs() < 3.0 * error, "{found:?} {truth}");
        };
        is_near(seen((0..100_000).map(|i| i % 2_000)), 50.0, 5.1);
        is_near(seen((0..100_000).map(|i| i / 50)), 50.0, 5.1);
        is_near(seen((0..70).map(|i| i % 7)), 10.0, 1.0);
        is_near(seen((0..10_000u64).flat_map(|id| vec![id; if id % 2 == 0 { 1 } else { 9 }])), 8.2, 0.96);
        is_near(seen((0..100_000).map(|i| if i % 2 == 0 { i / 2 % 300 } else { 300 + i })), 83.8, 19.0);
    }

    /// Ten thousand exchanges, each with so many requests before its responses; exchange *i* has the id *i* mod `ids`.
    fn exchanged(ids: u64, requests: usize, responses: usize) -> f64 {
        let mut reuse = Reuse::default();
        for i in 0..10_000 {
            let id = ExchangeId(hash::finish(i % ids));
            (0..requests).for_each(|_| reuse.see_request(id));
            (0..responses).for_each(|_| reuse.see_response(id));
        }
        reuse.per_exchange().unwrap()
    }

    /// Neither a request that is sent again nor a response that comes twice is an exchange of its own.
    #[test]
    fn repetitions_are_no_exchanges() {
        for (requests, responses) in [(1, 1), (1, 2), (3, 1), (2, 5)] {
            assert_eq!(exchanged(10_000, requests, responses), 1.0, "{requests} {responses}");
            let shared = exchanged(500, requests, responses);
            assert!((shared - 20.0).abs() < 3.0 * 2.1, "{requests} {responses}: {shared}");
        }
        let mut twice = Reuse::default();
        (0..100).for_each(|i| twice.see(ExchangeId(i / 2)));
        assert!(twice.per_exchange().unwrap() > 1.5, "packets have no requests");
    }
}
