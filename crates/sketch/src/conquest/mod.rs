//! Snapshots of the flows that leave a queue: who built it?
//!
//! **Answers**: for each packet that departs, how many bytes (or packets) of its own flow, and of all flows, departed
//! between its arrival and its departure; whether its flow is a culprit, with more than a share *α* of the queue in a
//! packet that waited for at least *τ*. Of a flow, how its rate changed between the two newest finished windows.
//!
//! **Model**: departures come in their order, with times of one clock. In a queue that is first in, first out, what
//! departs while a packet waits is what was in the queue when it arrived; in others it is what was served before it.
//! Flows are ids at any granularity: by destination they show incast. Flows share counters by the seeded hash of their
//! ids; who knows the seed can hide behind others.
//!
//! **State**: *h* snapshots for each of one or more lengths of windows *T*, in turn: one is written, the others are
//! read (and one of them is cleaned, with [`Cleaning::Cyclic`]). A snapshot is a Count-Min sketch of rows × columns
//! counters of 32 bits, or the entries of space-saving (12 bytes: fingerprint, count, error), and a total of 64 bits.
//! Per group *h* (4 rows × columns + 8) bytes, and 328 in all besides; 4 × 8 counters and *h* = 8 take 1.4 KB.
//!
//! **Cost**: one hash for two rows, `rows` counters written; of the snapshots that a query reads `rows` counters each,
//! side by side in memory, with four rows in blocks of four snapshots. Space-saving looks at all entries of them. A
//! rotation empties a snapshot at once.
//!
//! **Estimate**: the sum over the windows that a [`Rule`] counts as the time from *a* to *d*; the share is that of the
//! flow in all bytes that the same windows counted. `Interpolated` takes the oldest window in proportion to its part
//! after *a* and errs where the flow is uneven within that window; the others are off by up to *T* at an end. Count-Min
//! is never too low and space-saving here never too high in the windows that are read (it subtracts what an entry may
//! owe to others). What has been forgotten, or departed before the first packet, makes an answer incomplete, and that
//! is counted. Counters stop at 2³² − 1.
//!
//! *h* must be at least ⌈longest delay/*T*⌉ + 1, or + 2 with cyclic cleaning. Longer delays need groups of longer
//! windows: a query reads the shortest ones back to where a window of the next group begins, and so on.
//!
//! **Merge**: none. An answer is given when a packet departs, so all packets of a queue must have passed one sketch by
//! then; afterwards there is nothing left to ask.
//!
//! **Differs from the paper**: `Interpolated` beside the three rules that it states; windows of any length; totals
//! counted, not taken from the line's rate; snapshots that read as empty when their time is over, where cleaning by
//! packets leaves them dirty; conservative update and space-saving; groups meet where windows begin.
//!
//! **Source**: conquest §3, §8 (`docs/papers/conquest.md`).

// What a sketch is built with.
mod params;
pub use params::{Cleaning, ConquestError, Counter, Culprit, Params, Unit};
// What suits a number of bytes.
mod budget;
// Sizes of flows.
mod counter;
// Windows of time, and which of them a packet reads.
mod window;
pub use window::Rule;
// Snapshots in turn.
mod snapshots;
// The answer for a packet.
mod queued;
pub use queued::{Counts, Queued};
// All together.
mod sketch;
pub use sketch::Conquest;
// What truly departed.
mod exact;
pub use exact::Exact;
// What a sketch does with traffic of a kind, and the smallest that does it well enough.
mod predict;
pub use predict::{Expected, Trial};
