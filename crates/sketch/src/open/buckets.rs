use super::slots::{Key, Slots};
use crate::Event;
use crate::batch::{BATCH, Sifted};
use dwell_types::{ExchangeId, hash};

/// Slots in buckets of [`WAYS`]: a key is in one of two buckets.
#[derive(Clone, Debug)]
pub(crate) struct Buckets<S> {
    /// One per bucket: a byte for each slot, zero if it is empty, else the tag of its key.
    tags: Vec<u64>,
    slots: S,
    occupied: usize,
    most_buckets: usize,
}

/// Slots of a bucket.
pub(super) const WAYS: usize = 8;
/// At most this share of the slots is occupied. A table that may still grow does so sooner.
const FULLEST: (usize, usize) = (15, 16);
const FULLER: (usize, usize) = (13, 16);
/// Buckets of a table that is to grow, or up to twice as many.
const FIRST_BUCKETS: usize = 1 << 7;
/// So many entries are moved at most to make room for one. More could come back to where they began.
const MOST_MOVES: u32 = 2;

impl<S: Slots> Buckets<S> {
    /// Slots of a table with room for at most so many, and the entries that they may hold. A table grows by doubling.
    pub(super) fn fitting(slots: usize) -> (usize, usize) {
        let buckets = (slots / WAYS).clamp(1, u32::MAX as usize);
        let doublings = (buckets / FIRST_BUCKETS).max(1).ilog2();
        let slots = (buckets >> doublings << doublings) * WAYS;
        (slots, slots * FULLEST.0 / FULLEST.1)
    }

    /// A table that grows to at most so many slots.
    pub(super) fn new(mut slots: S, most_slots: usize) -> Self {
        let most_buckets = Self::fitting(most_slots).0 / WAYS;
        let buckets = most_buckets >> (most_buckets / FIRST_BUCKETS).max(1).ilog2();
        slots.resize(buckets * WAYS);
        Self { tags: vec![0; buckets], slots, occupied: 0, most_buckets }
    }

    pub(super) fn slots(&self) -> &S {
        &self.slots
    }

    pub(super) fn slots_mut(&mut self) -> &mut S {
        &mut self.slots
    }

