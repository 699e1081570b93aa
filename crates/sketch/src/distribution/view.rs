//! The bins of one series from the point of view of its curves.

use super::cell::Cell;
use super::code::{self, PARTS};
use super::once::Doubts;
use super::ones::Merged;
use super::weight::Weight;
use crate::survival::BANDS;
use either::Either;
use std::ops::Range;
use std::sync::Arc;

/// Delays from `low` to `high` nanoseconds, both included, and the number of exchanges with such delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    /// Smallest delay.
    pub(super) low: i64,
    /// Largest delay.
    pub(super) high: i64,
    /// Estimated number of exchanges: Σ 1/*q*. Before shares are applied, samples with two delays count at both.
    pub(super) weight: f64,
    /// Its estimated variance: Σ (1/*q*² − 1/*q*).
    pub(super) excess: f64,
    /// The band in which its samples were found; zero without a product limit.
    pub(super) band: u8,
    /// The part of the store: whether its samples are unambiguous, and if not, by which of their delays they are here.
    part: u8,
}

/// The sorted samples of one series, shared with the store, by rank.
#[derive(Clone, Debug)]
pub(super) enum Sorted {
    /// Samples of weight 1: equal ones form a bin.
    Ones(Merged),
    /// Each key once, in this range of the store's bins.
    Bins(Arc<Vec<Cell>>, Range<usize>),
}

impl Sorted {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Ones(ones) => ones.len(),
            Self::Bins(_, series) => series.len(),
        }
    }

    pub(super) fn iter(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = Cell> + ExactSizeIterator {
        match self {
            Self::Ones(ones) => Either::Left(ones.iter(ranks)),
            Self::Bins(cells, series) => Either::Right(cells[series.clone()][ranks].iter().copied()),
        }
    }

    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = Cell> + ExactSizeIterator {
        self.iter(0..self.len())
    }

    /// The same where each unit of weight stands for `scale` exchanges.
    pub(super) fn scaled(self, scale: f64) -> Self {
        if scale == 1.0 {
            return self;
        }
        let mut cells: Vec<Cell> = Vec::new();
        for cell in self.all() {
            match cells.last_mut().filter(|last| last.key == cell.key) {
                Some(last) => {
                    (last.weight, last.excess) = (Weight::new(last.weight() + cell.weight()), last.excess + cell.excess)
                }
                None => cells.push(cell),
            }
        }
        cells.iter_mut().for_each(|cell| cell.scale(scale));
        let all = 0..cells.len();
        Self::Bins(Arc::new(cells), all)
    }

    fn at(&self, rank: usize) -> Cell {
        match self {
            Self::Ones(ones) => ones.at(rank),
            Self::Bins(cells, series) => cells[series.clone()][rank],
        }
    }
}

/// The bins of one series in ascending order, all parts together. They stay in the store's array, and are converted
/// when read: there may be millions.
///
/// With weight-1 samples a bin may have several ranks: sums up to a bin are those up to its last rank.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    sorted: Sorted,
    view: View,
    /// The uncertainty of the bins besides that of their samples.
    pub(super) doubts: Doubts,
}

/// How to convert a cell to a bin.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    /// Resolution of its classes.
    pub(super) bits: i8,
    /// There is nothing outside the smallest and the largest delay.
    pub(super) min: i64,
    pub(super) max: i64,
    /// Factors for the weights of each band.
    pub(super) factors: [f64; BANDS],
}

impl View {
    // A call would return it through memory.
    #[inline(always)]
    fn bin(&self, cell: Cell) -> Bin {
        let (low, high) = code::range(cell.code(), self.bits);
        let band = cell.band();
        Bin {
            low: low.max(self.min),
            high: high.min(self.max),
            weight: cell.weight() * self.factors[usize::from(band)],
            excess: cell.excess(),
            band,
            part: cell.part() as u8,
        }
    }
}

impl Bins {
    /// The samples of a series, seen as bins.
    pub(super) fn new(sorted: Sorted, view: View, doubts: Doubts) -> Self {
        Self { sorted, view, doubts }
    }

    pub(super) fn len(&self) -> usize {
        self.sorted.len()
    }

    /// The bin at a rank, which must exist.
    pub(super) fn at(&self, rank: usize) -> Bin {
        self.view.bin(self.sorted.at(rank))
    }

    /// The last rank of the bin that contains this one.
    pub(super) fn last_of_bin(&self, rank: usize) -> usize {
        match &self.sorted {
            Sorted::Ones(ones) => ones.last_equal(rank),
            Sorted::Bins(..) => rank,
        }
    }

    /// The bins in a range of ranks, which must exist.
    pub(super) fn iter(&self, ranks: Range<usize>) -> impl DoubleEndedIterator<Item = Bin> + ExactSizeIterator {
        self.sorted.iter(ranks).map(|cell| self.view.bin(cell))
    }

    /// What is in a range of ranks: the delays of samples that are quick to add up, since their weights are 1 and all
    /// are unambiguous and in bins of one nanosecond; and the other bins.
    #[inline]
    pub(super) fn apart(&self, ranks: Range<usize>) -> (&[u32], impl Iterator<Item = Bin>) {
        let (plain, others) = match &self.sorted {
            Sorted::Ones(ones) => {
                let (plain, keys) = ones.apart(ranks);
                (plain, Either::Left(keys.iter().copied().map(Cell::one)))
            }
            Sorted::Bins(cells, series) => (&[][..], Either::Right(cells[series.clone()][ranks].iter().copied())),
        };
        (plain, others.map(|cell| self.view.bin(cell)))
    }

    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = Bin> + ExactSizeIterator {
        self.iter(0..self.len())
    }

    /// Consecutive ranges of `length` ranks, and one of the remainder, which may be empty.
    pub(super) fn blocks(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        let end = self.len();
        (0..=end).step_by(length).map(move |start| start..(start + length).min(end))
    }

    /// The first rank at which a condition fails that holds for all ranks before.
    pub(super) fn partition_point(&self, holds: impl Fn(&Bin) -> bool) -> usize {
        let (mut first, mut last) = (0, self.len());
        while first < last {
            let middle = usize::midpoint(first, last);
            if holds(&self.at(middle)) {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        first
    }
}

impl Bin {
    /// The number of its part.
    pub(super) fn part(&self) -> usize {
        usize::from(self.part) % PARTS
    }

    pub(super) fn middle(&self) -> f64 {
        0.5 * (self.low as f64 + self.high as f64)
    }

    /// The addend for [`crate::survival::Survival::variance`]: the weight, or, for bins outside the product limit, the
    /// variance.
    pub(super) fn measure(&self) -> f64 {
        if self.band == 0 { self.excess } else { self.weight }
    }
}

/// Factors for the weights and excesses of each part of the store in a curve; parts with factor zero are not in the
/// curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares(pub(super) [f64; PARTS]);

impl Shares {
    pub(super) fn of(self, bin: &Bin) -> f64 {
        self.0[usize::from(bin.part)]
    }

    /// A bin with its weight in the curve; `None` if it is not in the curve.
    #[inline]
    pub(super) fn weigh(self, bin: &Bin) -> Option<Bin> {
        let share = self.of(bin);
        (share > 0.0).then_some(Bin { weight: share * bin.weight, excess: share * bin.excess, ..*bin })
    }

    /// The bins of the curve, with their weights there.
    pub(super) fn weigh_all(self, bins: impl DoubleEndedIterator<Item = Bin>) -> impl DoubleEndedIterator<Item = Bin> {
        bins.filter_map(move |bin| self.weigh(&bin))
    }
}
