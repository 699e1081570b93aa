use crate::parts::batch::prefetch;
use dwell_types::{ExchangeId, hash};
use wide::u32x8;

/// The index from ids to entries: buckets of eight numbers, each an entry's, with bits of the id above it.
///
/// An entry is in the bucket that its id determines, or in one of the following if that was full.
#[derive(Clone, Debug)]
pub(super) struct Index {
    buckets: Vec<Bucket>,
    /// Numbers that are not [`EMPTY`].
    used: usize,
    /// The bits of a number that hold the entry plus one.
    entry_mask: u32,
}

/// Half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Bucket([u32; WAYS]);

/// The hash of an id: its lowest bits select the bucket, and the next ones are stored with the entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key(u32);

/// A place in the index: that of an entry, or where one with this key may be inserted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    bucket: usize,
    way: usize,
    /// The bits of the number other than the entry: the fingerprint of its id, and [`DISPLACED`].
    rest: u32,
}

const WAYS: usize = 8;
const FIRST_BUCKETS: usize = 1 << 6;
/// Maximum load, of eight: with this, one bucket in fifteen has been full.
const FULLEST: usize = 5;
/// Free, and no probe has to go on behind this bucket.
const EMPTY: u32 = 0;
/// No entry.
pub(super) const NONE: u32 = u32::MAX;
/// Set if a number is not in the bucket that its key selects.
const DISPLACED: u32 = 1 << 31;
/// An entry number has this many more bits than a bucket number. Key bits are shifted by as many, so that they keep
/// their positions when the number of buckets grows.
const MORE_BITS: u32 = WAYS.ilog2() + 1;

impl Key {
    #[inline]
    pub(super) fn of(id: ExchangeId) -> Self {
        Self((id.0.wrapping_mul(hash::GOLDEN) >> 32) as u32)
    }
}

impl Bucket {
    const EMPTY: Self = Self([EMPTY; WAYS]);

    /// Which numbers equal this one, which has no others, in `bits`: as a bit mask.
    #[inline]
    fn equal(&self, number: u32, bits: u32) -> u32 {
        (u32x8::from(self.0) & u32x8::splat(bits)).simd_eq(u32x8::splat(number)).to_bitmask()
    }

    /// Which numbers are [`EMPTY`], as a bit mask.
    #[inline]
    fn empty(&self) -> u32 {
        self.equal(EMPTY, u32::MAX)
    }
}

impl Index {
    /// An empty index.
    pub(super) fn new() -> Self {
        Self::of(FIRST_BUCKETS)
    }

    fn of(buckets: usize) -> Self {
        let entry_bits = (buckets.ilog2() + MORE_BITS).min(DISPLACED.trailing_zeros());
        Self { buckets: vec![Bucket::EMPTY; buckets], used: 0, entry_mask: (1 << entry_bits) - 1 }
    }

    /// Clears removed entries, and doubles the size if it `is_crowded`. A stored key bit tells which of the two new
    /// buckets an entry goes to; the key is computed only for displaced ones.
    pub(super) fn renew(&mut self, is_crowded: bool, key: impl Fn(u32) -> Key) {
        let (mask, buckets) = (self.entry_mask, self.buckets.len());
        let mut renewed = Self::of(buckets << u32::from(is_crowded));
        let grown = renewed.entry_mask & !mask;
        // With one of these bits an entry is found a place by its key.
        let by_key = if is_crowded && grown == 0 { u32::MAX } else { DISPLACED };
        let mut others = Vec::new();
        for (home, numbers) in self.buckets.iter().enumerate() {
            let (mut halves, mut used) = ([Bucket::EMPTY; 2], [0; 2]);
            for number in numbers.0 {
                if number & by_key != 0 {
                    others.extend((number & mask).checked_sub(1));
                    continue;
                }
                let half = usize::from(number & grown != 0);
                halves[half].0[used[half]] = number & !grown;
                used[half] += usize::from(number != EMPTY);
            }
            renewed.used += used[0] + used[1];
            renewed.buckets[home] = halves[0];
            if is_crowded {
                renewed.buckets[buckets + home] = halves[1];
            }
        }
        for entry in others {
            let (_, slot) = renewed.find(key(entry), |_| false);
            renewed.put(slot, entry);
        }
        *self = renewed;
    }

