//! Consistent sampling: exact for the ids that pass a gate, which closes as far as memory requires.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: a table of the open requests whose ids pass the gate by their hash. When the table is full, first
//! requests older than the lifetime are dropped, then the gate closes by steps of 2^−⅛ and requests that it no longer
//! admits are dropped, until a quarter of the room is free. It also closes if a request finds no slot within reach
//! though some are free. The gate never opens again. Assumes that ids of different exchanges are independent under the
//! seeded hash; whoever knows the seed can break that.
//!
//! **State**: the table of [`crate::horizon`]; 752 bytes to learn the lifetime; the counts of each series.
//!
//! **Cost**: one multiplication per event. For events that pass the gate one read of two times eight bytes, and of one
//! entry if it is found or inserted; a scan of the table whenever a quarter of its room, or more, was inserted.
//!
//! **Estimate**: a sample has weight 1/*p* with the present *p*, since the response, too, must pass the gate. How far
//! the gate closes depends on how many passed it so far, not on which of them, so the weight remains unbiased in every
//! set of delays up to the lifetime. Variance (1/*p* − 1) per exchange, whatever its delay. Delays above the lifetime
//! are not measured at all: with unanswered requests, too long a lifetime costs samples, and too short a one the tail.
//!
//! The lifetime is given, or learnt: a multiple of the 99.9th percentile of the delays measured so far (rounded up to a
//! power of two), once the stream has lasted twice as long as that and 1,024 delays are known. A few requests are
//! followed for longer (`scouts.rs`), and lengthen it where exchanges are slower than that; those that it missed until
//! then, and those rarer than 1 in 1,000, are missing from the estimate and its intervals. Requests dropped after the
//! lifetime count as evicted. Until it is learnt the gate closes as if unanswered requests stayed for the whole expiry,
//! and never opens again: in small tables a given lifetime samples more.
//!
//! **Merge**: samples of tables over disjoint traffic are simply added up.
//!
//! **Differs from the paper**: not from any paper; the threshold is that of adaptive sampling for distinct counts.
//!
//! **Source**: the comparison that zheng22 lacks (`docs/papers/zheng22-fridge.md`).

use crate::parts::batch::BATCH;
use crate::parts::lapse::Swept;
use crate::parts::open::{Ahead, Open, OpenMeter, Place};
use crate::parts::repeats::Meets;
use crate::parts::scouts::Scouts;
use crate::parts::steps;
use crate::parts::targets::slowest;
use crate::{Event, Fates, Gate, Meter, Sample, Structure, Terms};
use dwell_types::{Nanos, Timestamp, hash};
use std::fmt;

/// How long a request is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lifetime {
    /// This long, or as long as the expiry if that is shorter.
    Given(Nanos),
    /// This multiple, at least 1, of the 99.9th percentile of delays, once that is known; until then, and at most, the
    /// expiry.
    Learnt(f64),
}

/// Why a sampling table cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HashSampleError {
    /// Too few bytes for a table that can measure.
    Bytes {
        /// Bytes given.
        given: usize,
        /// Bytes needed at least.
        needed: usize,
    },
    /// The same in slots.
    Slots {
        /// Slots given.
        given: u32,
        /// Slots needed at least.
        needed: u32,
    },
    /// A lifetime must be above zero.
    Lifetime(Nanos),
    /// A lifetime must be at least the 99.9th percentile of delays.
    Multiple(f64),
    /// The sampling probability must be at least 2⁻²⁴ and at most 1.
    Probability(f64),
}

impl fmt::Display for HashSampleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes { given, needed } => write!(f, "a table needs {needed} bytes, not {given}"),
            Self::Slots { given, needed } => write!(f, "a table needs {needed} slots, not {given}"),
            Self::Lifetime(lifetime) => write!(f, "a lifetime is above zero, not {lifetime}"),
            Self::Multiple(multiple) => {
                write!(f, "a lifetime is at least 1 times the 99.9th percentile, not {multiple}")
            }
            Self::Probability(p) => write!(f, "a sampling probability is {}, not {p:?}", Gate::RANGE),
        }
    }
}

