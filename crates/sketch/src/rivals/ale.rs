//! Approximate latency estimator: counting Bloom filters in a window of buckets, all equally wide (ALE-U) or each twice
//! as wide as the one before (ALE-E).
//!
//! A competitor of the time-spaced Bloom filters, with deletion. Biased, and included for comparison.
//!
//! **Answers**: the delay of every answered exchange, weight 1, accurate to about a quarter of its bucket; occasionally
//! that of a younger bucket.
//!
//! **Model**: a request increments its *k* counters in the present filter, bucket 0. Every *w* seconds the contents of
//! all filters move to the next older bucket; the oldest are discarded. With [`Widths::Exponential`] bucket *i* moves
//! only every 2^(*i* − 1) *w* seconds and is added to the contents of the next one. A response searches the buckets
//! from the present one back, takes the first in which all its counters are set, and decrements them there. Delays must
//! not exceed *t*_max ([`Terms::expiry`]), which must be known beforehand: one that is longer, by up to *w* or in
//! ALE-E by up to *t*_max, may still be found; any longer one is lost or matched falsely. Ids of different exchanges
//! differ. Times may jump ahead; one that goes back counts as the beginning of the present bucket.
//!
//! **State**: *b* + 1 filters of *n* counters of 4 bits, 4(*b* + 1)*n* bits in all (*n* rounded up to whole bytes); in
//! addition 40 bytes per filter, 8*k*, and 112 per series.
//!
//! **Cost**: *k* counters per request, up to *k* per bucket and *k* more per response. Per *w*, ALE-U clears one filter
//! and ALE-E adds one to another: only the oldest bucket that moves finds the next one full, the others are swapped. An
//! addition reads and writes *n*/2 bytes twice; with 14 filters in 64 KiB it takes .2 µs, the time of some ten
//! exchanges. Filters of 64 KiB and more skip empty stretches of 1 KiB.
//!
//! **Estimate**: the middle of the time that the bucket covers up to the response. The true bucket gives a mean error
//! of *w*/4 (ALE-U, delays uniform in it) or a fifth of the delay (ALE-E, delays log-uniform and above 8*w*). A younger
//! filter that matches falsely, with [`false_positive_probability`](crate::rivals::timebloom::false_positive_probability),
//! always wins: that biases delays downwards, and decrements the counters of other requests, so that those are lost. If
//! no request was seen, a response gives a delay whenever a filter matches falsely. Unanswered requests stay for the
//! whole window.
//!
//! **Fates**: as with the [ring](crate::rivals::timebloom): `seen`, `responses` and `unmatched` are exact, `matched` follows
//! from the estimated delays, and nothing is counted as `ambiguous`; a repeated request is inserted again.
//!
//! **Merge**: samples of windows over disjoint traffic are simply added up.
//!
//! **Differs from the paper**: which we know only through porcino23. These choices are ours: a counter that reaches 15
//! stays; in the present bucket the middle is that of the time since its beginning; the bounds of ALE-E's buckets,
//! which change as contents move, are stored; *t*_max is what the window covers at least, *bw* or 2^(*b* − 1) *w*;
//! places are those of the ring. Contents move by swapping arrays if the older bucket is empty. The bounds of a bucket
//! are interchanged in porcino23's text.
//!
//! **Source**: porcino23 §3.4, figure 3.8, table 3.2, which describe its reference 10
//! (`docs/papers/porcino23-timebloom.md`).

use crate::parts::counters::Counters;
use crate::parts::filters::{
    self, Counts, FiltersError, GivenFilters, LEAST_FILTERS, LEAST_PLACES, MOST_FILTERS, MOST_HASHES,
};
use crate::{Event, Fates, Meter, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// The widths of the buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widths {
    /// All equal: ALE-U.
    Uniform,
    /// *w* for the youngest two, each older one twice as much: ALE-E.
    Exponential,
}

/// The parameters of a window of buckets. The longest delay *t*_max is [`Terms::expiry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// The variant.
    pub widths: Widths,
    /// *b*: buckets besides the present one, `1..=4095`, at most 20 of exponential width.
    pub buckets: u32,
    /// *n*: counters of each filter, at least one.
    pub counters: u32,
    /// *k*, `1..=64`.
    pub hashes: u32,
}

