use super::code::CODE_BITS;
use super::weight::{CUT_OFF, Weight, rounded};
use crate::survival::{BAND_BITS, BANDS};
use dwell_types::hash;
use std::ops::Range;
use std::sync::Arc;

/// An item that is sorted by key.
pub(super) trait Keyed: Copy + Default {
    fn key(&self) -> u64;
}

/// A sample of weight 1.
impl Keyed for u64 {
    #[inline]
    fn key(&self) -> u64 {
        *self
    }
}

/// The delay of such a sample, among others of its series.
impl Keyed for u32 {
    #[inline]
    fn key(&self) -> u64 {
        (*self).into()
    }
}

impl Keyed for Cell {
    #[inline]
    fn key(&self) -> u64 {
        self.key
    }
}

/// Empties a vector; distributions that share it keep the old one, so that nothing is copied only to be emptied.
pub(super) fn clear<T>(shared: &mut Arc<Vec<T>>) {
    match Arc::get_mut(shared) {
        Some(own) => own.clear(),
        None => *shared = Arc::default(),
    }
}

/// The range of a series in sorted items.
pub(super) fn range_of(sorted: &[impl Keyed], series: usize) -> Range<usize> {
    let start = sorted.partition_point(|bin| series_of(bin.key()) < series);
    let length = sorted[start..].partition_point(|bin| series_of(bin.key()) == series);
    start..start + length
}

/// The same of a series that is nowhere before `from`, and found the sooner the nearer it is.
pub(super) fn range_from(sorted: &[impl Keyed], from: usize, series: usize) -> Range<usize> {
    let start = end_from(sorted, from, |number| number < series);
    start..end_from(sorted, start, |number| number == series)
}

/// Where those items end that begin at `from`, and whose series are like this.
fn end_from(sorted: &[impl Keyed], from: usize, is_like: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut step) = (from, 1);
    while sorted.get(start + step - 1).is_some_and(|item| is_like(series_of(item.key()))) {
        start += step;
        step *= 2;
    }
    let end = sorted.len().min(start + step - 1);
    start + sorted[start..end].partition_point(|item| is_like(series_of(item.key())))
}

#[inline]
fn series_of(key: u64) -> usize {
    (key >> BIN_BITS) as usize
}

/// The samples of one bin in a store.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// The number of the series, [`CODE_BITS`] bits of code, the part, and the band: the bins of a series are in order
    /// of delay.
    pub(super) key: u64,
    pub(super) weight: Weight,
    /// Σ (weight² − weight): this bin's contribution to the variance of the total.
    pub(super) excess: f32,
}

/// The least and the largest weight of a sample, 2⁻⁴⁸ and 2⁴⁸: sums of their squares stay finite.
const LIGHTEST: f64 = 1.0 / HEAVIEST;
const HEAVIEST: f64 = (1u64 << 48) as f64;

const PART_BITS: u32 = 2;
/// Bits of a key below the number of the series.
pub(super) const BIN_BITS: u32 = CODE_BITS + PART_BITS + BAND_BITS;

impl Cell {
    #[inline]
    pub(super) fn key(series: usize, code: u64, part: usize, band: u8) -> u64 {
        (series as u64) << BIN_BITS | code << (PART_BITS + BAND_BITS) | (part as u64) << BAND_BITS | u64::from(band)
    }

    /// One sample with this weight, or the nearest that is allowed. A part of an exchange has no variance of its own.
    #[inline]
    pub(super) fn new(key: u64, weight: f64) -> Self {
        // What is no number becomes the least.
        let weight = if weight > LIGHTEST { weight.min(HEAVIEST) } else { LIGHTEST };
        Self { key, weight: Weight::new(weight), excess: (weight * weight - weight).max(0.0) as f32 }
    }

    /// One sample with weight 1.
    #[inline]
    pub(super) fn one(key: u64) -> Self {
        Self { key, weight: Weight::ONE, excess: 0.0 }
    }

