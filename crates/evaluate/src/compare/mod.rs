//! Compares all methods on one stream at equal memory, with the exact method as the truth.
//!
//! Each matching rule is measured as if it were the only one: its meters get all of a given memory. The stream is read
//! once; every observation goes to the exact meter of its rule and to one meter per method, memory and seed. Seeds only
//! change the hashes of the meters, so variation between seeds is what the method adds to the same exchanges.

use crate::case::{Case, Measurement, Run, STATE_BYTES, Scale};
use crate::delay::{QUANTILES, SAMPLES, SHOWN, compare_quantiles};
use crate::metrics::{self, Summary};
use crate::run::BLOCK;
use crate::table::mean;
use dwell_sketch::distribution::{Ambiguous, Distribution};
use dwell_sketch::rtt::{self, Answer, Method, Parameter, Parameters, RttMeter, SettingsError};
use dwell_types::{IdForm, Match, Nanos, Observation, Overhead, Sink, hash};
use rayon::prelude::*;
use std::collections::BTreeMap;

// The same for one-way delay between two points.
pub mod owd;
// Results, recommendation, CSV output and plot.
mod results;
pub use results::{Errors, LegResult, Line, MatchResult, MethodFacts, Quantiles, Recommended, Results, SCHEMA};
// Results as tables.
pub mod table;

pub use crate::delay::LARGEST;

/// A method is recommended if its largest error is below this: 5%, in octaves.
pub const GOOD_OCTAVES: f64 = 0.070_389_327_891_398;

/// Settings of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The matching rules, each with what its observer takes of the memory.
    pub matches: Vec<(Match, Overhead)>,
    /// Whether legs are distinguished as inside and outside.
    pub has_inside: bool,
    /// The methods, in the order of the results.
    pub methods: Vec<Method>,
    /// Total memories in bytes, in the order of the results.
    pub memories: Vec<usize>,
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// From which copy of a repeated request delays count, where that is unknown.
    pub ambiguous: Ambiguous,
    /// Prior knowledge for methods that can use it: see [`Parameters::longest`].
    pub longest: Option<Nanos>,
    /// The same: see [`Parameters::rate`].
    pub rate: Option<f64>,
}

/// Passes observations to all meters, then compares their answers.
#[derive(Debug)]
pub struct Comparison {
    seeds: u64,
    panels: Vec<Panel>,
    /// Index into `panels` by match.
    panel_of: [Option<usize>; Match::ALL.len()],
}

/// One matching rule with its meters.
#[derive(Debug)]
struct Panel {
    matching: Match,
    exact: RttMeter,
    candidates: Vec<Candidate>,
    /// One per seed of every candidate that fits, in this order, each with the form of ids that it needs.
    meters: Vec<(IdForm, RttMeter)>,
    /// Observations not yet passed on, by the form of their ids.
    blocks: [Vec<Observation>; 2],
}

/// One method in one memory.
#[derive(Clone, Debug)]
struct Candidate {
    method: Method,
    memory: usize,
    /// The least bytes that it needs, if more than the memory.
    needed: Option<usize>,
}

impl Comparison {
    /// A comparison without observations so far.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let mut panel_of = [None; Match::ALL.len()];
        let mut panels = Vec::new();
        for &(matching, taken) in &settings.matches {
            if let [method, ..] = settings.methods[..]
                && !settings.methods.iter().any(|method| method.measures(matching))
            {
                return Err(SettingsError::Match(method, matching));
            }
            panel_of[matching as usize] = Some(panels.len());
            panels.push(Panel::new(settings, matching, taken)?);
        }
        Ok(Self { seeds: settings.seeds, panels, panel_of })
    }

    /// A sink for another observer of the same packets, whose ids have this form.
    pub fn of_form(&mut self, ids: IdForm) -> impl Sink {
        move |seen| self.queue(seen, ids)
    }

    #[inline]
    fn queue(&mut self, seen: Observation, ids: IdForm) {
        let (Observation::Request(sighting) | Observation::Response(sighting)) = &seen;
        let Some(panel) = self.panel_of[sighting.series.matching as usize] else { return };
        let panel = &mut self.panels[panel];
        let block = &mut panel.blocks[ids as usize];
        block.push(seen);
        if block.len() == BLOCK {
            panel.pass_on();
        }
    }

    /// The results by matching rule, in the order of the settings.
    pub fn finish(self) -> Vec<MatchResult> {
        self.panels.into_iter().map(|panel| panel.finish(self.seeds)).collect()
    }
}

impl Sink for Comparison {
    #[inline]
    fn take(&mut self, seen: Observation) {
        self.queue(seen, IdForm::Hashed);
    }
}

