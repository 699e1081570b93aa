//! Lines of comma-separated values, compressed or not.

use csv::StringRecord;
use csv_core::{ReadFieldResult, Reader, ReaderBuilder, Terminator};
use dwell_capture::file::{Decompressed, Stop, is_cut, is_stopped};
use dwell_capture::{InputState, Name};
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
    /// A file that is read as a whole is not as expected.
    Text {
        /// The file.
        path: PathBuf,
        /// What was expected, and what was found.
        what: String,
    },
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

impl LogError {
    /// The error with its cause, in one line.
    pub fn in_full(&self) -> String {
        let cause = std::error::Error::source(self).map(|cause| format!(": {cause}"));
        format!("{self}{}", cause.unwrap_or_default())
    }

    /// Whether the log itself is wrong from here on, rather than the system.
    fn is_damage(&self) -> bool {
        match self {
            Self::Line { .. } | Self::Text { .. } => true,
            Self::Unread(_, error) => error.kind() == io::ErrorKind::InvalidData,
            Self::Directory(_) => false,
        }
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(path, _) => Name(path).fmt(f),
            Self::Directory(path) => write!(f, "{}: expected a CSV file, found a directory", Name(path)),
            Self::Text { path, what } => write!(f, "{}: {what}", Name(path)),
            Self::Line { path, number, what } => write!(f, "{}: line {number}: {what}", Name(path)),
        }
    }
}

impl std::error::Error for LogError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Unread(_, error) => Some(error),
            Self::Directory(_) | Self::Text { .. } | Self::Line { .. } => None,
        }
    }
}

/// CSV records below a header line. A quoted value must end on its own line, so that an unclosed quotation mark is
/// reported at the line that contains it.
pub struct Lines<R = BufReader<Decompressed>> {
    source: R,
    path: PathBuf,
    line: Vec<u8>,
    number: u64,
    fields: Fields,
    /// Number of fields on every line, known once the header has been read.
    columns: Option<usize>,
    /// Whether the current line has no line ending.
    is_unfinished: bool,
    /// Whether such a line below the header was given out.
    is_unfinished_used: bool,
    /// Number of lines that were used.
    used: u64,
    early_end: Option<EarlyEnd>,
}

/// Why a log ended before its last line.
enum EarlyEnd {
    /// Reading was stopped.
    Stopped,
    /// The log is truncated, as this error says.
    Cut(io::Error),
    /// A line cannot be used, for the reason in the error.
    Unusable(LogError),
}

impl<R> fmt::Debug for Lines<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("path", &self.path).field("number", &self.number).finish_non_exhaustive()
    }
}

impl Lines {
    /// Opens a file, compressed or not; `-` is standard input. A [`Stop`] ends it early.
    pub fn open(path: &Path, stop: Option<&Stop>) -> Result<Self, LogError> {
        if path.is_dir() {
            return Err(LogError::Directory(path.to_owned()));
        }
        let unread = |error| LogError::Unread(path.to_owned(), error);
        let source = Decompressed::open(path, stop).map_err(unread)?;
        Ok(Self::of(path, BufReader::new(source)))
    }

    /// Whether every line that has been read completely was used: the next call may wait for more.
    pub fn is_used_up(&self) -> bool {
        !self.source.buffer().contains(&b'\n')
    }
}

impl InputState for Lines {
    fn bytes_total(&self) -> Option<u64> {
        self.source.get_ref().bytes_total()
    }

    fn bytes_read(&self) -> u64 {
        self.source.get_ref().bytes_read()
    }

    fn is_stopped(&self) -> bool {
        matches!(self.early_end, Some(EarlyEnd::Stopped))
    }

