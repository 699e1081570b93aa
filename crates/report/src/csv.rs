//! Shared by all CSV formats: RFC 4180 with line feeds; fields are empty where JSON has `null`.

use dwell_sketch::estimate::Estimate;
use std::io;

/// The underlying I/O error, so that a closed pipe can still be recognised.
pub(crate) fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// The cells of an estimate: value, low, high.
pub(crate) fn ends<T: ToString>(estimate: Option<Estimate<T>>) -> [String; 3] {
    estimate.map_or_else(Default::default, |e| [e.value.to_string(), e.low.to_string(), e.high.to_string()])
}