impl std::error::Error for HashSampleError {}

/// A table of the open requests that a closing gate admits.
#[derive(Clone, Debug)]
pub struct HashSample {
    terms: Terms,
    /// How long a request is kept at present: at most the expiry.
    lifetime: Nanos,
    /// The multiple, if the lifetime is learnt.
    multiple: Option<f32>,
    /// Until then the lifetime is not shortened.
    settled: Timestamp,
    gate: Gate,
    /// *p* before the gate closed by any step.
    most_probability: f64,
    step: u8,
    /// One over *p*.
    weight: f64,
    open: Open,
    /// Entries that may remain when room is made.
    most_kept: usize,
    delays: Octaves,
    scouts: Scouts,
    fates: Vec<Fates>,
    began: Option<Timestamp>,
    latest: Timestamp,
    /// Time of the last request that the gate admitted.
    before: Timestamp,
}

impl HashSample {
    /// With less memory a table cannot measure.
    pub(crate) const LEAST_BYTES: usize = Open::LEAST_BYTES;

    /// An empty table of at most `bytes`, not including the counts of the series. `has_tokens`: whether to store
    /// tokens.
    pub fn new(bytes: usize, has_tokens: bool, lifetime: Lifetime, terms: Terms) -> Result<Self, HashSampleError> {
        let needed = Self::LEAST_BYTES;
        if bytes < needed {
            return Err(HashSampleError::Bytes { given: bytes, needed });
        }
        let (lifetime, multiple) = match lifetime {
            Lifetime::Given(lifetime) if lifetime <= Nanos::ZERO => return Err(HashSampleError::Lifetime(lifetime)),
            Lifetime::Given(lifetime) => (lifetime, None),
            Lifetime::Learnt(multiple) if multiple >= 1.0 && multiple.is_finite() => {
                (terms.expiry, Some(multiple as f32))
            }
            Lifetime::Learnt(multiple) => return Err(HashSampleError::Multiple(multiple)),
        };
        let gate = Gate::new(hash::word(terms.seed, 2), 1.0);
        let (open, room) = Open::bounded(bytes, terms.tags, has_tokens, gate);
        Ok(Self {
            terms,
            lifetime: lifetime.min(terms.expiry),
            multiple,
            settled: Timestamp::MIN,
            gate,
            most_probability: 1.0,
            step: 0,
            weight: 1.0,
            open,
            most_kept: room * 3 / 4,
            delays: Octaves::default(),
            scouts: Scouts::new(terms.expiry),
            fates: Fates::none(terms.tags),
            began: None,
            latest: Timestamp::MIN,
            before: Timestamp::MAX,
        })
    }

    /// The same, sampling each id with this probability, 2⁻²⁴ or more, from the start. The gate still closes if memory
    /// requires it.
    pub fn with_probability(self, probability: f64) -> Result<Self, HashSampleError> {
        if !Gate::can_have(probability) {
            return Err(HashSampleError::Probability(probability));
        }
        let gate = self.gate.with_probability(probability);
        Ok(Self { gate, most_probability: probability, weight: 1.0 / probability, ..self })
    }

    /// Bytes of a table with this many slots.
    pub(crate) fn table_bytes(slots: u32, has_tokens: bool, terms: &Terms) -> Result<usize, HashSampleError> {
        let bytes = |slots: u32| Open::bytes_of(slots as usize, terms.tags, has_tokens);
        if bytes(slots) >= Self::LEAST_BYTES {
            return Ok(bytes(slots));
        }
        let needed = (slots..u32::MAX).find(|&slots| bytes(slots) >= Self::LEAST_BYTES).unwrap_or(u32::MAX);
        Err(HashSampleError::Slots { given: slots, needed })
    }

    /// The most slots of the table.
    pub fn slots(&self) -> usize {
        self.open.most_slots()
    }

    /// The present *p*.
    pub fn probability(&self) -> f64 {
        self.most_probability * steps::probability(self.step)
    }

