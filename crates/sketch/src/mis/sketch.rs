use super::eras::{Eras, Place};
use super::tuning::Tuning;
use super::{Ladder, LadderError};
use crate::parts::array::{ArraySlot, count_open, count_overwritten};
use crate::parts::batch::{BATCH, CACHED_BYTES, prefetch};
use crate::parts::lapse::Swept;
use crate::parts::repeats::Meets;
use crate::{Event, Fates, Gate, Meter, Sample, Structure, Terms};
use dwell_types::{Timestamp, hash};
use std::fmt;

/// Why the parameters are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MisError {
    /// A fingerprint has 1 to 32 bits.
    FingerprintBits(u32),
    /// Slot numbers have 32 bits.
    Slots(u64),
    /// The ladder is invalid.
    Ladder(LadderError),
}

impl fmt::Display for MisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FingerprintBits(bits) => write!(f, "a fingerprint has 1 to 32 bits, not {bits}"),
            Self::Ladder(error) => error.fmt(f),
            Self::Slots(slots) => write!(f, "the fridges have at most 2^32 - 1 slots together, not {slots}"),
        }
    }
}

impl std::error::Error for MisError {}

/// Fridges that share a stream: multiple importance sampling.
#[derive(Clone, Debug)]
pub struct Mis {
    terms: Terms,
    eras: Eras,
    /// Open with probability *R*.
    gate: Gate,
    slots: Vec<Slot>,
    /// Requests inserted so far, into all fridges; wraps. And up to the last search for lifetimes.
    inserted: u32,
    looked: u32,
    tuning: Option<Box<Tuning>>,
    fates: Vec<Fates>,
    latest: Timestamp,
}

/// An entry of any fridge.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    waiting: ArraySlot,
    /// Insertion counter after the last equal request.
    inserted: u32,
}

impl Mis {
    /// Bytes per slot.
    pub const SLOT_BYTES: usize = size_of::<Slot>();
    /// Most bytes besides the slots for fridges that search their lifetimes.
    pub(crate) const REST_BYTES: usize = Eras::BYTES + size_of::<Tuning>();

    /// Empty fridges with fingerprints of 1 to 32 bits.
    pub fn new(ladder: Ladder, fingerprint_bits: u32, terms: Terms) -> Result<Self, MisError> {
        if !(1..=32).contains(&fingerprint_bits) {
            return Err(MisError::FingerprintBits(fingerprint_bits));
        }
        let slots: u64 = ladder.rungs().iter().map(|rung| u64::from(rung.slots)).sum();
        let slots = u32::try_from(slots).map_err(|_| MisError::Slots(slots))?;
        Ok(Self {
            terms,
            gate: Gate::new(hash::word(terms.seed, 2), ladder.probability()),
            slots: vec![Slot::default(); slots as usize],
            inserted: 0,
            looked: 0,
            tuning: None,
            fates: Fates::none(terms.tags),
            latest: Timestamp::MIN,
            eras: Eras::new(ladder, fingerprint_bits, terms.seed),
        })
    }

    /// Empty fridges that search their lifetimes while they run, by least predicted variance
    /// ([`Ladder::least_variance`]); they begin as [`Ladder::spread`].
    pub fn adaptive(slots: u32, fingerprint_bits: u32, terms: Terms) -> Result<Self, MisError> {
        let ladder = Ladder::spread(slots).map_err(MisError::Ladder)?;
        let tuning = Some(Box::new(Tuning::new(slots, terms.expiry)));
        Ok(Self { tuning, ..Self::new(ladder, fingerprint_bits, terms)? })
    }

    /// Slots of all fridges.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Bits of the fingerprints.
    pub fn fingerprint_bits(&self) -> u32 {
        self.eras.fingerprint_bits()
    }

    /// The present fridges.
    pub fn ladder(&self) -> &Ladder {
        self.eras.present()
    }

    /// Processes one event; returns a sample if it is a response that finds its request.
    #[inline]
    fn take(&mut self, event: &Event) -> Option<Sample> {
        if self.gate.admits(event.id) {
            return self.admit(event);
        }
        let fates = &mut self.fates[usize::from(event.tag)];
        if event.is_request {
            fates.turn_away();
        } else {
            fates.respond(false);
        }
        None
    }

