use super::method::{Configuration, Pair};
use super::workload::Stream;
use crate::case::{Measurement, Scale};
use crate::grid::{BLOCK, Measured, methods_seed, names};
use dwell_simulate::crossing::{Passage, Passages, Truth};
use dwell_sketch::estimate::Estimate;
use dwell_sketch::moments::{Level, Moments};

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), String> {
        self.check_probes(&stream.settings)?;
        self.pair(&stream.settings, 0).map(drop)
    }

    fn quantities(&self, _: &Stream) -> Vec<String> {
        const DELAYS: [&str; 5] = ["mean", "mean_98", "mean_98_paper", "std", "packets"];
        const OF_CELLS: [&str; 5] = ["std_paper", "loss", "packets_of_expected", "usable_cells", "state_bytes"];
        let others = match self {
            Self::Budget(_) | Self::Tuned { .. } => &OF_CELLS[..],
            Self::Trajectory(_) => &["state_bytes"],
            Self::Probes(_) => &[],
        };
        names(&[&DELAYS, others].concat())
    }

    /// Runs all pairs at once, so that the stream is generated only once.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let settings = &stream.settings;
        let mut passages = Passages::new(settings, seed).map_err(|error| error.to_string())?;
        let hashes = methods_seed(seed);
        let pairs = configurations.iter().map(|configuration| configuration.pair(settings, hashes));
        let mut pairs: Vec<Pair> = pairs.collect::<Result<_, _>>()?;
        let mut truth = Truth::default();
        let mut block: Vec<Passage> = Vec::with_capacity(BLOCK);
        loop {
            block.clear();
            block.extend(passages.by_ref().take(BLOCK));
            if block.is_empty() {
                break;
            }
            for passage in &mut block {
                truth.update(passage);
                passage.received = passage.received.map(|at| stream.clock.read(at, settings.start));
            }
            pairs.iter_mut().for_each(|pair| pair.update(&block));
        }
        pairs.iter().map(|pair| compare(pair, &truth)).collect()
    }
}

/// Compares the estimates of a pair with the truth.
pub(crate) fn compare(pair: &Pair, truth: &Truth) -> Result<Vec<Measurement>, String> {
    match pair {
        Pair::Lda { params, sender, receiver } => {
            let answer = receiver.since(sender).map_err(|error| error.to_string())?;
            let mut measurements = delays(answer.delays, truth);
            measurements.push(relative("std_paper", truth.std(), answer.std_by_paper().map(Estimate::exact), false));
            let loss = truth.lost as f64 / truth.sent.max(1) as f64;
            measurements.push(relative("loss", Some(loss), answer.loss().map(Estimate::exact), false));
            let packets = answer.delays.map_or(0, |delays| delays.packets);
            measurements.push(Measurement {
                quantity: "packets_of_expected".to_owned(),
                scale: Scale::Ratio,
                truth: Some(params.expected_packets(truth.both as f64, (truth.sent - truth.both) as f64)),
                estimate: Some(packets as f64),
                interval: None,
            });
            measurements.push(Measurement::value("usable_cells", answer.usable_cells as f64));
            measurements.push(Measurement::value("state_bytes", receiver.state_bytes() as f64));
            Ok(measurements)
        }
        Pair::Trajectory { sender, receiver } => {
            let mut measurements = delays(receiver.since(sender).map_err(|error| error.to_string())?, truth);
            measurements.push(Measurement::value("state_bytes", receiver.state_bytes() as f64));
            Ok(measurements)
        }
        Pair::Probes { probes, .. } => Ok(delays(probes.estimate(), truth)),
    }
}

/// Mean and standard deviation, with intervals of both levels.
fn delays(found: Option<Moments>, truth: &Truth) -> Vec<Measurement> {
    let (mean, std) = (truth.mean(), truth.std());
    vec![
        relative("mean", mean, found.map(|delays| delays.mean(Level::P95)), true),
        relative("mean_98", mean, found.map(|delays| delays.mean(Level::P98)), true),
        relative("mean_98_paper", mean, found.map(|delays| delays.mean_by_hoeffding(Level::P98)), true),
        relative("std", std, found.map(|delays| delays.std(Level::P95)), true),
        Measurement::value("packets", found.map_or(0.0, |delays| delays.packets as f64)),
    ]
}

fn relative(quantity: &str, truth: Option<f64>, estimate: Option<Estimate<f64>>, has_interval: bool) -> Measurement {
    Measurement {
        quantity: quantity.to_owned(),
        scale: Scale::Relative,
        truth,
        estimate: estimate.map(|estimate| estimate.value),
        interval: estimate.filter(|_| has_interval).map(|estimate| (estimate.low, estimate.high)),
    }
}
