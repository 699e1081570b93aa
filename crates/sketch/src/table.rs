//! An open-addressing hash table whose size is bounded and that is rebuilt in place.
//!
//! Linear probing over a flat array; removal shifts back, so there are no tombstones. Growing, dropping many entries and
//! changing keys are one operation, [`Table::rebuild`], which needs one bit per slot besides the array.

use dwell_types::hash;

/// What a table holds: a key, zero in an empty slot, and whatever goes with it.
pub(crate) trait Entry: Copy + Default {
    /// The key; zero means that the slot is empty.
    fn key(&self) -> u64;
}

/// Where a key is, or where it would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Found(usize),
    Vacant(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Table<E> {
    slots: Vec<E>,
    occupied: usize,
    most_slots: usize,
}

/// At most this share of the slots is occupied: probes stay short. A table that may still grow does so sooner.
const FULLEST: (usize, usize) = (3, 4);
const FULLER: (usize, usize) = (1, 2);

impl<E: Entry> Table<E> {
    /// A table that grows from `slots` to at most `most_slots` slots; both are at least 4.
    pub(crate) fn new(slots: usize, most_slots: usize) -> Self {
        let most_slots = most_slots.clamp(4, u32::MAX as usize);
        Self { slots: vec![E::default(); slots.clamp(4, most_slots)], occupied: 0, most_slots }
    }

    pub(crate) fn len(&self) -> usize {
        self.occupied
    }

    /// Whether another entry would exceed the load factor.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let (share, of) = if self.slots.len() < self.most_slots { FULLER } else { FULLEST };
        self.occupied * of >= self.slots.len() * share
    }

    pub(crate) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<E>()
    }

    pub(crate) fn get(&self, at: usize) -> &E {
        &self.slots[at]
    }

    pub(crate) fn get_mut(&mut self, at: usize) -> &mut E {
        &mut self.slots[at]
    }

    /// All entries, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &E> {
        self.slots.iter().filter(|e| e.key() != 0)
    }

    #[inline]
    fn home(&self, key: u64) -> usize {
        hash::index((key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32, self.slots.len() as u32) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.slots.len() { 0 } else { at + 1 }
    }

    /// Reads the slot where a key is at home; what it gives means nothing.
    #[inline]
    pub(crate) fn touch(&self, key: u64) -> u64 {
        self.slots[self.home(key)].key()
    }

    /// Finds a key, or the vacant slot where it belongs: the table is never entirely occupied.
    #[inline]
    pub(crate) fn find(&self, key: u64) -> Place {
        let mut at = self.home(key);
        loop {
            let there = self.slots[at].key();
            if there == key {
                return Place::Found(at);
            }
            if there == 0 {
                return Place::Vacant(at);
            }
            at = self.after(at);
        }
    }

    /// Puts an entry into the vacant slot that [`Table::find`] gave.
    #[inline]
    pub(crate) fn put(&mut self, vacant: usize, entry: E) {
        debug_assert!(self.slots[vacant].key() == 0 && entry.key() != 0);
        self.slots[vacant] = entry;
        self.occupied += 1;
    }

    /// Takes an entry out and closes the gap.
    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> E {
        let removed = self.slots[at];
        let len = self.slots.len();
        let (mut gap, mut next) = (at, self.after(at));
        while self.slots[next].key() != 0 {
            let home = self.home(self.slots[next].key());
            // The entry may move into the gap unless its home lies behind the gap on the way to `next`.
            if (next + len - home) % len >= (next + len - gap) % len {
                self.slots[gap] = self.slots[next];
                gap = next;
            }
            next = self.after(next);
        }
        self.slots[gap] = E::default();
        self.occupied -= 1;
        removed
    }

    /// Makes room for at least one more entry by doubling, up to the bound. False if the bound forbids it.
    pub(crate) fn grow(&mut self) -> bool {
        if self.slots.len() >= self.most_slots {
            return false;
        }
        let slots = (self.slots.len() * 2).min(self.most_slots);
        self.slots.reserve_exact(slots - self.slots.len());
        self.slots.resize(slots, E::default());
        self.rebuild(Some, |_, _| ());
        !self.is_full()
    }

    /// Gives every entry a new place: `map` changes it or drops it, `merge` adds an entry to one that has the same key.
    pub(crate) fn rebuild(&mut self, mut map: impl FnMut(E) -> Option<E>, mut merge: impl FnMut(&mut E, E)) {
        let mut placed = vec![0u64; self.slots.len().div_ceil(64)];
        self.occupied = 0;
        for start in 0..self.slots.len() {
            if placed[start / 64] >> (start % 64) & 1 == 1 || self.slots[start].key() == 0 {
                continue;
            }
            let mut carried = map(std::mem::take(&mut self.slots[start]));
            while let Some(entry) = carried.take() {
                let mut at = self.home(entry.key());
                loop {
                    let is_placed = placed[at / 64] >> (at % 64) & 1 == 1;
                    if !is_placed {
                        let there = std::mem::replace(&mut self.slots[at], entry);
                        placed[at / 64] |= 1 << (at % 64);
                        self.occupied += 1;
                        if there.key() != 0 {
                            carried = map(there);
                        }
                        break;
                    }
                    if self.slots[at].key() == entry.key() {
                        merge(&mut self.slots[at], entry);
                        break;
                    }
                    at = self.after(at);
                }
            }
        }
    }
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
        /// Any sequence of insertions, removals and rebuilds leaves what a map would hold, and every key is found.
        #[test]
        fn behaves_as_a_map(steps in prop::collection::vec((1u64..60, 0u64..4, any::<u64>()), 1..400)) {
            let mut table = Table::<Pair>::new(4, 1 << 10);
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
                        // Drop keys above 40, fold the others to even keys, adding their values.
                        table.rebuild(
                            |p| (p.0 <= 40).then_some(Pair(p.0.next_multiple_of(2), p.1)),
                            |a, b| a.1 = a.1.wrapping_add(b.1),
                        );
                        let mut folded = BTreeMap::new();
                        for (k, v) in map.into_iter().filter(|&(k, _)| k <= 40) {
                            let sum = folded.entry(k.next_multiple_of(2)).or_insert(0u64);
                            *sum = sum.wrapping_add(v);
                        }
                        map = folded;
                    }
                    _ => prop_assert_eq!(matches!(table.find(key), Place::Found(_)), map.contains_key(&key)),
                }
                prop_assert_eq!(table.len(), map.len());
                prop_assert_eq!(&contents(&table), &map);
                for key in map.keys() {
                    prop_assert!(matches!(table.find(*key), Place::Found(_)));
                }
            }
        }
    }
}
