//! The open requests, in few bytes each.
//!
//! **Model**: buckets of eight slots. A request is in one of two buckets determined by the hash of its id: the emptier
//! one when it came. If both are full, entries are moved to their other buckets. Beside each slot is a fingerprint, a
//! byte of the hash, or zero if the slot is empty, so that two words exclude most absent ids. Removal clears a byte;
//! dropping many entries is one scan that moves nothing, and growth is one scan in the order of the slots.
//!
//! A repeated request takes a second slot, for the time and the token of the last copy.
//!
//! **State**: slots of 11 to 16 bytes ([`Slots`]) and one byte each; at most 15 of 16 are occupied.
//!
//! **Source**: Dietzfelbinger and Weidling 2007 (buckets of two choices); fingerprints as in Fan et al. 2014 (`MemC3`).

// Slots: as few bits of an id, a time and a state as are needed.
mod slots;
use slots::Key;
pub(crate) use slots::{Record, Slots};
// The table, as buckets of slots: where an id is, or may be put.
mod buckets;
pub(crate) use buckets::{Ahead, Open, Place};
// A request in the table, as seen at some moment.
mod wait;
pub(crate) use wait::Wait;

use crate::parts::batch::{BATCH, CACHED_BYTES};
use crate::parts::lapse::Swept;
use crate::parts::repeats::byte;
use crate::{Event, Fates, Gate, Sample};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp};
use std::iter;

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// A request that waits for its response.
    Open,
    /// A repeated request that waits for its response.
    Repeated,
    /// Kept to recognise equal requests (see [`Repeat::Ignored`]).
    Answered,
    /// The last of several equal requests, the first of which is in another slot.
    Last,
}

impl State {
    /// The state in the two lowest bits.
    #[inline]
    const fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Open,
            1 => Self::Repeated,
            2 => Self::Answered,
            _ => Self::Last,
        }
    }

    /// Whether it is a request that waits for its response.
    #[inline]
    pub(crate) const fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Repeated)
    }
}

/// A meter on an [`Open`] table, which may have no slot for a request although not all are occupied.
pub(crate) trait OpenMeter: Swept + Sized {
    /// The table.
    fn open(&mut self) -> &mut Open;

    /// Processes a request; its place is computed only if it is admitted.
    fn request(&mut self, request: &Event, place: impl FnOnce(&Open) -> Place);

    /// The sample of a response; its place is computed only if it may match.
    fn response(&mut self, response: &Event, place: impl FnOnce(&Open) -> Place) -> Option<Sample>;

    /// The events of a batch that must be processed; counts the responses that cannot match.
    fn look_ahead(&mut self, batch: &[Event]) -> Ahead;

    /// Admits fewer ids; false if that is impossible.
    fn admit_less(&mut self, now: Timestamp) -> bool;

    /// Processes an event.
    #[inline]
    fn take(&mut self, event: &Event, place: impl FnOnce(&Open) -> Place, samples: &mut Vec<Sample>) {
        if event.is_request {
            self.request(event, place);
        } else {
            samples.extend(self.response(event, place));
        }
    }

    /// Processes a batch of at most [`BATCH`] events, looking ahead if that pays.
    #[inline]
    fn take_batch(&mut self, batch: &[Event], samples: &mut Vec<Sample>) {
        if self.open().is_far_for(batch.len()) {
            for (event, place) in self.look_ahead(batch).of(batch) {
                self.take(event, |_| *place, samples);
            }
        } else {
            for event in batch {
                self.take(event, |open| open.place(event.id), samples);
            }
        }
    }

    /// Makes room for a request that finds no slot: the table grows, or else fewer ids are admitted until `put` finds one,
    /// or returns `None` because the request is no longer admitted. Returns whether it is in the table.
    #[cold]
    fn make_way(&mut self, now: Timestamp, put: impl Fn(&mut Self) -> Option<bool>) -> bool {
        if !self.open().grow() {
            self.drop_old(now);
        }
        loop {
            match put(self) {
                Some(false) if self.admit_less(now) => self.drop_old(now),
                ended => return ended == Some(true),
            }
        }
    }

