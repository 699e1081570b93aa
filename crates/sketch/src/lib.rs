//! From observations to answers: streaming delay sketches in bounded memory.
//!
//! Nothing here handles packets, clocks or files: meters take requests and responses and return weighted delays; a
//! store of distributions takes weighted delays and returns quantiles with confidence intervals. All results are
//! deterministic for a given seed.

// A value and its 95% interval.
pub mod estimate;
// A weighted delay sample, and the counts of what became of the requests.
mod sample;
pub use sample::{Fates, Sample};
// Meters turn requests and responses into weighted delays: the trait, then one module per method.
mod meter;
pub use meter::{Event, Exchanges, Gate, Meter, Rounding};
mod structure;
pub use structure::Structure;
pub mod ale;
pub mod bloomtime;
pub mod dart;
pub mod ddbf;
pub mod exact;
pub mod fridge;
pub mod hash_sample;
pub mod horizon;
pub mod lut;
pub mod mis;
pub mod simple;
pub mod timebloom;
// The product limit (Kaplan–Meier), for exchanges that were dropped before their response came.
mod survival;
pub use survival::{NewBands, Risk};
// The store of weighted delays, and quantiles with intervals.
pub mod distribution;
// The flows with the most bytes, each with its own delays.
pub mod top_flows;
// Detects ids that several exchanges share.
pub mod reuse;
// The complete meter for one observation point.
pub mod rtt;
// The complete meter for one-way delay between two points.
pub mod owd;
// Sum of times, packet count and digest: the cell that two-point sketches are made of.
pub mod cell;
// Mean and standard deviation of one-way delays, with intervals, and the methods that measure them.
pub mod lda;
pub mod moments;
pub mod probes;
pub mod trajectory;
// Per-flow one-way delays, and the methods that they are compared with.
pub mod flow_table;
pub mod lds;
pub mod mpe;
pub mod rli;
// Per-interval sketches that one point sends to the other.
pub mod summary;
// Which flows built a queue: from snapshots of flows, then from every packet, by episode.
pub mod conquest;
pub mod queue;
// Serialization of sketches.
pub mod codec;
// Building blocks that several methods share.
mod batch;
mod counters;
mod flow_sample;
mod lapse;
mod open;
mod repeats;
mod smallest;
mod swar;
mod table;
mod targets;
mod waiting;

#[cfg(test)]
mod test_support;
