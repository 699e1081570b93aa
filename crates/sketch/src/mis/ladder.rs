//! Lifetimes of several fridges, and the weights that follow from them.

use crate::Gate;
use std::fmt;

/// One fridge of several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rung {
    /// *M*ₖ, at least 2.
    pub slots: u32,
    /// *r*ₖ: the probability that a request enters this fridge, at least 2⁻²⁴; at most 1 over all rungs. The
    /// entries' lifetime is *M*ₖ/*r*ₖ offered requests.
    pub probability: f64,
}

impl Rung {
    /// The average number of offered requests until an entry is overwritten.
    pub(super) fn lifetime(&self) -> f64 {
        f64::from(self.slots) / self.probability
    }
}

/// Fridges with different lifetimes that share a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Ladder {
    rungs: Vec<Rung>,
    /// *R* = Σ*r*ₖ.
    probability: f64,
    /// −ln(1 − *r*ₖ/(*R* *M*ₖ)) per rung.
    decays: Vec<f64>,
}

/// Why a ladder is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LadderError {
    /// The number of rungs must be 1 to 4.
    Rungs(usize),
    /// Survival can only be judged by what happens to other slots: at least two are needed per rung.
    Slots(u32),
    /// Each rung's probability is at least 2⁻²⁴, their sum at most 1: this one, or this sum, is not.
    Probability(f64),
}

impl fmt::Display for LadderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rungs(rungs) => write!(f, "there are 1 to {} fridges, not {rungs}", Ladder::MOST_RUNGS),
            Self::Slots(slots) => write!(f, "a fridge needs at least 2 slots, not {slots}"),
            Self::Probability(p) => write!(f, "entry probabilities are {} together, not {p:?}", Gate::RANGE),
        }
    }
}

impl std::error::Error for LadderError {}

impl Ladder {
    /// More were never useful: the best mixtures have two or three lifetimes.
    pub const MOST_RUNGS: usize = 4;
    /// Most bytes on the heap.
    pub(super) const BYTES: usize = Self::MOST_RUNGS * (size_of::<Rung>() + size_of::<f64>());

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.rungs.capacity() * size_of::<Rung>() + self.decays.capacity() * size_of::<f64>()
    }

    /// A ladder of these fridges.
    pub fn new(rungs: Vec<Rung>) -> Result<Self, LadderError> {
        /// Tolerance for sums of probabilities that are meant to be 1.
        const ROUNDING: f64 = 1e-9;
        if !(1..=Self::MOST_RUNGS).contains(&rungs.len()) {
            return Err(LadderError::Rungs(rungs.len()));
        }
        for rung in &rungs {
            if rung.slots < 2 {
                return Err(LadderError::Slots(rung.slots));
            }
            if !Gate::can_have(rung.probability) {
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

    /// A ladder for unknown delays: four fridges of equal size, each with four times the lifetime of the one before.
    /// The first admits half of the requests, so that the lifetimes are ½ to 32 times the slots.
    pub fn spread(slots: u32) -> Result<Self, LadderError> {
        Self::spread_to(slots, 32.0 * f64::from(slots))
    }

    /// The same with a longest lifetime of this many offered requests, at least 32 times the slots.
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

    /// The first slots of the fridges, side by side in one array, and the end of the last.
    pub(super) fn borders(&self) -> impl Iterator<Item = u32> {
        let ends = self.rungs.iter().scan(0, |end, rung| {
            *end += rung.slots;
            Some(*end)
        });
        std::iter::once(0).chain(ends)
    }

    /// The fridge that contains a slot of the array, if any.
    pub(super) fn rung_at(&self, slot: u32) -> Option<usize> {
        self.borders().skip(1).position(|end| slot < end)
    }

    /// The least [`Self::decay`].
    pub(super) fn least_decay(&self) -> f64 {
        self.decays.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// −ln of the probability that an entry of rung `k` survives the next admitted request.
    pub(super) fn decay(&self, k: usize) -> f64 {
        self.decays[k]
    }

    /// Probability that an exchange is sampled by rung `k` if this many admitted requests come in between.
    pub(super) fn survival(&self, k: usize, admitted_since: u64) -> f64 {
        self.rungs[k].probability * (-self.decays[k] * admitted_since as f64).exp()
    }

    /// One over the probability that an exchange is sampled at all, if this many admitted requests come in between: the
    /// balance heuristic.
    pub fn weight(&self, admitted_since: u64) -> f64 {
        1.0 / (0..self.rungs.len()).map(|k| self.survival(k, admitted_since)).sum::<f64>()
    }
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
    }

    /// With R = 1, admitted requests are all requests: the weight is exactly 1/Σ r (1 − r/M)^x.
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
        let lifetimes: Vec<f64> = ladder.rungs().iter().map(Rung::lifetime).collect();
        assert_eq!(lifetimes, [2048.0, 8192.0, 32768.0, 131072.0]);
        assert_eq!(ladder.probability(), 0.6640625);
        assert_eq!(Ladder::spread(7), Err(LadderError::Slots(1)));
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let two = |a, b| Ladder::new(vec![a, b]);
        assert_eq!(Ladder::new(Vec::new()), Err(LadderError::Rungs(0)));
        assert_eq!(Ladder::new(vec![rung(2, 0.1); 5]), Err(LadderError::Rungs(5)));
        assert_eq!(two(rung(1, 0.1), rung(2, 0.1)), Err(LadderError::Slots(1)));
        for wrong in [0.0, 0.999 * Gate::LEAST] {
            assert_eq!(two(rung(2, wrong), rung(2, 0.1)), Err(LadderError::Probability(wrong)));
        }
        assert!(two(rung(2, Gate::LEAST), rung(2, 0.1)).is_ok());
        assert_eq!(two(rung(2, 0.75), rung(2, 0.5)), Err(LadderError::Probability(1.25)));
        assert!(Ladder::new(vec![rung(2, f64::NAN)]).is_err());
        assert!(Ladder::new(vec![rung(2, 0.1), rung(2, 0.2), rung(2, 0.7)]).is_ok());
    }
}
