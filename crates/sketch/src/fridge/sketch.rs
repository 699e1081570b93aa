use super::{EntryProbability, Profile};
use crate::exact::Open;
use crate::repeats::{Tokens, byte};
use crate::{Exchanges, Fates, Meter, Sample};
use dwell_types::{ExchangeId, Nanos, Repeat, Sighting, Timestamp, hash};
use std::fmt;

/// What a fridge is built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// *M*, at least 2.
    pub slots: u32,
    /// Bits of the id's hash that an entry keeps, `1..=32`.
    pub fingerprint_bits: u32,
    /// *p*, or `None` to find it while running.
    pub entry_probability: Option<f64>,
}

/// Why a fridge cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FridgeError {
    /// Survival can only be judged by what happens to other slots: at least two are needed.
    Slots(u32),
    /// A fingerprint has 1 to 32 bits.
    FingerprintBits(u32),
    /// A probability lies above 0 and up to 1.
    EntryProbability(f64),
}

impl fmt::Display for FridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slots(slots) => write!(f, "a fridge needs at least 2 slots, not {slots}"),
            Self::FingerprintBits(bits) => write!(f, "a fingerprint has 1 to 32 bits, not {bits}"),
            Self::EntryProbability(p) => write!(f, "an entry probability is above 0 and at most 1, not {p}"),
        }
    }
}

impl std::error::Error for FridgeError {}

/// An (*M*, *p*)-fridge.
#[derive(Clone, Debug)]
pub struct Fridge {
    exchanges: Exchanges,
    slots: Vec<Slot>,
    /// Requests inserted so far; wraps.
    inserted: u32,
    fingerprint_mask: u32,
    fingerprint_bits: u32,
    slot_hash: u64,
    entry_hash: u64,
    /// −ln(1 − 1/*M*).
    decay: f64,
    probability: EntryProbability,
    /// Cached from `probability`.
    threshold: u64,
    is_fixed: bool,
    profile: Profile,
    /// Offered requests after which *p* is chosen anew.
    window: u64,
    fates: Vec<Fates>,
    latest: Timestamp,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Slot {
    fingerprint: u32,
    inserted: u32,
    /// Time of the first request: nanoseconds modulo 2⁴⁸; step of the entry probability in bits 48..56; flags above.
    first: u64,
    /// Time from the first to the last equal request, in units of 2⁶ ns, rounded down; saturates at 275 s.
    repeated_after: u32,
    tag: u16,
    tokens: Tokens,
}

const TIME_BITS: u32 = 48;
const TIME: u64 = (1 << TIME_BITS) - 1;
/// The entry waits for its response.
const OPEN: u64 = 1 << 56;
/// The entry was answered; kept to recognise equal requests.
const ANSWERED: u64 = 1 << 57;
/// The request was repeated.
const REPEATED: u64 = 1 << 58;
const REPEAT_UNIT_BITS: u32 = 6;
/// Choices of *p* come after this many offered requests at first, then ever later.
const FIRST_WINDOW: u64 = 1 << 10;
const LAST_WINDOW: u64 = 1 << 17;

impl Slot {
    #[inline]
    fn time_to(&self, at: Timestamp) -> Nanos {
        let difference = (at.as_nanos() as u64).wrapping_sub(self.first) << (64 - TIME_BITS);
        Nanos::new(difference as i64 >> (64 - TIME_BITS))
    }

    /// Time from the first to the last equal request.
    #[inline]
    fn repeated_after(&self) -> Nanos {
        Nanos::new(i64::from(self.repeated_after) << REPEAT_UNIT_BITS)
    }

    #[inline]
    fn has(&self, flag: u64) -> bool {
        self.first & flag != 0
    }

    #[inline]
    fn step(&self) -> u8 {
        (self.first >> TIME_BITS) as u8
    }
}

impl Fridge {
    /// Bytes per slot.
    pub const SLOT_BYTES: usize = size_of::<Slot>();

