//! How far off is each delay that a ring of Bloom filters gives? [`dwell_sketch::timebloom`] by its filters, bits and policies,
//! against streams of [`dwell_simulate::exchange`].

use crate::case::Measurement;
use crate::experiment::Kind;
use crate::value::Invalid;

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The rings of a definition.
mod method;
use method::{Configuration, MethodEntry};
// One stream through many rings.
mod measure;

/// Streams of exchanges, and rings.
#[derive(Debug)]
pub(crate) enum Ring {}

impl Kind for Ring {
    type WorkloadEntry = WorkloadEntry;
    type MethodEntry = MethodEntry;
    type Stream = Stream;
    type Configuration = Configuration;

    fn streams(entry: &WorkloadEntry, share: f64) -> Result<Vec<Stream>, Invalid> {
        Ok(vec![entry.stream(share)?])
    }

    fn configurations(entry: &MethodEntry, _: f64) -> Result<Vec<Configuration>, Invalid> {
        entry.configurations()
    }

    fn suits(configuration: &Configuration, stream: &Stream) -> Result<(), String> {
        configuration.ring(stream, 0).map(drop)
    }

    fn run(stream: &Stream, configurations: &[&Configuration], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        measure::run(stream, configurations, seed)
    }
}
