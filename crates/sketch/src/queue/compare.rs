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
    /// Maximum number of pairs kept, evenly spaced among the packets; even, so that the packet that finds them full is
    /// one of those that remain.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conquest::Culprit;
    use dwell_types::{FlowId, Timestamp};

    /// However many packets there are, pairs are those of every so many, from the first one on. The first departure was
    /// in the queue before anything was seen.
    #[test]
    fn pairs_are_evenly_spaced() {
        const LONGEST: Nanos = Nanos::new(1_000);
        let culprit = Culprit { share: 0.01, delay: Nanos::new(10) };
        let params = Params::for_queue(64 << 10, culprit, LONGEST, 1).unwrap();
        let mut comparison = Comparison::new(&params, LONGEST);
        for number in 0..10_000 {
            let departed = Timestamp::from_nanos(number * 10);
            let arrived = Some(departed - culprit.delay);
            let departure = Departure { arrived, departed, flow: FlowId(1), bytes: 100 };
            // Of each packet compared, the sketch tells how many were before it.
            let flow_size = (number - 1).max(0) as u64;
            let queued = Queued { flow_size, queue_size: 0, share: None, is_culprit: false, is_complete: true };
            comparison.update(&departure, Some(&queued));
            let scores = comparison.scores();
            assert_eq!((scores.unknown, scores.packets), (1, number as u64));
            let every = scores.packets.div_ceil(Comparison::MOST_PAIRS as u64).next_power_of_two();
            let kept = comparison.pairs().iter().map(|pair| pair.estimated);
            assert!(kept.eq((0..scores.packets).step_by(every as usize)), "{number}");
        }
    }
}
