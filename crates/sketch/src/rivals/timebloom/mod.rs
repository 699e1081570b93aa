//! Time-spaced Bloom filters: the time slot in which a request was seen, from a few bits per request.
//!
//! **Answers**: the delay of every answered exchange, weight 1, accurate to about a quarter of a slot; occasionally
//! that of a wrong slot.
//!
//! **Model**: time is divided into slots of Δ = *t*_max/(*b* − 1), each covered by one of *b* filters, in turn. A
//! request is inserted into the filter of its slot; a response queries all filters, and a [`Policy`] chooses among
//! those that match. Delays must not exceed *t*_max ([`crate::Terms::expiry`]): one up to Δ longer may still be
//! found and counts as one of the last slot, any longer one is lost or matched falsely. Ids of different exchanges
//! differ. Times may jump ahead; one that goes back counts as the beginning of the present slot.
//!
//! **State**: *n* rows of *b* bits, *N* = *nb* in all: bit *i* of all filters side by side (rows rounded up to a power
//! of two below 64 bits and to a multiple of 64 above: choose *b* so). In addition 4*b* bytes of set bits per filter,
//! 4*b* of matches, the prior (32 bytes per point; learnt, 57 cells of 48), and 112 bytes per series; from 256 KiB on,
//! another 64th of the rows.
//!
//! **Cost**: *k* words written per request, *k* rows read per response, whatever *b* up to 64; *k* = (*n*/*m*) ln 2,
//! rounded, for *m* = λΔ requests per slot. Emptying a filter writes its word in every row: 1.4 *k* words per request
//! on average, all at the end of a slot; large ones skip groups of 64 rows in which it has no bit. At 64 KiB, *k* = 8
//! and *b* = 64: 18 to 27 M observations per second where a fridge does 38 to 43 (`cargo bench -p dwell-sketch`, shared
//! processors). A fridge accesses one place per observation; by definition this method needs eight. [`Policy::Bayes`]
//! takes 1.5 to 2 times as long, [`Prior::Learnt`] four times.
//!
//! **Estimate**: where delays are uniform, the true slot gives a mean error of (*b* − 7/6)/4(*b* − 1) slots by its
//! middle, and of (*b* − 4/3)/4(*b* − 1) by the conditional mean ([`Reference`]). A wrong filter matches with
//! [`false_positive_probability`]; a response has (*b* − 1) times that many false candidates. No choice is unbiased:
//! delays are biased towards the prior's center. If no request was seen, each response gives a delay with probability 1
//! − (1 − *fp*)^*b*, which cannot be told from a true one.
//!
//! **Fates**: `seen`, `responses` and `unmatched` are exact. A request cannot be deleted, so one that is answered twice
//! gives two samples, a repeated one is inserted again and may give either delay, nothing is counted as `ambiguous`,
//! and [`dwell_types::Repeat`] makes no difference. `matched` counts responses that matched a filter, at most as many
//! as there were requests in that turn of the ring; the rest of a turn counts as `pending` for one to two turns and
//! `expired` from then on. Bits have no tag: samples carry that of the response.
//!
//! **Merge**: samples of rings over disjoint traffic are simply added up. Rings are not merged.
//!
//! **Differs from the paper**: [`Policy::Bayes`]; bins that end at *t*_max; a learnt prior; filters share their hash
//! functions and lie side by side; rows are derived from one 64-bit hash by repeated multiplication.
//!
//! **Source**: porcino23 chapters 3 and 4 (`docs/papers/porcino23-timebloom.md`).

// Distributions of delays by their distribution functions.
mod cdf;
pub use cdf::{Cdf, CdfError};
// The ring of Bloom filters, one per time slot.
mod ring;
// The delay that stands for a slot.
mod reference;
pub use reference::Reference;
// The choice among several matching slots.
mod policy;
pub use policy::Policy;
// A distribution of delays that is learnt while running.
mod learnt;
// The expected share of false matches.
pub use crate::parts::filters::false_positive_probability;
// The meter itself.
mod sketch;
pub use sketch::{Params, Prior, TimeBloom};
// The choice of the numbers of filters and hash functions.
mod fit;
pub(crate) use fit::LEAST_BYTES;
use fit::{fit, least_bytes};
