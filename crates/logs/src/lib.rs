//! Logs as input instead of packets: comma-separated values, compressed or not, read line by line.
//!
//! A malformed line is an error that names the file and the line, what was expected and what was found; if lines before
//! it were used, the log ends there with a warning instead. A log that is cut off inside a line, or inside its compressed
//! data, ends with a warning, too, after everything before has been returned; so does one whose last line has no line
//! end, but can be used.

// CSV lines, their fields, and errors.
mod lines;
pub use lines::{Lines, LogError};
// Other texts, as a whole.
pub mod text;
// Names and hashes of groups and flows.
mod names;
pub use names::{flow_id, shortened, told_apart};
// Requests and responses (`dwell rtt --events`).
mod events;
pub use events::EventLog;
// Packets that pass a point (`dwell owd --crossings`).
mod crossings;
pub use crossings::CrossingLog;
// Packets that passed through a queue (`dwell queue`).
mod sojourns;
pub use sojourns::SojournLog;
