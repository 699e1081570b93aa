//! The Lossy Difference Sketch: one-way delays of flows without a table of flows.
//!
//! **Answers**: per flow that is asked for, mean delay and its spread in nanoseconds, packets and bytes sent, packets
//! lost; with 95% intervals where they can be told, and nothing where nothing is known. And the mean delay of all
//! packets.
//!
//! **Model**: both points see the same packets of the same flows under the same ids, less those that are lost, within
//! an interval that both agree on. Assumes that ids of different flows and packets are independent under the seeded
//! hashes; who knows the seed can put flows into the same cells. Clocks that differ by *e* shift every delay by exactly
//! *e*. Nothing is assumed about delays by the rules of the fewest packets; `joint` takes the mean delays of flows for
//! independent draws of one distribution.
//!
//! **State**: *R* rows of *C* cells of 128 bits: sum of times modulo 2⁶⁴, digest of 32 bits, packets modulo 2³²; 64
//! bits more if bytes are summed up. 16 *R C* bytes, and 32 per row.
//!
//! **Cost**: per two rows one hash of the flow; per row one of the packet if there are several cells per flow or the
//! row samples, and one cell touched. A packet that counts *w* times costs 2 log₂ *w* additions more.
//!
//! **Estimate**: the packets of a flow go to *k* neighbouring cells per row, which one a hash of the packet tells, so
//! that a loss spoils one of them. A cell is usable if both points have the same count and digest there: then the
//! difference of its sums is the sum of its packets' delays. Other flows in the cell disturb it, in proportion to their
//! packets.
//! - [`Comparison::estimate`] takes the usable cells with the fewest packets. Biased towards the mean of all flows, by
//!   a share that it cannot tell: no interval. Good for flows that are large beside what else is in one of their cells.
//! - [`Comparison::joint`] takes a list of flows and solves for all of them at once, which is better by as much as the
//!   others are known. Where numbers of packets are known from flow records, its intervals hold in 91 to 98% of flows
//!   of all sizes (`tests/lds.rs`). Where not, it decodes them as well, which needs cells that have few flows: with 8
//!   flows per cell it costs a factor of 3 in error, with 80 small flows are lost and rules are better, and so they are
//!   with several cells per flow.
//! - Packets: the least of the rows' sums, which others can only raise; or decoded. Lost packets likewise.
//! - Spread: from that between cells of a row, if a flow has several; others in the cells raise it. 16 degrees of
//!   freedom leave 12% of error in flows that are alone, and the interval says so.
//!
//! **Merge**: cell by cell; exactly the sketch that had seen both streams.
//!
//! **Differs from the paper**: the rule by upper bounds ([`Rule::UpperBound`]), since inverted counts of rows that
//! sample little are small by chance; `joint`; intervals; the offset is drawn per row, as in the text, not once as in
//! its figure 5. `docs/papers/sanjuas11-lds.md` has the list.
//!
//! **Source**: sanjuas11 §2 to §4 (`docs/papers/sanjuas11-lds.md`). The exact twin remembers every packet (`owd`).

// How large, and how it fits a budget.
mod params;
pub use params::{LdsError, Params};
mod budget;
// What one point keeps.
mod sketch;
pub use sketch::{Foreign, Lds};
// A sketch as bytes.
mod codec;
// What two points say together.
mod compare;
pub use compare::{Comparison, Figure, FlowEstimate};
// The cells with the fewest packets.
mod select;
pub use select::Rule;
// All cells at once, and the equations behind it.
mod joint;
pub use joint::Listed;
mod messages;
// What a sketch promises before it sees a packet, and the smallest that promises enough.
mod predict;
pub use predict::{Forecast, Traffic};
