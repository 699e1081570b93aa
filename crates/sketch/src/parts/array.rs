//! Waiting requests in an array indexed by hash, and the slot of each id.
//!
//! Shared by the array-based competitors of the fridge: the entry, the treatment of repeats, the counting of what
//! remains.

use crate::parts::lapse::ShortTime;
use crate::parts::repeats::{Meets, Tokens, byte, pack, unpack};
use crate::{Event, Fates, Sample, Terms};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};

/// One slot of an array: 20 bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArraySlot {
    fingerprint: u32,
    /// Time of the first request.
    first: ShortTime,
    tag: u16,
    /// Time from the first to the last equal request in nanoseconds, packed in 40 bits.
    repeated_low: u32,
    repeated_high: u8,
    state: State,
    tokens: Tokens,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum State {
    #[default]
    Free,
    /// Waits for its response.
    Open,
    /// Waits, and was repeated.
    Repeated,
    /// May be overwritten; kept to recognise equal requests (see [`Repeat::Ignored`]).
    Answered,
}

const REPEAT_BITS: u32 = 40;

impl ArraySlot {
    /// The entry of a request that was just seen.
    #[inline]
    pub(crate) fn new(fingerprint: u32, request: &Event) -> Self {
        Self {
            fingerprint,
            first: ShortTime::of(request.at),
            tag: request.tag,
            repeated_low: 0,
            repeated_high: 0,
            state: State::Open,
            tokens: Tokens::new(request.token),
        }
    }

    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state, State::Open | State::Repeated)
    }

    /// Whether it is open and has this fingerprint.
    #[inline]
    pub(crate) fn awaits(&self, fingerprint: u32) -> bool {
        self.fingerprint == fingerprint && self.is_open()
    }

    #[inline]
    pub(crate) fn tag(&self) -> usize {
        usize::from(self.tag)
    }

    /// How a request with this fingerprint relates to the entry.
    #[inline]
    pub(crate) fn meets(&self, fingerprint: u32, at: Timestamp, terms: &Terms) -> Meets {
        if self.fingerprint != fingerprint || self.state == State::Free || self.is_older(at, terms.expiry) {
            return Meets::Other;
        }
        Meets::equal(self.is_open(), terms.repeat)
    }

    /// Time from the last equal request to `at`.
    #[inline]
    pub(crate) fn since_last(&self, at: Timestamp) -> Nanos {
        let packed = u64::from(self.repeated_low) | u64::from(self.repeated_high) << 32;
        Nanos::new(self.first.since(at).get() - unpack(packed, REPEAT_BITS) as i64)
    }

    /// Whether more than `age` lies between the last equal request and `at`, in either direction.
    #[inline]
    pub(crate) fn is_older(&self, at: Timestamp, age: Nanos) -> bool {
        self.since_last(at).is_farther_than(age)
    }

    /// Frees the slot of a request that is older than the expiry, and counts it if it is still open.
    pub(crate) fn let_go_if_old(&mut self, at: Timestamp, expiry: Nanos, fates: &mut [Fates]) {
        if self.state != State::Free && self.is_older(at, expiry) {
            count_overwritten(fates, self, at, expiry);
            self.state = State::Free;
        }
    }

    /// Records an equal request.
    pub(crate) fn repeat(&mut self, request: &Event) {
        let after = pack(self.first.since(request.at).get().max(0).unsigned_abs(), REPEAT_BITS);
        (self.repeated_low, self.repeated_high) = (after as u32, (after >> 32) as u8);
        self.tokens.last = byte(request.token);
        self.state = State::Repeated;
    }

    /// Ends the wait. The entry remains only if later equal requests are to be ignored.
    #[inline]
    pub(crate) fn close(&mut self, repeat: Repeat) {
        self.state = if repeat == Repeat::Ambiguous { State::Free } else { State::Answered };
    }

    /// The sample of a response, and whether its token resolved which of several requests it answers. Weight and
    /// insertions are left for the method to set.
    #[inline]
    pub(crate) fn sample(&self, response: &Event) -> (Sample, bool) {
        let mut sample = Sample {
            since_last: self.since_last(response.at),
            ..Sample::answer(response, self.tag, self.first.since(response.at))
        };
        let is_resolved = self.state == State::Repeated && sample.resolve(self.tokens.answered(response.token));
        (sample, is_resolved)
    }
}

