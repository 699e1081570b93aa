//! Frames to observations: header parsing and pairing of requests with responses.

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
