//! The interface of an experiment to the code that runs it.

use crate::case::{Case, Measurement, Quantity, Shown};
use crate::metrics::Summary;
use std::fmt::{self, Debug};
use std::io::{self, Write};

/// Why a stream or a method cannot be built or run.
#[derive(Debug)]
pub struct Problem(pub String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// Streams, and the configurations of methods that process each of them.
pub trait Experiment: Debug + Send + Sync {
    /// Every configuration under every workload, in the order of the definition.
    fn cases(&self) -> Vec<Case>;

    /// Runs one seed of one stream through these cases, which must all be of that stream; returns one list of
    /// measurements per case.
    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem>;

    /// The quantities that a case measures.
    fn quantities(&self, case: &Case) -> Vec<Quantity>;

    /// Which quantities are shown in summaries.
    fn shown(&self) -> Shown;

    /// Writes its summaries as a table for people.
    fn write_table(&self, summaries: &[Summary], to: &mut dyn Write) -> io::Result<()>;
}
