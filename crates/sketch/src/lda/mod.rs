//! The Lossy Difference Aggregator: mean and spread of the one-way delay from two small arrays, one at each point.
//!
//! **Answers**: packets sent, received and lost; mean and standard deviation of the one-way delay of those that
//! arrived, in nanoseconds, with intervals, and the effective sample size.
//!
//! **Model**: both points see the same packets under the same ids, except for lost ones, within an interval that both
//! agree on. Assumes that ids of different packets are independent under the seeded hashes; an attacker who knows the
//! seed can spoil every cell. A clock offset of *e* shifts the mean by exactly *e*, undetectably. Packets that only one
//! point counts in this interval spoil their cells as lost ones do; order does not matter. Each packet that the receiver
//! sees twice hides one loss ([`OneWay::surplus`] estimates how many).
//!
//! **State**: *n* banks of cells. A cell has 48, 56, 72 or 128 bits ([`CellSize`]): a sum of times of 24, 32, 40 or 64
//! bits, and the number of packets and the XOR of their digests, of 12, 12, 16 or 32 bits each. Sums and counts are
//! modular. A 64-bit counter per bank, and one of all packets. `cells × bits/8 + 8 (n + 1)` bytes; the paper's cell has
//! 72 bits, a count of 32 and a sum of 40.
//!
//! **Cost**: one hash per packet, and one cell update per sampled packet.
//!
//! **Estimate**: a hash samples a packet into bank *k* with probability *p*ₖ; the position of its upper half within the
//! bank's range selects the row, and the lower half is the digest. A cell is usable if both points have the same count
//! and digest there; then the difference of its sums is the sum of its packets' delays. The mean is the sum over all
//! usable cells divided by their number of packets *S*, the effective sample size, with E\[*S*\] = *R* Σ *p*ₖ (1 −
//! *p*ₖ/*m*ₖ)^*L* for *R* packets received and *L* lost. Every packet that arrived is equally likely to be in a usable
//! cell, of whatever bank, so this weights all packets alike and is unbiased; its standard error is *σ* √((1 −
//! *S*/*R*)/*S*). The standard deviation comes from the spread between rows: Σ (*D* − *n* *μ*)²/*n* / (*M* − 1) over
//! the *M* usable cells, or as in the paper from neighbouring rows ([`OneWay::std_by_paper`]).
//!
//! Modular fields are resolved as follows: a count is the candidate nearest to the mean of its bank, and all of them
//! must sum up to the bank's total; a sum is the candidate nearest to the prediction from the sparser banks. With sums
//! of *b* bits the mean delay, including the clock offset, may differ from the expected one ([`Lda::since_about`]; else
//! zero) by up to 2^(*b*−1) ns over the packets of a cell of the sparsest bank, and the deviations may be up to
//! 2^(*b*−1)/6 ns over the root of the packets of a cell of the densest. A bank whose counts do not add up, or whose
//! deviations fill the range, is not used, and is counted as such. Two cells with different packets pass for equal with
//! probability 2^−digest bits, if their counts agree.
//!
//! **Merge**: cell by cell; exactly the sketch that would have seen both streams.
//!
//! **Differs from the paper**: digests, so that reordering at the edges of the interval does not count as delay; any
//! probabilities, not only powers of two; any number of rows per bank; [`Params::budget_for`] chooses both, where the
//! paper uses two banks of equal size; sums narrower than their values, which leaves more cells in the same bytes; the
//! number of lost packets is counted, not estimated, unless packets are duplicated.
//!
//! **Source**: kompella12 §III (`docs/papers/kompella12-lda-mplane.md`); digests: sanjuas11 §2.3.2.

// Banks: the range of hashes that each samples.
mod bank;
// Packed arrays of cells.
mod cells;
pub use cells::CellSize;
// Parameters: banks, rows and probabilities.
mod params;
pub use params::{Bank, LdaError, Params};
// The best banks for a budget and a range of losses.
mod budget;
pub use budget::Expected;
// Predicted errors, and the smallest budget for a given error.
mod predict;
// The sketch kept at one point.
mod sketch;
pub use sketch::Lda;
// Combines two sketches into an estimate.
mod estimate;
pub use estimate::OneWay;
pub(crate) use estimate::surplus;
// Serialisation.
mod codec;
