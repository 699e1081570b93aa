//! Exact while it fits, a fridge when it does not: the default.
//!
//! **Answers**: every exchange while all open requests fit the memory; after that, a fridge's weighted samples.
//!
//! **Model**: admission by the hash of the id makes both one: an exact table admits everything. When the table is full, the
//! fridge begins with a cautious *p* (see [`EntryProbability`]), open requests above the new threshold go, and the others
//! move into the fridge in the order of their arrival, as if they had been inserted there. Samples taken before have
//! weight 1; those that come later are weighed by the product limit.
//!
//! **State**: ¾ of the memory for the table, then for the fridge; the last quarter holds the open requests while they move.
//!
//! **Differs from the paper**: no paper has this.

use crate::exact::Exact;
use crate::fridge::{EntryProbability, Fridge, FridgeError, Params, Profile};
use crate::table::BATCH;
use crate::{Event, Exchanges, Fates, Gate, Meter, Risk, Sample};
use dwell_types::Timestamp;

/// A table of all open requests that becomes a fridge when it is full.
#[derive(Clone, Debug)]
pub struct Auto {
    phase: Phase,
    exchanges: Exchanges,
    params: Params,
    /// Since when answers are estimates.
    sampled_since: Option<Timestamp>,
}

// A meter exists once per run; indirection would cost more than the space saves.
#[allow(clippy::large_enum_variant, reason = "one value per run, on the hot path")]
#[derive(Clone, Debug)]
enum Phase {
    Exact(Exact, Profile),
    Fridge(Fridge),
}

impl Auto {
    /// A meter of about `bytes`; the counts of the series come on top.
    pub fn new(exchanges: Exchanges, bytes: usize, fingerprint_bits: u32) -> Result<Self, FridgeError> {
        let usable = bytes / 4 * 3;
        let slots = u32::try_from(usable / Fridge::SLOT_BYTES).unwrap_or(u32::MAX);
        let params = Params { slots, fingerprint_bits, entry_probability: None, product_limit: true };
        // The fridge is built only when it is needed, so its parameters are tried here.
        Fridge::new(Params { slots: slots.min(2), ..params }, exchanges)?;
        Ok(Self {
            phase: Phase::Exact(Exact::bounded(exchanges, usable), Profile::new(params.product_limit)),
            exchanges,
            params,
            sampled_since: None,
        })
    }

    /// The moment at which the memory was full; before it, and while `None`, every exchange is known.
    pub fn sampled_since(&self) -> Option<Timestamp> {
        self.sampled_since
    }

    /// The fridge, once there is one.
    pub fn fridge(&self) -> Option<&Fridge> {
        match &self.phase {
            Phase::Exact(..) => None,
            Phase::Fridge(fridge) => Some(fridge),
        }
    }

    /// Takes a batch into the table; when that is full, hands over and gives the fridge the rest.
    fn remember(&mut self, batch: &[Event], samples: &mut Vec<Sample>) {
        let Phase::Exact(exact, profile) = &mut self.phase else { return };
        let sifted = exact.sift(batch);
        let mut kept = sifted.of(batch);
        let refused = kept.find(|event| {
            if event.is_request {
                if !exact.try_request(event) {
                    return true;
                }
                profile.offer(event.at, 1.0);
            } else if let Some(sample) = exact.response(event) {
                profile.sample(sample.since_first, 1.0);
                samples.push(sample);
            }
            false
        });
        let Some(refused) = refused else { return };
        let rest: Vec<Event> = std::iter::once(refused).chain(kept).copied().collect();
        self.hand_over(refused.at);
        if let Phase::Fridge(fridge) = &mut self.phase {
            fridge.update(&rest, samples);
        }
    }