    /// An empty fridge.
    pub fn new(params: Params, exchanges: Exchanges) -> Result<Self, FridgeError> {
        let fixed = match params.entry_probability {
            None => None,
            Some(p) => Some(EntryProbability::fixed(p).ok_or(FridgeError::EntryProbability(p))?),
        };
        if params.slots < 2 {
            return Err(FridgeError::Slots(params.slots));
        }
        if !(1..=32).contains(&params.fingerprint_bits) {
            return Err(FridgeError::FingerprintBits(params.fingerprint_bits));
        }
        let probability = fixed.unwrap_or(EntryProbability::ONE);
        Ok(Self {
            exchanges,
            slots: vec![Slot::default(); params.slots as usize],
            inserted: 0,
            fingerprint_mask: u32::MAX >> (32 - params.fingerprint_bits),
            fingerprint_bits: params.fingerprint_bits,
            slot_hash: hash::start(hash::word(exchanges.seed, 1)),
            entry_hash: hash::start(hash::word(exchanges.seed, 2)),
            decay: decay(params.slots),
            probability,
            threshold: probability.threshold(),
            is_fixed: fixed.is_some(),
            profile: Profile::new(),
            window: FIRST_WINDOW,
            fates: vec![Fates::default(); usize::from(exchanges.tags)],
            latest: Timestamp::from_nanos(i64::MIN),
        })
    }

    /// *M*.
    pub fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Bits of a fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }

    /// The present *p*.
    pub fn entry_probability(&self) -> EntryProbability {
        self.probability
    }

    /// Starts with what another method has learnt of rate and delays, and with the probability chosen from it.
    pub(crate) fn start(&mut self, profile: Profile, probability: EntryProbability) {
        self.profile = profile;
        self.probability = probability;
        self.threshold = probability.threshold();
        self.window = LAST_WINDOW;
    }

    /// Changes the number of slots of a fridge that is still empty.
    pub(crate) fn resize(&mut self, slots: u32) {
        self.slots = vec![Slot::default(); slots as usize];
        self.decay = decay(slots);
    }

    /// Continues another method's counts.
    pub(crate) fn count_on(&mut self, fates: Vec<Fates>) {
        self.fates = fates;
    }

    /// Takes over a request that was counted as seen already and that this fridge admits.
    pub(crate) fn adopt(&mut self, open: &Open) {
        self.latest = self.latest.max(open.last);
        let (at, fingerprint) = self.place(ExchangeId(open.id));
        let after = open.last - open.first;
        self.overwrite(
            at,
            Slot {
                fingerprint,
                inserted: 0,
                first: self.stamp(open.first) | if open.repeats > 0 { REPEATED } else { 0 },
                repeated_after: in_repeat_units(after),
                tag: open.tag,
                tokens: open.tokens,
            },
        );
    }

    #[inline]
    pub(crate) fn admits(&self, id: ExchangeId) -> bool {
        hash::word(self.entry_hash, id.0) <= self.threshold
    }

    #[inline]
    fn place(&self, id: ExchangeId) -> (usize, u32) {
        let hash = hash::word(self.slot_hash, id.0);
        let at = hash::index((hash >> 32) as u32, self.slots.len() as u32) as usize;
        (at, hash as u32 & self.fingerprint_mask)
    }

    #[inline]
    fn stamp(&self, at: Timestamp) -> u64 {
        at.as_nanos() as u64 & TIME | u64::from(self.probability.step()) << TIME_BITS | OPEN
    }

    /// Inserts an entry over whatever is there.
    #[inline]
    fn overwrite(&mut self, at: usize, mut entry: Slot) {
        let old = self.slots[at];
        if old.has(OPEN) {
            let is_expired = self.age(&old) > self.exchanges.expiry;
            let fates = &mut self.fates[usize::from(old.tag)];
            *(if is_expired { &mut fates.expired } else { &mut fates.evicted }) += 1;
        }
        self.inserted = self.inserted.wrapping_add(1);
        entry.inserted = self.inserted;
        self.slots[at] = entry;
    }

    /// Time since the last equal request.
    #[inline]
    fn age(&self, slot: &Slot) -> Nanos {
        Nanos::new(slot.time_to(self.latest).get() - slot.repeated_after().get())
    }

