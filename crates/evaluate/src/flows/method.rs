use crate::experiment::Problem;
use crate::grid::{Configured, Entry};
use crate::value::{Invalid, above_zero, all_within, available, memory, only_known, whole, written};
use dwell_sketch::lds::{Lds, Params};
use dwell_sketch::rivals::flow_table::FlowTable;
use dwell_sketch::rivals::mpe::Mpe;
use dwell_sketch::rivals::rli::Rli;
use dwell_types::{FlowId, PacketId, Timestamp};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Bound;

/// Rows of a sketch, unless `rates` has another number.
const ROWS: usize = 4;

/// One entry of `[[flows.methods]]`: every number of columns or bytes is a configuration.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// Columns of the sketch.
    columns: Option<Vec<u32>>,
    /// Cells per flow and row of the sketch; 1 by default.
    cells_per_flow: Option<u32>,
    /// Sampling rates of the sketch's rows; four rows of rate 1 by default.
    rates: Option<Vec<f64>>,
    /// Weights of the classes; all 1 by default.
    weights: Option<Vec<u32>>,
    /// Bytes at each point, for all other methods.
    memory_bytes: Option<Vec<usize>>,
    /// Sampling rate of the multiflow estimator.
    rate: Option<f64>,
}

/// A method: a data structure, and how it is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodName {
    /// The cell with the fewest packets.
    Sds,
    /// The cells with the fewest packets, including those with up to a tenth more.
    Paper,
    /// The same by upper bounds.
    UpperBound,
    /// All listed flows at once.
    Joint,
    /// The same with packet counts given.
    JointKnown,
    /// The mean of all packets for every flow.
    Average,
    /// The multiflow estimator.
    Mpe,
    /// Reference latency interpolation.
    Rli,
    /// A table of flows selected by hash.
    Table,
}

/// A method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(super) method: MethodName,
    size: Size,
}

#[derive(Clone, Debug, PartialEq)]
enum Size {
    /// Its seed is replaced by that of the run.
    Sketch(Params),
    Memory {
        bytes: usize,
        rate: Option<f64>,
    },
}

/// What reaches the receiver: time of arrival, time of sending, whether it is a probe, the packet and its flow.
pub(super) type Arrival = (Timestamp, Timestamp, bool, PacketId, FlowId);

/// The state of a method at both points; all methods that query a sketch share its pair.
pub(super) enum Pair {
    Lds { sender: Lds, receiver: Lds },
    Mpe { sender: Mpe, receiver: Mpe },
    Rli { rli: Rli, on_the_way: BinaryHeap<Reverse<Arrival>> },
    Table { sender: FlowTable, receiver: FlowTable },
}

impl MethodName {
    const fn is_of_sketch(self) -> bool {
        !matches!(self, Self::Mpe | Self::Rli | Self::Table)
    }
}

impl Entry for MethodEntry {
    type Item = Configuration;

    /// Every configuration, with `share` of its columns or bytes, each built once as a check.
    fn items(&self, share: f64) -> Result<Vec<Configuration>, Invalid> {
        let is_of_sketch = self.method.is_of_sketch();
        only_known(&[
            ("columns", self.columns.is_some(), is_of_sketch),
            ("cells_per_flow", self.cells_per_flow.is_some(), is_of_sketch),
            ("rates", self.rates.is_some(), is_of_sketch),
            ("weights", self.weights.is_some(), is_of_sketch),
            ("memory_bytes", self.memory_bytes.is_some(), !is_of_sketch),
            ("rate", self.rate.is_some(), self.method == MethodName::Mpe),
        ])?;
        self.rate.map(|rate| above_zero("rate", rate, 1.0)).transpose()?;
        let rates = self.rates.as_deref().unwrap_or_default();
        all_within("rates", rates, (Bound::Excluded(0.0), Bound::Included(1.0)))?;
        for &columns in self.columns.iter().flatten() {
            whole("columns", columns.into(), 1..=u32::MAX.into())?;
            // As cells are kept in memory.
            let rows = self.rates.as_ref().map_or(ROWS, Vec::len);
            available("columns", f64::from(columns) * rows as f64 * Lds::CELL_BYTES as f64)?;
        }
        for &bytes in self.memory_bytes.iter().flatten() {
            memory("memory_bytes", bytes as f64)?;
        }
        let scaled = |number: f64| (number * share).ceil();
        let sketch = |&columns: &u32| {
            Size::Sketch(Params {
                columns: scaled(f64::from(columns)) as u32,
                cells_per_flow: self.cells_per_flow.unwrap_or(1),
                rates: self.rates.clone().unwrap_or_else(|| vec![1.0; ROWS]),
                weights: self.weights.clone().unwrap_or_else(|| vec![1]),
                ..Params::new(ROWS, 1, 0)
            })
        };
        let memory = |&bytes: &usize| Size::Memory { bytes: scaled(bytes as f64) as usize, rate: self.rate };
        let sizes = self.columns.iter().flatten().map(sketch);
        let sizes: Vec<Size> = sizes.chain(self.memory_bytes.iter().flatten().map(memory)).collect();
        let configurations: Vec<Configuration> =
            sizes.into_iter().map(|size| Configuration { method: self.method, size }).collect();
        if configurations.is_empty() {
            return Err(Invalid::new("method", "expected columns or memory_bytes with at least one number"));
        }
        for configuration in &configurations {
            configuration.pair(0).map_err(|problem| Invalid::new("method", problem))?;
        }
        Ok(configurations)
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&self.method)
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        let mut parameters = BTreeMap::new();
        let mut add = |name: String, value: f64| parameters.insert(name, value);
        match &self.size {
            Size::Memory { bytes, rate } => {
                add("memory_bytes".to_owned(), *bytes as f64);
                rate.map(|rate| add("rate".to_owned(), rate));
            }
            Size::Sketch(params) => {
                add("columns".to_owned(), params.columns.into());
                add("cells_per_flow".to_owned(), params.cells_per_flow.into());
                if params.rates.len() != ROWS {
                    add("rows".to_owned(), params.rates.len() as f64);
                }
                let sampling = (1..).zip(&params.rates).filter(|(_, rate)| **rate < 1.0);
                sampling.for_each(|(row, &rate)| _ = add(format!("rate_{row}"), rate));
                let weights = (0..).zip(&params.weights).filter(|(_, weight)| **weight > 1);
                weights.for_each(|(class, &weight)| _ = add(format!("weight_{class}"), weight.into()));
            }
        }
        parameters
    }
}

impl Configuration {
    /// Whether both query the same sketches.
    pub(super) fn shares_sketch(&self, other: &Self) -> bool {
        self.method.is_of_sketch() && other.method.is_of_sketch() && self.size == other.size
    }

    /// The state of this method at both points.
    pub(super) fn pair(&self, seed: u64) -> Result<Pair, Problem> {
        let (bytes, rate) = match &self.size {
            Size::Sketch(params) => {
                let sender = Lds::new(Params { seed, ..params.clone() })?;
                return Ok(Pair::Lds { receiver: sender.clone(), sender });
            }
            Size::Memory { bytes, rate } => (*bytes, *rate),
        };
        let pair = match self.method {
            MethodName::Mpe => {
                Mpe::new(bytes, rate.unwrap_or(1.0), seed).map(|sender| Pair::Mpe { receiver: sender.clone(), sender })
            }
            MethodName::Rli => Rli::new(bytes, seed).map(|rli| Pair::Rli { rli, on_the_way: BinaryHeap::new() }),
            _ => FlowTable::new(bytes, seed).map(|sender| Pair::Table { receiver: sender.clone(), sender }),
        };
        Ok(pair?)
    }
}
