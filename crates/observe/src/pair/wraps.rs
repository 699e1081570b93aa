//! In which lap a sequence number is: how often its flow has taken all 2³² numbers before.
//!
//! A segment that only a later acknowledgement covers stays open until it expires. A flow of more than 270 Mbit/s comes
//! to the same number within these two minutes, with another segment, which is no repetition. So the ids of `tcp-ack`
//! contain the lap.
//!
//! Numbers have four quarters of 1 GiB each, as much as the largest window (RFC 7323 §2.3). A segment that ends in a
//! later quarter than it begins in moves the entry of its flow there. A number's lap depends only on its quarter and on
//! that of the entry: at most one quarter lies behind the latter and two ahead, and moving on changes only what the one
//! behind stands for, whose numbers are no longer in flight. So a segment and its acknowledgement agree although that
//! which moved the entry between them was late, sent again, or missing in the capture, up to two in a row.
//!
//! An entry begins when a segment of its flow is first seen to enter a quarter, and laps begin where the quarter before
//! that does: all that the flow has sent, and its next 3 GiB, are in lap 0, as without an entry. So an entry that is
//! replaced earlier than that is not missed, and nothing is looked up until a flow has moved on once.
//!
//! **State.** 32 sets of 4 flows, allocated with the first entry. In a full set a new one replaces one that has not moved
//! on yet, at random, so that flows that pass once do not replace those that pass often, and some of several new ones
//! stay until they move on. Of a flow that is replaced after its first lap what is in flight is not matched, and its laps
//! are counted anew.

use dwell_types::hash;

const SETS: usize = 32;
const WAYS: usize = 4;

/// The flows whose numbers enter quarters.
#[derive(Debug, Default)]
pub(super) struct Wraps(Option<Box<Flows>>);

#[derive(Debug, Default)]
struct Flows {
    sets: [[Entry; WAYS]; SETS],
    /// Whether any of them has moved on, so that numbers ahead may be in lap 1.
    has_laps: bool,
}

/// One side of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Its hash; 0 is a free entry.
    side: u32,
    /// The quarter in which its laps begin.
    first: u16,
    /// Quarters from there to the one behind its own; wraps after 64 TiB.
    behind: u16,
}

impl Entry {
    /// Quarters from the one behind the entry's own to that of the number.
    const fn ahead(&self, number: u32) -> u16 {
        quarter(number).wrapping_sub(self.first).wrapping_sub(self.behind) % 4
    }

    const fn lap(&self, number: u32) -> u32 {
        (self.behind.wrapping_add(self.ahead(number)) / 4) as u32
    }

    /// Moves on to the quarter of this number, if it lies ahead.
    const fn enter(&mut self, number: u32) {
        self.behind = self.behind.wrapping_add(self.ahead(number).saturating_sub(1));
    }
}

impl Wraps {
    /// What it allocates with the first entry.
    pub(super) const MOST_BYTES: usize = size_of::<Flows>();

    /// A segment of this side of a flow takes the numbers from `sequence` up to `end`, if `takes_numbers`.
    #[inline(always)]
    pub(super) fn advance(&mut self, side: (u64, bool), takes_numbers: bool, sequence: u32, end: u32) {
        // `takes_numbers` is hard to predict, and hardly ever looked at in this order. Asking for it all the same keeps it
        // a value, which callers would else branch on (`docs/performance.md`).
        if quarter(sequence) != quarter(end) {
            self.enter(side, takes_numbers, end);
        }
    }

    /// The lap of a number of this side of a flow.
    #[inline(always)]
    pub(super) fn lap(&self, side: (u64, bool), number: u32) -> u32 {
        match &self.0 {
            Some(flows) if flows.has_laps => flows.lap(side, number),
            _ => 0,
        }
    }

    #[cold]
    #[inline(never)]
    fn enter(&mut self, side: (u64, bool), takes_numbers: bool, end: u32) {
        if !takes_numbers {
            return;
        }
        let (set, side) = name(side);
        let flows = self.0.get_or_insert_default();
        let set = &mut flows.sets[set];
        if let Some(at) = set.iter().position(|entry| entry.side == side) {
            set[..=at].rotate_right(1);
            set[0].enter(end);
            flows.has_laps |= set[0].behind > 0;
        } else {
            set[place(set, side, end)] = Entry { side, first: quarter(end).wrapping_sub(1) % 4, behind: 0 };
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |flows| size_of_val(&**flows))
    }
}

impl Flows {
    #[inline(never)]
    fn lap(&self, side: (u64, bool), number: u32) -> u32 {
        let (set, side) = name(side);
        self.sets[set].iter().find(|entry| entry.side == side).map_or(0, |entry| entry.lap(number))
    }
}

/// The place of a new entry: a free one, or that of an entry that has not moved on, or of the one that moved on first.
fn place(set: &[Entry; WAYS], side: u32, end: u32) -> usize {
    let is_free = |entry: &Entry| entry.side == 0;
    let has_moved = |entry: &Entry| entry.behind > 0;
    let still = set.iter().filter(|entry| !has_moved(entry)).count().max(1);
    let nth = hash::finish(u64::from(side) << 32 | u64::from(end)) as usize % still;
    let chosen = || (0..WAYS).filter(|&at| !has_moved(&set[at])).nth(nth);
    set.iter().position(is_free).or_else(chosen).unwrap_or(WAYS - 1)
}

