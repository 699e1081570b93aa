//! Which lifetimes, and the weight that follows from them.

use crate::targets::error_of_weighted;
use std::fmt;

/// One fridge of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// *M*ₖ, at least 2.
    pub slots: u32,
    /// *r*ₖ: the probability that a request enters this fridge, above 0; at most 1 over all rungs. The entries'
    /// lifetime is *M*ₖ/*r*ₖ offered requests.
    pub probability: f64,
}

impl Rung {
    /// How many requests are offered until an entry is overwritten, on average.
    fn lifetime(&self) -> f64 {
        f64::from(self.slots) / self.probability
    }
}

/// Fridges of different lifetimes that share a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    rungs: Vec<Rung>,
    /// *R* = Σ*r*ₖ.
    probability: f64,
    /// −ln(1 − *r*ₖ/(*R* *M*ₖ)) per rung.
    decays: Vec<f64>,
}

/// Why there is no such ladder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LadderError {
    /// There are 1 to 4 rungs.
    Rungs(usize),
    /// Survival can only be judged by what happens to other slots: at least two are needed per rung.
    Slots(u32),
    /// Each rung's probability is above 0 (2⁻³²), their sum at most 1: this one, or this sum, is not.
    Probability(f64),
}

impl fmt::Display for LadderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rungs(rungs) => write!(f, "there are 1 to {} fridges, not {rungs}", Ladder::MOST_RUNGS),
            Self::Slots(slots) => write!(f, "a fridge needs at least 2 slots, not {slots}"),
            Self::Probability(p) => write!(f, "entry probabilities are above 0 and at most 1 together, not {p}"),
        }
    }
}

impl std::error::Error for LadderError {}

impl Ladder {
    /// More were never of use: the best mixtures have two or three lifetimes.
    pub const MOST_RUNGS: usize = 4;
    /// What one of so many rungs takes beside the struct.
    pub(super) const BYTES: usize = Self::MOST_RUNGS * (size_of::<Rung>() + size_of::<f64>());

    /// Beside the struct.
    pub(super) fn bytes(&self) -> usize {
        self.rungs.capacity() * size_of::<Rung>() + self.decays.capacity() * size_of::<f64>()
    }

    /// These fridges.
    pub fn new(rungs: Vec<Rung>) -> Result<Self, LadderError> {
        /// Sums of probabilities that were meant to be 1.
        const ROUNDING: f64 = 1e-9;
        if !(1..=Self::MOST_RUNGS).contains(&rungs.len()) {
            return Err(LadderError::Rungs(rungs.len()));
        }
        for rung in &rungs {
            if rung.slots < 2 {
                return Err(LadderError::Slots(rung.slots));
            }
            if !(2f64.powi(-32)..=1.0).contains(&rung.probability) {
                return Err(LadderError::Probability(rung.probability));
            }
        }
        let probability: f64 = rungs.iter().map(|rung| rung.probability).sum();
        if probability > 1.0 + ROUNDING {
            return Err(LadderError::Probability(probability));
        }
        let probability = probability.min(1.0);
        let hit = |rung: &Rung| rung.probability / probability / f64::from(rung.slots);
        let decays = rungs.iter().map(|rung| -(-hit(rung)).ln_1p()).collect();
        Ok(Self { rungs, probability, decays })
    }

    /// A ladder for delays of which nothing is known: four fridges of equal size, each of four times the lifetime of
    /// the one before. The first admits half of the requests, so that the lifetimes are ½ to 32 times the slots.
    pub fn spread(slots: u32) -> Result<Self, LadderError> {
        Self::spread_to(slots, 32.0 * f64::from(slots))
    }

    /// The same with a longest lifetime of so many offered requests, at least 32 times the slots.
    pub(super) fn spread_to(slots: u32, longest: f64) -> Result<Self, LadderError> {
        let slots = slots / 4;
        let rung = |k: i32| Rung { slots, probability: f64::from(slots) / longest * 4f64.powi(3 - k) };
        Self::new((0..4).map(rung).collect())
    }

    /// The fridges.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// *R*: the probability that a request enters any of them.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The longest lifetime of an entry, in offered requests.
    pub(super) fn longest(&self) -> f64 {
        self.rungs.iter().map(Rung::lifetime).fold(0.0, f64::max)
    }

    /// The slots with which fridges begin, side by side in one array, and the one behind the last.
    pub(super) fn borders(&self) -> impl Iterator<Item = u32> {
        let ends = self.rungs.iter().scan(0, |end, rung| {
            *end += rung.slots;
            Some(*end)
        });
        std::iter::once(0).chain(ends)
    }

    /// The fridge in which a slot of the array is, if it is in one.
    pub(super) fn rung_at(&self, slot: u32) -> Option<usize> {
        self.borders().skip(1).position(|end| slot < end)
    }

