//! Double deletion Bloom filter: a Bloom filter whose cells hold a time and a count.
//!
//! A competitor of the time-spaced Bloom filters, with times as exact as its cells' and with deletion. Biased, and
//! included for comparison.
//!
//! **Answers**: the delay of every answered exchange, weight 1: exact, or too short.
//!
//! **Model**: a request writes its time into its *k* cells, overwriting what is there, and increments their counts. A
//! response whose counts are all above zero takes the oldest of the *k* times. If that is younger than *t*_max
//! ([`Terms::expiry`]; the paper's *vt*), it is a match and the counts are decremented (explicit deletion); else
//! the response is discarded, and only the counts of the cells with younger times are decremented (implicit deletion).
//! *t*_max must be known beforehand. Ids of different exchanges differ. A time that goes back counts as the latest one.
//!
//! **State**: *n* cells of 36 bits, *s*_t = 32 for the time and *s*_c = 4 for the count (counts rounded to words of
//! 16); in addition 8*k* bytes and 112 per series. The unit of time is the smallest power of two nanoseconds in which
//! 64 *t*_max fit: an entry that was not overwritten for longer may seem young again, one time in 64.
//!
//! **Cost**: *k* times and *k* counts per event.
//!
//! **Estimate**: the true delay if at least one of the *k* cells was not overwritten since, which after *λd* later
//! requests has probability 1 − (1 − e^(−*kλd*/*n*))^*k*: the slower the exchange, the less likely. Otherwise it is the
//! time since the oldest of the last overwrites: too short, by an unknown amount. A response to no observed request
//! gives a delay if all its cells are counted and younger than *t*_max: (1 − e^(−*kλt*_max/*n*))^*k*. Wrong deletions
//! lose others' entries, so that their responses are not matched. Unanswered requests are never deleted; the counts
//! that they leave behind do no harm beside a time that is too old.
//!
//! **Fates**: as with the [ring](crate::rivals::timebloom): `seen`, `responses` and `unmatched` are exact, `matched` follows
//! from the delays, and nothing is counted as `ambiguous`; a repeated request is inserted again.
//!
//! **Merge**: samples of filters over disjoint traffic are simply added up.
//!
//! **Differs from the paper**: which we know only through porcino23, for SYN and ACK. These choices are ours: a count
//! that reaches 15 stays, the unit of time, the places, which are those of the ring.
//!
//! **Source**: porcino23 §3.4, table 3.2, which describe its reference 12 (`docs/papers/porcino23-timebloom.md`).

use crate::parts::counters::Counters;
use crate::parts::filters::{self, Counts, FiltersError, GivenFilters, LEAST_PLACES};
use crate::{Event, Fates, Meter, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// The parameters of a filter. The longest delay *t*_max is [`Terms::expiry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// *n*: cells, at least one.
    pub cells: u32,
    /// *k*, `1..=64`.
    pub hashes: u32,
}

impl Params {
    /// The least memory for [`Params::budget`].
    pub const LEAST_BYTES: usize = LEAST_PLACES as usize / 16 * BLOCK_BYTES + places_bytes(HASHES);

    /// The filter that fits this many bytes, without the counts of the series; `None` if they are too few. With 4 hash
    /// functions at any rate: an entry is overwritten by requests within its delay, not within *t*_max, so that the
    /// number that is best for membership would be too small.
    pub fn budget(bytes: usize, given: &GivenFilters) -> Option<Self> {
        let hashes = given.hashes.unwrap_or(HASHES);
        let blocks = bytes.checked_sub(places_bytes(hashes))? / BLOCK_BYTES;
        let cells = given.places_of(CELL_BITS, u32::try_from(16 * blocks).unwrap_or(u32::MAX - 15));
        (cells > 0).then_some(Self { cells, hashes })
    }

    /// The least bytes for [`Params::budget`] of what is given.
    pub(crate) fn least_bytes(given: &GivenFilters) -> usize {
        let blocks = given.least_places(CELL_BITS).div_ceil(16) as usize;
        blocks * BLOCK_BYTES + places_bytes(given.hashes.unwrap_or(HASHES))
    }
}

/// *k* of a filter that fits a budget.
const HASHES: u32 = 4;
/// Bits of a cell: a time and a count.
pub(crate) const CELL_BITS: u32 = u32::BITS + Counters::BITS;
/// Bytes of sixteen cells, whose counts share a word.
const BLOCK_BYTES: usize = 16 * size_of::<u32>() + size_of::<u64>();

/// Bytes of the places of an id's cells.
const fn places_bytes(hashes: u32) -> usize {
    hashes as usize * size_of::<usize>()
}

/// A Bloom filter with times.
#[derive(Clone, Debug)]
pub struct Ddbf {
    params: Params,
    longest: Nanos,
    /// The unit of time is 2 to this many nanoseconds.
    unit_log2: u32,
    /// When the last request with this cell came, in units modulo 2³².
    times: Vec<u32>,
    stored: Counters,
    /// Start of the seeded hash of ids.
    start: u64,
    /// Cells of the last response.
    places: Vec<usize>,
    counts: Counts,
    latest: Timestamp,
}

