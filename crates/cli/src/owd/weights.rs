//! Weights of flows in a sketch of flows, read from a file.

use super::arguments::PointArguments;
use crate::Failure;
use crate::points::{Point, Seen};
use anyhow::{Result, anyhow};
use dwell_capture::file::Stop;
use dwell_logs::Lines;
use dwell_sketch::lds::Params;
use dwell_types::{FlowId, FlowKey, Prefix};
use std::collections::HashMap;
use std::path::Path;

/// The classes of flows: CSV with the columns `flow,weight`, with one line for each address or prefix of a capture, or
/// for each flow of a log.
pub(super) struct Weights {
    /// Weights of the classes; class 0 is for flows in no line.
    weights: Vec<u32>,
    /// The first prefix that contains one of a packet's addresses determines its class.
    prefixes: Vec<(Prefix, u8)>,
    flows: HashMap<FlowId, u8>,
}

impl Weights {
    /// Reads the weights from the file; without one, every packet has weight 1.
    pub(super) fn new(arguments: &PointArguments, stop: &Stop) -> Result<Self, Failure> {
        let mut weights = Self { weights: vec![1], prefixes: Vec::new(), flows: HashMap::new() };
        if let Some(path) = &arguments.weights {
            weights.read(path, arguments, stop)?;
        }
        Ok(weights)
    }

    fn read(&mut self, path: &Path, arguments: &PointArguments, stop: &Stop) -> Result<()> {
        let mut lines = Lines::open(path, Some(stop))?;
        let ([flow, weight], []) = lines.columns(["flow", "weight"], [])?;
        while lines.advance()? {
            let added = self.add(lines.field(flow), lines.field(weight), arguments);
            added.map_err(|error| lines.error(error.to_string()))?;
        }
        lines.warning().map_or(Ok(()), |cut| Err(anyhow!(cut)))
    }

    fn add(&mut self, flow: &str, weight: &str, arguments: &PointArguments) -> Result<()> {
        let class = self.class_of(weight)?;
        if arguments.crossings {
            self.flows.entry(dwell_logs::flow_id(arguments.seed, flow)).or_insert(class);
        } else {
            let prefix = flow.parse().map_err(|error| anyhow!("'{flow}': {error}"))?;
            self.prefixes.push((prefix, class));
        }
        Ok(())
    }

    /// The class with this weight; a new one if there is none yet.
    fn class_of(&mut self, weight: &str) -> Result<u8> {
        let known = weight.parse().ok().filter(|weight| (1..=Params::MOST_WEIGHT).contains(weight));
        let weight =
            known.ok_or_else(|| anyhow!("expected a weight from 1 to {}, found '{weight}'", Params::MOST_WEIGHT))?;
        let class = self.weights.iter().position(|&other| other == weight).unwrap_or(self.weights.len());
        if class == self.weights.len() {
            self.weights.push(weight);
        }
        u8::try_from(class).map_err(|_| anyhow!("expected at most {} different weights", Params::MOST_CLASSES))
    }

    /// The class of the current packet of a point.
    pub(super) fn class(&self, seen: &Seen, point: &Point) -> u8 {
        match point.key() {
            Some(key) => self.class_of_key(&key),
            None => self.flows.get(&seen.crossing.flow).copied().unwrap_or(0),
        }
    }

    fn class_of_key(&self, key: &FlowKey) -> u8 {
        let is_of = |prefix: &Prefix| prefix.contains(key.source) || prefix.contains(key.destination);
        self.prefixes.iter().find(|(prefix, _)| is_of(prefix)).map_or(0, |&(_, class)| class)
    }

    /// The weight of each class.
    pub(super) fn of_classes(&self) -> &[u32] {
        &self.weights
    }
}
