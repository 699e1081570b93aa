use super::method::Configuration;
use super::workload::Stream;
use crate::case::{Measurement, Quantity, STATE_BYTES};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::run::{in_blocks, methods_seed};
use dwell_simulate::queue::{Passage, Passages};
use dwell_sketch::conquest::{Conquest, Exact, Queued, Unit};
use dwell_sketch::queue::Scores;
use dwell_types::{Departure, Nanos};

// Facts about the stream.
pub(super) mod facts;
use facts::Facts;

/// Share of the packets attributed to culprits that are theirs.
pub(super) const PRECISION: Quantity = Quantity::share("precision");
/// Share of the culprits' packets that are attributed to them.
pub(super) const RECALL: Quantity = Quantity::share("recall");
/// Mean error of the size of the packet's flow in the queue.
pub(super) const SIZE_ERROR: Quantity = Quantity::value("size_error_bytes");
/// Its median.
pub(super) const MEDIAN_SIZE_ERROR: Quantity = Quantity::value("median_size_error_bytes");
/// Share of the answers for which windows were missing.
pub(super) const INCOMPLETE: Quantity = Quantity::share("incomplete");

/// How long the exact twin remembers packets; a stream in which one waits for longer is refused.
const LONGEST: Nanos = Nanos::from_secs(1);

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        self.meter(stream, 0).map(drop)
    }

    fn quantities(&self, _: &Stream) -> Vec<Quantity> {
        if self.is_exact() {
            return Facts::QUANTITIES.to_vec();
        }
        vec![PRECISION, RECALL, INCOMPLETE, SIZE_ERROR, MEDIAN_SIZE_ERROR, STATE_BYTES]
    }

    /// Runs all sketches at once, so that the stream and its exact answers are generated only once.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let passages = Passages::new(&stream.settings, seed)?;
        let hashes = methods_seed(seed);
        let meter = |configuration: &&Configuration| configuration.meter(stream, hashes);
        let meters: Vec<Option<Conquest>> = configurations.iter().map(meter).collect::<Result<_, _>>()?;
        let mut meters: Vec<Option<Meter>> = meters.into_iter().map(|sketch| sketch.map(Meter::new)).collect();
        let mut twin = Exact::new(LONGEST, Unit::Bytes, stream.culprit);
        let mut facts = Facts::new(stream.culprit);
        let mut is_too_long = false;
        let departures = passages.map_while(|Passage { departure, .. }| {
            is_too_long = departure.delay() > Some(LONGEST);
            (!is_too_long).then(|| {
                facts.update(&departure);
                (departure, twin.asked(&departure).filter(|truth| truth.is_complete))
            })
        });
        in_blocks(departures, |block| meters.iter_mut().flatten().for_each(|meter| meter.update(block)));
        if is_too_long {
            let problem = format!("a packet waits for more than {LONGEST}: expected a smaller load, or a buffer");
            return Err(Problem(problem));
        }
        let answer = |meter: Option<Meter>| meter.map_or_else(|| facts.measurements(), Meter::measurements);
        Ok(meters.into_iter().map(answer).collect())
    }
}

/// A sketch, and the accuracy of its answers for packets that waited long enough.
struct Meter {
    sketch: Conquest,
    scores: Scores,
    /// Errors of the flow's size in the queue, in bytes.
    errors: Vec<u64>,
    incomplete: u64,
}

impl Meter {
    fn new(sketch: Conquest) -> Self {
        Self { sketch, scores: Scores::default(), errors: Vec::new(), incomplete: 0 }
    }

    fn update(&mut self, block: &[(Departure, Option<Queued>)]) {
        for (departure, truth) in block {
            let Some((found, truth)) = self.sketch.update(departure).zip(*truth) else { continue };
            self.scores.add(&found, &truth);
            self.errors.push(found.flow_size.abs_diff(truth.flow_size));
            self.incomplete += u64::from(!found.is_complete);
        }
    }

    fn measurements(mut self) -> Vec<Measurement> {
        self.errors.sort_unstable();
        let median = self.errors.get(self.errors.len() / 2).map(|&error| error as f64);
        vec![
            PRECISION.measured(self.scores.precision()),
            RECALL.measured(self.scores.recall()),
            SIZE_ERROR.measured(self.scores.mean_error()),
            MEDIAN_SIZE_ERROR.measured(median),
            INCOMPLETE.measured(share(self.incomplete, self.scores.packets)),
            STATE_BYTES.measured(self.sketch.state_bytes() as f64),
        ]
    }
}

/// A share, or a mean; `None` of nothing.
pub(super) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
