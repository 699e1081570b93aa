use super::Output;
use anyhow::Result;
use dwell_report::csv::Rows;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The file of what a run lists besides its report, such as samples, if one is requested. If it cannot be written any
/// more, the run ends as if it was stopped then, so that this costs no report.
pub(crate) struct RowFile {
    rows: Option<Rows<Output>>,
    /// Why the file was given up.
    failure: Option<io::Error>,
}

impl RowFile {
    /// Opens the file at once and writes the names of the columns.
    pub(crate) fn open<C: AsRef<[u8]>>(asked: Option<&Path>, columns: impl IntoIterator<Item = C>) -> Result<Self> {
        Ok(Self { rows: Output::rows(asked, columns)?, failure: None })
    }

    /// Whether rows are to be written.
    pub(crate) fn is_open(&self) -> bool {
        self.rows.is_some()
    }

    /// Writes to the file, unless it was given up. A pipe whose reader has gone ends the run at once.
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut Rows<Output>) -> io::Result<()>) -> Result<()> {
        match self.rows.as_mut().map_or(Ok(()), write) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                self.rows = None;
                self.failure = Some(error);
                Ok(())
            }
            other => Ok(other?),
        }
    }

    /// Whether the run is to end.
    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// A warning for the report that the run ended early.
    pub(crate) fn warning(&self) -> Option<String> {
        self.failure.as_ref().map(|error| format!("{error}; stopped there: the report covers what was read until then"))
    }

    /// The rows that are still to be completed.
    pub(crate) fn into_rows(self) -> Option<Rows<Output>> {
        self.rows
    }
}
