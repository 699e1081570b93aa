use super::workload::Stream;
use crate::experiment::Problem;
use crate::grid::{Configured, Entry};
use crate::value::{Invalid, RATES, above_zero, all_within, available, memory, only_known, runnable, whole, written};
use dwell_simulate::crossing::ProbeTimes;
use dwell_simulate::crossing::{Passage, Settings, SettingsError};
use dwell_sketch::lda::{Bank, CellSize, Lda, LdaError, Params};
use dwell_sketch::moments::Moments;
use dwell_sketch::rivals::probes::Probes;
use dwell_sketch::rivals::trajectory::{Trajectory, TrajectoryError};
use dwell_types::{PacketId, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One entry of `[[crossing.methods]]`: every number of a list is a configuration, except that `losses` is one list for
/// one aggregator.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// Bytes at each point, for an aggregator that chooses its banks, or for a trajectory sample.
    memory_bytes: Option<Vec<u32>>,
    /// Rows of each bank, for an aggregator that does not choose them.
    rows: Option<Vec<u32>>,
    /// The loss that each bank is tuned to; without it there is one bank, tuned to the actual loss.
    losses: Option<Vec<f64>>,
    /// The tuning factor α of the sampling probability; ½ as in the paper.
    alpha: Option<f64>,
    /// Probes per second.
    rate: Option<Vec<f64>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    Lda,
    Trajectory,
    Probes,
}

/// A method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Configuration {
    /// An aggregator with the banks that fit its memory in bytes.
    Budget(u32),
    /// An aggregator with cells of 72 bits and this many rows per bank, each bank tuned to one of `losses`, or a single
    /// one to the actual loss.
    Tuned { rows: u32, losses: Vec<f64>, alpha: f64 },
    /// A trajectory sample of this many bytes.
    Trajectory(u32),
    /// This many probes per second.
    Probes(f64),
}

/// The state of a method at both points.
pub(crate) enum Pair {
    Lda { params: Params, sender: Box<Lda>, receiver: Box<Lda> },
    Trajectory { sender: Trajectory, receiver: Trajectory },
    Probes { times: ProbeTimes, probes: Probes },
}

/// The paper's value [kompella12 §III-D].
pub(crate) const ALPHA: f64 = 0.5;

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        only_known(&[
            ("memory_bytes", self.memory_bytes.is_some(), self.method != MethodName::Probes),
            ("rows", self.rows.is_some(), self.method == MethodName::Lda),
            ("losses", self.losses.is_some(), self.rows.is_some()),
            ("alpha", self.alpha.is_some(), self.rows.is_some()),
            ("rate", self.rate.is_some(), self.method == MethodName::Probes),
        ])?;
        if self.rows.is_some() && self.memory_bytes.is_some() {
            return Err(Invalid::new("memory_bytes", "either this or rows, not both"));
        }
        let alpha = above_zero("alpha", self.alpha.unwrap_or(ALPHA), 10.0)?;
        let losses = self.losses.clone().unwrap_or_default();
        all_within("losses", &losses, 0.0..=1.0)?;
        all_within("rate", self.rate.as_deref().unwrap_or_default(), RATES)?;
        for &bytes in self.memory_bytes.iter().flatten() {
            memory("memory_bytes", bytes.into())?;
        }
        for &rows in self.rows.iter().flatten() {
            whole("rows", rows.into(), 1..=u32::MAX.into())?;
            // As they are kept in memory.
            available("rows", f64::from(rows) * losses.len().max(1) as f64 * size_of::<[u64; 2]>() as f64)?;
        }
        let of_bytes = |make: fn(u32) -> Configuration| self.memory_bytes.iter().flatten().copied().map(make).collect();
        let configurations: Vec<Configuration> = match (self.method, &self.rows) {
            (MethodName::Lda, Some(rows)) => {
                rows.iter().map(|&rows| Configuration::Tuned { rows, losses: losses.clone(), alpha }).collect()
            }
            (MethodName::Lda, None) => of_bytes(Configuration::Budget),
            (MethodName::Trajectory, _) => of_bytes(Configuration::Trajectory),
            (MethodName::Probes, _) => self.rate.iter().flatten().copied().map(Configuration::Probes).collect(),
        };
        if configurations.is_empty() {
            return Err(Invalid::new("method", "expected memory_bytes, rows or rate with at least one number"));
        }
        Ok(configurations)
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&match self {
            Self::Budget(_) | Self::Tuned { .. } => MethodName::Lda,
            Self::Trajectory(_) => MethodName::Trajectory,
            Self::Probes(_) => MethodName::Probes,
        })
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        match self {
            Self::Budget(bytes) | Self::Trajectory(bytes) => {
                BTreeMap::from([("memory_bytes".to_owned(), f64::from(*bytes))])
            }
            Self::Tuned { rows, losses, alpha } => {
                let mut parameters = BTreeMap::from([("rows".to_owned(), f64::from(*rows))]);
                if *alpha != ALPHA {
                    parameters.insert("alpha".to_owned(), *alpha);
                }
                let names = (1..).map(|bank| format!("loss_{bank}"));
                parameters.extend(names.zip(losses.iter().copied()));
                parameters
            }
            Self::Probes(rate) => BTreeMap::from([("rate".to_owned(), *rate)]),
        }
    }
}

