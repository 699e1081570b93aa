//! The fridge: unbiased delays from an array that is too small, by weighing each survivor with its luck.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: an array of *M* slots. A request enters if the hash of its id passes the entry probability *p*; an
//! independent hash chooses its slot, and it overwrites whatever is there. An entry therefore survives each later insertion
//! with probability 1 − 1/*M*, whatever its delay. Assumes that ids of different exchanges are independent under the
//! seeded hash; who knows the seed can break that.
//!
//! **State**: *M* slots of 24 bytes: fingerprint (up to 32 bits), insertion counter (32, wraps), time (48-bit
//! nanoseconds, so delays up to ±39 h), time from the first to the last equal request (32 bits of 64 ns), tag 16, tokens
//! 2 × 8, probability 8, flags 8. Beside them a profile of 96 × 8 bytes by which *p* is found, and the counts of each
//! series.
//!
//! **Cost**: one multiplication per event; one slot touched per event that passes the gate.
//!
//! **Estimate**: a sample that saw *x* insertions strictly between its request and its response was sampled with
//! probability *q* = *p* (1 − 1/*M*)^*x*; its weight is 1/*q*. *x* counts requests that were *inserted*, so *p* may change
//! while running: a response, too, must pass the gate, and each sample is weighed by the smaller *p* of the two. Unbiased
//! for the number of exchanges in every
//! set of delays; variance Σ(1/*q* − 1) over exchanges, estimated by Σ(1/*q*² − 1/*q*) over samples. A false match (another
//! request's fingerprint) has probability 2^−bits per response that has no entry of its own.
//!
//! Equal requests: the second one re-stamps the counter, so the weight is that of the last request, and the first one's
//! time is kept beside it. When the first was overwritten in between, nothing tells that there was one: the sample then
//! looks unambiguous. A repeat that arrives after *p* was lowered may be turned away while its entry stays.
//!
//! **Product limit** (`km`): responses that do not find their entry count, too: they were open for longer than the entry that is
//! there. What is lost is then replaced by what is known of those that lasted as long, and not by the survivors' weights
//! alone ([`crate::Risk`], `docs/papers/product-limit.md`).
//!
//! **Merge**: samples of fridges over disjoint traffic are simply put together; slots are not mergeable.
//!
//! **Differs from the paper**: *x* counts inserted requests with factor 1/*M* as in the authors' switch program, where the
//! paper's text counts offered ones with factor *p*/*M* (eq. 3.1); mixing the two is biased, and a test shows it. Entry is
//! decided by the id's hash, not by a coin, so that a response can know whether its request was offered. A match leaves the
//! entry in place.
//!
//! **Source**: zheng22 §3.2 (`docs/papers/zheng22-fridge.md`).

mod censoring;
mod probability;
mod sketch;
mod slot;
pub use probability::{EntryProbability, Profile};
pub use sketch::{Fridge, FridgeError, Params};
