//! Chooses the banks for a memory budget and a range of losses.

use super::{Bank, CellSize, LdaError, Params};
use dwell_types::Nanos;
use std::ops::RangeInclusive;

/// Bounds on the traffic of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Packets per interval.
    pub packets: u64,
    /// The range of the share of packets lost.
    pub loss: RangeInclusive<f64>,
    /// Largest mean delay, including the offset between the clocks.
    pub mean: Nanos,
    /// Largest standard deviation of delays.
    pub deviation: Nanos,
}

impl Default for Expected {
    /// Across a router, as in the paper: 5 M packets, 0.01% to 10% loss, a mean of up to 100 µs, deviations of up to 10
    /// µs.
    fn default() -> Self {
        Self { packets: 5_000_000, loss: 1e-4..=0.1, mean: Nanos::new(100_000), deviation: Nanos::new(10_000) }
    }
}

impl Expected {
    /// The longest delay to assume if nothing else is known.
    pub const LONGEST: Nanos = Nanos::from_secs(5);

    /// Traffic of which only the longest delay is known: up to a million packets, of which .01% to 10% are lost.
    pub fn within(longest: Nanos) -> Self {
        Self { packets: 1_000_000, mean: longest, deviation: Nanos::new(longest.get() / 4), ..Self::default() }
    }
}

/// Banks that a budget is divided into: with five the worst case is no better, with three it is 4% worse.
const BANKS: usize = 4;
/// With fewer cells hardly any packets are left where some are lost.
const LEAST_CELLS: usize = 64;

impl Params {
    /// The best sketch of at most this many bytes, with seed 0: the smallest cells that can represent these delays, and
    /// the rows and probabilities that minimise, over the range of losses, the largest standard error relative to that
    /// of the best single bank for each loss.
    ///
    /// Deterministic: equal arguments give equal parameters on every platform. With fewer packets than expected fewer
    /// are lost, which the same banks handle if that number is within the range.
    pub fn budget_for(bytes: usize, expected: &Expected) -> Result<Self, LdaError> {
        let losses = (expected.packets as f64 * expected.loss.start(), expected.packets as f64 * expected.loss.end());
        if !(*expected.loss.start() > 0.0 && losses.0 <= losses.1 && *expected.loss.end() <= 1.0 && losses.1 >= 1.0) {
            return Err(LdaError::Expected);
        }
        let too_little = || LdaError::Bytes { given: bytes, needed: Self::least_bytes(expected, losses) };
        Self::built(bytes, expected, losses).ok_or_else(too_little)
    }

    /// The sketch for these numbers of lost packets with the smallest cells that can represent the delays; `None` if
    /// fewer than [`LEAST_CELLS`] of them fit.
    fn built(bytes: usize, expected: &Expected, losses: (f64, f64)) -> Option<Self> {
        CellSize::ALL.into_iter().filter(|&cell| Self::bytes_of(LEAST_CELLS, cell) <= bytes).find_map(|cell| {
            let cells = ((bytes - Self::counter_bytes(BANKS)) / cell.bytes()).min(1 << 24);
            let banks = Ladder::climb(cells as f64, losses).banks(cells as u32);
            (cell == CellSize::Bits128 || expected.fits(cell, &banks)).then_some(Self { banks, cell, seed: 0 })
        })
    }

    /// Bytes of the smallest sketch that can represent the delays.
    fn least_bytes(expected: &Expected, losses: (f64, f64)) -> usize {
        let sizes = CellSize::ALL.map(|cell| Self::bytes_of(LEAST_CELLS, cell));
        // The largest cells represent any.
        sizes
            .into_iter()
            .find(|&bytes| Self::built(bytes, expected, losses).is_some())
            .unwrap_or(sizes[sizes.len() - 1])
    }

    const fn bytes_of(cells: usize, cell: CellSize) -> usize {
        cells * cell.bytes() + Self::counter_bytes(BANKS)
    }
}

impl Expected {
    /// Whether the modular fields can be resolved: counts to within 8 standard deviations, sums of delays to within 6,
    /// and to within 4 of the prediction from the next sparser bank.
    fn fits(&self, cell: CellSize, banks: &[Bank]) -> bool {
        let packets = self.packets as f64;
        let (mean, deviation) = (self.mean.get().unsigned_abs() as f64, self.deviation.get().unsigned_abs() as f64);
        let half = |bits: u32| (1u128 << (bits - 1)) as f64;
        let per_row = |bank: &Bank| packets * bank.probability / f64::from(bank.rows);
        let mut sparser: Option<f64> = None;
        banks.iter().rev().all(|bank| {
            let count = per_row(bank);
            let guess = sparser.map_or(count * mean, |sampled| 4.0 * count * deviation / (sampled / 3.0).sqrt());
            sparser = Some(packets * bank.probability);
            8.0 * count.sqrt() < half(cell.count_bits())
                && guess + 6.0 * count.sqrt() * deviation < half(cell.sum_bits())
        })
    }
}

/// Banks during the optimisation, before rounding.
#[derive(Clone, Copy)]
struct Ladder {
    cells: f64,
    /// Rows of each bank, up to a common factor.
    weights: [f64; BANKS],
    /// The share of all packets that falls into one cell of each bank.
    densities: [f64; BANKS],
}

/// Numbers of lost packets at which candidates are compared, equally spaced on a log scale.
const POINTS: usize = 33;

