use crate::conquest::{Exact, Params, Queued};
use dwell_types::{Departure, Nanos};

/// Compares the answers of a sketch with an exact reference, for the packets that waited for *τ*.
#[derive(Clone, Debug)]
pub struct Comparison {
    twin: Exact,
    threshold: Nanos,
    scores: Scores,
    pairs: Vec<Pair>,
    /// One pair is kept per this many packets.
    every: u64,
}

/// The size of a packet's flow in the queue, actual and estimated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// By the exact reference.
    pub actual: u64,
    /// By the sketch.
    pub estimated: u64,
}

/// The accuracy of a sketch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Packets that waited for *τ*, and not for longer than the exact reference remembers.
    pub packets: u64,
    /// Packets that waited for longer, and are compared with nothing.
    pub unknown: u64,
    /// Culprits according to both.
    pub both: u64,
    /// Culprits according to the sketch only.
    pub sketch_only: u64,
    /// Culprits according to the exact reference only.
    pub exact_only: u64,
    /// The sum of absolute errors of flow sizes, in bytes or packets.
    pub error: u64,
}

impl Scores {
    /// Counts a packet, with the answers of the sketch and of the exact reference.
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

    /// The share of the sketch's culprits that are correct; `None` if there are none.
    pub fn precision(&self) -> Option<f64> {
        share(self.both, self.both + self.sketch_only)
    }

    /// The share of the actual culprits that the sketch found; `None` if there are none.
    pub fn recall(&self) -> Option<f64> {
        share(self.both, self.both + self.exact_only)
    }

    /// The mean absolute error of flow sizes, in bytes or packets; `None` without packets.
    pub fn mean_error(&self) -> Option<f64> {
        share(self.error, self.packets)
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Comparison {
    /// Maximum number of pairs kept, evenly spaced among the packets.
    const MOST_PAIRS: usize = 2_048;

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
        if !exact.is_complete {
            self.scores.unknown += 1;
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

    /// The accuracy over all packets.
    pub const fn scores(&self) -> Scores {
        self.scores
    }

    /// The pairs kept, in the order of departure.
    pub fn pairs(&self) -> &[Pair] {
        &self.pairs
    }
}