    /// The present lifetime.
    pub fn lifetime(&self) -> Nanos {
        self.lifetime
    }

    /// Whether the gate can close further.
    fn is_closable(&self) -> bool {
        self.probability() > steps::probability(steps::LAST)
    }

    /// Closes the gate by a step.
    fn close(&mut self) {
        self.step += 1;
        let probability = self.probability();
        self.weight = 1.0 / probability;
        self.gate = self.gate.with_probability(probability);
    }

    fn turn_away(&mut self, request: &Event) {
        self.fates[usize::from(request.tag)].turn_away();
    }

    /// Processes a request with the same id as one in the table.
    fn meet(&mut self, at: usize, request: &Event, now: Timestamp) {
        let met = self.open.look(at, request.at);
        let fates = &mut self.fates[usize::from(met.tag)];
        match met.meets(self.lifetime, self.terms.repeat) {
            Meets::Ignorable => self.open.ignore(at, &met, request.at, self.terms.repeat),
            Meets::Open => {
                fates.repeat();
                self.repeat(at, request, now);
            }
            Meets::Other => {
                if met.is_open() {
                    fates.let_go(met.is_older(self.terms.expiry));
                }
                self.open.replace(at, &met, request);
                self.fates[usize::from(request.tag)].seen += 1;
            }
        }
    }

    /// Drops requests beyond the lifetime, then closes the gate until enough are gone.
    #[cold]
    fn make_room(&mut self, now: Timestamp) {
        let began = *self.began.get_or_insert(now);
        self.learn(began, now);
        let mut kept = self.sweep(now);
        while kept > self.most_kept && self.is_closable() {
            self.close();
            kept = self.sweep(now);
        }
        self.scouts.leave_to(self.gate, now);
    }

    /// Drops entries that are too old or not admitted any more; returns how many are kept.
    fn sweep(&mut self, now: Timestamp) -> usize {
        let Self { lifetime, gate, terms: Terms { expiry, repeat, .. }, .. } = *self;
        let (remembered, fates) = (repeat.remembers(lifetime), &mut self.fates);
        let mut kept = 0;
        self.open.retain(now, |slots, at, wait| {
            // Branchless, since it is unpredictable which entries are dropped.
            let is_old = wait.is_over(lifetime, remembered);
            let is_kept_out = !is_old & !gate.admits_rank(slots.rank(at));
            let fates = &mut fates[usize::from(wait.tag)];
            let is_expired = wait.is_older(expiry);
            fates.expired += u64::from(wait.is_open() & is_expired);
            fates.evicted += u64::from(wait.is_open() & is_old & !is_expired);
            fates.not_admitted += u64::from(wait.is_open() & is_kept_out);
            let is_kept = !is_old & !is_kept_out;
            kept += usize::from(is_kept);
            is_kept
        });
        kept
    }

    /// Learns the lifetime, if it is not given: a longer one at once, a shorter one only if enough is known, and exchanges
    /// as slow as the present one allows would have been seen.
    fn learn(&mut self, began: Timestamp, now: Timestamp) {
        let Some(multiple) = self.multiple else { return };
        let mut delays = self.delays.clone();
        delays.complete(self.scouts.longer_than(self.lifetime.get() as f64, now));
        let Some(tail) = delays.tail() else { return };
        let lifetime = Nanos::new((tail.get() as f64 * f64::from(multiple)) as i64).min(self.terms.expiry);
        if lifetime > self.lifetime {
            self.settled = now + lifetime + lifetime;
        } else if !self.delays.is_known() || lifetime.get() > (now - began).get() / 2 || now < self.settled {
            return;
        }
        self.lifetime = lifetime;
        self.delays.halve();
    }

    /// The sample of a response whose request is in the table and within the lifetime.
    fn answer(&mut self, response: &Event, place: &Place) -> Option<Sample> {
        self.latest = self.latest.max(response.at);
        self.scouts.response(response.id, response.at);
        let at = self.open.find(place)?;
        let wait = self.open.look(at, response.at);
        if !wait.is_open() || wait.is_older(self.lifetime) {
            return None;
        }
        self.open.close(at, &wait, response.at, self.terms.repeat);
        let (sample, is_resolved) = wait.sample(response);
        self.fates[usize::from(wait.tag)].answer(is_resolved);
        self.delays.update(sample.since_first, self.weight);
        Some(sample.weighted(self.weight))
    }
}

