//! The types shared by the crates of `dwell`.
//!
//! Everything here is plain data: no allocation, no clock, no I/O, no dependency, and no `std`, because a kernel
//! program must be able to compute the same keys and hashes bit for bit. In the order in which a packet meets them:
#![no_std]

// Timestamps and durations.
mod time;
pub use time::{Nanos, Timestamp};
// Captured frames and their link-layer types.
mod frame;
pub use frame::{Frame, LinkType};
// Addresses, 5-tuples and prefixes.
mod flow;
pub use flow::{Address, FlowKey, Prefix, PrefixError, protocol};
// Seeded hashes.
pub mod hash;
// What pairing yields: requests and responses, the rules that pair them, and the series that they count for.
mod observation;
pub use observation::{ExchangeId, IdForm, Leg, Match, Observation, Repeat, Series, Sighting, Sink};
// What a memory holds besides a meter.
mod overhead;
pub use overhead::Overhead;
// Packets seen at one of two points.
mod crossing;
pub use crossing::{Crossing, FlowId, PacketId};
// Packets that leave a queue.
mod departure;
pub use departure::Departure;
