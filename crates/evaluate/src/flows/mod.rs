//! How long does each flow's way take, between two points? The sketch of [`dwell_sketch::lds`] and what it is compared with,
//! against streams of [`dwell_simulate::crossing::flows`].

use crate::case::Measurement;
use crate::experiment::Kind;
use crate::value::Invalid;

// The streams of a definition.
mod workload;
use workload::{Stream, WorkloadEntry};
// The methods of a definition.
mod method;
use method::{Configuration, MethodEntry};
// One stream through many pairs of sketches.
mod measure;

/// Streams of flows, and pairs of sketches at both ends, which shrink with the flows.
#[derive(Debug)]
pub(crate) enum Flows {}

impl Kind for Flows {
    type WorkloadEntry = WorkloadEntry;
    type MethodEntry = MethodEntry;
    type Stream = Stream;
    type Configuration = Configuration;

    fn streams(entry: &WorkloadEntry, share: f64) -> Result<Vec<Stream>, Invalid> {
        Ok(vec![entry.stream(share)?])
    }

    fn configurations(entry: &MethodEntry, share: f64) -> Result<Vec<Configuration>, Invalid> {
        entry.configurations(share)
    }

    fn run(stream: &Stream, configurations: &[&Configuration], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        measure::run(stream, configurations, seed)
    }
}