impl Params {
    /// The least memory for [`Params::budget`].
    pub const LEAST_BYTES: usize =
        LEAST_FILTERS as usize * (size_of::<Bucket>() + LEAST_PLACES as usize / 2) + PLACES_BYTES;

    /// The window for delays up to `longest` that fits this many bytes, without the counts of the series; `None` if
    /// they are too few. `rate`: requests per second, if known. Buckets of exponential width use 4 hash functions,
    /// since their loads differ too much for any number to suit all.
    pub fn budget(
        bytes: usize,
        widths: Widths,
        longest: Nanos,
        rate: Option<f64>,
        given: &GivenFilters,
    ) -> Option<Self> {
        const EXPONENTIAL_HASHES: u32 = 4;
        let bytes = bytes.checked_sub(PLACES_BYTES)?;
        let counters = |filters: u32| {
            let of_filter = (bytes / filters as usize).saturating_sub(size_of::<Bucket>());
            given.places_of(Counters::BITS, Counters::most_resettable(of_filter))
        };
        let filters = given.filters.unwrap_or_else(|| match widths {
            Widths::Uniform => filters::fit_filters(counters, longest, rate),
            Widths::Exponential => EXPONENTIAL_FILTERS,
        });
        let (buckets, counters) = (filters.checked_sub(1).filter(|&buckets| buckets > 0)?, counters(filters));
        let hashes = given.hashes.unwrap_or_else(|| match widths {
            Widths::Uniform => filters::hashes(counters, Nanos::new(longest.get() / i64::from(buckets)), rate),
            Widths::Exponential => EXPONENTIAL_HASHES,
        });
        (counters > 0).then_some(Self { widths, buckets, counters, hashes })
    }

    /// The least bytes for [`Params::budget`] of what is given.
    pub(crate) fn least_bytes(widths: Widths, given: &GivenFilters) -> usize {
        if *given == GivenFilters::default() {
            return Self::LEAST_BYTES;
        }
        let usual = if widths == Widths::Uniform { LEAST_FILTERS } else { EXPONENTIAL_FILTERS };
        let counters = Counters::bytes_for(given.least_places(Counters::BITS));
        given.filters.unwrap_or(usual) as usize * (size_of::<Bucket>() + counters) + PLACES_BYTES
    }

    /// The least time covered by the buckets besides the present one, in multiples of *w*.
    fn least_span(&self) -> i64 {
        match self.widths {
            Widths::Uniform => i64::from(self.buckets),
            Widths::Exponential => 1 << (self.buckets - 1),
        }
    }
}

/// Bytes of the counters' places for a response.
const PLACES_BYTES: usize = MOST_HASHES as usize * size_of::<usize>();
/// Filters of exponential width, unless their number is given.
const EXPONENTIAL_FILTERS: u32 = 14;
/// The most filters of exponential width.
const MOST_EXPONENTIAL: u32 = 21;

/// Counting filters over a sliding window of time.
#[derive(Clone, Debug)]
pub struct Ale {
    params: Params,
    /// The present bucket, then from young to old.
    buckets: Vec<Bucket>,
    /// *w* in nanoseconds, rounded up to whole ones, at least 1.
    width: i64,
    /// The present bucket covers the time from this multiple of *w* to the next.
    tick: i64,
    /// When the next bucket begins.
    next: Timestamp,
    /// When the present period of the counts of fates began, in nanoseconds.
    turn_begin: i64,
    /// Start of the seeded hash of ids.
    start: u64,
    /// Counters of the last response, as indices below [`Params::counters`].
    places: Vec<usize>,
    counts: Counts,
}

#[derive(Clone, Debug)]
struct Bucket {
    counters: Counters,
    /// Beginning of the time that it covers, in multiples of *w*; the end is the beginning of the next younger one.
    begin: i64,
    is_empty: bool,
}

