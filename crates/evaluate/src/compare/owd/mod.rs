//! Compares all methods for two points on the same packets at equal memory, with an exact comparison as the truth.
//!
//! Packets come in the order of sending, each with its fate, from [`dwell_sketch::owd::OwdMeter`]. They are divided
//! into intervals by their time of sending, and every interval passes through one pair of sketches per method, memory
//! and seed. So no method is affected by packets at the edge of an interval; and packets with an ambiguous delay, or
//! not covered by both captures, are excluded for all methods.

use super::method_seed;
use crate::crossing::{self, ALPHA, Pair};
use crate::experiment::Problem;
use crate::metrics;
use crate::run::BLOCK;
use dwell_simulate::crossing::{Passage, Truth};
use dwell_sketch::lda::{Expected, LdaError, Params};
use dwell_sketch::moments::Level;
use dwell_sketch::owd::{Fate, OwdMeter, Passed, Side, Totals};
use dwell_sketch::rivals::trajectory::TrajectoryError;
use dwell_types::{Crossing, Nanos, Timestamp, hash};
use rayon::prelude::*;
use std::collections::BTreeMap;

// Results, recommendation, CSV output and plot.
mod results;
pub use results::{Errors, Line, Method, MethodFacts, Packets, Recommended, Results, SCHEMA, Truths};
use results::{LOSS, MEAN, STD};
// Results as a table.
pub mod table;

/// A method is recommended if its error of the mean is below this.
pub const GOOD_ERROR: f64 = 0.05;

/// With fewer packets than this, no method estimates mean and standard deviation.
const TOO_FEW: u64 = 3;

/// Bytes of a probe on the wire, as in the paper, where 144 of them take as much as the 72 kbit of an aggregator
/// [kompella12 §IV-C].
const PROBE_BYTES: f64 = 64.0;

/// The losses that the paper's two banks are tuned to [kompella12 §IV-B].
const PAPER_LOSSES: [f64; 2] = [0.005, 0.1];

/// Settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The methods, in the order of the results.
    pub methods: Vec<Method>,
    /// Bytes per point of a sketch of an interval, in the order of the results.
    pub memories: Vec<usize>,
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// Length of an interval; the first begins with the first packet.
    pub interval: Nanos,
    /// A packet that has not arrived after this time is lost.
    pub longest: Nanos,
}

/// Takes the packets of both points, then compares the methods.
pub struct OwdComparison {
    exact: OwdMeter,
    intervals: Intervals,
}

/// Packets whose fate is known, processed interval by interval.
struct Intervals {
    settings: Settings,
    candidates: Vec<Candidate>,
    /// The end of the current interval; `None` before the first packet.
    end: Option<Timestamp>,
    truth: Truth,
    block: Vec<Passage>,
    /// Number of intervals compared, and of those with too few packets.
    compared: u64,
    too_few: u64,
}

/// One method in one memory.
struct Candidate {
    method: Method,
    memory: usize,
    built: Built,
    /// The sketches of the current interval, one pair per seed; none if the memory is too small.
    pairs: Vec<Pair>,
    runs: Runs,
}

/// The configuration of a method for its memory.
enum Built {
    Lda(Params),
    Trajectory(usize),
    /// Probes per second.
    Probes(f64),
    /// The least bytes that it needs.
    TooSmall(usize),
}

/// Errors over all seeds and intervals by quantity, each `None` if there was no estimate.
#[derive(Default)]
struct Runs {
    errors: BTreeMap<&'static str, Vec<Option<f64>>>,
    /// Whether the 95% interval contained the truth.
    held: BTreeMap<&'static str, Vec<f64>>,
    packets: Vec<f64>,
}

impl OwdComparison {
    /// A comparison without packets so far.
    pub fn new(settings: &Settings) -> Result<Self, Problem> {
        let exact = OwdMeter::new(&dwell_sketch::owd::Settings {
            memory: None,
            longest: settings.longest,
            interval: None,
            flows: 0,
            seed: 0,
        });
        Ok(Self { exact: exact?, intervals: Intervals::new(settings)? })
    }

    /// Takes the next packet at either point; must be called in order of time.
    pub fn update(&mut self, side: Side, crossing: &Crossing) {
        let Self { exact, intervals } = self;
        exact.update_each(side, crossing, |passed| intervals.update(passed));
    }

