//! What entries need not store individually: how many requests were inserted when, and with which probability.

use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use dwell_types::{Nanos, Timestamp};

/// Times of every *n*-th insertion, and of the latest changes of *p*.
///
/// The number of insertions since an entry is determined from the checkpoints around its time, assuming equal intervals
/// in between. With *M*/8 insertions from one checkpoint to the next the error is √(*M*/32) insertions if requests
/// arrive at random (1.6% of a weight at 128 slots, .3% at 4,096), and at most *M*/8, in either direction, under any
/// bursts.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Times of the insertions whose number is a multiple of 2^`step_bits`; a ring buffer.
    checkpoints: Vec<i64>,
    step_bits: u32,
    step_mask: u64,
    inserted: u64,
    /// Time of the last insertion, and of the last checkpoint.
    last: i64,
    began: i64,
    /// Times when *p* changed, each with its step from then on, in order. Empty if not needed.
    changes: Vec<(i64, u8)>,
}

/// More changes of *p* than occur during the life of an entry.
const MOST_CHANGES: usize = 16;

impl History {
    /// For this many slots. `keeps_changes`: whether a weight depends on the *p* when its entry entered.
    pub(super) fn new(slots: u32, keeps_changes: bool) -> Self {
        let (checkpoints, step_bits) = Self::shape(slots);
        let mut changes = Vec::new();
        if keeps_changes {
            changes.reserve_exact(MOST_CHANGES);
            changes.push((i64::MIN, 0));
        }
        Self {
            checkpoints: vec![i64::MIN; checkpoints],
            step_bits,
            step_mask: (1 << step_bits) - 1,
            inserted: 0,
            last: i64::MIN,
            began: i64::MIN,
            changes,
        }
    }

    /// Number of checkpoints, and insertions between two of them as a power of two: together 8 *M* insertions or more,
    /// which one entry in 3,000 survives.
    fn shape(slots: u32) -> (usize, u32) {
        let (checkpoints, of_slots) = if slots < 1 << 11 { (32, 4) } else { (64, 8) };
        (checkpoints, (slots / of_slots).max(1).next_power_of_two().ilog2())
    }

    /// Bytes for so many slots.
    pub(super) fn bytes(slots: u32, keeps_changes: bool) -> usize {
        let changes = if keeps_changes { MOST_CHANGES } else { 0 };
        Self::shape(slots).0 * size_of::<i64>() + changes * size_of::<(i64, u8)>()
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.checkpoints.capacity() * size_of::<i64>() + self.changes.capacity() * size_of::<(i64, u8)>()
    }

    /// Insertions so far.
    #[inline]
    pub(super) fn inserted(&self) -> u64 {
        self.inserted
    }

    /// Time of the first insertion; valid only while few have followed.
    pub(super) fn first(&self) -> Timestamp {
        Timestamp::from_nanos(self.checkpoints[0])
    }

    /// Counts an insertion.
    #[inline]
    pub(super) fn insert(&mut self, at: Timestamp) {
        self.last = at.as_nanos();
        // If the clock was set back, the interval begins anew.
        if self.inserted & self.step_mask == 0 || self.last < self.began {
            let at = self.place(self.inserted >> self.step_bits);
            self.checkpoints[at] = self.last;
            self.began = self.last;
        }
        self.inserted += 1;
    }

    #[inline]
    fn place(&self, checkpoint: u64) -> usize {
        checkpoint as usize & (self.checkpoints.len() - 1)
    }

    /// Requests inserted after one that was inserted at `at`. An entry older than the first checkpoint counts from
    /// there.
    #[inline]
    pub(super) fn since(&self, at: Timestamp) -> f64 {
        let at = at.as_nanos();
        let newest = self.inserted.saturating_sub(1) >> self.step_bits;
        let oldest = newest.saturating_sub(self.checkpoints.len() as u64 - 1);
        let (mut checkpoint, mut next) = (newest, self.last);
        loop {
            let time = self.checkpoints[self.place(checkpoint)];
            if time <= at || checkpoint == oldest {
                return self.since_between(checkpoint, newest, (time, at, next));
            }
            (checkpoint, next) = (checkpoint - 1, time);
        }
    }

    #[inline]
    fn since_between(&self, checkpoint: u64, newest: u64, (time, at, next): (i64, i64, i64)) -> f64 {
        let first = checkpoint << self.step_bits;
        let left = (next.saturating_sub(at).max(0) as f64 / next.saturating_sub(time).max(1) as f64).min(1.0);
        // In the interval up to the last insertion, both ends are insertions; up to a checkpoint, only the start is.
        let step = (1u64 << self.step_bits) as f64;
        if checkpoint == newest {
            return left * self.inserted.saturating_sub(first + 1) as f64;
        }
        let later = self.inserted - first;
        later as f64 - step + (left * step - 1.0).max(0.0)
    }