    /// The least of [`Self::decay`].
    pub(super) fn least_decay(&self) -> f64 {
        self.decays.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// −ln of the probability that an entry of rung `k` outlives the next admitted request.
    pub(super) fn decay(&self, k: usize) -> f64 {
        self.decays[k]
    }

    /// Probability that an exchange is sampled by rung `k` if so many admitted requests come between.
    pub(super) fn survival(&self, k: usize, admitted_since: u64) -> f64 {
        self.rungs[k].probability * (-self.decays[k] * admitted_since as f64).exp()
    }

    /// One over the probability that an exchange is sampled at all, if so many admitted requests come between: the
    /// balance heuristic.
    pub fn weight(&self, admitted_since: u64) -> f64 {
        1.0 / (0..self.rungs.len()).map(|k| self.survival(k, admitted_since)).sum::<f64>()
    }

    /// One over the probability that rung `k` samples it: by this weight each rung alone is unbiased.
    pub fn weight_alone(&self, k: usize, admitted_since: u64) -> f64 {
        1.0 / self.survival(k, admitted_since)
    }

    /// The ladder of `slots` slots with the least predicted variance, of one to three lifetimes.
    ///
    /// `delays` are pairs of requests offered between a request and its response, and how many exchanges are like that.
    /// What is made small is the predicted error of some quantiles, as for one fridge ([`crate::fridge::Profile`]).
    /// Another lifetime is taken only if it gains 2%. The search is over octaves of lifetimes and sixteenths of slots.
    /// `None` if there are fewer than 32 slots or no delays.
    pub fn least_variance(slots: u32, delays: &[(f64, f64)]) -> Option<Self> {
        let mut known = Delays::default();
        delays.iter().for_each(|&(offered, weight)| known.add(offered, weight));
        Some(Search::new(slots, &known, 0.0)?.best()?.1)
    }
}

/// Weight of exchanges by the requests that were offered between request and response.
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
        let bin = (2.0 * offered.max(1.0).log2()) as usize;
        self.weights[bin.min(Self::BINS - 1)] += weight as f32;
    }

    /// Half of what was added so far.
    pub(super) fn fade(&mut self) {
        self.weights.iter_mut().for_each(|weight| *weight *= 0.5);
    }

    /// The 99th percentile; zero if there are none.
    pub(super) fn slow(&self) -> f64 {
        let mut above = 0.01 * self.weights.iter().sum::<f32>();
        let slow = self.weights.iter().rposition(|weight| {
            above -= weight;
            above < 0.0
        });
        slow.map_or(0.0, Self::middle)
    }

    fn middle(bin: usize) -> f64 {
        2f64.powf((bin as f64 + 0.5) / 2.0)
    }
}

/// What is tried: each combination of some lifetimes, on delays gathered in half octaves.
pub(super) struct Search {
    slots: u32,
    /// Middles of bins with exchanges, in offered requests, ascending; and their weights.
    delays: Vec<(f64, f64)>,
    /// In offered requests.
    lifetimes: Vec<f64>,
    /// Probability to outlive a delay, by lifetime and delay.
    survivals: Vec<Vec<f64>>,
    /// The longest lifetime is no shorter.
    least: f64,
}

impl Search {
    const LEAST_SLOTS: u32 = 32;

    /// For so many slots and these delays; the longest lifetime is `least` or longer. `None` if there are fewer than 32
    /// slots or no delays.
    pub(super) fn new(slots: u32, delays: &Delays, least: f64) -> Option<Self> {
        let filled = delays.weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let delays: Vec<(f64, f64)> = filled.map(|(bin, &weight)| (Delays::middle(bin), weight.into())).collect();
        let &(longest, _) = delays.last()?;
        if slots < Self::LEAST_SLOTS {
            return None;
        }
        // No lifetime is of use that is shorter than the array's at p = 1, or much longer than the longest delay.
        let most = (16.0 * longest).max(f64::from(slots)).max(2.0 * least);
        let lifetimes: Vec<f64> = (0..Delays::MOST_OCTAVES)
            .map(|octave| f64::from(slots) * 2f64.powi(octave) / 16.0)
            .take_while(|&lifetime| lifetime <= most)
            .collect();
        let of_lifetime = |&lifetime: &f64| delays.iter().map(|&(delay, _)| Self::survival(lifetime, delay)).collect();
        let survivals = lifetimes.iter().map(of_lifetime).collect();
        Some(Self { slots, delays, lifetimes, survivals, least })
    }

    /// Probability to outlive a delay; no less than what counts as never.
    fn survival(lifetime: f64, delay: f64) -> f64 {
        /// Beyond this the weight is so large that its sample will not be seen.
        const LARGEST_EXPONENT: f64 = 12.0;
        (-(delay / lifetime).min(LARGEST_EXPONENT)).exp()
    }

