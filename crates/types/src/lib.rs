//! The words that cross the boundaries of `dwell`.
//!
//! Everything here is plain data: no allocation, no clock, no I/O, no dependency, and no `std`, because a kernel
//! program must be able to compute the same keys and hashes bit for bit. In the order in which a packet meets them:
#![no_std]

// A moment, and the time between two.
mod time;
pub use time::{Nanos, Timestamp};
// What a capture yields.
mod frame;
pub use frame::{Frame, LinkType};
// Who talks to whom.
mod flow;
pub use flow::{Address, FlowKey, Prefix, PrefixError, protocol};
// Seeded hashes.
pub mod hash;
// What pairing yields: requests and responses.
mod observation;
pub use observation::{ExchangeId, IdForm, Leg, Match, Observation, Repeat, Series, Sighting, Sink};
// What a point on the way of packets sees.
mod crossing;
pub use crossing::{Crossing, FlowId, PacketId};
// What leaves a queue.
mod departure;
pub use departure::Departure;