    #[cold]
    fn hand_over(&mut self, at: Timestamp) {
        let Phase::Exact(exact, profile) = &mut self.phase else { return };
        // The parameters were tried when this was built.
        let Ok(mut fridge) = Fridge::new(Params { slots: 2, ..self.params }, self.exchanges) else { return };
        let p = EntryProbability::cautious(self.params.slots, profile.offered());
        fridge.start(profile.clone(), p);
        let nothing = Exact::bounded(self.exchanges, 0);
        let (fates, open) = std::mem::replace(exact, nothing).into_open(at, |id| fridge.gate().admits(id));
        fridge.resize(self.params.slots);
        fridge.count_on(fates);
        for request in &open {
            fridge.adopt(request);
        }
        self.sampled_since = Some(at);
        self.phase = Phase::Fridge(fridge);
    }
}

impl Meter for Auto {
    fn update(&mut self, events: &[Event], samples: &mut Vec<Sample>) {
        for batch in events.chunks(BATCH) {
            match &mut self.phase {
                Phase::Exact(..) => self.remember(batch, samples),
                Phase::Fridge(fridge) => fridge.update(batch, samples),
            }
        }
    }

    fn gate(&self) -> Gate {
        match &self.phase {
            Phase::Exact(..) => Gate::OPEN,
            Phase::Fridge(fridge) => fridge.gate(),
        }
    }

    fn risks(&self) -> &[Risk] {
        match &self.phase {
            Phase::Exact(..) => &[],
            Phase::Fridge(fridge) => fridge.risks(),
        }
    }

    fn fates(&self) -> Vec<Fates> {
        match &self.phase {
            Phase::Exact(exact, _) => exact.fates(),
            Phase::Fridge(fridge) => fridge.fates(),
        }
    }

    fn state_bytes(&self) -> usize {
        match &self.phase {
            Phase::Exact(exact, _) => exact.state_bytes() + size_of::<Profile>(),
            Phase::Fridge(fridge) => fridge.state_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{exchanges, request, response};
    use dwell_types::{Match, Nanos, hash};

    /// Requests every microsecond; `answered` of them after `delay`, in time order.
    fn run(auto: &mut Auto, requests: u64, answered: impl Fn(u64) -> bool, delay: u64) -> Vec<Sample> {
        let mut samples = Vec::new();
        for i in 0..requests + delay {
            let at = i as i64 * 1_000;
            if i < requests {
                auto.update(&[request(hash::finish(i), at)], &mut samples);
            }
            if i >= delay && answered(i - delay) {
                auto.update(&[response(hash::finish(i - delay), at)], &mut samples);
            }
        }
        samples
    }

    #[test]
    fn exact_while_it_fits() {
        let mut auto = Auto::new(exchanges(Match::Dns, Nanos::from_secs(10)), 1 << 20, 32).unwrap();
        let samples = run(&mut auto, 100_000, |_| true, 10_000);
        assert_eq!(samples.len(), 100_000);
        assert!(samples.iter().all(|s| s.weight == 1.0 && s.since_first.get() == 10_000_000));
        assert_eq!((auto.sampled_since(), auto.risks().len()), (None, 0));
    }

    /// Half of the requests are orphans, so the table must fill. The weights still add up to the number of exchanges:
    /// their standard error is √Σ(w² − w), and 5.5 of them are exceeded once in 10⁷ runs.
    #[test]
    fn unbiased_when_it_does_not_fit() {
        let bytes = 1 << 18;
        let mut auto = Auto::new(exchanges(Match::Dns, Nanos::from_secs(100)), bytes, 32).unwrap();
        let requests = 400_000;
        let samples = run(&mut auto, requests, |i| i % 2 == 0, 5_000);
        let total: f64 = samples.iter().map(|s| s.weight).sum();
        let error = samples.iter().map(|s| s.weight * s.weight - s.weight).sum::<f64>().sqrt();
        assert!(auto.sampled_since().is_some() && samples.len() > 5_000);
        assert!((total - requests as f64 / 2.0).abs() < 5.5 * error, "{total} ± {error}");
        assert!(error < 4_000.0, "{error}");
        assert!(auto.state_bytes() < bytes, "{}", auto.state_bytes());
        assert!(samples.iter().any(|s| s.band > 0) && auto.risks().len() == 2, "the product limit goes on");
        let fates = auto.fates()[0];
        assert!(fates.is_conserved() && fates.seen == requests, "{fates:?}");
    }
}