    /// Writes checkpoints, insertions, the times of the last insertion and checkpoint; then the number of changes, and
    /// each with its step.
    pub(super) fn write(&self, to: &mut Writer) {
        self.checkpoints.iter().for_each(|&time| to.i64(time));
        to.u64(self.inserted);
        to.i64(self.last);
        to.i64(self.began);
        to.u64(self.changes.len() as u64);
        for &(time, step) in &self.changes {
            to.i64(time);
            to.u8(step);
        }
    }

    /// Reads what was written of one of the same shape.
    pub(super) fn read(mut self, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        for time in &mut self.checkpoints {
            *time = from.i64()?;
        }
        self.inserted = from.u64()?;
        (self.last, self.began) = (from.i64()?, from.i64()?);
        let changes = from.count(9)?;
        let most = if self.changes.is_empty() { 0 } else { MOST_CHANGES };
        if self.inserted > MOST_COUNTED || changes > most || changes == 0 && most > 0 {
            return Err(CodecError::Value("insertions"));
        }
        self.changes.clear();
        for _ in 0..changes {
            self.changes.push((from.i64()?, from.u8()?));
        }
        Ok(self)
    }

    /// Records a change of *p*.
    pub(super) fn change(&mut self, at: Timestamp, step: u8) {
        if self.changes.is_empty() {
            return;
        }
        if self.changes.len() == MOST_CHANGES {
            self.changes.remove(0);
        }
        self.changes.push((at.as_nanos(), step));
    }

    /// The step of *p* when an entry of this time entered.
    #[inline]
    pub(super) fn step(&self, at: Timestamp) -> u8 {
        let changes = &self.changes;
        let then = changes.iter().rev().find(|(time, _)| *time <= at.as_nanos());
        then.or(changes.first()).map_or(0, |(_, step)| *step)
    }

    /// The moment this long before another.
    #[inline]
    pub(super) fn before(at: Timestamp, time: Nanos) -> Timestamp {
        Timestamp::from_nanos(at.as_nanos().wrapping_sub(time.get()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// At equal intervals all counts are exact, including the first and the last; too old times are recognised.
    #[test]
    fn regular_insertions_are_counted() {
        let mut history = History::new(1 << 12, false);
        for i in 0..50_000 {
            history.insert(at(i * 1_000));
        }
        for i in (50_000 - 7 * 4_096)..50_000 {
            let since = history.since(at(i * 1_000));
            assert!((since - (49_999 - i) as f64).abs() < 1e-6, "{i}: {since}");
        }
        assert!(history.since(at(0)) >= f64::from(7 << 12));
    }

    /// At random times the error is within seven standard deviations for insertions between two checkpoints, which
    /// 10,000 exceed by chance once in 4·10⁷ choices of seeds; in bursts, even with clocks set back, it is within a
    /// step. Being off by a checkpoint, the control, must fail.
    #[test]
    fn irregular_insertions_are_counted_nearly() {
        let mut history = History::new(1 << 12, false);
        let mut times = Vec::new();
        let mut now = 0;
        for i in 0..30_000u64 {
            now += (hash::finish(i) >> 54) as i64;
            times.push(now);
            history.insert(at(now));
        }
        for (i, &time) in times.iter().enumerate().skip(20_000) {
            let error = history.since(at(time)) - (29_999 - i) as f64;
            let is_small = |error: f64| error.abs() < 7.0 * 512f64.sqrt() / 2.0;
            assert!(is_small(error) && !is_small(error + 512.0), "{i}: {error}");
        }
        let mut history = History::new(1 << 12, false);
        for i in 0..5_000 {
            history.insert(at(i / 100 * 1_000_000 + i));
        }
        for i in 0..5_000 {
            let error = history.since(at(i / 100 * 1_000_000 + i)) - (4_999 - i) as f64;
            assert!(error.abs() <= 512.0, "{i}: {error}");
        }
        history.insert(at(-1_000_000_000));
        assert!(history.since(at(-1_000_000_000)) <= 512.0);
    }

    #[test]
    fn changes_are_known_by_time() {
        let mut history = History::new(16, true);
        assert_eq!(history.step(at(i64::MIN)), 0);
        for i in 1..20 {
            history.change(at(i * 100), i as u8);
        }
        assert_eq!((history.step(at(1_950)), history.step(at(1_850)), history.step(at(1_899))), (19, 18, 18));
        assert_eq!(history.step(at(0)), 4, "the oldest that is known");
        assert_eq!(history.state_bytes(), History::bytes(16, true));
    }
}
