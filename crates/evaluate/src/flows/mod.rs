//! One-way delay of each flow between two points: the sketch of [`dwell_sketch::lds`] and the methods it is compared
//! with, on streams of [`dwell_simulate::crossing::flows`].

// The streams of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// Runs one stream through many pairs of sketches.
mod measure;
// The table of its results.
mod table;
