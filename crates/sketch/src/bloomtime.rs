//! BLOOMTIME: plain Bloom filters in a window of equally wide buckets, of which the youngest match is believed.
//!
//! A competitor of the time-spaced Bloom filters; it is biased and here to be compared with.
//!
//! **Answers, Model, State, Cost, Fates, Merge**: as the [ring of filters](crate::timebloom), which this is: moving the
//! contents of *b* buckets by one and filling *b* filters in turn hold the same bits. The longest delay *t*_max =
//! (*b* − 1)*w* must be known beforehand.
//!
//! **Estimate**: the middle of the youngest bucket that matches. False matches draw delays down; nothing is deleted and
//! nothing is learnt.
//!
//! **Differs from the paper**: which we have only as porcino23 retells it. That says neither which match is believed
//! nor which moment stands for a bucket: we take both from [ALE-U](crate::ale), to which it likens BLOOMTIME.
//!
//! **Source**: porcino23 §3.4, table 3.2, which describe its reference 15 (`docs/papers/porcino23-timebloom.md`).

use crate::timebloom::{self, Params, Policy, Prior, Reference};
use dwell_types::Nanos;

/// Bytes of the uniform distribution that a ring keeps.
const PRIOR: usize = 64;
/// What [`budget`] needs at least.
pub const LEAST_BYTES: usize = timebloom::LEAST_BYTES + PRIOR;

/// The window for delays up to `longest` that fits so many bytes, its series' counts not included; `None` if they are
/// too few. `rate`: requests per second, if that is known.
pub fn budget(bytes: usize, longest: Nanos, rate: Option<f64>) -> Option<Params> {
    let (bits, buckets, rate) = timebloom::fit(bytes.checked_sub(PRIOR)?, longest, rate)?;
    Some(params(bits, buckets, rate))
}

/// A window of so many buckets in so many bits, for a rate of requests per second.
pub fn params(bits: u64, buckets: u32, rate: f64) -> Params {
    Params {
        bits,
        filters: buckets,
        rate,
        policy: Policy::Closest,
        reference: Reference::SlotMiddle,
        prior: Prior::Uniform,
    }
}
