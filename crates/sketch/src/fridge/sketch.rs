use super::censoring::Censoring;
use super::slot::{ANSWERED, OPEN, REPEATED, Slot};
use super::{EntryProbability, Profile};
use crate::repeats::{Tokens, byte};
use crate::{Event, Exchanges, Fates, Gate, Meter, Risk, Sample};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};
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
    /// Whether responses that do not find their entry count: the samples are then to be weighed with
    /// [`Meter::risk`].
    pub product_limit: bool,
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
    /// Requests inserted so far; entries keep the lower half.
    inserted: u64,
    fingerprint_bits: u32,
    /// Odd. An id is uniform already, so its product with this is a permutation of uniform values.
    slot_factor: u64,
    /// −ln(1 − 1/*M*).
    decay: f64,
    probability: EntryProbability,
    /// Open with this probability.
    gate: Gate,
    is_fixed: bool,
    /// Whether *p* is still 1 because there is room.
    is_filling: bool,
    profile: Profile,
    censoring: Option<Censoring>,
    /// Admitted requests from one choice of *p* to the next.
    window: u64,
    until_choice: u64,
    counts: Vec<Counts>,
    latest: Timestamp,
}

/// What happened to the requests and responses of one series.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Requests and responses; the index is "is a request".
    events: [u64; 2],
    inserted: u64,
    ignored: u64,
    ambiguous: u64,
    resolved: u64,
    evicted: u64,
    expired: u64,
    matched: u64,
    /// Responses of this series that found a request, of whatever series.
    answers: u64,
}

/// Everything enters until this share of the slots is taken, since nearly all of it survives; then the search for *p* begins.
const FILLED: u32 = 4;
/// The search's first choice comes after this many more requests offered, or admitted if that is sooner.
const FIRST_OFFERED: f64 = 1024.0;
const FIRST_ADMITTED: f64 = 64.0;
/// The later ones come ever later, up to as many admitted requests as there are slots, but at least these.
const LAST_WINDOW: u64 = 1 << 10;
/// So many cache misses overlap.
const BATCH: usize = 64;
/// 768 KiB.
const CACHED_SLOTS: usize = 1 << 15;