    #[inline(never)]
    fn admit(&mut self, event: &Event) -> Option<Sample> {
        if event.is_request {
            self.request(event);
            return None;
        }
        let sample = self.response(event);
        self.fates[usize::from(event.tag)].respond(sample.is_some());
        sample
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        self.latest = self.latest.max(request.at);
        let Place { at, fingerprint } = self.eras.place(request.id);
        let slot = &mut self.slots[at];
        match slot.waiting.meets(fingerprint, request.at, &self.terms) {
            Meets::Ignorable => (),
            Meets::Open => {
                slot.waiting.repeat(request);
                slot.inserted = self.inserted;
                self.fates[slot.waiting.tag()].repeat();
            }
            Meets::Other => {
                if let Some(tuning) = &mut self.tuning {
                    tuning.scouts.request(request.id, request.at);
                }
                self.inserted = self.inserted.wrapping_add(1);
                count_overwritten(&mut self.fates, &slot.waiting, request.at, self.terms.expiry);
                *slot = Slot { waiting: ArraySlot::new(fingerprint, request), inserted: self.inserted };
                self.fates[usize::from(request.tag)].seen += 1;
            }
        }
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        self.latest = self.latest.max(response.at);
        if let Some(tuning) = &mut self.tuning {
            tuning.scouts.response(response.id, response.at);
        }
        let slots = &self.slots;
        let (era, Place { at, .. }) = self.eras.find(response.id, |Place { at, fingerprint }| {
            let slot = &slots[at];
            slot.waiting.awaits(fingerprint).then_some(slot.inserted)
        })?;
        let slot = &mut self.slots[at];
        let found = *slot;
        slot.waiting.close(self.terms.repeat);
        let fates = &mut self.fates[found.waiting.tag()];
        if found.waiting.is_older(response.at, self.terms.expiry) {
            fates.expired += 1;
            return None;
        }
        let (mut sample, is_resolved) = found.waiting.sample(response);
        fates.answer(is_resolved);
        sample.inserted_since = u64::from(self.inserted.wrapping_sub(found.inserted));
        let weight = self.eras.weight(era, found.inserted, self.inserted);
        if let Some(tuning) = &mut self.tuning {
            tuning.sample(self.eras.offered_since(era, found.inserted, self.inserted), weight);
        }
        Some(sample.weighted(weight))
    }

    /// Searches new lifetimes, if it is time to.
    #[inline]
    fn tune(&mut self) {
        let Some(tuning) = &mut self.tuning else { return };
        // Derived from the number of insertions.
        let offered = f64::from(self.inserted.wrapping_sub(self.looked)) / self.eras.present().probability();
        if tuning.is_due(offered) {
            self.look(offered);
        }
    }

    #[cold]
    fn look(&mut self, offered: f64) {
        let Some(tuning) = &mut self.tuning else { return };
        self.looked = self.inserted;
        self.eras.forget(self.inserted);
        if let Some(ladder) = tuning.choose(self.eras.present(), offered, self.latest) {
            self.gate = self.gate.with_probability(ladder.probability());
            tuning.scouts.leave_to(self.gate, self.latest);
            self.eras.begin(ladder, self.inserted);
        }
    }

    /// Prefetches the slots of admitted events, so that the cache misses of a batch overlap.
    fn prefetch(&self, events: &[Event]) {
        let admitted = events.iter().filter(|event| self.gate.admits(event.id));
        admitted.for_each(|event| prefetch(&self.slots[self.eras.place(event.id).at]));
    }
}

impl Swept for Mis {
    fn latest(&mut self) -> &mut Timestamp {
        &mut self.latest
    }

    /// Frees the slots of expired requests.
    fn drop_old(&mut self, now: Timestamp) {
        let (expiry, fates) = (self.terms.expiry, &mut self.fates);
        self.slots.iter_mut().for_each(|slot| slot.waiting.let_go_if_old(now, expiry, fates));
    }
}

