use super::{Conquest, ConquestError, Counter, Culprit, Params};
use dwell_types::Nanos;

/// With at least this, 16 snapshots have enough entries for an incast: 80.
const SOME_BYTES: usize = 16 << 10;
/// With at least this, Count-Min has enough columns, and takes a twentieth of the instructions: space-saving scans all
/// entries.
const MANY_BYTES: usize = 32 << 10;
/// With fewer entries culprits are missed if several share the queue.
const LEAST_ENTRIES: usize = 4;

impl Params {
    /// The best sketch in this many bytes for a queue in which no packet waits longer than `longest`: 8 snapshots of
    /// space-saving, from 16 KiB on 16 of them, and from 32 KiB on 16 of Count-Min with conservative update
    /// (`docs/papers/conquest.md`, memory).
    pub fn budget(bytes: usize, longest: Nanos, seed: u64) -> Result<Self, ConquestError> {
        let has_many = bytes >= MANY_BYTES;
        let snapshots: u32 = if bytes >= SOME_BYTES { 16 } else { 8 };
        let fixed = Conquest::fixed_bytes(1) + snapshots as usize * size_of::<u64>();
        let index = if has_many {
            Counter::CountMin { rows: Self::ROWS, columns: 1, is_conservative: true }
        } else {
            Counter::SpaceSaving { entries: 1 }
        };
        let per_index = index.bytes() * snapshots as usize;
        let most = Self::MOST_COUNTERS as usize / (Self::ROWS * snapshots) as usize;
        let indices = (bytes.saturating_sub(fixed) / per_index).min(most);
        if indices < LEAST_ENTRIES {
            return Err(ConquestError::Bytes { given: bytes, needed: fixed + LEAST_ENTRIES * per_index });
        }
        let counter = index.of(indices as u32);
        let base = Self::new(snapshots, longest, 1, seed);
        Ok(Self { windows: vec![base.window(longest)], counter, ..base })
    }

    /// Snapshots for delays from the culprits' *τ* to `longest`, in this many bytes, with several lengths of windows:
    /// the first a quarter of *τ*, each other one 4 times as long as the one before (more if that takes too many
    /// lengths). Each has 16 snapshots of Count-Min with conservative update; if these would have too few columns, 16
    /// or 8 of space-saving with an entry for each of as many culprits as there can be; then 8 of Count-Min with half
    /// the rows; then space-saving with fewer entries, which finds few culprits at a time only; finally
    /// [`Params::budget`].
    pub fn for_queue(bytes: usize, culprit: Culprit, longest: Nanos, seed: u64) -> Result<Self, ConquestError> {
        let count_min = |rows| Counter::CountMin { rows, columns: 0, is_conservative: true };
        let kept = Counter::SpaceSaving { entries: 0 };
        let most = culprit.most();
        // With fewer columns small flows look like culprits, with fewer entries culprits are missed.
        let least = [
            (16, count_min(Self::ROWS), 64),
            (16, kept, most.max(24)),
            (8, kept, most.max(8)),
            (8, count_min(Self::ROWS / 2), (most / 3).max(16)),
            (16, kept, 24),
            (8, kept, 8),
        ];
        for (snapshots, counter, least) in least {
            let base = Self { culprit, ..Self::new(snapshots, longest, 1, seed) };
            let windows = windows(culprit.delay, longest, &base);
            let params = |indices| Self { windows: windows.clone(), counter: counter.of(indices), ..base.clone() };
            let fixed = Conquest::bytes(&params(0));
            let index = Conquest::bytes(&params(1)) - fixed;
            let largest = Self::MOST_COUNTERS as usize / (Self::ROWS * snapshots) as usize;
            let indices = (bytes.saturating_sub(fixed) / index).min(largest);
            if indices >= least {
                return Ok(params(indices as u32));
            }
        }
        Ok(Self { culprit, ..Self::budget(bytes, longest, seed)? })
    }
}

impl Counter {
    /// The same with this many columns or entries.
    const fn of(self, indices: u32) -> Self {
        match self {
            Self::CountMin { rows, is_conservative, .. } => Self::CountMin { rows, columns: indices, is_conservative },
            Self::SpaceSaving { .. } => Self::SpaceSaving { entries: indices },
        }
    }
}

/// Windows that grow from a quarter of a delay, by the least factor with which the last ones reach back far enough.
fn windows(delay: Nanos, longest: Nanos, params: &Params) -> Vec<Nanos> {
    let reach = |window: i64| window.saturating_mul(params.finished().into());
    let first = (delay.get() / 4).clamp(1, Params::LONGEST_WINDOW.get());
    let growing = |factor: i64| {
        let (mut windows, mut last) = (vec![first], first);
        while reach(last) < longest.get() && windows.len() < Params::MOST_GROUPS {
            last = last.saturating_mul(factor);
            windows.push(last);
        }
        windows.retain(|&window| window <= Params::LONGEST_WINDOW.get());
        windows
    };
    // Each group's windows reach back at least as far as one window of the next group lasts, however they are cleaned.
    let most = i64::from(params.snapshots) - 1;
    let all = [4, most / 2, most].map(growing);
    let reaches = |windows: &&Vec<i64>| windows.last().is_some_and(|&last| reach(last) >= longest.get());
    let windows = all.iter().find(reaches).unwrap_or(&all[2]);
    windows.iter().map(|&window| Nanos::new(window)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conquest::Cleaning;

    #[test]
    fn windows_reach_from_a_part_of_a_short_delay_to_the_longest() {
        for (delay, longest) in
            [(1_000_000, 1_000_000_000), (800_000, 6_400_000), (50_000, 3_600_000_000_000), (50, 20)]
        {
            let culprit = Culprit { share: 0.01, delay: Nanos::new(delay) };
            let params = Params::for_queue(1 << 20, culprit, Nanos::new(longest), 1).unwrap();
            let sketch = Conquest::new(&params).unwrap();
            assert!(params.longest() >= Nanos::new(longest), "{params:?}");
            assert_eq!(params.windows[0], Nanos::new((delay / 4).max(1)));
            let bytes = sketch.state_bytes();
            assert!(bytes == Conquest::bytes(&params) && bytes <= 1 << 20 && bytes > 1_000_000, "{bytes}");
            for cleaning in [Cleaning::Epochs, Cleaning::Cyclic] {
                let few = Params::for_queue(12 << 10, culprit, Nanos::new(longest), 1).unwrap();
                assert!(Conquest::bytes(&few) <= 12 << 10 && Conquest::new(&Params { cleaning, ..few }).is_ok());
            }
        }
        let small =
            Params::for_queue(2 << 10, Params::new(8, Nanos::new(6_400_000), 1, 0).culprit, Nanos::new(6_400_000), 1);
        assert_eq!(small.unwrap().windows.len(), 1);
    }

    /// As the module says.
    #[test]
    fn a_small_sketch_takes_little() {
        assert_eq!((Conquest::fixed_bytes(0), Conquest::fixed_bytes(1)), (160, 160 + 176));
        assert_eq!(Conquest::bytes(&Params::new(8, Nanos::new(100_000), 8, 1)), 8 * (4 * 4 * 8 + 8) + 160 + 176);
    }
}
