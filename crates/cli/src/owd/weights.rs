//! Weights of flows in a sketch of flows, read from a file.

use super::arguments::PointArguments;
use crate::Failure;
use crate::messages;
use crate::points::{Point, Seen};
use anyhow::{Result, anyhow};
use dwell_capture::file::Stop;
use dwell_logs::Lines;
use dwell_sketch::lds::Params;
use dwell_types::{FlowId, FlowKey, Prefix};
use foldhash::HashMap;
use std::path::Path;

/// The classes of flows: CSV with the columns `flow,weight`, with one line for each address or prefix of a capture, or
/// for each flow of a log.
pub(super) struct Weights {
    /// Weights of the classes; class 0 is for flows in no line.
    weights: Vec<u32>,
    /// The line number and the class of each prefix: of those that contain one of a packet's addresses, the first line
    /// counts.
    prefixes: HashMap<Prefix, (usize, u8)>,
    /// The lengths of these prefixes, each once.
    lengths: Vec<u8>,
    flows: HashMap<FlowId, u8>,
}

impl Weights {
    /// Reads the weights from the file; without one, every packet has weight 1.
    pub(super) fn new(path: Option<&Path>, arguments: &PointArguments, stop: &Stop) -> Result<Self, Failure> {
        let mut weights =
            Self { weights: vec![1], prefixes: HashMap::default(), lengths: Vec::new(), flows: HashMap::default() };
        if let Some(path) = path {
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
        messages::warn(lines.whole()?);
        Ok(())
    }

    fn add(&mut self, flow: &str, weight: &str, arguments: &PointArguments) -> Result<()> {
        let class = self.class_of(weight)?;
        if arguments.crossings {
            self.flows.entry(dwell_logs::flow_id(arguments.naming.seed, flow)).or_insert(class);
        } else {
            let prefix: Prefix = flow.parse().map_err(|error| anyhow!("'{flow}': {error}"))?;
            self.add_prefix(prefix, class);
        }
        Ok(())
    }

    fn add_prefix(&mut self, prefix: Prefix, class: u8) {
        let line = self.prefixes.len();
        self.prefixes.entry(prefix).or_insert((line, class));
        if !self.lengths.contains(&prefix.length()) {
            self.lengths.push(prefix.length());
        }
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
        let ends = [key.source, key.destination].into_iter();
        let prefixes = ends.flat_map(|end| self.lengths.iter().map(move |&length| Prefix::new(end, length)));
        prefixes.filter_map(|prefix| self.prefixes.get(&prefix)).min().map_or(0, |&(_, class)| class)
    }

    /// The weight of each class.
    pub(super) fn of_classes(&self) -> &[u32] {
        &self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{Address, hash};

    /// Nested and repeated prefixes of both families: the class is that of the first line that contains an address.
    #[test]
    fn the_first_prefix_counts() {
        let number = |of: u64, n: u64, below: u32| hash::index(hash::word(hash::start(of), n) as u32, below);
        let address = |of: u64, n: u64| match number(of, 2 * n, 3) {
            0 => "2001:db8::1".parse::<std::net::IpAddr>().map_or(Address::default(), Into::into),
            _ => Address::v4(0x0a00_0000 | number(of, 2 * n + 1, 1 << 10)),
        };
        let lines: Vec<Prefix> = (0..200).map(|n| Prefix::new(address(1, n), 20 + number(2, n, 13) as u8)).collect();
        let mut weights =
            Weights { weights: vec![1], prefixes: HashMap::default(), lengths: Vec::new(), flows: HashMap::default() };
        for (line, &prefix) in lines.iter().enumerate() {
            weights.add_prefix(prefix, line as u8 % 100 + 1);
        }
        for n in 0..2_000 {
            let key = FlowKey { source: address(3, n), destination: address(4, n), ..FlowKey::default() };
            let is_of = |prefix: &&Prefix| prefix.contains(key.source) || prefix.contains(key.destination);
            let first = lines.iter().position(|prefix| is_of(&prefix));
            assert_eq!(weights.class_of_key(&key), first.map_or(0, |line| line as u8 % 100 + 1), "{key}");
        }
    }
}
