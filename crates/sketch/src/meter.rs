use crate::estimate::Estimate;
use crate::{Fates, NewBands, Risk, Sample, Structure};
use dwell_types::{ExchangeId, Nanos, Observation, Repeat, Sighting, Timestamp, hash};
use std::fmt::Debug;

/// Turns requests and responses into weighted delays.
///
/// A meter serves one [`dwell_types::Match`]: it never sees ids of two rules. It takes events in batches, in the order
/// of observation, so that independent memory accesses can overlap. How a stream is cut into batches changes no sample,
/// except that a meter may adapt its parameters only between batches.
pub trait Meter: Debug + Send {
    /// Processes the next events; appends a sample for each response whose request is known, in order.
    ///
    /// # Panics
    /// If a tag is not below [`Terms::tags`]: of many events, so that none pays for a check of its own.
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>);

    /// Sets the present time, at which [`Meter::fates`] are counted. A meter sees only events that pass the gate, and
    /// the last of these may be long past, or have an implausible timestamp.
    fn advance(&mut self, now: Timestamp);

    /// The exchanges that the meter can sample. Events of others need not be passed to it: that changes nothing but its
    /// counts. The gate changes only during [`Meter::update`].
    fn gate(&self) -> Gate {
        Gate::OPEN
    }

    /// Whether the meter still holds every request that came within the expiry. While it does, responses that cannot
    /// answer any of them may be withheld, if [`Meter::pass_by`] reports their number before any batch for which
    /// [`Meter::is_filling`] is true.
    fn remembers_all(&self) -> bool {
        false
    }

    /// Whether that may become false during the next batch.
    fn is_filling(&self) -> bool {
        false
    }

    /// The ids of all open requests, and perhaps of some that have expired; duplicates are possible. `None` if they are
    /// not known.
    fn open_ids(&self) -> Option<Box<dyn Iterator<Item = ExchangeId> + '_>> {
        None
    }

    /// Reports how many responses of a series matched nothing and were withheld from the meter.
    fn pass_by(&mut self, _tag: usize, _responses: u64) {}

    /// What the product limit needs to weight the samples of a series, if the method has one.
    fn risk(&self, _tag: usize) -> Option<Risk> {
        None
    }

    /// The bands to which all earlier samples must be moved, if bands have changed since the last call. To be called
    /// after every 64 events where [`Meter::risk`] weights the samples, and passed to
    /// [`crate::distribution::DelayStore::rearrange`].
    fn take_new_bands(&mut self) -> Option<NewBands> {
        None
    }

    /// The largest error of a delay that results from storing times in ticks.
    fn rounding(&self) -> Rounding {
        Rounding::NONE
    }

    /// The counts of requests and responses of every series so far; the index is the tag.
    fn fates(&self) -> Vec<Fates>;

    /// The data structure and its present parameters.
    fn structure(&self) -> Structure;

    /// When answers began to be estimates, at the earliest time that there is if they always were; `None` while every
    /// exchange is measured.
    fn sampled_since(&self) -> Option<Timestamp> {
        Some(Timestamp::MIN)
    }

    /// Bytes that the data structure holds.
    fn state_bytes(&self) -> usize;

    /// Those of them that will grow to the bound; `None` if the meter has its full size from the start, or no bound.
    fn growing_bytes(&self) -> Option<usize> {
        None
    }
}

/// Half a tick of a meter's stored times: delays may be longer or shorter by this much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounding {
    /// Half a tick of short delays.
    pub short: Nanos,
    /// From this delay on, [`Rounding::long`] applies.
    pub long_from: Nanos,
    /// Half a tick of long delays.
    pub long: Nanos,
}

impl Rounding {
    /// Times are stored exactly.
    pub const NONE: Self = Self { short: Nanos::new(0), long_from: Nanos::new(i64::MAX), long: Nanos::new(0) };

    /// The shortest and longest true delay. Both grow with the delay; neither is negative unless the delay is.
    pub(crate) fn around(self, delay: i64) -> (i64, i64) {
        let [short, from, long] = [self.short, self.long_from, self.long].map(Nanos::get);
        let is_long = delay >= from;
        let least = if is_long { delay - long } else { delay.saturating_sub(short).min(from - long) };
        (least.max(delay.min(0)), delay.saturating_add(if is_long { long } else { short }))
    }

    /// The interval, widened by the rounding error.
    pub(crate) fn widen(self, delay: Estimate<i64>) -> Estimate<i64> {
        Estimate { low: self.around(delay.low).0, high: self.around(delay.high).1, ..delay }
    }
}

/// Admission by the hash of the id, so that a request and its response are either both admitted or both not.
///
/// The upper half of the id, permuted by a factor of the meter's own, is compared with a threshold: ids with equal
/// upper halves are admitted together. Probabilities are accurate to 2⁻³³.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Odd: multiplication permutes the 32-bit words.
    factor: u32,
    /// The largest product that is admitted.
    threshold: u32,
}

impl Gate {
    /// Admits everything.
    pub const OPEN: Self = Self { factor: 1, threshold: u32::MAX };

    /// The resolution of probabilities, and the least that a gate can close to.
    pub(crate) const STEP: f64 = 1.0 / (1u64 << 32) as f64;