impl Panel {
    fn new(settings: &Settings, matching: Match, taken: Overhead) -> Result<Self, SettingsError> {
        let meter = |method: Method, memory: usize, seed| {
            let parameters = Parameters {
                longest: settings.longest.filter(|_| method.needs_longest()),
                rate: settings.rate.filter(|_| method.has(Parameter::Rate)),
                ..Parameters::default()
            };
            RttMeter::new(&rtt::Settings {
                has_inside: settings.has_inside,
                parameters,
                ambiguous: settings.ambiguous,
                seed: method_seed(seed),
                ..rtt::Settings::new(method, vec![matching], memory.saturating_sub(taken.of(memory)))
            })
        };
        let mut panel = Self {
            matching,
            exact: meter(Method::Exact, usize::MAX, 0)?,
            candidates: Vec::new(),
            meters: Vec::new(),
            blocks: [const { Vec::new() }; 2],
        };
        for &memory in &settings.memories {
            for &method in settings.methods.iter().filter(|method| method.measures(matching)) {
                let of_seeds = (1..=settings.seeds).map(|seed| Ok((method.ids(), meter(method, memory, seed)?)));
                let needed = match of_seeds.collect::<Result<Vec<_>, SettingsError>>() {
                    Ok(meters) => {
                        panel.meters.extend(meters);
                        None
                    }
                    Err(SettingsError::Memory { needed, .. }) => Some(taken.leaving(needed)),
                    Err(error) => return Err(error),
                };
                panel.candidates.push(Candidate { method, memory, needed });
            }
        }
        Ok(panel)
    }

    /// Passes queued observations through all meters. Each has its own state, so threads do not affect results.
    fn pass_on(&mut self) {
        let Self { exact, meters, blocks, .. } = self;
        let through = |ids: IdForm, meter: &mut RttMeter| {
            blocks[ids as usize].iter().for_each(|&seen| meter.take(seen));
        };
        let others = || meters.par_iter_mut().for_each(|(ids, meter)| through(*ids, meter));
        rayon::join(|| through(IdForm::Hashed, exact), others);
        blocks.iter_mut().for_each(Vec::clear);
    }

    fn finish(mut self, seeds: u64) -> MatchResult {
        self.pass_on();
        let truth = self.exact.estimate();
        let found: Vec<Found> = self
            .meters
            .par_iter_mut()
            .map(|(_, meter)| Found { answers: meter.estimate(), bytes: meter.most_bytes() })
            .collect();
        let known = truth.iter().filter(|answer| answer.distribution.samples() > 0);
        let legs: Vec<LegResult> = known.map(|truth| self.leg(truth, &found, seeds)).collect();
        let recommended = results::recommend(&legs);
        MatchResult { matching: self.matching.name(), legs, recommended }
    }

    /// Compares all candidates with the truth of one series.
    fn leg(&self, truth: &Answer, found: &[Found], seeds: u64) -> LegResult {
        let distribution = &truth.distribution;
        let truths = QUANTILES.map(|(_, share)| distribution.quantile(share).map(|quantile| quantile.value as f64));
        let mut found = found.chunks_exact(usize::try_from(seeds).unwrap_or(usize::MAX).max(1));
        let mut lines = Vec::new();
        for candidate in &self.candidates {
            let fits = candidate.needed.is_none();
            let of_seeds = if fits { found.next().unwrap_or_default() } else { &[] };
            let runs: Vec<Run> = (1..=seeds)
                .zip(of_seeds)
                .map(|(seed, found)| Run { case: 0, seed, measurements: found.measure(truth, &truths) })
                .collect();
            let summaries = if fits { metrics::summarise(&[candidate.case()], SHOWN, &runs) } else { Vec::new() };
            lines.push(candidate.line(&summaries));
        }
        let at = |share| distribution.quantile(share).map(|quantile| quantile.value);
        LegResult {
            leg: truth.series.leg.name(),
            exchanges: distribution.samples(),
            truth_ns: Quantiles { p50: at(0.5), p95: at(0.95), p99: at(0.99) },
            results: lines,
        }
    }
}

/// Derives the seed of a method's hashes.
fn method_seed(seed: u64) -> u64 {
    hash::word(u64::from_le_bytes(*b"compare\0"), seed)
}

impl Candidate {
    fn case(&self) -> Case {
        let parameters = BTreeMap::from([("memory_bytes".to_owned(), self.memory as f64)]);
        Case { stream: 0, workload: String::new(), method: self.method.name().to_owned(), parameters }
    }

    fn line(&self, summaries: &[Summary]) -> Line {
        let errors = summaries.iter().filter(|summary| summary.scale == Scale::Log2);
        Line {
            method: self.method.name(),
            memory_bytes: self.memory,
            needed_bytes: self.needed,
            state_bytes: mean(summaries, &STATE_BYTES),
            samples: mean(summaries, &SAMPLES),
            errors: errors.map(|summary| (summary.quantity.clone(), Errors::new(summary))).collect(),
        }
    }
}

/// The answers of one meter.
struct Found {
    answers: Vec<Answer>,
    bytes: usize,
}

impl Found {
    fn measure(&self, truth: &Answer, truths: &[Option<f64>; QUANTILES.len()]) -> Vec<Measurement> {
        let distribution = self.answers.iter().find(|a| a.series == truth.series).map(|a| &a.distribution);
        let mut measurements = compare_quantiles(truths, distribution);
        let samples = distribution.map_or(0, Distribution::samples);
        measurements.push(SAMPLES.measured(samples as f64));
        measurements.push(STATE_BYTES.measured(self.bytes as f64));
        measurements
    }
}
