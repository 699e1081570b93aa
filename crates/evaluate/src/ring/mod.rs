//! How far off is each delay that a ring of Bloom filters gives? [`dwell_sketch::timebloom`] by its filters, bits and policies,
//! against streams of [`dwell_simulate::exchange`].

use crate::case::{Case, Measurement, Shown};
use crate::grid::{Grid, Tables};
use crate::value::Invalid;

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The rings of a definition.
mod method;
use method::{Configuration, MethodEntry};
// One stream through many rings.
mod measure;

/// The tables `[[ring.workloads]]` and `[[ring.methods]]`.
pub(crate) type File = Tables<WorkloadEntry, MethodEntry>;

/// Streams, and the rings that see each of them.
#[derive(Clone, Debug)]
pub struct Ring(Grid<Stream, Configuration>);

/// All that is measured is shown, quantity by quantity.
pub(crate) const SHOWN: Shown = Shown { quantities: &[], largest: None };

impl Ring {
    /// Streams of `share` of their full length.
    pub(crate) fn new(file: &File, share: f64) -> Result<Self, Invalid> {
        let suits = |configuration: &Configuration, stream: &Stream| configuration.ring(stream, 0).map(drop);
        Ok(Self(Grid::new(file, |entry| Ok(vec![entry.stream(share)?]), MethodEntry::configurations, suits)?))
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        self.0.cases()
    }

    pub(crate) fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let Some((stream, configurations)) = self.0.find(cases)? else { return Ok(Vec::new()) };
        measure::run(stream, &configurations, seed)
    }
}
