//! How often the sequence numbers of a flow have begun again at zero.
//!
//! A segment that only a later acknowledgement covers stays open until it expires. A flow of more than 270 Mbit/s comes
//! to the same number within these two minutes, with another segment, which is no repetition. So the ids of `tcp-ack`
//! contain how often a number has been passed: unchanged until the first segment that crosses zero, which begins an
//! entry here. Until then nothing is looked up.
//!
//! **State.** 16 sets of 4 flows, allocated with the first entry; a new one replaces that of its set which began first,
//! and whose flow then has the ids of one that never crossed zero. A flow is forgotten at its next SYN. A flow whose
//! crossing segment is missing in the capture has no entry.

use dwell_types::hash;

const SETS: usize = 16;
const WAYS: usize = 4;

/// The flows whose numbers have begun again.
#[derive(Debug, Default)]
pub(super) struct Wraps(Option<Box<[[Entry; WAYS]; SETS]>>);

/// One side of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Its hash; 0 is a free entry.
    side: u64,
    /// The highest end of a segment so far.
    highest: u32,
    /// How often zero was crossed up to that.
    count: u32,
}

impl Entry {
    /// The count of this number, and whether it is higher than any before.
    fn of(&self, number: u32) -> (u32, bool) {
        let is_ahead = 0 < number.wrapping_sub(self.highest).cast_signed();
        if is_ahead {
            (self.count.wrapping_add(u32::from(number < self.highest)), true)
        } else {
            (self.count.wrapping_sub(u32::from(number > self.highest)), false)
        }
    }
}

impl Wraps {
    /// A segment of this side of a flow from `sequence` up to `end`, which extends the numbers seen; `is_first`: with a
    /// SYN. Returns how often its end has been passed.
    #[inline(always)]
    pub(super) fn asks(&mut self, (flow, side): (u64, usize), sequence: u32, end: u32, is_first: bool) -> u32 {
        if self.0.is_none() && sequence <= end { 0 } else { self.pass(name(flow, side), sequence, end, is_first) }
    }

    /// How often this number of a side of a flow has been passed.
    #[inline(always)]
    pub(super) fn of(&self, (flow, side): (u64, usize), number: u32) -> u32 {
        match &self.0 {
            None => 0,
            Some(sets) => find(sets, name(flow, side)).map_or(0, |entry| entry.of(number).0),
        }
    }

    #[inline(never)]
    fn pass(&mut self, side: u64, sequence: u32, end: u32, is_first: bool) -> u32 {
        let sets = self.0.get_or_insert_default();
        let set = &mut sets[place(side)];
        let found = set.iter_mut().find(|entry| entry.side == side);
        match found {
            Some(entry) if is_first => *entry = Entry::default(),
            Some(entry) => {
                let (count, is_ahead) = entry.of(end);
                if is_ahead {
                    (entry.highest, entry.count) = (end, count);
                }
                return count;
            }
            None if end < sequence && !is_first => {
                set.rotate_right(1);
                set[0] = Entry { side, highest: end, count: 1 };
                return 1;
            }
            None => {}
        }
        0
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |sets| size_of_val(&**sets))
    }
}

/// The hash of a side of a flow; never 0.
#[inline]
const fn name(flow: u64, side: usize) -> u64 {
    hash::finish(flow ^ side as u64) | 1
}

#[inline]
const fn place(side: u64) -> usize {
    (side >> 32) as usize % SETS
}

#[inline]
fn find(sets: &[[Entry; WAYS]; SETS], side: u64) -> Option<&Entry> {
    sets[place(side)].iter().find(|entry| entry.side == side)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLOW: (u64, usize) = (7, 1);

    /// Until a number crosses zero nothing is stored; a new connection begins at 0 again.
    #[test]
    fn only_flows_that_cross_zero_are_stored() {
        let mut wraps = Wraps::default();
        assert_eq!(wraps.asks(FLOW, u32::MAX - 9, u32::MAX, false), 0);
        assert_eq!((wraps.state_bytes(), wraps.of(FLOW, 4)), (0, 0));
        assert_eq!(wraps.asks(FLOW, u32::MAX, 4, false), 1);
        assert_eq!(wraps.state_bytes(), SETS * WAYS * 16);
        assert_eq!((wraps.of(FLOW, 4), wraps.of(FLOW, u32::MAX), wraps.of(FLOW, 1_000)), (1, 0, 1));
        assert_eq!((wraps.of((7, 0), 4), wraps.of((8, 1), 4)), (0, 0), "other sides and flows");
        assert_eq!(wraps.asks(FLOW, 900, 901, true), 0);
        assert_eq!(wraps.asks(FLOW, 901, 1_000, false), 0);
    }

    proptest! {
        /// Segments of any length, some of them sent again, and acknowledged late: each end has the upper half of a
        /// counter of 64 bits, from the first crossing on, when it is sent, sent again, and acknowledged. Memory
        /// of another flow in each set is no obstacle.
        #[test]
        fn numbers_have_more_than_32_bits(
            start: u32,
            lengths in prop::collection::vec((1u32..200_000_000, 0u8..8), 50..400),
        ) {
            let mut wraps = Wraps::default();
            (0..100).for_each(|flow| _ = wraps.asks((1_000 + flow, 0), u32::MAX, 1, false));
            let mut sent = vec![u64::from(start)];
            for (length, what) in lengths {
                let from = sent[sent.len() - 1];
                let to = from + u64::from(length);
                prop_assert_eq!(wraps.asks(FLOW, from as u32, to as u32, false), (to >> 32) as u32);
                sent.push(to);
                let back = sent[sent.len().saturating_sub(usize::from(what) + 1)];
                prop_assert_eq!(wraps.of(FLOW, back as u32), (back >> 32) as u32);
                if what == 3 && sent.len() > 4 {
                    let again = &sent[sent.len() - 4..];
                    let count = wraps.asks(FLOW, again[0] as u32, again[1] as u32, false);
                    prop_assert_eq!(count, (again[1] >> 32) as u32);
                }
            }
        }
    }
}
