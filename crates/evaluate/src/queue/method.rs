use super::workload::Stream;
use crate::experiment::Problem;
use crate::grid::{Configured, Entry};
use crate::value::{Invalid, available, memory, only_known, written};
use dwell_sketch::conquest::{Conquest, Counter, Params, Rule};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One entry of `[[queue.methods]]`: every combination of the lists is a configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// Numbers of snapshots, *h*.
    snapshots: Option<Vec<u32>>,
    /// Counters per snapshot, in four rows; or entries per snapshot.
    counters: Option<Vec<u32>>,
    /// Total bytes, which determine the counters if those are not given, and for `budget` also the snapshots.
    memory_bytes: Option<Vec<usize>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    /// Count-Min, read by the rules of [`Rule`].
    Paper,
    Text,
    Hardware,
    Interpolated,
    /// `Interpolated`, with conservative update.
    Conservative,
    /// `Interpolated`, with space-saving.
    SpaceSaving,
    /// The best that fits a number of bytes.
    Budget,
    /// The exact twin.
    Exact,
}

/// A method with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Configuration {
    method: MethodName,
    size: Size,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    /// Number of snapshots, and counters of each.
    Snapshots(u32, u32),
    /// Number of snapshots, and total bytes.
    Within(u32, usize),
    Bytes(usize),
    Unbounded,
}

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let is_sized = !matches!(self.method, MethodName::Budget | MethodName::Exact);
        only_known(&[
            ("snapshots", self.snapshots.is_some(), is_sized),
            ("counters", self.counters.is_some(), is_sized),
            ("memory_bytes", self.memory_bytes.is_some(), self.method != MethodName::Exact),
        ])?;
        if self.method != MethodName::SpaceSaving
            && let Some(odd) = self.counters.iter().flatten().find(|&&counters| counters % Params::ROWS != 0)
        {
            return Err(Invalid::new("counters", format!("{odd}: expected a multiple of 4, for four rows")));
        }
        for &bytes in self.memory_bytes.iter().flatten() {
            memory("memory_bytes", bytes as f64)?;
        }
        let snapshots = || self.snapshots.iter().flatten().copied();
        let counters = || self.counters.iter().flatten().copied();
        let bytes = || self.memory_bytes.iter().flatten().copied();
        let sizes: Vec<Size> = match self.method {
            MethodName::Exact => vec![Size::Unbounded],
            MethodName::Budget => bytes().map(Size::Bytes).collect(),
            _ => {
                let counted = snapshots().flat_map(|h| counters().map(move |counters| Size::Snapshots(h, counters)));
                counted.chain(snapshots().flat_map(|h| bytes().map(move |bytes| Size::Within(h, bytes)))).collect()
            }
        };
        if sizes.is_empty() {
            return Err(Invalid::new("method", "expected snapshots with counters or memory_bytes, with a number each"));
        }
        Ok(sizes.into_iter().map(|size| Configuration { method: self.method, size }).collect())
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&self.method)
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        match self.size {
            Size::Snapshots(snapshots, counters) => {
                BTreeMap::from([("snapshots".to_owned(), snapshots.into()), ("counters".to_owned(), counters.into())])
            }
            Size::Within(snapshots, bytes) => {
                BTreeMap::from([("snapshots".to_owned(), snapshots.into()), ("memory_bytes".to_owned(), bytes as f64)])
            }
            Size::Bytes(bytes) => BTreeMap::from([("memory_bytes".to_owned(), bytes as f64)]),
            Size::Unbounded => BTreeMap::new(),
        }
    }
}

/// A sketch that looks for the culprits of a stream, if there is memory for it.
pub(super) fn sketch(stream: &Stream, params: Params) -> Result<Conquest, Problem> {
    let params = Params { culprit: stream.culprit, ..params };
    available("counters", Conquest::bytes(&params) as f64).map_err(|error| Problem(error.problem))?;
    Ok(Conquest::new(&params)?)
}

impl Configuration {
    /// Whether it says what the stream is like.
    pub(super) fn is_exact(&self) -> bool {
        self.method == MethodName::Exact
    }

    /// The sketch for a stream; `None` for the exact twin, which is run for every stream anyway.
    pub(super) fn meter(&self, stream: &Stream, seed: u64) -> Result<Option<Conquest>, Problem> {
        let params = match self.size {
            Size::Unbounded => return Ok(None),
            Size::Bytes(bytes) => Params::budget(bytes, stream.span, seed)?,
            Size::Snapshots(snapshots, counters) => self.params(stream, seed, snapshots, counters),
            Size::Within(snapshots, bytes) => {
                let step = if self.method == MethodName::SpaceSaving { 1 } else { Params::ROWS };
                let [none, one] =
                    [0, step].map(|counters| Conquest::bytes(&self.params(stream, seed, snapshots, counters)));
                let steps = bytes.saturating_sub(none) / (one - none);
                let most = (u32::MAX / step) as usize;
                self.params(stream, seed, snapshots, steps.min(most) as u32 * step)
            }
        };
        sketch(stream, params).map(Some)
    }

    fn params(&self, stream: &Stream, seed: u64, snapshots: u32, counters: u32) -> Params {
        let params = Params::new(snapshots, stream.span, 1, seed);
        Params { counter: self.counter(counters), rule: self.rule(), ..params }
    }

    fn counter(&self, counters: u32) -> Counter {
        match self.method {
            MethodName::SpaceSaving => Counter::SpaceSaving { entries: counters },
            method => Counter::CountMin {
                rows: Params::ROWS,
                columns: counters / Params::ROWS,
                is_conservative: method == MethodName::Conservative,
            },
        }
    }

    fn rule(&self) -> Rule {
        match self.method {
            MethodName::Paper => Rule::Paper,
            MethodName::Text => Rule::Text,
            MethodName::Hardware => Rule::Hardware,
            _ => Rule::Interpolated,
        }
    }
}