/// Age in units beyond any delay, as a power of two.
const OLD_LOG2: u32 = 30;

impl Ddbf {
    /// An empty filter.
    pub fn new(params: Params, terms: Terms) -> Result<Self, FiltersError> {
        let Params { cells, hashes } = params;
        let longest = terms.expiry;
        if cells == 0 {
            return Err(FiltersError::Places { given: 0, least: CELL_BITS });
        }
        FiltersError::check_hashes(hashes)?;
        FiltersError::check_longest(longest)?;
        Ok(Self {
            params,
            longest,
            unit_log2: (longest.get().unsigned_abs() >> 26).checked_ilog2().map_or(0, |log2| log2 + 1),
            times: vec![0; cells as usize],
            stored: Counters::new(cells),
            start: hash::start(hash::word(terms.seed, 1)),
            places: Vec::with_capacity(hashes as usize),
            counts: Counts::new(terms.tags),
            latest: Timestamp::MIN,
        })
    }

    /// *t*_max.
    pub fn longest(&self) -> Nanos {
        self.longest
    }

    /// *n* and *k*.
    pub fn params(&self) -> Params {
        self.params
    }

    /// The cells of an id.
    #[inline]
    fn places(&self, id: ExchangeId) -> impl Iterator<Item = usize> + use<> {
        filters::places(hash::word(self.start, id.0), self.params.cells, self.params.hashes)
    }

    /// A moment in units.
    #[inline]
    fn units(&self, at: Timestamp) -> i64 {
        at.as_nanos() >> self.unit_log2
    }

    /// The present moment, modulo 2³² units.
    #[inline]
    fn now(&self) -> u32 {
        self.units(self.latest) as u32
    }

    /// After 2³² units, 64 to 128 times the longest delay, an old cell would look young again: ages are capped at a
    /// quarter of that, whenever time passes a multiple of it.
    #[cold]
    fn keep_old(&mut self, before: Timestamp) {
        let passed = self.units(self.latest).saturating_sub(self.units(before)).unsigned_abs();
        let (then, now) = (self.units(before) as u32, self.now());
        for time in &mut self.times {
            let age = u64::from(then.wrapping_sub(*time)).saturating_add(passed);
            *time = if age > 1 << OLD_LOG2 { now.wrapping_sub(1 << OLD_LOG2) } else { *time };
        }
    }

    /// The period of the counts of fates.
    fn turn(&self, ns: i64) -> i64 {
        ns.div_euclid(self.longest.get())
    }

    #[inline]
    fn request(&mut self, request: &Event) {
        let now = self.now();
        for place in self.places(request.id) {
            self.times[place] = now;
            self.stored.increment(place);
        }
        self.counts.request(request.tag);
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        let places = self.places(response.id);
        self.places.clear();
        self.places.extend(places);
        let Some(delay) = self.answer() else {
            self.counts.unmatched(response.tag);
            return None;
        };
        let now = self.latest.as_nanos();
        let is_of_present_turn = self.turn(now.saturating_sub(delay.get())) == self.turn(now);
        self.counts.matched(response.tag, is_of_present_turn);
        Some(Sample::alone(response, delay))
    }

    /// The time since the oldest of the cells, if all are counted and it is young enough. Decrements young cells.
    fn answer(&mut self) -> Option<Nanos> {
        if self.places.iter().any(|&place| self.stored.get(place) == 0) {
            return None;
        }
        let now = self.now();
        let age = |&place: &usize| i64::from(now.wrapping_sub(self.times[place])) << self.unit_log2;
        let longest = self.longest.get();
        let oldest = self.places.iter().map(age).max()?;
        for place in self.places.iter().filter(|place| age(place) <= longest) {
            self.stored.decrement(*place);
        }
        (oldest <= longest).then_some(Nanos::new(oldest))
    }
}