    /// The least probability that may be given: a gate has it, and any above, to within .2%. Samples are weighted by the
    /// given one.
    pub(crate) const LEAST: f64 = 1.0 / (1u64 << 24) as f64;

    /// The probabilities that may be given, for users.
    pub(crate) const RANGE: &str = "at least 2^-24 (6e-8) and at most 1";

    /// Whether a probability may be given.
    pub(crate) fn can_have(probability: f64) -> bool {
        (Self::LEAST..=1.0).contains(&probability)
    }

    /// Admits each id with this probability, at least [`Gate::STEP`]. Gates with different seeds are independent.
    pub(crate) fn new(seed: u64, probability: f64) -> Self {
        let gate = Self { factor: hash::start(seed) as u32 | 1, threshold: 0 };
        gate.with_probability(probability)
    }

    /// The same gate with another probability: what passes at the lower one also passes at the higher one.
    pub(crate) fn with_probability(self, probability: f64) -> Self {
        let passing = (probability / Self::STEP).round().max(1.0);
        Self { threshold: (passing - 1.0) as u32, ..self }
    }

    /// The probability with which an id passes.
    pub(crate) fn probability(self) -> f64 {
        (f64::from(self.threshold) + 1.0) * Self::STEP
    }

    /// Whether an exchange is admitted.
    #[inline(always)]
    pub fn admits(self, id: ExchangeId) -> bool {
        self.admits_if(true, id)
    }

    /// The rank of an id: as the probability grows, ids are admitted in the order of their ranks.
    #[inline(always)]
    pub(crate) const fn rank(self, id: ExchangeId) -> u32 {
        ((id.0 >> 32) as u32).wrapping_mul(self.factor)
    }

    /// The highest rank that is admitted.
    #[inline(always)]
    pub(crate) const fn threshold(self) -> u32 {
        self.threshold
    }

    /// The same gate, admitting ranks up to this one.
    #[inline(always)]
    pub(crate) const fn with_threshold(self, threshold: u32) -> Self {
        Self { threshold, ..self }
    }

    /// Whether ids of this rank are admitted.
    #[inline]
    pub(crate) const fn admits_rank(self, rank: u32) -> bool {
        rank <= self.threshold
    }

    /// Whether it is both admitted and `wanted`, in one comparison: an unwanted id compares above every threshold.
    #[inline(always)]
    pub(crate) fn admits_if(self, wanted: bool, id: ExchangeId) -> bool {
        std::hint::select_unpredictable(wanted, u64::from(self.rank(id)), u64::MAX) <= u64::from(self.threshold)
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
    /// The caller's number for the series, `0..Terms::tags`: that in this meter (in `rtt` leg × groups + group), not in a
    /// store of delays, where the rule's first series is added. A sample carries that of the request.
    pub tag: u16,
    /// An arbitrary label, which the sample inherits from the response.
    pub mark: u8,
    /// Request or response.
    pub is_request: bool,
}

impl Event {
    /// Placeholder for an empty place in a batch.
    pub(crate) const NONE: Self =
        Self { id: ExchangeId(0), at: Timestamp::from_nanos(0), token: 0, tag: 0, mark: 0, is_request: false };
}

/// For a meter whose series are the groups.
impl From<Observation> for Event {
    fn from(seen: Observation) -> Self {
        let (Sighting { id, at, token, series }, is_request) = match seen {
            Observation::Request(sighting) => (sighting, true),
            Observation::Response(sighting) => (sighting, false),
        };
        Self { id, at, token, tag: series.group, mark: 0, is_request }
    }
}

/// The terms on which a meter matches requests with responses: what all meters need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// Number of series: above the largest [`Event::tag`], so at least 1.
    pub tags: u16,
    /// How a request that repeats the id of an open one is treated.
    pub repeat: Repeat,
    /// Requests older than this are given up: a later response is unmatched.
    pub expiry: Nanos,
    /// Seed of the sketch's own hashes.
    pub seed: u64,
}

impl Terms {
    /// The longest expiry, and the longest time from the first to the last of equal requests: tables keep 48 bits of a
    /// time, which are unambiguous within ±39 hours.
    pub const LONGEST_WAIT: Nanos = Nanos::from_secs(36 * 3_600);

    /// Whether more than the expiry has passed since the last equal request, in either direction.
    #[inline]
    pub(crate) fn is_expired(&self, since_last: Nanos) -> bool {
        since_last.is_farther_than(self.expiry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::steps;

    /// Below the least probability, the control, gates are off by up to a half.
    #[test]
    fn gates_have_the_probabilities_that_may_be_given() {
        assert_eq!(Gate::LEAST, steps::probability(steps::LAST));
        let off = |p: f64| (Gate::new(1, p).probability() / p - 1.0).abs();
        let worst = |least: f64| (0..10_000).map(|k| off(least * (1.0 + f64::from(k) / 1e3))).fold(0.0, f64::max);
        assert!(worst(Gate::LEAST) < 0.002 && worst(1e-3 * Gate::LEAST) > 0.3);
        assert!([Gate::LEAST, 0.5, 1.0].into_iter().all(Gate::can_have));
        assert!(![0.0, 0.999 * Gate::LEAST, 1.001, f64::NAN].into_iter().any(Gate::can_have));
    }
}
