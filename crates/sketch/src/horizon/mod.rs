//! Exact while it fits; then every id waits as long as its hash says: the default.
//!
//! **Answers**: every exchange while all open requests fit the memory; after that, weighted samples and, for the
//! product limit, what became of the responses that gave none.
//!
//! **Model**: a table of the open requests. The hash of an id is compared with a threshold that falls with the age of
//! the request, so that each id has its horizon: the age at which its hash no longer passes. A request beyond its
//! horizon is let go. While everything fits the threshold admits everything at any age, up to the expiry. When the
//! table is full, what is beyond its horizon goes, and if that is not enough, the thresholds fall to those with the
//! least predicted variance for which there is room (`curve`, `chooser`): a table of answered requests, which are
//! short guests, keeps the few slow ones whole; among orphans that wait for ever, long waits are sampled sparsely and
//! short ones densely. The thresholds rise again if traffic changes. Assumes that ids of different exchanges are
//! independent under the seeded hash; who knows the seed can break that.
//!
//! **State**: a table of buckets, at most 15 of 16 slots occupied, and 8 bytes. A slot has 12 bytes in small memory and
//! 13 in 64 MiB, more with many series or tokens: one byte beside it, 48 bits of the time, 14 by which its horizon is
//! told, and so many of the id that an absent one is taken for one that is there with probability 2⁻²⁸ at most. A
//! response without request then gives a delay, in one case of so many. A request that is repeated takes a second slot.
//! In memory that the caches do not hold requests are in plain entries of the exact table at first ([`Roomy`]).
//! Besides: the thresholds; per series 31 counts and the sums of the product limit; what is known of delays by octave.
//!
//! **Cost**: one multiplication per event. For events that pass the youngest threshold one look at two times eight
//! bytes, and at one entry if it is found or put in; a walk over the table whenever an eighth of its room, or more, was
//! put in.
//!
//! **Estimate**: an exchange of delay *d* is found if its id passes the threshold of that age, whatever else happens:
//! *q*(*d*) is known, and a sample has weight 1/*q*(*d*). A response that finds nothing, or something beyond its
//! horizon, is censored there. Horizons depend on ids alone, and not on load, so the product limit by age is unbiased
//! under bursts, too ([`crate::Risk`], `docs/papers/horizon.md`). How far thresholds fall depends on how many requests
//! wait, not on which of them. When they rise, what came before was subject to the lower ones: at an age the new one
//! counts once all requests of that age are younger than the change.
//!
//! A request that repeats an id within its horizon is seen as such, beyond it is a new one. Repeats that are seen stand
//! for those that are not ([`crate::Sample::repeat_weight`]).
//!
//! **Merge**: samples and risks of tables over disjoint traffic are simply put together.
//!
//! **Differs from the paper**: no paper has this. Thresholds by hash are those of adaptive sampling for distinct
//! counts.

mod chooser;
mod curve;
mod roomy;
mod sketch;

pub(crate) use roomy::Borrower;
pub use roomy::Roomy;
pub use sketch::{Horizon, HorizonError};
