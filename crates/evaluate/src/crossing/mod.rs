//! How long does one way take, and how much is lost, between two points? Sketches of [`dwell_sketch::lda`] and what they are
//! compared with, against streams of [`dwell_simulate::crossing`].

use crate::case::{Case, Measurement, Shown};
use crate::grid::{Grid, Tables};
use crate::value::Invalid;

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The methods of a definition.
mod method;
pub(crate) use method::{ALPHA, Pair, tuned};
use method::{Configuration, MethodEntry};
// One stream through many pairs of sketches.
mod measure;
pub(crate) use measure::compare;

/// The tables `[[crossing.workloads]]` and `[[crossing.methods]]`.
pub(crate) type File = Tables<WorkloadEntry, MethodEntry>;

/// Streams, and the configurations that see each of them.
#[derive(Clone, Debug)]
pub struct Crossing(Grid<Stream, Configuration>);

/// All that is measured is shown, quantity by quantity.
pub(crate) const SHOWN: Shown = Shown { quantities: &[], largest: None };

impl Crossing {
    /// Streams of `share` of their full length.
    pub(crate) fn new(file: &File, share: f64) -> Result<Self, Invalid> {
        let suits = |configuration: &Configuration, stream: &Stream| configuration.pair(&stream.settings, 0).map(drop);
        Ok(Self(Grid::new(file, |entry| entry.streams(share), MethodEntry::configurations, suits)?))
    }

    pub(crate) fn cases(&self) -> Vec<Case> {
        self.0.cases()
    }

    pub(crate) fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        let Some((stream, configurations)) = self.0.find(cases)? else { return Ok(Vec::new()) };
        measure::run(&stream.settings, &configurations, seed)
    }
}
