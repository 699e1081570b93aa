//! BLOOMTIME: plain Bloom filters in a window of equally wide buckets; the youngest match counts.
//!
//! A competitor of the time-spaced Bloom filters; biased, and included for comparison.
//!
//! **Answers, Model, State, Cost, Fates, Merge**: those of the [ring of filters](crate::rivals::timebloom), to which this is
//! equivalent: moving the contents of *b* buckets by one and filling *b* filters in turn store the same bits. The
//! longest delay *t*_max = (*b* − 1)*w* must be known beforehand.
//!
//! **Estimate**: the middle of the youngest bucket that matches. False matches bias delays downwards; nothing is
//! deleted and no prior is learnt.
//!
//! **Differs from the paper**: which we know only through porcino23. That states neither which match counts nor which
//! moment stands for a bucket: we take both from [ALE-U](crate::rivals::ale), to which it likens BLOOMTIME.
//!
//! **Source**: porcino23 §3.4, table 3.2, which describe its reference 15 (`docs/papers/porcino23-timebloom.md`).

use crate::parts::filters::GivenFilters;
use crate::rivals::timebloom::{self, Params, Policy, Prior, Reference};
use dwell_types::Nanos;

/// The least memory for [`budget`].
pub const LEAST_BYTES: usize = timebloom::LEAST_BYTES + Prior::UNIFORM_BYTES;

/// The window for delays up to `longest` that fits this many bytes, without the counts of the series; `None` if they
/// are too few. `rate`: requests per second, if known.
pub fn budget(bytes: usize, longest: Nanos, rate: Option<f64>, given: &GivenFilters) -> Option<Params> {
    let ring = Params::budget(bytes, longest, rate, given, Prior::Uniform)?;
    Some(Params { policy: Policy::Closest, reference: Reference::SlotMiddle, ..ring })
}

/// The least bytes for [`budget`] of what is given.
pub(crate) fn least_bytes(given: &GivenFilters) -> usize {
    Params::least_bytes(given, &Prior::Uniform)
}