    /// Records that the request in slot `at` was repeated, which takes a second slot; false if its id is no longer admitted.
    fn repeat(&mut self, at: usize, request: &Event, now: Timestamp) -> bool {
        self.open().repeat(at, request)
            || self.make_way(now, |this| {
                let open = this.open();
                let at = open.find(&open.place(request.id))?;
                Some(open.repeat(at, request))
            })
    }
}

/// What happens to requests.
impl Open {
    /// The least memory for a table that can measure.
    pub(crate) const LEAST_BYTES: usize = 32 * Slots::MOST_SLOT_BYTES + Slots::END_BYTES;

    /// A table that grows to at most `bytes`, and the most entries that it may hold.
    pub(crate) fn bounded(bytes: usize, tags: u16, has_tokens: bool, gate: Gate) -> (Self, usize) {
        let slots = Slots::new(bytes, tags, has_tokens, gate);
        let most_slots = bytes.saturating_sub(Slots::END_BYTES) / slots.slot_bytes();
        (Self::new(slots, most_slots), Self::fitting(most_slots).1)
    }

    /// Bytes of a table of this many slots: those to which it can grow, rounded down as [`Open::most_slots`].
    pub(crate) fn bytes_of(slots: usize, tags: u16, has_tokens: bool) -> usize {
        // The larger the table, the larger a slot.
        let bytes = |slot: usize| slots.saturating_mul(slot).saturating_add(Slots::END_BYTES);
        let has_room = |&slot: &usize| Slots::new(bytes(slot), tags, has_tokens, Gate::OPEN).slot_bytes() <= slot;
        bytes((Slots::LEAST_SLOT_BYTES..Slots::MOST_SLOT_BYTES).find(has_room).unwrap_or(Slots::MOST_SLOT_BYTES))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full_with(0)
    }

    /// Whether it may fill up during the next batch.
    pub(crate) fn is_filling(&self) -> bool {
        self.is_full_with(BATCH)
    }

    /// Where a request with this id is, or would be inserted.
    #[inline]
    pub(crate) fn place(&self, id: ExchangeId) -> Place {
        self.place_of(self.slots().key(id))
    }

    /// The slot of the first request with the id of this place.
    #[inline]
    pub(crate) fn find(&self, place: &Place) -> Option<usize> {
        self.find_where(place, |slots, at| slots.get(at, Timestamp::from_nanos(0)).state != State::Last)
    }

    /// The slot of the last request with this key, if there were several.
    #[cold]
    fn find_last(&self, key: Key) -> Option<usize> {
        self.find_key(key, |slots, at| slots.get(at, Timestamp::from_nanos(0)).state == State::Last)
    }

    #[inline]
    fn get(&self, at: usize, now: Timestamp) -> Record {
        self.slots().get(at, now)
    }

    /// Overwrites an entry by another one with the same id.
    #[inline]
    fn set(&mut self, at: usize, record: &Record) {
        let word = self.slots().word(at);
        self.slots_mut().set(at, word, record);
    }

    #[inline]
    fn put_record(&mut self, place: &Place, record: &Record) -> bool {
        let at = self.occupy(place);
        if let Some(at) = at {
            self.slots_mut().set(at, place.key().word, record);
        }
        at.is_some()
    }

    /// Inserts a request whose id is absent at the place of its id. False if there is no free slot within reach, which
    /// happens in tables that are almost full.
    #[inline]
    #[must_use]
    pub(crate) fn put(&mut self, place: &Place, request: &Event) -> bool {
        self.put_record(place, &record(request, State::Open))
    }

