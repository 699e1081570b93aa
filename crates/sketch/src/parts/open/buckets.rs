use super::slots::{Key, Slots};
use crate::Event;
use crate::parts::batch::{BATCH, Numbers};
use crate::parts::swar::{HIGH, LOW, equal, first};
use dwell_types::hash;
use std::hint::select_unpredictable;

/// A table of open requests: slots in buckets of [`WAYS`], where a key is in one of two buckets.
#[derive(Clone, Debug)]
pub(crate) struct Open {
    /// One word per bucket with a byte for each slot: zero if it is empty, else the fingerprint of its key.
    fingerprints: Vec<u64>,
    slots: Slots,
    occupied: usize,
    most_buckets: usize,
}

/// Slots per bucket.
pub(super) const WAYS: usize = 8;
/// Maximum load. A table that may still grow does so at `FULLER`.
const FULLEST: (usize, usize) = (15, 16);
const FULLER: (usize, usize) = (13, 16);
/// Buckets of a growing table at first, at least; up to twice as many.
const FIRST_BUCKETS: usize = 1 << 7;
/// How many entries may be moved to make room for one. With more, an entry could return to where it was.
const MOST_MOVES: u32 = 2;

/// Where keys are, whatever the slots hold.
impl Open {
    /// The slots of a table that grows by doubling to at most `slots`, and the entries that they may hold.
    pub(super) fn fitting(slots: usize) -> (usize, usize) {
        let buckets = (slots / WAYS).clamp(1, u32::MAX as usize);
        let doublings = (buckets / FIRST_BUCKETS).max(1).ilog2();
        let slots = (buckets >> doublings << doublings) * WAYS;
        (slots, slots * FULLEST.0 / FULLEST.1)
    }

    /// A table that grows to at most `most_slots`.
    pub(super) fn new(mut slots: Slots, most_slots: usize) -> Self {
        let most_buckets = Self::fitting(most_slots).0 / WAYS;
        let buckets = most_buckets >> (most_buckets / FIRST_BUCKETS).max(1).ilog2();
        slots.resize(buckets * WAYS);
        Self { fingerprints: vec![0; buckets], slots, occupied: 0, most_buckets }
    }

    /// The slots to which it can grow by doubling.
    pub(crate) fn most_slots(&self) -> usize {
        self.most_buckets * WAYS
    }

    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    pub(super) fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// Whether another entry would exceed the maximum load after this many more.
    #[inline]
    pub(super) fn is_full_with(&self, more: usize) -> bool {
        let (share, of) = if self.fingerprints.len() < self.most_buckets { FULLER } else { FULLEST };
        (self.occupied + more) * of >= self.fingerprints.len() * WAYS * share
    }

    pub(crate) fn is_half_empty(&self) -> bool {
        self.occupied * 2 < self.fingerprints.len() * WAYS
    }

    pub(crate) fn bytes(&self) -> usize {
        self.fingerprints.capacity() * size_of::<u64>() + self.slots.bytes()
    }

    /// Where the entry of a key is, or would be inserted.
    #[inline]
    pub(super) fn place_of(&self, key: Key) -> Place {
        let place = self.unseen(key);
        Place { is_vacant: !has_fingerprint(self.fingerprints_of(place.homes), key.fingerprint), ..place }
    }

    /// The same without reading the table.
    #[inline]
    fn unseen(&self, key: Key) -> Place {
        let Key { word, fingerprint } = key;
        let buckets = self.fingerprints.len();
        Place {
            word,
            homes: homes(word, buckets),
            buckets: buckets as u32,
            fingerprint,
            likely: UNKNOWN,
            is_vacant: false,
        }
    }

    /// The likely slot of a place, if it is known and still has this fingerprint.
    #[inline]
    fn likely_slot_with(&self, place: &Place, fingerprint: u8) -> Option<usize> {
        let is_known = place.likely != UNKNOWN && place.buckets as usize == self.fingerprints.len();
        is_known.then(|| place.likely_slot()).filter(|&at| self.fingerprint(at) == fingerprint)
    }

    /// The current buckets of a place, even if the table has grown.
    #[inline]
    fn homes_of(&self, place: &Place) -> [u32; 2] {
        if place.buckets as usize == self.fingerprints.len() {
            place.homes
        } else {
            homes(place.word, self.fingerprints.len())
        }
    }

