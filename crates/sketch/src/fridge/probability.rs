//! The entry probability *p*, and the search for it.

use crate::Gate;
use crate::codec::{CodecError, Reader, Writer};
use crate::parts::scouts::{LIVED, Scouts};
use crate::parts::steps;
use crate::parts::targets::{ENOUGH, TARGETS, error_of_weighted, slowest, survival};
use crate::survival::{FOLLOWED, begin};
use dwell_types::{Nanos, Timestamp};

/// How fast *p* follows new data.
struct Pace {
    /// The factor by which older delays fade at each choice.
    memory: f64,
    /// *p* changes if the predicted error falls below this share of the present one.
    worth_it: f64,
}

impl Pace {
    /// Fades fast, since one heavy sample would distort the prediction for a long time.
    const PLAIN: Self = Self { memory: 0.75, worth_it: 0.95 };
    /// If *p* follows the latest samples, it biases the tail of a product limit: too few slow exchanges by chance raise
    /// *p*, and then slow ones are not seen.
    const LIMITED: Self = Self { memory: 0.98, worth_it: 0.8 };
}

/// An entry probability: `base · 2^(−step/8)`. The base is 1 unless the user set another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EntryProbability {
    base: f64,
    step: u8,
}

impl EntryProbability {
    /// Every request enters.
    pub const ONE: Self = Self { base: 1.0, step: 0 };

    /// Where to start with `slots` slots after `offered` requests: so low that entries survive for 16 times as many.
    /// Delays longer than entries survive are not seen: starting too high would hide its own error, starting too low
    /// only costs samples.
    pub(crate) fn cautious(slots: u32, offered: f64) -> Self {
        let wanted = f64::from(slots) / (16.0 * offered.max(1.0));
        let step = (-8.0 * wanted.min(1.0).log2()).ceil().min(steps::LAST.into());
        Self { base: 1.0, step: step as u8 }
    }

    /// A fixed probability, from 2⁻²⁴ to 1.
    pub fn fixed(probability: f64) -> Option<Self> {
        Gate::can_have(probability).then_some(Self { base: probability, step: 0 })
    }

    /// The probability.
    #[inline]
    pub fn value(self) -> f64 {
        self.at_step(self.step)
    }

    /// The probability at another step from the same base.
    #[inline]
    pub(super) fn at_step(self, step: u8) -> f64 {
        self.base * steps::probability(step)
    }

    /// The value at step zero.
    pub(super) fn base(self) -> f64 {
        self.base
    }

    /// The number of steps below the base.
    #[inline]
    pub(super) fn step(self) -> u8 {
        self.step
    }

    pub(super) fn write(self, to: &mut Writer) {
        to.f64(self.base);
        to.u8(self.step);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let wrong = CodecError::Value("entry probability");
        let base = Self::fixed(from.amount("entry probability")?).ok_or(wrong)?;
        let probability = Self { step: from.u8()?, ..base };
        if probability.step <= steps::LAST { Ok(probability) } else { Err(wrong) }
    }
}

/// Request rate and delays so far, from which the best entry probability is predicted.
///
/// With *λ* requests offered per second, an exchange of delay *d* is sampled with probability *q*(*d*) = *p*
/// e^(−*pλd*/*M*). The variance of the estimated distribution function at quantile *F* is proportional to (1 − *F*)²
/// *V*≤ + *F*² *V*>, where *V*≤ and *V*> sum 1/*q* − 1 over the exchanges below and above it
/// (`docs/papers/zheng22-fridge.md`). *p* minimises the sum of its square roots at some quantiles.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Weight of exchanges by delay: two bins per octave from 1 ns to 2⁴⁸ ns.
    delays: [f32; Self::BINS],
    pub(super) scouts: Scouts,
    /// Exchanges that responses of admitted ids stood for, found or not; not counted without a product limit.
    responses: Option<f64>,
    /// Samples since the last choice that was based on enough of them, and requests admitted meanwhile.
    samples: u32,
    admitted: f64,
    /// Requests offered since the window began.
    offered: f64,
    began: Option<Timestamp>,
    /// The time of the very first event.
    first: Option<Timestamp>,
    latest: Timestamp,
    /// Requests per nanosecond, smoothed over windows; zero while unknown.
    rate: f64,
}

