//! The heading of a table: its sources, and the time that they cover.

use crate::facts::Span;
use crate::footing::WIDTH;
use crate::text;
use std::io::{self, Write};

/// Writes the sources, with `separator` between them, and the span if there is one.
pub(crate) fn write(sources: &[String], separator: &str, span: Option<Span>, to: &mut impl Write) -> io::Result<()> {
    for line in text::wrap(sources, separator, WIDTH) {
        writeln!(to, "{}", text::plain(&line))?;
    }
    span.map_or(Ok(()), |Span { start, end }| writeln!(to, "{}", text::span(start, end)))
}
