//! The paper's way to combine several fridges, literally: a biased variant.

use super::{Drawn, Ladder};
use dwell_types::Nanos;
use std::collections::BTreeMap;

/// Counts of exchanges by bins of delay, combined from several fridges by inverse-variance weighting.
///
/// The samples of rung *k* in a bin, each weighted as if rung *k* were alone, give a count *f̂*ₖ = Σ*w* with estimated
/// variance *V̂*ₖ = Σ*w*² (eq. 4.7); the bin's count is Σ*f̂*ₖ/*V̂*ₖ over Σ1/*V̂*ₖ [zheng22 §4.2]. A rung without a
/// sample in a bin has no *V̂*ₖ and is left out.
///
/// The paper calls this unbiased as a convex combination of unbiased estimates. It is not: *V̂*ₖ comes from the same
/// samples as *f̂*ₖ, and rungs without a sample, whose estimate is zero, are left out. With few samples, in the tail
/// and in narrow bins, counts are too high by up to a factor of the number of rungs. Memory grows with the number of
/// bins.
#[derive(Clone, Debug)]
pub struct InverseVariance {
    bins_per_octave: f64,
    /// Σ*w* and Σ*w*² per rung, by bin.
    bins: BTreeMap<i32, [(f64, f64); Ladder::MOST_RUNGS]>,
}

impl InverseVariance {
    /// Bins of equal relative width, this many per factor of two; at least one.
    pub fn new(bins_per_octave: u32) -> Self {
        Self { bins_per_octave: f64::from(bins_per_octave.max(1)), bins: BTreeMap::new() }
    }

    /// Adds a sample of a ladder.
    pub fn update(&mut self, ladder: &Ladder, drawn: &Drawn) {
        let delay = drawn.sample.since_first.get().max(1) as f64;
        let bin = (delay.log2() * self.bins_per_octave).floor() as i32;
        let weight = ladder.weight_alone(drawn.rung, drawn.sample.inserted_since);
        let (sum, squares) = &mut self.bins.entry(bin).or_default()[drawn.rung];
        *sum += weight;
        *squares += weight * weight;
    }

    /// The bins with samples, ascending: lower end, and estimated number of exchanges.
    pub fn counts(&self) -> impl Iterator<Item = (Nanos, f64)> {
        self.bins.iter().map(|(&bin, rungs)| {
            let low = 2f64.powf(f64::from(bin) / self.bins_per_octave);
            let known = rungs.iter().filter(|(sum, _)| *sum > 0.0);
            let (count, precision) = known.fold((0.0, 0.0), |(count, precision), (sum, squares)| {
                (count + sum / squares, precision + 1.0 / squares)
            });
            (Nanos::new(low as i64), count / precision)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rung;
    use super::*;
    use crate::Sample;
    use dwell_types::Timestamp;

    #[test]
    fn counts_are_weighed_by_precision() {
        let rung = |probability| Rung { slots: 1 << 20, probability };
        let ladder = Ladder::new(vec![rung(0.5), rung(0.25)]).unwrap();
        let mut combined = InverseVariance::new(1);
        let mut draw = |rung, delay| {
            let sample = Sample::of(Timestamp::from_nanos(0), Nanos::new(delay));
            combined.update(&ladder, &Drawn { sample, rung });
        };
        for (rung, delay) in [(0, 4), (0, 5), (1, 7), (1, 8)] {
            draw(rung, delay);
        }
        let counts: Vec<(Nanos, f64)> = combined.counts().collect();
        // Rung 0 counts 2 + 2 with variance 8, rung 1 counts 4 with variance 16; in the other bin rung 1 is alone.
        assert_eq!(counts[0].0, Nanos::new(4));
        assert!((counts[0].1 - 4.0).abs() < 1e-9 && (counts[1].1 - 4.0).abs() < 1e-9, "{counts:?}");
        assert_eq!(counts.len(), 2);
    }
}