    /// The best ladder of one to three lifetimes, with its predicted error.
    pub(super) fn best(&self) -> Option<(f64, Ladder)> {
        /// What another lifetime must gain.
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
            let of_rung = |rung: &Rung| rung.probability * Self::survival(rung.lifetime(), self.delays[i].0);
            ladder.rungs().iter().map(of_rung).sum()
        };
        (ladder.longest() >= self.least).then(|| self.error(chance))
    }

    /// Predicted error, summed over the targets, where each bin of delays has some chance to be sampled.
    fn error(&self, chance: impl Fn(usize) -> f64 + Clone) -> f64 {
        error_of_weighted(self.delays.iter().enumerate().map(|(i, &(_, weight))| (weight, chance(i))))
    }
}

/// The next combination of ascending indices; the last index leaves `0..len` when there is none.
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

    fn rung(slots: u32, probability: f64) -> Rung {
        Rung { slots, probability }
    }

    #[test]
    fn one_rung_is_a_fridge() {
        let ladder = Ladder::new(vec![rung(1 << 10, 0.25)]).unwrap();
        let expected = 4.0 * (1.0f64 - 1.0 / 1024.0).powi(-2_000);
        assert!((ladder.weight(2_000) / expected - 1.0).abs() < 1e-9);
        assert_eq!(ladder.weight(2_000), ladder.weight_alone(0, 2_000));
    }

    /// With R = 1, admitted requests are all requests: the weight is 1/Σ r (1 − r/M)^x to the letter.
    #[test]
    fn weights_are_the_balance_heuristic() {
        let ladder = Ladder::new(vec![rung(64, 0.9), rung(256, 0.1)]).unwrap();
        for x in [0, 10, 1_000, 10_000] {
            let q = 0.9 * (1.0f64 - 0.9 / 64.0).powi(x) + 0.1 * (1.0f64 - 0.1 / 256.0).powi(x);
            assert!((ladder.weight(x as u64) * q - 1.0).abs() < 1e-9, "{x}");
        }
    }

    #[test]
    fn a_spread_ladder_covers_six_octaves() {
        let ladder = Ladder::spread(1 << 12).unwrap();
        let lifetimes: Vec<f64> = ladder.rungs().iter().map(|rung| f64::from(rung.slots) / rung.probability).collect();
        assert_eq!(lifetimes, [2048.0, 8192.0, 32768.0, 131072.0]);
        assert_eq!(ladder.probability(), 0.6640625);
        assert_eq!(Ladder::spread(7), Err(LadderError::Slots(1)));
    }

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

    /// One lifetime near the longest delay is enough where delays are log-uniform, as every target needs the tail.
    /// Where 97% are a thousand times as fast as the rest, a sixteenth of the slots with a short lifetime sees those
    /// better: predicted 1.17 times less error.
    #[test]
    fn lifetimes_follow_the_delays() {
        let log_uniform = |low: f64, decades: f64, weight: f64| {
            (0..1_000).map(move |i| (low * 10f64.powf(decades * f64::from(i) / 1e3), weight))
        };
        let chosen = |delays: &[(f64, f64)]| Ladder::least_variance(1 << 12, delays).unwrap();
        let lifetime = |rung: &Rung| f64::from(rung.slots) / rung.probability;
        let even: Vec<_> = log_uniform(1e4, 3.0, 1.0).collect();
        let ladder = chosen(&even);
        assert_eq!(ladder.rungs().len(), 1, "{ladder:?}");
        assert!((0.35e7..1.5e7).contains(&lifetime(&ladder.rungs()[0])), "{ladder:?}");
        let two_kinds: Vec<_> = log_uniform(1e2, 1.0, 0.97).chain(log_uniform(1e6, 1.0, 0.03)).collect();
        let ladder = chosen(&two_kinds);
        let [first, .., last] = ladder.rungs() else { panic!("{ladder:?}") };
        assert!(lifetime(first) < 1e5 && lifetime(last) > 1e6, "{ladder:?}");
        assert_eq!(chosen(&[(1e5, 7.0)]).rungs().len(), 1);
        assert_eq!(Ladder::least_variance(31, &even), None);
        assert_eq!(Ladder::least_variance(1 << 12, &[]), None);
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let two = |a, b| Ladder::new(vec![a, b]);
        assert_eq!(Ladder::new(Vec::new()), Err(LadderError::Rungs(0)));
        assert_eq!(Ladder::new(vec![rung(2, 0.1); 5]), Err(LadderError::Rungs(5)));
        assert_eq!(two(rung(1, 0.1), rung(2, 0.1)), Err(LadderError::Slots(1)));
        assert_eq!(two(rung(2, 0.0), rung(2, 0.1)), Err(LadderError::Probability(0.0)));
        assert_eq!(two(rung(2, 0.75), rung(2, 0.5)), Err(LadderError::Probability(1.25)));
        assert!(Ladder::new(vec![rung(2, f64::NAN)]).is_err());
        assert!(Ladder::new(vec![rung(2, 0.1), rung(2, 0.2), rung(2, 0.7)]).is_ok());
    }
}
