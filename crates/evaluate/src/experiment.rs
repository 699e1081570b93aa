//! What an experiment is for those that run it.

use crate::case::{Case, Measurement, Shown};
use std::fmt::Debug;

/// Streams, and the configurations of methods that see each of them.
pub trait Experiment: Debug + Send + Sync {
    /// Every configuration under every workload, in the order of the definition.
    fn cases(&self) -> Vec<Case>;

    /// One seed of one stream through the configurations of these cases, which must all be of that stream; the answer
    /// has one list per case.
    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String>;

    /// Which of the measured quantities are summarised.
    fn shown(&self) -> Shown;
}
