//! How long does each flow's way take, between two points? The sketch of [`dwell_sketch::lds`] and what it is compared
//! with, against streams of [`dwell_simulate::crossing::flows`].

// The streams of a definition.
mod workload;
pub(crate) use workload::WorkloadEntry;
// The methods of a definition.
mod method;
pub(crate) use method::MethodEntry;
// One stream through many pairs of sketches.
mod measure;
