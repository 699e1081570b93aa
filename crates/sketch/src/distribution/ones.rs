//! Samples of weight 1, in a store with room for many.

use super::cell::{Cell, Dither, Keyed, add_all, clear, merge, range_of};
use super::code::{self, FINEST};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// Samples of weight 1: 4 bytes for most of them, where a bin takes 16, and faster to sort. They are either all that a
/// store holds, or those since its bins were last sorted.
#[derive(Clone, Debug)]
pub(super) struct Ones {
    /// Delays in nanoseconds of samples that are [`plain`], by series.
    plain: Box<[Run<u32>]>,
    /// The keys of the others.
    keys: Run<u64>,
    /// Number of samples since they were last sorted.
    recent: usize,
    /// Number of samples that are sorted together.
    batch: usize,
}

/// Numbers that are sorted from time to time.
#[derive(Clone, Debug, Default)]
struct Run<T> {
    /// In ascending order, with duplicates. Distributions share it while they live.
    sorted: Arc<Vec<T>>,
    /// Added since, in any order.
    recent: Vec<T>,
}

/// Least number of samples that are sorted together if there is room, in 16 to 32 MiB.
const MANY: usize = 1 << 22;

/// The delay in 32 bits, if it fits: all there is to an unambiguous sample without band.
#[inline]
pub(super) fn plain(delay: i64) -> Option<u32> {
    delay.try_into().ok()
}

/// The key of a [`plain`] delay at this resolution: the smallest of its class.
#[inline]
fn plain_key(series: usize, bits: i8, delay: u32) -> u64 {
    let code = if bits == FINEST { code::fine(delay.into()) } else { code::of(delay.into(), bits) };
    Cell::key(series, code, 0, 0)
}

/// Uses radix sort where that is faster: it makes a pass for counting, and needs as much memory again.
fn sort<T: radsort::Key + Ord>(numbers: &mut [T]) {
    const FEW: usize = 1 << 11;
    if numbers.len() < FEW { numbers.sort_unstable() } else { radsort::sort(numbers) }
}

impl<T: Keyed + radsort::Key + Ord> Run<T> {
    fn sort_in(&mut self) {
        if self.recent.is_empty() {
            return;
        }
        sort(&mut self.recent);
        if self.sorted.is_empty() {
            self.sorted = Arc::new(std::mem::take(&mut self.recent));
        } else {
            merge(Arc::make_mut(&mut self.sorted), self.recent.len(), self.recent.drain(..));
        }
    }

    fn clear(&mut self) {
        clear(&mut self.sorted);
        self.recent.clear();
    }

    /// Number of distinct sorted values.
    fn different(&self) -> usize {
        let changes = self.sorted.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes + usize::from(!self.sorted.is_empty())
    }

    /// All values, in any order.
    fn all(&self) -> impl Iterator<Item = T> {
        self.sorted.iter().chain(&self.recent).copied()
    }

    fn bytes(&self) -> usize {
        (self.sorted.capacity() + self.recent.capacity()) * size_of::<T>()
    }
}

impl Ones {
    /// An empty set for this many series.
    pub(super) fn new(series: usize) -> Self {
        Self { plain: vec![Run::default(); series].into(), keys: Run::default(), recent: 0, batch: MANY }
    }

    /// Adds a [`plain`] delay; returns whether it is time to sort.
    #[inline]
    pub(super) fn push_plain(&mut self, series: usize, delay: u32) -> bool {
        self.plain[series].recent.push(delay);
        self.count()
    }

    /// Adds the key of another sample; returns whether it is time to sort.
    #[inline]
    pub(super) fn push(&mut self, key: u64) -> bool {
        self.keys.recent.push(key);
        self.count()
    }

    #[inline]
    fn count(&mut self) -> bool {
        self.recent += 1;
        self.recent >= self.batch
    }

    /// Number of sorted samples.
    pub(super) fn sorted(&self) -> usize {
        self.plain.iter().map(|run| run.sorted.len()).sum::<usize>() + self.keys.sorted.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_sorted() && self.sorted() == 0
    }

    pub(super) fn is_sorted(&self) -> bool {
        self.recent == 0
    }

    pub(super) fn sort_in(&mut self) {
        self.plain.iter_mut().for_each(Run::sort_in);
        self.keys.sort_in();
        self.recent = 0;
    }

    /// Starts a batch of `MANY`, `least` or as many samples as are sorted already, whichever is most, if there is room.
    pub(super) fn begin_batch(&mut self, least: usize, room: usize) {
        let left = room.saturating_sub(self.sorted()) + 1;
        self.batch = MANY.max(least).max(self.sorted()).min(left);
    }

    /// Whether bins, one for all equal samples, would take less memory than the sorted samples.
    pub(super) fn are_alike(&self) -> bool {
        let bins = self.plain.iter().map(Run::different).sum::<usize>() + self.keys.different();
        let plain = self.sorted() - self.keys.sorted.len();
        bins * size_of::<Cell>() < plain * size_of::<u32>() + size_of_val(&**self.keys.sorted)
    }

    /// The sorted samples of a series with this resolution.
    pub(super) fn of(&self, series: usize, bits: i8) -> Merged {
        let (plain, keys) = (Arc::clone(&self.plain[series].sorted), Arc::clone(&self.keys.sorted));
        let range = range_of(&keys, series);
        let ranks = (0..)
            .zip(&keys[range.clone()])
            .map(|(before, &key)| before + plain.partition_point(|&delay| plain_key(series, bits, delay) <= key));
        Merged { ranks: ranks.collect(), series, bits, plain, keys, range }
    }

