//! Simulated traffic whose delays, losses and queues are known exactly.
//!
//! A stream is a function of its settings and a seed: the same on every platform with IEEE 754 double arithmetic,
//! because chance comes from one generator (PCG64 MCG) and `ln`, `exp` and `pow` from the `libm` crate rather than from
//! the platform, where their last bits differ. No clock, no input, no output.
//!
//! In the order in which they build on each other:

// Seeded random numbers.
mod chance;
// Distributions of delays.
mod distribution;
pub use distribution::{Distribution, DistributionError};
// A timing wheel: events in time order.
mod wheel;
// Exact distributions of simulated delays.
mod delays;
pub use delays::Delays;
// Clocks with offset and drift.
mod clock;
pub use clock::Clock;
// Requests and responses, for the sketches of `dwell rtt`.
pub mod exchange;
// Packets from one point to another, for the sketches at both.
pub mod crossing;
// Packets that pass through a queue, for sketches that find who built it.
pub mod queue;
// Links of a network, some of them at fault, for locating the fault.
pub mod network;
// Whole frames, for everything from capture to report.
pub mod packet;
