//! The errors of a sketch for a queue with given traffic, compared with the exact reference.

use super::{Conquest, ConquestError, Counter, Culprit, Exact, Params, Queued, Scores, Unit};
use crate::parts::smallest::smallest;
use dwell_types::{Departure, Nanos};

/// Streams of departures, and the exact answer for each packet that waited long enough.
#[derive(Clone, Debug)]
pub struct Trial {
    streams: Vec<Vec<(Departure, Option<Queued>)>>,
    culprit: Culprit,
    longest: Nanos,
}

/// The accuracy of a sketch on the streams of a [`Trial`]: means over the packets that waited for the culprits' *τ*, of
/// the stream with the largest error; precision and recall of the one with the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Number of these packets.
    pub packets: u64,
    /// Mean error of the size of the packet's flow in the queue, as a share of the queue.
    pub error: f64,
    /// The same in bytes.
    pub error_bytes: f64,
    /// The error of the same windows with counters that no two flows share.
    pub windows_error: f64,
    /// Share of the reported culprits' packets that are correct; `None` if none is reported.
    pub precision: Option<f64>,
    /// Share of the culprits' packets that are reported; `None` if there are none.
    pub recall: Option<f64>,
}

/// Sums over the packets.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    scores: Scores,
    /// Of errors as shares of the queue.
    error: f64,
}

impl Params {
    /// Bytes of the largest sketch within the search of [`Params::for_queue_error`].
    pub const MOST_BYTES: usize = 16 << 20;

    /// The smallest [`Params::for_queue`] whose [`Expected::error`] in a trial is at most `error`, to a sixteenth of
    /// its bytes, and its accuracy; its shortest windows are not longer than the culprits' *τ*. Found by doubling first:
    /// more bytes are not always better where the kind of counter changes.
    pub fn for_queue_error(error: f64, trial: &Trial) -> Result<(Self, Expected), ConquestError> {
        let of = |bytes: usize| {
            let params = Self::for_queue(bytes, trial.culprit, trial.longest, 0)?;
            trial.expected(&params).map(|expected| (params, expected))
        };
        let few = match Self::for_queue(0, trial.culprit, trial.longest, 0) {
            Err(ConquestError::Bytes { needed, .. }) => needed,
            Err(error) => return Err(error),
            Ok(_) => 1,
        };
        let is_enough = |(params, expected): &(Self, Expected)| params.overlong().is_none() && expected.error <= error;
        let enough = |bytes| of(bytes).map(|found| Some(found).filter(is_enough));
        smallest(few, Self::MOST_BYTES, 16, enough)?.ok_or(ConquestError::Error(error))
    }
}

impl Trial {
    /// From departures in order, none of which waited for longer than `longest`.
    pub fn new(departures: impl Iterator<Item = Departure>, culprit: Culprit, longest: Nanos) -> Self {
        Self { streams: Vec::new(), culprit, longest }.and(departures)
    }

    /// With another stream.
    pub fn and(mut self, departures: impl Iterator<Item = Departure>) -> Self {
        let mut twin = Exact::new(self.longest, Unit::Bytes, self.culprit);
        let mut judge = |departure: Departure| {
            let truth = twin.asked(&departure).filter(|truth| truth.is_complete);
            (departure, truth)
        };
        self.streams.push(departures.map(&mut judge).collect());
        self
    }

    /// The accuracy of a sketch with these parameters.
    pub fn expected(&self, params: &Params) -> Result<Expected, ConquestError> {
        let all: Vec<Expected> = (0..self.streams.len()).map(|at| self.of(at, params)).collect::<Result<_, _>>()?;
        let worst = all.iter().max_by(|a, b| a.error.total_cmp(&b.error)).copied().unwrap_or_default();
        let least = |share: fn(&Expected) -> Option<f64>| all.iter().filter_map(share).reduce(f64::min);
        Ok(Expected { precision: least(|of| of.precision), recall: least(|of| of.recall), ..worst })
    }

    /// The accuracy on one stream.
    fn of(&self, stream: usize, params: &Params) -> Result<Expected, ConquestError> {
        /// Hardly any two flows of a window share a counter in all rows.
        const MANY: Counter = Counter::CountMin { rows: 4, columns: 1 << 12, is_conservative: true };
        let found = self.run(stream, params)?;
        let windows = self.run(stream, &Params { counter: MANY, ..params.clone() })?;
        let mean = |sum: f64| sum / found.scores.packets.max(1) as f64;
        Ok(Expected {
            packets: found.scores.packets,
            error: mean(found.error),
            error_bytes: found.scores.mean_error().unwrap_or(0.0),
            windows_error: mean(windows.error),
            precision: found.scores.precision(),
            recall: found.scores.recall(),
        })
    }

    fn run(&self, stream: usize, params: &Params) -> Result<Sums, ConquestError> {
        let mut sketch = Conquest::new(&Params { culprit: self.culprit, ..params.clone() })?;
        let mut sums = Sums::default();
        for (departure, truth) in &self.streams[stream] {
            let Some((found, truth)) = sketch.update(departure).zip(*truth) else { continue };
            sums.scores.add(&found, &truth);
            sums.error += found.flow_size.abs_diff(truth.flow_size) as f64 / truth.queue_size.max(1) as f64;
        }
        Ok(sums)
    }
}
