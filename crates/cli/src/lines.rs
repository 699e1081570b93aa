//! Lines of comma-separated values, compressed or not.

use anyhow::{Context, Error, Result, bail};
use csv::StringRecord;
use dwell_capture::file::{Decompressed, Stop, is_stopped};
use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Lines of comma-separated values under a line of names. No value goes on in the next line, so that a quotation mark
/// that is not closed is known where it stands.
pub(crate) struct Lines {
    source: BufReader<Decompressed>,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    record: StringRecord,
    /// So many fields have all lines, once that is known.
    columns: Option<usize>,
    is_stopped: bool,
}

impl Lines {
    /// Opens a file, compressed or not; `-` is standard input.
    pub(crate) fn open(path: &Path, stop: &Stop) -> Result<Self> {
        let name = path.display();
        if path.is_dir() {
            bail!("{name}: expected a CSV file, found a directory");
        }
        let source = Decompressed::open(path, Some(stop)).with_context(|| name.to_string())?;
        Ok(Self {
            source: BufReader::new(source),
            path: path.to_owned(),
            line: Vec::new(),
            number: 0,
            record: StringRecord::new(),
            columns: None,
            is_stopped: false,
        })
    }

    /// The names of the columns, from the first line.
    pub(crate) fn names(&mut self) -> Result<&StringRecord> {
        self.advance()?;
        self.columns = Some(self.record.len());
        Ok(&self.record)
    }

    /// Goes on to the next line that is not empty, if there is one; there is none after a stop, nor is a part of one.
    pub(crate) fn advance(&mut self) -> Result<bool> {
        self.record.clear();
        if !self.read()? {
            return Ok(false);
        }
        let Ok(line) = str::from_utf8(&self.line) else { bail!("{}: expected text in UTF-8", self.place()) };
        let line = line.trim_start_matches(MARK);
        let mut rest = Some(line);
        while let Some(line) = rest {
            let Some((field, behind)) = first_field(line) else {
                bail!("{}: expected a second quotation mark in the line", self.place())
            };
            self.record.push_field(field.trim());
            rest = behind;
        }
        match self.columns {
            Some(expected) if self.record.len() != expected => bail!(
                "{}: expected as many fields as on the first line, {expected}, found {}",
                self.place(),
                self.record.len()
            ),
            _ => Ok(true),
        }
    }

    /// Reads the next line that is not empty, without its end.
    fn read(&mut self) -> Result<bool> {
        loop {
            self.line.clear();
            match (&mut self.source).take(LONGEST + 1).read_until(b'\n', &mut self.line) {
                Ok(0) => return Ok(false),
                Ok(_) => self.number += 1,
                Err(error) if is_stopped(&error) => {
                    self.is_stopped = true;
                    return Ok(false);
                }
                Err(error) => return Err(Error::new(error).context(self.path.display().to_string())),
            }
            if self.line.len() as u64 > LONGEST {
                bail!("{}: expected a line of at most {LONGEST} bytes", self.place());
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if !self.line.is_empty() {
                return Ok(true);
            }
        }
    }

    /// What the line has in a column, if it has as many.
    pub(crate) fn field(&self, column: usize) -> Option<&str> {
        self.record.get(column)
    }

    /// The number of the line.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where the line stands, for errors.
    pub(crate) fn place(&self) -> String {
        format!("{}: line {}", self.path.display(), self.number)
    }

    /// Whether it was asked to stop before the end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped
    }
}

/// Bytes of the longest line that is read, its end included.
const LONGEST: u64 = 1 << 20;

/// What some programs begin a file with.
const MARK: char = '\u{feff}';

/// The first field of a line, without the quotation marks around it, and what is behind its comma. `None` if a
/// quotation mark is not closed.
fn first_field(line: &str) -> Option<(Cow<'_, str>, Option<&str>)> {
    let Some(quoted) = line.strip_prefix('"') else {
        let (field, rest) = to_comma(line);
        return Some((field.into(), rest));
    };
    let (field, mut behind) = quoted.split_once('"')?;
    let mut field = field.to_owned();
    // Two of them are one.
    while let Some(more) = behind.strip_prefix('"') {
        let (part, rest) = more.split_once('"')?;
        field.push('"');
        field.push_str(part);
        behind = rest;
    }
    let (part, rest) = to_comma(behind);
    field.push_str(part);
    Some((field.into(), rest))
}

/// What is before the first comma, and what is behind it.
fn to_comma(text: &str) -> (&str, Option<&str>) {
    text.split_once(',').map_or((text, None), |(field, rest)| (field, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Option<Vec<String>> {
        let (mut rest, mut fields) = (Some(line), Vec::new());
        while let Some(line) = rest {
            let (field, behind) = first_field(line)?;
            fields.push(field.into_owned());
            rest = behind;
        }
        Some(fields)
    }

    #[test]
    fn fields_stand_between_commas_or_in_quotation_marks() {
        for (line, expected) in [
            ("a,b,", &["a", "b", ""][..]),
            ("", &[""]),
            (r#""a, ""b""",c"#, &[r#"a, "b""#, "c"]),
            (r#"5" wide,"""""#, &[r#"5" wide"#, r#"""#]),
            (r#""a"b","c""#, &[r#"ab""#, "c"]),
        ] {
            assert_eq!(fields(line).unwrap(), expected);
        }
        for line in [r#"""#, r#"a,"b"#, r#""a"",b"#] {
            assert_eq!(fields(line), None, "{line}");
        }
    }

    /// All short lines.
    #[test]
    fn another_reader_finds_the_same_fields() {
        let letters = ["a", " ", ",", "\""];
        let mut lines = vec![String::new()];
        for _ in 0..6 {
            lines = lines.iter().flat_map(|line| letters.map(|letter| format!("{line}{letter}"))).collect();
            for line in &lines {
                let mut other = csv::ReaderBuilder::new().has_headers(false).from_reader(line.as_bytes());
                let other = other.records().next().unwrap().unwrap();
                let other: Vec<_> = other.iter().collect();
                assert!(fields(line).is_none_or(|found| found == other), "{line}");
            }
        }
    }
}
