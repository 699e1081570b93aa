//! How long does each flow's way take, between two points? The sketch of [`dwell_sketch::lds`] and what it is compared with,
//! against streams of [`dwell_simulate::crossing::flows`].

use crate::definition::Invalid;
use crate::experiment::{Case, Measurement, Shown};

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The methods of a definition.
mod method;
use method::{Configuration, MethodEntry};
// One stream through many pairs of sketches.
mod measure;

/// The tables `[[flows.workloads]]` and `[[flows.methods]]`, before their values are checked.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    workloads: Vec<WorkloadEntry>,
    methods: Vec<MethodEntry>,
}

/// Streams, and the configurations that see each of them.
#[derive(Clone, Debug)]
pub struct Flows {
    streams: Vec<Stream>,
    configurations: Vec<Configuration>,
}

/// All that is measured is shown, quantity by quantity.
pub(crate) const SHOWN: Shown = Shown { quantities: &[], largest: None };

impl Flows {
    /// Streams with `share` of the flows, through sketches with that share of columns or bytes.
    pub(crate) fn new(file: &File, share: f64) -> Result<Self, Invalid> {
        let mut streams: Vec<Stream> = Vec::new();
        for (i, entry) in file.workloads.iter().enumerate() {
            let stream = entry.stream(share).map_err(|error| error.within(format!("workloads[{i}]")))?;
            if streams.iter().any(|other| other.name == stream.name) {
                return Err(Invalid::new(format!("workloads[{i}].name"), format!("'{}' a second time", stream.name)));
            }
            streams.push(stream);
        }
        let mut configurations: Vec<Configuration> = Vec::new();
        for (i, entry) in file.methods.iter().enumerate() {
            for configuration in entry.configurations(share).map_err(|error| error.within(format!("methods[{i}]")))? {
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

    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for (stream, Stream { name, .. }) in self.streams.iter().enumerate() {
            cases.extend(self.configurations.iter().map(|configuration| Case {
                stream,
                workload: name.clone(),
                method: configuration.name().to_owned(),
                parameters: configuration.parameters(),
            }));
        }
        cases
    }

    pub(crate) fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let Some(stream) = cases.first().and_then(|case| self.streams.get(case.stream)) else { return Ok(Vec::new()) };
        let configurations: Option<Vec<&Configuration>> = cases.iter().map(|case| self.configuration(case)).collect();
        let configurations = configurations.ok_or("a case that is not of this experiment")?;
        measure::run(stream, &configurations, seed)
    }

    fn configuration(&self, case: &Case) -> Option<&Configuration> {
        let is_it = |c: &&Configuration| c.name() == case.method && c.parameters() == case.parameters;
        self.configurations.iter().find(is_it)
    }
}