const fn quarter(number: u32) -> u16 {
    (number >> 30) as u16
}

/// The set of a side of a flow, and its hash, which is never 0.
#[inline]
const fn name((flow, side): (u64, bool)) -> (usize, u32) {
    let hash = hash::finish(flow ^ side as u64);
    ((hash >> 32) as usize % SETS, hash as u32 | 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FLOW: (u64, bool) = (7, true);
    const GIB: u64 = 1 << 30;

    fn lap_of_segment(wraps: &mut Wraps, side: (u64, bool), sequence: u32, end: u32) -> u32 {
        wraps.advance(side, true, sequence, end);
        wraps.lap(side, end)
    }

    /// Passes segments of 256 MiB of this flow, from `from` up to `to`.
    fn pass(wraps: &mut Wraps, flow: (u64, bool), from: u64, to: u64) {
        let step = GIB / 4;
        (from / step..to / step)
            .for_each(|n| _ = lap_of_segment(wraps, flow, (n * step) as u32, ((n + 1) * step) as u32));
    }

    /// Until a segment enters a quarter nothing is stored. Other sides and flows have no laps.
    #[test]
    fn only_flows_that_enter_quarters_are_stored() {
        let mut wraps = Wraps::default();
        pass(&mut wraps, FLOW, 3 * GIB, 4 * GIB - GIB / 4);
        assert_eq!(wraps.state_bytes(), 0);
        pass(&mut wraps, FLOW, 4 * GIB - GIB / 4, 8 * GIB);
        assert_eq!(wraps.state_bytes(), Wraps::MOST_BYTES);
        assert_eq!([u32::MAX, 0, 9].map(|number| wraps.lap(FLOW, number)), [1, 1, 1]);
        assert_eq!((wraps.lap((7, false), 0), wraps.lap((8, true), 0)), (0, 0));
    }

    /// Ten flows that have moved on keep their laps, however many enter one quarter each meanwhile. If new entries replaced
    /// any others, they would replace these.
    #[test]
    fn flows_that_pass_once_replace_none_that_pass_often() {
        let mut wraps = Wraps::default();
        for n in 0..12 {
            (0..10).for_each(|flow| pass(&mut wraps, (flow, false), n * GIB, (n + 1) * GIB));
            let others = if n > 1 { 1_000 * n..1_000 * n + 500 } else { 0..0 };
            others.for_each(|flow| _ = lap_of_segment(&mut wraps, (flow, false), 5, 1 << 30));
        }
        assert!((0..10).all(|flow| wraps.lap((flow, false), 0) == 3));
    }

    /// Three flows of one set take turns. In an empty set they keep all laps; behind flows that passed once all of them
    /// come to be counted, too: if new entries replaced the oldest one, these three would replace each other forever.
    #[test]
    fn flows_of_one_set_stay() {
        let of_set = |flow: &u64| name((*flow, false)).0 == 5;
        let flows: Vec<u64> = (0..).filter(of_set).take(7).collect();
        for once in [0, 4] {
            let mut wraps = Wraps::default();
            flows[3..3 + once].iter().for_each(|&flow| _ = lap_of_segment(&mut wraps, (flow, false), 5, 1 << 30));
            for n in 0..40 {
                flows[..3].iter().for_each(|&flow| pass(&mut wraps, (flow, false), n * GIB, (n + 1) * GIB));
            }
            let laps: Vec<u32> = flows[..3].iter().map(|&flow| wraps.lap((flow, false), u32::MAX)).collect();
            assert!(if once == 0 { laps == [9; 3] } else { laps.iter().all(|&lap| lap > 0) }, "{laps:?}");
        }
    }

    proptest! {
        /// Segments of any length, the second of each pair first, some sent again up to 1 GiB late; some that enter an odd
        /// quarter are missing. Each end has its lap, the upper half of a counter of 64 bits, when it is sent, sent
        /// again, and acknowledged.
        #[test]
        fn numbers_have_more_than_32_bits(
            start: u32,
            lengths in prop::collection::vec((1u32..150_000_000, 0usize..6, any::<bool>()), 50..400),
        ) {
            let mut wraps = Wraps::default();
            let first = u64::from(start) + 4 * GIB;
            let mut ends = vec![first];
            ends.extend(lengths.iter().scan(first, |end, (length, ..)| {
                *end += u64::from(*length);
                Some(*end)
            }));
            // The first that is seen to enter a quarter determines where laps begin.
            let mut begin = None;
            let lap = |begin: Option<u64>, end: u64| end.saturating_sub(begin.unwrap_or(first)) >> 32;
            for (at, &(_, back, is_whole)) in lengths.iter().enumerate() {
                for at in [at ^ 1, at.saturating_sub(back)] {
                    let Some(&to) = ends.get(at + 1) else { continue };
                    let (from, enters) = (ends[at], to / GIB);
                    if from / GIB != enters {
                        if enters % 2 == 1 && !is_whole {
                            continue;
                        }
                        begin.get_or_insert((enters - 1) * GIB);
                    }
                    prop_assert_eq!(u64::from(lap_of_segment(&mut wraps, FLOW, from as u32, to as u32)), lap(begin, to));
                    prop_assert_eq!(u64::from(wraps.lap(FLOW, from as u32)), lap(begin, from));
                }
            }
        }
    }
}
