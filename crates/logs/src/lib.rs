//! Logs instead of packets: comma-separated values, compressed or not, line by line.
//!
//! What is damaged is an error that says file, line, what was expected and what was found; a log that is cut inside a
//! line ends with an error there, and everything before it was handed out.

// Lines and their fields.
mod lines;
pub use lines::{Lines, LogError};
// Names of groups and flows.
mod names;
pub use names::{REST, flow_id, told_apart};
// Requests and responses.
mod events;
pub use events::EventLog;
// Packets at a point.
mod crossings;
pub use crossings::CrossingLog;
// Packets that passed a queue.
mod sojourns;
pub use sojourns::SojournLog;