    /// Inserts a request from another table, and its last copy if it was repeated. False if there is no slot.
    #[must_use]
    pub(crate) fn take_in(&mut self, id: ExchangeId, first: &Record, last: Option<&Record>) -> bool {
        let place = self.place(id);
        iter::once(first).chain(last).all(|record| {
            while self.is_full() && self.grow() {}
            while !self.put_record(&place, record) {
                if !self.grow() {
                    return false;
                }
            }
            true
        })
    }

    /// The request in a slot.
    #[inline]
    pub(crate) fn look(&self, at: usize, now: Timestamp) -> Wait {
        let Record { at: first, tag, token, state } = self.get(at, now);
        let mut wait = Wait::new(now - first, tag, token, state.is_open());
        if state == State::Repeated
            && let Some(last) = self.find_last(self.key(at))
        {
            let last = self.get(last, now);
            // Both the first request and now are within ±39 h of the last one, but may be farther apart.
            let first = self.get(at, last.at).at;
            wait = Wait::new(now - first, tag, token, true);
            wait.repeat(now - last.at, last.token);
        }
        wait
    }

    /// Records a repetition of an open request. False if there is no slot.
    #[must_use]
    pub(crate) fn repeat(&mut self, at: usize, request: &Event) -> bool {
        let (key, last) = (self.key(at), record(request, State::Last));
        let first = Record { state: State::Repeated, ..self.get(at, request.at) };
        if let Some(before) = self.find_last(key) {
            self.set(before, &last);
            return true;
        }
        // The entry is marked first, since it may be moved.
        self.set(at, &first);
        self.put_record(&self.place_of(key), &last)
    }

    /// Replaces the entry of a request with the same id.
    pub(crate) fn replace(&mut self, at: usize, met: &Wait, request: &Event) {
        self.remove_last(at, met);
        self.set(at, &record(request, State::Open));
    }

    #[inline]
    fn remove_last(&mut self, at: usize, wait: &Wait) {
        if wait.is_repeated()
            && let Some(last) = self.find_last(self.key(at))
        {
            self.remove(last);
        }
    }

    /// Ends the wait of the request in this slot. The entry remains only if later equal requests are to be ignored.
    #[inline]
    pub(crate) fn close(&mut self, at: usize, wait: &Wait, now: Timestamp, repeat: Repeat) {
        self.remove_last(at, wait);
        match repeat {
            Repeat::Ambiguous => self.remove(at),
            Repeat::Ignored => self.set(at, &Record { state: State::Answered, ..self.get(at, now) }),
            Repeat::IgnoredInTick => self.set(at, &Record { state: State::Answered, at: now, ..self.get(at, now) }),
        }
    }

    /// Records that an equal request was ignored, from which on an answered one is remembered for another tick.
    #[inline]
    pub(crate) fn ignore(&mut self, at: usize, met: &Wait, now: Timestamp, repeat: Repeat) {
        if repeat == Repeat::IgnoredInTick && !met.is_open() {
            self.set(at, &Record { at: now, ..self.get(at, now) });
        }
    }

    /// Removes entries for which `keep` is false. The last of equal requests is passed to it like the first, with the
    /// same age, but is not open.
    pub(crate) fn retain(&mut self, now: Timestamp, mut keep: impl FnMut(&Slots, usize, &Wait) -> bool) {
        self.retain_slots(|open, at| keep(open.slots(), at, &open.look(at, now)));
    }

    /// Counts all open requests: as expired if they are older than the expiry, else as pending.
    pub(crate) fn count_open(&self, fates: &mut [Fates], latest: Timestamp, expiry: Nanos) {
        for wait in self.occupied().map(|at| self.look(at, latest)).filter(Wait::is_open) {
            fates[usize::from(wait.tag)].wait(wait.has_expired(expiry));
        }
    }

    /// Whether looking ahead pays for this many events: a table beyond the cache has misses, which overlap if there are
    /// many.
    #[inline]
    pub(crate) fn is_far_for(&self, events: usize) -> bool {
        /// Fewer events are processed faster than all their places are computed.
        const FEW: usize = 8;
        events >= FEW && self.bytes() > CACHED_BYTES
    }
}