    #[inline]
    fn fingerprints_of(&self, homes: [u32; 2]) -> [u64; 2] {
        homes.map(|bucket| self.fingerprints[bucket as usize])
    }

    /// The slot of a place's key, if the entry there satisfies the predicate.
    #[inline]
    pub(super) fn find_where(&self, place: &Place, is_right: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        if place.is_vacant {
            return None;
        }
        let is_there = |&at: &usize| self.slots.word(at) == place.word && is_right(&self.slots, at);
        let likely = self.likely_slot_with(place, place.fingerprint).filter(is_there);
        likely.or_else(|| self.search(place.key(), self.homes_of(place), is_right))
    }

    /// The same for a key.
    pub(super) fn find_key(&self, key: Key, is_right: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        self.search(key, homes(key.word, self.fingerprints.len()), is_right)
    }

    // Not inlined: after looking ahead it is rarely needed, and inlining slows down the code around it.
    #[inline(never)]
    fn search(&self, key: Key, homes: [u32; 2], is_right: impl Fn(&Slots, usize) -> bool) -> Option<usize> {
        for (bucket, fingerprints) in homes.into_iter().zip(self.fingerprints_of(homes)) {
            let mut same = equal(fingerprints, key.fingerprint);
            while same != 0 {
                let at = slot(bucket, same);
                if self.slots.word(at) == key.word && is_right(&self.slots, at) {
                    return Some(at);
                }
                same &= same - 1;
            }
        }
        None
    }

    /// Occupies a slot for the key of a place, which the caller fills; `None` if its buckets and those reachable from
    /// them are full.
    #[inline]
    pub(super) fn occupy(&mut self, place: &Place) -> Option<usize> {
        let at = match self.likely_slot_with(place, 0) {
            Some(at) => at,
            None => self.find_room(self.homes_of(place))?,
        };
        self.set_fingerprint(at, place.fingerprint);
        self.occupied += 1;
        Some(at)
    }

    /// An empty slot in one of two buckets, made by moving others if necessary.
    #[inline(never)]
    fn find_room(&mut self, homes: [u32; 2]) -> Option<usize> {
        let (second, empty) = emptier(self.fingerprints_of(homes));
        if empty != 0 { Some(slot(homes[usize::from(second)], empty)) } else { self.make_room(homes) }
    }

    /// Makes an empty slot in one of two full buckets.
    #[cold]
    fn make_room(&mut self, homes: [u32; 2]) -> Option<usize> {
        (1..=MOST_MOVES).find_map(|moves| homes.into_iter().find_map(|bucket| self.vacate(bucket, moves)))
    }

    /// An empty slot in a bucket, made by moving at most this many entries, each to its other bucket.
    fn vacate(&mut self, bucket: u32, moves: u32) -> Option<usize> {
        let empty = equal(self.fingerprints[bucket as usize], 0);
        if empty != 0 {
            return Some(slot(bucket, empty));
        }
        let moves = moves.checked_sub(1)?;
        for at in (bucket as usize * WAYS..).take(WAYS) {
            let [a, b] = homes(self.slots.word(at), self.fingerprints.len());
            let other = if a == bucket { b } else { a };
            if other != bucket
                && let Some(to) = self.vacate(other, moves)
            {
                self.slots.copy(at, to);
                self.set_fingerprint(to, self.fingerprint(at));
                self.set_fingerprint(at, 0);
                return Some(at);
            }
        }
        None
    }

    #[inline]
    fn fingerprint(&self, at: usize) -> u8 {
        (self.fingerprints[at / WAYS] >> (at % WAYS * 8)) as u8
    }

    #[inline]
    fn set_fingerprint(&mut self, at: usize, fingerprint: u8) {
        let (word, shift) = (&mut self.fingerprints[at / WAYS], at % WAYS * 8);
        *word = *word & !(0xff << shift) | u64::from(fingerprint) << shift;
    }

    /// The key of an occupied slot.
    pub(super) fn key(&self, at: usize) -> Key {
        Key { word: self.slots.word(at), fingerprint: self.fingerprint(at) }
    }