    /// Moves the sorted samples into sorted bins, at the resolution of each series.
    pub(super) fn move_to(&mut self, bins: &mut Vec<Cell>, bits: impl Fn(usize) -> i8, dither: &mut Dither) {
        let merged: Vec<Merged> = (0..self.plain.len()).map(|series| self.of(series, bits(series))).collect();
        add_all(bins, merged.iter().flat_map(|merged| merged.iter(0..merged.len())), dither);
        drop(merged);
        self.plain.iter_mut().for_each(|run| run.sorted = Arc::default());
        self.keys.sorted = Arc::default();
    }

    /// Moves all samples of some series to another one; `moved` gives the new keys of those that have keys.
    pub(super) fn gather(&mut self, from: &[usize], to: usize, moved: impl Fn(u64) -> Option<u64>) {
        for &series in from {
            let run = std::mem::take(&mut self.plain[series]);
            self.recent += run.sorted.len();
            self.plain[to].recent.extend(run.all());
        }
        let Run { sorted, recent } = &mut self.keys;
        recent.iter_mut().for_each(|key| *key = moved(*key).unwrap_or(*key));
        if sorted.iter().any(|&key| moved(key).is_some()) {
            let before = sorted.len();
            let sorted = Arc::make_mut(sorted);
            sorted.retain(|&key| moved(key).map(|key| recent.push(key)).is_none());
            self.recent += before - sorted.len();
        }
    }

    /// The keys of all samples, in any order, at the resolution of each series.
    pub(super) fn all(&self, bits: impl Fn(usize) -> i8) -> impl Iterator<Item = u64> {
        let plain = self.plain.iter().enumerate().flat_map(move |(series, run)| {
            let bits = bits(series);
            run.all().map(move |delay| plain_key(series, bits, delay))
        });
        plain.chain(self.keys.all())
    }

    /// Removes all samples, but keeps the memory.
    pub(super) fn clear(&mut self) {
        self.plain.iter_mut().for_each(Run::clear);
        self.keys.clear();
        self.recent = 0;
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>()
            + size_of_val(&*self.plain)
            + self.plain.iter().map(Run::bytes).sum::<usize>()
            + self.keys.bytes()
    }
}

/// The weight-1 samples of one series, in ascending order of their keys.
#[derive(Clone, Debug)]
pub(super) struct Merged {
    series: usize,
    bits: i8,
    plain: Arc<Vec<u32>>,
    /// The keys of all series; those of this series are in `range`.
    keys: Arc<Vec<u64>>,
    range: Range<usize>,
    /// The rank of each of these keys among all samples of the series.
    ranks: Vec<usize>,
}

impl Merged {
    pub(super) fn len(&self) -> usize {
        self.plain.len() + self.range.len()
    }

    fn keys(&self) -> &[u64] {
        &self.keys[self.range.clone()]
    }

    /// How many keys come before a rank.
    #[inline]
    fn keys_before(&self, rank: usize) -> usize {
        self.ranks.partition_point(|&key| key < rank)
    }

    pub(super) fn at(&self, rank: usize) -> Cell {
        let keys = self.keys_before(rank);
        let is_key = self.ranks.get(keys) == Some(&rank);
        Cell::one(if is_key { self.keys()[keys] } else { plain_key(self.series, self.bits, self.plain[rank - keys]) })
    }

    /// The last rank with the same value as this one; equal values are adjacent.
    pub(super) fn last_equal(&self, rank: usize) -> usize {
        let keys = self.keys_before(rank);
        let equal = if self.ranks.get(keys) == Some(&rank) {
            let equal = &self.keys()[keys..];
            equal.partition_point(|key| *key == equal[0])
        } else {
            let equal = &self.plain[rank - keys..];
            if equal.get(1) == Some(&equal[0]) { equal.partition_point(|delay| *delay == equal[0]) } else { 1 }
        };
        rank + equal - 1
    }

    #[inline]
    pub(super) fn iter(&self, ranks: Range<usize>) -> Iter<'_> {
        let (plain, keys) = self.apart(ranks);
        Iter { series: self.series, bits: self.bits, plain: plain.iter(), keys: keys.iter() }
    }

    /// What is in a range of ranks: plain delays, and the keys of the other samples.
    #[inline]
    pub(super) fn apart(&self, ranks: Range<usize>) -> (&[u32], &[u64]) {
        let keys = self.keys_before(ranks.start)..self.keys_before(ranks.end);
        (&self.plain[ranks.start - keys.start..ranks.end - keys.end], &self.keys()[keys])
    }
}

/// Some samples of a series, in ascending order.
#[derive(Clone, Debug)]
pub(super) struct Iter<'a> {
    series: usize,
    bits: i8,
    plain: slice::Iter<'a, u32>,
    keys: slice::Iter<'a, u64>,
}

impl Iter<'_> {
    #[inline]
    fn plain_key(&self, delay: Option<&u32>) -> Option<u64> {
        delay.map(|&delay| plain_key(self.series, self.bits, delay))
    }
}

impl Iterator for Iter<'_> {
    type Item = Cell;

    #[inline]
    fn next(&mut self) -> Option<Cell> {
        let plain = self.plain_key(self.plain.as_slice().first());
        let key = self.keys.as_slice().first().copied();
        let is_plain = plain.is_some_and(|plain| key.is_none_or(|key| plain <= key));
        let next = if is_plain { self.plain.next().and(plain) } else { self.keys.next().copied() };
        next.map(Cell::one)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.plain.len() + self.keys.len();
        (left, Some(left))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<Cell> {
        let plain = self.plain_key(self.plain.as_slice().last());
        let key = self.keys.as_slice().last().copied();
        let is_plain = plain.is_some_and(|plain| key.is_none_or(|key| plain > key));
        let next = if is_plain { self.plain.next_back().and(plain) } else { self.keys.next_back().copied() };
        next.map(Cell::one)
    }
}

impl ExactSizeIterator for Iter<'_> {}
