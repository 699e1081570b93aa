//! The exchanges whose request was sent once, for [`crate::distribution::Ambiguous::Drop`].
//!
//! A request that is repeated after its earlier copies were dropped looks as if sent once. Where *w* is one over the
//! probability of seeing the last copy of a request, and *r* one over that of seeing all of them, an exchange is seen
//! as repeated with probability 1/*r*, and as if sent once with 1/*w* − 1/*r*, in which case it weighs *w*. So it adds
//! 1 − *w*/*r* to what seems unambiguous, on average; each that is seen as repeated takes off *r* − *w* for that, which
//! is as much on average. Both do so at the delay since the last copy, so the difference is right at each delay, and not
//! only in total. Its variance is larger by *r* (*r* − *w*) for each that is seen.
//!
//! By chance the difference may be negative. The number of exchanges up to a delay is then replaced by the mean of the
//! most up to any shorter delay, and the least up to any longer one: so it increases, and is too large at some delays and
//! too small at others.

use super::cell::Cell;
use super::code::{CLEAR, SINCE_FIRST, SINCE_LAST};
use super::weight::Weight;
use crate::survival::BANDS;

/// The bins of one series without those of repeated requests.
#[derive(Clone, Debug)]
pub(super) struct Once {
    /// Unambiguous samples, in ascending order.
    pub(super) cells: Vec<Cell>,
    /// What was taken off.
    pub(super) doubts: Doubts,
}

/// The uncertainty of what was taken off, by delay.
#[derive(Clone, Debug, Default)]
pub(super) struct Doubts(Vec<Doubt>);

/// What was taken off the bins up to a rank.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    pub(super) rank: usize,
    /// Its variance, Σ *v*.
    pub(super) variance: f64,
    /// Σ *v*².
    pub(super) fourth: f64,
}

impl Doubts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// That of the first `number` bins.
    pub(super) fn of(&self, number: usize) -> Doubt {
        let before = self.0.partition_point(|doubt| doubt.rank < number);
        before.checked_sub(1).map_or(Doubt::default(), |last| self.0[last])
    }

    pub(super) fn total(&self) -> Doubt {
        self.of(usize::MAX)
    }

    /// Those of single bins.
    pub(super) fn single(&self) -> impl Iterator<Item = Doubt> {
        let before = std::iter::once(Doubt::default()).chain(self.0.iter().copied());
        before.zip(&self.0).map(|(before, up_to)| up_to.minus(before))
    }

    fn push(&mut self, rank: usize, variance: f64, fourth: f64) {
        let Doubt { variance: before, fourth: fourth_before, .. } = self.total();
        self.0.push(Doubt { rank, variance: before + variance, fourth: fourth_before + fourth });
    }
}

impl Doubt {
    pub(super) fn minus(self, other: Self) -> Self {
        Self { variance: self.variance - other.variance, fourth: self.fourth - other.fourth, ..self }
    }
}

/// What is known of a class of delays since the last request.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    /// Weight of what seems unambiguous.
    clear: f64,
    /// What repeats that were not recognised add to that, with its variance, and Σ *v*².
    repeats: f64,
    variance: f64,
    fourth: f64,
}

impl Class {
    /// `factors` are those of the bands' weights.
    fn new(cells: &[Cell], factors: &[f64; BANDS]) -> Self {
        let factor = |cell: &Cell| factors[usize::from(cell.band())];
        // Σ *w*, Σ *fw* and Σ *w*² of a part.
        let sums = |part: usize| {
            let cells = cells.iter().filter(|cell| cell.part() == part);
            cells.fold((0.0, 0.0, 0.0), |(sum, weighed, squares), cell| {
                let weight = cell.weight();
                (sum + weight, weighed + factor(cell) * weight, squares + cell.excess() + weight)
            })
        };
        let (_, clear, _) = sums(CLEAR);
        let ((last, weighed, squares), (all, _, all_squares)) = (sums(SINCE_LAST), sums(SINCE_FIRST));
        // Sums in 32 bits are not exact: where all repeats were recognised, nothing is taken off.
        const LEAST: f64 = 1e-3;
        if last <= 0.0 || all - last <= LEAST * all {
            return Self { clear, ..Self::default() };
        }
        let (factor, each) = (weighed / last, squares / last);
        let variance = factor * factor * (all_squares - all * each).max(0.0);
        // As if all weighed the same.
        let samples = all * all / all_squares;
        Self { clear, repeats: factor * (all - last), variance, fourth: variance * variance / samples }
    }
}

