//! Columns of text: usually the first one left-aligned, the others right-aligned.

use crate::text;
use std::io::{self, Write};

/// Spaces between two columns.
const GAP: usize = 2;

/// Rows of cells; each column is as wide as its widest cell.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    rows: Vec<Row>,
}

#[derive(Debug)]
enum Row {
    Cells(Vec<String>),
    /// A line of its own, which does not affect the column widths.
    Heading(String),
}

impl Grid {
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let plain = |cell: String| text::plain(&cell).into_owned();
        self.rows.push(Row::Cells(cells.into_iter().map(|cell| plain(cell.into())).collect()));
    }

    pub(crate) fn heading(&mut self, text: String) {
        self.rows.push(Row::Heading(text::plain(&text).into_owned()));
    }

    /// The width of the widest row of cells.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            let Row::Cells(cells) = row else { continue };
            widths.resize(widths.len().max(cells.len()), 0);
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(text::width(cell));
            }
        }
        widths
    }

    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        self.write_aligned(|column, _| column == 0, to)
    }

    /// Like [`Self::write`], but with the last column left-aligned, for words instead of numbers.
    pub(crate) fn write_left(&self, to: &mut impl Write) -> io::Result<()> {
        self.write_aligned(|column, last| column == 0 || column == last, to)
    }

    /// Like [`Self::write`], but with the first column right-aligned, for numbers instead of words.
    pub(crate) fn write_right(&self, to: &mut impl Write) -> io::Result<()> {
        self.write_aligned(|_, _| false, to)
    }

    /// `is_left` tells of a column and the last one whether it is left-aligned.
    fn write_aligned(&self, is_left: impl Fn(usize, usize) -> bool, to: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        let last = widths.len().saturating_sub(1);
        for row in &self.rows {
            match row {
                Row::Heading(text) => writeln!(to, "{text}")?,
                Row::Cells(cells) => {
                    let mut line = String::new();
                    for (column, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
                        let gap = if column == 0 { 0 } else { GAP };
                        line.push_str(&" ".repeat(gap));
                        let blanks = text::blanks(cell, width);
                        match is_left(column, last) {
                            true => line.extend([cell, blanks.as_str()]),
                            false => line.extend([blanks.as_str(), cell]),
                        }
                    }
                    writeln!(to, "{}", line.trim_end())?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_in_its_line() {
        let mut grid = Grid::default();
        grid.heading("a\nb".into());
        grid.row(["c\r\u{1b}[2J", "\u{9b}d"]);
        let mut text = Vec::new();
        grid.write(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "a?b\nc??[2J  ?d\n");
    }

    #[test]
    fn letters_take_the_columns_of_a_terminal() {
        let mut grid = Grid::default();
        grid.row(["東京", "1"]);
        grid.row(["e\u{301}", "2"]);
        grid.row(["µ²–…", "3"]);
        let mut text = Vec::new();
        grid.write(&mut text).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "東京  1\ne\u{301}     2\nµ²–…  3\n");
    }

    /// Wider than a format string can pad.
    #[test]
    fn cells_may_be_of_any_length() {
        let mut grid = Grid::default();
        let long = "a".repeat(70_000);
        grid.row([&long, "b", "c"]);
        grid.row(["d", &long, "e"]);
        let mut text = Vec::new();
        grid.write(&mut text).unwrap();
        let blanks = " ".repeat(69_999);
        assert_eq!(String::from_utf8(text).unwrap(), format!("{long}  {blanks}b  c\nd{blanks}  {long}  e\n"));
    }
}
