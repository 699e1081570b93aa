//! A fridge of several stages: what one stage evicts goes on to the next.
//!
//! For the argument of the paper, which advises against it: it is compared with [`crate::fridge`], not offered, and so
//! no [`crate::Meter`].
//!
//! **Answers**: weighted delays of requests and responses with unique ids.
//!
//! **Model**: *D* stages of *M*/*D* slots, each with a hash of its own, as in `HashPipe`. A request enters with
//! probability *p*, by the hash of its id, and always takes its slot of the first stage. The entry that was there moves
//! to its own slot of the second stage, and so on; the last stage drops what it evicts. A response takes its entry out.
//!
//! **State**: *M* slots of 40 bytes: id, time, count and tag in full, and whether there is an entry.
//!
//! **Cost**: one slot per stage and event.
//!
//! **Estimate**: an entry in any stage but the last cannot be lost: weight *p*⁻¹. In the last one it has survived *x*
//! entries that came there after it: weight *p*⁻¹ (1 − *D*/*M*)^−*x*. This is unbiased. But lifetimes are sums of *D*
//! geometric ones and so more equal than one with the same mean: what takes much longer than *M*/*p* requests survives
//! less often, and weighs more.
//!
//! **Merge**: none needed.
//!
//! **Differs from the paper**: admission by the id's hash, as in our fridge.
//!
//! **Source**: zheng22 §4.1 (`docs/papers/zheng22-fridge.md`).

use crate::fridge::decay;
use crate::{Event, Gate, Sample};
use dwell_types::{ExchangeId, Timestamp, hash};
use std::fmt;

/// The parameters of a fridge of several stages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// *M*: slots of all stages together, at least two each. A remainder that cannot be divided evenly is unused.
    pub slots: u32,
    /// *D*, from one stage, which is a fridge, to 64.
    pub stages: u32,
    /// *p*, from 2⁻²⁴ to 1.
    pub entry_probability: f64,
}

/// Why a fridge of several stages cannot be built.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StagedError {
    /// The number of stages must be 1 to 64.
    Stages(u32),
    /// Survival in the last stage is judged by what happens to other slots: each needs two.
    Slots {
        /// Slots given.
        slots: u32,
        /// Slots needed at least.
        needed: u32,
    },
    /// A probability must be at least 2⁻²⁴ and at most 1.
    EntryProbability(f64),
}

impl fmt::Display for StagedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stages(stages) => write!(f, "a fridge has 1 to {MOST_STAGES} stages, not {stages}"),
            Self::Slots { slots, needed } => write!(f, "{slots} slots: these stages need at least {needed}"),
            Self::EntryProbability(p) => write!(f, "an entry probability is {}, not {p:?}", Gate::RANGE),
        }
    }
}

impl std::error::Error for StagedError {}

const MOST_STAGES: u32 = 64;

/// A fridge of several stages.
#[derive(Clone, Debug)]
pub struct Staged {
    /// Slots of a stage.
    each: u32,
    /// Odd, one per stage: ids are uniform already, so multiplication gives another uniform permutation of them.
    factors: Vec<u64>,
    /// Those of the first stage come first.
    slots: Vec<Option<Entry>>,
    gate: Gate,
    probability: f64,
    /// Entries put into the last stage so far.
    into_last: u64,
}

/// A request that waits for its response.
#[derive(Clone, Copy, Debug)]
struct Entry {
    id: ExchangeId,
    at: Timestamp,
    /// In the last stage: entries put there up to this one.
    number: u64,
    tag: u16,
}

impl Staged {
    /// An empty fridge.
    pub fn new(params: Params, seed: u64) -> Result<Self, StagedError> {
        let Params { slots, stages, entry_probability } = params;
        if !(1..=MOST_STAGES).contains(&stages) {
            return Err(StagedError::Stages(stages));
        }
        if slots < 2 * stages {
            return Err(StagedError::Slots { slots, needed: 2 * stages });
        }
        if !Gate::can_have(entry_probability) {
            return Err(StagedError::EntryProbability(entry_probability));
        }
        let each = slots / stages;
        let gate = Gate::new(hash::word(seed, 0), entry_probability);
        Ok(Self {
            each,
            factors: (1..=stages).map(|stage| hash::start(hash::word(seed, stage.into())) | 1).collect(),
            slots: vec![None; (each * stages) as usize],
            gate,
            probability: gate.probability(),
            into_last: 0,
        })
    }

    /// Processes an event; returns the sample of a response whose request is known.
    pub fn update(&mut self, event: &Event) -> Option<Sample> {
        if !self.gate.admits(event.id) {
            return None;
        }
        if event.is_request {
            self.request(event);
            return None;
        }
        self.response(event)
    }