    /// Signals that the receiver's capture has ended, with whatever it saw at `until`.
    pub fn end_receiver(&mut self, until: Timestamp) {
        self.exact.end_receiver(until);
    }

    /// The exact result, also as numbers of packets and true values, and the results of all methods, by memory.
    pub fn finish(mut self) -> (Totals, Packets, Truths, Vec<Line>) {
        let intervals = &mut self.intervals;
        self.exact.end_each(|passed| intervals.update(passed));
        intervals.end();
        let totals = self.exact.total();
        let packets = Packets::new(&totals, intervals.compared, intervals.too_few);
        let lines = intervals.candidates.iter().map(Candidate::line).collect();
        let truths = Truths::new(totals.sent, &totals.tally);
        (totals, packets, truths, lines)
    }
}

impl Intervals {
    fn new(settings: &Settings) -> Result<Self, Problem> {
        let of_memory = |&memory: &usize| {
            let candidate = move |&method: &Method| Candidate::new(method, memory, settings);
            settings.methods.iter().map(candidate)
        };
        Ok(Self {
            candidates: settings.memories.iter().flat_map(of_memory).collect::<Result<_, _>>()?,
            settings: settings.clone(),
            end: None,
            truth: Truth::default(),
            block: Vec::with_capacity(BLOCK),
            compared: 0,
            too_few: 0,
        })
    }

    fn update(&mut self, passed: &Passed) {
        let sent = passed.sent;
        let received = match passed.fate {
            Fate::Received(delay) => Some(sent.at + delay),
            Fate::Lost => None,
            Fate::Ambiguous | Fate::OneOfEqual { .. } | Fate::Uncovered => return,
        };
        if self.end.is_none_or(|end| sent.at >= end) {
            self.begin(sent.at);
        }
        let is_lost = received.is_none();
        let passage = Passage { packet: sent.packet, sent: Some(sent.at), received, is_lost };
        self.truth.update(&passage);
        self.block.push(passage);
        if self.block.len() == BLOCK {
            self.pass_on();
        }
    }

    /// Ends the current interval and begins the one that contains this time.
    fn begin(&mut self, at: Timestamp) {
        let length = self.settings.interval;
        let start = match self.end {
            Some(end) => end + Nanos::new((at - end).get() / length.get() * length.get()),
            None => at,
        };
        self.end();
        self.end = Some(start + length);
        self.candidates.iter_mut().for_each(|candidate| candidate.begin(start, self.settings.seeds));
    }

    /// Passes the queued packets through all pairs. Each pair has its own state, so threads do not affect the results.
    fn pass_on(&mut self) {
        let Self { candidates, block, .. } = self;
        let pairs = candidates.par_iter_mut().flat_map(|candidate| &mut candidate.pairs);
        pairs.for_each(|pair| pair.update(block));
        block.clear();
    }

    /// Compares the estimates of all pairs for the interval.
    fn end(&mut self) {
        self.pass_on();
        let truth = std::mem::take(&mut self.truth);
        if truth.both < TOO_FEW {
            self.too_few += u64::from(truth.sent > 0);
            return;
        }
        self.compared += 1;
        for Candidate { pairs, runs, .. } in &mut self.candidates {
            pairs.iter().for_each(|pair| runs.add(pair, &truth));
        }
    }
}

impl Candidate {
    fn new(method: Method, memory: usize, settings: &Settings) -> Result<Self, Problem> {
        let expected = Expected::within(settings.longest);
        let built = match method {
            Method::Lda => match Params::budget_for(memory, &expected) {
                Ok(params) => Built::Lda(params),
                Err(LdaError::Bytes { needed, .. }) => Built::TooSmall(needed),
                Err(error) => return Err(error.into()),
            },
            Method::LdaPaper => paper(memory, expected.packets),
            Method::Trajectory => match Pair::trajectory(memory, 0) {
                Err(TrajectoryError::Bytes { needed, .. }) => Built::TooSmall(needed),
                _ => Built::Trajectory(memory),
            },
            Method::Probes => {
                let rate = memory as f64 / PROBE_BYTES * 1e9 / settings.interval.get() as f64;
                let too_many = |error| Problem(format!("probes in {memory} bytes per {}: {error}", settings.interval));
                Pair::probes(rate, Timestamp::from_nanos(0), 0).map_err(too_many)?;
                Built::Probes(rate)
            }
        };
        Ok(Self { method, memory, built, pairs: Vec::new(), runs: Runs::default() })
    }