    /// Adds the samples of a cell with the same key.
    #[inline]
    pub(super) fn add(&mut self, other: &Self, dither: &mut Dither) {
        let cut_off = dither.next();
        self.weight = self.weight.plus(other.weight, cut_off);
        self.excess = rounded(self.excess(), other.excess(), cut_off);
    }

    /// Makes each unit of weight stand for so many exchanges: Σ ((*sw*)² − *sw*).
    pub(super) fn scale(&mut self, scale: f64) {
        let (weight, excess) = (self.weight(), self.excess());
        self.weight = Weight::new(scale * weight);
        self.excess = (scale * (scale * excess + (scale - 1.0) * weight)) as f32;
    }

    #[inline]
    pub(super) fn weight(&self) -> f64 {
        self.weight.get()
    }

    #[inline]
    pub(super) fn excess(&self) -> f64 {
        self.excess.into()
    }

    #[inline]
    pub(super) fn series(&self) -> usize {
        series_of(self.key)
    }

    #[inline]
    pub(super) fn part(&self) -> usize {
        (self.key >> BAND_BITS) as usize & ((1 << PART_BITS) - 1)
    }

    #[inline]
    pub(super) fn band(&self) -> u8 {
        self.key as u8 & (BANDS as u8 - 1)
    }

    #[inline]
    pub(super) fn code(&self) -> u64 {
        self.key >> (PART_BITS + BAND_BITS) & ((1 << CODE_BITS) - 1)
    }
}

/// Evenly distributed numbers with as many bits as are cut off: multiples of the golden ratio.
#[derive(Clone, Debug, Default)]
pub(super) struct Dither(u64);

impl Dither {
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(hash::GOLDEN);
        self.0 >> (u64::BITS - CUT_OFF)
    }
}

/// Merges sorted cells into sorted bins: from the largest key down, so that no bin is overwritten before it is moved.
pub(super) fn merge<T: Keyed>(bins: &mut Vec<T>, number: usize, cells: impl DoubleEndedIterator<Item = T>) {
    let mut left = bins.len();
    bins.reserve_exact(number);
    bins.resize(left + number, T::default());
    let mut to = bins.len();
    for cell in cells.rev() {
        to -= 1;
        while left > 0 && bins[left - 1].key() > cell.key() {
            left -= 1;
            bins[to] = bins[left];
            to -= 1;
        }
        bins[to] = cell;
    }
}

/// Adds sorted cells to the sorted bins with the same keys, or inserts new bins. Only these move others. Leaves no cells.
pub(super) fn sort_in(bins: &mut Vec<Cell>, cells: &mut Vec<Cell>, dither: &mut Dither) {
    bins.reserve_exact(cells.len());
    let (mut at, mut new) = (0, 0);
    for next in 0..cells.len() {
        let cell = cells[next];
        while bins.get(at).is_some_and(|bin| bin.key < cell.key) {
            at += 1;
        }
        let last = cells[..new].last_mut();
        match bins.get_mut(at).filter(|bin| bin.key == cell.key).or(last.filter(|last| last.key == cell.key)) {
            Some(bin) => bin.add(&cell, dither),
            None => {
                cells[new] = cell;
                new += 1;
            }
        }
    }
    merge(bins, new, cells.drain(..).take(new));
}