    #[inline]
    pub(super) fn remove(&mut self, at: usize) {
        self.set_fingerprint(at, 0);
        self.occupied -= 1;
    }

    /// All occupied slots.
    pub(super) fn occupied(&self) -> impl Iterator<Item = usize> {
        (0..self.fingerprints.len()).flat_map(|bucket| {
            let fingerprints = self.fingerprints[bucket];
            (bucket * WAYS..).take(WAYS).filter(move |at| fingerprints >> (at % WAYS * 8) & 0xff != 0)
        })
    }

    /// Vacates slots for which `keep` is false, bucket by bucket. Removal is branchless, since it is unpredictable.
    pub(super) fn retain_slots(&mut self, mut keep: impl FnMut(&Self, usize) -> bool) {
        for bucket in 0..self.fingerprints.len() {
            let (mut left, mut gone) = (!equal(self.fingerprints[bucket], 0) & HIGH, 0);
            while left != 0 {
                let at = bucket * WAYS + first(left);
                gone |= u64::from(!keep(self, at)) << (at % WAYS * 8);
                left &= left - 1;
            }
            self.fingerprints[bucket] &= !(gone * 0xff);
            self.occupied -= gone.count_ones() as usize;
        }
    }

    /// Doubles the table; false if the bound forbids it. Each bucket becomes two, in which all its entries find room,
    /// so that one scan is enough.
    pub(crate) fn grow(&mut self) -> bool {
        let buckets = self.fingerprints.len();
        if buckets >= self.most_buckets {
            return false;
        }
        self.fingerprints.reserve_exact(buckets);
        self.fingerprints.resize(2 * buckets, 0);
        self.slots.resize(2 * buckets * WAYS);
        for bucket in (0..buckets).rev() {
            let fingerprints = std::mem::take(&mut self.fingerprints[bucket]);
            for way in (0..WAYS).filter(|way| fingerprints >> (way * 8) & 0xff != 0) {
                let word = self.slots.word(bucket * WAYS + way);
                let is_second = usize::from(homes(word, buckets)[0] as usize != bucket);
                let new = homes(word, 2 * buckets)[is_second];
                // Bucket 0 stays where it is; never more entries have been moved into it than were read from it.
                let to = slot(new, equal(self.fingerprints[new as usize], 0));
                self.slots.copy(bucket * WAYS + way, to);
                self.set_fingerprint(to, (fingerprints >> (way * 8)) as u8);
            }
        }
        true
    }

    /// Selects from a batch of at most [`BATCH`] events those that may find or leave an entry: all requests, and the
    /// responses that may match an entry of the table or an earlier request of the batch, as far as fingerprints show.
    /// Calls `say` for every event with the outcome. Reads their slots, so that the cache misses of a batch overlap.
    #[inline]
    pub(crate) fn look_ahead(&self, batch: &[Event], mut say: impl FnMut(&Event, bool)) -> Ahead {
        // None of the loops has an unpredictable branch, and each only loads what the next one needs, so that
        // out-of-order execution overlaps the loads.
        let (mut places, mut fingerprints) = ([Place::default(); BATCH], [[0; 2]; BATCH]);
        for ((place, fingerprints), event) in places.iter_mut().zip(&mut fingerprints).zip(batch) {
            *place = self.unseen(self.slots.key(event.id));
            *fingerprints = self.fingerprints_of(place.homes);
        }
        let mut kept = Numbers::default();
        // A filter of the ids requested in this batch, one bit for every 1,024th.
        let mut asked = [0u64; 16];
        for (number, (event, place)) in batch.iter().zip(&mut places).enumerate() {
            let (word, bit) = ((event.id.0 >> 6) as usize % asked.len(), event.id.0 % 64);
            place.is_vacant =
                !(has_fingerprint(fingerprints[number], place.fingerprint) | (asked[word] >> bit & 1 == 1));
            asked[word] |= u64::from(event.is_request) << bit;
            let is_kept = event.is_request | !place.is_vacant;
            kept.add_if(is_kept, number);
            say(event, is_kept);
        }
        let mut slots = [0; BATCH];
        for (slot, number) in slots.iter_mut().zip(kept) {
            let place = &mut places[number];
            place.likely = likely(fingerprints[number], place.fingerprint);
            *slot = place.likely_slot();
        }
        let touched = slots[..kept.len()].iter().fold(0, |touched, &at| touched ^ self.slots.word(at));
        std::hint::black_box(touched);
        Ahead { kept, places }
    }
}

