//! Streams with known truth.
