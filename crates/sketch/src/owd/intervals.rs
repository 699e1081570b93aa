use super::Sum;
use super::matching::Passed;
use super::tally::Tally;
use crate::Sample;
use crate::distribution::{Ambiguous, DelayStore, Distribution};
use crate::reuse::Reuse;
use dwell_types::{Nanos, Timestamp};
use std::collections::VecDeque;

/// Results for the packets sent in one interval.
#[derive(Clone, Debug)]
pub struct IntervalAnswer {
    /// Its first nanosecond.
    pub start: Timestamp,
    /// The first nanosecond after it.
    pub end: Timestamp,
    /// Packets seen at the sender.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Fates and delays.
    pub tally: Tally,
    /// Quantiles of the delay.
    pub distribution: Distribution,
}

/// Sums for each interval. An interval begins at a whole multiple of its length since the epoch; intervals without
/// packets are left out.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    length: Nanos,
    /// The longest delay.
    longest: Nanos,
    /// The intervals with packets in flight, in order of time.
    open: VecDeque<Open>,
    /// Fates in the first open interval.
    tally: Tally,
    /// The ids of its packets that were sampled.
    reuse: Box<Reuse>,
    delays: DelayStore,
    done: Vec<IntervalAnswer>,
}

/// What was sent in an open interval.
#[derive(Clone, Copy, Debug)]
struct Open {
    start: i64,
    sent: Sum,
}

impl Intervals {
    /// Bytes of what is known of the open intervals, those that may have packets in flight, for this length and longest
    /// delay.
    pub(super) fn open_bytes(length: Nanos, longest: Nanos) -> usize {
        let most = (longest.get() / length.get().max(1)).unsigned_abs().saturating_add(2).max(4);
        let capacity = most.checked_next_power_of_two().and_then(|capacity| usize::try_from(capacity).ok());
        capacity.unwrap_or(usize::MAX).saturating_mul(size_of::<Open>()).saturating_add(size_of::<Reuse>())
    }

    pub(super) fn new(length: Nanos, longest: Nanos, delays: DelayStore) -> Self {
        let length = length.max(Nanos::new(1));
        Self {
            length,
            longest,
            open: VecDeque::new(),
            tally: Tally::of_part(),
            reuse: Box::default(),
            delays,
            done: Vec::new(),
        }
    }

    /// Counts a packet that was sent. One earlier than the start of the last interval counts in the last interval.
    pub(super) fn sent(&mut self, at: Timestamp, bytes: u32) {
        let length = self.length.get();
        // Nearly always; a division would take longer than all else here.
        if let Some(last) = self.open.back_mut()
            && at.as_nanos().saturating_sub(last.start) < length
        {
            return last.sent.add(bytes);
        }
        let mut sent = Sum::default();
        sent.add(bytes);
        let start = at.as_nanos().div_euclid(length).saturating_mul(length);
        self.open.push_back(Open { start, sent });
    }

    /// Adds a packet whose fate is known, in the order of sending.
    pub(super) fn add(&mut self, passed: &Passed, sample: Option<&Sample>) {
        self.close_before(passed.sent.at);
        self.tally.add(passed);
        passed.count_in(&mut self.reuse);
        if let Some(sample) = sample {
            self.delays.update(0, sample);
        }
    }

    /// Closes the intervals that end before this time; none of their packets may be in flight.
    #[inline]
    pub(super) fn close_before(&mut self, at: Timestamp) {
        while self.open.len() > 1 && self.open[1].start <= at.as_nanos() {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(Open { start, sent }) = self.open.pop_front() else { return };
        let start = Timestamp::from_nanos(start);
        let scale = self.tally.scale(sent.packets);
        let packets_per_id = std::mem::take(&mut *self.reuse).per_exchange().unwrap_or(1.0);
        let distribution = self.delays.distribution_of_more(0, Ambiguous::First, scale);
        self.done.push(IntervalAnswer {
            start,
            end: start + self.length,
            sent: sent.packets,
            sent_bytes: sent.bytes,
            tally: std::mem::replace(&mut self.tally, Tally::of_part()).with_shared_ids(packets_per_id),
            distribution: distribution.with_longest(self.longest).with_shared_ids(packets_per_id),
        });
        self.delays.reset();
    }

    /// No packet is in flight any more: closes all intervals.
    pub(super) fn end(&mut self) {
        while !self.open.is_empty() {
            self.close();
        }
    }

    /// Whether intervals are done that were not taken.
    #[inline]
    pub(super) fn has_some(&self) -> bool {
        !self.done.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<IntervalAnswer> {
        std::mem::take(&mut self.done)
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.delays.state_bytes() + self.open.capacity() * size_of::<Open>() + size_of::<Reuse>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Or in the last one, if it is earlier. At the end of the range of time, too.
    #[test]
    fn a_packet_counts_in_the_interval_of_its_time() {
        const SECOND: i64 = 1_000_000_000;
        let mut intervals = Intervals::new(Nanos::from_secs(1), Nanos::from_secs(5), DelayStore::unbounded(1));
        for at in [-1, 0, SECOND - 1, SECOND, 5, 5 * SECOND / 2, i64::MAX - 1, i64::MAX] {
            intervals.sent(Timestamp::from_nanos(at), 100);
        }
        let sent: Vec<_> = intervals.open.iter().map(|open| (open.start / SECOND, open.sent.packets)).collect();
        assert_eq!(sent, [(-1, 1), (0, 2), (1, 2), (2, 1), (i64::MAX / SECOND, 2)]);
    }
}
