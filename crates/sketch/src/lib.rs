//! Observations to answers: streaming delay sketches in bounded memory.
//!
//! Nothing here sees a packet, a clock or a file: meters take requests and responses and give weighted delays, a store
//! of distributions takes weighted delays and gives quantiles with confidence intervals. All of it is deterministic for
//! a given seed.

// A value and its 95% interval.
pub mod estimate;
// One weighted delay; what became of the requests.
mod sample;
pub use sample::{Fates, Sample};
// What takes requests and responses and gives weighted delays: the interface, then the methods.
mod meter;
pub use meter::{Event, Exchanges, Gate, Meter, Rounding};
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
// Delays that entries did not outlive.
mod survival;
pub use survival::{NewBands, Risk};
// Weighted delays to quantiles with intervals.
pub mod distribution;
// The same for each of the largest flows.
pub mod top_flows;
// Whether exchanges have ids of their own.
pub mod reuse;
// All of it together, at one point.
pub mod rtt;
// All packets, at two points.
pub mod owd;
// What packets leave behind at each of two points.
pub mod cell;
// Mean and standard deviation of one-way delays, with intervals; then what measures them between two points.
pub mod lda;
pub mod moments;
pub mod probes;
pub mod trajectory;
// Delays of flows between two points; then what it is compared with.
pub mod flow_table;
pub mod lds;
pub mod mpe;
pub mod rli;
// What one point tells another, interval by interval.
pub mod summary;
// Who built a queue: snapshots of flows; then packet by packet and episode by episode.
pub mod conquest;
pub mod queue;
// Sketches as bytes.
pub mod codec;
// Pieces that the methods share.
mod batch;
mod bytes;
mod counters;
mod flow_sample;
mod lapse;
mod open;
mod repeats;
mod smallest;
mod table;
mod targets;
mod waiting;

#[cfg(test)]
mod test_support;