    /// Whether another entry would exceed the load factor.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        let (share, of) = if self.tags.len() < self.most_buckets { FULLER } else { FULLEST };
        self.occupied * of >= self.tags.len() * WAYS * share
    }

    pub(super) fn is_half_empty(&self) -> bool {
        self.occupied * 2 < self.tags.len() * WAYS
    }

    pub(super) fn bytes(&self) -> usize {
        self.tags.capacity() * size_of::<u64>() + self.slots.bytes()
    }

    /// The two buckets of a key.
    #[inline]
    fn homes(&self, word: u64) -> [usize; 2] {
        homes(word, self.tags.len())
    }

    /// The slot of a key, if the entry there is of the right kind.
    #[inline]
    pub(super) fn find(&self, key: Key, is_right: impl Fn(&S, usize) -> bool) -> Option<usize> {
        for bucket in self.homes(key.word) {
            let mut same = equal(self.tags[bucket], key.tag);
            while same != 0 {
                let at = bucket * WAYS + first(same);
                if self.slots.word(at) == key.word && is_right(&self.slots, at) {
                    return Some(at);
                }
                same &= same - 1;
            }
        }
        None
    }

    /// The emptier bucket of two, and its empty slots.
    #[inline]
    fn emptier(&self, [a, b]: [usize; 2]) -> (usize, u64) {
        let (empty_a, empty_b) = (equal(self.tags[a], 0), equal(self.tags[b], 0));
        if count(empty_b) > count(empty_a) { (b, empty_b) } else { (a, empty_a) }
    }

    /// A slot for an entry of this key, which the caller fills; `None` if its buckets and those around are full.
    #[inline]
    pub(super) fn put(&mut self, key: Key) -> Option<usize> {
        let homes = self.homes(key.word);
        let (bucket, empty) = self.emptier(homes);
        let at = if empty != 0 { bucket * WAYS + first(empty) } else { self.make_room(homes)? };
        self.set_tag(at, key.tag);
        self.occupied += 1;
        Some(at)
    }

    /// An empty slot in one of two full buckets.
    #[cold]
    fn make_room(&mut self, homes: [usize; 2]) -> Option<usize> {
        (1..=MOST_MOVES).find_map(|moves| homes.into_iter().find_map(|bucket| self.vacate(bucket, moves)))
    }

    /// An empty slot in a bucket, made by moving at most so many entries, each to its other bucket.
    fn vacate(&mut self, bucket: usize, moves: u32) -> Option<usize> {
        let empty = equal(self.tags[bucket], 0);
        if empty != 0 {
            return Some(bucket * WAYS + first(empty));
        }
        let moves = moves.checked_sub(1)?;
        for at in bucket * WAYS..(bucket + 1) * WAYS {
            let [a, b] = self.homes(self.slots.word(at));
            let other = if a == bucket { b } else { a };
            if other != bucket
                && let Some(to) = self.vacate(other, moves)
            {
                self.slots.copy(at, to);
                self.set_tag(to, self.tag(at));
                self.set_tag(at, 0);
                return Some(at);
            }
        }
        None
    }

    #[inline]
    fn tag(&self, at: usize) -> u8 {
        (self.tags[at / WAYS] >> (at % WAYS * 8)) as u8
    }

    #[inline]
    fn set_tag(&mut self, at: usize, tag: u8) {
        let (word, shift) = (&mut self.tags[at / WAYS], at % WAYS * 8);
        *word = *word & !(0xff << shift) | u64::from(tag) << shift;
    }

    /// The key of an occupied slot.
    pub(super) fn key(&self, at: usize) -> Key {
        Key { word: self.slots.word(at), tag: self.tag(at) }
    }

    #[inline]
    pub(super) fn remove(&mut self, at: usize) {
        self.set_tag(at, 0);
        self.occupied -= 1;
    }

    /// The occupied slots.
    pub(super) fn occupied(&self) -> impl Iterator<Item = usize> {
        (0..self.tags.len()).flat_map(|bucket| {
            let tags = self.tags[bucket];
            (bucket * WAYS..).take(WAYS).filter(move |at| tags >> (at % WAYS * 8) & 0xff != 0)
        })
    }

    /// Removes what is not to be kept.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Self, usize) -> bool) {
        for bucket in 0..self.tags.len() {
            let mut left = !equal(self.tags[bucket], 0) & HIGH;
            while left != 0 {
                let at = bucket * WAYS + first(left);
                if !keep(self, at) {
                    self.remove(at);
                }
                left &= left - 1;
            }
        }
    }

    /// Doubles the table; false if the bound forbids it. Each bucket becomes two, so that all entries find room there in one walk.
    pub(super) fn grow(&mut self) -> bool {
        let buckets = self.tags.len();
        if buckets >= self.most_buckets {
            return false;
        }
        self.tags.reserve_exact(buckets);
        self.tags.resize(2 * buckets, 0);
        self.slots.resize(2 * buckets * WAYS);
        for bucket in (0..buckets).rev() {
            let tags = std::mem::take(&mut self.tags[bucket]);
            for way in (0..WAYS).filter(|way| tags >> (way * 8) & 0xff != 0) {
                let word = self.slots.word(bucket * WAYS + way);
                let is_second = usize::from(homes(word, buckets)[0] != bucket);
                let new = self.homes(word)[is_second];
                // Of bucket 0, which stays where it is, no more have been moved than were read.
                let to = new * WAYS + first(equal(self.tags[new], 0));
                self.slots.copy(bucket * WAYS + way, to);
                self.set_tag(to, (tags >> (way * 8)) as u8);
            }
        }
        true
    }

    /// Of a batch, at most [`BATCH`] events, keeps those that may find an entry or leave one: all requests, and the responses
    /// that may answer what is in the table or an earlier request of the batch, as far as tags tell. Says of every event
    /// whether it was kept. Reads the slots of those that were, so that the cache misses of a batch overlap.
    #[inline]
    pub(super) fn sift(
        &self,
        batch: &[Event],
        key: impl Fn(&S, ExchangeId) -> Key,
        mut say: impl FnMut(&Event, bool),
    ) -> Sifted {
        // Each loop only loads what the next one needs, so that the processor looks far ahead.
        let mut keys = [([0; 2], [0; 2], 0); BATCH];
        for (place, event) in keys.iter_mut().zip(batch) {
            let key = key(&self.slots, event.id);
            let homes = self.homes(key.word);
            *place = (homes, homes.map(|bucket| self.tags[bucket]), key.tag);
        }
        let mut slots = [0; BATCH];
        // One bit for every 1,024th of the ids that were asked for.
        let mut asked = [0u64; 16];
        let mut places = keys.iter();
        let sifted = Sifted::of_batch(batch, |event, kept| {
            let &([a, b], tags, tag) = places.next().unwrap_or(&([0; 2], [0; 2], 0));
            let [same_a, same_b] = tags.map(|tags| equal(tags, tag));
            let (word, bit) = ((event.id.0 >> 6) as usize % asked.len(), event.id.0 % 64);
            let is_absent = (same_a | same_b == 0) & (asked[word] >> bit & 1 == 0);
            asked[word] |= u64::from(event.is_request) << bit;
            let is_kept = event.is_request | !is_absent;
            // No branch, since none could be foretold.
            let [empty_a, empty_b] = tags.map(|tags| equal(tags, 0));
            let (to, empty) = if count(empty_b) > count(empty_a) { (b, empty_b) } else { (a, empty_a) };
            let (to, wanted) = if same_b != 0 { (b, same_b) } else { (to, empty) };
            let (to, wanted) = if same_a != 0 { (a, same_a) } else { (to, wanted) };
            slots[kept] = to * WAYS + first(wanted) % WAYS;
            say(event, is_kept);
            is_kept
        });
        let touched = slots[..sifted.len()].iter().fold(0, |touched, &at| touched ^ self.slots.word(at));
        std::hint::black_box(touched);
        sifted
    }
}

/// The two buckets of a key among so many. When these double, bucket *b* becomes 2*b* and 2*b* + 1.
#[inline]
fn homes(word: u64, buckets: usize) -> [usize; 2] {
    let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    [(hash >> 32) as u32, hash as u32].map(|hash| hash::index(hash, buckets as u32) as usize)
}

const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of each byte.
const HIGH: u64 = LOW << 7;

/// Marks the bytes that equal one: the highest bit of each.
#[inline]
fn equal(bytes: u64, byte: u8) -> u64 {
    let different = bytes ^ (u64::from(byte) * LOW);
    !(((different & !HIGH) + !HIGH) | different) & HIGH
}

/// The number of the lowest byte that is marked.
#[inline]
fn first(marked: u64) -> usize {
    (marked.trailing_zeros() / 8) as usize
}

/// How many bytes are marked.
#[inline]
fn count(marked: u64) -> u64 {
    (marked >> 7).wrapping_mul(LOW) >> 56
}