impl Swept for HashSample {
    fn latest(&mut self) -> &mut Timestamp {
        &mut self.latest
    }

    fn drop_old(&mut self, now: Timestamp) {
        self.sweep(now);
    }
}

impl OpenMeter for HashSample {
    fn open(&mut self) -> &mut Open {
        &mut self.open
    }

    #[inline]
    fn request(&mut self, request: &Event, place: impl FnOnce(&Open) -> Place) {
        if !self.gate.admits(request.id) {
            return self.turn_away(request);
        }
        self.latest = self.latest.max(request.at);
        // A single wild timestamp must not expire open requests.
        let now = request.at.min(std::mem::replace(&mut self.before, request.at));
        if self.open.is_full() && !self.open.grow() {
            self.make_room(now);
            // The gate may now be closed for this request, too.
            if !self.gate.admits(request.id) {
                return self.turn_away(request);
            }
        }
        let place = place(&self.open);
        if let Some(at) = self.open.find(&place) {
            return self.meet(at, request, now);
        }
        let is_put = self.open.put(&place, request)
            || self.make_way(now, |this| this.gate.admits(request.id).then(|| this.open.put(&place, request)));
        if is_put {
            self.scouts.request(request.id, request.at);
            self.fates[usize::from(request.tag)].seen += 1;
        } else {
            self.turn_away(request);
        }
    }

    #[inline]
    fn response(&mut self, response: &Event, place: impl FnOnce(&Open) -> Place) -> Option<Sample> {
        let sample = if self.gate.admits(response.id) { self.answer(response, &place(&self.open)) } else { None };
        self.fates[usize::from(response.tag)].respond(sample.is_some());
        sample
    }

    fn look_ahead(&mut self, batch: &[Event]) -> Ahead {
        let Self { open, fates, latest, gate, scouts, .. } = self;
        open.look_ahead(batch, |event, is_kept| {
            if !is_kept {
                if gate.admits(event.id) {
                    *latest = (*latest).max(event.at);
                    scouts.response(event.id, event.at);
                }
                fates[usize::from(event.tag)].respond(false);
            }
        })
    }

    fn admit_less(&mut self, _now: Timestamp) -> bool {
        let is_closable = self.is_closable();
        if is_closable {
            self.close();
        }
        is_closable
    }
}

impl Meter for HashSample {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        self.began = self.began.or(events.first().map(|event| event.at));
        self.take_parts(events, |this, part| {
            part.chunks(BATCH).for_each(|batch| this.take_batch(batch, samples));
        });
    }

    fn advance(&mut self, now: Timestamp) {
        self.pass(now);
    }

    fn gate(&self) -> Gate {
        self.gate
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        self.open.count_open(&mut fates, self.latest, self.terms.expiry);
        fates
    }

    fn structure(&self) -> Structure {
        Structure::Sample { slots: self.slots(), probability: self.probability(), longest: self.lifetime() }
    }

    fn sampled_since(&self) -> Option<Timestamp> {
        // Responses that match nothing may answer requests that were dropped after the lifetime.
        let (dropped, unmatched) =
            self.fates.iter().fold((0, 0), |(a, b), fates| (a + fates.evicted, b + fates.unmatched));
        let misses_some = self.probability() < 1.0 || dropped > 0 && unmatched > 0;
        misses_some.then_some(Timestamp::MIN)
    }

    fn growing_bytes(&self) -> Option<usize> {
        Some(self.open.bytes())
    }

    fn state_bytes(&self) -> usize {
        self.open.bytes() + self.fates.capacity() * size_of::<Fates>()
    }
}