impl Profile {
    const BINS: usize = 96;

    /// No data yet.
    pub(crate) fn new(product_limit: bool, scouts: Scouts) -> Self {
        Self {
            delays: [0.0; Self::BINS],
            scouts,
            responses: product_limit.then_some(0.0),
            samples: 0,
            admitted: 0.0,
            offered: 0.0,
            began: None,
            first: None,
            latest: Timestamp::MIN,
            rate: 0.0,
        }
    }

    /// Begins anew, but for the scouts.
    pub(super) fn forget_delays(&mut self) {
        *self = Self::new(self.responses.is_some(), self.scouts.clone());
    }

    /// Sets the start time, unless it is already set.
    pub(super) fn begin(&mut self, at: Timestamp) {
        if self.began.is_none() {
            (self.began, self.first) = (Some(at), Some(at));
        }
    }

    /// Counts requests, the last of them seen at `at`.
    #[inline]
    pub(crate) fn offer(&mut self, at: Timestamp, requests: f64) {
        self.begin(at);
        self.latest = at;
        self.offered += requests;
    }

    /// Adds a weighted delay.
    #[inline]
    pub(crate) fn sample(&mut self, delay: Nanos, weight: f64) {
        self.samples += 1;
        self.delays[Self::bin(delay)] += weight as f32;
    }

    /// Counts a response, found or not, that stands for this many exchanges.
    #[inline]
    pub(crate) fn respond(&mut self, exchanges: f64) {
        if let Some(responses) = &mut self.responses {
            *responses += exchanges;
        }
    }

    fn pace(&self) -> Pace {
        if self.responses.is_some() { Pace::LIMITED } else { Pace::PLAIN }
    }

    fn bin(delay: Nanos) -> usize {
        let nanos = delay.get().max(1) as u64;
        let octave = nanos.ilog2();
        let half = if octave == 0 { 0 } else { nanos >> (octave - 1) & 1 };
        (2 * octave as usize + half as usize).min(Self::BINS - 1)
    }

    /// The geometric middle of a bin, in nanoseconds.
    fn middle(bin: usize) -> f64 {
        let low = 2f64.powi(bin as i32 / 2) * if bin.is_multiple_of(2) { 1.0 } else { 1.5 };
        low * if bin.is_multiple_of(2) { 1.5f64.sqrt() } else { (4.0f64 / 3.0).sqrt() }
    }

    /// Ends the window and chooses the entry probability for `slots` slots: the one with the least predicted variance;
    /// or, while there are too few samples to predict from, a lower one, since nothing survived at the present one.
    ///
    /// No probability is chosen at which entries survive longer than the expiry.
    pub(crate) fn choose(&mut self, slots: u32, present: EntryProbability, expiry: Nanos) -> EntryProbability {
        let span = self.began.map_or(0, |began| (self.latest - began).get());
        let offered = std::mem::take(&mut self.offered);
        self.admitted += offered * present.value();
        self.began = Some(self.latest);
        if span <= 0 {
            // The first window, or the clock was set back: the rate is unknown, and the time so far is what it was.
            self.first = self.first.map(|first| first + Nanos::new(span));
            return present;
        }
        let rate = offered / span as f64;
        self.rate = if self.rate == 0.0 { rate } else { 0.5 * (self.rate + rate) };
        let sparsest = f64::from(slots) / (self.rate * expiry.get().max(1) as f64);

        let delays = self.delays_at(slots, present);
        let known: f32 = self.delays.iter().sum();
        let step = if self.samples >= ENOUGH {
            let step = self.least_variance(&delays, slots, present);
            // Older delays fade from one choice to the next.
            let memory = self.pace().memory;
            self.delays.iter_mut().for_each(|weight| *weight *= memory as f32);
            self.responses = self.responses.map(|responses| memory * responses);
            step
        } else if known == 0.0 || self.admitted > f64::from(slots) {
            present.step().saturating_add(16).min(steps::LAST)
        } else {
            return present;
        };
        self.samples = 0;
        self.admitted = 0.0;
        let mut chosen = EntryProbability { step, ..present };
        let densest = self.densest(&delays, slots);
        while chosen.step < steps::LAST && chosen.value() > densest {
            chosen.step += 1;
        }
        while chosen.step > 0 && chosen.value() < sparsest {
            chosen.step -= 1;
        }
        chosen
    }

