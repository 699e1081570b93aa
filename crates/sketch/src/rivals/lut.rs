//! The weights of a fridge as a switch can implement them: a table of integers instead of a power.
//!
//! **Answers**: the weight of a sample with *x* insertions, rounded.
//!
//! **Model**: the switch cannot compute *p*⁻¹ (1 − 1/*M*)^−*x*, but it can look up *x* in ranges. The table has the
//! distinct rounded integers of 1.1^*i*/*p*; the border between two neighbours is where the exact weight is half-way.
//!
//! **State**: one integer weight and the last *x* for which it holds per row: 12 bytes, about ln(largest weight ·
//! *p*)/ln 1.1 rows, fewer where the integers are sparse.
//!
//! **Cost**: a binary search; in a switch one ternary match.
//!
//! **Estimate**: biased by rounding, up to 25% of one weight at *p* = ½ (2 and 3 have no integer between them), up to
//! 5% where 1/*p* is large. In a whole distribution the errors of neighbouring ranges mostly cancel: below 1% only for
//! *p* up to about 1/16.
//!
//! **Merge**: none needed.
//!
//! **Differs from the paper**: *x* counts insertions with factor 1/*M*, as its switch program does. A switch also
//! rounds the ranges to prefixes of binary numbers (§6.2: 14,336 and 36,864 where this table has 14,623 and 36,674).
//!
//! **Source**: zheng22 §6.2 (`docs/papers/zheng22-fridge.md`).

use crate::Gate;
use crate::fridge::{FridgeError, decay};

/// Rounded weights by the number of insertions since the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightTable {
    /// Ascending, as are the weights: the weight, and the last number of insertions for which it holds.
    rows: Vec<(u64, u32)>,
}

/// Weights stay below this, 2⁵³: beyond it their sums are no longer exact, and no sample survives so many insertions.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// The paper's factor from row to row.
const INCREMENT: f64 = 1.1;

impl WeightTable {
    /// The table of an (*M*, *p*)-fridge; its last row holds for any number of insertions.
    pub fn new(slots: u32, entry_probability: f64) -> Result<Self, FridgeError> {
        if !Gate::can_have(entry_probability) {
            return Err(FridgeError::EntryProbability(entry_probability));
        }
        if slots < 2 {
            return Err(FridgeError::Slots(slots));
        }
        let decay = decay(slots);
        let integer = |i| (INCREMENT.powi(i) / entry_probability).round();
        let mut integers = (0..).map(integer).take_while(|&weight| weight < LARGEST).peekable();
        let mut rows = Vec::new();
        while let Some(weight) = integers.next() {
            while integers.next_if_eq(&weight).is_some() {}
            let next = integers.peek().copied().unwrap_or(f64::INFINITY);
            // Where p⁻¹ e^(decay · x) reaches the middle of this weight and the next.
            let last = ((weight + next) / 2.0 * entry_probability).ln() / decay;
            rows.push((weight as u64, last as u32));
            if last >= f64::from(u32::MAX) {
                break;
            }
        }
        Ok(Self { rows })
    }

    /// The weight of a sample with this many insertions.
    #[inline]
    pub fn weight(&self, inserted_since: u64) -> u64 {
        let row = self.rows.partition_point(|&(_, last)| u64::from(last) < inserted_since);
        self.rows[row.min(self.rows.len() - 1)].0
    }

    /// Bytes that the rows need: 8 + 4 each.
    pub fn state_bytes(&self) -> usize {
        self.rows.len() * 12
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(slots: u32, p: f64) -> WeightTable {
        WeightTable::new(slots, p).unwrap()
    }

    /// Estimated over true number of exchanges, minus 1, if delays are uniform up to `longest` insertions: each is
    /// sampled with one over its exact weight and counted with that of the table.
    fn bias(slots: u32, p: f64, longest: u32) -> f64 {
        let table = table(slots, p);
        let decay = decay(slots);
        let counted = |x: u32| p * (-decay * f64::from(x)).exp() * table.weight(u64::from(x)) as f64;
        (0..longest).map(counted).sum::<f64>() / f64::from(longest) - 1.0
    }

    #[test]
    fn thresholds_lie_half_way() {
        let table = table(1 << 16, 0.5);
        assert_eq!(table.rows[..4], [(2, 14_623), (3, 36_674), (4, 53_144), (5, 66_295)]);
        for (x, weight) in [(0, 2), (14_623, 2), (14_624, 3), (36_674, 3), (36_675, 4), (66_296, 6)] {
            assert_eq!(table.weight(x), weight, "{x}");
        }
        let &(last, end) = table.rows.last().unwrap();
        assert_eq!((table.weight(u64::MAX), end), (last, u32::MAX));
        assert!(table.rows.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
    }

    /// One weight is off by up to half a step, and a step is 1.1 only where integers are dense enough.
    #[test]
    fn single_weights_are_off_by_half_a_step() {
        for (p, most) in [(0.5, 0.25), (1.0 / 16.0, 0.072), (1.0 / 256.0, 0.051)] {
            let (slots, table) = (1 << 12, table(1 << 12, p));
            let exact = |x: u64| (1.0 - 1.0 / f64::from(slots)).powf(-(x as f64)) / p;
            let off = (0..8u64 << 12).map(|x| (table.weight(x) as f64 / exact(x) - 1.0).abs()).fold(0.0, f64::max);
            assert!(off < most && off > most * 0.7, "p = {p}: {off}");
        }
    }

    /// The number of exchanges is off by more than 1% at p = ½, by less for p up to 1/16, for any longest delay between
    /// a half and four lifetimes.
    #[test]
    fn the_extra_error_is_small_for_small_p_only() {
        let worst = |p| (1..=8).map(|half| bias(1 << 12, p, half << 11).abs()).fold(0.0, f64::max);
        for (p, low, high) in [(0.5, 0.01, 0.1), (1.0 / 16.0, 0.0, 0.01), (1.0 / 256.0, 0.0, 0.01)] {
            assert!((low..high).contains(&worst(p)), "p = {p}: {}", worst(p));
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        assert_eq!(WeightTable::new(1, 0.5), Err(FridgeError::Slots(1)));
        for wrong in [0.0, 0.999 * Gate::LEAST] {
            assert_eq!(WeightTable::new(2, wrong), Err(FridgeError::EntryProbability(wrong)));
        }
        assert!(WeightTable::new(2, 0.5).is_ok_and(|table| table.weight(u64::MAX) > 1 << 52));
    }
}
