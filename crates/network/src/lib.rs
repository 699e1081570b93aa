//! Networks of routers: which segment of a path is slow, and which router should be instrumented next?
//!
//! Every path is cut where a router measures inside itself; what lies between two cuts is a measurement segment, and
//! somebody has to probe it [kompella12 §II-B, §VI]. In the order of use:

// Routers and links, from files.
pub mod topology;
pub use topology::Topology;
// The ways that packets take.
pub mod paths;
// Distinct pieces of paths, as more and more routers cut them.
pub mod segments;
// Which routers to instrument, one after the other.
pub mod plan;
// Who measures whom.
pub mod sets;
// Which segment is slow.
pub mod localize;
// Where to draw routers.
pub mod layout;
