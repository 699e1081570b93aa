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
    /// The file cannot be opened or read, for the reason in the source error.
    Unread(PathBuf, io::Error),
    /// The path is a directory.
    Directory(PathBuf),
    /// A line is not as expected.
    Line {
        /// The file.
        path: PathBuf,
        /// The line number, counted from 1.
        number: u64,
        /// What was expected, and what was found.
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

/// CSV records below a header line. A quoted value must end on its own line, so that an unclosed quotation mark is
/// reported at the line that contains it.
pub struct Lines {
    source: BufReader<Decompressed>,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    fields: Fields,
    /// Number of fields on every line, known once the header has been read.
    columns: Option<usize>,
    is_stopped: bool,
    /// The error at which truncated compressed data ended the log early.
    cut: Option<io::Error>,
}

impl Lines {
    /// Opens a file, compressed or not; `-` is standard input. A [`Stop`] ends it early.
    pub fn open(path: &Path, stop: Option<&Stop>) -> Result<Self, LogError> {
        if path.is_dir() {
            return Err(LogError::Directory(path.to_owned()));
        }
        let unread = |error| LogError::Unread(path.to_owned(), error);
        let source = Decompressed::open(path, stop).map_err(unread)?;
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

    /// Reads the header line and returns the positions of all `needed` columns, and of those of the `others` that it
    /// has.
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
            return Err(self.error(what));
        }
        Ok((places.map(Option::unwrap_or_default), others.map(column)))
    }

    /// Advances to the next non-empty line; false at the end, after a stop, or where compressed data is truncated (a
    /// partial last line is dropped there).
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

    /// Reads the next non-empty line, without its line ending.
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

    /// The text in a column of the current line.
    pub fn field(&self, column: usize) -> &str {
        self.fields.record.get(column).unwrap_or_default()
    }

    /// The text in a column of the current line, parsed as a whole number; `what` describes it in the error message.
    pub fn whole_number<T: FromStr>(&self, column: usize, what: &str) -> Result<T, LogError> {
        let text = self.field(column);
        text.parse().map_err(|_| self.error(format!("expected a whole number of {what}, found '{text}'")))
    }

    /// The number of the current line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error about the current line, or the first one, if there is none.
    pub fn error(&self, what: impl Into<String>) -> LogError {
        LogError::Line { path: self.path.clone(), number: self.number.max(1), what: what.into() }
    }

    /// Whether everything that has been read was used: the next call may wait for more.
    pub fn is_used_up(&self) -> bool {
        self.source.buffer().is_empty()
    }

    /// Whether reading was stopped (see [`Stop`]) before the end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// A warning if the compressed data is truncated.
    pub fn warning(&self) -> Option<String> {
        let cut = self.cut.as_ref()?;
        Some(format!("{}: {cut} after line {}: the rest is not used", self.path.display(), self.number))
    }
}

/// The byte order mark that some programs write first; the CSV reader skips it.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// Length limit of a line in bytes, including the line ending.
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

    /// Splits a line without its line ending; returns whether all quotation marks in it are closed.
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

    /// For all lines of up to six of these characters, fields equal those that the `csv` crate finds, unless the line
    /// has an unclosed quotation mark.
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