/// Where the entry of a key is, or would be inserted. Valid until another entry with that key is inserted; the places
/// of one batch take account of each other.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    word: u64,
    homes: [u32; 2],
    /// The number of buckets for which `homes` holds.
    buckets: u32,
    fingerprint: u8,
    /// The index of a slot, plus the number of slots if it is in the second bucket: where the fingerprint was, or else an
    /// empty one in the emptier bucket. [`UNKNOWN`] before fingerprints are read.
    likely: u8,
    /// No entry has the key: neither bucket contained its fingerprint.
    is_vacant: bool,
}

/// No slot of either bucket.
const UNKNOWN: u8 = 2 * WAYS as u8;

impl Place {
    #[inline]
    pub(super) fn key(&self) -> Key {
        Key { word: self.word, fingerprint: self.fingerprint }
    }

    #[inline]
    fn likely_slot(&self) -> usize {
        let likely = usize::from(self.likely);
        self.homes[likely / WAYS] as usize * WAYS + likely % WAYS
    }

    /// Whether no entry has the key, as far as the fingerprints show.
    #[inline]
    pub(crate) fn is_vacant(&self) -> bool {
        self.is_vacant
    }
}

/// Whether a fingerprint is among those of two buckets.
#[inline]
fn has_fingerprint(fingerprints: [u64; 2], fingerprint: u8) -> bool {
    // The lowest marked byte is really zero; higher ones may be marked because of a borrow.
    let [a, b] = fingerprints
        .map(|fingerprints| fingerprints ^ (u64::from(fingerprint) * LOW))
        .map(|different| different.wrapping_sub(LOW) & !different);
    (a | b) & HIGH != 0
}

/// The first slot with a fingerprint in two buckets, or else an empty one of the emptier bucket; if there is none, any
/// slot of that. Branchless, since the branches would be unpredictable.
#[inline]
fn likely(fingerprints: [u64; 2], fingerprint: u8) -> u8 {
    let [same_a, same_b] = fingerprints.map(|fingerprints| equal(fingerprints, fingerprint));
    let (second, wanted) = emptier(fingerprints);
    let (second, wanted) = select_unpredictable(same_b != 0, (true, same_b), (second, wanted));
    let (second, wanted) = select_unpredictable(same_a != 0, (false, same_a), (second, wanted));
    (usize::from(second) * WAYS + first(wanted) % WAYS) as u8
}

/// The events of a batch that must be processed, and where they will find or leave their entries.
pub(crate) struct Ahead {
    kept: Numbers,
    places: [Place; BATCH],
}

impl Ahead {
    /// These events, given the batch that was passed to `look_ahead`.
    #[inline]
    pub(crate) fn of<'a>(&'a self, batch: &'a [Event]) -> impl Iterator<Item = (&'a Event, &'a Place)> {
        self.kept.map(|number| (&batch[number], &self.places[number]))
    }
}

/// The two buckets of a key in a table of this size. When it doubles, bucket *b* becomes 2*b* and 2*b* + 1.
#[inline]
fn homes(word: u64, buckets: usize) -> [u32; 2] {
    let hash = word.wrapping_mul(hash::GOLDEN);
    [(hash >> 32) as u32, hash as u32].map(|hash| hash::index(hash, buckets as u32))
}

/// The first marked slot of a bucket.
#[inline]
fn slot(bucket: u32, marked: u64) -> usize {
    bucket as usize * WAYS + first(marked)
}

/// Whether the second of two buckets with these fingerprints is the emptier one, and the empty slots of the emptier one.
#[inline]
fn emptier(fingerprints: [u64; 2]) -> (bool, u64) {
    let [empty_a, empty_b] = fingerprints.map(|fingerprints| equal(fingerprints, 0));
    let second = count(empty_b) > count(empty_a);
    (second, select_unpredictable(second, empty_b, empty_a))
}

/// The number of marked bytes.
#[inline]
fn count(marked: u64) -> u64 {
    (marked >> 7).wrapping_mul(LOW) >> 56
}
