//! Counters for the sizes of flows, in all snapshots of a group.

use super::{Counter, Params};
use dwell_types::{FlowId, hash};
use std::array;
use std::ops::Range;

/// Maps flows to counters: the same in all snapshots and groups.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    /// One hash function for two rows, from halves of its value; the first is also the fingerprint for space-saving.
    starts: [u64; MOST_ROWS / 2],
    rows: usize,
    columns: u32,
    snapshots: u32,
}

/// The counters of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// For each row, the counter in the first snapshot.
    rows: [u32; MOST_ROWS],
    /// Fingerprint of the flow.
    key: u32,
}

const MOST_ROWS: usize = Params::MOST_ROWS as usize;

impl Hashes {
    pub(super) fn new(params: &Params) -> Self {
        let seed = hash::start(params.seed);
        let (rows, columns) = match params.counter {
            Counter::CountMin { rows, columns, .. } => (rows, columns),
            Counter::SpaceSaving { .. } => (0, 0),
        };
        let starts = [0, 1, 2, 3].map(|pair| hash::start(hash::word(seed, pair)));
        Self { starts, rows: rows as usize, columns, snapshots: params.snapshots }
    }

    #[inline]
    pub(super) fn place(&self, flow: FlowId) -> Place {
        let mut place = Place { rows: [0; MOST_ROWS], key: 0 };
        if self.rows == 0 {
            place.key = hash::word(self.starts[0], flow.0) as u32;
            return place;
        }
        let (pairs, _) = place.rows.as_chunks_mut::<2>();
        // Most sketches have two pairs: unrolled.
        pairs[0] = self.pair(0, flow);
        pairs[1] = self.pair(1, flow);
        if self.rows > 4 {
            (2..pairs.len()).for_each(|pair| pairs[pair] = self.pair(pair, flow));
        }
        place
    }

    /// The counters in two rows.
    #[inline]
    fn pair(&self, pair: usize, flow: FlowId) -> [u32; 2] {
        let bits = hash::word(self.starts[pair], flow.0);
        let column = |bits: u64| hash::index(bits as u32, self.columns);
        let first = 2 * pair as u32 * self.columns;
        [first + column(bits >> 32), first + self.columns + column(bits)].map(|at| at.wrapping_mul(self.snapshots))
    }
}

/// The counters of all snapshots of a group; those of one index are side by side, so that a query over many snapshots
/// reads few cache lines.
#[derive(Clone, Debug)]
pub(super) enum Counters {
    CountMin {
        rows: usize,
        is_conservative: bool,
        /// `rows` × columns × `snapshots`; a sum that does not fit stays at 2³² − 1.
        counts: Vec<u32>,
        snapshots: usize,
    },
    SpaceSaving {
        /// `snapshots` × `entries`.
        flows: Vec<Flow>,
        entries: usize,
    },
}

/// A sequence of snapshots, which may wrap around the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) first: usize,
    pub(super) len: usize,
}

/// The sizes of a flow in the first snapshot of a turn, and in all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) first: u32,
    pub(super) all: u64,
}

impl Turn {
    /// The ranges up to the end of `snapshots`, and after wrapping.
    #[inline]
    fn ranges(self, snapshots: usize) -> (Range<usize>, Range<usize>) {
        let end = self.first + self.len;
        if end <= snapshots { (self.first..end, 0..0) } else { (self.first..snapshots, 0..end - snapshots) }
    }

    /// The ends of the one range that is a turn, or that a wrapping turn leaves out; all ones if it is left out.
    #[inline]
    const fn mask(self, snapshots: usize) -> (i32, i32, i32) {
        let end = self.first + self.len;
        if end <= snapshots {
            (self.first as i32, end as i32, 0)
        } else {
            ((end - snapshots) as i32, self.first as i32, -1)
        }
    }
}

/// An entry of space-saving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    key: u32,
    /// Never too low; zero if the entry is free.
    count: u32,
    /// What may have been counted for flows that had this entry before.
    error: u32,
}

/// Lanes that are processed together.
const LANES: usize = 4;

impl Counters {
    pub(super) const COUNTER_BYTES: usize = size_of::<u32>();
    pub(super) const ENTRY_BYTES: usize = size_of::<Flow>();

