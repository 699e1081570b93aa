//! Bytes to headers.
