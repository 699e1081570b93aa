use crate::conquest::{Exact, Params, Queued, Scores};
use dwell_types::{Departure, Nanos};

/// Compares the answers of a sketch with an exact reference, for the packets that waited for *τ*.
#[derive(Clone, Debug)]
pub struct Comparison {
    twin: Exact,
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

impl Comparison {
    /// Maximum number of pairs kept, evenly spaced among the packets.
    const MOST_PAIRS: usize = 2_048;

    pub(super) fn new(params: &Params, longest: Nanos) -> Self {
        Self {
            twin: Exact::new(longest, params.unit, params.culprit),
            scores: Scores::default(),
            pairs: Vec::new(),
            every: 1,
        }
    }

    pub(super) fn update(&mut self, departure: &Departure, queued: Option<&Queued>) {
        let Some((exact, queued)) = self.twin.asked(departure).zip(queued) else { return };
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
