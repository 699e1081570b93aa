//! Dart: round trips of TCP segments whose acknowledgement cannot be mistaken.
//!
//! **Answers**: the delay from a segment to the acknowledgement of its end, weight 1 each, for [`Match::TcpAck`] alone.
//!
//! **Model**: after a retransmission, or while a segment is missing, an acknowledgement does not say which segment it
//! answers, or came late because others were missing. A *range tracker* keeps for each direction of a flow the range of
//! numbers, above `left` and up to `right`, in which it does say so:
//!
//! | what is seen | then |
//! |---|---|
//! | a segment that begins at `right` | it is measured; `right` is its end |
//! | a segment beyond `right` | a hole: the range is this segment |
//! | a segment before `right`, no more than a window (2³⁰ bytes) | a retransmission: nothing under way is measured; `left` = `right` |
//! | an acknowledgement in the range | `left` is its number; the segment that ends there is answered |
//! | a bare acknowledgement of `left` again | something is missing or out of order: `left` = `right` |
//! | any other acknowledgement | nothing: it is old, or of what was not seen |
//! | a SYN | it is not measured; the range of an earlier connection is forgotten |
//!
//! The state does not tell whether `left` was acknowledged, or set by a gap or a retransmission: its first
//! acknowledgement then counts as repeated, too. Numbers go round at 2³². Ids must be
//! [plain](dwell_types::IdForm::Plain), which shows the numbers. A *packet tracker* holds the time of each segment that
//! may be measured, under its flow and end. It is never cleaned: records whose range has moved on stay until another
//! one needs their place. That one enters; the evicted record goes round, and enters again at its place of the next
//! stage if the range tracker says that it can still be measured. Who is evicted by that goes round in turn, a stated
//! number of times; the last one is lost.
//!
//! **State**: ranges of 16 bytes (flow 32 bits, left 32, right 32, last use 32) in buckets of four; records of 16 bytes
//! (flow 32 bits, end 32, time 48, tag 16) in 1 to 8 stages. The counts of each series come on top.
//!
//! **Cost**: a hash and a cache line for the range, and for segments and acknowledgements that are measured a hash and
//! a slot per stage; the same again for each round.
//!
//! **Estimate**: none. What is lost is not weighed. It depends on the delay in two ways: segments that wait longer are
//! evicted more often where the packet tracker is too small; and what follows a loss is left out, which is slower than
//! the rest. A flow that finds no place among the ranges is left out whole. Two directions with equal hashes (32 bits)
//! spoil each other's ranges: *n*²/2³³ pairs among *n* that are tracked.
//!
//! **Merge**: the samples of trackers over disjoint flows are simply put together.
//!
//! **Differs from the paper**: a segment that carries data, too, is no duplicate acknowledgement [RFC 5681 §2]; numbers
//! that go round leave the range as it is; a SYN ends the range of an earlier connection; a range is tracked in one of
//! four places, and may be replaced when it is empty or overdue; a record that is found under the key of a new one
//! shows a retransmission that the range has forgotten.
//!
//! **Source**: S. Sengupta, H. Kim, J. Rexford, "Continuous in-network round-trip time monitoring" (SIGCOMM 2022), §3;
//! `docs/papers/sengupta22-dart.md`.
//!
//! [`Match::TcpAck`]: dwell_types::Match::TcpAck

// Which numbers of one direction can be measured.
mod range;
// All directions.
mod ranges;
// The segments under way.
mod packets;
// Both together.
mod sketch;
pub use sketch::{Dart, DartError, Params};
