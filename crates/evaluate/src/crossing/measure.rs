use super::method::{Configuration, Pair};
use super::workload::Stream;
use crate::case::{Measurement, Quantity, STATE_BYTES, Scale};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::run::{in_blocks, methods_seed};
use dwell_simulate::crossing::{Passages, Truth};
use dwell_sketch::estimate::Estimate;
use dwell_sketch::moments::{Level, Moments};

/// Mean delay, with its 95% interval.
pub(super) const MEAN: Quantity = Quantity::compared("mean", Scale::Relative);
/// Mean delay, with its 98% interval.
pub(super) const MEAN_98: Quantity = Quantity::compared("mean_98", Scale::Relative);
/// Mean delay, with the paper's 98% interval.
const MEAN_98_BY_PAPER: Quantity = Quantity::compared("mean_98_paper", Scale::Relative);
/// Standard deviation of the delays, with its 95% interval.
pub(super) const STD: Quantity = Quantity::compared("std", Scale::Relative);
/// The same by the paper's estimator, without interval.
pub(super) const STD_BY_PAPER: Quantity = Quantity::plain("std_paper", Scale::Relative);
/// Share of the packets lost.
const LOSS: Quantity = Quantity::plain("loss", Scale::Relative);
/// Number of packets that the estimates are based on.
pub(super) const PACKETS: Quantity = Quantity::value("packets");
/// The same, relative to its expected value.
const PACKETS_OF_EXPECTED: Quantity = Quantity::plain("packets_of_expected", Scale::Ratio);
/// Cells without a lost packet.
const USABLE_CELLS: Quantity = Quantity::value("usable_cells");

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        self.check_probes(&stream.settings)?;
        self.pair(stream, 0).map(drop)
    }

    fn quantities(&self, _: &Stream) -> Vec<Quantity> {
        let mut all = vec![MEAN, MEAN_98, MEAN_98_BY_PAPER, STD, PACKETS];
        if let Self::Budget(_) | Self::Tuned { .. } = self {
            all.extend([STD_BY_PAPER, LOSS, PACKETS_OF_EXPECTED, USABLE_CELLS]);
        }
        if !matches!(self, Self::Probes(_)) {
            all.push(STATE_BYTES);
        }
        all
    }

    /// Runs all pairs at once, so that the stream is generated only once.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let settings = &stream.settings;
        let passages = Passages::new(settings, seed)?;
        let hashes = methods_seed(seed);
        let pairs = configurations.iter().map(|configuration| configuration.pair(stream, hashes));
        let mut pairs: Vec<Pair> = pairs.collect::<Result<_, _>>()?;
        let mut truth = Truth::default();
        let shown = passages.map(|mut passage| {
            truth.update(&passage);
            passage.received = passage.received.map(|at| stream.clock.read(at, settings.start));
            passage
        });
        in_blocks(shown, |block| pairs.iter_mut().for_each(|pair| pair.update(block)));
        pairs.iter().map(|pair| compare(pair, &truth)).collect()
    }
}

/// Compares the estimates of a pair with the truth.
fn compare(pair: &Pair, truth: &Truth) -> Result<Vec<Measurement>, Problem> {
    let found = pair.moments()?;
    let mut measurements = delays(found, truth);
    match pair {
        Pair::Lda { params, sender, receiver } => {
            let answer = receiver.since(sender)?;
            let loss = truth.lost as f64 / truth.sent.max(1) as f64;
            let packets = found.map_or(0, |delays| delays.packets) as f64;
            let expected = params.expected_packets(truth.both as f64, (truth.sent - truth.both) as f64);
            measurements.extend([
                STD_BY_PAPER.estimated(truth.std(), answer.std_by_paper().map(Estimate::exact)),
                LOSS.estimated(Some(loss), answer.loss().map(Estimate::exact)),
                PACKETS_OF_EXPECTED.estimated(Some(expected), Some(Estimate::exact(packets))),
                USABLE_CELLS.measured(answer.usable_cells as f64),
                STATE_BYTES.measured(receiver.state_bytes() as f64),
            ]);
        }
        Pair::Trajectory { receiver, .. } => {
            measurements.push(STATE_BYTES.measured(receiver.state_bytes() as f64));
        }
        Pair::Probes { .. } => (),
    }
    Ok(measurements)
}

/// Mean and standard deviation, with intervals of both levels.
fn delays(found: Option<Moments>, truth: &Truth) -> Vec<Measurement> {
    let (mean, std) = (truth.mean(), truth.std());
    vec![
        MEAN.estimated(mean, found.map(|delays| delays.mean(Level::P95))),
        MEAN_98.estimated(mean, found.map(|delays| delays.mean(Level::P98))),
        MEAN_98_BY_PAPER.estimated(mean, found.map(|delays| delays.mean_by_hoeffding(Level::P98))),
        STD.estimated(std, found.map(|delays| delays.std(Level::P95))),
        PACKETS.measured(found.map_or(0.0, |delays| delays.packets as f64)),
    ]
}
