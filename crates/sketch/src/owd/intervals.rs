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
        let start = at.as_nanos().div_euclid(length).saturating_mul(length);
        if self.open.back().is_none_or(|last| last.start < start) {
            self.open.push_back(Open { start, sent: Sum::default() });
        }
        if let Some(last) = self.open.back_mut() {
            last.sent.add(bytes);
        }
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

    pub(super) fn take(&mut self) -> Vec<IntervalAnswer> {
        std::mem::take(&mut self.done)
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.delays.state_bytes() + self.open.capacity() * size_of::<Open>() + size_of::<Reuse>()
    }
}
