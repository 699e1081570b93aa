use super::range::Range;
use dwell_types::{Nanos, Timestamp, hash};

/// The range tracker: one range per direction of a flow, as many as fit.
///
/// A flow may be in any slot of its bucket. A new one takes the slot whose flow was silent for longest, of those whose
/// range is empty or overdue; if there is none, it is refused.
#[derive(Clone, Debug)]
pub(super) struct Ranges {
    slots: Vec<Slot>,
    /// Start of the hash.
    start: u64,
    /// Ticks after which a range is overdue.
    lifetime: u32,
}

/// One range: 16 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Of the flow and direction.
    signature: u32,
    range: Range,
    /// Tick of the last segment or of the last acknowledgement that gave a delay; zero in a vacant slot.
    seen: u32,
}

/// Slots per bucket: a cache line.
const WAYS: usize = 4;
/// A tick is 2²⁰ ns: its number, 32 bits, wraps after 52 days.
const TICK_BITS: u32 = 20;

/// How a segment relates to its flow's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Its acknowledgement gives a delay.
    New,
    /// A retransmission.
    Again,
    /// There is no room for the flow.
    Refused,
}

#[inline]
fn tick(at: Timestamp) -> u32 {
    ((at.as_nanos() >> TICK_BITS) as u32).max(1)
}

impl Slot {
    #[inline]
    fn age(&self, now: u32) -> u32 {
        (now.wrapping_sub(self.seen) as i32).unsigned_abs()
    }

    #[inline]
    fn is_of(&self, signature: u32) -> bool {
        self.signature == signature && self.seen != 0
    }
}

impl Ranges {
    pub(super) const SLOT_BYTES: usize = size_of::<Slot>();

    /// Room for this many flows and directions, rounded down to whole buckets, but at least one bucket.
    pub(super) fn new(slots: u32, lifetime: Nanos, seed: u64) -> Self {
        let slots = (slots as usize).max(WAYS) / WAYS * WAYS;
        let lifetime = u32::try_from(lifetime.get() >> TICK_BITS).unwrap_or(u32::MAX);
        Self { slots: vec![Slot::default(); slots], start: hash::start(seed), lifetime: lifetime.min(i32::MAX as u32) }
    }

    #[inline]
    fn bucket(&self, signature: u32) -> std::ops::Range<usize> {
        let hash = (hash::word(self.start, signature.into()) >> 32) as u32;
        let first = hash::index(hash, (self.slots.len() / WAYS) as u32) as usize * WAYS;
        first..first + WAYS
    }

    #[inline]
    fn find(&mut self, signature: u32) -> Option<&mut Slot> {
        let bucket = self.bucket(signature);
        self.slots[bucket].iter_mut().find(|slot| slot.is_of(signature))
    }

    /// Processes a segment of a flow.
    #[inline]
    pub(super) fn send(&mut self, signature: u32, start: u32, end: u32, at: Timestamp) -> Sent {
        let (now, lifetime) = (tick(at), self.lifetime);
        if let Some(slot) = self.find(signature) {
            let is_overdue = slot.age(now) > lifetime;
            slot.seen = now;
            if !is_overdue {
                return if slot.range.send(start, end) { Sent::New } else { Sent::Again };
            }
            slot.range = Range::new(start, end);
            return Sent::New;
        }
        let bucket = self.bucket(signature);
        let free = |slot: &&mut Slot| slot.range.is_empty() || slot.age(now) > lifetime;
        let vacant_first = |slot: &&mut Slot| (slot.seen == 0, slot.age(now));
        let Some(slot) = self.slots[bucket].iter_mut().filter(free).max_by_key(vacant_first) else {
            return Sent::Refused;
        };
        *slot = Slot { signature, range: Range::new(start, end), seen: now };
        Sent::New
    }

    /// Processes an acknowledgement; returns whether it gives a delay.
    #[inline]
    pub(super) fn acknowledge(&mut self, signature: u32, number: u32, is_bare: bool, at: Timestamp) -> bool {
        let Some(slot) = self.find(signature) else { return false };
        let answers = slot.range.acknowledge(number, is_bare);
        if answers {
            slot.seen = tick(at);
        }
        answers
    }

    /// Empties the range: nothing in flight can be measured any more.
    pub(super) fn collapse(&mut self, signature: u32, end: u32) {
        if let Some(slot) = self.find(signature) {
            slot.range = Range::new(end, end);
        }
    }

    /// Removes the range of an earlier connection when a new one begins.
    pub(super) fn forget(&mut self, signature: u32) {
        if let Some(slot) = self.find(signature) {
            *slot = Slot::default();
        }
    }

    /// Whether the acknowledgement of this number would give a delay.
    pub(super) fn holds(&mut self, signature: u32, number: u32) -> bool {
        self.find(signature).is_some_and(|slot| slot.range.holds(number))
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: i64) -> Timestamp {
        Timestamp::from_nanos(ms << TICK_BITS)
    }

    fn ranges(slots: u32) -> Ranges {
        Ranges::new(slots, Nanos::new(100 << TICK_BITS), 1)
    }

    #[test]
    fn a_range_has_16_bytes() {
        assert_eq!(Ranges::SLOT_BYTES, 16);
    }

    /// In one bucket, a fifth flow is refused until one of four has nothing in flight, or is overdue.
    #[test]
    fn only_what_measures_nothing_is_replaced() {
        let mut ranges = ranges(4);
        for flow in 0..4 {
            assert_eq!(ranges.send(flow, 10, 20, at(flow.into())), Sent::New);
        }
        assert_eq!(ranges.send(9, 10, 20, at(5)), Sent::Refused);
        assert!(!ranges.acknowledge(9, 20, true, at(6)) && !ranges.holds(9, 20));
        assert!(ranges.acknowledge(2, 20, true, at(7)));
        assert_eq!(ranges.send(9, 10, 20, at(8)), Sent::New);
        assert!(ranges.holds(9, 20) && ranges.holds(0, 20));
        // Of the overdue ranges the oldest is replaced.
        assert_eq!(ranges.send(8, 10, 20, at(103)), Sent::New);
        assert!(!ranges.holds(0, 20) && ranges.holds(1, 20));
    }

    #[test]
    fn a_silent_flow_and_a_new_connection_begin_anew() {
        let mut ranges = ranges(4);
        assert_eq!(ranges.send(1, 10, 20, at(1)), Sent::New);
        assert_eq!(ranges.send(1, 10, 20, at(101)), Sent::Again);
        assert_eq!(ranges.send(1, 10, 20, at(202)), Sent::New);
        assert_eq!(ranges.send(1, 5, 6, at(203)), Sent::Again);
        ranges.forget(1);
        assert_eq!(ranges.send(1, 5, 6, at(203)), Sent::New);
        ranges.collapse(1, 6);
        assert!(!ranges.holds(1, 6));
        assert_eq!(ranges.send(1, 6, 7, at(203)), Sent::New);
    }
}