impl Meter for Ddbf {
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
        let before = self.latest;
        self.latest = before.max(now);
        if self.units(self.latest) >> OLD_LOG2 > self.units(before) >> OLD_LOG2 {
            self.keep_old(before);
        }
        self.counts.advance(self.turn(self.latest.as_nanos()));
    }

    fn fates(&self) -> Vec<Fates> {
        self.counts.fates()
    }

    fn structure(&self) -> Structure {
        let Params { cells, hashes } = self.params();
        Structure::Filters {
            filters: 1,
            bits: u64::from(CELL_BITS) * u64::from(cells),
            hashes,
            longest: self.longest(),
        }
    }

    fn state_bytes(&self) -> usize {
        self.times.capacity() * size_of::<u32>()
            + self.stored.state_bytes()
            + self.places.capacity() * size_of::<usize>()
            + self.counts.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;
    use crate::test_support::{request, response, terms};
    use dwell_types::Match;

    /// The unit of time is 128 ns.
    const LONGEST: Nanos = Nanos::from_secs(8);

    fn ddbf(cells: u32, hashes: u32) -> Ddbf {
        Ddbf::new(Params { cells, hashes }, terms(Match::Dns, LONGEST)).unwrap()
    }

    /// With room, delays and counts equal those of the exact table, up to the unit of time.
    #[test]
    fn with_room_it_is_exact() {
        let (mut ddbf, mut exact) = (ddbf(1 << 16, 8), Exact::new(terms(Match::Dns, LONGEST)));
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for i in 0..2_000u64 {
            let at = i as i64 * 50_007 - 20_000_000;
            let answered = i.saturating_sub(1 + hash::finish(i) % 40);
            for event in [request(hash::finish(i), at), response(hash::finish(answered), at + 300)] {
                ddbf.update(&[event], &mut found);
                exact.update(&[event], &mut expected);
            }
        }
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.since_first.get().abs_diff(expected.since_first.get()) < 128, "{found:?} {expected:?}");
        }
        assert_eq!(ddbf.fates(), exact.fates());
    }

    /// A delay is never too long, and too short with the probability that all cells of an entry were overwritten:
    /// 20,000 responses, 500 requests after theirs, 4 of 4,096 cells each: (1 − e^(−4·500/4096))⁴ = .0222, standard
    /// error .0010 (.0015 as neighbours share overwriters). ±.009 is six of these, exceeded by chance with a
    /// probability of 2·10⁻⁹. Ignoring that a request overwrites four cells would give .0002.
    #[test]
    fn delays_are_exact_or_too_short() {
        let (mut ddbf, mut samples) = (ddbf(1 << 12, 4), Vec::new());
        const REQUESTS: u64 = 20_500;
        for i in 0..REQUESTS {
            let at = i as i64 * 128_000;
            ddbf.update(&[request(hash::finish(i), at)], &mut samples);
            if i >= 500 {
                ddbf.update(&[response(hash::finish(i - 500), at)], &mut samples);
            }
        }
        let (delays, truth): (Vec<i64>, _) = (samples.iter().map(|s| s.since_first.get()).collect(), 500 * 128_000);
        assert!(delays.iter().all(|&delay| delay <= truth));
        let short = delays.iter().filter(|&&delay| delay < truth).count() as f64 / 20_000.0;
        let is_near = |expected: f64| (short - expected).abs() < 0.009;
        let overwritten = |cells: f64| (1.0 - (-cells * 500.0 / 4_096.0).exp()).powi(4);
        assert!(is_near(overwritten(4.0)) && !is_near(overwritten(1.0)), "{short}");
        assert!(ddbf.fates().iter().all(Fates::is_conserved));
    }

    #[test]
    fn entries_are_deleted_when_answered_or_too_old() {
        let (mut ddbf, mut samples) = (ddbf(1 << 10, 4), Vec::new());
        let late = LONGEST.get() + 1_000;
        let events =
            [request(7, 0), response(7, 12_800), response(7, 25_600), request(8, 30_000), response(8, 30_000 + late)];
        ddbf.update(&events, &mut samples);
        assert_eq!(samples.len(), 1);
        assert_eq!(samples[0].since_first.get(), 12_800);
        assert_eq!((ddbf.fates()[0].unmatched, ddbf.fates()[0].matched), (2, 1));
        // Only young cells are decremented: an old entry remains counted, but does not match.
        assert!(ddbf.places.iter().all(|&place| ddbf.stored.get(place) > 0));
        // Without deletion a time that wraps around would look young again.
        ddbf.update(&[request(9, 0), response(9, -5)], &mut samples);
        assert_eq!(samples.last().map(|s| s.since_first.get()), Some(0), "a time that goes back is the latest");
    }

    #[test]
    fn budgets_are_kept_and_used() {
        assert_eq!(Params::budget(Params::LEAST_BYTES - 1, &GivenFilters::default()), None);
        for bytes in [Params::LEAST_BYTES, 12_345, 1 << 20] {
            let params = Params::budget(bytes, &GivenFilters::default()).unwrap();
            let ddbf = Ddbf::new(params, terms(Match::Dns, LONGEST)).unwrap();
            let held = ddbf.state_bytes() - ddbf.counts.state_bytes();
            assert!(held <= bytes && held + 72 > bytes, "{held} of {bytes}");
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let error = |cells, hashes, longest| {
            Ddbf::new(Params { cells, hashes }, terms(Match::Dns, Nanos::new(longest))).unwrap_err()
        };
        assert_eq!(error(0, 1, 1), FiltersError::Places { given: 0, least: 36 });
        assert_eq!(error(1, 0, 1), FiltersError::Hashes(0));
        assert_eq!(error(1, 65, 1), FiltersError::Hashes(65));
        for longest in [i64::MIN, 0, i64::MAX] {
            assert_eq!(error(1, 1, longest), FiltersError::Longest(Nanos::new(longest)));
        }
    }
}