impl Fridge {
    /// Bytes per slot.
    pub const SLOT_BYTES: usize = size_of::<Slot>();
    /// Bytes that a product limit costs per series, and besides.
    pub(crate) const LIMIT_BYTES: (usize, usize) = (Censoring::SERIES_BYTES, Censoring::OWN_BYTES);

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
        let window = u64::from((params.slots / FILLED).max(1));
        Ok(Self {
            exchanges,
            slots: vec![Slot::default(); params.slots as usize],
            inserted: 0,
            fingerprint_bits: params.fingerprint_bits,
            slot_factor: hash::start(hash::word(exchanges.seed, 1)) | 1,
            decay: decay(params.slots),
            probability,
            gate: Gate::new(hash::word(exchanges.seed, 2), probability.value()),
            is_fixed: fixed.is_some(),
            profile: Profile::new(params.product_limit),
            censoring: params.product_limit.then(|| Censoring::new(usize::from(exchanges.tags), params.slots)),
            is_filling: true,
            window,
            until_choice: window,
            counts: vec![Counts::default(); usize::from(exchanges.tags)],
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

    fn search_from(&mut self, probability: EntryProbability) {
        self.set(probability);
        self.is_filling = false;
        self.window = (FIRST_OFFERED * probability.value()).clamp(1.0, FIRST_ADMITTED) as u64;
        self.until_choice = self.window;
    }

    fn set(&mut self, probability: EntryProbability) {
        let gate = self.gate.with_probability(probability.value());
        if let Some(censoring) = &mut self.censoring {
            censoring.change(self.gate, self.probability.value(), gate, self.inserted);
        }
        (self.probability, self.gate) = (probability, gate);
    }

    /// The slot where an id belongs, and its fingerprint: the upper and the lower half of one product.
    #[inline]
    fn place(&self, id: ExchangeId) -> (usize, u32) {
        let hash = id.0.wrapping_mul(self.slot_factor);
        let at = hash::index((hash >> 32) as u32, self.slots.len() as u32) as usize;
        (at, hash as u32 >> (32 - self.fingerprint_bits))
    }

    /// Whether the slots stay in a processor's own cache, so that nothing is gained by batches.
    #[inline]
    pub(crate) fn fits_cache(&self) -> bool {
        self.slots.len() <= CACHED_SLOTS
    }

    /// Touches the events' slots, so that the cache misses of a batch overlap.
    fn touch(&self, events: &[Event]) {
        let mut touched = 0;
        for event in events {
            let (at, _) = self.place(event.id);
            touched ^= self.slots[at].fingerprint();
        }
        std::hint::black_box(touched);
    }

    /// Takes one event; gives a sample if it is a response that finds its request.
    #[inline]
    pub(crate) fn take(&mut self, event: &Event) -> Option<Sample> {
        self.counts[usize::from(event.tag)].events[usize::from(event.is_request)] += 1;
        if !self.gate.admits(event.id) {
            return None;
        }
        if event.is_request {
            self.request(event);
            return None;
        }
        self.response(event)
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        self.latest = self.latest.max(request.at);
        let (at, fingerprint) = self.place(request.id);
        let old = self.slots[at];
        let step = self.probability.step();
        if old.fingerprint() == fingerprint && old.has(OPEN | ANSWERED) && self.is_repeat(old, request.at, request.tag)
        {
            if self.exchanges.repeat == Repeat::Ambiguous {
                self.slots[at] = old.repeated(self.inserted as u32, request.at, step, byte(request.token));
            }
            return;
        }
        self.inserted += 1;
        self.counts[usize::from(old.tag())].evicted += u64::from(old.has(OPEN));
        self.counts[usize::from(request.tag)].inserted += 1;
        self.slots[at] =
            Slot::new(fingerprint, self.inserted as u32, request.at, step, request.tag, Tokens::new(request.token));
        self.until_choice -= 1;
        if self.until_choice == 0 {
            self.choose();
        }
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        let (at, fingerprint) = self.place(response.id);
        let entry = self.slots[at];
        let is_own = entry.fingerprint() == fingerprint;
        if self.censoring.is_none() {
            if !is_own || !entry.has(OPEN) {
                return None;
            }
            self.slots[at] = entry.answered();
            // It had to pass the gate twice: when it entered, and now.
            let p = self.probability.at_step(entry.step().max(self.probability.step()));
            return self.answer(entry, response, p);
        }
        self.limited_response(response, at, is_own)
    }

    /// The same with a product limit, for which responses count that do not find their entry.
    fn limited_response(&mut self, response: &Event, at: usize, is_own: bool) -> Option<Sample> {
        let entry = self.slots[at];
        if is_own && entry.has(ANSWERED) {
            // The same response again.
            return None;
        }
        let censoring = self.censoring.as_mut()?;
        let p = censoring.probability(response.id, self.probability.value(), self.inserted)?;
        let exchanges = 1.0 / p;
        if !self.is_fixed {
            self.profile.respond(exchanges);
        }
        if !entry.has(OPEN | ANSWERED) {
            censoring.censor_free(response.tag, response.id, self.inserted, exchanges);
            return None;
        }
        let insertions = inserted_since(self.inserted, entry);
        if !is_own {
            censoring.censor(response.tag, insertions, exchanges);
            return None;
        }
        self.slots[at] = entry.answered();
        // The sample stands for responses, which passed the gate now, and not for requests, which passed it earlier.
        let sample = self.answer(entry, response, p);
        let censoring = self.censoring.as_mut()?;
        let Some(sample) = sample else {
            // One that is too slow to count.
            censoring.censor(response.tag, insertions, exchanges);
            return None;
        };
        Some(Sample { band: censoring.find(response.tag, insertions, exchanges), ..sample })
    }

    /// Whether a request with the fingerprint of an entry repeats it; counts it if so.
    #[cold]
    fn is_repeat(&mut self, entry: Slot, at: Timestamp, tag: u16) -> bool {
        if entry.is_expired(at, self.exchanges.expiry) {
            return false;
        }
        match self.exchanges.repeat {
            Repeat::Ignored => self.counts[usize::from(tag)].ignored += 1,
            Repeat::Ambiguous if entry.has(ANSWERED) => return false,
            Repeat::Ambiguous => self.counts[usize::from(tag)].ambiguous += 1,
        }
        true
    }

    /// Chooses *p* anew, unless it is fixed.
    #[cold]
    fn choose(&mut self) {
        if !self.is_fixed {
            self.profile.offer(self.latest, self.window as f64 / self.probability.value());
            let slots = self.slots();
            if self.is_filling {
                // Only the fastest were answered so far: they say nothing about the others.
                self.profile = Profile::new(self.censoring.is_some());
                return self.search_from(EntryProbability::cautious(slots, self.window as f64));
            }
            let chosen = self.profile.choose(slots, self.probability, self.exchanges.expiry);
            self.set(chosen);
        }
        self.window = (self.window * 2).min(LAST_WINDOW.max(u64::from(self.slots())));
        self.until_choice = self.window;
    }

    /// The sample of a response that found its request, unless that has expired; `p` is the probability that the gate let
    /// it through.
    #[inline]
    fn answer(&mut self, entry: Slot, response: &Event, p: f64) -> Option<Sample> {
        let inserted_since = inserted_since(self.inserted, entry);
        let counts = &mut self.counts[usize::from(entry.tag())];
        if entry.is_expired(response.at, self.exchanges.expiry) {
            counts.expired += 1;
            return None;
        }
        counts.matched += 1;
        let since_first = entry.time_to(response.at);
        let survived = (-self.decay * inserted_since as f64).exp();
        let mut sample = Sample {
            at: response.at,
            since_first,
            since_last: Nanos::new(since_first.get() - entry.repeated_after().get()),
            weight: 1.0,
            repeat_weight: 1.0,
            inserted_since,
            band: 0,
            tag: entry.tag(),
        };
        if entry.has(REPEATED) {
            counts.resolved += u64::from(sample.resolve(entry.tokens().answered(response.token)));
        }
        self.counts[usize::from(response.tag)].answers += 1;
        let weight = 1.0 / (p * survived);
        if !self.is_fixed {
            self.profile.sample(sample.since_first, weight);
        }
        Some(sample.weighted(weight))
    }
}

/// Requests inserted after an entry, modulo 2³².
#[inline]
fn inserted_since(inserted: u64, entry: Slot) -> u64 {
    u64::from((inserted as u32).wrapping_sub(entry.inserted()))
}

/// −ln(1 − 1/*M*).
fn decay(slots: u32) -> f64 {
    -(-1.0 / f64::from(slots)).ln_1p()
}

impl Meter for Fridge {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        for batch in events.chunks(BATCH) {
            if !self.fits_cache() {
                self.touch(batch);
            }
            for event in batch {
                samples.extend(self.take(event));
            }
        }
    }

    fn gate(&self) -> Gate {
        self.gate
    }

    fn risk(&self, tag: usize) -> Option<Risk> {
        self.censoring.as_ref()?.risk(tag)
    }

    fn forget_risk(&mut self) {
        if let Some(censoring) = &mut self.censoring {
            censoring.forget();
        }
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = vec![Fates::default(); self.counts.len()];
        for (fates, counts) in fates.iter_mut().zip(&self.counts) {
            let [responses, requests] = counts.events;
            let seen = requests - counts.ignored;
            fates.seen += seen;
            fates.not_admitted += seen - counts.inserted - counts.ambiguous;
            fates.matched += counts.matched;
            fates.evicted += counts.evicted;
            fates.expired += counts.expired;
            fates.ambiguous += counts.ambiguous;
            fates.responses += responses;
            fates.unmatched += responses - counts.answers;
            fates.resolved += counts.resolved;
        }
        for slot in self.slots.iter().filter(|s| s.has(OPEN)) {
            let fates = &mut fates[usize::from(slot.tag())];
            *(if slot.is_expired(self.latest, self.exchanges.expiry) {
                &mut fates.expired
            } else {
                &mut fates.pending
            }) += 1;
        }
        fates
    }

    fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + size_of::<Profile>()
            + self.counts.capacity() * size_of::<Counts>()
            + self.censoring.as_ref().map_or(0, Censoring::state_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{exchanges, request, response};
    use dwell_types::Match;

    fn fridge(slots: u32, p: Option<f64>, matching: Match) -> Fridge {
        let params = Params { slots, fingerprint_bits: 32, entry_probability: p, product_limit: false };
        Fridge::new(params, exchanges(matching, Nanos::from_secs(100))).unwrap()
    }

    fn take(fridge: &mut Fridge, event: Event) -> Option<Sample> {
        let mut samples = Vec::new();
        fridge.update(&[event], &mut samples);
        samples.pop()
    }

    #[test]
    fn a_slot_has_24_bytes() {
        assert_eq!(Fridge::SLOT_BYTES, 24);
    }

    #[test]
    fn weights_follow_the_insertions_strictly_between() {
        let mut fridge = fridge(1 << 16, Some(1.0), Match::Dns);
        take(&mut fridge, Event { tag: 0, ..request(1, 0) });
        for id in 0..100 {
            take(&mut fridge, Event { tag: 1, ..request(1_000 + id, 10) });
        }
        let sample = take(&mut fridge, Event { tag: 0, ..response(1, 5_000) }).unwrap();
        assert_eq!((sample.inserted_since, sample.since_first.get()), (100, 5_000));
        assert!((sample.weight - (1.0f64 - 1.0 / 65_536.0).powi(-100)).abs() < 1e-9);
        take(&mut fridge, Event { tag: 0, ..request(7, 20) });
        assert_eq!(take(&mut fridge, Event { tag: 0, ..response(7, 30) }).unwrap().weight, 1.0);
        assert_eq!(take(&mut fridge, Event { tag: 0, ..response(7, 40) }), None, "answered once");
        assert!(fridge.fates().iter().all(Fates::is_conserved));
    }

    #[test]
    fn times_wrap_and_may_go_backwards() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::Dns);
        for (id, first, delay) in
            [(1, (1 << 48) - 10, 1 << 30), (2, -5, 100), (3, 1_700_000_000_000_000_000, -6_219_000), (4, 0, 0)]
        {
            take(&mut fridge, Event { tag: 0, ..request(id, first) });
            let sample = take(&mut fridge, Event { tag: 0, ..response(id, first + delay) }).unwrap();
            assert_eq!(sample.since_first.get(), delay);
        }
    }

