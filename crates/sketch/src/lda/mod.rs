//! The Lossy Difference Aggregator: mean and spread of the one-way delay from two small arrays, one at each point.
//!
//! **Answers**: packets sent, received and lost; mean and standard deviation of the one-way delay of those that
//! arrived, in nanoseconds, with intervals, and the number of packets that this rests on.
//!
//! **Model**: both points see the same packets under the same ids, less those that are lost, within an interval that
//! both agree on. Assumes that ids of different packets are independent under the seeded hashes; who knows the seed can
//! spoil every cell. Clocks that differ by *e* shift the mean by exactly *e*, and nothing here can tell. Packets that
//! only one point counts in this interval spoil the cells that they fall into, as lost ones do; order does not matter.
//! Packets that the receiver sees twice hide as many losses ([`OneWay::surplus`] says how many, roughly).
//!
//! **State**: *n* banks of cells. A cell has 48, 56, 72 or 128 bits ([`CellSize`]): a sum of times of 24, 32, 40 or 64
//! bits, the number of packets and an exclusive or of their digests, of 12, 12, 16 or 32 bits each. Sums and counts are
//! modular. A 64-bit counter per bank, and one of all packets. `cells × bits/8 + 8 (n + 1)` bytes; the paper's cell has
//! 72 bits, a count of 32 and a sum of 40.
//!
//! **Cost**: one hash per packet, one cell touched per packet that is sampled.
//!
//! **Estimate**: a hash samples a packet into bank *k* with probability *p*ₖ; where its upper half lies among those of
//! the bank chooses the row, and the lower half is the digest. A cell is usable if both points have the same count and
//! digest there; then the difference of its sums is the sum of its packets' delays. The mean is the sum over all usable
//! cells by their number of packets *S*, the effective sample size, with E\[*S*\] = *R* Σ *p*ₖ (1 − *p*ₖ/*m*ₖ)^*L* for
//! *R* packets received and *L* lost. Every packet that arrived has the same chance to be in a usable cell, whatever
//! bank that is in, so this weighs all packets alike and is unbiased; its standard error is *σ* √((1 − *S*/*R*)/*S*).
//! The standard deviation comes from the spread between rows: Σ (*D* − *n* *μ*)²/*n* / (*M* − 1) over the *M* usable
//! cells, or as in the paper from neighbouring rows ([`OneWay::std_by_paper`]).
//!
//! What modular fields leave open is filled in from what is known: a count is the one nearest to the mean over its
//! bank, whose total must come out; a sum is the one nearest to what the sparser banks predict. With sums of *b* bits
//! the mean delay (and the clocks' offset) may be off from what is expected ([`Lda::since_about`]; else zero) by up to
//! 2^(*b*−1) ns over the packets of a cell of the sparsest bank, and the deviations up to 2^(*b*−1)/6 ns over the root
//! of the packets of a cell of the densest. A bank whose counts do not add up, or whose deviations fill the range, is
//! not used, and that is counted. A pair of cells that saw different packets passes for equal with probability
//! 2^−digest bits, if their counts agree.
//!
//! **Merge**: cell by cell; exactly the sketch that had seen both streams.
//!
//! **Differs from the paper**: digests, so that what is reordered at the interval's edges is not counted as delay;
//! probabilities of any kind beside powers of two; rows of any number per bank; [`Params::budget`] finds both, where
//! the paper uses two banks of equal size; sums that are narrower than what they count, which leaves more cells in the
//! same bytes; the number of lost packets is counted, not estimated, where none is doubled.
//!
//! **Source**: kompella12 §III (`docs/papers/kompella12-lda-mplane.md`); digests: sanjuas11 §2.3.2.

// Which packets a bank takes.
mod bank;
// Cells as bytes.
mod cells;
pub use cells::CellSize;
// Banks, rows and probabilities.
mod params;
pub use params::{Bank, Params, ParamsError};
// The banks that suit a range of losses.
mod budget;
pub use budget::Expected;
// What a sketch promises before it sees a packet, and the smallest that promises enough.
mod predict;
// The sketch of one point.
mod sketch;
pub use sketch::{Lda, PairError};
// Two of them to an answer.
mod estimate;
pub use estimate::OneWay;
pub(crate) use estimate::surplus;
// A sketch as bytes.
mod codec;