    /// The number of ids for which searches stay short.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.buckets.len() * FULLEST
    }

    /// How many more ids there may be before removed entries are cleared.
    #[inline]
    pub(super) fn left(&self) -> usize {
        self.room().saturating_sub(self.used)
    }

    /// Entry numbers are below this.
    #[inline]
    pub(super) fn end(&self) -> usize {
        self.entry_mask as usize
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        key.0 as usize & (self.buckets.len() - 1)
    }

    /// The key bits stored with an entry: those after the bits that select the bucket.
    #[inline]
    fn fingerprint(&self, key: Key) -> u32 {
        key.0 << MORE_BITS & !self.entry_mask & !DISPLACED
    }

    #[inline]
    fn next(&self, bucket: usize) -> usize {
        (bucket + 1) & (self.buckets.len() - 1)
    }

    /// Prefetches the bucket in which a search for this key begins.
    #[inline]
    pub(super) fn prefetch(&self, key: Key) {
        prefetch(&self.buckets[self.home(key)]);
    }

    /// The first entry with this key that satisfies the predicate, and its place; or [`NONE`], and where it would be.
    #[inline(always)]
    pub(super) fn find(&self, key: Key, is_right: impl Fn(u32) -> bool) -> (u32, Slot) {
        let (mask, mut rest) = (self.entry_mask, self.fingerprint(key));
        let mut bucket = self.home(key);
        loop {
            let numbers = &self.buckets[bucket];
            let mut same = numbers.equal(rest, !mask);
            while same != 0 {
                let way = same.trailing_zeros() as usize;
                let entry = (numbers.0[way] & mask).wrapping_sub(1);
                if entry != NONE && is_right(entry) {
                    return (entry, Slot { bucket, way, rest });
                }
                same &= same - 1;
            }
            let empty = numbers.empty();
            if empty != 0 {
                return (NONE, Slot { bucket, way: empty.trailing_zeros() as usize, rest });
            }
            bucket = self.next(bucket);
            rest |= DISPLACED;
        }
    }

    /// Inserts an entry at the place returned by an unsuccessful search.
    #[inline]
    pub(super) fn put(&mut self, Slot { bucket, way, rest }: Slot, entry: u32) {
        self.buckets[bucket].0[way] = rest | (entry + 1);
        self.used += 1;
    }

    #[inline]
    pub(super) fn remove(&mut self, Slot { bucket, way, .. }: Slot) {
        let numbers = &mut self.buckets[bucket];
        let has_room = numbers.empty() != 0;
        // A full bucket may have been probed past: no entry, but not empty either.
        numbers.0[way] = if has_room { EMPTY } else { DISPLACED };
        self.used -= usize::from(has_room);
    }

    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Bucket>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// With few keys for many entries, so that buckets overflow, all that was inserted is found, and nothing else.
        #[test]
        fn behaves_as_a_map(steps in prop::collection::vec((0u64..40, any::<bool>()), 1..2_000)) {
            let (mut index, mut map) = (Index::new(), BTreeMap::new());
            let key = |number: u64| Key((number % 4) as u32 | (number as u32 % 3) << 10);
            for (step, (number, is_put)) in steps.into_iter().enumerate() {
                if step % 100 == 99 {
                    index.renew(step % 300 == 299, |entry| key(entry.into()));
                }
                let is_right = |entry| entry == number as u32;
                match (index.find(key(number), is_right), is_put) {
                    ((NONE, slot), true) => {
                        index.put(slot, number as u32);
                        map.insert(number, ());
                    }
                    ((entry, slot), false) if entry != NONE => {
                        prop_assert_eq!(u64::from(entry), number);
                        index.remove(slot);
                        map.remove(&number);
                    }
                    _ => (),
                }
                prop_assert_eq!(index.find(key(number), is_right).0 != NONE, map.contains_key(&number));
            }
            for number in 0..40 {
                let (found, _) = index.find(key(number), |entry| entry == number as u32);
                prop_assert_eq!(found != NONE, map.contains_key(&number));
            }
        }
    }
}