/// The record of a request that was just seen.
#[inline]
fn record(request: &Event, state: State) -> Record {
    Record { at: request.at, tag: request.tag, token: byte(request.token), state }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{request, response};
    use dwell_types::hash;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn packed(bytes: usize) -> (Open, usize) {
        Open::bounded(bytes, 5, true, Gate::new(1, 1.0))
    }

    fn find(open: &Open, id: ExchangeId) -> Option<usize> {
        open.find(&open.place(id))
    }

    /// Inserts a request into a table that may grow.
    fn put(open: &mut Open, request: &Event) {
        while (open.is_full() && open.grow()) || !open.put(&open.place(request.id), request) && open.grow() {}
    }

    /// Any sequence of requests, repeats, responses and scans leaves the same as a map of ids to first and last time.
    fn behaves_as_a_map(open: &mut Open, steps: &[(u64, u8)]) {
        let mut map = BTreeMap::new();
        for (now, &(number, action)) in (0..).zip(steps) {
            let (id, at) = (hash::finish(number), Timestamp::from_nanos(now));
            let event = Event { tag: (number % 5) as u16, token: number as u32 % 7, ..request(id, now) };
            match (action, find(open, event.id)) {
                (0..3, None) => {
                    put(open, &event);
                    map.insert(number, (now, now));
                }
                (0, Some(slot)) => {
                    let met = open.look(slot, at);
                    open.replace(slot, &met, &event);
                    map.insert(number, (now, now));
                }
                (1..3, Some(slot)) => {
                    assert!(open.repeat(slot, &event));
                    map.entry(number).and_modify(|times| times.1 = now);
                }
                (3, Some(slot)) => {
                    let wait = open.look(slot, at);
                    open.close(slot, &wait, at, Repeat::Ambiguous);
                    map.remove(&number);
                }
                (4, _) if number % 16 == 0 => {
                    open.retain(at, |_, _, wait| wait.since_last.get() < 50);
                    map.retain(|_, &mut (_, last)| now - last < 50);
                }
                _ => (),
            }
        }
        let now = Timestamp::from_nanos(steps.len() as i64);
        for (&number, &(first, last)) in &map {
            let found = find(open, ExchangeId(hash::finish(number))).map(|slot| open.look(slot, now));
            let times =
                found.map(|wait| (now.as_nanos() - wait.since_first.get(), now.as_nanos() - wait.since_last.get()));
            assert_eq!(times, Some((first, last)), "{number}");
            assert_eq!(found.map(|wait| wait.tag), Some((number % 5) as u16));
        }
        let mut fates = [Fates::default(); 5];
        open.count_open(&mut fates, now, Nanos::new(i64::MAX));
        assert_eq!(fates.iter().map(|fates| fates.pending).sum::<u64>(), map.len() as u64);
    }

    proptest! {
        #[test]
        fn tables_behave_as_maps(steps in prop::collection::vec((0u64..3_000, 0u8..6), 1..6_000)) {
            behaves_as_a_map(&mut packed(1 << 20).0, &steps);
        }
    }

    /// Tables of every size hold the promised number of entries, in no more bytes than given, while four times as many
    /// pass through.
    #[test]
    fn full_tables_turn_nobody_away() {
        for kib in [2, 16, 100, 1_000] {
            let (mut open, room) = packed(kib << 10);
            assert!(room as f64 > 0.91 * (kib << 10) as f64 / 14.0, "{room} in {kib} KiB");
            let mut lost = 0;
            for i in 0..4 * room as u64 {
                if let Some(gone) = i.checked_sub(room as u64)
                    && let Some(at) = find(&open, ExchangeId(hash::finish(gone)))
                {
                    let now = Timestamp::from_nanos(0);
                    let wait = open.look(at, now);
                    open.close(at, &wait, now, Repeat::Ambiguous);
                }
                while open.is_full() && open.grow() {}
                let request = request(hash::finish(i), 0);
                lost += u32::from(!open.put(&open.place(request.id), &request));
            }
            assert!(open.bytes() <= kib << 10, "{} of {kib} KiB", open.bytes());
            assert!(f64::from(lost) < 0.001 * room as f64, "{lost} of {room}");
        }
    }

    /// With as few key bits as in a large table, each of 4 million absent ids is found with probability 2⁻²⁸: more than
    /// 3 of them by chance for 2·10⁻⁹ of all seeds. Tags alone, the control that must fail, match 251,000, with a
    /// standard deviation of 490, a hundred of which are allowed.
    #[test]
    fn absent_ids_are_not_found() {
        let (mut open, _) = packed(1 << 20);
        (0..40_000).for_each(|i| put(&mut open, &request(hash::finish(i), 0)));
        let absent: Vec<Event> = (0..4_000_000).map(|i| response(hash::finish(1 << 40 | i), 0)).collect();
        let are_few = |found: usize| found <= 3;
        assert!(are_few(absent.iter().filter(|event| find(&open, event.id).is_some()).count()));
        let mut kept = 0;
        absent.chunks(BATCH).for_each(|batch| _ = open.look_ahead(batch, |_, is_kept| kept += usize::from(is_kept)));
        assert!(!are_few(kept) && kept < 300_000, "{kept}: 16 fingerprints at most, and 1 of 255 fits each");
    }

    /// A slot takes 12 bytes, fingerprint included, in small tables, and 13 in 32 MiB, the share of acknowledgements in 64; ids
    /// of handshakes with equal upper halves are told apart.
    #[test]
    fn slots_are_small() {
        let slot_bytes = |bytes, tags, has_tokens| Slots::new(bytes, tags, has_tokens, Gate::OPEN).slot_bytes();
        assert_eq!((slot_bytes(1 << 14, 1, false), slot_bytes(1 << 20, 1, false)), (12, 13));
        assert_eq!((slot_bytes(32 << 20, 1, false), slot_bytes(8 << 20, 3, true)), (13, 14));
        assert_eq!(slot_bytes(64 << 20, u16::MAX, true), Slots::MOST_SLOT_BYTES);
        let (mut open, _) = packed(1 << 20);
        for i in 0..60_000 {
            let id = hash::finish(i / 3) & !(u64::MAX >> 32) | hash::finish(i) & (u64::MAX >> 32);
            assert_eq!(find(&open, ExchangeId(id)), None, "{i}");
            put(&mut open, &request(id, 0));
        }
    }

    /// The age of a request after this delay.
    fn age(open: &mut Open, first: i64, delay: i64) -> Option<i64> {
        put(open, &request(1, first));
        let slot = find(open, ExchangeId(1))?;
        Some(open.look(slot, Timestamp::from_nanos(first + delay)).since_last.get())
    }

    /// Ages are correct within ±39 h, whatever the clock.
    #[test]
    fn times_wrap_and_may_go_backwards() {
        for (first, delay) in [((1 << 48) - 10, 1 << 30), (-5, 100), (1_700_000_000_000_000_000, -6_219_000), (0, 0)] {
            assert_eq!(age(&mut packed(1 << 14).0, first, delay), Some(delay));
        }
    }

    /// The stored rank is at most the true one, and less than one part in 500 below it.
    #[test]
    fn ranks_are_rounded_down() {
        for i in 0..10_000 {
            let (mut open, id) = (packed(1 << 11).0, ExchangeId(hash::finish(i) >> (i % 40)));
            put(&mut open, &request(id.0, 0));

            let (rank, stored) = (Gate::new(1, 1.0).rank(id), find(&open, id).map(|at| open.slots().rank(at)));
            assert!(stored.is_some_and(|stored| stored <= rank && rank - stored <= rank / 512), "{rank} {stored:?}");
        }
    }
}
