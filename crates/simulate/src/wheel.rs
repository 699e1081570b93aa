//! A hierarchical timing wheel: accepts entries for later times, and returns them in time order.
//!
//! Time is divided into ticks of 2^shift ns. A tick is a number of eleven digits to the base 64; an entry is stored at
//! the level of the highest digit in which its tick differs from the current one, in the slot of that digit. When its
//! time comes, a slot of level zero is sorted and returned, a slot of a higher level is distributed over the lower
//! ones: constant work per entry, where a binary heap with many entries would have a cache miss per level.
//!
//! Entries are stored in blocks of [`BLOCK`] from a pool to which blocks return, so memory is bounded by the largest
//! number of entries stored at once, and there is no allocation after that.

const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// 64 bits in digits of six.
const LEVELS: usize = 11;
const BLOCK: usize = 32;
const NONE: u32 = u32::MAX;

/// Entries by time; those of equal times in the order of insertion.
#[derive(Clone, Debug)]
pub(crate) struct Wheel<T> {
    shift: u32,
    /// The entries of this tick and of earlier ones are in `due`.
    current: u64,
    /// No entry in the slots has an earlier tick.
    earliest: u64,
    len: usize,
    inserted: u64,
    /// Sorted, the latest first.
    due: Vec<Entry<T>>,
    /// First block of each slot.
    slots: [[u32; SLOTS]; LEVELS],
    /// Which slots of a level have entries.
    occupied: [u64; LEVELS],
    entries: Vec<Entry<T>>,
    blocks: Vec<Block>,
    spare: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    at: i64,
    order: u64,
    what: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (i64, u64) {
        (self.at, self.order)
    }
}

/// `entries[BLOCK * i..][..len]` belong to block `i`.
#[derive(Clone, Copy, Debug)]
struct Block {
    len: u32,
    next: u32,
}

impl<T: Copy> Wheel<T> {
    /// A wheel whose ticks hold about 16 entries each at `rate` entries per second.
    pub(crate) fn new(rate: f64) -> Self {
        let tick = (16e9 / rate).clamp(1.0, 1e9) as u64;
        Self {
            shift: tick.ilog2(),
            current: 0,
            earliest: u64::MAX,
            len: 0,
            inserted: 0,
            due: Vec::with_capacity(256),
            slots: [[NONE; SLOTS]; LEVELS],
            occupied: [0; LEVELS],
            entries: Vec::new(),
            blocks: Vec::new(),
            spare: NONE,
        }
    }

    /// Number of entries in the wheel.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Maps signed time to unsigned ticks, preserving the order.
    #[inline]
    fn tick(&self, at: i64) -> u64 {
        (at as u64 ^ 1 << 63) >> self.shift
    }

    /// Adds an entry.
    #[inline]
    pub(crate) fn push(&mut self, at: i64, what: T) {
        let entry = Entry { at, order: self.inserted, what };
        self.inserted += 1;
        self.len += 1;
        let tick = self.tick(at);
        if tick <= self.current {
            let place = self.due.partition_point(|other| other.key() > entry.key());
            self.due.insert(place, entry);
        } else {
            self.earliest = self.earliest.min(tick);
            self.wait(tick, entry);
        }
    }

    /// Removes and returns the first entry if its time is at most `limit`.
    #[inline]
    pub(crate) fn pop_until(&mut self, limit: i64) -> Option<(i64, T)> {
        if self.due.is_empty() && self.len > 0 {
            let limit = self.tick(limit);
            while self.due.is_empty() && self.earliest <= limit {
                self.advance(limit);
            }
        }
        let last = self.due.last()?;
        if last.at > limit {
            return None;
        }
        let (at, what) = (last.at, last.what);
        self.due.pop();
        self.len -= 1;
        Some((at, what))
    }

    /// Puts an entry of a tick after the current one into its slot.
    #[inline]
    fn wait(&mut self, tick: u64, entry: Entry<T>) {
        let level = ((tick ^ self.current).ilog2() / DIGIT_BITS) as usize;
        let digit = digit(tick, level);
        let head = self.slots[level][digit];
        let block = match self.blocks.get(head as usize) {
            Some(block) if (block.len as usize) < BLOCK => head,
            _ => {
                let block = self.new_block(head, entry);
                self.slots[level][digit] = block;
                self.occupied[level] |= 1 << digit;
                block
            }
        };
        let len = &mut self.blocks[block as usize].len;
        self.entries[block as usize * BLOCK + *len as usize] = entry;
        *len += 1;
    }

