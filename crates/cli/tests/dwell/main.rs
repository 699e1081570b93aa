//! The `dwell` command, run as its users run it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// Running it, and reading what it says.
mod run;
// Against what is known: recorded and simulated captures.
mod truth;
mod truth_owd;
// In less memory than it would like.
mod sampled;
// Logs instead of packets.
mod events;
// Two points.
mod owd;
// Both sides of a queue.
mod queue;
// Every method on one capture.
mod compare;
// Experiments.
mod evaluate;
// What people get wrong, and systems that fail.
mod pipes;
mod usage;
// Captures of all the world, if there are any here.
mod captures;
