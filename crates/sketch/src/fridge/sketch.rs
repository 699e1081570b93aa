use super::censoring::{Censoring, Found};
use super::history::History;
use super::params::{FridgeError, Params};
use super::repeated::Repeated;
use super::slot::{Entry, Table};
use super::tally::Tally;
use super::{EntryProbability, Profile};
use crate::parts::batch::{BATCH, CACHED_BYTES, Numbers};
use crate::parts::repeats::byte;
use crate::parts::scouts::Scouts;
use crate::{Event, Fates, Gate, Meter, NewBands, Risk, Rounding, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};

/// An (*M*, *p*)-fridge.
#[derive(Clone, Debug)]
pub struct Fridge {
    pub(super) terms: Terms,
    pub(super) table: Table,
    pub(super) history: History,
    /// Present where repeats count.
    pub(super) repeated: Option<Repeated>,
    /// Odd. Ids are uniform already, so multiplication by this gives another uniform permutation of them.
    slot_factor: u64,
    /// −ln(1 − 1/*M*).
    decay: f64,
    pub(super) probability: EntryProbability,
    /// The value of `probability`.
    present: f64,
    /// Open with this probability.
    pub(super) gate: Gate,
    pub(super) is_fixed: bool,
    /// Whether *p* is still 1 because there is room.
    pub(super) is_filling: bool,
    pub(super) profile: Box<Profile>,
    /// Boxed: for fridges without a product limit the size of this struct counts.
    pub(super) censoring: Option<Box<Censoring>>,
    /// Insertions from one choice of *p* to the next, and their number when the next one is due.
    pub(super) window: u64,
    pub(super) next_choice: u64,
    /// All fates but those that need a look at the slots: how many requests still wait, and how many of them too long.
    pub(super) fates: Vec<Fates>,
    pub(super) latest: Timestamp,
}

/// All requests enter until one in so many slots is taken, since nearly all entries survive; then the search for *p*
/// begins.
pub(super) const FILLED: u32 = 4;
/// The first choice comes after this many more requests offered, or admitted if that is sooner.
const FIRST_OFFERED: f64 = 1024.0;
const FIRST_ADMITTED: f64 = 64.0;
/// Intervals grow up to as many admitted requests as there are slots, or at least this many.
const LAST_WINDOW: u64 = 1 << 10;

impl Fridge {
    /// Bytes of a product limit per series, and fixed bytes.
    pub(crate) const LIMIT_BYTES: (usize, usize) = (Censoring::SERIES_BYTES, Censoring::OWN_BYTES);

    /// An empty fridge.
    pub fn new(params: Params, terms: Terms) -> Result<Self, FridgeError> {
        let fixed = match params.entry_probability {
            None => None,
            Some(p) => Some(EntryProbability::fixed(p).ok_or(FridgeError::EntryProbability(p))?),
        };
        let layout = params.layout(&terms)?;
        if params.slots < 2 {
            return Err(FridgeError::Slots(params.slots));
        }
        let table = Table::new(params.slots, layout);
        let keeps_repeats = terms.repeat == Repeat::Ambiguous;
        let probability = fixed.unwrap_or(EntryProbability::ONE);
        let window = u64::from((params.slots / FILLED).max(1));
        let present = probability.value();
        let gate = Gate::new(hash::word(terms.seed, 2), present);
        let censoring = || Box::new(Censoring::new(usize::from(terms.tags), params.slots, gate, probability));
        Ok(Self {
            terms,
            table,
            history: History::new(params.slots, params.keeps_changes()),
            repeated: keeps_repeats.then(|| Repeated::new(params.slots, params.has_tokens)),
            slot_factor: hash::start(hash::word(terms.seed, 1)) | 1,
            decay: decay(params.slots),
            probability,
            present,
            gate,
            is_fixed: fixed.is_some(),
            profile: Box::new(Profile::new(params.product_limit, Scouts::new(terms.expiry))),
            censoring: params.product_limit.then(censoring),
            is_filling: true,
            window,
            next_choice: window,
            fates: Fates::none(terms.tags),
            latest: Timestamp::MIN,
        })
    }

    /// *M*.
    pub fn slots(&self) -> u32 {
        self.table.slots()
    }