    /// Bytes of the slots.
    pub fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Option<Entry>>()
    }

    /// The slot of an id in a stage.
    fn place(&self, stage: usize, id: ExchangeId) -> usize {
        let hash = id.0.wrapping_mul(self.factors[stage]);
        stage * self.each as usize + hash::index((hash >> 32) as u32, self.each) as usize
    }

    fn request(&mut self, request: &Event) {
        let mut moving = Entry { id: request.id, at: request.at, number: 0, tag: request.tag };
        for stage in 0..self.factors.len() {
            if stage + 1 == self.factors.len() {
                self.into_last += 1;
                moving.number = self.into_last;
            }
            let at = self.place(stage, moving.id);
            match self.slots[at].replace(moving) {
                Some(evicted) => moving = evicted,
                None => return,
            }
        }
    }

    fn response(&mut self, response: &Event) -> Option<Sample> {
        let stages = self.factors.len();
        let is_own = |slot: &Option<Entry>| slot.is_some_and(|entry| entry.id == response.id);
        let (stage, at) = (0..stages)
            .map(|stage| (stage, self.place(stage, response.id)))
            .find(|&(_, at)| is_own(&self.slots[at]))?;
        let entry = self.slots[at].take()?;
        let survived = if stage + 1 == stages { self.into_last - entry.number } else { 0 };
        let weight = (decay(self.each) * survived as f64).exp() / self.probability;
        let sample = Sample::answer(response, entry.tag, response.at - entry.at);
        Some(Sample { inserted_since: survived, ..sample.weighted(weight) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{request, response};

    const SLOTS: u32 = 256;
    /// One request in so many is answered, so that hardly any slot is empty.
    const ANSWERED: u64 = 256;
    const REQUESTS: u64 = 1 << 20;

    /// Answers requests when `later` more have been admitted; returns the share that was found, and the mean of the
    /// weights by which each counts, zero if it was not, with its standard error.
    fn run(stages: u32, later: u64) -> (f64, f64, f64) {
        let params = Params { slots: SLOTS, stages, entry_probability: 1.0 };
        let mut fridge = Staged::new(params, 3).unwrap();
        let (mut asked, mut found, mut sum, mut squares) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..REQUESTS {
            fridge.update(&request(hash::finish(i), i as i64));
            let Some(first) = (i + 1).checked_sub(later + 1).filter(|first| first % ANSWERED == 0) else { continue };
            // While it fills, nothing is lost.
            if first < 8 * u64::from(SLOTS) {
                continue;
            }
            asked += 1.0;
            if let Some(sample) = fridge.update(&response(hash::finish(first), i as i64)) {
                assert_eq!(sample.since_first.get(), later as i64);
                (found, sum, squares) = (found + 1.0, sum + sample.weight, squares + sample.weight * sample.weight);
            }
        }
        let mean: f64 = sum / asked;
        (found / asked, mean, ((squares / asked - mean * mean) / asked).sqrt())
    }

    /// The probability that fewer than `stages` of the events of a Poisson process have happened.
    fn survives(stages: u32, later: u64) -> f64 {
        let mean = f64::from(stages) * later as f64 / f64::from(SLOTS);
        let mut term = (-mean).exp();
        let mut sum = 0.0;
        for k in 0..stages {
            sum += term;
            term *= mean / f64::from(k + 1);
        }
        sum
    }

    /// Lifetimes are sums of geometric ones: more stages keep more of what is answered within the mean lifetime and less
    /// of what takes longer [zheng22 eq. 4.4], but weights stay right. Six standard errors and 2% for the slots that are
    /// empty; a correct program would fail once in 10⁷ choices of seeds.
    #[test]
    fn stages_make_lifetimes_more_equal_and_weights_stay_right() {
        let is_near = |found: f64, expected: f64| {
            let error = (expected * (1.0 - expected) * ANSWERED as f64 / REQUESTS as f64).sqrt();
            (found - expected).abs() < 6.0 * error + 0.02 * expected
        };
        for later in [SLOTS / 2, 2 * SLOTS].map(u64::from) {
            for stages in [1, 2, 4] {
                let (found, weight, error) = run(stages, later);
                assert!(is_near(found, survives(stages, later)), "{stages}, {later}: {found}");
                // Of slow exchanges few are found, and their weights are too heavy for a normal mean.
                let is_right = |mean: f64| (mean - 1.0).abs() < 6.0 * error && error < 0.05;
                assert!(later > u64::from(SLOTS) || is_right(weight), "{stages}, {later}: {weight} ± {error}");
                // Without weights, or with the lifetimes of one stage, both would be wrong.
                assert!(!is_right(found) && (stages == 1 || !is_near(found, survives(1, later))));
            }
        }
    }

    #[test]
    fn the_entry_that_is_evicted_moves_on() {
        let mut fridge = Staged::new(Params { slots: 4, stages: 2, entry_probability: 1.0 }, 1).unwrap();
        assert_eq!(fridge.state_bytes(), 4 * 40);
        let mut same = (0..).map(hash::finish).filter(|&id| fridge.clone().place(0, ExchangeId(id)) == 0);
        let ids: Vec<u64> = same.by_ref().take(2).collect();
        fridge.update(&request(ids[0], 0));
        fridge.update(&request(ids[1], 10));
        for (id, delay) in [(ids[0], 20), (ids[1], 10)] {
            let sample = fridge.update(&response(id, 20)).unwrap();
            assert_eq!((sample.since_first.get(), sample.weight), (delay, 1.0));
            assert_eq!(fridge.update(&response(id, 30)), None, "answered once");
        }
    }

    #[test]
    fn nonsense_parameters_are_refused() {
        let good = Params { slots: 8, stages: 4, entry_probability: 1.0 };
        assert!(Staged::new(good, 0).is_ok());
        for (params, error) in [
            (Params { stages: 0, ..good }, StagedError::Stages(0)),
            (Params { stages: 65, ..good }, StagedError::Stages(65)),
            (Params { slots: 7, ..good }, StagedError::Slots { slots: 7, needed: 8 }),
            (Params { entry_probability: 0.0, ..good }, StagedError::EntryProbability(0.0)),
            (Params { entry_probability: 1e-12, ..good }, StagedError::EntryProbability(1e-12)),
        ] {
            assert_eq!(Staged::new(params, 0).unwrap_err(), error);
        }
    }
}
