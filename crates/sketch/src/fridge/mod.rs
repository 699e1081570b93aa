//! The fridge: unbiased delays from an array that is too small, by weighting survivors by inverse probability.
//!
//! **Answers**: a sample of the answered exchanges, each with the number of exchanges that it stands for.
//!
//! **Model**: an array of *M* slots. A request enters if the hash of its id passes the entry probability *p*; an
//! independent hash selects its slot, and it overwrites whatever is there. An entry therefore survives each later
//! insertion with probability 1 − 1/*M*, whatever its delay. Assumes that ids of different exchanges are independent
//! under the seeded hash; whoever knows the seed can break that.
//!
//! **State**: *M* slots of 5 bytes with up to 2¹⁶ slots and 4 series: state 3 bits, fingerprint 16 or ⌈log₂ *M*⌉, the
//! number of the series ⌈log₂ tags⌉, and time 19 to 26. Rules whose requests carry tokens (8 bits) take 6, and fridges
//! larger than the caches, where time has 27 bits and more, 7 or 8. What entries share or few of them have is stored
//! separately: for every 32 slots 4 bytes, the time up to which theirs can be read; 48 checkpoints of 8 bytes (40 below
//! 2,048 slots), to count the insertions since an entry; the last 16 changes of *p*; where repeats count, 12 bytes for
//! every 64 slots for repeated requests. Altogether 5.5 bytes per slot at 4,096 slots. In addition 1 KiB
//! to find *p* (a profile of the delays, and a few requests that are followed to their end, `scouts.rs`), and the counts
//! of each series.
//!
//! **Cost**: one multiplication per event; one slot accessed per event that passes the gate, and the 32 around it every
//! half second, or every half minute in fridges larger than the caches (with an expiry of 128 s).
//!
//! **Estimate**: a sample with *x* insertions strictly between its request and its response was sampled with
//! probability *q* = *p* (1 − 1/*M*)^*x*; its weight is 1/*q*. *x* counts requests that were *inserted*, so *p* may
//! change while running: a response, too, must pass the gate, and each sample is weighted by the smaller *p* of the
//! two. Unbiased for the number of exchanges in every set of delays; variance Σ(1/*q* − 1) over exchanges, estimated by
//! Σ(1/*q*² − 1/*q*) over samples. *x* is interpolated between checkpoints: the latest eight are *M*/1024 insertions
//! apart (*M*/256 below 2,048 slots), eight more are four times as far apart, and so on up to 8 *M*, where *x* stops. A
//! false match (another request's fingerprint) has probability 2^−bits per response that passes the gate and has no
//! entry of its own.
//!
//! Delays are accurate to half a tick ([`Meter::rounding`](crate::Meter::rounding)), a microsecond or two with an
//! expiry of 128 s, and from half a second on to 2⁻¹² of their length. Entries older than the expiry are cleared when
//! their neighbourhood is accessed, and never look younger.
//!
//! Repeated requests: the weight is that of the last request, and the first one's time is kept separately. If the first
//! was overwritten in between, or the place for its repeats is taken by another entry's, the repetition goes unnoticed:
//! the sample then looks unambiguous. A repeat that arrives after *p* was lowered may be turned away while its entry
//! stays.
//!
//! **Product limit** (`km`): responses that do not find their entry count, too: their exchanges were open for longer
//! than the entry in their slot. What is lost is then replaced by the known delays of exchanges that lasted as long,
//! and not by the survivors' weights alone ([`crate::Risk`], `docs/papers/product-limit.md`).
//!
//! **Merge**: samples of fridges over disjoint traffic are simply added up; slots are not mergeable.
//!
//! **Differs from the paper**: *x* counts inserted requests with factor 1/*M* as in the authors' switch program, where
//! the paper's text counts offered ones with factor *p*/*M* (eq. 3.1); mixing the two is biased, and a test shows it.
//! Entry is decided by the id's hash, not at random, so that a response can know whether its request was offered. A
//! match leaves the entry in place.
//!
//! **Source**: zheng22 §3.2 (`docs/papers/zheng22-fridge.md`).

// The parameters.
mod params;
pub use params::{FridgeError, Params};
// The slots and their entries.
mod slot;
// What entries need not store: the insertions since a moment, and the p of that time.
mod history;
// The data of repeated requests.
mod repeated;
// Counts of the events of a batch.
mod tally;
// The entry probability p, and the search for it.
mod probability;
pub use probability::EntryProbability;
pub(crate) use probability::Profile;
// State of the product limit: the scale on which insertions count, and the responses by their place on it.
mod censoring;
mod scale;
// The fridge, which combines all of these.
mod sketch;
pub use sketch::Fridge;
pub(crate) use sketch::decay;
// Its serialization.
mod codec;
// Predicted errors of a fridge in given traffic.
mod expected;
pub use expected::Traffic;
