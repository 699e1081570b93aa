//! The sizes of flows in all snapshots of a group.

use super::{Counter, Params};
use dwell_types::{FlowId, hash};

/// Where every counter looks for flows: the same in all snapshots and groups.
#[derive(Clone, Debug)]
pub(super) struct Hashes {
    /// One function for two rows, from different halves of its value; the first one names flows to space-saving, too.
    starts: [u64; MOST_ROWS / 2],
    rows: usize,
    columns: u32,
    snapshots: u32,
}

/// Where a flow is counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Of each row, the counter of the first snapshot.
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
        }
        let (pairs, _) = place.rows.as_chunks_mut::<2>();
        let mut first = 0;
        for (pair, &start) in pairs.iter_mut().zip(&self.starts).take(self.rows.div_ceil(2)) {
            let bits = hash::word(start, flow.0);
            let column = |bits: u64| hash::index(bits as u32, self.columns);
            *pair = [first + column(bits >> 32), first + self.columns + column(bits)].map(|at| at * self.snapshots);
            first += 2 * self.columns;
        }
        place
    }
}

/// The counters of all snapshots of a group; those of one index lie side by side, so that a query over many snapshots touches few lines of memory.
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

/// Snapshots that follow each other, around the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) first: usize,
    pub(super) len: usize,
}

impl Turn {
    /// Whether a snapshot is one of them, of so many in all.
    #[inline]
    pub(super) const fn holds(self, snapshot: usize, snapshots: usize) -> bool {
        let ahead = if snapshot >= self.first { 0 } else { snapshots };
        snapshot + ahead - self.first < self.len
    }
}

/// A flow that space-saving keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flow {
    key: u32,
    /// Never too low; zero if the entry is free.
    count: u32,
    /// What may have been counted for flows that were here before.
    error: u32,
}

