//! Exact while it fits; then each id is kept for as long as its hash determines: the default.
//!
//! **Answers**: every exchange while all open requests fit the memory; after that, weighted samples and, for the
//! product limit, the numbers of responses at risk.
//!
//! **Model**: a table of the open requests. The hash of an id is compared with a threshold that falls with the age of
//! the request, so that each id has its horizon: the age at which its hash no longer passes. A request beyond its
//! horizon is dropped. While everything fits, every id passes at any age up to the expiry. When the table is full,
//! requests beyond their horizons are dropped, and if that is not enough, the thresholds fall to those with the least
//! predicted variance for which there is room (`curve`, `chooser`): if requests are answered, and so leave soon, the
//! few slow ones are all kept; if many are never answered, long waits are sampled sparsely and short ones densely. The
//! thresholds rise again if traffic changes. Assumes that ids of different exchanges are independent under the seeded
//! hash; whoever knows the seed can break that.
//!
//! **State**: a table of buckets, at most 15 of 16 slots occupied, and 8 bytes. A slot takes 12 bytes in small memory
//! and 13 in 64 MiB, more with many series or tokens: one byte beside it, 48 bits of the time, 14 for its horizon, and
//! enough of the id that an absent one is mistaken for a present one with probability 2⁻²⁸ at most. Then a response
//! without request gives a delay. A repeated request takes a second slot. In memory larger than the caches requests are
//! first stored as plain entries of the exact table ([`Roomy`]). In addition: the thresholds; per series 31 counts and
//! the sums of the product limit; a histogram of delays by octave. Where later equal requests are ignored, answered ones
//! keep their slots for a tick, or until they expire ([`dwell_types::Repeat`]), but not beyond their horizons.
//!
//! **Cost**: one multiplication per event. For events that pass the youngest threshold one read of two times eight
//! bytes, and of one entry if it is found or inserted; a scan of the table whenever an eighth of its room, or more, was
//! inserted.
//!
//! **Estimate**: an exchange of delay *d* is found if its id passes the threshold of that age, whatever else happens:
//! *q*(*d*) is known, and a sample has weight 1/*q*(*d*). A response that finds nothing, or something beyond its
//! horizon, is censored there. Horizons depend on ids alone, and not on load, so the product limit by age is unbiased
//! under bursts, too ([`crate::Risk`], `docs/papers/horizon.md`). How far thresholds fall depends on how many requests
//! wait, not on which of them. When they rise, earlier requests were still subject to the lower ones: at each age the
//! new threshold counts once all requests of that age are younger than the change.
//!
//! A repeated request is recognised within the horizon of its id; beyond, it looks new. The repeats that are recognised
//! stand for the others ([`crate::Sample::repeat_weight`]), also where repeated requests are left out.
//!
//! **Merge**: samples and risks of tables over disjoint traffic are simply added up.
//!
//! **Differs from the paper**: no paper has this. Thresholds by hash are those of adaptive sampling for distinct
//! counts.

// The probability that a request is still kept, by its age.
mod curve;
// The choice of these probabilities.
mod chooser;
// The table of open requests.
mod sketch;
pub use sketch::{Horizon, HorizonError};
// The same in memory larger than the caches.
mod roomy;
pub(crate) use roomy::Borrower;
pub use roomy::Roomy;
