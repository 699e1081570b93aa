//! Streams, and the configurations that see each of them: what all kinds of experiment have in common.

use crate::case::{Case, Measurement, Shown};
use crate::experiment::{Experiment, Kind};
use crate::value::Invalid;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// A stream of a definition.
pub(crate) trait Named: Debug + Send + Sync {
    /// Its name; no two are equal.
    fn name(&self) -> &str;
}

/// A method with its parameters.
pub(crate) trait Configured: PartialEq + Debug + Send + Sync {
    /// The method's name.
    fn name(&self) -> &'static str;

    /// What a table shows.
    fn parameters(&self) -> BTreeMap<String, f64>;
}

/// The tables of a kind of experiment, before their values are checked.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables<W, M> {
    workloads: Vec<W>,
    methods: Vec<M>,
}

/// Every configuration under every stream.
#[derive(Debug)]
pub(crate) struct Grid<K: Kind> {
    streams: Vec<K::Stream>,
    configurations: Vec<K::Configuration>,
}

impl<K: Kind> Grid<K> {
    /// What each entry under `workloads`, and each under `methods`, stands for, where every configuration suits every stream.
    pub(crate) fn new(
        Tables { workloads, methods }: &Tables<K::WorkloadEntry, K::MethodEntry>,
        share: f64,
    ) -> Result<Self, Invalid> {
        let mut streams: Vec<K::Stream> = Vec::new();
        for (i, entry) in workloads.iter().enumerate() {
            for stream in K::streams(entry, share).map_err(|error| error.within(format!("workloads[{i}]")))? {
                if streams.iter().any(|other| other.name() == stream.name()) {
                    let problem = format!("'{}' a second time", stream.name());
                    return Err(Invalid::new(format!("workloads[{i}].name"), problem));
                }
                streams.push(stream);
            }
        }
        let mut configurations: Vec<K::Configuration> = Vec::new();
        for (i, entry) in methods.iter().enumerate() {
            let within = |error: Invalid| error.within(format!("methods[{i}]"));
            let found = K::configurations(entry, share).map_err(within)?;
            let all_suit =
                || found.iter().flat_map(|c| streams.iter().map(move |s| (c, s))).try_for_each(|(c, s)| K::suits(c, s));
            all_suit().map_err(|problem| within(Invalid::new("method", problem)))?;
            for configuration in found {
                if configurations.contains(&configuration) {
                    return Err(Invalid::new(format!("methods[{i}]"), "the same configuration a second time"));
                }
                configurations.push(configuration);
            }
        }
        if streams.is_empty() || configurations.is_empty() {
            let key = if streams.is_empty() { "workloads" } else { "methods" };
            return Err(Invalid::new(key, "empty: expected at least one"));
        }
        Ok(Self { streams, configurations })
    }
}

impl<K: Kind> Experiment for Grid<K> {
    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (stream, named) in self.streams.iter().enumerate() {
            cases.extend(self.configurations.iter().map(|configuration| Case {
                stream,
                workload: named.name().to_owned(),
                method: configuration.name().to_owned(),
                parameters: configuration.parameters(),
            }));
        }
        cases
    }

    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let Some(stream) = cases.first().and_then(|case| self.streams.get(case.stream)) else { return Ok(Vec::new()) };
        let find = |case: &&Case| {
            self.configurations.iter().find(|c| c.name() == case.method && c.parameters() == case.parameters)
        };
        let configurations: Option<Vec<&K::Configuration>> = cases.iter().map(find).collect();
        K::run(stream, &configurations.ok_or("a case that is not of this experiment")?, seed)
    }

    fn shown(&self) -> Shown {
        K::SHOWN
    }
}