    pub(super) fn new(counter: Counter, snapshots: u32) -> Self {
        let snapshots = snapshots as usize;
        match counter {
            Counter::CountMin { rows, columns, is_conservative } => {
                let (rows, columns) = (rows as usize, columns as usize);
                Self::CountMin { rows, is_conservative, counts: vec![0; rows * columns * snapshots], snapshots }
            }
            Counter::SpaceSaving { entries } => {
                let entries = entries as usize;
                Self::SpaceSaving { flows: vec![Flow::default(); entries * snapshots], entries }
            }
        }
    }

    /// Adds to a flow in a snapshot. Returns whether its counter is full then, so that its size may be too small.
    #[inline]
    pub(super) fn add(&mut self, snapshot: usize, place: &Place, size: u32) -> bool {
        let counted = match self {
            Self::CountMin { rows, is_conservative: false, counts, .. } => {
                let mut least = u32::MAX;
                for &row in &place.rows[..*rows] {
                    let count = &mut counts[row as usize + snapshot];
                    *count = count.saturating_add(size);
                    least = least.min(*count);
                }
                least
            }
            Self::CountMin { rows, is_conservative: true, counts, .. } => {
                let rows = &place.rows[..*rows];
                let raised = least_of(counts, rows, snapshot).saturating_add(size);
                for &row in rows {
                    let count = &mut counts[row as usize + snapshot];
                    *count = raised.max(*count);
                }
                raised
            }
            Self::SpaceSaving { flows, entries } => {
                add_to_kept(&mut flows[snapshot * *entries..(snapshot + 1) * *entries], place.key, size)
            }
        };
        counted == u32::MAX
    }

    /// The size of a flow in some snapshots, whose total over all flows is at most `most`.
    #[inline(always)]
    pub(super) fn read(&self, turn: Turn, place: &Place, most: u64) -> Read {
        match self {
            Self::CountMin { rows, counts, snapshots, .. } => {
                let rows = &place.rows[..*rows];
                match *rows {
                    [a, b, c, d] if most < FEW => read_four(counts, [a, b, c, d], *snapshots, turn),
                    _ => read_rows(counts, rows, *snapshots, turn),
                }
            }
            Self::SpaceSaving { flows, entries } => {
                let kept = |range: Range<usize>| kept(&flows[range.start * entries..range.end * entries], place.key);
                let (mut to_end, around) = turn.ranges(flows.len() / entries);
                let first = kept(turn.first..turn.first + 1);
                to_end.start += 1;
                Read { first: first as u32, all: first + kept(to_end) + kept(around) }
            }
        }
    }

    /// The size of a flow in one snapshot.
    #[inline]
    pub(super) fn get(&self, snapshot: usize, place: &Place) -> u32 {
        match self {
            Self::CountMin { rows, counts, .. } => least_of(counts, &place.rows[..*rows], snapshot),
            Self::SpaceSaving { flows, entries } => {
                // The counts of one snapshot fit.
                kept(&flows[snapshot * entries..(snapshot + 1) * entries], place.key) as u32
            }
        }
    }

    /// Empties a snapshot.
    pub(super) fn clear(&mut self, snapshot: usize) {
        match self {
            Self::CountMin { counts, snapshots, .. } => {
                counts.iter_mut().skip(snapshot).step_by(*snapshots).for_each(|count| *count = 0);
            }
            Self::SpaceSaving { flows, entries } => {
                flows[snapshot * *entries..(snapshot + 1) * *entries].fill(Flow::default());
            }
        }
    }

    /// Number of columns, or entries: the units of cyclic cleaning.
    pub(super) fn indices(&self) -> u32 {
        // There are at most 2³¹ counters.
        match self {
            Self::CountMin { rows, counts, snapshots, .. } => (counts.len() / (rows * snapshots)) as u32,
            Self::SpaceSaving { entries, .. } => *entries as u32,
        }
    }