    /// The largest probability that does not hide slow delays: until twice the 99th percentile has passed, entries must
    /// live for at least half of the time so far, since there may be slower ones.
    fn densest(&self, delays: &[f64; Self::BINS], slots: u32) -> f64 {
        match slowest(delays, 0.01).map(Self::middle) {
            Some(slow) if self.passed() < 2.0 * slow => 2.0 * f64::from(slots) / (self.rate * self.passed()),
            _ => 1.0,
        }
    }

    /// Nanoseconds since the start.
    fn passed(&self) -> f64 {
        self.first.map_or(0, |first| (self.latest - first).get()) as f64
    }

    /// The weights of delays, with those that entries hardly live for as the scouts saw them.
    fn delays_at(&self, slots: u32, present: EntryProbability) -> [f64; Self::BINS] {
        let mut delays = self.delays.map(f64::from);
        let lived_for = LIVED * f64::from(slots) / (present.value() * self.rate);
        let known = delays.iter().enumerate().filter(|&(bin, _)| Self::middle(bin) <= lived_for);
        let known: f64 = known.map(|(_, weight)| weight).sum();
        for (octave, ratio) in self.scouts.longer_than(lived_for, self.latest) {
            for weight in delays.iter_mut().skip(2 * octave as usize).take(2) {
                *weight = weight.max(0.5 * ratio * known);
            }
        }
        delays
    }

    /// Whether there is enough data for the first choice.
    pub(super) fn is_known(&self) -> bool {
        // After three times the 99th percentile, slow delays are known.
        let slow = slowest(&self.delays, 0.01).map(Self::middle);
        self.samples >= ENOUGH && slow.is_some_and(|slow| self.passed() >= 3.0 * slow)
    }