impl Meter for Mis {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        if let (Some(tuning), Some(first)) = (&mut self.tuning, events.first()) {
            tuning.begin(first.at);
        }
        self.take_parts(events, |this, part| {
            for batch in part.chunks(BATCH) {
                if size_of_val(&this.slots[..]) > CACHED_BYTES {
                    this.prefetch(batch);
                }
                for event in batch {
                    samples.extend(this.take(event));
                }
            }
        });
        // Only now, since the caller may have filtered these events by the previous gate.
        self.tune();
    }

    fn advance(&mut self, now: Timestamp) {
        self.pass(now);
    }

    fn gate(&self) -> Gate {
        self.gate
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        count_open(&mut fates, self.slots.iter().map(|slot| &slot.waiting), self.latest, self.terms.expiry);
        fates
    }

    fn structure(&self) -> Structure {
        Structure::Fridge {
            slots: self.slots(),
            entry_probability: self.ladder().probability(),
            fingerprint_bits: self.fingerprint_bits(),
        }
    }

    fn growing_bytes(&self) -> Option<usize> {
        // Earlier fridges are added when the search has found others.
        self.tuning.as_ref().map(|_| self.state_bytes() - self.fates.capacity() * size_of::<Fates>())
    }

    fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + self.eras.bytes()
            + self.tuning.as_ref().map_or(0, |_| size_of::<Tuning>())
            + self.fates.capacity() * size_of::<Fates>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rung;
    use super::*;
    use crate::test_support::{assert_has_all_fates, beside_exact, request, response, terms};
    use dwell_types::{ExchangeId, Match, Nanos};

    fn mis(rungs: &[(u32, f64)], matching: Match) -> Mis {
        let rungs = rungs.iter().map(|&(slots, probability)| Rung { slots, probability }).collect();
        Mis::new(Ladder::new(rungs).unwrap(), 32, terms(matching, Nanos::from_secs(100))).unwrap()
    }

    #[test]
    fn a_slot_has_24_bytes() {
        assert_eq!(Mis::SLOT_BYTES, 24);
        let mis = mis(&[(100, 0.25), (50, 0.5)], Match::Dns);
        assert_eq!(mis.state_bytes(), 150 * 24 + mis.eras.bytes() + 2 * size_of::<Fates>());
    }

    /// In fridges that are large enough and admit everything, every sample equals that of the exact table, except for
    /// its weight, which is 1 up to the probability that something was lost.
    #[test]
    fn with_room_it_is_exact() {
        for matching in [Match::Dns, Match::TcpHandshake, Match::TcpTs] {
            let mut mis = mis(&[(1 << 21, 0.5), (1 << 20, 0.25), (1 << 20, 0.25)], matching);
            let (mut found, expected) = beside_exact(&mut mis, matching);
            assert!(found.iter().all(|sample| sample.weight < 1.0001 && sample.inserted_since <= 8));
            found.iter_mut().for_each(|sample| *sample = Sample { inserted_since: 0, ..sample.weighted(1.0) });
            assert_eq!(found, expected, "{matching:?}");
        }
    }

    /// Each fridge takes its share of the admitted ids: of 10⁵, 6 standard deviations (2·10⁻⁹ each) are at most 950.
    /// Shares by slots must fail.
    #[test]
    fn shares_are_met() {
        let mis = mis(&[(64, 0.3), (1_000, 0.15), (128, 0.05)], Match::Dns);
        let mut seen = [0.0; 4];
        for i in 0..100_000 {
            let id = ExchangeId(hash::finish(i));
            let rung = mis.ladder().rung_at(mis.eras.place(id).at as u32).unwrap();
            seen[if mis.gate().admits(id) { rung } else { 3 }] += 1.0;
        }
        let are_near =
            |expected: [f64; 4]| seen.iter().zip(expected).all(|(seen, expected)| (seen - expected).abs() < 950.0);
        assert!(are_near([30_000.0, 15_000.0, 5_000.0, 50_000.0]), "{seen:?}");
        let by_slots = |slots: f64| 50_000.0 * slots / 1_192.0;
        assert!(!are_near([by_slots(64.0), by_slots(1_000.0), by_slots(128.0), 50_000.0]));
    }

    #[test]
    fn every_request_has_one_fate() {
        for matching in [Match::Dns, Match::TcpTs] {
            let mut mis = mis(&[(30, 0.4), (70, 0.2)], matching);
            let mut samples = Vec::new();
            for i in 0..50_000u64 {
                let at = i as i64 * 1_000;
                let asked = request(hash::finish(i - i % 7 % 3), at);
                let answered = response(hash::finish(i.saturating_sub(30 + i % 3)), at + 500);
                mis.update(&[Event { tag: (i % 2) as u16, ..asked }, Event { tag: 1, ..answered }], &mut samples);
            }
            assert_has_all_fates(&mis);
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let terms = terms(Match::Dns, Nanos::from_secs(1));
        let ladder = |slots| Ladder::new(vec![Rung { slots, probability: 0.5 }; 2]).unwrap();
        assert_eq!(Mis::new(ladder(2), 0, terms).unwrap_err(), MisError::FingerprintBits(0));
        assert_eq!(Mis::new(ladder(2), 33, terms).unwrap_err(), MisError::FingerprintBits(33));
        assert_eq!(Mis::new(ladder(1 << 31), 32, terms).unwrap_err(), MisError::Slots(1 << 32));
    }
}
