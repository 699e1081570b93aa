//! The search for the lifetimes with the least predicted variance.

use super::{Ladder, Rung};
use crate::Gate;
use crate::parts::targets::{error_of_weighted, slowest, survival};

impl Ladder {
    /// The ladder of `slots` slots with the least predicted variance, of one to three lifetimes.
    ///
    /// `delays` are pairs of the number of requests offered between a request and its response, and the number of such
    /// exchanges. The search minimises the predicted error of some quantiles, as for one fridge. Another lifetime is
    /// added only if it gains 2%. The search is over octaves of lifetimes and sixteenths of slots. `None` if there are
    /// fewer than 32 slots or no delays.
    pub fn least_variance(slots: u32, delays: &[(f64, f64)]) -> Option<Self> {
        let mut known = Delays::default();
        delays.iter().for_each(|&(offered, weight)| known.add(offered, weight));
        Some(Search::new(slots, &known, 0.0)?.best()?.1)
    }
}

/// Weight of exchanges by the number of requests offered between request and response.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    /// Two bins per octave.
    weights: [f32; Self::BINS],
}

impl Default for Delays {
    fn default() -> Self {
        Self { weights: [0.0; Self::BINS] }
    }
}

impl Delays {
    const MOST_OCTAVES: i32 = 48;
    const BINS: usize = 2 * Self::MOST_OCTAVES as usize;

    pub(super) fn add(&mut self, offered: f64, weight: f64) {
        self.weights[Self::bin(offered)] += weight as f32;
    }

    /// Raises the weight of a delay's bin to at least this.
    pub(super) fn raise(&mut self, offered: f64, weight: f64) {
        let known = &mut self.weights[Self::bin(offered)];
        *known = known.max(weight as f32);
    }

    /// The weight of all delays up to this one.
    pub(super) fn up_to(&self, offered: f64) -> f64 {
        let known = self.weights.iter().enumerate().filter(|&(bin, _)| Self::middle(bin) <= offered);
        known.map(|(_, &weight)| f64::from(weight)).sum()
    }

    fn bin(offered: f64) -> usize {
        ((2.0 * offered.max(1.0).log2()) as usize).min(Self::BINS - 1)
    }

    /// Halves the weight of all delays so far.
    pub(super) fn fade(&mut self) {
        self.weights.iter_mut().for_each(|weight| *weight *= 0.5);
    }

    /// The 99th percentile; zero if there are none.
    pub(super) fn slow(&self) -> f64 {
        slowest(&self.weights, 0.01).map_or(0.0, Self::middle)
    }

    fn middle(bin: usize) -> f64 {
        2f64.powf((bin as f64 + 0.5) / 2.0)
    }
}

/// The search space: combinations of some lifetimes, with delays grouped in half octaves.
pub(super) struct Search {
    slots: u32,
    /// Middles of non-empty bins, in offered requests, ascending; and their weights.
    delays: Vec<(f64, f64)>,
    /// In offered requests.
    lifetimes: Vec<f64>,
    /// Probability of surviving a delay, by lifetime and delay.
    survivals: Vec<Vec<f64>>,
    /// A lower bound of the longest lifetime.
    least: f64,
}

impl Search {
    const LEAST_SLOTS: u32 = 32;

    /// For this many slots and these delays; the longest lifetime must be `least` or longer. `None` if there are fewer
    /// than 32 slots or no delays.
    pub(super) fn new(slots: u32, delays: &Delays, least: f64) -> Option<Self> {
        let filled = delays.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let delays: Vec<(f64, f64)> = filled.map(|(bin, &weight)| (Delays::middle(bin), weight.into())).collect();
        let &(longest, _) = delays.last()?;
        if slots < Self::LEAST_SLOTS {
            return None;
        }
        // Lifetimes shorter than the array's at p = 1, or much longer than the longest delay, are of no use; those of
        // fridges that hardly anything enters are not possible.
        let most = (16.0 * longest).max(f64::from(slots)).max(2.0 * least).min(f64::from(slots / 16) / Gate::LEAST);
        let lifetimes: Vec<f64> = (0..Delays::MOST_OCTAVES)
            .map(|octave| f64::from(slots) * 2f64.powi(octave) / 16.0)
            .take_while(|&lifetime| lifetime <= most)
            .collect();
        let of_lifetime = |&lifetime: &f64| delays.iter().map(|&(delay, _)| survival(delay / lifetime)).collect();
        let survivals = lifetimes.iter().map(of_lifetime).collect();
        Some(Self { slots, delays, lifetimes, survivals, least })
    }

