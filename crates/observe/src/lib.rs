//! From frames to observations: header parsing, pairing of requests with responses, and ids that identify a packet at
//! two points.

// The parsed headers of one packet.
pub mod packet;
// From bytes to headers.
pub mod parse;
// From headers to requests and responses that share an id.
pub mod pair;
// Groups: which requests are reported together.
pub mod group;
// All steps together: from frames to observations.
mod observer;
pub use observer::{Frames, Observer, Settings};
// From headers to an id that is the same at every point of a packet's path.
pub mod crossing;
