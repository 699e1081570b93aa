//! Snapshots of the flows that leave a queue: which of them built it?
//!
//! **Answers**: for each packet that departs, how many bytes (or packets) of its own flow, and of all flows, departed
//! between its arrival and its departure; whether its flow is a culprit, with more than a share *α* of the queue in a
//! packet that waited for at least *τ*. For a flow, how its rate changed between the two newest finished windows.
//!
//! **Model**: departures are given in order, with times of one clock. In a first-in first-out queue, what departs while
//! a packet waits is what was in the queue when it arrived; in others it is what was served before it. Flows are ids at
//! any granularity: by destination they show incast. Flows share counters by the seeded hash of their ids; whoever
//! knows the seed can hide behind others.
//!
//! **State**: *h* snapshots for each of one or more lengths of windows *T*, in rotation: one is written, the others are
//! read (and one of them is cleaned, with [`Cleaning::Cyclic`]). A snapshot is a Count-Min sketch of rows × columns
//! counters of 32 bits, or the entries of space-saving (12 bytes: fingerprint, count, error), and a total of 64 bits.
//! Per group *h* (4 rows × columns + 8) + 176 bytes, and 160 in all besides; 4 × 8 counters and *h* = 8 take 1.4 KB.
//!
//! **Cost**: one hash for two rows, `rows` counters written; `rows` counters read from each snapshot of a query, side
//! by side in memory, with four rows in blocks of four snapshots. Space-saving scans all entries of these. A rotation
//! empties a snapshot at once.
//!
//! **Estimate**: the sum over the windows that a [`Rule`] counts as the time from *a* to *d*; the share is that of the
//! flow in all bytes of the same windows. `Interpolated` takes the oldest window in proportion to its part after *a*
//! and errs if the flow is uneven within that window; the others are off by up to *T* at an end. Count-Min is never too
//! low and space-saving here never too high in the windows that are read (it subtracts what an entry may owe to
//! others). An answer that needs windows already dropped, or from before the first packet, is incomplete, and counted
//! as such. Counters stop at 2³² − 1.
//!
//! *h* must be at least ⌈longest delay/*T*⌉ + 1, or + 2 with cyclic cleaning. Longer delays need groups of longer
//! windows: a query reads the shortest ones back to where a window of the next group begins, and so on.
//!
//! **Merge**: none. An answer is given when a packet departs, so all packets of a queue must have passed through one
//! sketch by then.
//!
//! **Differs from the paper**: `Interpolated` in addition to its three rules; windows of any length; totals are
//! counted, not derived from the line rate; snapshots read as empty when their time is over, where cleaning by packets
//! leaves them dirty; conservative update and space-saving; groups meet where windows begin.
//!
//! **Source**: conquest §3, §8 (`docs/papers/conquest.md`).

// The parameters of a sketch.
mod params;
pub use params::{Cleaning, ConquestError, Counter, CounterKind, Culprit, Params, Unit};
// Parameters for a given memory.
mod budget;
// Parameters of which some are given.
mod given;
pub use given::GivenSnapshots;
// Counters for the sizes of flows.
mod counter;
// Time windows, and which of them a packet's query reads.
mod window;
pub use window::Rule;
// Snapshots in rotation.
mod snapshots;
// The answer for a packet, and how accurate such answers are.
mod queued;
pub use queued::{Counts, Queued, Scores};
// The sketch.
mod sketch;
pub use sketch::Conquest;
// The exact reference.
mod exact;
pub use exact::Exact;
// The expected error of a sketch in given traffic, and the smallest sketch with a given error.
mod predict;
pub use predict::{Expected, Trial};
