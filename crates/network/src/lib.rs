//! Networks of routers: which segment of a path is slow, and which router should be instrumented next?
//!
//! Every path is cut at each instrumented router, which measures inside itself; the part between two cuts is a
//! measurement segment, which has to be probed from end to end [kompella12 §II-B, §VI]. In the order of use:

// Numbers of the input whose sums must be exact.
mod millionths;
// Line numbers, for messages about the input.
mod lines;
// Topologies: routers and links, read from files.
pub mod topology;
pub use topology::Topology;
// The shortest paths between all routers.
pub mod paths;
// Measurement segments, as more and more instrumented routers cut the paths.
pub mod segments;
// Upgrade plans: which routers to instrument, in which order.
pub mod plan;
// Which router probes which, and what that costs.
pub mod probes;
// Fault localization: which segment became slower or lossier.
pub mod localize;
// Positions of the routers in a drawing.
pub mod layout;