impl Ale {
    /// An empty window.
    pub fn new(params: Params, terms: Terms) -> Result<Self, FiltersError> {
        let Params { widths, buckets, counters, hashes } = params;
        let most = if widths == Widths::Uniform { MOST_FILTERS } else { MOST_EXPONENTIAL };
        FiltersError::check_filters(buckets.saturating_add(1), most)?;
        if counters == 0 {
            return Err(FiltersError::Places { given: 0, least: Counters::BITS });
        }
        FiltersError::check_hashes(hashes)?;
        FiltersError::check_longest(terms.expiry)?;
        Ok(Self {
            params,
            buckets: vec![
                Bucket { counters: Counters::resettable(counters), begin: i64::MIN, is_empty: true };
                buckets as usize + 1
            ],
            width: terms.expiry.get().unsigned_abs().div_ceil(params.least_span() as u64) as i64,
            tick: i64::MIN,
            next: Timestamp::MIN,
            turn_begin: i64::MIN,
            start: hash::start(hash::word(terms.seed, 1)),
            places: Vec::with_capacity(hashes as usize),
            counts: Counts::new(terms.tags),
        })
    }

    /// *b*, *n* and *k*.
    pub fn params(&self) -> Params {
        self.params
    }

    /// *t*_max in whole multiples of *w*.
    pub fn longest(&self) -> Nanos {
        Nanos::new(self.width * self.params.least_span())
    }

    /// How many buckets, from the present one on, move at the beginning of the present *w*: with exponential widths
    /// bucket 0 and 1 always, bucket *i* every 2^(*i* − 1) times.
    fn moving(&self) -> usize {
        match self.params.widths {
            Widths::Uniform => self.buckets.len(),
            Widths::Exponential => self.buckets.len().min(self.tick.trailing_zeros() as usize + 2),
        }
    }

    /// The longest time that the window can cover, in multiples of *w*.
    fn span(&self) -> i64 {
        match self.params.widths {
            Widths::Uniform => i64::from(self.params.buckets) + 1,
            Widths::Exponential => 1 << self.params.buckets,
        }
    }

    fn advance_to(&mut self, tick: i64) {
        if tick.saturating_sub(self.tick) >= self.span() {
            self.tick = tick;
            for bucket in &mut self.buckets {
                bucket.forget();
                bucket.begin = tick;
            }
        }
        while self.tick < tick {
            self.tick += 1;
            self.shift();
        }
    }

    /// Moves contents to older buckets, the oldest first.
    fn shift(&mut self) {
        for number in (0..self.moving()).rev() {
            let begin = number.checked_sub(1).map_or(self.tick, |younger| self.buckets[younger].begin);
            if let [bucket, older, ..] = &mut self.buckets[number..] {
                bucket.pour_into(older);
            }
            self.buckets[number].forget();
            self.buckets[number].begin = begin;
        }
    }

    /// The counters of an id.
    #[inline]
    fn places(&self, id: ExchangeId) -> impl Iterator<Item = usize> + use<> {
        filters::places(hash::word(self.start, id.0), self.params.counters, self.params.hashes)
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        let places = self.places(request.id);
        let present = &mut self.buckets[0];
        places.for_each(|place| present.counters.increment(place));
        present.is_empty = false;
        self.counts.request(request.tag);
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        let places = self.places(response.id);
        self.places.clear();
        self.places.extend(places);
        let places = &self.places;
        let holds = |bucket: &Bucket| places.iter().all(|&place| bucket.counters.get(place) > 0);
        let Some(number) = self.buckets.iter().position(holds) else {
            self.counts.unmatched(response.tag);
            return None;
        };
        let counters = &mut self.buckets[number].counters;
        self.places.iter().for_each(|&place| counters.decrement(place));
        let (begin, end) = self.covered(number);
        let now = response.at.as_nanos().clamp(self.tick.saturating_mul(self.width), i64::MAX);
        let delay = now.saturating_sub(begin) / 2 + now.saturating_sub(end.min(now)) / 2;
        self.counts.matched(response.tag, now.saturating_sub(delay) >= self.turn_begin);
        Some(Sample::alone(response, Nanos::new(delay)))
    }