    /// Bits of a fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.table.layout().fingerprint_bits()
    }

    /// The present *p*.
    pub fn entry_probability(&self) -> EntryProbability {
        self.probability
    }

    fn search_from(&mut self, probability: EntryProbability) {
        self.set(probability);
        self.is_filling = false;
        self.window = (FIRST_OFFERED * probability.value()).clamp(1.0, FIRST_ADMITTED) as u64;
        self.next_choice = self.history.inserted() + self.window;
    }

    fn set(&mut self, probability: EntryProbability) {
        let gate = self.gate.with_probability(probability.value());
        if let Some(censoring) = &mut self.censoring {
            censoring.change(gate, probability, self.latest, self.history.inserted());
        }
        self.history.change(self.latest, probability.step());
        (self.probability, self.present, self.gate) = (probability, probability.value(), gate);
        self.profile.scouts.leave_to(gate, self.latest);
    }

    /// Restores a probability that was set before.
    pub(super) fn restore(&mut self, probability: EntryProbability) {
        (self.probability, self.present) = (probability, probability.value());
        self.gate = self.gate.with_probability(self.present);
    }

    /// The slot of an id, and its fingerprint: from the upper and the lower half of one product.
    #[inline]
    fn place(&self, id: ExchangeId) -> (usize, u64) {
        let hash = id.0.wrapping_mul(self.slot_factor);
        let at = hash::index((hash >> 32) as u32, self.table.slots()) as usize;
        (at, self.table.fingerprint(hash))
    }

    /// The entry of a slot, after aging it to this time.
    #[inline]
    fn entry(&mut self, at: usize, now: Timestamp) -> Entry {
        if !self.table.is_aged(at, now) {
            let fates = &mut self.fates;
            self.table.age(at, now, |tag| fates[usize::from(tag)].expired += 1);
        }
        self.table.get(at)
    }

    /// Whether the slots fit a core's own cache, so that prefetching gains nothing.
    #[inline]
    fn fits_cache(&self) -> bool {
        self.table.state_bytes() <= CACHED_BYTES
    }

    /// Reads the events' slots in advance, so that the cache misses of a batch overlap.
    fn touch(&self, events: &[Event]) {
        let mut touched = false;
        for event in events {
            let (at, fingerprint) = self.place(event.id);
            touched ^= self.table.has(self.table.get(at), fingerprint);
        }
        std::hint::black_box(touched);
    }

    /// The events of a batch that the gate admits; counts all of them.
    #[inline]
    fn sift(&mut self, batch: &[Event]) -> Numbers {
        let gate = self.gate;
        let sifted = Numbers::of_batch(batch, |event| gate.admits(event.id));
        let tag = batch.first().map_or(0, |event| event.tag);
        let all = Tally::of(batch.iter(), tag);
        let admitted = if sifted.len() == batch.len() { all } else { Tally::of(sifted.of(batch), tag) };
        if all.others == 0 {
            all.count(admitted, &mut self.fates[usize::from(tag)]);
        } else {
            for event in batch {
                let of = |event| Tally::of(std::iter::once(event), event.tag);
                let admitted = if gate.admits(event.id) { of(event) } else { Tally::default() };
                of(event).count(admitted, &mut self.fates[usize::from(event.tag)]);
            }
        }
        sifted
    }

    /// Whether nothing is gained by taking events in batches.
    pub(crate) fn can_take_at_once(&self) -> bool {
        self.fits_cache() && self.censoring.is_none()
    }

    /// Takes an event that the gate admits. [`Fridge::adapt`] must follow after at most [`BATCH`] of them.
    #[inline]
    pub(crate) fn take_at_once(&mut self, event: &Event, samples: &mut Vec<Sample>) {
        if event.is_request {
            self.fates[usize::from(event.tag)].seen += 1;
            self.request(event);
        } else {
            self.pass_over(event.tag);
            self.response(event, samples);
        }
    }

    /// Counts a response as unmatched, which it is if its request is not held.
    #[inline(always)]
    pub(crate) fn pass_over(&mut self, tag: u16) {
        let fates = &mut self.fates[usize::from(tag)];
        (fates.responses, fates.unmatched) = (fates.responses + 1, fates.unmatched + 1);
    }

    /// Whether a request with this id may be in its slot, or followed by a scout.
    #[inline(always)]
    pub(crate) fn may_hold(&self, id: ExchangeId) -> bool {
        let (at, fingerprint) = self.place(id);
        self.table.has(self.table.get(at), fingerprint) | self.profile.scouts.follows(id)
    }

    /// Chooses a new *p* if it is due. The gate changes with it.
    #[inline]
    pub(crate) fn adapt(&mut self) {
        if self.history.inserted() >= self.next_choice {
            self.choose();
        }
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        self.latest = request.at;
        let (at, fingerprint) = self.place(request.id);
        let old = self.entry(at, request.at);
        if self.table.has(old, fingerprint) && old.is_known() && self.is_repeat(at, old, request) {
            return;
        }
        if old.is_open() {
            let is_expired = self.has_expired(at, old, request.at);
            self.fates[usize::from(self.table.tag(old))].let_go(is_expired);
        }
        self.history.insert(request.at);
        self.stamp(at, fingerprint, request);
        if !self.is_fixed {
            self.profile.scouts.request(request.id, request.at);
        }
    }

    #[inline]
    fn stamp(&mut self, at: usize, fingerprint: u64, request: &Event) {
        self.table.set(at, self.table.open(fingerprint, request.at, request.tag, byte(request.token)));
    }

    #[inline]
    fn response(&mut self, response: &Event, samples: &mut Vec<Sample>) {
        let (at, fingerprint) = self.place(response.id);
        let entry = self.entry(at, response.at);
        let is_own = self.table.has(entry, fingerprint);
        if !self.is_fixed {
            self.profile.scouts.response(response.id, response.at);
        }
        if self.censoring.is_some() {
            self.limited_response(response, at, is_own, samples);
        } else if is_own & entry.is_open() {
            let times = self.times(at, entry, response.at);
            let p = self.probability_since(times.last);
            if self.answers(at, entry, &times) {
                self.sample(at, entry, &times, response, Found { band: 0, p, limit_steps: 0 }, samples);
            }
        }
    }

    /// The same with a product limit, for which responses count even if they do not find their entry.
    fn limited_response(&mut self, response: &Event, at: usize, is_own: bool, samples: &mut Vec<Sample>) {
        let entry = self.table.get(at);
        let inserted = self.history.inserted();
        if !self.is_fixed {
            self.profile.respond(1.0 / self.present);
        }
        if !entry.is_known() {
            // All insertions so far, or those since the entry expired at the earliest.
            let least = if entry.is_free() { inserted as f64 } else { self.since(response.at, self.terms.expiry) };
            if let Some(censoring) = &mut self.censoring {
                censoring.censor_beyond(response, least as u64, inserted);
            }
            return;
        }
        let times = self.times(at, entry, response.at);
        let is_again = is_own && entry.is_answered();
        // An exchange too slow to count is censored, too.
        let is_found = is_own && !is_again && self.answers(at, entry, &times);
        let Some(censoring) = &mut self.censoring else { return };
        let insertions = times.insertions as u64;
        if is_again {
            censoring.censor_beyond(response, insertions, inserted);
        } else if is_found {
            let found = censoring.find(response, times.last, insertions, inserted);
            self.sample(at, entry, &times, response, found, samples);
            if let (Some(censoring), Some(sample)) = (&mut self.censoring, samples.last()) {
                censoring.count(found.band, sample.limited().weight);
            }
        } else {
            censoring.censor(response, insertions, inserted);
        }
    }

    /// The probability that a request of this time was admitted and its response is now: both must pass the gate.
    #[inline]
    fn probability_since(&self, request: Timestamp) -> f64 {
        let present = self.probability.step();
        let step = if self.is_fixed { present } else { self.history.step(request).max(present) };
        if step == present { self.present } else { self.probability.at_step(step) }
    }

    /// Insertions during the `time` before `at`.
    fn since(&self, at: Timestamp, time: Nanos) -> f64 {
        self.history.since(History::before(at, time))
    }

    /// Time since the first and since the last of the requests of a known entry.
    #[inline]
    fn ages(&self, at: usize, entry: Entry, now: Timestamp) -> (Nanos, Nanos) {
        let since_first = self.table.time_to(entry, now);
        let after =
            self.repeated.as_ref().filter(|_| entry.is_repeated()).map_or(0, |repeated| repeated.after(at).get());
        (since_first, Nanos::new(since_first.get() - after))
    }

    /// Whether a known entry has expired.
    #[inline]
    fn has_expired(&self, at: usize, entry: Entry, now: Timestamp) -> bool {
        let (_, since_last) = self.ages(at, entry, now);
        self.terms.is_expired(since_last)
    }

    /// The times of a known entry's requests.
    #[inline]
    fn times(&self, at: usize, entry: Entry, now: Timestamp) -> Times {
        let (since_first, since_last) = self.ages(at, entry, now);
        let last = History::before(now, since_last);
        Times { since_first, since_last, last, insertions: self.history.since(last) }
    }

    /// Whether a request with the fingerprint of an entry repeats it; if so, counts it.
    #[cold]
    fn is_repeat(&mut self, at: usize, entry: Entry, request: &Event) -> bool {
        if self.has_expired(at, entry, request.at) {
            return false;
        }
        let tag = usize::from(request.tag);
        match &mut self.repeated {
            Some(_) if entry.is_answered() => return false,
            // It is no exchange of its own.
            None => self.fates[tag].seen -= 1,
            Some(repeated) => {
                let after = self.table.time_to(entry, request.at);
                if repeated.repeat(&self.table, at, after, request.token) {
                    self.fates[tag].ambiguous += 1;
                    self.table.set(at, entry.repeated());
                } else {
                    // This request takes the place of the first one.
                    self.fates[usize::from(self.table.tag(entry))].ambiguous += 1;
                    let (_, fingerprint) = self.place(request.id);
                    self.stamp(at, fingerprint, request);
                }
            }
        }
        true
    }

    /// Chooses a new *p*, unless it is fixed.
    #[cold]
    fn choose(&mut self) {
        if !self.is_fixed {
            let inserted = self.window + self.history.inserted() - self.next_choice;
            if self.is_filling {
                self.profile.begin(self.history.first());
            }
            self.profile.offer(self.latest, inserted as f64 / self.probability.value());
            let slots = self.slots();
            if self.is_filling && !self.profile.is_known() {
                // Only the fastest were answered so far, which says nothing about the others.
                self.profile.forget_delays();
                return self.search_from(EntryProbability::cautious(slots, inserted as f64));
            }
            self.is_filling = false;
            let chosen = self.profile.choose(slots, self.probability, self.terms.expiry);
            self.set(chosen);
        }
        self.window = (self.window * 2).min(LAST_WINDOW.max(u64::from(self.slots())));
        self.next_choice = self.history.inserted() + self.window;
    }

    /// Marks an open entry as answered; returns whether the response came before the expiry.
    #[inline]
    fn answers(&mut self, at: usize, entry: Entry, times: &Times) -> bool {
        self.table.set(at, entry.answered());
        let is_late = self.terms.is_expired(times.since_last);
        let fates = &mut self.fates[usize::from(self.table.tag(entry))];
        fates.matched += u64::from(!is_late);
        fates.expired += u64::from(is_late);
        !is_late
    }

    /// Adds the sample of a response that found its request.
    #[inline]
    fn sample(
        &mut self,
        at: usize,
        entry: Entry,
        times: &Times,
        response: &Event,
        Found { band, p, limit_steps }: Found,
        samples: &mut Vec<Sample>,
    ) {
        self.fates[usize::from(response.tag)].unmatched -= 1;
        // One over the probability that it entered and is still there.
        let weight = (self.decay * times.insertions).exp() / p;
        let tag = self.table.tag(entry);
        let mut sample = Sample {
            at: response.at,
            since_first: times.since_first,
            since_last: times.since_last,
            weight,
            repeat_weight: weight,
            inserted_since: (times.insertions + 0.5) as u64,
            band,
            repeat_band: band,
            limit_steps,
            tag,
            mark: response.mark,
        };
        if let Some(repeated) = self.repeated.as_ref().filter(|_| entry.is_repeated()) {
            let tokens = repeated.tokens(at, self.table.token(entry));
            self.fates[usize::from(tag)].resolved += u64::from(sample.resolve(tokens.answered(response.token)));
        }
        if !self.is_fixed {
            self.profile.sample(sample.since_first, sample.limited().weight);
        }
        samples.push(sample);
    }
}

