//! What must hold for every input, whatever it is. The targets in `fuzz_targets/` make inputs of raw bytes and call these.

pub mod capture;
pub mod headers;
pub mod lda;
pub mod lds;
pub mod messages;
pub mod pair;
pub mod store;
