//! Grids of streams and configurations: the common part of all kinds of experiment.

use crate::case::{Case, Measurement, Quantity, Shown, label};
use crate::experiment::{Experiment, Problem};
use crate::metrics::Summary;
use crate::table::{self, Tabled};
use crate::value::{Invalid, some};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Write};

/// An entry of a definition, under `workloads` or `methods`.
pub(crate) trait Entry: DeserializeOwned {
    /// What the entry defines: a stream with its name, or a configuration.
    type Item;

    /// All items that the entry defines, with streams of `share` of their full length.
    fn items(&self, share: f64) -> Result<Vec<Self::Item>, Invalid>;
}

/// A method with its parameters.
pub(crate) trait Configured: Debug + Send + Sync {
    /// The method's name.
    fn name(&self) -> String;

    /// Its parameters, as shown in tables.
    fn parameters(&self) -> BTreeMap<String, f64>;
}

/// A method with its parameters that can be run and measured.
pub(crate) trait Measured: Configured + Tabled {
    /// The kind of stream that it processes.
    type Stream: Debug + Send + Sync;

    /// Which quantities tables show: by default all, each individually.
    const SHOWN: Shown = Shown { quantities: &[], largest: None };

    /// Checks whether it can process a stream.
    fn suits(&self, _: &Self::Stream) -> Result<(), Problem> {
        Ok(())
    }

    /// What it measures in a stream, named as in summaries.
    fn quantities(&self, stream: &Self::Stream) -> Vec<Quantity>;

    /// Runs one seed of a stream through some configurations; returns one list of measurements for each.
    fn run(stream: &Self::Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem>;
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
pub(crate) struct Grid<C: Measured> {
    /// With their names, each of which is unique.
    streams: Vec<(String, C::Stream)>,
    configurations: Vec<C>,
}

impl<C: Measured> Grid<C> {
    /// The items defined by each entry under `workloads` and each under `methods`; every configuration must suit every
    /// stream.
    pub(crate) fn new(
        Tables { workloads, methods }: &Tables<impl Entry<Item = (String, C::Stream)>, impl Entry<Item = C>>,
        share: f64,
    ) -> Result<Self, Invalid> {
        let streams = streams(workloads, share)?;
        let configurations = configurations(methods, &streams, share)?;
        some("workloads", &streams)?;
        some("methods", &configurations)?;
        Ok(Self { streams, configurations })
    }

    fn find(&self, case: &Case) -> Option<&C> {
        self.configurations.iter().find(|c| c.name() == case.method && c.parameters() == case.parameters)
    }
}

/// The streams that these entries define, with their names, each of which is unique.
fn streams<S>(workloads: &[impl Entry<Item = (String, S)>], share: f64) -> Result<Vec<(String, S)>, Invalid> {
    let mut streams: Vec<(String, S)> = Vec::new();
    for (i, entry) in workloads.iter().enumerate() {
        for (name, stream) in entry.items(share).map_err(|error| error.within(format!("workloads[{i}]")))? {
            if name.trim().is_empty() {
                return Err(Invalid::new(format!("workloads[{i}].name"), "empty"));
            }
            if streams.iter().any(|(other, _)| *other == name) {
                return Err(Invalid::new(format!("workloads[{i}].name"), format!("'{name}' a second time")));
            }
            streams.push((name, stream));
        }
    }
    Ok(streams)
}

/// The configurations that these entries define, none of them twice, each of which suits every stream.
fn configurations<C: Measured>(
    methods: &[impl Entry<Item = C>],
    streams: &[(String, C::Stream)],
    share: f64,
) -> Result<Vec<C>, Invalid> {
    let mut configurations: Vec<C> = Vec::new();
    for (i, entry) in methods.iter().enumerate() {
        let within = |error: Invalid| error.within(format!("methods[{i}]"));
        let found = entry.items(share).map_err(within)?;
        for configuration in &found {
            for (_, stream) in streams {
                configuration.suits(stream).map_err(|problem| within(Invalid::new("method", problem)))?;
            }
        }
        for configuration in found {
            // Records and checks know a configuration by its label.
            let is_same = |other: &C| {
                other.name() == configuration.name() && label(&other.parameters()) == label(&configuration.parameters())
            };
            if configurations.iter().any(is_same) {
                let problem = "the same configuration a second time, to four digits";
                return Err(Invalid::new(format!("methods[{i}]"), problem));
            }
            configurations.push(configuration);
        }
    }
    Ok(configurations)
}

impl<C: Measured> Experiment for Grid<C> {
    fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (stream, (name, _)) in self.streams.iter().enumerate() {
            cases.extend(self.configurations.iter().map(|configuration| Case {
                stream,
                workload: name.clone(),
                method: configuration.name(),
                parameters: configuration.parameters(),
            }));
        }
        cases
    }

    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let Some((_, stream)) = cases.first().and_then(|case| self.streams.get(case.stream)) else {
            return Ok(Vec::new());
        };
        let configurations: Option<Vec<&C>> = cases.iter().map(|case| self.find(case)).collect();
        C::run(
            stream,
            &configurations.ok_or_else(|| Problem("a case that is not of this experiment".to_owned()))?,
            seed,
        )
    }

    fn quantities(&self, case: &Case) -> Vec<Quantity> {
        let found = self.streams.get(case.stream).zip(self.find(case));
        found.map(|((_, stream), configuration)| configuration.quantities(stream)).unwrap_or_default()
    }

    fn shown(&self) -> Shown {
        C::SHOWN
    }

    fn write_table(&self, summaries: &[Summary], to: &mut dyn Write) -> io::Result<()> {
        table::write::<C>(summaries, to)
    }
}
