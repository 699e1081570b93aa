//! How long does one way take, and how much is lost, between two points? Sketches of [`dwell_sketch::lda`] and what they are
//! compared with, against streams of [`dwell_simulate::crossing`].

use crate::case::Measurement;
use crate::experiment::Kind;
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

/// Streams of packets, and pairs of sketches at both ends.
#[derive(Debug)]
pub(crate) enum Crossing {}

impl Kind for Crossing {
    type WorkloadEntry = WorkloadEntry;
    type MethodEntry = MethodEntry;
    type Stream = Stream;
    type Configuration = Configuration;

    fn streams(entry: &WorkloadEntry, share: f64) -> Result<Vec<Stream>, Invalid> {
        entry.streams(share)
    }

    fn configurations(entry: &MethodEntry, _: f64) -> Result<Vec<Configuration>, Invalid> {
        entry.configurations()
    }

    fn suits(configuration: &Configuration, stream: &Stream) -> Result<(), String> {
        configuration.pair(&stream.settings, 0).map(drop)
    }

    fn run(stream: &Stream, configurations: &[&Configuration], seed: u64) -> Result<Vec<Vec<Measurement>>, String> {
        measure::run(&stream.settings, configurations, seed)
    }
}
