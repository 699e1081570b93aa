use super::meter::GroupMeter;
use super::method::Configuration;
use super::workload::Stream;
use super::{LARGEST, QUANTILES, SHOWN};
use crate::case::{Measurement, Quantity, STATE_BYTES, Scale, Shown};
use crate::experiment::Problem;
use crate::grid::Measured;
use crate::run::{in_blocks, methods_seed};
use dwell_simulate::Delays;
use dwell_simulate::exchange::ExchangeWorkload;
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;
use dwell_types::{Nanos, Observation};

/// Number of exchanges.
const EXCHANGES: Quantity = Quantity::compared("exchanges", Scale::Ratio);
/// Number of exchanges whose delay in nanoseconds has a binary logarithm from this number to below the next.
pub(super) const OCTAVE: Quantity = Quantity::compared("octave", Scale::Ratio);
/// Number of delays that the estimates are based on.
pub(crate) const SAMPLES: Quantity = Quantity::value("samples");

/// A quantile of the delays.
const fn quantile(name: &'static str) -> Quantity {
    Quantity::compared(name, Scale::Log2)
}

/// The group of the exchanges that are measured, if only some are.
const MEASURED: u16 = 1;

impl Measured for Configuration {
    type Stream = Stream;
    const SHOWN: Shown = SHOWN;

    fn quantities(&self, _: &Stream) -> Vec<Quantity> {
        let errors = SHOWN.quantities.iter().chain([&LARGEST]).map(|name| quantile(name));
        errors.chain([EXCHANGES, OCTAVE.of(Quantity::ANY), SAMPLES, STATE_BYTES]).collect()
    }

    /// Runs all meters at once, so that the stream is generated only once. Each meter gives the same answer as if it
    /// were alone.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let mut workload = ExchangeWorkload::new(&stream.settings, seed)?;
        let groups = if stream.measured.is_some() { MEASURED + 1 } else { 1 };
        let meters = configurations.iter().map(|c| c.meter(methods_seed(seed), groups));
        let mut meters: Vec<GroupMeter> = meters.collect::<Result<_, _>>()?;
        let mut delays = Delays::default();
        let seen = std::iter::from_fn(|| {
            let seen = workload.next()?;
            let (seen, answered) = look(stream, seen, workload.delay());
            answered.into_iter().for_each(|delay| delays.record(delay));
            Some(seen)
        });
        in_blocks(seen, |block| meters.iter_mut().for_each(|meter| meter.take_all(block)));
        let truth = Truth::new(delays);
        Ok(meters.iter_mut().map(|meter| truth.compare(meter, groups - 1)).collect())
    }
}

/// The observation with its group; and the delay, if it is the response of a measured exchange.
#[inline]
fn look(stream: &Stream, mut seen: Observation, delay: Option<Nanos>) -> (Observation, Option<Nanos>) {
    let Some(measured) = &stream.measured else {
        let is_response = matches!(seen, Observation::Response(_));
        return (seen, delay.filter(|_| is_response));
    };
    match &mut seen {
        Observation::Request(sighting) => {
            sighting.series.group = u16::from(measured.contains(&sighting.at.as_nanos())) * MEASURED;
            (seen, None)
        }
        Observation::Response(sighting) => {
            let at = sighting.at.as_nanos();
            let delay = delay.filter(|delay| measured.contains(&(at - delay.get())));
            sighting.series.group = u16::from(delay.is_some()) * MEASURED;
            (seen, delay)
        }
    }
}

/// The true values.
struct Truth {
    /// At [`QUANTILES`], in nanoseconds; `None` without delays.
    quantiles: [Option<f64>; QUANTILES.len()],
    exchanges: usize,
    /// Powers of two that enclose all delays; octave *i* reaches from `edges[i]` to `edges[i + 1]`.
    edges: Vec<i64>,
    /// Number of exchanges in each octave.
    octaves: Vec<f64>,
}

impl Truth {
    fn new(mut delays: Delays) -> Self {
        // .55 · 1600 is a little more than 880 in floating point, but the rank must be 880.
        let quantile = |share: f64| delays.quantile(share * (1.0 - 1e-12)).map(|delay| delay.get() as f64);
        let quantiles = QUANTILES.map(|(_, share)| share).map(quantile);
        let sorted = delays.sorted();
        let octave = |delay: Option<&Nanos>| delay.map_or(0, |delay| delay.get().max(1).ilog2());
        let edges: Vec<i64> = (octave(sorted.first())..=octave(sorted.last()) + 1).map(|power| 1 << power).collect();
        let below = |edge: &i64| sorted.partition_point(|delay| delay.get() < *edge);
        let octaves = edges.windows(2).map(|ends| (below(&ends[1]) - below(&ends[0])) as f64).collect();
        Self { quantiles, exchanges: sorted.len(), edges, octaves }
    }

    /// Compares a meter's estimates for the measured group with the truth.
    fn compare(&self, meter: &mut GroupMeter, group: u16) -> Vec<Measurement> {
        let found = meter.distribution(group);
        let found = found.as_ref();
        let mut measurements = compare_quantiles(&self.quantiles, found);
        measurements.extend(self.counts(found));
        let samples = found.map_or(0, Distribution::samples);
        measurements.push(SAMPLES.measured(samples as f64));
        measurements.push(STATE_BYTES.measured(meter.most_bytes() as f64));
        measurements
    }

    /// The number of exchanges, in total and per octave. A method that sampled none in an octave estimates zero there,
    /// which counts in its mean.
    fn counts(&self, found: Option<&Distribution>) -> Vec<Measurement> {
        let count = |quantity: &Quantity, truth: f64, found: Option<Estimate<f64>>| {
            let count = quantity.estimated(Some(truth), found);
            Measurement { estimate: count.estimate.or(Some(0.0)), ..count }
        };
        let all = found.and_then(Distribution::exchanges);
        let mut counts = vec![count(&EXCHANGES, self.exchanges as f64, all)];
        let histogram = found.map(|distribution| distribution.histogram(&self.edges)).unwrap_or_default();
        for (i, (&edge, &truth)) in self.edges.iter().zip(&self.octaves).enumerate() {
            counts.push(count(&OCTAVE.of(edge.ilog2()), truth, histogram.get(i).copied()));
        }
        counts
    }
}

/// Compares a distribution at [`QUANTILES`] with the true values there, in nanoseconds.
pub(crate) fn compare_quantiles(
    truths: &[Option<f64>; QUANTILES.len()],
    found: Option<&Distribution>,
) -> Vec<Measurement> {
    let compare = |(&(name, share), &truth): (&(&'static str, f64), &Option<f64>)| {
        let estimate = found.and_then(|distribution| distribution.quantile(share));
        quantile(name).estimated(truth, estimate.map(|e| e.map(|ns| ns as f64)))
    };
    QUANTILES.iter().zip(truths).map(compare).collect()
}