    /// The least bytes that it needs, if more than its memory.
    const fn needed(&self) -> Option<usize> {
        match self.built {
            Built::TooSmall(needed) => Some(needed),
            _ => None,
        }
    }

    /// Begins an interval with new sketches.
    fn begin(&mut self, start: Timestamp, seeds: u64) {
        self.pairs = (1..=seeds).filter_map(|seed| self.pair(start, seed)).collect();
    }

    /// Sketches of both points for an interval; `None` if the memory is too small.
    fn pair(&self, start: Timestamp, seed: u64) -> Option<Pair> {
        let seed = method_seed(seed);
        match &self.built {
            Built::Lda(params) => Pair::lda(Params { seed, ..params.clone() }).ok(),
            Built::Trajectory(bytes) => Pair::trajectory(*bytes, seed).ok(),
            Built::Probes(rate) => Pair::probes(*rate, start, hash::word(seed, start.as_nanos() as u64)).ok(),
            Built::TooSmall(_) => None,
        }
    }

    fn line(&self) -> Line {
        Line {
            method: self.method,
            memory_bytes: self.memory,
            needed_bytes: self.needed(),
            packets: metrics::mean(&self.runs.packets),
            errors: self.runs.errors.keys().map(|&quantity| (quantity, self.runs.errors_of(quantity))).collect(),
        }
    }
}

/// The paper's two banks: equal numbers of rows of 72-bit cells [kompella12 §IV-B].
fn paper(memory: usize, packets: u64) -> Built {
    let of_rows = |rows| crossing::tuned(rows, &PAPER_LOSSES, packets, ALPHA);
    let least = of_rows(1).state_bytes();
    let bytes_per_row = of_rows(2).state_bytes() - least;
    match memory.checked_sub(least).map(|spare| u32::try_from(spare / bytes_per_row).unwrap_or(u32::MAX - 1)) {
        Some(more) => Built::Lda(of_rows(1 + more)),
        None => Built::TooSmall(least),
    }
}

impl Runs {
    /// Adds the estimates of a pair for an interval.
    fn add(&mut self, pair: &Pair, truth: &Truth) {
        // Both sketches of a pair have the same parameters, so that there is no error.
        let delays = pair.moments().ok().flatten();
        let (mean, std) = delays.map(|delays| (delays.mean(Level::P95), delays.std(Level::P95))).unzip();
        for (quantity, truth, found) in [(MEAN, truth.mean(), mean), (STD, truth.std(), std)] {
            self.add_error(quantity, truth, found.map(|found| found.value));
            if let Some(found) = found {
                let is_held = truth.is_some_and(|truth| found.low <= truth && truth <= found.high);
                self.held.entry(quantity).or_default().push(f64::from(u8::from(is_held)));
            }
        }
        let loss = truth.lost as f64 / truth.sent as f64;
        self.add_error(LOSS, Some(loss), pair.loss());
        self.packets.push(delays.map_or(0.0, |delays| delays.packets as f64));
    }

    /// A truth of zero has no relative error: an interval without loss contributes no error of the loss.
    fn add_error(&mut self, quantity: &'static str, truth: Option<f64>, estimate: Option<f64>) {
        let errors = self.errors.entry(quantity).or_default();
        if let Some(truth) = truth.filter(|&truth| truth != 0.0) {
            errors.push(estimate.map(|estimate| (estimate - truth) / truth.abs()));
        }
    }

    fn errors_of(&self, quantity: &str) -> Errors {
        let runs = self.errors.get(quantity).map_or(&[][..], Vec::as_slice);
        let errors: Vec<f64> = runs.iter().flatten().copied().collect();
        Errors {
            runs: runs.len() as u64,
            missing: (runs.len() - errors.len()) as u64,
            median_relative: metrics::median_magnitude(&errors),
            rms_relative: metrics::root_mean_square(&errors),
            mean_relative: metrics::mean(&errors),
            covered_share: self.held.get(quantity).and_then(|held| metrics::mean(held)),
        }
    }
}
