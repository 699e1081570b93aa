//! Who built this queue: packets are followed through it, and what departs is told by packet and by episode.
//!
//! **Answers**: of each packet that departs, how long it waited and how much of the queue was of its own flow
//! ([`crate::conquest`]); of each episode of congestion, when it was, how long packets waited (nanoseconds), how deep
//! the queue was (bytes or packets), which flows built it, and how their sizes were distributed.
//!
//! **Model**: as in [`crate::conquest`]: one queue, departures in their order, one clock. Where arrivals and departures
//! are seen at two taps, a packet has one id at both, and no other packet has it while it waits; a packet that has not
//! departed within the longest delay never will. An episode begins with the first departure of a packet that waited for
//! at least *τ*, and ends with the last one before a time without any that is longer than `quiet`.
//!
//! **State**: [`Taps`] is a table of fixed size, 16 bytes per packet, in sets of 8 ways; a full set gives up its oldest
//! packet. [`QueueMeter`] remembers every departure as long as that fits, 40 to 60 bytes each, and hands over to
//! snapshots when it does not: what is remembered by then is put into them, so that the answers that follow need
//! nothing from before. The flows of an episode are kept by space-saving, 111 bytes each and their names; 512 stretches
//! of time take 12 KiB.
//!
//! **Cost**: one set per packet and tap; one table operation, two bisections, and the flow's place in the episode.
//! While an episode lasts whose flows find no room, a new one costs a walk over all that do.
//!
//! **Estimate**: exact while every departure is remembered; then as [`crate::conquest`]. A flow's bytes in an episode
//! are at least `bytes` and at most `most_bytes`, which are the same where all flows found room.
//!
//! **Merge**: none, as for [`crate::conquest`].
//!
//! **Differs from the paper**: sets instead of a table of single places, which loses 12% of the packets where as many
//! are under way as an eighth of its places; packets that were first seen to depart are remembered where there is room,
//! so that taps in the wrong order and clocks apart are told from packets that came another way; arrivals of packets
//! that do not depart expire.
//!
//! **Source**: conquest §2.2 (the question), §4 (taps), §6.4 (sizes of flows in the queue) (`docs/papers/conquest.md`).

// From arrival to departure.
mod taps;
pub use taps::{TapCounts, Taps};
// Stretches of congestion, and their flows.
mod flows;
pub use flows::{FlowInQueue, FlowSizes};
mod episode;
pub use episode::Episode;
// The queue over time.
mod timeline;
pub use timeline::{Stretch, Timeline};
// Snapshots beside what truly departed.
mod compare;
pub use compare::{Comparison, Pair, Scores};
// All of it.
mod meter;
pub use meter::{Method, QueueMeter, Settings, SettingsError};
