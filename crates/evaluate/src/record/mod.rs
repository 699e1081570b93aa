//! The record of an experiment: a folder, usually `experiments/record/<date>-<name>`.
//!
//! | file | content | the same for every number of threads |
//! |---|---|---|
//! | `definition.toml` | the definition as it was read | yes |
//! | `cases.csv` | every number that every run estimated, and the truth | yes, when finished |
//! | `results.csv` | summaries over the seeds | yes |
//! | `result.json` | the same as one document, schema `dwell.evaluate/1` | yes |
//! | `figure.svg` | what `[figure]` of the definition asks for ([`crate::Figure`]) | yes |
//! | `facts.json` | commit, program, machine, time: [`Facts`] | no |
//!
//! Runs are appended to `cases.csv` as they finish. An unfinished record can be continued only by the same program with
//! the same definition: a mixture would be a record of neither.

use crate::case::{Case, Run};
use crate::definition::{Definition, Extent};
use crate::experiment::Experiment;
use crate::figure::shares;
use crate::metrics::Summary;
use dwell_report::plot::Sweep;
use dwell_report::text;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

// All single runs, saved as they finish.
mod cases;
// Facts about a record: when, where and by which program it was made.
mod facts;
pub use facts::Facts;
pub(crate) use facts::{git, today};
// Summaries as CSV.
mod results;
pub use results::write as write_csv;

/// Schema of `result.json`.
pub const SCHEMA: &str = "dwell.evaluate/1";

/// `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// [`SCHEMA`].
    pub schema: String,
    /// The definition's name.
    pub name: String,
    /// The definition's title.
    pub title: String,
    /// Where the claim is made.
    pub source: String,
    /// `full` or `quick`.
    pub size: String,
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// One per case and quantity.
    pub summaries: Vec<Summary>,
}

impl Results {
    /// The results of a definition.
    pub fn new(definition: &Definition, extent: Extent, seeds: u64, summaries: Vec<Summary>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            name: definition.name.clone(),
            title: definition.title.clone(),
            source: definition.source.clone(),
            size: extent.name().to_owned(),
            seeds,
            summaries,
        }
    }

    /// Writes a table for people, as the experiment of the definition shows it.
    pub fn write_table(&self, experiment: &dyn Experiment, to: &mut impl Write) -> io::Result<()> {
        writeln!(to, "{}: {}", self.name, self.title)?;
        writeln!(to, "{}; {} size, {}", self.source, self.size, text::of(self.seeds, "seed"))?;
        experiment.write_table(&self.summaries, to)
    }

    /// The figure that the definition asks for; `None` if it asks for none, or if there is nothing that it shows. Title and
    /// source are what the definition says now: a record keeps the words of its run.
    pub fn sweep(&self, definition: &Definition) -> Option<Sweep> {
        let (figure, seeds) = (definition.figure.as_ref()?, text::of(self.seeds, "seed"));
        let shares = shares(definition.experiment(Extent::Full));
        figure.sweep(&definition.title, &format!("{seeds}; {}", definition.source), &self.summaries, &shares)
    }

    /// Writes the document: one line per summary.
    pub fn write_json(&self, to: &mut impl Write) -> io::Result<()> {
        let head = serde_json::to_string(&Self { summaries: Vec::new(), ..self.clone() })?;
        // The document without its closing `]}`.
        write!(to, "{}", head.trim_end_matches("]}"))?;
        for (i, summary) in self.summaries.iter().enumerate() {
            write!(to, "{}\n{}", if i == 0 { "" } else { "," }, serde_json::to_string(summary)?)?;
        }
        writeln!(to, "\n]}}")
    }

    /// Reads the results of a record that must be of this experiment in this extent.
    pub fn of(definition: &Definition, extent: Extent, folder: &Path) -> Result<Self, RecordError> {
        let results = Self::read(folder)?;
        if results.name != definition.name || results.size != extent.name() {
            return Err(RecordError::Unasked {
                folder: folder.to_owned(),
                expected: (extent.name(), definition.name.clone()),
                found: (results.size, results.name),
            });
        }
        Ok(results)
    }

    /// Reads the results of a record.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join("result.json");
        let text = fs::read_to_string(&path).map_err(|error| RecordError::File(path.clone(), error))?;
        let results: Self =
            serde_json::from_str(&text).map_err(|error| RecordError::Content(path.clone(), error.to_string()))?;
        if results.schema != SCHEMA {
            return Err(RecordError::Content(path, format!("expected schema {SCHEMA}, found '{}'", results.schema)));
        }
        Ok(results)
    }
}

/// Why a record cannot be written or read.
#[derive(Debug)]
pub enum RecordError {
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// A file has unexpected content.
    Content(PathBuf, String),
    /// The folder holds the results of another experiment.
    Other {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        difference: &'static str,
    },
    /// The folder holds a record of another experiment or extent than the requested one.
    Unasked {
        /// The folder.
        folder: PathBuf,
        /// The requested extent and experiment.
        expected: (&'static str, String),
        /// Those of the record.
        found: (String, String),
    },
    /// The folder holds runs of more seeds, which would be discarded.
    More {
        /// The folder.
        folder: PathBuf,
        /// The number of its seeds.
        seeds: u64,
    },
    /// The folder holds something else than a record.
    NoRecord(PathBuf),
    /// There is something else than a folder.
    NoFolder(PathBuf),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Content(path, problem) => write!(f, "{}: {problem}", path.display()),
            Self::Other { folder, difference } => {
                write!(f, "{}: holds results of another {difference}; remove it or name another", folder.display())
            }
            Self::Unasked { folder, expected: (size, name), found: (found_size, found_name) } => write!(
                f,
                "{}: expected a {size} record of {name}, found a {found_size} one of {found_name}",
                folder.display()
            ),
            Self::More { folder, seeds } => write!(
                f,
                "{}: the record has {seeds} seeds: expected --seeds {seeds} or more, or another --record",
                folder.display()
            ),
            Self::NoRecord(path) => write!(
                f,
                "{}: holds other files than a record: expected a directory, new, empty, or with a record to continue",
                path.display()
            ),
            Self::NoFolder(path) => {
                write!(f, "{}: expected a directory, new or with a record to continue, not a file", path.display())
            }
        }
    }
}

