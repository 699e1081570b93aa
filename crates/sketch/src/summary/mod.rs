//! What one point sends to another: a sketch per interval, cut so that the sketches of both points hold the same
//! packets.
//!
//! **Answers**: of each interval the packets sent, received and lost, mean and standard deviation of the delay
//! ([`crate::lda`]); of flows, mean delay and loss over all usable intervals ([`crate::lds`]); from a few kilobytes of
//! each point, which can be far apart and need not exchange anything before the end.
//!
//! **Cuts**: a packet belongs to the interval in which it was sent, but the receiver does not know when that was. The
//! paper sends a control message along with the packets [kompella12 §III-A]; here no message is needed. Around each
//! border, in the first quarter of the interval that follows it, each point cuts before the packet with the lowest rank
//! (a hash of its id): mostly the same packet at both points, so that both sketches hold the same packets, whatever the
//! delay. The cut moves whenever a packet of lower rank comes: a closed sketch holds the packets before the cut, an
//! open one those after it, and the open one is added to the closed one when the cut moves (sketches are sums). Where
//! the points chose different packets, since one was lost, or fell into different quarters, the intervals before and
//! after are merged; nothing is lost but resolution in time. With delay *d* and quarter *w* that happens to about
//! 2*d*/*w* of the borders: a receiver should [shift](Cutter::new) its borders by about the delay.
//!
//! Packets that are reordered around a cut are in different sketches; the digests of their cells differ, and these
//! cells are not used.
//!
//! **Messages**: a [`Summary`] carries a number, so that lost, repeated and reordered ones are recognised, the names of
//! its borders, and a checksum. An interval whose messages are incomplete or do not match is unusable, with the reason
//! ([`Unusable`]); it never gives a wrong answer.
//!
//! **State**: two sketches per point while it captures; where sketches are joined, those waiting for their
//! counterparts: up to 256 per point, as far as they fit [the memory](Join::bounded).
//!
//! **Source**: own design. kompella12 §III-A, §V (control messages).

// The sketches of one point in one interval.
mod sketch;
pub use sketch::{Params, Sketch, SummaryError};
// The flows of one point: names and packet counts.
mod flows;
pub use flows::{FlowCounts, FlowList, FlowRecord};
// Mean delay and loss per flow, from the sketches of both points.
mod means;
pub use means::{FlowMean, FlowMeans};
// Cuts one point's packets into intervals.
mod cutter;
pub use cutter::Cutter;
// Encoding of summaries, and the messages of a file.
mod message;
pub use message::{Message, Messages, Origin, Summary};
// How memory is divided where both points are at hand.
mod shares;
pub use shares::Shares;
// Joins the summaries of both points.
mod join;
pub use join::{Join, Joined, JoinedFlows, Unusable};
// All intervals together, and longer spans where intervals are too short.
mod combined;
mod spans;
pub use combined::Combined;
