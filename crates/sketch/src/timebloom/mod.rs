//! Time-spaced Bloom filters: the slot of time in which a request was seen, from a few bits per request.
//!
//! **Answers**: the delay of every answered exchange, weight 1, known to about a quarter of a slot; now and then that
//! of a wrong slot.
//!
//! **Model**: time is cut into slots of Δ = *t*_max/(*b* − 1), each of *b* filters covers one, in turn. A request goes
//! into the filter of its slot; a response asks all filters, and a [`Policy`] chooses among those that match. No delay
//! exceeds *t*_max ([`crate::Exchanges::expiry`]): one up to Δ longer may still be found and counts as one of the last
//! slot, any longer one is lost or matched falsely. Ids of different exchanges differ. Times may jump ahead; one that
//! goes back counts as the beginning of the present slot.
//!
//! **State**: *n* rows of *b* bits, *N* = *nb* in all: bit *i* of all filters side by side (rows rounded up to a power
//! of two below 64 bits and to a multiple of 64 above: choose *b* so). Beside them 4*b* bytes of set bits per filter,
//! 4*b* of matches, the prior (32 bytes per point; learnt, 57 cells of 48), and 112 bytes per series; from 256 KiB on,
//! a 64th of the rows again.
//!
//! **Cost**: *k* words written per request, *k* rows read per response, whatever *b* up to 64; *k* = (*n*/*m*) ln 2,
//! rounded, for *m* = λΔ requests per slot. Emptying a filter touches its word in every row: 1.4 *k* words per request
//! on average, all at the turn of a slot; large ones pass over 64 rows that hold nothing of it. At 64 KiB, *k* = 8 and
//! *b* = 64: 18 to 27 M observations per second where a fridge does 38 to 43 (`cargo bench -p dwell-sketch`, shared
//! processors). A fridge touches one place per observation; eight are what the definition asks for. [`Policy::Bayes`]
//! takes half as long again or twice as long, [`Prior::Learnt`] four times.
//!
//! **Estimate**: the true slot gives a mean error of [`slot_middle_error`] or [`conditional_mean_error`] slots when
//! delays are uniform. A foreign filter matches with [`false_positive_probability`]; a response sees (*b* − 1) times
//! that many false candidates. No choice is unbiased: delays are drawn to the prior's center. Where no request was
//! seen, each response gives a delay with probability 1 − (1 − *fp*)^*b*; nothing tells it from a true one.
//!
//! **Fates**: `seen`, `responses` and `unmatched` are exact. A request cannot be deleted, so one that is answered twice
//! gives two samples, a repeated one is put in again and may give either delay, nothing is counted as `ambiguous`, and
//! [`dwell_types::Repeat`] makes no difference. `matched` counts responses that found a filter, at most as many as
//! there were requests in that turn of the ring; what is left of a turn counts as `pending` for one to two turns and
//! `expired` from then on. A bit has no tag: samples carry that of the response.
//!
//! **Merge**: samples of rings over disjoint traffic are simply put together. Rings are not merged.
//!
//! **Differs from the paper**: [`Policy::Bayes`]; bins that end at *t*_max; a prior that is learnt; filters share their
//! hash functions and lie side by side; rows come from one 64-bit hash by repeated multiplication.
//!
//! **Source**: porcino23 chapters 3 and 4 (`docs/papers/porcino23-timebloom.md`).

// A distribution of delays that is known.
mod cdf;
pub use cdf::{Cdf, CdfError};
// Slots of time and filters of bits.
mod ring;
pub(crate) use ring::{MOST_HASHES, places};
// From a slot to a delay.
mod reference;
pub use reference::Reference;
// Which of several slots.
mod policy;
pub use policy::Policy;
// A distribution of delays that is found while running.
mod learnt;
// What became of the requests.
mod counts;
pub(crate) use counts::Counts;
// All of it together.
mod sketch;
pub(crate) use sketch::LONGEST;
pub use sketch::{Params, Prior, TimeBloom, TimeBloomError};
// How many filters and hash functions.
mod fit;
pub(crate) use fit::{LEAST_BYTES, LEAST_FILTERS, LEAST_PLACES, fit, fit_filters, hashes};
// What to expect.
mod expected;
pub use expected::{conditional_mean_error, false_positive_probability, slot_middle_error};