    fn least_variance(&self, delays: &[f64; Self::BINS], slots: u32, present: EntryProbability) -> u8 {
        let delays: Vec<(f64, f64)> = delays
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(bin, &weight)| (Self::middle(bin) * self.rate / f64::from(slots), weight))
            .collect();
        // Responses that match no observed request.
        let known: f64 = delays.iter().map(|(_, weight)| weight).sum();
        let orphans = self.responses.map(|responses| (responses - known).max(0.0));
        let predicted = |step: u8| {
            let p = present.at_step(step);
            (orphans.map_or_else(|| Self::predicted(&delays, p), |n| Self::predicted_limit(&delays, n, p)), step)
        };
        let least = |steps: &mut dyn Iterator<Item = u8>| steps.map(predicted).min_by(|a, b| a.0.total_cmp(&b.0));
        let coarse = least(&mut (0..=steps::LAST).step_by(8)).map_or(0, |(_, step)| step);
        let around = coarse.saturating_sub(6)..=(coarse + 6).min(steps::LAST);
        match least(&mut around.step_by(2)) {
            // The optimum is flat, the data noisy, and every change has a cost.
            Some((error, step)) if error < self.pace().worth_it * predicted(present.step()).0 => step,
            _ => present.step(),
        }
    }

    /// Predicted error with a product limit and this many unmatched responses (see `Survival::variance`). Delays are in
    /// requests offered per slot meanwhile, ascending, with their weights.
    fn predicted_limit(delays: &[(f64, f64)], orphans: f64, p: f64) -> f64 {
        let total: f64 = delays.iter().map(|(_, weight)| weight).sum();
        // Exchanges that last longer are not followed, and missing from the estimate.
        let longest = begin(FOLLOWED + 1);
        let missing: f64 = delays.iter().filter(|(delay, _)| p * delay > longest).map(|(_, weight)| weight).sum();
        let mut sum = 0.0;
        for target in TARGETS {
            let wanted = target.share * total;
            // Exchanges that are open, and those of them that end below the target.
            let (mut open, mut open_below) = (total, 0.0);
            for &(_, weight) in delays {
                if open_below + weight <= wanted {
                    open_below += weight;
                }
            }
            let share = (open_below / total).clamp(1e-3, 1.0 - 1e-3);
            let (mut variance, mut loss) = ((1.0 - p) * total * share * (1.0 - share), 1.0);
            for &(delay, weight) in delays {
                let more_loss = (p * delay).min(longest).exp();
                let mean = open_below - share * open;
                let squares = open_below * (1.0 - share).powi(2) + (open - open_below) * share * share;
                variance += (more_loss - loss) * (squares - mean * mean / (open + orphans)).max(0.0);
                (open, loss) = (open - weight, more_loss);
                open_below = (open_below - weight).max(0.0);
            }
            sum += target.scale() * (variance / p + (share * missing).powi(2)).sqrt();
        }
        sum
    }

    /// The same where samples are weighted by one over their probability.
    fn predicted(delays: &[(f64, f64)], p: f64) -> f64 {
        error_of_weighted(delays.iter().map(|&(delay, weight)| (weight, p * survival(p * delay))))
    }

    pub(super) fn write(&self, to: &mut Writer) {
        self.scouts.write(to);
        self.delays.iter().for_each(|&weight| to.f32(weight));
        to.f64(self.responses.unwrap_or(0.0));
        to.u64(self.samples.into());
        to.f64(self.admitted);
        to.f64(self.offered);
        to.u8(u8::from(self.began.is_some()) + 2 * u8::from(self.first.is_some()));
        for time in [self.began, self.first, Some(self.latest)] {
            to.i64(time.map_or(0, Timestamp::as_nanos));
        }
        to.f64(self.rate);
    }

    pub(super) fn read(product_limit: bool, expiry: Nanos, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let mut profile = Self::new(product_limit, Scouts::read(expiry, from)?);
        for weight in &mut profile.delays {
            *weight = from.small_amount("weight of delays")?;
        }
        let responses = from.amount("number of responses")?;
        profile.responses = product_limit.then_some(responses);
        profile.samples = from.small("number of samples")?;
        profile.admitted = from.amount("number of requests")?;
        profile.offered = from.amount("number of requests")?;
        let known = from.u8()?;
        let mut time = |is_known: bool| from.i64().map(|ns| is_known.then_some(Timestamp::from_nanos(ns)));
        (profile.began, profile.first) = (time(known & 1 != 0)?, time(known & 2 != 0)?);
        profile.latest = time(true)?.unwrap_or(profile.latest);
        profile.rate = from.amount("rate")?;
        Ok(profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_eighths_of_an_octave() {
        let steps = EntryProbability { base: 1.0, step: 20 };
        assert!((steps.value() - 2f64.powf(-2.5)).abs() < 1e-15);
        assert!(EntryProbability::fixed(0.0).is_none() && EntryProbability::fixed(1.1).is_none());
        assert!(EntryProbability::fixed(f64::NAN).is_none());
        assert!(EntryProbability::fixed(0.999 * Gate::LEAST).is_none());
        assert!(EntryProbability::fixed(Gate::LEAST).is_some());
    }

    #[test]
    fn bins_are_half_octaves() {
        for (nanos, bin) in [(-5, 0), (0, 0), (1, 0), (2, 2), (3, 3), (4, 4), (6, 5), (1 << 47, 94), (i64::MAX, 95)] {
            assert_eq!(Profile::bin(Nanos::new(nanos)), bin, "{nanos}");
        }
    }

    /// Delays log-uniform between 1 ms and T at 10⁶ requests/s: the best lifetime M/p is about .35–.75 of the largest
    /// number of requests offered meanwhile (`ERRATA`-checked in `docs/papers/zheng22-fridge.md`).
    #[test]
    fn the_choice_follows_the_longest_delays() {
        for log_t in [6, 9, 12] {
            let mut profile = Profile::new(false, Scouts::new(Nanos::from_secs(128)));
            let longest = 1e6 * 2f64.powi(log_t);
            for i in 0..10_000 {
                let delay = 1e6 * (longest / 1e6).powf((f64::from(i) + 0.5) / 10_000.0);
                profile.sample(Nanos::new(delay as i64), 1.0);
                profile.offer(Timestamp::from_nanos(i64::from(i) * 1_000), 1.0);
            }
            let p = profile.choose(1 << 12, EntryProbability::ONE, Nanos::from_secs(120)).value();
            let lifetime = 4096.0 / p;
            let offered = longest / 1e3;
            assert!((0.25..1.2).contains(&(lifetime / offered)), "T = 2^{log_t} ms: {}", lifetime / offered);
        }
    }
}
