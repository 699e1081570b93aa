//! An open-addressing hash table with bounded size that is rebuilt in place.
//!
//! Linear probing over a flat array, with a fingerprint of one byte per slot beside it: zero if the slot is empty, else
//! seven bits of the key's hash. Eight bytes are compared together, which excludes most absent keys. Removal shifts
//! entries back, so there are no tombstones. Growing and dropping many entries are one operation, [`Table::rebuild`],
//! which needs no additional memory.

use crate::parts::swar::{HIGH, LOW, first};
use dwell_types::hash;

/// An entry of a table: a key and its data.
pub(crate) trait Entry: Copy + Default {
    /// The key, uniformly distributed.
    fn key(&self) -> u64;
}

/// An index into another array, by key.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Number {
    pub(crate) key: u64,
    pub(crate) number: u32,
}

impl Entry for Number {
    #[inline]
    fn key(&self) -> u64 {
        self.key
    }
}

/// Where a key is, or where it would be inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Found(usize),
    Vacant(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Table<E> {
    slots: Vec<E>,
    /// One per slot; the first [`WINDOW`] are repeated at the end.
    fingerprints: Vec<u8>,
    occupied: usize,
    most_slots: usize,
}

/// With fewer slots a table cannot measure.
const LEAST_SLOTS: usize = 64;
/// Maximum load, so that probes stay short. A table that may still grow does so at `FULLER`.
const FULLEST: (usize, usize) = (3, 4);
const FULLER: (usize, usize) = (5, 8);
/// Fingerprints that are compared together.
const WINDOW: usize = 8;
const EMPTY: u8 = 0;
/// Marks an entry that has not been placed again yet.
const UNPLACED: u8 = 0x80;

impl<E: Entry> Table<E> {
    /// Bytes per slot; there are [`WINDOW`] bytes more.
    pub(crate) const SLOT_BYTES: usize = size_of::<E>() + 1;
    /// The least memory for a table that can measure.
    pub(crate) const LEAST_BYTES: usize = LEAST_SLOTS * Self::SLOT_BYTES + WINDOW;
    /// Bytes per entry of a large table that is full, rounded down.
    pub(crate) const ENTRY_BYTES: usize = Self::SLOT_BYTES * FULLEST.1 / FULLEST.0;

    /// The number of slots that this many entries fill.
    pub(crate) const fn slots_for(entries: usize) -> usize {
        let (share, of) = FULLEST;
        entries.saturating_mul(of) / share
    }

    /// Bytes of a table with this many slots.
    pub(crate) const fn bytes_of(slots: usize) -> usize {
        (if slots < WINDOW { WINDOW } else { slots }).saturating_mul(Self::SLOT_BYTES).saturating_add(WINDOW)
    }

    /// Slots that fit this many bytes.
    pub(crate) fn slots_in(bytes: usize) -> usize {
        bytes.saturating_sub(WINDOW) / Self::SLOT_BYTES
    }

    /// A table that grows from `slots` to at most `most_slots` slots; both are at least [`WINDOW`].
    pub(crate) fn new(slots: usize, most_slots: usize) -> Self {
        let most_slots = most_slots.clamp(WINDOW, u32::MAX as usize);
        let slots = slots.clamp(WINDOW, most_slots);
        Self { slots: vec![E::default(); slots], fingerprints: vec![EMPTY; slots + WINDOW], occupied: 0, most_slots }
    }

    /// Whether another entry would exceed the load factor.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let (share, of) = if self.slots.len() < self.most_slots { FULLER } else { FULLEST };
        self.occupied * of >= self.slots.len() * share
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<E>() + self.fingerprints.capacity()
    }

    pub(crate) fn get(&self, at: usize) -> &E {
        &self.slots[at]
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> &mut E {
        &mut self.slots[at]
    }

    /// All entries, in arbitrary order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        let occupied = self.slots.iter().zip(&self.fingerprints).filter(|&(_, &fingerprint)| fingerprint != EMPTY);
        occupied.map(|(entry, _)| entry)
    }

    /// The home slot of a key, and its fingerprint: different bits of one product.
    #[inline]
    fn home(&self, key: u64) -> (usize, u8) {
        let hash = key.wrapping_mul(hash::GOLDEN);
        let at = hash::index((hash >> 32) as u32, self.slots.len() as u32) as usize;
        (at, ((hash >> 24) as u8 & !UNPLACED).max(1))
    }

    #[inline]
    fn wrap(&self, at: usize) -> usize {
        if at >= self.slots.len() { at - self.slots.len() } else { at }
    }

    /// How many slots to go up, wrapping around, from one to another.
    #[inline]
    fn distance(&self, from: usize, to: usize) -> usize {
        if to >= from { to - from } else { to + self.slots.len() - from }
    }

    #[inline]
    fn set_fingerprint(&mut self, at: usize, fingerprint: u8) {
        self.fingerprints[at] = fingerprint;
        if at < WINDOW {
            let mirror = self.slots.len() + at;
            self.fingerprints[mirror] = fingerprint;
        }
    }

    /// The fingerprints from this slot on.
    #[inline]
    fn window(&self, at: usize) -> u64 {
        self.fingerprints[at..].first_chunk().map_or(0, |window: &[u8; WINDOW]| u64::from_le_bytes(*window))
    }

    /// Finds a key, or the vacant slot for it: the table is never entirely full.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Place {
        let (mut at, fingerprint) = self.home(key);
        loop {
            let (mut same, empty) = matches(self.window(at), fingerprint);
            while same != 0 {
                let there = self.wrap(at + first(same));
                if self.slots[there].key() == key {
                    return Place::Found(there);
                }
                same &= same - 1;
            }
            if empty != 0 {
                return Place::Vacant(self.wrap(at + first(empty)));
            }
            at = self.wrap(at + WINDOW);
        }
    }

    /// The same for a key that was in this slot, and may have moved since.
    #[inline]
    pub(crate) fn find_from(&self, slot: usize, key: u64) -> Place {
        let is_there = self.fingerprints[slot] != EMPTY && self.slots[slot].key() == key;
        if is_there { Place::Found(slot) } else { self.find(key) }
    }

    /// Inserts an entry into the vacant slot that [`Table::find`] returned.
    #[inline]
    pub(crate) fn put(&mut self, vacant: usize, entry: E) {
        debug_assert!(self.fingerprints[vacant] == EMPTY);
        self.slots[vacant] = entry;
        self.set_fingerprint(vacant, self.home(entry.key()).1);
        self.occupied += 1;
    }

    /// Inserts an entry whose key is absent, after growing if the table is full.
    pub(crate) fn insert(&mut self, entry: E) {
        if self.is_full() {
            self.grow();
        }
        if let Place::Vacant(at) = self.find(entry.key()) {
            self.put(at, entry);
        }
    }

    /// Removes an entry and closes the gap.
    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> E {
        let removed = self.slots[at];
        let (mut gap, mut next) = (at, self.wrap(at + 1));
        while self.fingerprints[next] != EMPTY {
            let (home, fingerprint) = self.home(self.slots[next].key());
            // The entry may move into the gap unless its home lies behind the gap on the way to `next`.
            if self.distance(home, next) >= self.distance(gap, next) {
                self.slots[gap] = self.slots[next];
                self.set_fingerprint(gap, fingerprint);
                gap = next;
            }
            next = self.wrap(next + 1);
        }
        self.set_fingerprint(gap, EMPTY);
        self.occupied -= 1;
        removed
    }

    /// Makes room for at least one more entry by doubling, up to the bound. False if the bound forbids it.
    pub(crate) fn grow(&mut self) -> bool {
        if self.slots.len() >= self.most_slots {
            return false;
        }
        let slots = (self.slots.len() * 2).min(self.most_slots);
        self.fingerprints.truncate(self.slots.len());
        self.fingerprints.reserve_exact(slots + WINDOW - self.fingerprints.len());
        self.fingerprints.resize(slots + WINDOW, EMPTY);
        self.slots.reserve_exact(slots - self.slots.len());
        self.slots.resize(slots, E::default());
        self.rebuild(|_| true);
        !self.is_full()
    }

    /// Places all entries anew that are to be kept.
    pub(crate) fn rebuild(&mut self, mut keep: impl FnMut(&E) -> bool) {
        let slots = self.slots.len();
        self.fingerprints.truncate(slots);
        for fingerprint in self.fingerprints.iter_mut().filter(|fingerprint| **fingerprint != EMPTY) {
            *fingerprint |= UNPLACED;
        }
        self.occupied = 0;
        // Homes keep their order when the table grows: from the last slot down, each new place is free.
        for start in (0..slots).rev() {
            if self.fingerprints[start] & UNPLACED == 0 {
                continue;
            }
            self.fingerprints[start] = EMPTY;
            let mut carried = Some(self.slots[start]);
            while let Some(entry) = carried.take().filter(&mut keep) {
                let (mut at, fingerprint) = self.home(entry.key());
                while self.fingerprints[at] != EMPTY && self.fingerprints[at] & UNPLACED == 0 {
                    at = self.wrap(at + 1);
                }
                let there = std::mem::replace(&mut self.slots[at], entry);
                carried = (std::mem::replace(&mut self.fingerprints[at], fingerprint) != EMPTY).then_some(there);
                self.occupied += 1;
            }
        }
        self.fingerprints.extend_from_within(..WINDOW);
    }
}