    /// A request with the fingerprint of the entry in its slot. True if that settles it.
    #[cold]
    fn repeat(&mut self, at: usize, request: &Sighting) -> bool {
        let slot = self.slots[at];
        if self.age(&slot) > self.exchanges.expiry {
            return false;
        }
        match self.exchanges.repeat {
            Repeat::Ignored => true,
            Repeat::Ambiguous if slot.has(ANSWERED) => false,
            Repeat::Ambiguous => {
                let fates = &mut self.fates[usize::from(slot.tag)];
                fates.seen += 1;
                fates.ambiguous += 1;
                let step = self.stamp(request.at) & !TIME;
                let inserted = self.inserted;
                let slot = &mut self.slots[at];
                slot.repeated_after = in_repeat_units(slot.time_to(request.at));
                slot.first = slot.first & TIME | step | REPEATED;
                slot.tokens.last = byte(request.token);
                slot.inserted = inserted;
                true
            }
        }
    }

    #[cold]
    fn choose(&mut self) {
        self.probability = self.profile.choose(self.slots(), self.probability, self.exchanges.expiry);
        self.threshold = self.probability.threshold();
        self.window = (self.window * 2).min(LAST_WINDOW);
    }

    /// One over the probability that an entry that entered under `step` survived `inserted_since` insertions.
    #[inline]
    fn weight(&self, step: u8, inserted_since: u32) -> f64 {
        (self.decay * f64::from(inserted_since)).exp() / self.probability.at_step(step)
    }
}

/// −ln(1 − 1/*M*).
fn decay(slots: u32) -> f64 {
    -(-1.0 / f64::from(slots)).ln_1p()
}

fn in_repeat_units(span: Nanos) -> u32 {
    u32::try_from(span.get().max(0) >> REPEAT_UNIT_BITS).unwrap_or(u32::MAX)
}

impl Meter for Fridge {
    #[inline]
    fn request(&mut self, request: &Sighting, tag: u16) {
        self.latest = self.latest.max(request.at);
        if !self.is_fixed && self.profile.offer(request.at) >= self.window {
            self.choose();
        }
        if !self.admits(request.id) {
            let fates = &mut self.fates[usize::from(tag)];
            fates.seen += 1;
            fates.not_admitted += 1;
            return;
        }
        let (at, fingerprint) = self.place(request.id);
        let there = &self.slots[at];
        if there.fingerprint == fingerprint && there.has(OPEN | ANSWERED) && self.repeat(at, request) {
            return;
        }
        self.fates[usize::from(tag)].seen += 1;
        let entry = Slot {
            fingerprint,
            inserted: 0,
            first: self.stamp(request.at),
            repeated_after: 0,
            tag,
            tokens: Tokens::new(request.token),
        };
        self.overwrite(at, entry);
    }

    #[inline]
    fn response(&mut self, response: &Sighting, tag: u16) -> Option<Sample> {
        self.latest = self.latest.max(response.at);
        let (at, fingerprint) = self.place(response.id);
        let fates = &mut self.fates[usize::from(tag)];
        fates.responses += 1;
        let slot = self.slots[at];
        let since_first = slot.time_to(response.at);
        let since_last = Nanos::new(since_first.get() - slot.repeated_after().get());
        if slot.fingerprint != fingerprint || !slot.has(OPEN) || since_last > self.exchanges.expiry {
            fates.unmatched += 1;
            return None;
        }
        self.slots[at].first ^= OPEN | ANSWERED;
        let inserted_since = self.inserted.wrapping_sub(slot.inserted);
        let mut sample = Sample {
            at: response.at,
            since_first,
            since_last,
            weight: self.weight(slot.step(), inserted_since),
            inserted_since: u64::from(inserted_since),
            tag: slot.tag,
        };
        let fates = &mut self.fates[usize::from(slot.tag)];
        fates.matched += 1;
        if slot.has(REPEATED) {
            fates.resolved += u64::from(sample.resolve(slot.tokens.answered(response.token)));
        }
        if !self.is_fixed {
            self.profile.sample(sample.since_first, sample.weight);
        }
        Some(sample)
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        for slot in self.slots.iter().filter(|s| s.has(OPEN)) {
            let fates = &mut fates[usize::from(slot.tag)];
            *(if self.age(slot) > self.exchanges.expiry { &mut fates.expired } else { &mut fates.pending }) += 1;
        }
        fates
    }

    fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + size_of::<Profile>() + self.fates.capacity() * size_of::<Fates>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{exchanges, sighting};
    use dwell_types::Match;