    /// The time that a bucket covers, in nanoseconds; the end of the present one is unbounded.
    fn covered(&self, number: usize) -> (i64, i64) {
        let begin = |bucket: &Bucket| bucket.begin.saturating_mul(self.width);
        let end = number.checked_sub(1).map_or(i64::MAX, |younger| begin(&self.buckets[younger]));
        (begin(&self.buckets[number]), end)
    }
}

impl Bucket {
    /// Adds its contents to an older bucket, which keeps its beginning; the caller must clear the rest.
    fn pour_into(&mut self, older: &mut Self) {
        if self.is_empty {
            return;
        }
        if older.is_empty {
            std::mem::swap(&mut self.counters, &mut older.counters);
        } else {
            older.counters.take_from(&mut self.counters);
        }
        older.is_empty = false;
        self.is_empty = true;
    }

    fn forget(&mut self) {
        if !self.is_empty {
            self.counters.clear();
            self.is_empty = true;
        }
    }
}

impl Meter for Ale {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        for event in events {
            self.advance(event.at);
            if event.is_request {
                self.request(event);
            } else {
                samples.extend(self.response(event));
            }
        }
    }

    #[inline]
    fn advance(&mut self, now: Timestamp) {
        if now >= self.next {
            let tick = now.as_nanos().div_euclid(self.width);
            self.advance_to(tick);
            let turn = tick.div_euclid(self.span());
            self.counts.advance(turn);
            self.turn_begin = turn.saturating_mul(self.span()).saturating_mul(self.width);
            self.next = Timestamp::from_nanos(tick.saturating_add(1).saturating_mul(self.width));
        }
    }

    fn fates(&self) -> Vec<Fates> {
        self.counts.fates()
    }

    fn structure(&self) -> Structure {
        let Params { buckets, counters, hashes, .. } = self.params();
        Structure::Filters { filters: buckets + 1, bits: 4 * u64::from(counters), hashes, longest: self.longest() }
    }

    fn state_bytes(&self) -> usize {
        self.buckets.iter().map(|bucket| bucket.counters.state_bytes() + size_of::<Bucket>()).sum::<usize>()
            + self.places.capacity() * size_of::<usize>()
            + self.counts.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rivals::bloomtime;
    use crate::rivals::timebloom::TimeBloom;
    use crate::test_support::{request, response, terms};
    use dwell_types::Match;

    const LONGEST: i64 = 1 << 20;

    fn ale(widths: Widths, buckets: u32, counters: u32) -> Ale {
        let params = Params { widths, buckets, counters, hashes: 4 };
        Ale::new(params, terms(Match::Dns, Nanos::new(LONGEST))).unwrap()
    }

    /// Requests 977 ns apart; nine of ten are answered, after delays up to the longest, uniform on a logarithmic scale.
    /// Returns the true delay with each response.
    fn stream(requests: u64) -> Vec<(Event, i64)> {
        let mut events = Vec::new();
        for i in 0..requests {
            let (at, random) = (i as i64 * 977 - 3_000_000, hash::finish(i ^ 0xa1e));
            events.push((request(hash::finish(i), at), 0));
            if random % 10 > 0 {
                let delay = (2f64.powf((random >> 32) as f64 / 2f64.powi(32) * 20.0)) as i64;
                events.push((response(hash::finish(i), at + delay), delay));
            }
        }
        events.sort_by_key(|(event, _)| event.at);
        events
    }

    /// The definition without shortcuts: byte counters, contents are added even if empty.
    struct Naive {
        buckets: Vec<(Vec<u8>, i64)>,
        tick: i64,
    }

    impl Naive {
        fn shift(&mut self, widths: Widths) {
            self.tick += 1;
            for i in (0..self.buckets.len()).rev() {
                let period = if widths == Widths::Exponential && i > 1 { 1 << (i - 1) } else { 1 };
                if self.tick % period == 0 {
                    let empty = vec![0; self.buckets[i].0.len()];
                    let moved = std::mem::replace(&mut self.buckets[i].0, empty);
                    if let Some((older, _)) = self.buckets.get_mut(i + 1) {
                        older.iter_mut().zip(moved).for_each(|(older, moved)| *older = (*older + moved).min(15));
                    }
                    self.buckets[i].1 = if i == 0 { self.tick } else { self.buckets[i - 1].1 };
                }
            }
        }

        /// The delay by the middle of the bucket, in nanoseconds.
        fn take(&mut self, event: &Event, places: &[usize], width: i64) -> Option<i64> {
            if event.is_request {
                places.iter().for_each(|&at| self.buckets[0].0[at] = (self.buckets[0].0[at] + 1).min(15));
                return None;
            }
            let found = self.buckets.iter().position(|(counters, _)| places.iter().all(|&at| counters[at] > 0))?;
            for &at in places {
                let counter = &mut self.buckets[found].0[at];
                *counter -= u8::from((1..15).contains(counter));
            }
            let now = event.at.as_nanos();
            let end = if found == 0 { now } else { self.buckets[found - 1].1 * width };
            Some(now - (self.buckets[found].1 * width + end) / 2)
        }
    }

    /// With full filters, and so false matches, saturated counters and wrong deletions, results are as defined.
    #[test]
    fn contents_move_as_defined() {
        for (widths, buckets, counters) in [
            (Widths::Uniform, 1, 99),
            (Widths::Uniform, 40, 320),
            (Widths::Exponential, 1, 64),
            (Widths::Exponential, 7, 1_000),
        ] {
            let mut ale = ale(widths, buckets, counters);
            let width = ale.width;
            let mut naive: Option<Naive> = None;
            let (mut samples, mut expected) = (Vec::new(), Vec::new());
            for (event, _) in stream(6_000) {
                let tick = event.at.as_nanos().div_euclid(width);
                let empty = || (vec![0; counters as usize], tick);
                let naive =
                    naive.get_or_insert_with(|| Naive { buckets: (0..=buckets).map(|_| empty()).collect(), tick });
                while naive.tick < tick {
                    naive.shift(widths);
                }
                ale.update(&[event], &mut samples);
                let places: Vec<usize> = ale.places(event.id).collect();
                expected.extend(naive.take(&event, &places, width));
            }
            let found: Vec<i64> = samples.iter().map(|sample| sample.since_first.get()).collect();
            assert_eq!(found.len(), expected.len(), "{widths:?}, {buckets} buckets");
            assert!(found.iter().zip(&expected).all(|(a, b)| a.abs_diff(*b) <= 1), "{widths:?}, {buckets} buckets");
            assert!(ale.fates().iter().all(Fates::is_conserved), "{:?}", ale.fates());
        }
    }

    /// With room, every response matches in the bucket that covers its request, so that only widths cause errors.
    #[test]
    fn with_room_only_widths_err() {
        for (widths, buckets) in [(Widths::Uniform, 16), (Widths::Uniform, 256), (Widths::Exponential, 10)] {
            let mut ale = ale(widths, buckets, 1 << 16);
            let width = ale.width;
            let (mut samples, mut relative, mut long) = (Vec::new(), 0.0, 0.0);
            for (event, delay) in stream(3_000) {
                samples.clear();
                ale.update(&[event], &mut samples);
                assert_eq!(samples.len(), usize::from(!event.is_request), "a delay of {delay}");
                let Some(sample) = samples.first() else { continue };
                let error = (sample.since_first.get() - delay).abs();
                let most = if widths == Widths::Uniform { width / 2 } else { delay.max(width / 2) };
                assert!(error <= most + 1, "{widths:?}: {error} of {delay}");
                if delay > 8 * width {
                    (relative, long) = (relative + error as f64 / delay as f64, long + 1.0);
                }
            }
            println!("{widths:?}, {buckets} buckets: {}", relative / long);
            assert_eq!(ale.fates()[0].unmatched, 0);
        }
    }

    /// ALE-U with room equals BLOOMTIME with room: two implementations of the same slots, one with deletion.
    #[test]
    fn uniform_buckets_are_the_slots_of_the_ring() {
        let mut ale = ale(Widths::Uniform, 63, 1 << 16);
        let terms = terms(Match::Dns, Nanos::new(LONGEST));
        let given = GivenFilters { filters: Some(64), bits: Some(1 << 16), hashes: None };
        let params = bloomtime::budget(1 << 20, terms.expiry, Some(1e6), &given).unwrap();
        let mut ring = TimeBloom::new(params, terms).unwrap();
        assert_eq!(Nanos::new(ale.width), ring.slot_width());
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (event, _) in stream(3_000) {
            ale.update(&[event], &mut ours);
            ring.update(&[event], &mut theirs);
        }
        assert_eq!(ours.len(), theirs.len());
        let differs = |(a, b): (&Sample, &Sample)| a.since_first.get().abs_diff(b.since_first.get()) > 1;
        assert!(!ours.iter().zip(&theirs).any(differs));
    }

    #[test]
    fn requests_are_deleted_when_answered() {
        let mut ale = ale(Widths::Exponential, 4, 1 << 10);
        let mut samples = Vec::new();
        ale.update(&[request(7, 0), response(7, 10), response(7, 20), response(8, 30)], &mut samples);
        assert_eq!(samples.len(), 1);
        let fates = ale.fates()[0];
        assert_eq!((fates.seen, fates.matched, fates.responses, fates.unmatched), (1, 1, 3, 2));
        ale.update(&[request(7, 40), request(9, i64::MAX - 1), response(7, i64::MAX)], &mut samples);
        assert_eq!((samples.len(), ale.fates()[0].expired), (1, 1), "what is far in the past is forgotten");
    }

    #[test]
    fn budgets_are_kept_and_used() {
        let terms = terms(Match::Dns, Nanos::from_secs(8));
        for widths in [Widths::Uniform, Widths::Exponential] {
            assert_eq!(Params::budget(1 << 10, widths, terms.expiry, None, &GivenFilters::default()), None);
            for bytes in [Params::LEAST_BYTES, 20_000, 49_152, 1 << 20] {
                let params = Params::budget(bytes, widths, terms.expiry, None, &GivenFilters::default()).unwrap();
                let ale = Ale::new(params, terms).unwrap();
                let held = ale.state_bytes() - ale.counts.state_bytes();
                assert!(held <= bytes && held + 512 + 8 * ale.buckets.len() >= bytes, "{widths:?}: {held} of {bytes}");
            }
        }
        assert_eq!(
            Params::budget(Params::LEAST_BYTES - 1, Widths::Uniform, terms.expiry, None, &GivenFilters::default()),
            None
        );
        let uniform = |rate| {
            let params = Params::budget(49_152, Widths::Uniform, terms.expiry, rate, &GivenFilters::default()).unwrap();
            (params.buckets, params.hashes)
        };
        // 94,000 counters: 8 per request in the window at 1,500 requests per second, hardly any at 100,000.
        assert_eq!((uniform(None), uniform(Some(1_500.0)), uniform(Some(1e5))), ((255, 8), (31, 5), (31, 1)));
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let good = Params { widths: Widths::Exponential, buckets: 20, counters: 1, hashes: 64 };
        let error = |params, longest| Ale::new(params, terms(Match::Dns, Nanos::new(longest))).unwrap_err();
        for buckets in [0, 21] {
            assert_eq!(error(Params { buckets, ..good }, 1), FiltersError::Filters { given: buckets + 1, most: 21 });
        }
        let wide = Params { widths: Widths::Uniform, buckets: 4_096, ..good };
        assert_eq!(error(wide, 1), FiltersError::Filters { given: 4_097, most: 4_096 });
        assert_eq!(error(Params { counters: 0, ..good }, 1), FiltersError::Places { given: 0, least: 4 });
        for hashes in [0, 65] {
            assert_eq!(error(Params { hashes, ..good }, 1), FiltersError::Hashes(hashes));
        }
        for longest in [i64::MIN, 0, i64::MAX] {
            assert_eq!(error(good, longest), FiltersError::Longest(Nanos::new(longest)));
        }
        assert!(Ale::new(good, terms(Match::Dns, Nanos::new(1))).is_ok());
    }
}
