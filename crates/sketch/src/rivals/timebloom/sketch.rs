use super::learnt::Learnt;
use super::policy::{Query, single};
use super::reference::Bins;
use super::ring::{Ring, Shape};
use super::{Cdf, Policy, Reference, fit};
use crate::parts::filters::{Counts, FiltersError, GivenFilters, MOST_FILTERS};
use crate::{Event, Fates, Meter, Sample, Structure, Terms};
use dwell_types::{ExchangeId, Nanos, Timestamp, hash};

/// The parameters of a ring of filters. The longest delay *t*_max is [`Terms::expiry`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// *N*: bits of all filters together. Each filter has ⌊*N*/*b*⌋, with *b* rounded up to a power of two below 64,
    /// and to a multiple of 64 above.
    pub bits: u64,
    /// *b*, `2..=4096`.
    pub filters: u32,
    /// *k*, `1..=64`, if it is given.
    pub hashes: Option<u32>,
    /// λ: expected requests per second, from which the number of hash functions is chosen otherwise. An error by a factor
    /// of two does little harm.
    pub rate: f64,
    /// How to choose among several matching filters.
    pub policy: Policy,
    /// The moment of a slot that stands for its requests.
    pub reference: Reference,
    /// Prior knowledge of the delays.
    pub prior: Prior,
}

impl Params {
    /// The least memory for [`Params::budget`].
    pub const LEAST_BYTES: usize = super::LEAST_BYTES + Learnt::BYTES;

    /// The ring for delays up to `longest` that fits this many bytes, without the counts of the series; `None` if they
    /// are too few. `rate`: requests per second, if known.
    pub fn budget(bytes: usize, longest: Nanos, rate: Option<f64>, given: &GivenFilters, prior: Prior) -> Option<Self> {
        let (bits, filters, rate) = fit(bytes.checked_sub(prior.state_bytes())?, longest, rate, given)?;
        let (policy, reference) = (Policy::USUAL, Reference::ConditionalMean);
        Some(Self { bits, filters, hashes: given.hashes, rate, policy, reference, prior })
    }

    /// The least bytes for [`Params::budget`] of what is given.
    pub(crate) fn least_bytes(given: &GivenFilters, prior: &Prior) -> usize {
        super::least_bytes(given) + prior.state_bytes()
    }
}

/// Prior knowledge of the delays.
#[derive(Clone, Debug, PartialEq)]
pub enum Prior {
    /// None: all delays up to the longest are equally likely.
    Uniform,
    /// Their distribution.
    Known(Cdf),
    /// None at first; the distribution is learnt from the matches.
    Learnt,
}

impl Prior {
    /// Bytes that a ring holds of [`Prior::Uniform`].
    pub(crate) const UNIFORM_BYTES: usize = Cdf::cells_bytes(1);

    /// Bytes that a ring holds of it, sooner or later.
    fn state_bytes(&self) -> usize {
        match self {
            Self::Uniform => Self::UNIFORM_BYTES,
            Self::Known(cdf) => cdf.state_bytes(),
            Self::Learnt => Learnt::BYTES,
        }
    }
}

/// Time-spaced Bloom filters.
#[derive(Clone, Debug)]
pub struct TimeBloom {
    ring: Ring,
    policy: Policy,
    reference: Reference,
    longest: Nanos,
    cdf: Cdf,
    learnt: Option<Learnt>,
    counts: Counts,
    /// Seed of the hash for [`Policy::Random`].
    random: u64,
    /// Ages of the filters that matched the last response.
    ages: Vec<u32>,
}

impl TimeBloom {
    /// An empty ring.
    pub fn new(params: Params, terms: Terms) -> Result<Self, FiltersError> {
        let Params { bits, filters, hashes, rate, policy, reference, prior } = params;
        let longest = terms.expiry;
        FiltersError::check_filters(filters, MOST_FILTERS)?;
        if !(rate.is_finite() && rate > 0.0) {
            return Err(FiltersError::Rate(rate));
        }
        FiltersError::check_longest(longest)?;
        let shape = Shape::new(bits, filters).ok_or(FiltersError::Bits(bits))?;
        let width = longest.get().unsigned_abs().div_ceil(u64::from(filters - 1)) as i64;
        let hashes = hashes.unwrap_or_else(|| shape.hashes(rate * width as f64 / 1e9));
        FiltersError::check_hashes(hashes)?;
        let learnt = (prior == Prior::Learnt).then(|| Learnt::new(longest));
        Ok(Self {
            ring: Ring::new(shape, hashes, width, hash::word(terms.seed, 1)),
            policy,
            reference,
            longest,
            cdf: if let Prior::Known(cdf) = prior { cdf } else { Cdf::uniform(longest) },
            learnt,
            counts: Counts::new(terms.tags),
            random: hash::start(hash::word(terms.seed, 2)),
            ages: Vec::with_capacity(filters as usize),
        })
    }

