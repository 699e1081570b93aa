use crate::estimate::Estimate;
use crate::{Fates, NewBands, Risk, Sample};
use dwell_types::{ExchangeId, Nanos, Repeat, Timestamp, hash};

/// Everything that takes requests and responses and gives weighted delays.
///
/// A meter serves one [`dwell_types::Match`]: ids of different rules do not meet in it. It takes events in batches, in
/// the order in which they were seen, so that independent memory accesses can overlap; how a stream is cut into batches
/// changes no sample, except that a meter may adapt its parameters only between batches.
pub trait Meter {
    /// Takes the next events; appends a sample for each response whose request is known, in order.
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>);

    /// The present moment: [`Meter::fates`] are those of then. A meter sees only events that concern it, and these may have
    /// ended long ago, or have had a time that cannot be.
    fn advance(&mut self, now: Timestamp);

    /// Which exchanges the meter can know of. An event of another may be kept from it: that changes nothing but its
    /// counts. The gate changes only during [`Meter::update`].
    fn gate(&self) -> Gate {
        Gate::OPEN
    }

    /// Whether the meter holds every request that came within the expiry. As long as it does, a response that can answer
    /// none of them may be kept from it, if [`Meter::pass_by`] tells of it before a batch that [`Meter::is_filling`] is
    /// true of, and before [`Meter::forget_risk`].
    fn remembers_all(&self) -> bool {
        false
    }

    /// Whether the next batch may end that.
    fn is_filling(&self) -> bool {
        false
    }

    /// The ids of all requests that wait for a response, and perhaps of some that have expired; some may come twice.
    /// `None` where they are not known.
    fn open_ids(&self) -> Option<Box<dyn Iterator<Item = ExchangeId> + '_>> {
        None
    }

    /// So many responses of a series answered nothing, and were kept from the meter.
    fn pass_by(&mut self, _tag: usize, _responses: u64) {}

    /// What a product limit needs to weigh the samples of a series, if the method has one.
    fn risk(&self, _tag: usize) -> Option<Risk> {
        None
    }

    /// The bands where all samples belong that came before this call, if they are others since the last one. To be asked
    /// after every 64 events, and given to [`crate::distribution::DelayStore::rearrange`], where [`Meter::risk`] weighs
    /// the samples.
    fn take_new_bands(&mut self) -> Option<NewBands> {
        None
    }

    /// How far a delay may be from the truth because the meter keeps times in ticks.
    fn rounding(&self) -> Rounding {
        Rounding::NONE
    }

    /// Begins anew with what [`Meter::risk`] tells; open requests stay.
    fn forget_risk(&mut self) {}

    /// What became of the requests and responses of every series so far; the index is the tag.
    fn fates(&self) -> Vec<Fates>;

    /// Bytes that the data structure holds.
    fn state_bytes(&self) -> usize;
}

/// Half of the ticks in which a meter keeps times: delays may be longer or shorter by so much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// Of short delays.
    pub short: Nanos,
    /// Of delays from here on ...
    pub long_from: Nanos,
    /// ... so much.
    pub long: Nanos,
}

impl Rounding {
    /// Times are kept as they were seen.
    pub const NONE: Self = Self { short: Nanos::new(0), long_from: Nanos::new(i64::MAX), long: Nanos::new(0) };

    /// The least and the most that a delay may have been: neither falls where delays rise, nor below zero before they do.
    pub(crate) fn around(self, delay: i64) -> (i64, i64) {
        let [short, from, long] = [self.short, self.long_from, self.long].map(Nanos::get);
        let is_long = delay >= from;
        let least = if is_long { delay - long } else { delay.saturating_sub(short).min(from - long) };
        (least.max(delay.min(0)), delay.saturating_add(if is_long { long } else { short }))
    }

    /// An interval that holds what was rounded.
    pub(crate) fn widen(self, delay: Estimate<i64>) -> Estimate<i64> {
        Estimate { low: self.around(delay.low).0, high: self.around(delay.high).1, ..delay }
    }
}