    #[test]
    fn repeated_requests_keep_both_bounds() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::TcpHandshake);
        take(&mut fridge, Event { token: 5, ..request(1, 0) });
        take(&mut fridge, Event { tag: 0, ..request(2, 0) });
        take(&mut fridge, Event { token: 6, ..request(1, 1 << 30) });
        let mut named = fridge.clone();
        let sample = take(&mut fridge, Event { tag: 0, ..response(1, 3 << 30) }).unwrap();
        assert_eq!((sample.since_first.get(), sample.since_last.get()), (3 << 30, 2 << 30));
        assert_eq!(sample.inserted_since, 0, "counted from the last request");
        let sample = take(&mut named, Event { token: 5, ..response(1, 3 << 30) }).unwrap();
        assert_eq!((sample.since_first.get(), sample.is_ambiguous()), (3 << 30, false));
        assert_eq!((named.fates()[0].ambiguous, named.fates()[0].resolved), (1, 1));
        assert!(named.fates()[0].is_conserved());
    }

    #[test]
    fn every_request_has_one_fate() {
        let mut fridge = fridge(512, None, Match::Dns);
        for i in 0..200_000u64 {
            let at = i as i64 * 1_000;
            take(&mut fridge, Event { tag: (i % 2) as u16, ..request(hash::finish(i), at) });
            if i >= 30 {
                take(&mut fridge, Event { tag: 1, ..response(hash::finish(i - 30 - i % 3), at + 500) });
            }
        }
        let fates = fridge.fates();
        assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
        assert!(fates[0].matched > 1_000 && fates[0].evicted > 0 && fates[0].pending > 0, "{fates:?}");
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let exchanges = exchanges(Match::Dns, Nanos::from_secs(1));
        let good = Params { slots: 2, fingerprint_bits: 32, entry_probability: None, product_limit: false };
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