/// The times of a known entry's requests.
#[derive(Clone, Copy, Debug)]
struct Times {
    since_first: Nanos,
    since_last: Nanos,
    /// When the last equal request came.
    last: Timestamp,
    /// Requests inserted after that.
    insertions: f64,
}

/// −ln(1 − 1/*M*): an entry survives *x* insertions with probability e^(−this · *x*).
pub(crate) fn decay(slots: u32) -> f64 {
    -(-1.0 / f64::from(slots)).ln_1p()
}

impl Meter for Fridge {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        for batch in events.chunks(BATCH) {
            if !self.fits_cache() {
                self.touch(batch);
            }
            for event in self.sift(batch).of(batch) {
                if event.is_request {
                    self.request(event);
                } else {
                    self.response(event, samples);
                }
            }
            self.adapt();
        }
    }

    fn advance(&mut self, now: Timestamp) {
        self.latest = now;
    }

    fn gate(&self) -> Gate {
        self.gate
    }

    fn rounding(&self) -> Rounding {
        self.table.layout().rounding()
    }

    fn risk(&self, tag: usize) -> Option<Risk> {
        self.censoring.as_ref()?.risk(tag)
    }

    fn take_new_bands(&mut self) -> Option<NewBands> {
        self.censoring.as_mut()?.take_new_bands()
    }

    fn fates(&self) -> Vec<Fates> {
        let mut fates = self.fates.clone();
        for (at, entry) in self.table.open_entries(self.latest) {
            let (_, since_last) = self.ages(at, entry, self.latest);
            let is_expired = !entry.is_open() || since_last > self.terms.expiry;
            fates[usize::from(self.table.tag(entry))].wait(is_expired);
        }
        fates
    }

    fn structure(&self) -> Structure {
        Structure::Fridge {
            slots: self.slots(),
            entry_probability: self.entry_probability().value(),
            fingerprint_bits: self.fingerprint_bits(),
        }
    }

    fn state_bytes(&self) -> usize {
        self.table.state_bytes()
            + self.history.state_bytes()
            + self.repeated.as_ref().map_or(0, Repeated::state_bytes)
            + size_of::<Profile>()
            + self.fates.capacity() * size_of::<Fates>()
            + self.censoring.as_ref().map_or(0, |censoring| censoring.state_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_expired_stays, assert_has_all_fates, request, response, take, terms};
    use dwell_types::Match;

    fn fridge(slots: u32, p: Option<f64>, matching: Match) -> Fridge {
        let params = Params { has_tokens: matching.has_tokens(), entry_probability: p, ..Params::new(slots) };
        Fridge::new(params, terms(matching, Nanos::from_secs(100))).unwrap()
    }

    #[test]
    fn what_has_expired_stays_so_when_it_is_overwritten() {
        let fridge = fridge(2, Some(1.0), Match::Dns);
        assert_expired_stays(fridge.clone(), (0..).filter(|&id| fridge.place(ExchangeId(id)).0 == 0));
    }

    /// One after the other, with a look at what the table holds before each response, as in batches: the same samples, counts
    /// and *p*, also while *p* changes and where repeats, late responses and responses of nothing occur.
    #[test]
    fn events_taken_at_once_give_the_same() {
        for matching in [Match::TcpAck, Match::TcpTs] {
            let mut batches = fridge(1 << 8, None, matching);
            let mut at_once = batches.clone();
            let events = (0..60_000u64).map(|n| {
                let random = hash::word(7, n);
                let (id, at) = (hash::finish(n / 3 * 3 / (1 + random % 40)), n as i64 * 200_000);
                if random >> 60 < 5 { request(id, at) } else { response(id, at) }
            });
            let events: Vec<Event> = events.collect();
            let (mut expected, mut samples) = (Vec::new(), Vec::new());
            for batch in events.chunks(8) {
                batches.update(batch, &mut expected);
                for event in batch {
                    if !at_once.gate.admits(event.id) {
                        continue;
                    }
                    if event.is_request || at_once.may_hold(event.id) {
                        at_once.take_at_once(event, &mut samples);
                    } else {
                        at_once.pass_over(event.tag);
                    }
                }
                at_once.adapt();
            }
            assert!(samples.len() > 900 && batches.entry_probability() != EntryProbability::ONE, "{}", samples.len());
            assert_eq!(samples.len(), expected.len());
            // Times are rounded when entries are looked at, which responses of nothing do only in batches.
            let rounding = 2 * batches.rounding().long.get();
            for (sample, expected) in samples.iter().zip(&expected) {
                let difference = sample.since_last.get() - expected.since_last.get();
                let is_close = difference.abs() <= rounding && (sample.weight / expected.weight - 1.0).abs() < 0.01;
                assert!(sample.at == expected.at && is_close, "{sample:?} {expected:?}");
            }
            assert_eq!(at_once.entry_probability(), batches.entry_probability());
            let [fates, all] = [at_once, batches].map(|fridge| fridge.fates()[0]);
            let rejected = Fates { seen: all.seen - all.not_admitted, not_admitted: 0, ..all };
            assert_eq!(all.responses - fates.responses, all.unmatched - fates.unmatched);
            assert_eq!(Fates { responses: all.responses, unmatched: all.unmatched, ..fates }, rejected, "{matching:?}");
        }
    }

    /// Equal requests farther apart than the expiry are two exchanges, whether or not the first was swept yet.
    #[test]
    fn an_expired_request_is_not_repeated() {
        for matching in [Match::Dns, Match::TcpTs] {
            let mut fridge = fridge(1 << 10, Some(1.0), matching);
            for seconds in [0, 101] {
                take(&mut fridge, request(1, seconds * 1_000_000_000));
            }
            let fates = fridge.fates()[0];
            assert_eq!((fates.seen, fates.expired, fates.pending, fates.ambiguous), (2, 1, 1, 0), "{matching:?}");
        }
    }

    /// The size is as predicted by the parameters, and within the memory they were fitted to.
    #[test]
    fn an_entry_has_5_bytes() {
        let of = |params: Params, terms| {
            let fridge = Fridge::new(params, terms).unwrap();
            let besides = size_of::<Profile>() + usize::from(terms.tags) * size_of::<Fates>();
            assert_eq!(fridge.state_bytes(), params.table_bytes(&terms).unwrap() + besides);
            fridge.state_bytes() as f64 / f64::from(params.slots)
        };
        let single = Terms { tags: 1, ..terms(Match::Dns, Nanos::from_secs(128)) };
        assert!((5.0..5.6).contains(&of(Params::new(1 << 14), single)));
        assert!((5.0..5.3).contains(&of(Params::new(1 << 14), Terms { repeat: Repeat::Ignored, ..single })));
        assert!((6.0..6.6).contains(&of(Params { has_tokens: true, ..Params::new(1 << 14) }, single)));
        assert!((5.0..5.6).contains(&of(Params::new(1 << 17), single)));
        assert!((7.0..7.6).contains(&of(Params::new(1 << 19), single)));
        for bytes in [1_000, 10_000, 100_000, 3_000_000] {
            let params = Params::new(0).fitting(bytes, &single);
            assert!(params.table_bytes(&single).unwrap() <= bytes);
            let more = Params { slots: params.slots + 1, ..params };
            assert!(more.table_bytes(&single).unwrap() > bytes);
        }
    }

    #[test]
    fn weights_follow_the_insertions_strictly_between() {
        let mut fridge = fridge(1 << 16, Some(1.0), Match::Dns);
        take(&mut fridge, Event { tag: 0, ..request(1, 0) });
        for id in 0..100 {
            take(&mut fridge, Event { tag: 1, ..request(1_000 + id, 10_000_000) });
        }
        let sample = take(&mut fridge, Event { tag: 0, ..response(1, 50_000_000) }).unwrap();
        assert_eq!(sample.inserted_since, 100);
        assert!((sample.since_first.get() - 50_000_000).abs() <= 512);
        assert!((sample.weight - (1.0f64 - 1.0 / 65_536.0).powi(-100)).abs() < 1e-4);
        take(&mut fridge, Event { tag: 0, ..request(7, 60_000_000) });
        let sample = take(&mut fridge, Event { tag: 0, ..response(7, 60_010_000) }).unwrap();
        assert!((sample.weight - 1.0).abs() < 1e-6, "{sample:?}");
        assert_eq!(take(&mut fridge, Event { tag: 0, ..response(7, 60_020_000) }), None, "answered once");
        assert!(fridge.fates().iter().all(Fates::is_conserved));
    }

    /// A request each millisecond, all answered: if delays of 5 ms are long known when a quarter of the slots is taken,
    /// *p* stays 1; if delays of a second are not, the search begins far below.
    #[test]
    fn everything_goes_on_to_enter_where_little_waits() {
        for (delay, is_known) in [(5, true), (1_000, false)] {
            let mut fridge = fridge(1 << 10, None, Match::Dns);
            let mut samples = Vec::new();
            let mut sparsest: f64 = 1.0;
            for i in 0..5_000u64 {
                let at = 1_000_000 * i as i64;
                let answered = hash::finish(i.wrapping_sub(delay));
                fridge.update(&[response(answered, at), request(hash::finish(i), at + 1)], &mut samples);
                sparsest = sparsest.min(fridge.entry_probability().value());
            }
            assert_eq!(sparsest == 1.0, is_known, "{sparsest}");
            assert_eq!(samples.len() > 4_900, is_known, "{}", samples.len());
        }
    }

    /// Delays of a second, a request each millisecond: whether *p* is fixed or searched, all samples have a band, and
    /// every response is at risk at first.
    #[test]
    fn a_product_limit_counts_from_the_start() {
        for p in [None, Some(0.5)] {
            let params = Params { product_limit: true, entry_probability: p, ..Params::new(256) };
            let mut fridge = Fridge::new(params, terms(Match::Dns, Nanos::from_secs(100))).unwrap();
            let mut samples = Vec::new();
            for i in 0..20_000u64 {
                let at = 1_000_000 * i as i64;
                let answered = hash::finish(i.wrapping_sub(1_000));
                fridge.update(&[response(answered, at), request(hash::finish(i), at + 1)], &mut samples);
            }
            assert!(samples.len() > 100 && samples.iter().all(|sample| sample.band > 0));
            let at_risk = fridge.risk(0).unwrap().at_risk[1];
            assert!((at_risk / 20_000.0 - 1.0).abs() < 0.15, "{at_risk}");
        }
    }

    #[test]
    fn times_wrap_and_may_go_backwards() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::Dns);
        for (id, first, delay) in
            [(1, (1 << 48) - 10, 1 << 30), (2, -5, 100), (3, 1_700_000_000_000_000_000, -6_219_000), (4, 0, 0)]
        {
            take(&mut fridge, Event { tag: 0, ..request(id, first) });
            let sample = take(&mut fridge, Event { tag: 0, ..response(id, first + delay) }).unwrap();
            // Half a microsecond, or a two-thousandth of a long delay.
            let error = (sample.since_first.get() - delay).abs();
            assert!(error <= 512.max(delay.abs() / 2_000), "{id}: {error}");
        }
    }

    #[test]
    fn repeated_requests_keep_both_bounds() {
        let mut fridge = fridge(1 << 10, Some(1.0), Match::TcpHandshake);
        take(&mut fridge, Event { token: 5, ..request(1, 0) });
        take(&mut fridge, Event { tag: 0, ..request(2, 0) });
        take(&mut fridge, Event { token: 6, ..request(1, 1 << 30) });
        let mut named = fridge.clone();
        let is_near = |found: Nanos, expected: i64| (found.get() - expected).abs() <= expected >> 11;
        let sample = take(&mut fridge, Event { tag: 0, ..response(1, 3 << 30) }).unwrap();
        assert!(is_near(sample.since_first, 3 << 30) && is_near(sample.since_last, 2 << 30), "{sample:?}");
        assert_eq!(sample.inserted_since, 0, "counted from the last request");
        let sample = take(&mut named, Event { token: 5, ..response(1, 3 << 30) }).unwrap();
        assert!(is_near(sample.since_first, 3 << 30) && !sample.is_ambiguous(), "{sample:?}");
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
        assert_has_all_fates(&fridge);
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let terms = terms(Match::Dns, Nanos::from_secs(1));
        let good = Params::new(2);
        assert!(Fridge::new(good, terms).is_ok());
        for (params, error) in [
            (Params { slots: 1, ..good }, FridgeError::Slots(1)),
            (Params { fingerprint_bits: Some(33), ..good }, FridgeError::FingerprintBits { bits: 33, most: 32 }),
            (Params { fingerprint_bits: Some(0), ..good }, FridgeError::FingerprintBits { bits: 0, most: 32 }),
            (Params { entry_probability: Some(0.0), ..good }, FridgeError::EntryProbability(0.0)),
        ] {
            assert_eq!(Fridge::new(params, terms).unwrap_err(), error);
        }
    }
}
