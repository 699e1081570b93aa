use super::method::{Configuration, MethodName, ROWS};
use crate::queue::workload::Stream;
use dwell_simulate::queue::{Arrival, Passage, Queue};
use dwell_sketch::conquest::{Conquest, Params};
use dwell_types::{FlowId, Nanos, hash};
use std::collections::BTreeMap;

/// What is done before a queue.
pub(super) enum Action {
    Nothing,
    OnCulprits(Culprits),
    OnQueue(EarlyDrop),
}

impl Action {
    pub(super) fn new(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Self, String> {
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

    /// A packet has left: whether it is marked.
    pub(super) fn leave(&mut self, passage: &Passage) -> bool {
        match self {
            Self::OnCulprits(culprits) => culprits.leave(passage),
            _ => false,
        }
    }

    /// A packet has come: whether it may go on.
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

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Admitted,
    Dropped,
    /// And one that waited, of the same flow, of so many bytes.
    DroppedBoth(u32),
}

/// Uniform in `0..1`, another one for each packet.
fn chance(start: u64, arrival: &Arrival) -> f64 {
    (hash::word(start, arrival.number) >> 11) as f64 / (1u64 << 53) as f64
}

/// Culprits that were seen behind the queue and are known before it [conquest §7].
pub(super) struct Culprits {
    sketch: Conquest,
    method: MethodName,
    /// *c*.
    weight: f64,
    /// *τ*.
    threshold: Nanos,
    /// How long a culprit is remembered, in nanoseconds: as long as the snapshots.
    memory: f64,
    /// Bytes per nanosecond of the line.
    pace: f64,
    known: BTreeMap<FlowId, Known>,
    chances: u64,
}

#[derive(Clone, Copy)]
struct Known {
    weight: f64,
    /// When it last left, in nanoseconds since the start.
    seen: f64,
    /// Bytes that may come, as of a moment.
    tokens: f64,
    at: f64,
}

impl Culprits {
    /// Bytes of the sketch, unless its counters are given: of the paper's promise.
    const BYTES: usize = 2048;
    /// Bytes that a limited flow may send at once.
    const BUCKET: f64 = 15_000.0;

    fn new(stream: &Stream, configuration: &Configuration, seed: u64) -> Result<Self, String> {
        /// Of Count-Min, as in the paper.
        const SNAPSHOTS: u32 = 8;
        let params = match configuration.counters {
            Some(counters) => Params::new(SNAPSHOTS, stream.span, counters / ROWS, seed),
            None => Params::budget(Self::BYTES, stream.span, seed).map_err(|error| error.to_string())?,
        };
        let sketch = Conquest::new(&Params { culprit: stream.culprit, ..params }).map_err(|error| error.to_string())?;
        Ok(Self {
            sketch,
            method: configuration.method,
            weight: configuration.parameter.unwrap_or(0.0),
            threshold: stream.culprit.delay,
            memory: stream.span.get() as f64,
            pace: stream.settings.rate / 8e9,
            known: BTreeMap::new(),
            chances: hash::start(seed),
        })
    }

    /// Whether a packet that leaves is one of a culprit; before the queue that is known then.
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
                /// Drops all of a flow whose share is a fifth above *c*.
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

/// Random early detection by a moving mean of the queue's length, as it is usually set; with a draw from the queue it
/// is `CHOKe`.
pub(super) struct EarlyDrop {
    low: f64,
    mean: f64,
    has_draw: bool,
    chances: u64,
}

impl EarlyDrop {
    /// Of each new length in the mean.
    const SHARE: f64 = 0.002;
    /// How much longer than `low` is too long.
    const SPAN: f64 = 3.0;
    /// The chance just below that.
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
