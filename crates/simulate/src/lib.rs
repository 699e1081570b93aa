//! Streams with known truth.
//!
//! A stream is a function of its settings and a seed: the same on every platform with IEEE 754 double arithmetic,
//! because chance comes from one generator (PCG64 MCG) and `ln`, `exp` and `pow` from the `libm` crate rather than from
//! the platform, where their last bits differ. No clock, no input, no output.
//!
//! In the order in which they build on each other:

// Seeded random numbers.
mod chance;
// How long things take.
mod distribution;
pub use distribution::{Distribution, DistributionError};
// What happens later, in order.
mod wheel;
// The delays that really occurred.
mod delays;
pub use delays::Delays;
// Clocks that are not right.
mod clock;
pub use clock::Clock;
// Requests and responses, for sketches.
pub mod exchange;
// Packets from one point to another, for sketches at both.
pub mod crossing;
// Packets that pass a queue, for sketches of who built it.
pub mod queue;
// Links of a network, one of them at fault, for what finds it.
pub mod network;
// Frames, for the whole path from capture to report.
pub mod packet;
