//! Tests of the `dwell` command, run as users run it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

// Helpers to run the command and parse its output.
mod run;
// Reports compared with the known truth, on recorded and simulated captures.
mod truth;
mod truth_owd;
// Less memory than all exchanges need.
mod sampled;
// The largest flows.
mod flows;
// The method `dart`: ranges of sequence numbers.
mod dart;
// Logs instead of packets.
mod events;
// Two points.
mod directions;
mod owd;
mod owd_order;
mod path_simulated;
// Packets of one interface.
mod interfaces;
// Both sides of a queue.
mod queue;
mod queue_simulated;
// `dwell net`.
mod net;
mod network_simulated;
// `dwell compare`.
mod compare;
// `dwell compare owd`.
mod compare_owd;
// `dwell size`.
mod size;
// `dwell evaluate`.
mod evaluate;
// Wrong usage, system errors, and interrupted runs.
mod pipes;
mod signals;
mod usage;
// Commands and output shown in the documentation, and the pages of the formats.
mod documented;
mod shown;
// A collection of public captures, if there is one on this machine.
mod captures;
