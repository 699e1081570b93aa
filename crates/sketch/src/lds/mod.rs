//! The Lossy Difference Sketch: one-way delays of flows without a table of flows.
//!
//! **Answers**: per queried flow, mean delay and its spread in nanoseconds, packets and bytes sent, packets lost; with
//! 95% intervals where possible, and `None` for what is unknown. And the mean delay of all packets.
//!
//! **Model**: both points see the same packets of the same flows under the same ids, except for lost ones, within an
//! interval that both agree on. Assumes that ids of different flows and packets are independent under the seeded
//! hashes; whoever knows the seed can make flows collide. A clock offset of *e* shifts every delay by exactly *e*.
//! [`Comparison::estimate`] assumes nothing about delays; `joint` models the mean delays of flows as independent draws
//! from one distribution.
//!
//! **State**: *R* rows of *C* cells of 128 bits: sum of times modulo 2⁶⁴, digest of 32 bits, packets modulo 2³²; 64
//! bits more with byte sums. 16 *R C* bytes, and 40 per row.
//!
//! **Cost**: one hash of the flow per two rows; per row one of the packet, if there are several cells per flow or the
//! row samples, and one cell update. A packet of weight *w* takes 2 log₂ *w* additions more.
//!
//! **Estimate**: the packets of a flow go to *k* adjacent cells per row, selected by a hash of the packet, so that a
//! loss spoils only one of them. A cell is usable if both points have the same count and digest there: then the
//! difference of its sums is the sum of its packets' delays. Other flows in the cell disturb it, in proportion to their
//! packets.
//! - [`Comparison::estimate`] takes the usable cells with the fewest packets. Biased towards the mean of all flows to
//!   an unknown degree: no interval. Good for flows that are large compared with the others in one of their cells.
//! - [`Comparison::joint`] takes a list of flows and solves for all of them at once; the better the other flows are
//!   known, the better. With numbers of packets known from flow records, its intervals hold in 91 to 98% of flows of
//!   all sizes (`tests/lds.rs`). Without, it decodes them as well, which needs few flows per cell: with 8 flows per
//!   cell it costs a factor of 3 in error; with 80, small flows are lost and `estimate` is better, as it is with
//!   several cells per flow.
//! - Packets: the least of the rows' sums, which other flows can only raise; or, with one cell per flow, decoded. Lost
//!   packets likewise.
//! - Spread: from that between cells of a row, if a flow has several; other flows in the cells raise it. With 16
//!   degrees of freedom its error is 12% even for flows that are alone, and the interval covers that.
//!
//! **Merge**: cell by cell; exactly the sketch that would have seen both streams.
//!
//! **Differs from the paper**: the rule by upper bounds ([`Rule::UpperBound`]), since scaled counts of rows with low
//! sampling rates are small by chance; `joint`; intervals; the offset is drawn per row, as in the text, not once as in
//! its figure 5. `docs/papers/sanjuas11-lds.md` has the list.
//!
//! **Source**: sanjuas11 §2 to §4 (`docs/papers/sanjuas11-lds.md`). The exact twin remembers every packet (`owd`).

// Parameters, and the parameters that fit a budget.
mod params;
pub use params::{LdsError, Params};
mod budget;
// The sketch kept at one point.
mod sketch;
pub use sketch::Lds;
// Serialisation.
mod codec;
// Combines the sketches of two points.
mod compare;
pub(crate) use compare::least;
pub use compare::{Comparison, Figure, FlowEstimate};
// Estimates from the cells with the fewest packets.
mod select;
pub use select::Rule;
// Estimates from all cells at once, and the solver of their equations.
mod joint;
pub use joint::Listed;
mod messages;
// Predicted errors, and the smallest budget for a given error.
mod predict;
pub use predict::{Forecast, Traffic};
