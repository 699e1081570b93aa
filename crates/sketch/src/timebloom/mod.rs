//! Time-spaced Bloom filters.

mod cdf;
mod counts;
mod expected;
mod learnt;
mod policy;
mod reference;
mod ring;
mod sketch;
pub use cdf::{Cdf, CdfError};
pub use expected::{conditional_mean_error, false_positive_probability, slot_middle_error};
pub use policy::Policy;
pub use reference::Reference;
pub use sketch::{Params, Prior, TimeBloom, TimeBloomError};
