//! The interface of an experiment to the code that runs it.

use crate::case::{Case, Measurement, Quantity, Shown};
use crate::metrics::Summary;
use std::fmt::Debug;
use std::io::{self, Write};

/// Streams, and the configurations of methods that process each of them.
pub trait Experiment: Debug + Send + Sync {
    /// Every configuration under every workload, in the order of the definition.
    fn cases(&self) -> Vec<Case>;

    /// Runs one seed of one stream through these cases, which must all be of that stream; returns one list of
    /// measurements per case.
    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String>;

    /// The quantities that a case measures.
    fn quantities(&self, case: &Case) -> Vec<Quantity>;

    /// Which quantities are shown in summaries.
    fn shown(&self) -> Shown;

    /// Writes its summaries as a table for people.
    fn write_table(&self, summaries: &[Summary], to: &mut dyn Write) -> io::Result<()>;
}
