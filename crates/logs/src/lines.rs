//! Lines of comma-separated values, compressed or not.

use csv::StringRecord;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};
use dwell_capture::file::{Decompressed, Stop, is_cut, is_stopped};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why a log cannot be read.
#[derive(Debug)]
pub enum LogError {
    /// The file cannot be opened or read; the source says why.
    Unread(PathBuf, io::Error),
    /// It is no file of lines.
    Directory(PathBuf),
    /// A line is not as expected.
    Line {
        /// Of this file.
        path: PathBuf,
        /// Counted from 1.
        number: u64,
        /// What was expected, and found.
        what: String,
    },
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(path, _) => write!(f, "{}", path.display()),
            Self::Directory(path) => write!(f, "{}: expected a CSV file, found a directory", path.display()),
            Self::Line { path, number, what } => write!(f, "{}: line {number}: {what}", path.display()),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unread(_, error) => Some(error),
            Self::Directory(_) | Self::Line { .. } => None,
        }
    }
}

/// Lines of comma-separated values under a line of names. No value goes on in the next line, so that a quotation mark
/// that is not closed is known where it stands.
pub struct Lines {
    source: BufReader<Decompressed>,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    fields: Fields,
    /// Number of fields of every line, once that is known.
    columns: Option<usize>,
    is_stopped: bool,
    /// Why nothing follows, though there was more.
    cut: Option<io::Error>,
}

impl Lines {
    /// Opens a file, compressed or not; `-` is standard input.
    pub fn open(path: &Path, stop: &Stop) -> Result<Self, LogError> {
        if path.is_dir() {
            return Err(LogError::Directory(path.to_owned()));
        }
        let unread = |error| LogError::Unread(path.to_owned(), error);
        let source = Decompressed::open(path, Some(stop)).map_err(unread)?;
        Ok(Self {
            source: BufReader::new(source),
            path: path.to_owned(),
            line: Vec::new(),
            number: 0,
            fields: Fields::new(),
            columns: None,
            is_stopped: false,
            cut: None,
        })
    }

    /// Where the columns are that the first line names: all that are `needed`, and of the `others` those that it has.
    pub fn columns<const N: usize, const M: usize>(
        &mut self,
        needed: [&str; N],
        others: [&str; M],
    ) -> Result<([usize; N], [Option<usize>; M]), LogError> {
        self.advance()?;
        let head = &self.fields.record;
        self.columns = Some(head.len());
        let column = |wanted: &str| head.iter().position(|name| name == wanted);
        let is_wanted = |name: &str| needed.contains(&name) || others.contains(&name);
        let twice = head.iter().enumerate().find(|&(at, name)| is_wanted(name) && column(name) != Some(at));
        if let Some((_, name)) = twice {
            return Err(self.error(format!("expected each column once, found '{name}' twice")));
        }
        let places = needed.map(column);
        if places.contains(&None) {
            let others: String = others.iter().map(|name| format!("[,{name}]")).collect();
            let (expected, found) = (needed.join(","), head.iter().take(8).collect::<Vec<_>>().join(","));
            let what = format!("expected the columns {expected}{others}, found '{found}'");
            return Err(LogError::Line { path: self.path.clone(), number: 1, what });
        }
        Ok((places.map(Option::unwrap_or_default), others.map(column)))
    }

    /// Goes on to the next line that is not empty, if there is one; there is none after a stop, nor where compressed data
    /// breaks off, nor is a part of one.
    pub fn advance(&mut self) -> Result<bool, LogError> {
        if !self.read()? {
            self.fields.record.clear();
            return Ok(false);
        }
        let Ok(line) = str::from_utf8(&self.line) else { return Err(self.error("expected text in UTF-8")) };
        if !self.fields.split(line) {
            return Err(self.error("expected a closing quotation mark in the line"));
        }
        let found = self.fields.record.len();
        match self.columns {
            Some(expected) if found != expected => {
                Err(self.error(format!("expected as many fields as on the first line, {expected}, found {found}")))
            }
            _ => Ok(true),
        }
    }