    fn new_block(&mut self, next: u32, filler: Entry<T>) -> u32 {
        let fresh = Block { len: 0, next };
        if self.spare == NONE {
            self.blocks.push(fresh);
            self.entries.resize(self.blocks.len() * BLOCK, filler);
            return (self.blocks.len() - 1) as u32;
        }
        let block = self.spare;
        self.spare = self.blocks[block as usize].next;
        self.blocks[block as usize] = fresh;
        block
    }

    /// Empties the first occupied slot if it begins by the tick `limit`; otherwise only records when it begins.
    fn advance(&mut self, limit: u64) {
        let Some(level) = self.occupied.iter().position(|&slots| slots != 0) else {
            self.earliest = u64::MAX;
            return;
        };
        let first = self.occupied[level].trailing_zeros() as usize;
        let low = level as u32 * DIGIT_BITS;
        let above = self.current.checked_shr(low + DIGIT_BITS).unwrap_or(0).checked_shl(low + DIGIT_BITS).unwrap_or(0);
        let begin = above | (first as u64) << low;
        if begin > limit {
            self.earliest = begin;
            return;
        }
        self.current = begin;
        self.earliest = begin;
        self.occupied[level] &= !(1 << first);
        let mut block = core::mem::replace(&mut self.slots[level][first], NONE);
        while block != NONE {
            let Block { len, next } = self.blocks[block as usize];
            for i in 0..len as usize {
                let entry = self.entries[block as usize * BLOCK + i];
                let tick = self.tick(entry.at);
                if tick == begin {
                    self.due.push(entry);
                } else {
                    self.wait(tick, entry);
                }
            }
            self.blocks[block as usize].next = self.spare;
            self.spare = block;
            block = next;
        }
        self.due.sort_unstable_by_key(|entry| core::cmp::Reverse(entry.key()));
    }
}

/// The digit of a tick at a level.
#[inline]
fn digit(tick: u64, level: usize) -> usize {
    (tick >> (level as u32 * DIGIT_BITS)) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// One step: push an entry this long after the current time, or pop everything up to then.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(i64),
        PopUntil(i64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let far = (0u32..62, any::<i64>()).prop_map(|(bits, value)| value & ((1 << bits) - 1));
        (any::<bool>(), far).prop_map(|(push, by)| if push { Step::Push(by) } else { Step::PopUntil(by) })
    }

    proptest! {
        #[test]
        fn same_as_a_sorted_map(start in any::<i64>(), rate in 1.0f64..1e10, steps in prop::collection::vec(step(), 1..400)) {
            let mut wheel = Wheel::new(rate);
            let mut map = BTreeMap::new();
            let mut now = start;
            for (i, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Push(by) => {
                        let at = now.saturating_add(by);
                        wheel.push(at, i);
                        map.insert((at, i), i);
                    }
                    Step::PopUntil(by) => {
                        let limit = now.saturating_add(by);
                        while let Some((at, what)) = wheel.pop_until(limit) {
                            prop_assert_eq!(map.pop_first(), Some(((at, what), what)));
                            prop_assert!(at <= limit);
                        }
                        prop_assert!(map.first_key_value().is_none_or(|(&(at, _), _)| at > limit));
                        now = limit;
                    }
                }
                prop_assert_eq!(wheel.len(), map.len());
            }
            while let Some((at, what)) = wheel.pop_until(i64::MAX) {
                prop_assert_eq!(map.pop_first(), Some(((at, what), what)));
            }
            prop_assert!(map.is_empty() && wheel.len() == 0);
        }
    }

    /// Popping from an empty wheel with ticks of one nanosecond terminates, also at the end of the time range.
    #[test]
    fn the_end_of_time() {
        let mut wheel = Wheel::new(1e10);
        assert_eq!(wheel.pop_until(i64::MAX), None);
        wheel.push(i64::MAX, 'b');
        wheel.push(i64::MIN, 'a');
        assert_eq!(wheel.pop_until(i64::MAX), Some((i64::MIN, 'a')));
        assert_eq!(wheel.pop_until(i64::MAX - 1), None);
        assert_eq!(wheel.pop_until(i64::MAX), Some((i64::MAX, 'b')));
        assert_eq!(wheel.pop_until(i64::MAX), None);
    }

    /// Blocks of the pool are reused: a thousand times the entries need no more blocks.
    #[test]
    fn memory_is_bounded_by_what_waits() {
        let mut wheel = Wheel::new(1e6);
        let mut most = 0;
        for i in 0..1_000_000i64 {
            wheel.push(i * 1000 + (i * 7919 % 1000) * 1000, ());
            while wheel.pop_until(i * 1000).is_some() {}
            most = most.max(wheel.len());
        }
        assert!((480..=560).contains(&most), "{most}");
        assert!(wheel.blocks.len() <= most / BLOCK + 3 * SLOTS, "{} blocks", wheel.blocks.len());
    }
}
