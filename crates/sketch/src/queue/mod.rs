//! Which flows built a queue: follows packets through it, and reports per packet and per episode what was in the queue.
//!
//! **Answers**: of each packet that departs, how long it waited and how much of the queue was of its own flow
//! ([`crate::conquest`]); of each episode of congestion, when it was, how long packets waited (nanoseconds), how deep
//! the queue was (bytes or packets), which flows built it, and how their sizes were distributed.
//!
//! **Model**: as in [`crate::conquest`]: one queue, departures in their order, one clock. Where arrivals and departures
//! are seen at two taps, a packet has one id at both, and no other packet has it while it waits; a packet that has not
//! departed within the longest delay never will. An episode begins with the first departure of a packet that waited for
//! at least *τ*, and ends with the last such departure before a pause longer than `quiet`.
//!
//! **State**: [`Taps`] is a table that grows to a fixed size, if there is one, 16 bytes per packet, in sets of 8 ways; a
//! full set then evicts its oldest packet. [`QueueMeter`] remembers every departure as long as that fits, 36 to 54 bytes
//! each, and hands over to snapshots when it does not: the departures remembered by then are put into them, so that
//! later answers need nothing else from before. The flows of an episode are kept by space-saving, 135 bytes each and
//! their names; 512 time bins take 12 KiB.
//!
//! **Cost**: one set per packet and tap; one table operation, two searches from the last departure on, and the flow's
//! entry in the episode. During an episode with more flows than entries, every flow without an entry takes the one of
//! the smallest flow, the first of a heap.
//!
//! **Estimate**: exact while every departure is remembered; then as [`crate::conquest`]. A flow's bytes in an episode
//! are at least `bytes` and at most `most_bytes`, which are equal if all flows had an entry.
//!
//! **Merge**: none, as for [`crate::conquest`].
//!
//! **Differs from the paper**: sets of slots instead of single slots, which lose 12% of the packets when the number in
//! flight is an eighth of the slots; packets first seen departing are remembered where there is room, so that taps in
//! the wrong order or clocks that differ can be told apart from packets that took another way; arrivals of packets that
//! do not depart expire.
//!
//! **Source**: conquest §2.2 (the question), §4 (taps), §6.4 (sizes of flows in the queue) (`docs/papers/conquest.md`).

// Matches departures with arrivals.
mod taps;
pub use taps::{TapCounts, Taps};
// Episodes of congestion, and the flows in them.
mod flows;
pub use flows::{FlowInQueue, FlowSizes};
mod episode;
pub use episode::Episode;
// The queue over time, in a bounded number of bins.
mod timeline;
pub use timeline::Stretch;
// Compares snapshots with the exact reference.
mod compare;
pub use crate::conquest::Scores;
pub use compare::{Comparison, Pair};
// The meter, which combines all of these.
mod meter;
pub use meter::{Method, QueueMeter, Settings, SettingsError, Shares};
