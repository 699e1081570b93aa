use crate::conquest::{Exact, Params, Queued};
use dwell_types::{Departure, Nanos};

/// The answers of a sketch beside those of its exact twin, for the packets that wait for *τ*.
#[derive(Clone, Debug)]
pub struct Comparison {
    twin: Exact,
    threshold: Nanos,
    scores: Scores,
    pairs: Vec<Pair>,
    /// One of so many packets has a pair.
    every: u64,
}

/// The size of a packet's flow in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// As it was.
    pub actual: u64,
    /// As the sketch has it.
    pub estimated: u64,
}

/// How good the answers of a sketch are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Packets that waited for *τ*.
    pub packets: u64,
    /// Culprits by both.
    pub both: u64,
    /// Culprits by the sketch alone.
    pub sketch_only: u64,
    /// Culprits by the exact twin alone.
    pub exact_only: u64,
    /// The sum of the differences of sizes, in bytes or packets.
    pub error: u64,
}

impl Scores {
    /// Counts a packet, by what the sketch says and what is true.
    pub fn add(&mut self, found: &Queued, truth: &Queued) {
        self.packets += 1;
        match (found.is_culprit, truth.is_culprit) {
            (true, true) => self.both += 1,
            (true, false) => self.sketch_only += 1,
            (false, true) => self.exact_only += 1,
            (false, false) => {}
        }
        self.error += found.flow_size.abs_diff(truth.flow_size);
    }

    /// Of the culprits of the sketch, the share that are culprits; `None` without any.
    pub fn precision(&self) -> Option<f64> {
        share(self.both, self.both + self.sketch_only)
    }

    /// Of the culprits, the share that the sketch found; `None` without any.
    pub fn recall(&self) -> Option<f64> {
        share(self.both, self.both + self.exact_only)
    }

    /// The mean difference of sizes, in bytes or packets; `None` without packets.
    pub fn mean_error(&self) -> Option<f64> {
        share(self.error, self.packets)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Comparison {
    /// Pairs that are kept, evenly among the packets.
    pub const MOST_PAIRS: usize = 2_048;

    pub(super) fn new(params: &Params, longest: Nanos) -> Self {
        Self {
            twin: Exact::new(longest, params.unit, params.culprit),
            threshold: params.culprit.delay,
            scores: Scores::default(),
            pairs: Vec::new(),
            every: 1,
        }
    }

    pub(super) fn update(&mut self, departure: &Departure, queued: Option<&Queued>) {
        let Some((exact, queued)) = self.twin.update(departure).zip(queued) else { return };
        if departure.delay() < Some(self.threshold) {
            return;
        }
        if self.scores.packets.is_multiple_of(self.every) {
            self.keep(Pair { actual: exact.flow_size, estimated: queued.flow_size });
        }
        self.scores.add(queued, &exact);
    }

    fn keep(&mut self, pair: Pair) {
        if self.pairs.len() == Self::MOST_PAIRS {
            let mut number = 0;
            self.pairs.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
            if !self.scores.packets.is_multiple_of(self.every) {
                return;
            }
        }
        self.pairs.push(pair);
    }

    /// How good the answers were.
    pub const fn scores(&self) -> Scores {
        self.scores
    }

    /// Pairs of some packets, in the order of departure.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}
