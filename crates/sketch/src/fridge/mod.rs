//! The fridge: unbiased delays from an array that is too small, by weighing each survivor with its luck.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: an array of *M* slots. A request enters if the hash of its id passes the entry probability *p*; an
//! independent hash chooses its slot, and it overwrites whatever is there. An entry therefore survives each later
//! insertion with probability 1 − 1/*M*, whatever its delay. Assumes that ids of different exchanges are independent
//! under the seeded hash; who knows the seed can break that.
//!
//! **State**: *M* slots of 5 bytes where there are up to 2¹⁶ slots and 4 series: state 3 bits, fingerprint 16 or ⌈log₂
//! *M*⌉, the number of the series ⌈log₂ tags⌉, and time 19 to 26. Rules whose requests carry tokens (8 bits) take 6, and
//! fridges that the caches do not hold, where time has 27 bits and more, 7 or 8. What all entries share or few have is
//! beside them: for every 32 slots 4 bytes, the time up to which theirs can be read; 32 or 64 checkpoints of 8 bytes by
//! which the insertions since an entry are counted; the last 16 changes of *p*; where repeats count, 12 bytes for every
//! 64 slots for entries that were repeated. Altogether 5.5 bytes per slot at 4,096 slots. Then a profile of 96 × 8 bytes
//! by which *p* is found, and the counts of each series.
//!
//! **Cost**: one multiplication per event; one slot touched per event that passes the gate, and the 32 around it when
//! half a second has passed there, or half a minute where the caches do not hold them (with an expiry of 128 s).
//!
//! **Estimate**: a sample that saw *x* insertions strictly between its request and its response was sampled with
//! probability *q* = *p* (1 − 1/*M*)^*x*; its weight is 1/*q*. *x* counts requests that were *inserted*, so *p* may
//! change while running: a response, too, must pass the gate, and each sample is weighed by the smaller *p* of the two.
//! Unbiased for the number of exchanges in every set of delays; variance Σ(1/*q* − 1) over exchanges, estimated by
//! Σ(1/*q*² − 1/*q*) over samples. *x* is interpolated between checkpoints, which are *M*/8 insertions apart (*M*/4
//! below 2,048 slots), and stops at 8 *M*. A false match (another request's fingerprint) has probability 2^−bits per
//! response that passes the gate and has no entry of its own.
//!
//! Delays are known to half a tick ([`Meter::rounding`](crate::Meter::rounding)), a microsecond or two with an expiry of
//! 128 s, and from half a second on to 2⁻¹² of their length. What is older than the expiry is given up where somebody comes by, and never looks younger.
//!
//! Equal requests: the second one counts, so the weight is that of the last request, and the first one's time is kept
//! beside it. When the first was overwritten in between, or the place for its repeats holds another entry's, nothing
//! tells that there was one: the sample then looks unambiguous. A repeat that arrives after *p* was lowered may be
//! turned away while its entry stays.
//!
//! **Product limit** (`km`): responses that do not find their entry count, too: they were open for longer than the
//! entry that is there. What is lost is then replaced by what is known of those that lasted as long, and not by the
//! survivors' weights alone ([`crate::Risk`], `docs/papers/product-limit.md`).
//!
//! **Merge**: samples of fridges over disjoint traffic are simply put together; slots are not mergeable.
//!
//! **Differs from the paper**: *x* counts inserted requests with factor 1/*M* as in the authors' switch program, where
//! the paper's text counts offered ones with factor *p*/*M* (eq. 3.1); mixing the two is biased, and a test shows it.
//! Entry is decided by the id's hash, not by a coin, so that a response can know whether its request was offered. A
//! match leaves the entry in place.
//!
//! **Source**: zheng22 §3.2 (`docs/papers/zheng22-fridge.md`).

mod params;
mod sketch;
// Of a fridge.
mod codec;
mod counts;
mod history;
mod repeated;
mod slot;
// How p is found.
mod expected;
mod probability;
// What the product limit keeps.
mod censoring;
mod scale;
pub use expected::Traffic;
pub use params::{FridgeError, Params};
pub use probability::{EntryProbability, Profile};
pub use sketch::Fridge;
