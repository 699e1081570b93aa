//! Several fridges with different lifetimes side by side, and one weight for what any of them keeps.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: an id is admitted by its hash with probability *R* = Σ*r*ₖ, assigned to fridge *k* by an independent one
//! with probability *r*ₖ/*R*, and to a slot among that fridge's *M*ₖ by a third one, where it overwrites whatever is
//! there. So an entry of fridge *k* survives *M*ₖ/*r*ₖ offered requests on average, and each *k* suits other delays
//! ([`Ladder`]). Lifetimes are given, or found while the fridges run ([`Mis::adaptive`]). Assumes that ids of different
//! exchanges are independent under the seeded hash; whoever knows the seed can break that.
//!
//! **State**: Σ*M*ₖ slots of 24 bytes. Fingerprint (up to 32 bits), insertion counter (32, wraps), time 48, time from
//! the first to the last equal request 40, tag 16, tokens 2 × 8, state 8. In addition the counts of each
//! series, and if lifetimes are searched some 2.1 KiB: weights of delays in half octaves, a few requests that are
//! followed to their end (`scouts.rs`), and up to four ladders of which entries may be left.
//!
//! **Cost**: one multiplication per event; two more and one slot accessed per event that passes the gate.
//!
//! **Estimate**: balance heuristic. One counter serves all fridges: *z* admitted requests came strictly between a
//! request and its response, into any fridge. Each of them would have overwritten it with probability *r*ₖ/(*R* *M*ₖ),
//! had it been in fridge *k*. So it was sampled with probability *q* = Σ*r*ₖ (1 − *r*ₖ/(*R* *M*ₖ))^*z*, since it can be
//! in one fridge only; its weight is 1/*q*, whichever it was in. Unbiased for the number of exchanges in every set of
//! delays; variance Σ(1/*q* − 1), never above that of its best fridge alone with the same *r*ₖ. False matches and equal
//! requests: as in the fridge. Separate counters for the fridges would not do: the weight depends on what happened in
//! the others.
//!
//! **Lifetimes that change**: from time to time (when twice as many requests were offered, then after a million or 64
//! of the longest lifetimes) the ladder with the least predicted variance is computed, and adopted if it is a tenth
//! better. Entries stay where they are. An exchange is sampled if its request entered by the ladder of its time and was
//! not overwritten by that, nor by later ones, in the slot where it is; and if its response passes the present gate. So
//! 1/*q* is a sum over all slots in which it may have been. Until four times the 99th percentile of the delays has
//! passed, the longest lifetime is no less than all that was offered so far, since delays longer than entries survive
//! are seen by the few requests that are followed alone.
//!
//! **Merge**: samples over disjoint traffic are simply added up.
//!
//! **Differs from the paper**: it weights each fridge's count of each delay by the inverse of a variance estimated from
//! the same samples, which is biased ([`by_inverse_variance`]; `tests/sampling_statistics.rs` shows it). With *z* = all
//! offered requests this would be 1/Σ*r*ₖ (1 − *r*ₖ/*M*ₖ)^*z*; counting only admitted ones lets a gate turn away the
//! rest without a lookup. One slot array is divided unequally, where the paper halves it.
//!
//! **Source**: zheng22 §4.2 (`docs/papers/zheng22-fridge.md`); balance heuristic: E. Veach, L. J. Guibas, *Optimally
//! combining sampling techniques for Monte Carlo rendering*, SIGGRAPH 1995.

// Lifetimes of several fridges, and the weights that follow from them.
mod ladder;
pub use ladder::{Ladder, LadderError, Rung};
// Fridges that change while they run.
mod eras;
// The search for the lifetimes with the least predicted variance, and when to search.
mod search;
mod tuning;
// The fridges and their entries.
mod sketch;
pub use sketch::{Mis, MisError};
// The paper's weights instead, for comparison.
mod ivw;
pub use ivw::by_inverse_variance;