impl Configuration {
    /// Checks that the probes of a stream can be sent within hours.
    pub(super) fn check_probes(&self, settings: &Settings) -> Result<(), Problem> {
        let Self::Probes(rate) = self else { return Ok(()) };
        let probes = rate * settings.packets as f64 / settings.rate;
        runnable("rate", probes.max(1.0)).map_err(|error| Problem(error.problem))
    }

    /// The state of this method at both points, for this stream.
    pub(super) fn pair(&self, stream: &Stream, seed: u64) -> Result<Pair, Problem> {
        let settings = &stream.settings;
        let params = match *self {
            Self::Budget(bytes) => {
                let expected = stream.expected()?;
                let params = Params::budget_for(bytes as usize, &expected)?;
                Params { seed, ..params }
            }
            Self::Tuned { rows, ref losses, alpha } => {
                let own = [settings.loss.share()];
                let losses = if losses.is_empty() { &own } else { losses.as_slice() };
                Params { seed, ..tuned(rows, losses, settings.packets, alpha) }
            }
            Self::Trajectory(bytes) => {
                return Ok(Pair::trajectory(bytes as usize, seed)?);
            }
            Self::Probes(rate) => {
                return Ok(Pair::probes(rate, settings.start, seed)?);
            }
        };
        Ok(Pair::lda(params)?)
    }
}

/// Banks of 72-bit cells and `rows` rows each, tuned to these shares of lost packets; seed 0.
pub(crate) fn tuned(rows: u32, losses: &[f64], packets: u64, alpha: f64) -> Params {
    let bank = |&loss: &f64| Bank::tuned(rows, loss * packets as f64, alpha);
    let mut banks: Vec<Bank> = losses.iter().map(bank).collect();
    // With short streams the probabilities could sum up to more than 1.
    let sum: f64 = banks.iter().map(|bank| bank.probability).sum();
    banks.iter_mut().for_each(|bank| bank.probability /= sum.max(1.0));
    Params { banks, cell: CellSize::Bits72, seed: 0 }
}

impl Pair {
    /// An aggregator at each point.
    pub(crate) fn lda(params: Params) -> Result<Self, LdaError> {
        let make = || Lda::new(params.clone()).map(Box::new);
        Ok(Self::Lda { sender: make()?, receiver: make()?, params })
    }

    /// A trajectory sample of this many bytes at each point.
    pub(crate) fn trajectory(bytes: usize, seed: u64) -> Result<Self, TrajectoryError> {
        let make = || Trajectory::new(bytes, seed);
        Ok(Self::Trajectory { sender: make()?, receiver: make()? })
    }

    /// This many probes per second, from a start time.
    pub(crate) fn probes(rate: f64, start: Timestamp, seed: u64) -> Result<Self, SettingsError> {
        Ok(Self::Probes { times: ProbeTimes::new(rate, start, seed)?, probes: Probes::default() })
    }

    /// The delays from one point to the other; `None` if too few packets show them.
    pub(crate) fn moments(&self) -> Result<Option<Moments>, Problem> {
        Ok(match self {
            Self::Lda { sender, receiver, .. } => receiver.since(sender)?.delays,
            Self::Trajectory { sender, receiver } => receiver.since(sender)?,
            Self::Probes { probes, .. } => probes.estimate(),
        })
    }

    /// The share of the packets, or probes, that were lost; `None` if none were sent, or more were received than sent.
    pub(crate) fn loss(&self) -> Option<f64> {
        let (sent, received) = match self {
            Self::Lda { sender, receiver, .. } => (sender.packets(), receiver.packets()),
            Self::Trajectory { sender, receiver } => (sender.packets(), receiver.packets()),
            Self::Probes { probes, .. } => probes.counts(),
        };
        let lost = sent.checked_sub(received).filter(|_| sent > 0)?;
        Some(lost as f64 / sent as f64)
    }

    pub(crate) fn update(&mut self, passages: &[Passage]) {
        match self {
            Self::Lda { sender, receiver, .. } => {
                sender.update_all(seen(passages, |passage| passage.sent));
                receiver.update_all(seen(passages, |passage| passage.received));
            }
            Self::Trajectory { sender, receiver } => {
                seen(passages, |passage| passage.sent).for_each(|(packet, at)| sender.update(packet, at));
                seen(passages, |passage| passage.received).for_each(|(packet, at)| receiver.update(packet, at));
            }
            Self::Probes { times, probes } => {
                for passage in passages {
                    // A probe has the same delay or loss as the packet sent next.
                    let Some(at) = passage.sent else { continue };
                    (0..times.due(at)).for_each(|_| probes.update(passage.delay()));
                }
            }
        }
    }
}

/// The packets seen at a point, with their times.
fn seen(
    passages: &[Passage],
    at: impl Fn(&Passage) -> Option<Timestamp>,
) -> impl Iterator<Item = (PacketId, Timestamp)> {
    passages.iter().filter_map(move |passage| Some((passage.packet, at(passage)?)))
}