impl std::error::Error for RecordError {}

/// A record that is being written.
#[derive(Debug)]
pub struct Record {
    folder: PathBuf,
    facts: Facts,
    /// The cases, by index.
    cases: Vec<Case>,
    appended: Mutex<fs::File>,
}

impl Record {
    /// Begins a record, or continues one and returns the runs already in it. `facts` are those of this session.
    pub fn begin(
        folder: &Path,
        definition: &Definition,
        extent: Extent,
        mut facts: Facts,
    ) -> Result<(Self, Vec<Run>), RecordError> {
        let cases = definition.experiment(extent).cases();
        let file = |name: &str| folder.join(name);
        if folder.exists() && !folder.is_dir() {
            return Err(RecordError::NoFolder(folder.to_owned()));
        }
        fs::create_dir_all(folder).map_err(|error| RecordError::File(folder.to_owned(), error))?;
        let mut runs = Vec::new();
        if file("facts.json").exists() {
            let before = Facts::read(&file("facts.json"))?;
            check_same(folder, definition, &before, &facts)?;
            facts.duration_seconds += before.duration_seconds;
            runs = cases::read(&file("cases.csv"), &cases)?;
            let most = runs.iter().map(|run| run.seed).max().unwrap_or(0);
            if most > facts.seeds {
                return Err(RecordError::More { folder: folder.to_owned(), seeds: most });
            }
        } else if !is_new(folder, definition)? {
            return Err(RecordError::NoRecord(folder.to_owned()));
        }
        write(&file("definition.toml"), definition.text.as_bytes())?;
        // This removes incomplete runs from the file.
        cases::write(&file("cases.csv"), &cases, &runs)?;
        // Written last: a record that has facts has everything needed to continue it.
        facts.write(&file("facts.json"))?;
        let cases_path = file("cases.csv");
        let appended = fs::File::options().append(true).open(&cases_path);
        let appended = Mutex::new(appended.map_err(|error| RecordError::File(cases_path, error))?);
        Ok((Self { folder: folder.to_owned(), facts, cases, appended }, runs))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Saves finished runs.
    pub fn append(&self, runs: &[Run]) -> io::Result<()> {
        let bytes = cases::rows(&self.cases, runs)?;
        let mut file = self.appended.lock().unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join("cases.csv");
        file.write_all(&bytes).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    /// Writes the results once all runs are finished.
    pub fn finish(mut self, runs: &[Run], results: &Results, duration_seconds: f64) -> Result<(), RecordError> {
        let file = |name: &str| self.folder.join(name);
        cases::write(&file("cases.csv"), &self.cases, runs)?;
        let path = file("results.csv");
        let mut table = Vec::new();
        results::write(&results.summaries, &mut table).map_err(|error| RecordError::File(path.clone(), error))?;
        write(&path, &table)?;
        let path = file("result.json");
        let mut text = Vec::new();
        results.write_json(&mut text).map_err(|error| RecordError::File(path.clone(), error))?;
        write(&path, &text)?;
        self.facts.duration_seconds += duration_seconds;
        self.facts.seeds = results.seeds;
        self.facts.write(&file("facts.json"))
    }
}

/// Rejects a record that this session, which has these facts, cannot continue.
fn check_same(folder: &Path, definition: &Definition, before: &Facts, facts: &Facts) -> Result<(), RecordError> {
    let differences = [
        ("definition", read(&folder.join("definition.toml"))? != definition.text),
        ("size", before.size != facts.size),
        ("build of this program", before.program != facts.program),
        ("file of delays", before.inputs != facts.inputs),
    ];
    match differences.into_iter().find(|(_, is_other)| *is_other) {
        Some((difference, _)) => Err(RecordError::Other { folder: folder.to_owned(), difference }),
        None => Ok(()),
    }
}

/// Whether a folder is empty, or has only what a record of this definition begins with.
fn is_new(folder: &Path, definition: &Definition) -> Result<bool, RecordError> {
    let error = |error| RecordError::File(folder.to_owned(), error);
    let entries = fs::read_dir(folder).map_err(error)?;
    let names: Vec<OsString> = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>().map_err(error)?;
    let is_own = |name: &OsString| match name.to_str() {
        Some("definition.toml") => read(&folder.join(name)).is_ok_and(|text| text == definition.text),
        Some("cases.csv") => names.iter().any(|other| other == "definition.toml"),
        name => name.is_some_and(|name| name.ends_with(PARTIAL)),
    };
    Ok(names.iter().all(is_own))
}

fn read(path: &Path) -> Result<String, RecordError> {
    fs::read_to_string(path).map_err(|error| RecordError::File(path.to_owned(), error))
}

/// The ending of a file that is not complete.
const PARTIAL: &str = ".partial";

/// Writes a file atomically: it is complete, or unchanged.
fn write(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(PARTIAL);
    let partial = PathBuf::from(partial);
    let written = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    written.map_err(|error| {
        // If it cannot be removed either, that is not what went wrong.
        let _ = fs::remove_file(&partial);
        RecordError::File(path.to_owned(), error)
    })
}
