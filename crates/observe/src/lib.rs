//! Frames to observations: header parsing, pairing of requests with responses, and ids of packets that two points
//! share.

// The headers of one packet.
pub mod packet;
// Bytes to headers.
pub mod parse;
// Headers to requests and responses that share an id.
pub mod pair;
// Which requests are reported together.
pub mod group;
// All of it: frames to observations.
mod observer;
pub use observer::{Frames, Observer, Settings};
// Headers to an id that a packet has at every point of its way.
pub mod crossing;
