//! How much memory a sketch needs for a given error, from its analysis and from short simulations: `dwell size`.
//!
//! For each question a function from what is expected to sizes. These are without the command that measures in them:
//! the caller adds it, who knows its flags.

// Response times at one point.
pub mod rtt;
// The mean delays of flows between two points.
pub mod flows;
// Which flows built a queue.
pub mod queue;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asked {
    /// The least memory with at most this error, as a share.
    Error(f64),
    /// The error in so many bytes of memory.
    Memory(usize),
}
