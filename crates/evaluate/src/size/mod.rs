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