/// The same with samples of weight 1, which are counted first, so that no memory is reserved for more bins than there
/// will be.
pub(super) fn add_all(bins: &mut Vec<Cell>, cells: impl DoubleEndedIterator<Item = Cell> + Clone, dither: &mut Dither) {
    let (mut at, mut new, mut last) = (0, 0, None);
    if bins.is_empty() {
        bins.reserve_exact(cells.clone().filter(|cell| last.replace(cell.key) != Some(cell.key)).count());
        for cell in cells {
            match bins.last_mut() {
                Some(bin) if bin.key == cell.key => bin.add(&cell, dither),
                _ => bins.push(cell),
            }
        }
        return;
    }
    for cell in cells.clone() {
        while bins.get(at).is_some_and(|bin| bin.key < cell.key) {
            at += 1;
        }
        match bins.get_mut(at) {
            Some(bin) if bin.key == cell.key => bin.add(&cell, dither),
            _ => {
                new += usize::from(last != Some(cell.key));
                last = Some(cell.key);
            }
        }
    }
    let (mut left, mut to) = (bins.len(), bins.len() + new);
    bins.reserve_exact(new);
    bins.resize(to, Cell::default());
    for cell in cells.rev() {
        if bins.get(to).is_some_and(|bin| bin.key == cell.key) {
            bins[to].add(&cell, dither);
            continue;
        }
        if left == to {
            break;
        }
        while left > 0 && bins[left - 1].key > cell.key {
            (left, to) = (left - 1, to - 1);
            bins[to] = bins[left];
        }
        if left == 0 || bins[left - 1].key != cell.key {
            to -= 1;
            bins[to] = cell;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Cells are added to the right bins, whatever these contain and however often a key occurs.
        #[test]
        fn what_is_added_is_in_its_bin(bins in prop::collection::btree_map(0u64..60, 1u32..9, 0..40),
            mut keys in prop::collection::vec(0u64..60, 0..80)) {
            keys.sort_unstable();
            let mut added: Vec<Cell> = bins.iter().map(|(&key, &n)| Cell { key, weight: Weight::new(n.into()), excess: 2.0 }).collect();
            add_all(&mut added, keys.iter().copied().map(Cell::one), &mut Dither::default());
            let mut expected: BTreeMap<u64, (f64, f64)> =
                bins.iter().map(|(&key, &n)| (key, (n.into(), 2.0))).collect();
            keys.iter().for_each(|&key| expected.entry(key).or_default().0 += 1.0);
            let found: Vec<_> = added.iter().map(|bin| (bin.key, (bin.weight(), bin.excess()))).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }

    proptest! {
        /// From wherever a series is searched, if not from behind it, it is found.
        #[test]
        fn a_series_is_found_from_before(numbers in prop::collection::vec(0usize..12, 0..80), from in any::<prop::sample::Index>()) {
            let mut keys: Vec<u64> = numbers.into_iter().map(|number| Cell::key(number, 0, 0, 0)).collect();
            keys.sort_unstable();
            for series in 0..13 {
                let range = range_of(&keys, series);
                prop_assert_eq!(range_from(&keys, from.index(range.start + 1), series), range);
            }
        }
    }

    /// A million samples are added one by one to a sum whose last bit stands for 64 of them. Without dithering, the
    /// control that must fail, none would count.
    #[test]
    fn small_addends_are_not_lost() {
        let added = |mut next: Box<dyn FnMut(&mut Cell)>| {
            let mut cell = Cell { weight: Weight::new(1e9 + 0.5), ..Cell::default() };
            (0..1_000_000).for_each(|_| next(&mut cell));
            cell.weight() - 1e9
        };
        let mut dither = Dither::default();
        let all = added(Box::new(move |cell| cell.add(&Cell::new(0, 1.0), &mut dither)));
        assert!((all - 1e6).abs() < 1e3, "{all}");
        assert_eq!(added(Box::new(|cell| cell.weight = Weight::new(rounded(cell.weight(), 1.0, 0).into()))), 0.0);
    }

    #[test]
    fn whole_numbers_add_up() {
        let (mut cell, mut dither) = (Cell::new(0, 1.0), Dither::default());
        for count in 2..10_000 {
            cell.add(&Cell::new(0, 1.0), &mut dither);
            assert_eq!((cell.weight(), cell.excess()), (f64::from(count), 0.0));
        }
    }

    #[test]
    fn sums_stay_finite() {
        let mut cell = Cell { key: 0, weight: Weight::new(f32::MAX.into()), excess: f32::MAX };
        cell.add(&Cell::new(0, f64::INFINITY), &mut Dither(u64::MAX));
        assert!(cell.weight().is_finite() && cell.excess().is_finite());
    }
}
