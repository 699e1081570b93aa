//! Requests and responses from a log instead of packets: CSV with the columns `at_ns,kind,id` and, if wanted, `group`.

use anyhow::{Context, Result, bail};
use dwell_observe::pair::event_id;
use dwell_types::{Leg, Match, Observation, Series, Sighting, Timestamp};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A log, read line by line.
pub(crate) struct Events {
    reader: csv::Reader<Box<dyn Read>>,
    record: csv::StringRecord,
    path: PathBuf,
    columns: Columns,
    groups: Vec<String>,
    numbers: HashMap<String, u16>,
    most_groups: usize,
    seed: u64,
    at: i64,
    latest: i64,
    backwards: u64,
}

struct Columns {
    at: usize,
    kind: usize,
    id: usize,
    group: Option<usize>,
}

/// Opens a file of comma-separated values; `-` is standard input.
pub(crate) fn open_csv(path: &Path) -> Result<csv::Reader<Box<dyn Read>>> {
    let name = path.display();
    let source: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        if path.is_dir() {
            bail!("{name}: expected a CSV file, found a directory");
        }
        Box::new(File::open(path).with_context(|| name.to_string())?)
    };
    Ok(csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(source))
}

impl Events {
    /// Opens a log; `-` is standard input.
    pub(crate) fn open(path: &Path, most_groups: usize, seed: u64) -> Result<Self> {
        let name = path.display();
        let mut reader = open_csv(path)?;
        let head = reader.headers().with_context(|| name.to_string())?;
        let column = |wanted| head.iter().position(|c| c == wanted);
        let (Some(at), Some(kind), Some(id)) = (column("at_ns"), column("kind"), column("id")) else {
            let found = head.iter().take(8).collect::<Vec<_>>().join(",");
            bail!("{name}: line 1: expected the columns at_ns,kind,id[,group], found '{found}'");
        };
        let columns = Columns { at, kind, id, group: column("group") };
        let groups = vec![if columns.group.is_some() { "other" } else { "all" }.to_owned()];
        Ok(Self {
            reader,
            record: csv::StringRecord::new(),
            path: path.to_owned(),
            columns,
            groups,
            numbers: HashMap::new(),
            most_groups,
            seed,
            at: 0,
            latest: i64::MIN,
            backwards: 0,
        })
    }

    /// The next line.
    pub(crate) fn next(&mut self) -> Result<Option<Observation>> {
        if !self.reader.read_record(&mut self.record).with_context(|| self.path.display().to_string())? {
            return Ok(None);
        }
        let field = |column| self.record.get(column).unwrap_or_default();
        let (at, id) = (field(self.columns.at), field(self.columns.id));
        let Ok(at) = at.parse::<i64>() else {
            bail!("{}: expected a whole number of nanoseconds as at_ns, found '{at}'", self.place())
        };
        self.at = at;
        self.backwards += u64::from(at < self.latest);
        self.latest = self.latest.max(at);
        let id = event_id(self.seed, id);
        let series = Series { matching: Match::Events, leg: Leg::Both, group: self.group() };
        let sighting = Sighting { id, at: Timestamp::from_nanos(at), token: 0, series };
        match self.record.get(self.columns.kind) {
            Some("request") => Ok(Some(Observation::Request(sighting))),
            Some("response") => Ok(Some(Observation::Response(sighting))),
            kind => {
                bail!("{}: expected request or response as kind, found '{}'", self.place(), kind.unwrap_or_default())
            }
        }
    }

    fn place(&self) -> String {
        let line = self.record.position().map_or(0, csv::Position::line);
        format!("{}: line {line}", self.path.display())
    }

    /// The number of this line's group; zero for those that came after the table was full.
    fn group(&mut self) -> u16 {
        let Some(name) = self.columns.group.and_then(|column| self.record.get(column)) else { return 0 };
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        if self.groups.len() > self.most_groups {
            return 0;
        }
        let number = self.groups.len() as u16;
        self.groups.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// The name of a group.
    pub(crate) fn group_name(&self, number: u16) -> String {
        self.groups.get(usize::from(number)).cloned().unwrap_or_default()
    }

    /// Whether lines name groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.columns.group.is_some()
    }

    /// When the last line was seen.
    pub(crate) fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.at)
    }

    /// Bytes that the names of the groups take.
    pub(crate) fn state_bytes(&self) -> usize {
        let names: usize = self.groups.iter().map(|name| 2 * name.capacity()).sum();
        names + self.groups.capacity() * size_of::<String>() + self.numbers.capacity() * size_of::<(String, u16)>()
    }

    /// Lines that were earlier than one before them.
    pub(crate) fn backwards(&self) -> u64 {
        self.backwards
    }
}
