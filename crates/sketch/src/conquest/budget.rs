use super::{Conquest, ConquestError, Counter, Params};
use dwell_types::Nanos;

/// From here on Count-Min has columns enough, and costs a fraction of the time.
const MANY_BYTES: usize = 4 << 10;
const ROWS: u32 = 4;
/// Fewer entries miss culprits where several share the queue.
const LEAST_ENTRIES: usize = 4;

impl Params {
    /// The best sketch in so many bytes for a queue in which no packet waits longer than `longest`: below 4 KiB 8 snapshots of space-saving, from there on 16
    /// of Count-Min with conservative update.
    pub fn budget(bytes: usize, longest: Nanos, seed: u64) -> Result<Self, ConquestError> {
        let has_many = bytes >= MANY_BYTES;
        let snapshots: u32 = if has_many { 16 } else { 8 };
        let fixed = Conquest::fixed_bytes(1) + snapshots as usize * size_of::<u64>();
        let index = if has_many {
            Counter::CountMin { rows: ROWS, columns: 1, is_conservative: true }
        } else {
            Counter::SpaceSaving { entries: 1 }
        };
        let per_index = index.bytes() * snapshots as usize;
        let most = Self::MOST_COUNTERS as usize / (ROWS * snapshots) as usize;
        let indices = (bytes.saturating_sub(fixed) / per_index).min(most);
        if indices < LEAST_ENTRIES {
            return Err(ConquestError::Bytes { given: bytes, needed: fixed + LEAST_ENTRIES * per_index });
        }
        let counter = match index {
            Counter::CountMin { .. } => {
                Counter::CountMin { rows: ROWS, columns: indices as u32, is_conservative: true }
            }
            Counter::SpaceSaving { .. } => Counter::SpaceSaving { entries: indices as u32 },
        };
        let base = Self::new(snapshots, longest, 1, seed);
        let finished = i64::from(base.finished());
        let window = longest.get() / finished + i64::from(longest.get() % finished != 0);
        Ok(Self { windows: vec![Nanos::new(window.max(1))], counter, ..base })
    }
}
