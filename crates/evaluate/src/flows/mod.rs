//! How long does each flow's way take, between two points? The sketch of [`dwell_sketch::lds`] and what it is compared with,
//! against streams of [`dwell_simulate::crossing::flows`].

use crate::case::{Case, Measurement, Shown};
use crate::grid::{Grid, Tables};
use crate::value::Invalid;

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The methods of a definition.
mod method;
use method::{Configuration, MethodEntry};
// One stream through many pairs of sketches.
mod measure;

/// The tables `[[flows.workloads]]` and `[[flows.methods]]`.
pub(crate) type File = Tables<WorkloadEntry, MethodEntry>;

/// Streams, and the configurations that see each of them.
#[derive(Clone, Debug)]
pub struct Flows(Grid<Stream, Configuration>);

/// All that is measured is shown, quantity by quantity.
pub(crate) const SHOWN: Shown = Shown { quantities: &[], largest: None };

impl Flows {
    /// Streams with `share` of the flows, through sketches with that share of columns or bytes.
    pub(crate) fn new(file: &File, share: f64) -> Result<Self, Invalid> {
        let streams = |entry: &WorkloadEntry| entry.stream(share).map(|stream| vec![stream]);
        Ok(Self(Grid::new(file, streams, |entry| entry.configurations(share), |_, _| Ok(()))?))
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        self.0.cases()
    }

    pub(crate) fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let Some((stream, configurations)) = self.0.find(cases)? else { return Ok(Vec::new()) };
        measure::run(stream, &configurations, seed)
    }
}