/// Weight of the delays by octave: enough for the order of magnitude of the tail.
#[derive(Clone, Debug)]
struct Octaves {
    /// For delays from 2^*i* ns to below 2^(*i*+1) ns; the first includes all shorter, the last all longer ones.
    weights: [f32; 48],
    /// Samples since the lifetime was last learnt.
    samples: u32,
}

impl Default for Octaves {
    fn default() -> Self {
        Self { weights: [0.0; 48], samples: 0 }
    }
}

impl Octaves {
    #[inline]
    fn update(&mut self, delay: Nanos, weight: f64) {
        let octave = delay.get().max(1).ilog2() as usize;
        self.weights[octave.min(47)] += weight as f32;
        self.samples = self.samples.saturating_add(1);
    }

    /// Adds longer delays: how many there are in an octave for each one that is known.
    fn complete(&mut self, longer: impl Iterator<Item = (u32, f64)>) {
        let known: f32 = self.weights.iter().sum();
        for (octave, ratio) in longer {
            self.weights[octave as usize] += ratio as f32 * known;
        }
    }

    /// The 99.9th percentile, rounded up to a power of two; `None` without any delay.
    fn tail(&self) -> Option<Nanos> {
        slowest(&self.weights, 0.001).map(|octave| Nanos::new(2 << octave))
    }

    /// Whether there are enough samples to know it.
    fn is_known(&self) -> bool {
        const ENOUGH: u32 = 1024;
        self.samples >= ENOUGH
    }

