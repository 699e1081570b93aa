//! Several fridges of different lifetimes side by side, and one weight for what any of them keeps.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: the hash of an id admits it with probability *R* = Σ*r*ₖ, an independent one sends it to fridge *k* with
//! probability *r*ₖ/*R*, and a third one chooses its slot among that fridge's *M*ₖ, where it overwrites whatever is
//! there. So an entry of fridge *k* outlives *M*ₖ/*r*ₖ offered requests on average, and each *k* suits other delays
//! ([`Ladder`]). Lifetimes are given, or found while the fridges run ([`Mis::adaptive`]). Assumes that ids of different exchanges are independent under the seeded hash; who knows the seed can
//! break that.
//!
//! **State**: Σ*M*ₖ slots of 24 bytes. Fingerprint (up to 32 bits), insertion counter (32, wraps), time 48, time from
//! the first to the last equal request 32, tag 16, tokens 2 × 8, state 8, padding 8. The counts of each series come on
//! top, and where lifetimes are found some 1.8 KiB: weights of delays in half octaves, and up to four ladders of which
//! entries may be left.
//!
//! **Cost**: one multiplication per event; two more and one slot touched per event that passes the gate.
//!
//! **Estimate**: balance heuristic. One counter serves all fridges: *z* admitted requests came strictly between a
//! request and its response, into whichever fridge. Each of them had the chance *r*ₖ/(*R* *M*ₖ) to overwrite it, had it
//! been in fridge *k*. So it would have been sampled with probability *q* = Σ*r*ₖ (1 − *r*ₖ/(*R* *M*ₖ))^*z*, since it
//! can be in one fridge only; its weight is 1/*q*, whichever it was in. Unbiased for the number of exchanges in every
//! set of delays; variance Σ(1/*q* − 1), never above that of its best fridge alone with the same *r*ₖ. False matches
//! and equal requests: as in the fridge. A counter of each fridge's own would not do: the weight needs to know what
//! happened in the others.
//!
//! **Lifetimes that change**: from time to time (when twice as many requests were offered, then after a million or 64
//! of the longest lifetimes) the ladder with the least predicted variance is looked for, and taken if that gains a
//! tenth. Entries stay where they are. An exchange is sampled if its request entered by the ladder of its time and was
//! not overwritten by that, nor by those that came after, in the slot where it is; and if its response passes the
//! present gate. So 1/*q* is a sum over all slots in which it may have been. Until four times the 99th percentile of
//! the delays has passed, the longest lifetime is no less than all that was offered so far: what is slower than entries
//! stay is not seen.
//!
//! **Merge**: samples over disjoint traffic are simply put together.
//!
//! **Differs from the paper**: it weighs each fridge's count of each delay with the inverse of a variance estimated
//! from the same samples, which is biased ([`InverseVariance`]; a test shows it). With *z* = all offered requests this
//! would be 1/Σ*r*ₖ (1 − *r*ₖ/*M*ₖ)^*x*; counting the admitted ones instead lets a gate turn away the rest unseen. One
//! slot array is divided unequally, where the paper halves it.
//!
//! **Source**: zheng22 §4.2 (`docs/papers/zheng22-fridge.md`); balance heuristic: E. Veach, L. J. Guibas, *Optimally
//! combining sampling techniques for Monte Carlo rendering*, SIGGRAPH 1995.

mod eras;
mod inverse_variance;
mod ladder;
mod search;
mod sketch;
mod tuning;
pub use inverse_variance::InverseVariance;
pub use ladder::{Ladder, LadderError, Rung};
pub use sketch::{Drawn, Mis, MisError};