    fn fridge(slots: u32, p: Option<f64>, matching: Match) -> Fridge {
        let params = Params { slots, fingerprint_bits: 32, entry_probability: p };
        Fridge::new(params, exchanges(matching, Nanos::from_secs(100))).unwrap()
    }

    #[test]
    fn a_slot_has_24_bytes() {
        assert_eq!(Fridge::SLOT_BYTES, 24);
    }

    #[test]
    fn weights_follow_the_insertions_strictly_between() {
        let mut fridge = fridge(1 << 16, Some(1.0), Match::Dns);
        fridge.request(&sighting(1, 0), 0);
        for id in 0..100 {
            fridge.request(&sighting(1_000 + id, 10), 1);
        }
        let sample = fridge.response(&sighting(1, 5_000), 0).unwrap();
        assert_eq!((sample.inserted_since, sample.since_first.get()), (100, 5_000));
        assert!((sample.weight - (1.0f64 - 1.0 / 65_536.0).powi(-100)).abs() < 1e-9);
        fridge.request(&sighting(7, 20), 0);
        assert_eq!(fridge.response(&sighting(7, 30), 0).unwrap().weight, 1.0);
        assert_eq!(fridge.response(&sighting(7, 40), 0), None, "answered once");
        assert!(fridge.fates().iter().all(Fates::is_conserved));
    }

    #[test]
    fn times_wrap_and_may_go_backwards() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::Dns);
        for (id, first, delay) in
            [(1, (1 << 48) - 10, 1 << 30), (2, -5, 100), (3, 1_700_000_000_000_000_000, -6_219_000), (4, 0, 0)]
        {
            fridge.request(&sighting(id, first), 0);
            let sample = fridge.response(&sighting(id, first + delay), 0).unwrap();
            assert_eq!(sample.since_first.get(), delay);
        }
    }

    #[test]
    fn repeated_requests_keep_both_bounds() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::TcpHandshake);
        fridge.request(&Sighting { token: 5, ..sighting(1, 0) }, 0);
        fridge.request(&sighting(2, 0), 0);
        fridge.request(&Sighting { token: 6, ..sighting(1, 1 << 30) }, 0);
        let mut named = fridge.clone();
        let sample = fridge.response(&sighting(1, 3 << 30), 0).unwrap();
        assert_eq!((sample.since_first.get(), sample.since_last.get()), (3 << 30, 2 << 30));
        assert_eq!(sample.inserted_since, 0, "counted from the last request");
        let sample = named.response(&Sighting { token: 5, ..sighting(1, 3 << 30) }, 0).unwrap();
        assert_eq!((sample.since_first.get(), sample.is_ambiguous()), (3 << 30, false));
        assert_eq!((named.fates()[0].ambiguous, named.fates()[0].resolved), (1, 1));
        assert!(named.fates()[0].is_conserved());
    }

    #[test]
    fn every_request_has_one_fate() {
        let mut fridge = fridge(64, None, Match::Dns);
        for i in 0..200_000u64 {
            let at = i as i64 * 1_000;
            fridge.request(&sighting(hash::finish(i), at), (i % 2) as u16);
            if i >= 30 {
                fridge.response(&sighting(hash::finish(i - 30 - i % 3), at + 500), 1);
            }
        }
        let fates = fridge.fates();
        assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
        assert!(fates[0].matched > 1_000 && fates[0].evicted > 0 && fates[0].pending > 0, "{fates:?}");
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let exchanges = exchanges(Match::Dns, Nanos::from_secs(1));
        let good = Params { slots: 2, fingerprint_bits: 32, entry_probability: None };
        assert!(Fridge::new(good, exchanges).is_ok());
        for (params, error) in [
            (Params { slots: 1, ..good }, FridgeError::Slots(1)),
            (Params { fingerprint_bits: 33, ..good }, FridgeError::FingerprintBits(33)),
            (Params { fingerprint_bits: 0, ..good }, FridgeError::FingerprintBits(0)),
            (Params { entry_probability: Some(0.0), ..good }, FridgeError::EntryProbability(0.0)),
        ] {
            assert_eq!(Fridge::new(params, exchanges).unwrap_err(), error);
        }
    }
}