    /// Whether the log ended at a line that cannot be used.
    fn is_damaged(&self) -> bool {
        matches!(self.early_end, Some(EarlyEnd::Unusable(_)))
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of an open file; errors name its `path`.
    pub fn of(path: &Path, source: R) -> Self {
        Self {
            source,
            path: path.to_owned(),
            line: Vec::new(),
            number: 0,
            fields: Fields::new(),
            columns: None,
            is_unfinished: false,
            is_unfinished_used: false,
            used: 0,
            early_end: None,
        }
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

    /// Advances to the next non-empty line; false at the end, after a stop, or where the log is truncated (a partial last
    /// line is dropped there).
    pub fn advance(&mut self) -> Result<bool, LogError> {
        if self.early_end.is_some() || !self.read()? {
            self.fields.record.clear();
            return Ok(false);
        }
        match self.split() {
            Err(_) if self.is_unfinished && self.columns.is_some() => {
                let error = io::Error::new(io::ErrorKind::UnexpectedEof, "the last line is truncated");
                self.early_end = Some(EarlyEnd::Cut(error));
                self.number -= 1;
                self.fields.record.clear();
                Ok(false)
            }
            split => {
                self.is_unfinished_used = self.is_unfinished && self.columns.is_some();
                split.map(|()| true)
            }
        }
    }

    /// Splits the current line into its fields.
    fn split(&mut self) -> Result<(), LogError> {
        let Ok(line) = str::from_utf8(&self.line) else {
            let what = match self.number {
                ..=1 => "expected the names of columns, as CSV text in UTF-8, found binary data",
                _ => "expected text in UTF-8",
            };
            return Err(self.error(what));
        };
        if !self.fields.split(line) {
            return Err(self.error("expected a closing quotation mark in the line"));
        }
        let found = self.fields.record.len();
        match self.columns {
            Some(expected) if found != expected => {
                Err(self.error(format!("expected as many fields as on the first line, {expected}, found {found}")))
            }
            _ => Ok(()),
        }
    }

    /// What `read` makes of the next non-empty line; `None` at the end. The log also ends at a line that cannot be used, or
    /// where compressed data are damaged, if others were used before: these count, as in a damaged capture.
    pub fn next<T>(&mut self, read: impl FnOnce(&Self) -> Result<T, LogError>) -> Result<Option<T>, LogError> {
        let next = match self.advance() {
            Ok(true) => read(self).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match next {
            Err(error) if self.used > 0 && error.is_damage() => {
                self.early_end = Some(EarlyEnd::Unusable(error));
                return Ok(None);
            }
            Ok(Some(_)) => self.used += 1,
            _ => {}
        }
        next
    }

    /// Reads the next non-empty line, without its line ending.
    fn read(&mut self) -> Result<bool, LogError> {
        loop {
            self.line.clear();
            match (&mut self.source).take(LONGEST + 1).read_until(b'\n', &mut self.line) {
                Ok(0) => return Ok(false),
                Ok(_) => self.number += 1,
                Err(error) if is_stopped(&error) => {
                    self.early_end = Some(EarlyEnd::Stopped);
                    return Ok(false);
                }
                Err(error) if is_cut(&error) && self.columns.is_some() => {
                    self.early_end = Some(EarlyEnd::Cut(error));
                    return Ok(false);
                }
                Err(error) => return Err(LogError::Unread(self.path.clone(), error)),
            }
            if self.line.len() as u64 > LONGEST {
                return Err(self.error(format!("expected a line of at most {LONGEST} bytes")));
            }
            self.is_unfinished = self.line.last() != Some(&b'\n');
            self.line.truncate(self.line.trim_ascii_end().len());
            if self.line.contains(&b'\r') {
                return Err(self.error("expected lines that end with a line feed, found a carriage return alone"));
            }
            if !self.line.is_empty() && self.line != MARK.as_bytes() {
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

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the current line.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// An error about the current line, or the first one, if there is none.
    pub fn error(&self, what: impl Into<String>) -> LogError {
        LogError::Line { path: self.path.clone(), number: self.number.max(1), what: what.into() }
    }

    /// An error if the log is truncated: for files of which a part is of no use. Otherwise [`Lines::warning`].
    pub fn whole(&mut self) -> Result<Option<String>, LogError> {
        match self.early_end.take_if(|end| matches!(end, EarlyEnd::Cut(_))) {
            Some(EarlyEnd::Cut(error)) => Err(LogError::Unread(self.path.clone(), error)),
            _ => Ok(self.warning()),
        }
    }

    /// A warning if the log is or may be truncated, or ended at a line that cannot be used.
    pub fn warning(&self) -> Option<String> {
        let name = Name(&self.path);
        match &self.early_end {
            Some(EarlyEnd::Unusable(error)) => {
                let lines = if self.used == 1 { "line before is" } else { "lines before are" };
                let why = std::error::Error::source(error).map(|why| format!(": {why}")).unwrap_or_default();
                Some(format!("{error}{why}: only the {lines} used"))
            }
            Some(EarlyEnd::Cut(error)) => {
                Some(format!("{name}: {error} after line {}: the rest is not used", self.number))
            }
            Some(EarlyEnd::Stopped) | None => self
                .is_unfinished_used
                .then(|| format!("{name}: the last line has no line end, and is used, but may be cut off")),
        }
    }
}

/// The byte order mark that some programs write first.
const MARK: &str = "\u{feff}";

/// Length limit of a line in bytes, including the line ending.
const LONGEST: u64 = 1 << 20;

/// The fields of a line.
struct Fields {
    reader: Reader,
    text: Vec<u8>,
    record: StringRecord,
}

impl Fields {
    fn new() -> Self {
        let reader = ReaderBuilder::new().terminator(Terminator::Any(b'\n')).build();
        Self { reader, text: Vec::new(), record: StringRecord::new() }
    }

    /// Splits a line without its line ending; returns whether all quotation marks in it are closed.
    fn split(&mut self, line: &str) -> bool {
        self.record.clear();
        let line = line.strip_prefix(MARK).unwrap_or(line);
        if line.contains('"') {
            return self.split_quoted(line);
        }
        for field in line.split(',') {
            self.record.push_field(field.trim());
        }
        true
    }

    fn split_quoted(&mut self, line: &str) -> bool {
        if self.text.len() <= line.len() {
            self.text = vec![0; line.len() + 1];
        }
        self.reader.reset();
        let mut rest = line;
        loop {
            // To the reader, no input is the end of the file.
            let (mut result, read, mut written) = match rest {
                "" => (ReadFieldResult::InputEmpty, 0, 0),
                _ => self.reader.read_field(rest.as_bytes(), &mut self.text),
            };
            if result == ReadFieldResult::InputEmpty {
                let end = self.reader.read_field(b"\n", &mut self.text[written..]);
                (result, written) = (end.0, written + end.2);
            }
            let ReadFieldResult::Field { record_end } = result else { return false };
            let (raw, behind) = rest.split_at(read);
            let raw = raw.strip_suffix(',').unwrap_or(raw);
            self.record.push_field(trimmed(str::from_utf8(&self.text[..written]).unwrap_or_default(), raw));
            if record_end {
                return true;
            }
            rest = behind;
        }
    }
}

/// A field without the whitespace around it, of which there is as much as around the `raw` field. Whitespace within
/// quotation marks belongs to the field (RFC 4180 §2).
fn trimmed<'a>(field: &'a str, raw: &str) -> &'a str {
    let [before, behind] = [raw.trim_start(), raw.trim_end()].map(|rest| raw.len() - rest.len());
    field.get(before..field.len() - behind).unwrap_or_default()
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
            (" a , b\tc ,  ,", &["a", "b\tc", "", ""]),
            (r#"" a "," ","#, &[" a ", " ", ""]),
            (r#"" a " ," "" ""#, &[" a ", r#" " "#]),
            (r#" "a" ,"" "#, &[r#""a""#, ""]),
            ("\u{feff} a,b", &["a", "b"]),
        ] {
            assert_eq!(fields(line).unwrap(), expected);
        }
        for line in [r#"""#, r#"a,"b"#, r#""a"",b"#] {
            assert_eq!(fields(line), None, "{line}");
        }
    }

    /// All texts of up to `most` characters that matter.
    fn texts(most: usize) -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut longest = texts.clone();
        for _ in 0..most {
            longest =
                longest.iter().flat_map(|text| ["a", " ", ",", "\""].map(|letter| format!("{text}{letter}"))).collect();
            texts.extend_from_slice(&longest);
        }
        texts
    }

    /// A last line without a line end is used with a warning; blanks and a header are not such a line.
    #[test]
    fn an_unfinished_line_is_doubted() {
        let (expected, no) = ("log: the last line has no line end, and is used, but may be cut off", "");
        for (text, used, warning) in [
            ("a,b\n1,2\n3,4", 2, expected),
            ("a,b\n1,2\n3,4\n", 2, no),
            ("a,b\r\n1,2\r\n", 1, no),
            ("a,b\n1,2\n  ", 1, no),
            ("a,b", 0, no),
            ("a,b\n1,2\n3", 1, "log: the last line is truncated after line 2: the rest is not used"),
        ] {
            let mut lines = Lines::of(Path::new("log"), text.as_bytes());
            lines.columns(["a", "b"], []).unwrap();
            let found = std::iter::from_fn(|| lines.advance().unwrap().then_some(())).count();
            assert_eq!((found, lines.warning().unwrap_or_default().as_str()), (used, warning), "{text:?}");
        }
    }

    /// Fields equal those that the `csv` crate finds, unless the line has an unclosed quotation mark. It trims fields in
    /// quotation marks, too.
    #[test]
    fn another_reader_finds_the_same_fields() {
        let mut other = csv::ReaderBuilder::new();
        other.has_headers(false).flexible(true).trim(csv::Trim::All);
        for line in texts(6).iter().filter(|line| !line.is_empty()) {
            let two_lines = format!("{line}\nend");
            let mut records = other.from_reader(two_lines.as_bytes()).into_records().map(Result::unwrap);
            let (expected, is_closed) = (records.next().unwrap(), records.next().is_some());
            let found = fields(line);
            assert_eq!(found.is_some(), is_closed, "{line}");
            let Some(found) = found else { continue };
            let trimmed: Vec<_> = found.iter().map(|field| field.trim()).collect();
            assert_eq!(trimmed, expected.iter().collect::<Vec<_>>(), "{line}");
            assert!(line.contains('"') || found == trimmed, "{line}");
        }
    }

    #[test]
    fn standard_input_has_a_name() {
        let mut lines = Lines::of(Path::new("-"), &b"at_ns,id\n"[..]);
        let error = lines.columns(["kind"], []).unwrap_err().to_string();
        assert!(error.starts_with("standard input: line 1: expected the columns kind"), "{error}");
    }

    /// What another writer puts in quotation marks is read as it was.
    #[test]
    fn quoted_fields_are_kept() {
        let texts = texts(3);
        for pair in texts.iter().flat_map(|a| texts.iter().map(move |b| [a, b])) {
            let mut writer = csv::WriterBuilder::new().quote_style(csv::QuoteStyle::Always).from_writer(Vec::new());
            writer.write_record(pair).unwrap();
            let line = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            assert_eq!(fields(line.trim_end()).unwrap(), pair.map(String::as_str));
        }
    }
}
