use super::method::{Configuration, MethodName};
use crate::experiment::Problem;
use crate::queue::method::sketch;
use crate::queue::workload::Stream;
use dwell_simulate::queue::{Arrival, Passage, Queue};
use dwell_sketch::conquest::{Conquest, Params};
use dwell_types::{FlowId, Nanos, hash};
use std::collections::BTreeMap;

/// A queue management action.
pub(super) enum Action {
    Nothing,
    OnCulprits(Culprits),
    OnQueue(EarlyDrop),
}

impl Action {
    pub(super) fn new(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Self, Problem> {
        let parameter = configuration.parameter.unwrap_or(0.0);
        Ok(match configuration.method {
            MethodName::None => Self::Nothing,
            MethodName::Drop | MethodName::Limit | MethodName::Mark => {
                Self::OnCulprits(Culprits::new(stream, configuration, seed)?)
            }
            MethodName::Red | MethodName::Choke => {
                let has_draw = configuration.method == MethodName::Choke;
                Self::OnQueue(EarlyDrop { low: parameter, mean: 0.0, has_draw, chances: hash::start(seed) })
            }
        })
    }

    /// Handles a departing packet; returns whether it is marked.
    pub(super) fn leave(&mut self, passage: &Passage) -> bool {
        match self {
            Self::OnCulprits(culprits) => culprits.leave(passage),
            _ => false,
        }
    }

    /// Handles an arriving packet; returns whether it is admitted.
    pub(super) fn admits(&mut self, arrival: &Arrival, queue: &mut Queue) -> Verdict {
        match self {
            Self::Nothing => Verdict::Admitted,
            Self::OnCulprits(culprits) => {
                if culprits.admits(arrival) {
                    Verdict::Admitted
                } else {
                    Verdict::Dropped
                }
            }
            Self::OnQueue(early) => early.judge(arrival, queue),
        }
    }
}

/// What happens to an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Admitted,
    Dropped,
    /// Dropped along with a waiting packet of the same flow, of this many bytes.
    DroppedBoth(u32),
}

/// A pseudo-random number, uniform in `0..1`, for each packet.
fn chance(start: u64, arrival: &Arrival) -> f64 {
    hash::unit(hash::word(start, arrival.number))
}

/// Actions on culprits, which are detected at the exit of the queue and acted on at its entrance [conquest §7].
pub(super) struct Culprits {
    sketch: Conquest,
    method: MethodName,
    /// The share *c* of the queue above which a flow is acted on.
    weight: f64,
    /// The threshold delay *τ*.
    threshold: Nanos,
    /// How long a culprit is remembered, in nanoseconds: the span of the snapshots.
    memory: f64,
    /// The line rate, in bytes per nanosecond.
    pace: f64,
    known: BTreeMap<FlowId, Known>,
    chances: u64,
}

#[derive(Clone, Copy)]
struct Known {
    weight: f64,
    /// When it was last seen departing, in nanoseconds since the start.
    seen: f64,
    /// Bytes in its token bucket, as of time `at`.
    tokens: f64,
    at: f64,
}

impl Culprits {
    /// Bytes of the sketch if its counters are not given.
    const BYTES: usize = 2048;
    /// Token bucket size: the burst that a limited flow may send.
    const BUCKET: f64 = 15_000.0;

    fn new(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Self, Problem> {
        let params = match configuration.counters {
            Some(counters) => Params::new(Params::SNAPSHOTS, stream.span, counters / Params::ROWS, seed),
            None => Params::budget(Self::BYTES, stream.span, seed)?,
        };
        Ok(Self {
            sketch: sketch(stream, params)?,
            method: configuration.method,
            weight: configuration.parameter.unwrap_or(0.0),
            threshold: stream.culprit.delay,
            memory: stream.span.get() as f64,
            pace: stream.settings.rate / 8e9,
            known: BTreeMap::new(),
            chances: hash::start(seed),
        })
    }

    /// Updates the known culprits by a departing packet; returns whether to mark it.
    fn leave(&mut self, passage: &Passage) -> bool {
        let departure = &passage.departure;
        let share = self.sketch.update(departure).and_then(|queued| queued.share).unwrap_or(0.0);
        let waited = departure.delay();
        if waited < Some(self.threshold) || share <= self.weight {
            self.known.remove(&departure.flow);
            return false;
        }
        let seen = departure.departed.as_nanos() as f64;
        let fresh = Known { weight: share, seen, tokens: Self::BUCKET, at: seen };
        let known = self.known.entry(departure.flow).or_insert(fresh);
        (known.weight, known.seen) = (share, seen);
        self.method == MethodName::Mark
    }

    fn admits(&mut self, arrival: &Arrival) -> bool {
        let Some(known) = self.known.get_mut(&arrival.flow) else { return true };
        if arrival.at - known.seen > self.memory {
            self.known.remove(&arrival.flow);
            return true;
        }
        match self.method {
            MethodName::Drop => {
                /// Drops all packets of a flow whose share exceeds *c* by a fifth of the queue.
                const GAIN: f64 = 25.0;
                chance(self.chances, arrival) >= GAIN * (known.weight - self.weight).powi(2)
            }
            MethodName::Limit => {
                let earned = (arrival.at - known.at) * self.pace * self.weight;
                (known.tokens, known.at) = ((known.tokens + earned).min(Self::BUCKET), arrival.at);
                let is_admitted = known.tokens >= f64::from(arrival.bytes);
                known.tokens -= if is_admitted { f64::from(arrival.bytes) } else { 0.0 };
                is_admitted
            }
            _ => true,
        }
    }
}

/// Random early detection by a moving mean of the queue's length, with the usual parameters; with a drawn packet it is
/// `CHOKe`.
pub(super) struct EarlyDrop {
    low: f64,
    mean: f64,
    has_draw: bool,
    chances: u64,
}

impl EarlyDrop {
    /// Weight of each new length in the mean.
    const SHARE: f64 = 0.002;
    /// The upper limit of the mean, as a multiple of `low`.
    const SPAN: f64 = 3.0;
    /// The drop probability just below this limit.
    const MOST: f64 = 0.1;

    fn judge(&mut self, arrival: &Arrival, queue: &mut Queue) -> Verdict {
        self.mean += Self::SHARE * (queue.bytes() as f64 - self.mean);
        if self.mean < self.low {
            return Verdict::Admitted;
        }
        let draw = chance(self.chances, arrival);
        if self.has_draw {
            let place = chance(hash::start(self.chances), arrival);
            let found = queue.drop_of(place, arrival.flow);
            if let Some(bytes) = found {
                return Verdict::DroppedBoth(bytes);
            }
        }
        let beyond = (self.mean / self.low - 1.0) / (Self::SPAN - 1.0);
        if beyond >= 1.0 || draw < Self::MOST * beyond { Verdict::Dropped } else { Verdict::Admitted }
    }
}