    /// The best ladder of one to three lifetimes, with its predicted error.
    pub(super) fn best(&self) -> Option<(f64, Ladder)> {
        /// The error must fall below this share for another lifetime.
        const GAIN: f64 = 0.98;
        let mut best: Option<(f64, Vec<Rung>)> = None;
        for shares in [
            &[&[16][..]][..],
            &[&[1, 15], &[2, 14], &[4, 12], &[8, 8], &[12, 4]],
            &[&[1, 1, 14], &[1, 3, 12], &[2, 2, 12], &[1, 7, 8], &[4, 4, 8]],
        ] {
            let found = shares.iter().filter_map(|shares| self.best_of(shares));
            let found = found.min_by(|a, b| a.0.total_cmp(&b.0));
            best = match (best, found) {
                (Some(best), Some(found)) => Some(if found.0 < GAIN * best.0 { found } else { best }),
                (best, found) => best.or(found),
            };
        }
        let (error, rungs) = best?;
        Some((error, Ladder::new(rungs).ok()?))
    }

    /// The best choice of ascending lifetimes for fridges with these sixteenths of the slots, with its predicted error.
    fn best_of(&self, shares: &[u32]) -> Option<(f64, Vec<Rung>)> {
        let mut chosen: Vec<usize> = (0..shares.len()).collect();
        let mut best = None;
        while let Some(&last) = chosen.last().filter(|&&last| last < self.lifetimes.len()) {
            let rungs: Vec<Rung> = shares.iter().zip(&chosen).map(|(&share, &at)| self.rung(share, at)).collect();
            if self.lifetimes[last] >= self.least && rungs.iter().map(|rung| rung.probability).sum::<f64>() <= 1.0 {
                let error = self.error(|i| {
                    rungs.iter().zip(&chosen).map(|(rung, &at)| rung.probability * self.survivals[at][i]).sum()
                });
                if best.as_ref().is_none_or(|&(least, _)| error < least) {
                    best = Some((error, rungs));
                }
            }
            advance(&mut chosen, self.lifetimes.len());
        }
        best
    }

    fn rung(&self, sixteenths: u32, lifetime: usize) -> Rung {
        let slots = self.slots / 16 * sixteenths;
        Rung { slots, probability: f64::from(slots) / self.lifetimes[lifetime] }
    }

    /// The predicted error of a ladder; `None` if its longest lifetime is too short.
    pub(super) fn error_of(&self, ladder: &Ladder) -> Option<f64> {
        let chance = |i: usize| {
            let of_rung = |rung: &Rung| rung.probability * survival(self.delays[i].0 / rung.lifetime());
            ladder.rungs().iter().map(of_rung).sum()
        };
        (ladder.longest() >= self.least).then(|| self.error(chance))
    }

    /// Predicted error, summed over the targets, given the probability of being sampled for each bin of delays.
    fn error(&self, chance: impl Fn(usize) -> f64 + Clone) -> f64 {
        error_of_weighted(self.delays.iter().enumerate().map(|(i, &(_, weight))| (weight, chance(i))))
    }
}

/// The next combination of ascending indices; after the last one, the last index is `len`.
fn advance(chosen: &mut [usize], len: usize) {
    let n = chosen.len();
    let movable = (0..n).rev().find(|&i| chosen[i] + (n - i) < len);
    let Some(i) = movable else {
        chosen[n - 1] = len;
        return;
    };
    let from = chosen[i] + 1;
    chosen[i..].iter_mut().enumerate().for_each(|(j, index)| *index = from + j);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations_are_tried() {
        let mut chosen = vec![0, 1, 2];
        let mut tried = Vec::new();
        while chosen[2] < 5 {
            tried.push(chosen.clone());
            advance(&mut chosen, 5);
        }
        assert_eq!(tried.len(), 10, "{tried:?}");
        assert!(tried.is_sorted() && tried.iter().all(|c| c.is_sorted_by(|a, b| a < b)), "{tried:?}");
    }

    /// If delays are log-uniform, one lifetime near the longest delay is enough, since every target needs the tail. If
    /// 97% are a thousand times as fast as the rest, a sixteenth of the slots with a short lifetime samples those
    /// better: the predicted error is 1.17 times less.
    #[test]
    fn lifetimes_follow_the_delays() {
        let log_uniform = |low: f64, decades: f64, weight: f64| {
            (0..1_000).map(move |i| (low * 10f64.powf(decades * f64::from(i) / 1e3), weight))
        };
        let chosen = |delays: &[(f64, f64)]| Ladder::least_variance(1 << 12, delays).unwrap();
        let even: Vec<_> = log_uniform(1e4, 3.0, 1.0).collect();
        let ladder = chosen(&even);
        assert_eq!(ladder.rungs().len(), 1, "{ladder:?}");
        assert!((0.35e7..1.5e7).contains(&ladder.rungs()[0].lifetime()), "{ladder:?}");
        let two_kinds: Vec<_> = log_uniform(1e2, 1.0, 0.97).chain(log_uniform(1e6, 1.0, 0.03)).collect();
        let ladder = chosen(&two_kinds);
        let [first, .., last] = ladder.rungs() else { panic!("{ladder:?}") };
        assert!(first.lifetime() < 1e5 && last.lifetime() > 1e6, "{ladder:?}");
        assert_eq!(chosen(&[(1e5, 7.0)]).rungs().len(), 1);
        assert_eq!(Ladder::least_variance(31, &even), None);
        assert_eq!(Ladder::least_variance(1 << 12, &[]), None);
    }
}
