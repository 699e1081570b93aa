//! The `dwell` command, run as its users run it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// Running it, and reading what it says.
mod run;
// Against what is known: recorded and simulated captures.
mod truth;
mod truth_owd;
// In less memory than it would like.
mod sampled;
// The largest flows.
mod flows;
// Ranges of sequence numbers.
mod dart;
// Logs instead of packets.
mod events;
// Two points.
mod directions;
mod owd;
// Both sides of a queue.
mod queue;
mod queue_simulated;
// Networks.
mod net;
// Every method on one capture.
mod compare;
// The same between two points.
mod compare_owd;
// How much memory.
mod size;
// Experiments.
mod evaluate;
// What people get wrong, systems that fail, and runs that are ended.
mod pipes;
mod signals;
mod usage;
// What the texts show.
mod shown;
// Captures of all the world, if there are any here.
mod captures;
