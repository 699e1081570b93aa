use crate::grid::{Configured, Entry};
use crate::value::{Invalid, all_within, only_known, whole, written};
use dwell_sketch::conquest::Params;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One entry of `[[control.methods]]`: every number of a list is a configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// The share of the queue above which a flow is acted on, *c*.
    weight: Option<Vec<f64>>,
    /// Counters in each of 8 Count-Min snapshots, in four rows; without it, space-saving in 2 KB.
    counters: Option<u32>,
    /// Queue length above which packets are dropped; above three times as much, all are.
    low_bytes: Option<Vec<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodName {
    /// Nothing is done.
    None,
    /// Packets of culprits are dropped with a probability that grows with the square of their share's excess over *c*.
    Drop,
    /// Packets of a culprit beyond a share *c* of the line rate are dropped.
    Limit,
    /// Packets of a culprit are marked as they leave, and its sender slows down.
    Mark,
    /// Random early detection.
    Red,
    /// The same, but if a packet drawn from the queue is of the same flow, both are dropped.
    Choke,
}

/// A method with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(super) method: MethodName,
    /// *c*, or the queue length; `None` for no action.
    pub(super) parameter: Option<f64>,
    /// Counters of Count-Min; `None` for space-saving.
    pub(super) counters: Option<u32>,
}

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let is_of_flows = matches!(self.method, MethodName::Drop | MethodName::Limit | MethodName::Mark);
        let is_of_queues = matches!(self.method, MethodName::Red | MethodName::Choke);
        only_known(&[
            ("weight", self.weight.is_some(), is_of_flows),
            ("counters", self.counters.is_some(), is_of_flows),
            ("low_bytes", self.low_bytes.is_some(), is_of_queues),
        ])?;
        if let Some(odd) = self.counters.filter(|counters| counters % Params::ROWS != 0 || *counters == 0) {
            return Err(Invalid::new("counters", format!("{odd}: expected a multiple of 4, for four rows")));
        }
        all_within("weight", self.weight.as_deref().unwrap_or_default(), 0.0..1.0)?;
        for &bytes in self.low_bytes.iter().flatten() {
            whole("low_bytes", bytes as f64, 1..=1 << 40)?;
        }
        let lengths = self.low_bytes.iter().flatten().map(|&bytes| bytes as f64);
        let mut parameters: Vec<Option<f64>> = self.weight.iter().flatten().copied().chain(lengths).map(Some).collect();
        if self.method == MethodName::None {
            parameters.push(None);
        }
        if parameters.is_empty() {
            return Err(Invalid::new("method", "expected weight or low_bytes with at least one number"));
        }
        let with = |parameter| Configuration { method: self.method, parameter, counters: self.counters };
        Ok(parameters.into_iter().map(with).collect())
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&self.method)
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        let name = match self.method {
            MethodName::Red | MethodName::Choke => "low_bytes",
            _ => "weight",
        };
        let counters = self.counters.map(|counters| ("counters".to_owned(), counters.into()));
        self.parameter.map(|value| (name.to_owned(), value)).into_iter().chain(counters).collect()
    }
}