/// Lanes that are read together.
const LANES: usize = 8;

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

    /// Adds to a flow in a snapshot.
    #[inline]
    pub(super) fn add(&mut self, snapshot: usize, place: &Place, size: u32) {
        match self {
            Self::CountMin { rows, is_conservative: false, counts, .. } => {
                for &row in &place.rows[..*rows] {
                    let count = &mut counts[row as usize + snapshot];
                    *count = count.saturating_add(size);
                }
            }
            Self::CountMin { rows, is_conservative: true, counts, .. } => {
                let rows = &place.rows[..*rows];
                let raised = least_of(counts, rows, snapshot).saturating_add(size);
                for &row in rows {
                    let count = &mut counts[row as usize + snapshot];
                    *count = raised.max(*count);
                }
            }
            Self::SpaceSaving { flows, entries } => {
                add_to_kept(&mut flows[snapshot * *entries..(snapshot + 1) * *entries], place.key, size);
            }
        }
    }

    /// The size of a flow in some snapshots together.
    #[inline]
    pub(super) fn sum(&self, turn: Turn, place: &Place) -> u64 {
        match self {
            Self::CountMin { rows, counts, snapshots, .. } => {
                sum_of_least(counts, &place.rows[..*rows], *snapshots, turn)
            }
            Self::SpaceSaving { flows, entries } => flows
                .chunks_exact(*entries)
                .enumerate()
                .filter(|&(snapshot, _)| turn.holds(snapshot, flows.len() / entries))
                .map(|(_, flows)| u64::from(kept(flows, place.key)))
                .sum(),
        }
    }

    /// The size of a flow in one snapshot.
    #[inline]
    pub(super) fn get(&self, snapshot: usize, place: &Place) -> u32 {
        match self {
            Self::CountMin { rows, counts, .. } => least_of(counts, &place.rows[..*rows], snapshot),
            Self::SpaceSaving { flows, entries } => {
                kept(&flows[snapshot * entries..(snapshot + 1) * entries], place.key)
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

    /// Empties all snapshots.
    pub(super) fn clear_all(&mut self) {
        match self {
            Self::CountMin { counts, .. } => counts.fill(0),
            Self::SpaceSaving { flows, .. } => flows.fill(Flow::default()),
        }
    }

    /// Columns, or entries: what one packet empties one of.
    pub(super) fn indices(&self) -> usize {
        match self {
            Self::CountMin { rows, counts, snapshots, .. } => counts.len() / (rows * snapshots),
            Self::SpaceSaving { entries, .. } => *entries,
        }
    }

    /// Empties one index of a snapshot, in all rows.
    pub(super) fn clear_index(&mut self, snapshot: usize, index: usize) {
        let indices = self.indices();
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

/// The least of the rows in each snapshot of a turn, summed up. Lanes that nobody asked for are read, too: that is cheaper than to stop in between.
#[inline]
fn sum_of_least(counts: &[u32], rows: &[u32], snapshots: usize, turn: Turn) -> u64 {
    let mut sum = 0;
    let whole = snapshots - snapshots % LANES;
    for first in (0..whole).step_by(LANES) {
        let mut least = [u32::MAX; LANES];
        for &row in rows {
            let lanes = &counts[row as usize + first..][..LANES];
            for lane in 0..LANES {
                least[lane] = least[lane].min(lanes[lane]);
            }
        }
        for (lane, &count) in least.iter().enumerate() {
            sum += if turn.holds(first + lane, snapshots) { u64::from(count) } else { 0 };
        }
    }
    for snapshot in whole..snapshots {
        if turn.holds(snapshot, snapshots) {
            sum += u64::from(least_of(counts, rows, snapshot));
        }
    }
    sum
}

/// The least of the rows in a snapshot.
#[inline]
fn least_of(counts: &[u32], rows: &[u32], snapshot: usize) -> u32 {
    rows.iter().map(|&row| counts[row as usize + snapshot]).min().unwrap_or(0)
}

/// What certainly belongs to a flow.
#[inline]
fn kept(flows: &[Flow], key: u32) -> u32 {
    flows.iter().map(|flow| if flow.key == key { flow.count - flow.error } else { 0 }).sum()
}

/// Adds to a flow that is kept; another one takes the place of the smallest, and its count with it.
#[inline]
fn add_to_kept(flows: &mut [Flow], key: u32, size: u32) {
    let mut smallest = 0;
    for at in 0..flows.len() {
        if flows[at].key == key && flows[at].count > 0 {
            flows[at].count = flows[at].count.saturating_add(size);
            return;
        }
        if flows[at].count < flows[smallest].count {
            smallest = at;
        }
    }
    let error = flows[smallest].count;
    flows[smallest] = Flow { key, count: error.saturating_add(size), error };
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
        let estimate = |flow: usize| counters.sum(Turn { first: 2, len: 8 }, &hashes.place(FlowId(flow as u64)));
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
        // The heaviest flow, with 4/5 of the bytes.
        assert!(kept[39].1 * 100 > kept[39].0 * 99, "{:?}", kept[39]);
    }

    #[test]
    fn a_snapshot_is_emptied_at_once_or_index_by_index_and_alone() {
        for counter in counters() {
            let params = params(counter);
            let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, params.snapshots));
            let places: Vec<Place> = (0..20).map(|flow| hashes.place(FlowId(flow))).collect();
            let sum = |counters: &Counters, first: usize, len: usize| -> u64 {
                let all: u64 = places.iter().map(|place| counters.sum(Turn { first, len }, place)).sum();
                let ring = (first..first + len).map(|snapshot| snapshot % 11);
                let single = |place| ring.clone().map(|snapshot| u64::from(counters.get(snapshot, place))).sum::<u64>();
                assert_eq!(all, places.iter().map(single).sum());
                all
            };
            (0..11).for_each(|snapshot| places.iter().for_each(|place| counters.add(snapshot, place, 5)));
            let one = sum(&counters, 0, 1);
            assert!(one >= 100 && sum(&counters, 7, 11) == 11 * one);
            counters.clear(3);
            (0..counters.indices()).for_each(|index| counters.clear_index(10, index));
            assert_eq!((sum(&counters, 3, 1), sum(&counters, 10, 1), sum(&counters, 8, 7)), (0, 0, 5 * one));
            counters.clear_all();
            assert_eq!(sum(&counters, 0, 11), 0);
            assert_eq!(counters.bytes(), 11 * counter.bytes());
        }
    }

    #[test]
    fn counts_that_do_not_fit_stay_at_the_largest() {
        for counter in counters() {
            let params = params(counter);
            let (hashes, mut counters) = (Hashes::new(&params), Counters::new(counter, params.snapshots));
            let place = hashes.place(FlowId(1));
            (0..3).for_each(|_| counters.add(0, &place, u32::MAX - 1));
            assert_eq!(counters.get(0, &place), u32::MAX);
        }
    }
}
