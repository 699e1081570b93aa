//! What one point tells another: a sketch of each interval, cut so that both points mean the same packets.
//!
//! **Answers**: of each interval the packets sent, received and lost, mean and standard deviation of the delay
//! ([`crate::lda`]); of flows, mean delay and loss over all usable intervals ([`crate::lds`]); from a few kilobytes of
//! each point that need not be in one place, nor meet before the end.
//!
//! **Cuts**: a packet belongs to the interval in which it was sent, but the receiver does not know when that was. The
//! paper sends a control message along with the packets [kompella12 §III-A]; here no message is needed. Around each
//! border, in the first quarter of the interval that follows it, each point cuts before the packet with the lowest rank
//! (a hash of its id): mostly the same packet, so that both sketches hold the same packets, whatever the delay is. The
//! cut moves while lower ranks come: a closed sketch holds what is before it, an open one what is behind, and the open
//! one is added to the closed one when the cut moves on (sketches are sums). Where the points chose different packets,
//! since the one was lost, or crossed the end of a quarter, the interval before and that behind are added up and become
//! one; nothing is lost but resolution in time. With delay *d* and quarter *w* that happens to about 2*d*/*w* of the
//! borders: a receiver should [shift](Cutter::new) its borders by about the delay.
//!
//! Packets that are reordered around a cut are in different sketches; their cells' digests do not fit, and the cells
//! are not used.
//!
//! **Messages**: a [`Summary`] carries a number, so that lost, repeated and reordered ones are known, the names of its
//! borders, and a checksum. An interval whose messages are not all there, or do not fit, is unusable and says why
//! ([`Unusable`]); never wrong.
//!
//! **State**: two sketches per point while it runs; where both are joined, what waits for its counterpart: up to 64
//! sketches per point, or as many as fit [a bound](Join::bounded).
//!
//! **Source**: own design. kompella12 §III-A, §V (control messages).

// The sketches of one point.
mod sketch;
pub use sketch::{PairError, Params, ParamsError, Sketch};
// Its flows by name.
mod flows;
pub use flows::{FlowCounts, FlowList, FlowRecord};
// What both points say of them.
mod means;
pub use means::{FlowMean, FlowMeans};
// Cut into intervals.
mod cutter;
pub use cutter::Cutter;
// What is sent.
mod message;
pub use message::{Message, Messages, Summary};
// Both points together.
mod join;
pub use join::{Combined, Join, Joined, JoinedFlows, Unusable};