    /// Reads the next line that is not empty, without its end.
    fn read(&mut self) -> Result<bool, LogError> {
        loop {
            self.line.clear();
            match (&mut self.source).take(LONGEST + 1).read_until(b'\n', &mut self.line) {
                Ok(0) => return Ok(false),
                Ok(_) => self.number += 1,
                Err(error) if is_stopped(&error) => {
                    self.is_stopped = true;
                    return Ok(false);
                }
                Err(error) if is_cut(&error) && self.columns.is_some() => {
                    self.cut = Some(error);
                    return Ok(false);
                }
                Err(error) => return Err(LogError::Unread(self.path.clone(), error)),
            }
            if self.line.len() as u64 > LONGEST {
                return Err(self.error(format!("expected a line of at most {LONGEST} bytes")));
            }
            self.line.truncate(self.line.trim_ascii_end().len());
            if self.line.contains(&b'\r') {
                return Err(self.error("expected lines that end with a line feed, found a carriage return alone"));
            }
            if !self.line.is_empty() && self.line != MARK {
                return Ok(true);
            }
        }
    }

    /// What the line has in a column.
    pub fn field(&self, column: usize) -> &str {
        self.fields.record.get(column).unwrap_or_default()
    }

    /// The whole number that it has there.
    pub fn whole_number<T: FromStr>(&self, column: usize, what: &str) -> Result<T, LogError> {
        let text = self.field(column);
        text.parse().map_err(|_| self.error(format!("expected a whole number of {what}, found '{text}'")))
    }

    /// The number of the line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What is wrong with the line.
    pub fn error(&self, what: impl Into<String>) -> LogError {
        LogError::Line { path: self.path.clone(), number: self.number, what: what.into() }
    }

    /// Whether it was asked to stop before the end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// What the reader must know of the end.
    pub fn warning(&self) -> Option<String> {
        let cut = self.cut.as_ref()?;
        Some(format!("{}: {cut} after line {}: the rest is not used", self.path.display(), self.number))
    }
}

/// What some programs begin a file with; the reader of fields leaves it out.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Bytes of the longest line that is read, its end included.
const LONGEST: u64 = 1 << 20;

/// The fields of a line.
struct Fields {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
    record: StringRecord,
}

impl Fields {
    fn new() -> Self {
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { reader, text: Vec::new(), ends: Vec::new(), record: StringRecord::new() }
    }

    /// Splits a line that has no end; says whether all quotation marks in it are closed.
    fn split(&mut self, line: &str) -> bool {
        if self.ends.len() <= line.len() {
            (self.text, self.ends) = (vec![0; line.len() + 1], vec![0; line.len() + 1]);
        }
        self.reader.reset();
        self.record.clear();
        let (_, _, written, fields) = self.reader.read_record(line.as_bytes(), &mut self.text, &mut self.ends);
        let end = self.reader.read_record(b"\n", &mut self.text[written..], &mut self.ends[fields..]);
        let mut begin = 0;
        for &end in &self.ends[..fields + end.3] {
            self.record.push_field(str::from_utf8(&self.text[begin..end]).unwrap_or_default().trim());
            begin = end;
        }
        end.0 == ReadRecordResult::Record
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Option<Vec<String>> {
        let mut fields = Fields::new();
        fields.split(line).then(|| fields.record.iter().map(str::to_owned).collect())
    }

    #[test]
    fn fields_stand_between_commas_or_in_quotation_marks() {
        for (line, expected) in [
            ("a,b,", &["a", "b", ""][..]),
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
                let mut other = csv::ReaderBuilder::new();
                let mut other = other.has_headers(false).trim(csv::Trim::All).from_reader(line.as_bytes());
                let other = other.records().next().unwrap().unwrap();
                let other: Vec<_> = other.iter().collect();
                assert!(fields(line).is_none_or(|found| found == other), "{line}");
            }
        }
    }
}