impl Ladder {
    /// Starts with equal rows, each bank tuned to one of several losses equally spaced on a log scale, and improves one
    /// parameter at a time with ever smaller steps.
    ///
    /// Uses only additions, multiplications, divisions and square roots, so that every platform gets the same result.
    fn climb(cells: f64, losses: (f64, f64)) -> Self {
        let points = ratios(losses.0, losses.1);
        let best = points.map(|lost| {
            let probability = (cells / lost).min(1.0);
            relative_variance(probability * decay(probability * lost / cells))
        });
        let from = losses.0.max(0.5 * cells).min(losses.1);
        let tuned = ratios(from, losses.1);
        let densities = [tuned[0], tuned[11], tuned[21], tuned[32]].map(|lost| 1.0 / lost);
        let mut ladder = Self { cells, weights: [1.0; BANKS], densities };
        let mut cost = ladder.cost(&points, &best);
        let mut step: f64 = 1.5;
        while step > 1.004 {
            let mut is_better = false;
            for number in 0..2 * BANKS {
                for factor in [step, 1.0 / step] {
                    let mut next = ladder;
                    let (weights, densities) = (&mut next.weights, &mut next.densities);
                    *weights.iter_mut().chain(densities).nth(number).unwrap_or(&mut 0.0) *= factor;
                    let next_cost = next.cost(&points, &best);
                    if next_cost < cost {
                        (ladder, cost, is_better) = (next, next_cost, true);
                        break;
                    }
                }
            }
            if !is_better {
                step = step.sqrt();
            }
        }
        ladder
    }

    /// Rows and cell density of each bank; densities are scaled down if the probabilities would exceed 1 in total.
    fn scaled(&self) -> [(f64, f64); BANKS] {
        let total: f64 = self.weights.iter().sum();
        let rows = self.weights.map(|weight| weight / total * self.cells);
        let sampled: f64 = rows.iter().zip(&self.densities).map(|(rows, density)| rows * density).sum();
        let scale = 1.0 / sampled.max(1.0);
        let mut bank = 0;
        rows.map(|rows| {
            bank += 1;
            (rows, self.densities[bank - 1] * scale)
        })
    }

    /// The 32nd power mean, up to its root, of the errors relative to the best: close to the maximum, but smooth.
    fn cost(&self, points: &[f64; POINTS], best: &[f64; POINTS]) -> f64 {
        let banks = self.scaled();
        let cost = |(&lost, best): (&f64, &f64)| {
            let sample: f64 = banks.iter().map(|(rows, density)| rows * density * decay(density * lost)).sum();
            let ratio = relative_variance(sample) / best;
            let eighth = ratio * ratio * ratio * ratio * (ratio * ratio * ratio * ratio);
            eighth * eighth
        };
        points.iter().zip(best).map(cost).sum()
    }

    /// The banks with whole numbers of rows, from dense to sparse.
    fn banks(&self, cells: u32) -> Vec<Bank> {
        let mut scaled = self.scaled();
        scaled.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut left = cells;
        let mut banks = Vec::with_capacity(BANKS);
        for (number, (rows, density)) in scaled.into_iter().enumerate() {
            let others = (BANKS - 1 - number) as u32;
            let whole = if others == 0 { left } else { (rows as u32).clamp(1, left - others) };
            left -= whole;
            banks.push(Bank { rows: whole, probability: (f64::from(whole) * density).clamp(1e-9, 1.0) });
        }
        // After rounding, the probabilities may sum up to slightly more than 1.
        let sum: f64 = banks.iter().map(|bank| bank.probability).sum();
        banks.iter_mut().for_each(|bank| bank.probability /= sum.max(1.0));
        banks
    }
}

/// The variance of a mean over this share of all packets, relative to the delays' variance over the number of packets.
fn relative_variance(share: f64) -> f64 {
    (1.0 - share).max(1e-12) / share.max(1e-300)
}

/// Numbers from `low` to `high`, equally spaced on a log scale.
fn ratios(low: f64, high: f64) -> [f64; POINTS] {
    // The ratio's root of order 2^5 = POINTS − 1.
    let step = (0..5).fold(high / low, |ratio, _| ratio.sqrt());
    let mut next = low / step;
    [0.0; POINTS].map(|_| {
        next *= step;
        next
    })
}

/// e^−x by repeated squaring, to 1 part in 1,000 in the range that matters.
fn decay(x: f64) -> f64 {
    const SQUARINGS: i32 = 20;
    let mut power = (1.0 - x / f64::from(1 << SQUARINGS)).max(0.0);
    for _ in 0..SQUARINGS {
        power *= power;
    }
    power
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes that are said to be needed are the least that work, whichever cells these delays need. The control is
    /// the least of the smallest cells, which works for short delays only.
    #[test]
    fn what_is_needed_is_enough() {
        let smallest = Params::bytes_of(LEAST_CELLS, CellSize::Bits48);
        for (longest, needed) in
            [(Nanos::new(1_000), smallest), (Nanos::from_secs(1), 616), (Nanos::from_secs(5), 1_064)]
        {
            let expected = Expected { packets: 100_000, ..Expected::within(longest) };
            for given in [10, smallest - 1, needed - 1] {
                assert_eq!(Params::budget_for(given, &expected), Err(LdaError::Bytes { given, needed }));
            }
            assert_eq!(Params::budget_for(needed, &expected).unwrap().state_bytes(), needed);
            assert_eq!(Params::budget_for(smallest, &expected).is_ok(), needed == smallest);
        }
    }
}