    /// *b*.
    pub fn filters(&self) -> u32 {
        self.ring.shape().filters
    }

    /// *n*: bits of each filter.
    pub fn filter_bits(&self) -> u32 {
        self.ring.shape().rows
    }

    /// *t*_max.
    pub fn longest(&self) -> Nanos {
        self.longest
    }

    /// *k*.
    pub fn hashes(&self) -> u32 {
        self.ring.hashes()
    }

    /// Δ: *t*_max/(*b* − 1), rounded up to whole nanoseconds.
    pub fn slot_width(&self) -> Nanos {
        Nanos::new(self.ring.width())
    }

    /// The share of set bits in the last complete filter.
    pub fn occupancy(&self) -> f64 {
        self.ring.occupancy(1)
    }

    /// The share of set bits in the filter that was or will be filled in a slot; slots are numbered from time 0.
    pub fn occupancy_of_slot(&self, slot: i64) -> f64 {
        self.ring.occupancy_of_slot(slot)
    }

    /// Number of filters that matched the last response.
    pub fn candidates(&self) -> usize {
        self.ages.len()
    }

    #[inline]
    fn take(&mut self, event: &Event) -> Option<Sample> {
        self.advance(event.at);
        if event.is_request {
            self.ring.insert(event.id);
            self.counts.request(event.tag);
            return None;
        }
        self.response(event)
    }

    #[inline]
    fn response(&mut self, response: &Event) -> Option<Sample> {
        self.ring.find(response.id, &mut self.ages);
        if self.ages.is_empty() {
            self.counts.unmatched(response.tag);
            return None;
        }
        let elapsed = self.ring.elapsed(response.at);
        let bins = Bins { elapsed, width: self.ring.width(), longest: self.longest.get() };
        let query = Query {
            ages: &self.ages,
            only: if self.weighs_bins() { single(&self.ages, &bins, &self.cdf) } else { None },
            bins,
            cdf: &self.cdf,
            false_positive: &|age| self.ring.false_positive(age),
            random: self.random_bits(response.id),
        };
        let choice = query.choose(self.policy, self.reference);
        if let Some(cdf) = self.learnt.as_mut().and_then(|learnt| learnt.update(&query)) {
            self.cdf = cdf;
        }
        self.counts.matched(response.tag, choice.age <= self.ring.slots_into_turn());
        Some(Sample::alone(response, Nanos::new((choice.delay + 0.5) as i64)))
    }

    /// Whether a single match needs the prior.
    #[inline]
    fn weighs_bins(&self) -> bool {
        self.policy == Policy::Bayes || self.learnt.is_some()
    }

    #[inline]
    fn random_bits(&self, id: ExchangeId) -> u64 {
        hash::word(self.random, id.0)
    }
}

impl Meter for TimeBloom {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        for event in events {
            samples.extend(self.take(event));
        }
    }

    #[inline]
    fn advance(&mut self, now: Timestamp) {
        if self.ring.advance(now) {
            self.counts.advance(self.ring.turn());
        }
    }

    fn fates(&self) -> Vec<Fates> {
        self.counts.fates()
    }

    fn structure(&self) -> Structure {
        Structure::Filters {
            filters: self.filters(),
            bits: self.filter_bits().into(),
            hashes: self.hashes(),
            longest: self.longest(),
        }
    }

    fn state_bytes(&self) -> usize {
        self.ring.state_bytes()
            // A learnt estimate takes as much sooner or later.
            + self.learnt.as_ref().map_or(self.cdf.state_bytes(), |_| Learnt::BYTES)
            + self.counts.state_bytes()
            + self.ages.capacity() * size_of::<u32>()
    }
}