/// Admission by the hash of the id, so that a response knows whether its request was admitted.
///
/// The upper half of the id, permuted by a factor of the meter's own, is compared with a threshold: ids whose upper
/// halves are equal pass together. Probabilities are met to within 2⁻³³.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Odd: multiplication permutes the 32-bit words.
    factor: u32,
    /// The largest product that passes.
    threshold: u32,
}

impl Gate {
    /// Everything passes.
    pub const OPEN: Self = Self { factor: 1, threshold: u32::MAX };

    /// Each id passes with the probability, at least 2⁻³². Gates with different seeds are independent.
    pub(crate) fn new(seed: u64, probability: f64) -> Self {
        let gate = Self { factor: hash::start(seed) as u32 | 1, threshold: 0 };
        gate.with_probability(probability)
    }

    /// The same gate, opened wider or less wide: what passes the narrower one passes the wider one.
    pub(crate) fn with_probability(self, probability: f64) -> Self {
        let passing = (probability * 2f64.powi(32)).round().max(1.0);
        Self { threshold: (passing - 1.0) as u32, ..self }
    }

    /// The probability with which an id passes.
    pub(crate) fn probability(self) -> f64 {
        (f64::from(self.threshold) + 1.0) * 2f64.powi(-32)
    }

    /// Whether an exchange passes.
    #[inline(always)]
    pub const fn admits(self, id: ExchangeId) -> bool {
        self.admits_if(true, id)
    }

    /// The place of an id in the order in which they pass.
    #[inline(always)]
    pub(crate) const fn rank(self, id: ExchangeId) -> u32 {
        ((id.0 >> 32) as u32).wrapping_mul(self.factor)
    }

    /// The last rank that passes.
    #[inline(always)]
    pub(crate) const fn threshold(self) -> u32 {
        self.threshold
    }

    /// The same gate for ranks up to this one.
    #[inline(always)]
    pub(crate) const fn with_threshold(self, threshold: u32) -> Self {
        Self { threshold, ..self }
    }

    /// Whether ids of this rank pass.
    #[inline]
    pub(crate) const fn admits_rank(self, rank: u32) -> bool {
        rank <= self.threshold
    }

    /// Whether it passes and is `wanted`, in one comparison: what is not wanted is above every threshold.
    #[inline(always)]
    pub(crate) const fn admits_if(self, wanted: bool, id: ExchangeId) -> bool {
        self.rank(id) as u64 | (!wanted as u64) << 32 <= self.threshold as u64
    }
}

/// A request or a response, as a meter sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Shared by a request and its response.
    pub id: ExchangeId,
    /// When it was seen.
    pub at: Timestamp,
    /// Tells equal requests apart (see [`dwell_types::Sighting::token`]).
    pub token: u32,
    /// The caller's number for the series, `0..Exchanges::tags`. A sample carries that of the request.
    pub tag: u16,
    /// Anything that the caller wants to know a sample by: it carries that of the response.
    pub mark: u8,
    /// Request or response.
    pub is_request: bool,
}

impl Event {
    /// In a place where none has come yet.
    pub(crate) const NONE: Self =
        Self { id: ExchangeId(0), at: Timestamp::from_nanos(0), token: 0, tag: 0, mark: 0, is_request: false };
}

/// What all meters are told about the exchanges that they serve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exchanges {
    /// Number of series.
    pub tags: u16,
    /// What a request means that repeats the id of an open one.
    pub repeat: Repeat,
    /// Requests older than this are given up: a later response is unmatched.
    pub expiry: Nanos,
    /// Seed of the sketch's own hashes.
    pub seed: u64,
}

impl Exchanges {
    /// The longest expiry, and the longest time from the first to the last of equal requests: tables keep 48 bits of a
    /// time, and tell 39 hours from either side.
    pub const LONGEST_WAIT: Nanos = Nanos::from_secs(36 * 3_600);

    /// Whether the expiry is less than the time since the last equal request, in either direction.
    #[inline]
    pub(crate) fn is_expired(&self, since_last: Nanos) -> bool {
        since_last.is_farther_than(self.expiry)
    }
}
