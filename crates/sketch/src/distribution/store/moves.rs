//! Samples that move: to other bands, to another series, or from another store.

use super::super::cell::{Cell, range_from, range_of};
use super::super::code::{self, FINEST, SINCE_FIRST};
use super::{DelayStore, PerSeries, band_at, combine};
use crate::NewBands;
use dwell_types::Nanos;
use std::ops::Range;
use std::sync::Arc;

impl DelayStore {
    /// Moves all samples of some series to other bands, as required by their meter ([`crate::Meter::take_new_bands`]).
    ///
    /// # Panics
    /// If there is no such series.
    pub fn rearrange(&mut self, series: Range<usize>, bands: &NewBands) {
        self.settle();
        self.sort_all_in();
        let bins = Arc::make_mut(&mut self.bins);
        for series in series {
            let bits = self.series[series].bits;
            let range = range_of(bins, series);
            for cell in &mut bins[range] {
                let band = match cell.part() {
                    SINCE_FIRST => bands.of(cell.band()),
                    _ => bands.of_delay(cell.band(), Nanos::new(code::range(cell.code(), bits).0)),
                };
                let band = band_at(band, bits);
                cell.key = Cell::key(series, cell.code(), cell.part(), band);
            }
        }
        let length = combine(bins, &mut self.dither);
        bins.truncate(length);
    }

    /// Adds all samples of another store with the same number of series.
    ///
    /// # Panics
    /// If the numbers of series differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.series.len(), other.series.len(), "stores of different series");
        self.adopt(|series| other.series[series].bits);
        for (number, theirs) in other.series.iter().enumerate() {
            if other.has_samples(number) {
                self.series[number].add(&theirs.parts);
            }
        }
        let ones = other.ones.iter().flat_map(|ones| ones.all(|series| other.series[series].bits)).map(Cell::one);
        for cell in other.bins.iter().chain(&other.recent).copied().chain(ones) {
            let (low, _) = code::range(cell.code(), other.series[cell.series()].bits);
            let series = cell.series();
            let key = self.series[series].key(series, cell.part(), cell.band(), low);
            self.put(series, Cell { key, ..cell });
        }
    }

    /// Makes every series as coarse as this, at least.
    fn adopt(&mut self, bits: impl Fn(usize) -> i8) {
        if !(0..).zip(&self.series).any(|(number, series)| series.bits > bits(number)) {
            return;
        }
        self.settle();
        self.sort_all_in();
        let mut left = self.lengths();
        for (series, left) in left.iter_mut().enumerate() {
            if self.series[series].bits > bits(series) {
                *left = self.coarsen(series, *left, bits(series));
            }
        }
        self.keep(&left);
    }

    /// Moves all samples of some series, in ascending order, to another one.
    pub(crate) fn gather(&mut self, from: &[usize], to: usize) {
        if from.is_empty() {
            return;
        }
        let coarsest = |store: &Self| from.iter().map(|&series| store.series[series].bits).min().unwrap_or(FINEST);
        if self.has_samples(to) {
            // Adopting may make room, and these series coarser for that.
            while self.series[to].bits > coarsest(self) {
                let bits = coarsest(self);
                self.adopt(|series| if series == to { bits } else { FINEST });
            }
        } else {
            self.series[to].bits = coarsest(self);
        }
        for &series in from {
            let parts = self.series[series].parts;
            self.series[to].add(&parts);
        }
        let (series, target) = (&self.series, self.series[to]);
        let mut is_moved = vec![false; series.len()];
        from.iter().for_each(|&series| is_moved[series] = true);
        let moved = |key: u64| {
            let cell = Cell::one(key);
            let number = cell.series();
            let low = || code::range(cell.code(), series[number].bits).0;
            is_moved[number].then(|| target.key(to, cell.part(), cell.band(), low()))
        };
        let rekey = |cell: &mut Cell| cell.key = moved(cell.key).unwrap_or(cell.key);
        self.recent.iter_mut().for_each(rekey);
        if let Some(ones) = &mut self.ones {
            ones.gather(from, to, moved);
        }
        let bins = Arc::make_mut(&mut self.bins);
        let mut end = 0;
        let mut length = |&series: &usize| {
            let range = range_from(bins, end, series);
            end = range.end;
            range.len()
        };
        let cells: usize = from.iter().map(&mut length).sum();
        if self.recent.len() + cells < self.batch as usize {
            // They become recent cells again: to sort them in at once would take as long as to sort in a whole batch.
            let (mut kept, mut done) = (0, 0);
            for &series in from {
                let Range { start, end } = range_from(bins, done, series);
                self.recent.extend_from_slice(&bins[start..end]);
                bins.copy_within(done..start, kept);
                (kept, done) = (kept + start - done, end);
            }
            bins.drain(kept..done);
            let first = self.recent.len() - cells;
            self.recent[first..].iter_mut().for_each(rekey);
        } else {
            bins.iter_mut().for_each(rekey);
            bins.sort_unstable_by_key(|cell| cell.key);
            let length = combine(bins, &mut self.dither);
            bins.truncate(length);
        }
        for &series in from {
            self.series[series] = PerSeries::EMPTY;
        }
    }
}