    /// Halves the weights of older delays each time the lifetime is learnt.
    fn halve(&mut self) {
        self.weights.iter_mut().for_each(|weight| *weight *= 0.5);
        self.samples = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{
        assert_batches_agree, assert_exact, assert_nothing_is_lost_unsaid, feed, request, response, terms,
    };
    use dwell_types::Match;

    /// Bytes of a slot with tokens in a small table.
    const SLOT_BYTES: usize = 13;
    const LONG: Lifetime = Lifetime::Given(Nanos::from_secs(100));

    fn table(bytes: usize, lifetime: Lifetime, matching: Match) -> HashSample {
        HashSample::new(bytes, true, lifetime, terms(matching, Nanos::from_secs(100))).unwrap()
    }

    /// While nothing was dropped, samples and counts equal those of the exact table.
    #[test]
    fn with_room_it_is_exact() {
        for matching in [Match::Dns, Match::TcpHandshake, Match::TcpTs] {
            let mut table = table(1 << 20, LONG, matching);
            assert_exact(&mut table, matching);
            assert_eq!(table.gate(), Gate::new(hash::word(1, 2), 1.0));
        }
    }

    /// A probability that is given is the first: the gate closes from there as far as memory requires, and weights
    /// follow. A table of a given number of slots takes the bytes that are said.
    #[test]
    fn a_given_probability_is_the_most() {
        let terms = terms(Match::Dns, Nanos::from_secs(100));
        let sampled = |slots, probability| {
            let bytes = HashSample::table_bytes(slots, true, &terms).unwrap();
            let mut table = table(bytes, LONG, Match::Dns).with_probability(probability).unwrap();
            assert_eq!((table.slots(), table.probability()), (slots as usize, probability));
            let samples = feed(&mut table, 50_000, 30);
            let found: f64 = samples.iter().map(|sample| sample.weight).sum();
            assert_eq!(samples[0].weight, 1.0 / probability);
            assert!(table.state_bytes() <= bytes + 2 * size_of::<Fates>());
            (table.probability(), found)
        };
        let (kept, found) = sampled(1 << 16, 0.3);
        assert_eq!(kept, 0.3);
        // Of some 25,000 exchanges, 6 standard deviations (2·10⁻⁹) are 1,450. A weight of 1 must fail.
        assert!((found - 24_986.0).abs() < 1_450.0 && 0.3 * found < 23_000.0, "{found}");
        for given in [0, 41] {
            let refused = HashSample::table_bytes(given, true, &terms);
            assert_eq!(refused, Err(HashSampleError::Slots { given, needed: 42 }));
        }
        let (closed, _) = sampled(128, 0.3);
        assert!(closed < 0.1, "{closed}");
        for wrong in [0.0, 0.999 * Gate::LEAST, 1.1, f64::NAN] {
            let refused = table(1 << 10, LONG, Match::Dns).with_probability(wrong);
            assert!(matches!(refused, Err(HashSampleError::Probability(_))));
        }
    }

    /// In a small table the free slots may be out of reach: if a request, or a repeat, finds none, the gate closes, so
    /// that the table reports that not every exchange is known.
    #[test]
    fn nothing_is_lost_unsaid() {
        const BYTES: usize = HashSample::LEAST_BYTES;
        let room = |matching: Match| {
            Open::bounded(BYTES, 2, true, Gate::OPEN).1 as u64 / if matching == Match::Dns { 2 } else { 1 }
        };
        let make = |matching| move || table(BYTES, LONG, matching);
        let remembers_all = |table: &HashSample| table.probability() == 1.0;
        assert_nothing_is_lost_unsaid(room(Match::TcpAck) - 1, &[0], make(Match::TcpAck), remembers_all);
        assert_nothing_is_lost_unsaid(room(Match::Dns) - 1, &[0, 5], make(Match::Dns), remembers_all);
    }

    /// A request with an implausible timestamp arrives when the table is full: the others stay.
    #[test]
    fn a_wild_time_expires_nothing() {
        for wild in 0..200 {
            let mut table = table(100 * SLOT_BYTES, LONG, Match::Dns);
            let at = |i: u64| if i == wild { i64::MAX / 3 } else { i as i64 };
            let events: Vec<Event> = (0..200).map(|i| request(hash::finish(i), at(i))).collect();
            table.update(&events, &mut Vec::new());
            table.advance(Timestamp::from_nanos(200));
            let fates = table.fates()[0];
            assert!(fates.expired <= 1 && fates.pending > 40, "wild at {wild}: {fates:?}");
        }
    }

    #[test]
    fn batches_change_nothing() {
        for matching in [Match::Dns, Match::TcpTs] {
            assert_batches_agree(|| table(1_000 * SLOT_BYTES, LONG, matching));
            // Larger than the cache, half of the ids not admitted: responses that match nothing are known beforehand.
            assert_batches_agree(|| {
                let mut table = table(2 << 20, LONG, matching).with_probability(0.5).unwrap();
                let waiting: Vec<Event> = (0..70_000).map(|i| request(hash::finish(1 << 32 | i), 0)).collect();
                table.update(&waiting, &mut Vec::new());
                assert!(table.open.is_far_for(BATCH) && table.probability() == 0.5);
                table
            });
        }
    }

    #[test]
    fn memory_is_bounded_and_every_request_has_one_fate() {
        for matching in [Match::Dns, Match::TcpTs] {
            let bytes = 100 * SLOT_BYTES;
            let mut table = table(bytes, LONG, matching);
            feed(&mut table, 50_000, 30);
            let counts = 2 * size_of::<Fates>();
            assert!((bytes + counts - 8 * SLOT_BYTES..=bytes + counts).contains(&table.state_bytes()));
            let fates = table.fates();
            assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
            assert!(fates.iter().all(|f| f.matched > 20 && f.not_admitted > 10_000 && f.pending > 0), "{fates:?}");
            assert!(table.probability() < 0.01, "what is not answered stays for 100 s: {}", table.probability());
        }
    }

    #[test]
    fn the_unanswered_occupy_the_table_for_a_lifetime_only() {
        let lifetime = Lifetime::Given(Nanos::new(60_000));
        let mut table = table(100 * SLOT_BYTES, lifetime, Match::Dns);
        let samples = feed(&mut table, 50_000, 30);
        // 45 wait within 60 µs, and 56 of 75 places may be used: nothing is dropped.
        assert_eq!((table.probability(), samples.len()), (1.0, 24_986));
        let fates = table.fates();
        assert!(fates.iter().all(Fates::is_conserved), "{fates:?}");
        assert_eq!(fates[0].matched + fates[0].evicted + fates[0].pending, fates[0].seen);
        assert_eq!(table.sampled_since(), None, "no response misses what was dropped");
        assert!(feed(&mut table, 1_000, 61).is_empty(), "later than the lifetime");
        assert_eq!(table.sampled_since(), Some(Timestamp::MIN));
    }

    /// A request that finds an equal one beyond the lifetime, or beyond the expiry, takes its place.
    #[test]
    fn the_equal_of_an_old_request_is_new() {
        let second = 1_000_000_000;
        for (gap, fate) in [(2 * second, (1, 0)), (200 * second, (0, 1))] {
            let mut table = table(1 << 10, Lifetime::Given(Nanos::from_secs(1)), Match::Dns);
            let events = [request(1, 0), Event { tag: 1, ..request(1, gap) }, response(1, gap + 5)];
            let mut samples = Vec::new();
            table.update(&events, &mut samples);
            assert_eq!((samples.len(), samples[0].since_first, samples[0].tag), (1, Nanos::new(5), 1));
            let [old, new] = [0, 1].map(|tag| table.fates()[tag]);
            assert_eq!(((old.evicted, old.expired), old.seen, new.seen, new.matched), (fate, 1, 1, 1));
        }
    }

    /// Delays of 100 µs: the 99.9th percentile is rounded up to 131 µs, the lifetime twice that.
    #[test]
    fn the_lifetime_is_learnt() {
        let mut table = table(2_000 * SLOT_BYTES, Lifetime::Learnt(2.0), Match::Dns);
        feed(&mut table, 100_000, 100);
        assert_eq!(table.lifetime(), Nanos::new(1 << 18));
        assert!(table.probability() > 0.1, "{}", table.probability());
        let fates = table.fates();
        assert!(fates.iter().all(|f| f.is_conserved() && f.evicted > 3_000), "{fates:?}");
    }

    /// When all delays, or a tenth of them, become longer than the lifetime, so that none of these is measured any more, it
    /// is lengthened, and kept although at first only fast ones end.
    #[test]
    fn the_lifetime_follows_slower_delays() {
        for (one_in, slow) in [(1, 5_000_000), (10, 50_000_000)] {
            let mut table = table(2_000 * SLOT_BYTES, Lifetime::Learnt(2.0), Match::Dns);
            let mut events = Vec::new();
            for i in 0..500_000u64 {
                let is_slow = i >= 100_000 && hash::word(1, i).is_multiple_of(one_in);
                let (at, delay) = (i as i64 * 1_000, if is_slow { slow } else { 100_000 });
                events.extend([(at, i, true), (at + delay, i, false)]);
            }
            events.sort_unstable();
            let mut is_long = false;
            for (at, i, is_request) in events {
                let event = if is_request { request(hash::finish(i), at) } else { response(hash::finish(i), at) };
                table.update(&[event], &mut Vec::new());
                is_long |= at > 100_000_000 && (slow..Nanos::from_secs(1).get()).contains(&table.lifetime().get());
                assert!(!is_long || table.lifetime().get() >= slow, "{slow} ns, at {at} ns: {}", table.lifetime());
            }
            assert!(is_long, "{slow} ns: {}", table.lifetime());
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let terms = terms(Match::Dns, Nanos::from_secs(1));
        let needed = 32 * 17 + 8;
        for lifetime in [LONG, Lifetime::Learnt(1.0)] {
            let table = HashSample::new(needed, true, lifetime, terms).unwrap();
            assert_eq!(table.lifetime(), terms.expiry, "at most the expiry");
        }
        for (bytes, lifetime, error) in [
            (needed - 1, LONG, HashSampleError::Bytes { given: needed - 1, needed }),
            (needed, Lifetime::Given(Nanos::ZERO), HashSampleError::Lifetime(Nanos::ZERO)),
            (needed, Lifetime::Learnt(0.5), HashSampleError::Multiple(0.5)),
        ] {
            assert_eq!(HashSample::new(bytes, true, lifetime, terms).unwrap_err(), error);
        }
        assert!(HashSample::new(needed, true, Lifetime::Learnt(f64::NAN), terms).is_err());
    }
}