impl Once {
    /// The samples of one series by ascending delay, in a store of which no delays since the first request are asked;
    /// `None` if all repeats were recognised.
    pub(super) fn new(cells: &[Cell], factors: &[f64; BANDS]) -> Option<Self> {
        let by_class = || cells.chunk_by(|a, b| a.code() == b.code());
        let classes: Vec<Class> = by_class().map(|cells| Class::new(cells, factors)).collect();
        if classes.iter().all(|class| class.repeats == 0.0) {
            return None;
        }
        let mut once = Self { cells: Vec::new(), doubts: Doubts::default() };
        for ((cells, class), left) in by_class().zip(&classes).zip(increasing(&classes)) {
            if left > 0.0 {
                let share = (left / class.clear).min(1.0);
                let clear = cells.iter().filter(|cell| cell.part() == CLEAR);
                once.cells.extend(clear.map(|cell| Cell {
                    weight: Weight::new(share * cell.weight()),
                    excess: (share * cell.excess()) as f32,
                    ..*cell
                }));
            }
            if class.variance > 0.0 {
                once.doubts.push(once.cells.len().saturating_sub(1), class.variance, class.fourth);
            }
        }
        if once.cells.is_empty() {
            once.doubts = Doubts::default();
        }
        Some(once)
    }
}

/// How many exchanges are left in each class: none is negative, and together they are as many as the differences are.
fn increasing(classes: &[Class]) -> Vec<f64> {
    let up_to: Vec<f64> = classes
        .iter()
        .scan(0.0, |sum, class| {
            *sum += class.clear - class.repeats;
            Some(*sum)
        })
        .collect();
    let total = up_to.last().copied().unwrap_or_default().max(0.0);
    let mut least = up_to.clone();
    let mut next = total;
    for least in least.iter_mut().rev() {
        next = next.min(*least).max(0.0);
        *least = next;
    }
    let (mut most, mut before) = (0.0f64, 0.0);
    let both = up_to.iter().zip(least).map(|(&up_to, least)| {
        most = most.max(up_to.min(total));
        let mean = 0.5 * (most + least);
        mean - std::mem::replace(&mut before, mean)
    });
    both.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell(code: u64, part: usize, weight: f64, samples: u32) -> Cell {
        let excess = f64::from(samples) * (weight * weight - weight);
        Cell {
            key: Cell::key(0, code, part, 0),
            weight: Weight::new(f64::from(samples) * weight),
            excess: excess as f32,
        }
    }

    /// 100 samples of weight 2 at each of three delays. Of 4 requests that were seen to be repeated, at the second delay,
    /// each stands for 10, of which 8 seem to have been sent once: 200 − 4 · 8, with a variance of 4 · 10 · 8.
    #[test]
    fn repeats_are_taken_off_where_they_are() {
        let clear = |code| cell(code, CLEAR, 2.0, 100);
        let cells = [clear(1), clear(2), cell(2, SINCE_LAST, 2.0, 4), cell(2, SINCE_FIRST, 10.0, 4), clear(3)];
        let once = Once::new(&cells, &[1.0; BANDS]).unwrap();
        let weights: Vec<f64> = once.cells.iter().map(Cell::weight).collect();
        assert!(
            weights.iter().zip([200.0, 168.0, 200.0]).all(|(left, right)| (left - right).abs() < 1e-3),
            "{weights:?}"
        );
        let doubts: Vec<Doubt> = once.doubts.single().collect();
        assert_eq!((doubts.len(), doubts[0].rank), (1, 1));
        assert!(
            (doubts[0].variance - 320.0).abs() < 1e-3 && (doubts[0].fourth - 4.0 * 6400.0).abs() < 1.0,
            "{doubts:?}"
        );
        // All were recognised.
        let cells = [clear(1), cell(1, SINCE_LAST, 2.0, 4), cell(1, SINCE_FIRST, 2.0, 4)];
        assert!(Once::new(&cells, &[1.0; BANDS]).is_none());
        // More is to be taken off than there is.
        let cells = [clear(1), cell(1, SINCE_LAST, 2.0, 4), cell(1, SINCE_FIRST, 100.0, 4)];
        let once = Once::new(&cells, &[1.0; BANDS]).unwrap();
        assert!(once.cells.is_empty() && once.doubts.is_empty());
    }

    proptest! {
        /// What is left is between nothing and what there was, adds up to the difference, and is the difference where
        /// that is never negative.
        #[test]
        fn what_is_left_adds_up(classes in prop::collection::vec((0.0f64..9.0, 0.0f64..9.0), 1..40)) {
            let of = |classes: &[(f64, f64)], most: f64| -> Vec<Class> {
                let class = |&(clear, repeats): &(f64, f64)| Class { clear, repeats: repeats.min(most * clear), ..Class::default() };
                classes.iter().map(class).collect()
            };
            let all = of(&classes, f64::INFINITY);
            let left = increasing(&all);
            let total: f64 = all.iter().map(|class| class.clear - class.repeats).sum();
            prop_assert!((left.iter().sum::<f64>() - total.max(0.0)).abs() < 1e-9);
            prop_assert!(left.iter().zip(&all).all(|(&left, class)| (-1e-9..=class.clear + 1e-9).contains(&left)));
            let all = of(&classes, 1.0);
            let differs = |(left, class): (f64, &Class)| (left - (class.clear - class.repeats)).abs() > 1e-9;
            prop_assert!(!increasing(&all).into_iter().zip(&all).any(differs));
        }
    }
}
