//! What all CSV forms share: they are RFC 4180 with line feeds, empty where JSON has `null`.

use std::io;

/// The writer's own error, so that a closed pipe stays recognisable.
pub(crate) fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
