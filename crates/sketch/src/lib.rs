//! Observations to answers: streaming delay sketches in bounded memory.

pub mod estimate;
