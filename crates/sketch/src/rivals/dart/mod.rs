//! Dart: round trips of TCP segments whose acknowledgement is unambiguous.
//!
//! **Answers**: the delay from a segment to the acknowledgement of its end, weight 1 each, for [`Match::TcpAck`] only.
//!
//! **Model**: after a retransmission, or while a segment is missing, an acknowledgement does not show which segment it
//! answers, or was delayed because others were missing. A *range tracker* keeps for each direction of a flow the range
//! of sequence numbers, above `left` and up to `right`, whose acknowledgements are unambiguous:
//!
//! | what is seen | then |
//! |---|---|
//! | a segment that begins at `right` | it is measured; `right` is its end |
//! | a segment beyond `right` | a hole: the range is this segment |
//! | a segment up to a window (2³⁰ bytes) before `right` | a retransmission, none in flight counts: `left` = `right` |
//! | an acknowledgement in the range | `left` is its number; the segment that ends there is answered |
//! | a bare acknowledgement of `left` again | something is missing or reordered: `left` = `right` |
//! | any other acknowledgement | nothing: it is old, or its segment was not seen |
//! | a SYN | it is not measured; the range of an earlier connection is dropped |
//!
//! The state does not tell whether `left` was acknowledged, or set by a gap or a retransmission: its first
//! acknowledgement then counts as repeated, too. Numbers wrap at 2³². Ids must be [plain](dwell_types::IdForm::Plain),
//! which shows the numbers. A *packet tracker* holds the time of each segment that may be measured, by flow and end. It
//! is never cleaned: records whose range has moved on stay until another one needs their place. That one enters; the
//! evicted record recirculates, and enters again at its place of the next stage if the range tracker says that it can
//! still be measured. A record evicted by that recirculates in turn, a given number of times; the last one is lost.
//!
//! **State**: ranges of 16 bytes (flow 32 bits, left 32, right 32, last use 32) in buckets of four; records of 16 bytes
//! (flow 32 bits, end 32, time 48, tag 16) in 1 to 8 stages. In addition the counts of each series.
//!
//! **Cost**: a hash and a cache line for the range, and for segments and acknowledgements that are measured a hash and
//! a slot per stage; the same again for each recirculation.
//!
//! **Estimate**: none. Losses are not compensated, and depend on the delay in two ways: segments that wait longer are
//! evicted more often if the packet tracker is too small; and what follows a loss is left out, which is slower than the
//! rest. A flow without a place among the ranges is left out entirely. Two directions with equal hashes (32 bits)
//! corrupt each other's ranges: *n*²/2³³ pairs among *n* that are tracked.
//!
//! **Merge**: the samples of trackers over disjoint flows are simply added up.
//!
//! **Differs from the paper**: a segment with data is no duplicate acknowledgement [RFC 5681 §2]; wrapping numbers
//! leave the range as it is; a SYN ends the range of an earlier connection; a range is tracked in one of four places,
//! and may be replaced when it is empty or overdue; a record that is found under the key of a new one shows a
//! retransmission that the range has forgotten.
//!
//! **Source**: S. Sengupta, H. Kim, J. Rexford, "Continuous in-network round-trip time monitoring" (SIGCOMM 2022), §3;
//! `docs/papers/sengupta22-dart.md`.
//!
//! [`Match::TcpAck`]: dwell_types::Match::TcpAck

// The measurable sequence numbers of one direction.
mod range;
// The ranges of all directions.
mod ranges;
// The segments in flight.
mod packets;
// The meter made of both.
mod sketch;
pub use sketch::{Dart, DartError, GivenTrackers, Params};