    /// Empties one index of a snapshot, in all rows.
    pub(super) fn clear_index(&mut self, snapshot: usize, index: usize) {
        let indices = self.indices() as usize;
        match self {
            Self::CountMin { counts, snapshots, .. } => {
                let row = indices * *snapshots;
                counts.chunks_exact_mut(row).for_each(|counts| counts[index * *snapshots + snapshot] = 0);
            }
            Self::SpaceSaving { flows, entries } => flows[snapshot * *entries + index] = Flow::default(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::CountMin { counts, .. } => counts.capacity() * Self::COUNTER_BYTES,
            Self::SpaceSaving { flows, .. } => flows.capacity() * Self::ENTRY_BYTES,
        }
    }
}

/// Sums below this fit the lanes of [`read_four`].
const FEW: u64 = 1 << 31;

/// The sizes of a flow with four rows, none above [`FEW`]. Snapshots are read in whole blocks, including those not
/// requested: that is cheaper than branching.
#[inline]
fn read_four(counts: &[u32], rows: [u32; 4], snapshots: usize, turn: Turn) -> Read {
    let [a, b, c, d] = rows.map(|row| &counts[row as usize..][..snapshots]);
    let blocks = [a, b, c, d].map(|row| row.as_chunks::<LANES>().0);
    let (first, end, outside) = turn.mask(snapshots);
    let mut places: [i32; LANES] = array::from_fn(|lane| lane as i32);
    let mut sums = [0; LANES];
    for (((a, b), c), d) in blocks[0].iter().zip(blocks[1]).zip(blocks[2]).zip(blocks[3]) {
        for lane in 0..LANES {
            let [a, b, c, d] = [a[lane], b[lane], c[lane], d[lane]].map(|count| count as i32);
            let is_inside =
                i32::from(first <= places[lane]).wrapping_neg() & i32::from(places[lane] < end).wrapping_neg();
            sums[lane] += a.min(b).min(c).min(d) & (is_inside ^ outside);
            places[lane] += LANES as i32;
        }
    }
    let least = |at: usize| a[at].min(b[at]).min(c[at]).min(d[at]);
    let mut all = sums.iter().sum::<i32>() as u64;
    if !snapshots.is_multiple_of(LANES) {
        let (to_end, around) = turn.ranges(snapshots);
        let rest = (snapshots - snapshots % LANES..snapshots).filter(|at| to_end.contains(at) || around.contains(at));
        all += rest.map(|at| u64::from(least(at))).sum::<u64>();
    }
    Read { first: least(turn.first), all }
}

/// The sizes of a flow with any number of rows.
fn read_rows(counts: &[u32], rows: &[u32], snapshots: usize, turn: Turn) -> Read {
    let (to_end, around) = turn.ranges(snapshots);
    let all = to_end.chain(around).map(|snapshot| u64::from(least_of(counts, rows, snapshot))).sum();
    Read { first: least_of(counts, rows, turn.first), all }
}

/// The minimum over the rows in a snapshot.
#[inline]
fn least_of(counts: &[u32], rows: &[u32], snapshot: usize) -> u32 {
    rows.iter().map(|&row| counts[row as usize + snapshot]).min().unwrap_or(0)
}

/// A lower bound of the size of a flow.
#[inline]
fn kept(flows: &[Flow], key: u32) -> u64 {
    flows.iter().map(|flow| if flow.key == key { u64::from(flow.count - flow.error) } else { 0 }).sum()
}

/// Adds to the entry of a flow, and returns its count; a new flow replaces the smallest entry, and takes over that
/// count.
#[inline]
fn add_to_kept(flows: &mut [Flow], key: u32, size: u32) -> u32 {
    let mut smallest = 0;
    for at in 0..flows.len() {
        if flows[at].key == key && flows[at].count > 0 {
            flows[at].count = flows[at].count.saturating_add(size);
            return flows[at].count;
        }
        if flows[at].count < flows[smallest].count {
            smallest = at;
        }
    }
    let error = flows[smallest].count;
    flows[smallest] = Flow { key, count: error.saturating_add(size), error };
    flows[smallest].count
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::Nanos;

    fn params(counter: Counter) -> Params {
        Params { counter, ..Params::new(11, Nanos::new(1_100), 1, 7) }
    }

    fn counters() -> [Counter; 3] {
        let count_min = |is_conservative| Counter::CountMin { rows: 3, columns: 16, is_conservative };
        [count_min(false), count_min(true), Counter::SpaceSaving { entries: 24 }]
    }

    /// Sizes of 40 flows in 11 snapshots; estimates of every flow in snapshots 2 to 9.
    fn fed(counter: Counter) -> Vec<(u64, u64)> {
        let params = params(counter);
        let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, params.snapshots));
        let mut truth = vec![0; 40];
        for i in 0..6_000u64 {
            let random = hash::finish(i);
            let (flow, snapshot, size) = ((random % 200).min(39), (random >> 32) % 11, (random >> 48 & 1023) as u32);
            counters.add(snapshot as usize, &hashes.place(FlowId(flow)), size);
            truth[flow as usize] += u64::from(size) * u64::from((2..10).contains(&snapshot));
        }
        let estimate =
            |flow: usize| counters.read(Turn { first: 2, len: 8 }, &hashes.place(FlowId(flow as u64)), 0).all;
        truth.iter().enumerate().map(|(flow, &truth)| (truth, estimate(flow))).collect()
    }

    #[test]
    fn count_min_is_never_too_low_and_space_saving_never_too_high() {
        let [plain, conservative, kept] = counters().map(fed);
        assert!(plain.iter().all(|(truth, estimate)| truth <= estimate));
        assert!(conservative.iter().all(|(truth, estimate)| truth <= estimate));
        assert!(kept.iter().all(|(truth, estimate)| truth >= estimate));
        let error = |flows: &[(u64, u64)]| flows.iter().map(|(truth, estimate)| truth.abs_diff(*estimate)).sum::<u64>();
        assert!(error(&conservative) * 10 < error(&plain) * 9, "{} {}", error(&conservative), error(&plain));
        // The largest flow, with 4/5 of the bytes.
        assert!(kept[39].1 * 100 > kept[39].0 * 99, "{:?}", kept[39]);
    }

    /// Any turn of any number of snapshots, with or without a remainder and wrapping, is the sum of its snapshots.
    #[test]
    fn a_turn_is_the_sum_of_its_snapshots() {
        for (rows, snapshots) in (3..=5).flat_map(|rows| (2..=19).map(move |snapshots| (rows, snapshots))) {
            let counter = Counter::CountMin { rows, columns: 3, is_conservative: false };
            let params = Params { snapshots, ..params(counter) };
            let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, snapshots));
            for i in 0..500u64 {
                let random = hash::finish(i);
                let place = hashes.place(FlowId(random % 7));
                counters.add((random >> 32) as usize % snapshots as usize, &place, (random >> 48) as u32);
            }
            let (place, snapshots) = (hashes.place(FlowId(3)), snapshots as usize);
            for (first, len) in (0..snapshots).flat_map(|first| (1..=snapshots).map(move |len| (first, len))) {
                let single = |at| u64::from(counters.get(at % snapshots, &place));
                let expected = Read { first: single(first) as u32, all: (first..first + len).map(single).sum() };
                for most in [FEW - 1, FEW] {
                    assert_eq!(counters.read(Turn { first, len }, &place, most), expected);
                }
            }
        }
    }

    #[test]
    fn a_snapshot_is_emptied_at_once_or_index_by_index_and_alone() {
        for counter in counters() {
            let params = params(counter);
            let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, params.snapshots));
            let places: Vec<Place> = (0..20).map(|flow| hashes.place(FlowId(flow))).collect();
            let sum = |counters: &Counters, first: usize, len: usize| -> u64 {
                let all: u64 = places.iter().map(|place| counters.read(Turn { first, len }, place, 0).all).sum();
                let ring = (first..first + len).map(|snapshot| snapshot % 11);
                let single = |place| ring.clone().map(|snapshot| u64::from(counters.get(snapshot, place))).sum::<u64>();
                assert_eq!(all, places.iter().map(single).sum());
                all
            };
            (0..11).for_each(|snapshot| places.iter().for_each(|place| _ = counters.add(snapshot, place, 5)));
            let one = sum(&counters, 0, 1);
            assert!(one >= 100 && sum(&counters, 7, 11) == 11 * one);
            counters.clear(3);
            (0..counters.indices()).for_each(|index| counters.clear_index(10, index as usize));
            assert_eq!((sum(&counters, 3, 1), sum(&counters, 10, 1), sum(&counters, 8, 7)), (0, 0, 5 * one));
            assert_eq!(counters.bytes(), 11 * counter.bytes());
        }
    }

    #[test]
    fn counts_that_do_not_fit_stay_at_the_largest() {
        for counter in counters() {
            let params = params(counter);
            let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, params.snapshots));
            let place = hashes.place(FlowId(1));
            let are_full = [(); 3].map(|()| counters.add(0, &place, u32::MAX - 1));
            assert_eq!((are_full, counters.get(0, &place)), ([false, true, true], u32::MAX));
        }
    }
}
