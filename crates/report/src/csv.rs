//! Shared by all CSV formats: RFC 4180 with line feeds; fields are empty where JSON has `null`.

use crate::quantiles::{self, Quantiles};
use dwell_sketch::estimate::Estimate;
use serde::Serialize;
use std::borrow::Borrow;
use std::io::{self, Write};

/// Rows, written one by one.
#[derive(Debug)]
pub struct Rows<W: Write> {
    to: csv::Writer<W>,
}

impl<W: Write> Rows<W> {
    /// Writes the header.
    pub fn new<C: AsRef<[u8]>>(to: W, columns: impl IntoIterator<Item = C>) -> io::Result<Self> {
        let mut rows = Self::without_header(to);
        rows.to.write_record(columns).map_err(io_error)?;
        Ok(rows)
    }

    /// Rows without a header, which is written elsewhere.
    pub fn without_header(to: W) -> Self {
        Self { to: csv::WriterBuilder::new().has_headers(false).from_writer(to) }
    }

    /// Writes a row: a sequence of cells.
    pub fn write(&mut self, row: &impl Serialize) -> io::Result<()> {
        self.to.serialize(row).map_err(io_error)
    }

    /// Flushes the buffer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Flushes the buffer and returns the writer; without this call, buffered rows may be lost without an error.
    pub fn finish(self) -> io::Result<W> {
        self.to.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// The underlying I/O error, so that a closed pipe can still be recognised.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A column: its name, and its cell of a row.
pub type Column<R, Cell = String> = (&'static str, fn(&R) -> Cell);

/// Writes a header and rows.
pub fn write<R, const N: usize>(
    columns: [Column<R>; N],
    rows: impl IntoIterator<Item = impl Borrow<R>>,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut to = Rows::new(to, columns.map(|(name, _)| name))?;
    for row in rows {
        to.write(&columns.map(|(_, cell)| cell(row.borrow())).as_slice())?;
    }
    to.flush()
}

/// The cell of a value; empty if there is none. That of a number parses to the same number.
pub fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The cells of an estimate: value, low, high.
pub(crate) fn ends<T: ToString>(estimate: Option<Estimate<T>>) -> [String; 3] {
    estimate.map_or_else(Default::default, |e| [e.value, e.low, e.high].map(|end| end.to_string()))
}

/// The columns of a row with delays: `first`, then `ends` and the quantiles in nanoseconds, three each, then `last`.
pub(crate) struct Columns<'a, R> {
    pub(crate) first: &'a [Column<R>],
    pub(crate) ends: &'a [Column<R, [String; 3]>],
    pub(crate) quantiles: fn(&R) -> Quantiles,
    pub(crate) last: &'a [Column<R>],
}

impl<R> Columns<'_, R> {
    pub(crate) fn names(&self) -> Vec<String> {
        let names = |columns: &[Column<R>]| columns.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
        let estimates = self.ends.iter().map(|&(name, _)| name).chain(quantiles::names());
        let ends = estimates.flat_map(|name| ["", "_low", "_high"].map(|end| format!("{name}{end}_ns")));
        [names(self.first), ends.collect(), names(self.last)].concat()
    }

    pub(crate) fn cells(&self, row: &R) -> Vec<String> {
        let cells = |columns: &[Column<R>]| columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<_>>();
        let quantiles = (self.quantiles)(row).map(ends);
        let ends = self.ends.iter().map(|(_, ends)| ends(row)).chain(quantiles);
        [cells(self.first), ends.flatten().collect(), cells(self.last)].concat()
    }
}
