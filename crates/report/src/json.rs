//! JSON: the report serialised as it is, for programs. The keys are described in `docs/formats/`.

use serde::Serialize;
use std::io::{self, Write};

/// Writes one report, or an array of reports, indented.
pub fn write(report: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *to, report)?;
    writeln!(to)
}

/// Writes one report on one line (JSON Lines); a time series is one call per interval.
pub fn write_line(report: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *to, report)?;
    writeln!(to)
}
