//! What entries need not store individually: how many requests were inserted when, and with which probability.

use crate::codec::{CodecError, MOST_COUNTED, Reader, Writer};
use dwell_types::{Nanos, Timestamp};
use std::ops::RangeInclusive;

/// Times of past insertions, densely for the latest ones, and ever more sparsely for those before; and the latest changes
/// of *p*.
///
/// The number of insertions since an entry is determined from the two checkpoints around its time, assuming equal
/// intervals in between. These are apart by 4/7 of that number or less, or by *M*/1024 (less than 2¹¹ slots: *M*/256):
/// that is the largest error, under any bursts. If requests arrive at random, *n* insertions from one checkpoint to the
/// next give an error of √*n*/2 at most. Equally spaced checkpoints would know nothing about the course of a burst that
/// is shorter than their distance, and whose requests are answered before the next one.
#[derive(Clone, Debug)]
pub(super) struct History {
    /// Times of insertions: of each level, a ring buffer of the latest ones whose number is a multiple of its step. The
    /// first level has steps of 2^`step_bits`, and each further one four times as long ones.
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

/// Checkpoints of each level.
const OF_LEVEL: usize = 8;
/// A level's step over that of the one before, as a power of two.
const LEVEL_BITS: u32 = 2;

/// The place of a checkpoint in its level.
#[inline]
const fn place(checkpoint: u64) -> usize {
    checkpoint as usize % OF_LEVEL
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

    /// Number of checkpoints, and insertions between two of the first level as a power of two. The last level comprises
    /// 8 *M* insertions or more, which one entry in 3,000 survives.
    fn shape(slots: u32) -> (usize, u32) {
        let levels = if slots < 1 << 11 { 5 } else { 6 };
        let step_of_first = slots.div_ceil(1 << (LEVEL_BITS * (levels - 1)));
        (OF_LEVEL * levels as usize, step_of_first.next_power_of_two().ilog2())
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

    /// Time of the first insertion; valid only for 8 *M* insertions.
    pub(super) fn first(&self) -> Timestamp {
        Timestamp::from_nanos(self.checkpoints[self.checkpoints.len() - OF_LEVEL])
    }

    /// Counts an insertion.
    #[inline]
    pub(super) fn insert(&mut self, at: Timestamp) {
        self.last = at.as_nanos();
        if self.inserted & self.step_mask == 0 || self.last < self.began {
            self.check();
        }
        self.inserted += 1;
    }

    /// Notes the time of the insertion in all levels of which it is one. Where the clock was set back, or requests come out
    /// of order, those intervals begin anew that seem to begin later.
    fn check(&mut self) {
        self.began = self.last;
        let mut bits = self.step_bits;
        for level in self.checkpoints.chunks_exact_mut(OF_LEVEL) {
            let checkpoint = self.inserted >> bits;
            let time = &mut level[place(checkpoint)];
            if checkpoint << bits != self.inserted && *time <= self.last {
                break;
            }
            *time = self.last;
            bits += LEVEL_BITS;
        }
    }

    /// Requests inserted after one that was inserted at `at`. An entry older than the first checkpoint counts from
    /// there.
    #[inline]
    pub(super) fn since(&self, at: Timestamp) -> f64 {
        let (at, last) = (at.as_nanos(), self.inserted.saturating_sub(1));
        let (mut bits, mut levels) = (self.step_bits, self.checkpoints.chunks_exact(OF_LEVEL));
        let mut level = levels.next().unwrap_or_default();
        loop {
            let newest = last >> bits;
            let oldest = newest.saturating_sub(OF_LEVEL as u64 - 1);
            let is_enough = oldest == 0 || level[place(oldest)] <= at;
            match levels.next() {
                Some(next) if !is_enough => (level, bits) = (next, bits + LEVEL_BITS),
                _ => return self.since_in(level, bits, at, oldest..=newest),
            }
        }
    }

    /// The same by the checkpoints of one level, of which these are known.
    #[inline]
    fn since_in(&self, level: &[i64], bits: u32, at: i64, known: RangeInclusive<u64>) -> f64 {
        let (oldest, newest) = known.into_inner();
        let (mut checkpoint, mut next) = (newest, self.last);
        loop {
            let time = level[place(checkpoint)];
            if time <= at || checkpoint == oldest {
                break self.since_between(bits, checkpoint, newest, (time, at, next));
            }
            (checkpoint, next) = (checkpoint - 1, time);
        }
    }

    #[inline]
    fn since_between(&self, bits: u32, checkpoint: u64, newest: u64, (time, at, next): (i64, i64, i64)) -> f64 {
        let first = checkpoint << bits;
        let left = (next.saturating_sub(at).max(0) as f64 / next.saturating_sub(time).max(1) as f64).min(1.0);
        let later = self.inserted.saturating_sub(first + 1) as f64;
        // Of the insertions that follow, those up to the last one, or as many as a step: at random times both are
        // unbiased, since the entry's own insertion is one of them.
        if checkpoint == newest { left * later } else { later - (1.0 - left) * (1u64 << bits) as f64 }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    /// At equal intervals all counts are exact, including the first and the last; too old times count as the oldest known
    /// one.
    #[test]
    fn regular_insertions_are_counted() {
        let mut history = History::new(1 << 12, false);
        for i in 0..50_000 {
            history.insert(at(i * 1_000));
            let is_known = history.first() == at(0) && (history.since(at(0)) - i as f64).abs() < 1e-6;
            assert!(is_known || i >= 8 * 4_096, "{i}: {}", history.since(at(0)));
        }
        for i in (50_000 - 7 * 4_096)..50_000 {
            let since = history.since(at(i * 1_000));
            assert!((since - (49_999 - i) as f64).abs() < 1e-6, "{i}: {since}");
        }
        let oldest = 49_999 / 4_096 - 7;
        assert_eq!(history.since(at(0)), f64::from(49_999 - oldest * 4_096));
        assert_eq!(history.since(at(i64::MAX)), 0.0, "none is later");
    }

    /// The largest distance of the checkpoints around an entry with so many insertions behind it, at 4,096 slots.
    fn distance(since: u64) -> f64 {
        (since as f64 / 1.75).max(4.0)
    }

    /// At random times the error is within seven standard deviations for insertions between two checkpoints, which
    /// 10,000 exceed by chance once in 4·10⁷ choices of seeds; in bursts it is within the distance of the checkpoints,
    /// after a clock was set back within one of the last level. Being off by a checkpoint, the control, must fail.
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
        for (i, &time) in (0..30_000).zip(&times).skip(20_000) {
            let since = 29_999 - i;
            let error = history.since(at(time)) - since as f64;
            let is_small = |error: f64| error.abs() < 7.0 * distance(since).sqrt() / 2.0;
            assert!(is_small(error) && !is_small(error + 1.5 * distance(since).max(200.0)), "{i}: {error}");
        }
        let mut history = History::new(1 << 12, false);
        for i in 0..5_000 {
            history.insert(at(i / 100 * 1_000_000 + i));
        }
        for i in 0..5_000 {
            let error = history.since(at(i / 100 * 1_000_000 + i)) - (4_999 - i) as f64;
            assert!(error.abs() <= distance(4_999 - i as u64), "{i}: {error}");
        }
        history.insert(at(-1_000_000_000));
        assert!(history.since(at(-1_000_000_000)) <= 4_096.0);
    }

    /// In small tables, an insertion is .4% of a weight: on average over 200,000 insertions at random times, and entries with
    /// 1 to 7 behind them, the error is below a tenth of one. Where an interval counted at least none, it was .30.
    #[test]
    fn few_insertions_are_counted_without_bias() {
        let mut history = History::new(256, false);
        let (mut times, mut now, mut errors) = (Vec::new(), 0, 0.0);
        for i in 0..200_000 {
            now += (-1e6 * (1.0 - hash::unit(hash::finish(i))).ln()) as i64;
            times.push(now);
            history.insert(at(now));
            let since = 1 + hash::finish(i ^ 1 << 32) as usize % 7;
            if let Some(before) = times.len().checked_sub(since + 1) {
                // Half a tick earlier or later, as entries know their times.
                errors += history.since(at(times[before] + (i as i64 % 3 - 1) * 500)) - since as f64;
            }
        }
        let error = errors / times.len() as f64;
        assert!(error.abs() < 0.1, "{error}");
    }

    /// As the module of fridges says.
    #[test]
    fn latest_checkpoints_are_close() {
        assert_eq!(History::shape((1 << 11) - 1), (40, 3), "2,047 / 256");
        assert_eq!((History::shape(1 << 11), History::shape(1 << 12)), ((48, 1), (48, 2)), "slots / 1,024");
        assert_eq!((History::bytes(1 << 12, false), History::new(1 << 12, false).state_bytes()), (48 * 8, 48 * 8));
    }

    #[test]
    fn changes_are_known_by_time() {
        let mut history = History::new(16, true);
        assert_eq!(history.step(at(i64::MIN)), 0);
        for i in 1..20 {
            history.change(at(i * 100), i as u8);
        }
        assert_eq!((history.step(at(1_900)), history.step(at(1_850)), history.step(at(1_899))), (19, 18, 18));
        assert_eq!(history.step(at(0)), 4, "the oldest that is known");
        assert_eq!(history.state_bytes(), History::bytes(16, true));
        let mut history = History::new(16, false);
        history.change(at(100), 1);
        assert_eq!((history.step(at(200)), history.state_bytes()), (0, History::bytes(16, false)), "not needed");
    }
}