/// Counts an entry that another one overwrites at this time, if it is still open.
#[inline]
pub(crate) fn count_overwritten(fates: &mut [Fates], old: &ArraySlot, at: Timestamp, expiry: Nanos) {
    if old.is_open() {
        fates[old.tag()].let_go(old.is_older(at, expiry));
    }
}

/// Counts all open requests, as expired or as pending.
pub(crate) fn count_open<'a>(
    fates: &mut [Fates],
    slots: impl Iterator<Item = &'a ArraySlot>,
    latest: Timestamp,
    expiry: Nanos,
) {
    for slot in slots.filter(|slot| slot.is_open()) {
        fates[slot.tag()].wait(slot.since_last(latest) > expiry);
    }
}

/// The hash of one array: maps an id to its slot and fingerprint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// Odd. Ids are uniform already, so multiplication by this gives another uniform permutation of them.
    factor: u64,
    first: u32,
    slots: u32,
    fingerprint_shift: u32,
}

impl Places {
    /// `slots` slots beginning with number `first`; fingerprints of 1 to 32 bits. Places with different seeds are
    /// independent.
    pub(crate) fn new(seed: u64, first: u32, slots: u32, fingerprint_bits: u32) -> Self {
        Self { factor: hash::start(seed) | 1, first, slots, fingerprint_shift: 32 - fingerprint_bits }
    }

    /// Slot and fingerprint, from the upper and the lower half of one product.
    #[inline]
    pub(crate) fn of(&self, id: ExchangeId) -> (usize, u32) {
        let hash = id.0.wrapping_mul(self.factor);
        let at = self.first + hash::index((hash >> 32) as u32, self.slots);
        (at as usize, hash as u32 >> self.fingerprint_shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{request, response, terms};
    use dwell_types::Match;

    #[test]
    fn an_entry_has_20_bytes() {
        assert_eq!((size_of::<ArraySlot>(), align_of::<ArraySlot>()), (20, 4));
    }

    #[test]
    fn times_wrap_and_may_go_backwards() {
        for (first, delay) in [((1 << 48) - 10, 1 << 30), (-5, 100), (1_700_000_000_000_000_000, -6_219_000), (0, 0)] {
            let (sample, _) = ArraySlot::new(7, &request(1, first)).sample(&response(1, first + delay));
            assert_eq!((sample.since_first.get(), sample.since_last.get()), (delay, delay));
        }
    }

    #[test]
    fn repeats_are_told_by_rule_and_age() {
        let mut waiting = ArraySlot::new(7, &Event { token: 5, ..request(1, 0) });
        let met =
            |w: &ArraySlot, matching, at| w.meets(7, Timestamp::from_nanos(at), &terms(matching, Nanos::new(100)));
        assert_eq!(met(&waiting, Match::Dns, 50), Meets::Open);
        assert_eq!(met(&waiting, Match::TcpTs, 50), Meets::Ignorable);
        assert_eq!(met(&waiting, Match::Dns, 101), Meets::Other);
        assert_eq!(met(&ArraySlot::default(), Match::Dns, 0), Meets::Other);
        waiting.repeat(&Event { token: 6, ..request(1, 6_400) });
        let (sample, is_resolved) = waiting.sample(&response(1, 10_000));
        assert_eq!((sample.since_first.get(), sample.since_last.get(), is_resolved), (10_000, 3_600, false));
        let (sample, is_resolved) = waiting.sample(&Event { token: 6, ..response(1, 10_000) });
        assert_eq!((sample.since_first.get(), is_resolved), (3_600, true));
        waiting.close(Repeat::Ambiguous);
        assert_eq!(met(&waiting, Match::Dns, 6_410), Meets::Other);
        waiting.close(Repeat::Ignored);
        assert_eq!(met(&waiting, Match::TcpTs, 6_410), Meets::Ignorable);
    }

    #[test]
    fn places_fill_their_slots_and_no_others() {
        let places = Places::new(3, 100, 50, 8);
        let mut seen = [0u32; 200];
        for i in 0..50_000 {
            let (at, fingerprint) = places.of(ExchangeId(hash::finish(i)));
            assert!(fingerprint < 256);
            seen[at] += 1;
        }
        assert!(seen[100..150].iter().all(|n| (700..1_300).contains(n)), "{seen:?}");
        assert_eq!(seen[100..150].iter().sum::<u32>(), 50_000);
    }
}