/// Marks, among eight fingerprints, those equal to `fingerprint` before the first empty slot, and the empty ones, by the
/// highest bit of each byte. The lowest mark is correct; one above it may be wrong.
#[inline]
fn matches(window: u64, fingerprint: u8) -> (u64, u64) {
    let zeros = |bytes: u64| bytes.wrapping_sub(LOW) & !bytes & HIGH;
    let empty = zeros(window);
    let before_empty = empty.wrapping_sub(1) & !empty;
    (zeros(window ^ (u64::from(fingerprint) * LOW)) & before_empty, empty)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Pair(u64, u64);

    impl Entry for Pair {
        fn key(&self) -> u64 {
            self.0
        }
    }

    fn contents(table: &Table<Pair>) -> BTreeMap<u64, u64> {
        table.iter().map(|p| (p.0, p.1)).collect()
    }

    proptest! {
        /// Any sequence of insertions, removals and rebuilds leaves the same as a map, and every key is found.
        #[test]
        fn behaves_as_a_map(steps in prop::collection::vec((0u64..60, 0u64..4, any::<u64>()), 1..400)) {
            let mut table = Table::<Pair>::new(8, 1 << 10);
            let mut map = BTreeMap::new();
            for (key, action, value) in steps {
                match (action, table.find(key)) {
                    (0 | 1, Place::Found(at)) => { *table.get_mut(at) = Pair(key, value); map.insert(key, value); }
                    (0 | 1, Place::Vacant(at)) => {
                        let at = if table.is_full() {
                            prop_assert!(table.grow());
                            match table.find(key) { Place::Vacant(at) => at, Place::Found(_) => unreachable!() }
                        } else { at };
                        table.put(at, Pair(key, value));
                        map.insert(key, value);
                    }
                    (2, Place::Found(at)) => { prop_assert_eq!(table.remove(at), Pair(key, map[&key])); map.remove(&key); }
                    (3, _) if value % 16 == 0 => {
                        table.rebuild(|p| p.0 <= 40);
                        map.retain(|&key, _| key <= 40);
                    }
                    _ => prop_assert_eq!(matches!(table.find(key), Place::Found(_)), map.contains_key(&key)),
                }
                prop_assert_eq!(table.occupied, map.len());
                prop_assert_eq!(&contents(&table), &map);
                for key in map.keys() {
                    prop_assert!(matches!(table.find(*key), Place::Found(_)));
                }
                for slot in 0..table.slots.len() {
                    prop_assert_eq!(table.find_from(slot, key), table.find(key));
                }
            }
        }
    }
}
