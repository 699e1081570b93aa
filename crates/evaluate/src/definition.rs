//! Experiment definitions in TOML: `experiments/definitions/*.toml`. Their format: `docs/guide/evaluate.md`.

use crate::experiment::Experiment;
use crate::figure::Figure;
use crate::kinds::{Build, Kind};
use crate::value::{Invalid, above_zero, short, whole, within};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// A checked definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The file's name without its extension; also the name of the record.
    pub name: String,
    /// What is shown, in one line.
    pub title: String,
    /// Where the claim is made: paper and section.
    pub source: String,
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// The smaller size for `--quick` and `--check`.
    pub quick: Quick,
    /// How far the numbers of a fresh quick run may be from the recorded ones.
    pub tolerance: Tolerance,
    /// The figure of its results.
    pub figure: Option<Figure>,
    /// The text of the file, for the record.
    pub text: String,
    /// The files that it takes delays from.
    pub inputs: Vec<PathBuf>,
    /// What its streams and methods are.
    pub kind: Kind,
    full: Arc<dyn Experiment>,
    small: Arc<dyn Experiment>,
}

/// The extent of a run, which records and messages call its size: full or quick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As the claim is made.
    Full,
    /// Small enough to run at every change.
    Quick,
}

impl Extent {
    /// The name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Quick => "quick",
        }
    }
}

/// How a quick run is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Quick {
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// The length of every stream, as a share of the full one, above 0 and up to 1.
    pub share: f64,
}

impl Default for Quick {
    fn default() -> Self {
        Self { seeds: 2, share: 0.1 }
    }
}

/// How far a fresh number may be from the recorded one. The same code gives the same numbers, so this only leaves room
/// for changes that are not meant to affect them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tolerance {
    /// For errors, which are log₂ of estimate over truth.
    pub octaves: f64,
    /// For shares of runs: intervals that contain the truth, estimates that are missing.
    pub share: f64,
    /// For ratios of estimated to true counts.
    pub ratio: f64,
    /// For plain values such as bytes of state: relative.
    pub relative: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { octaves: 0.01, share: 0.1, ratio: 0.02, relative: 0.02 }
    }
}

/// Why a definition cannot be used.
#[derive(Debug)]
pub enum DefinitionError {
    /// The file cannot be read.
    Read(PathBuf, io::Error),
    /// The name in the file is not that of the file.
    Name(PathBuf, String),
    /// The text is not valid TOML, or has unknown keys or wrong types.
    Form {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1, and its text.
        line: Option<(usize, String)>,
        /// What is wrong.
        problem: String,
    },
    /// A value is invalid.
    Value {
        /// The file.
        path: PathBuf,
        /// The line of the key, or else of the table that lacks it, counted from 1.
        line: Option<usize>,
        /// The key, as a path from the top.
        key: String,
        /// What is wrong.
        problem: String,
    },
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Name(path, name) => write!(f, "{}: name is '{name}': expected that of the file", path.display()),
            Self::Form { path, line: None, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Form { path, line: Some((line, text)), problem } => {
                write!(f, "{}: line {line}, '{text}': {problem}", path.display())
            }
            Self::Value { path, line: None, key, problem } => write!(f, "{}: {key}: {problem}", path.display()),
            Self::Value { path, line: Some(line), key, problem } => {
                write!(f, "{}: line {line}, {key}: {problem}", path.display())
            }
        }
    }
}

impl std::error::Error for DefinitionError {}

/// The general keys, before their values are checked. The remaining tables determine the kind of experiment.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    source: String,
    seeds: u64,
    #[serde(default)]
    quick: Quick,
    #[serde(default)]
    tolerance: Tolerance,
    figure: Option<Figure>,
}

impl Definition {
    /// The largest number of seeds: the results of all are kept.
    pub const MOST_SEEDS: u64 = 1_000_000;

    /// Reads the definition in a file, whose records must not pass for those of another one: it has the file's name, or
    /// that of its record in the `definition.toml` of one.
    pub fn read(path: &Path) -> Result<Self, DefinitionError> {
        let text = fs::read_to_string(path).map_err(|error| DefinitionError::Read(path.to_owned(), error))?;
        let definition = Self::parse(path, &text)?;
        if path.file_stem() != Some(definition.name.as_ref()) && !path.ends_with("definition.toml") {
            return Err(DefinitionError::Name(path.to_owned(), definition.name));
        }
        Ok(definition)
    }

    /// Parses a definition; `path` is for error messages.
    pub fn parse(path: &Path, text: &str) -> Result<Self, DefinitionError> {
        let form = |error: toml::de::Error| form_error(path, text, &error);
        let value = |Invalid { key, problem }: Invalid| {
            let line = place(text, &key).map(|at| line_at(text, at));
            DefinitionError::Value { path: path.to_owned(), line, key, problem }
        };
        let mut table = DeTable::parse(text).map_err(form)?;
        let inputs = inputs(table.get_ref());
        let mut kinds = Vec::new();
        for kind in Kind::ALL {
            if let Some(tables) = table.get_mut().remove(kind.name()) {
                kinds.push((kind, kind.read(tables).map_err(form)?));
            }
        }
        let (kind, build) = only(kinds).map_err(value)?;
        let file = File::deserialize(table.into_deserializer()).map_err(form)?;
        let build = |share| build(share).map_err(|error| error.within(kind.name()));
        Self::check(kind, file, text, inputs, build).map_err(value)
    }

    fn check(
        kind: Kind,
        file: File,
        text: &str,
        inputs: Vec<PathBuf>,
        build: impl Fn(f64) -> Result<Arc<dyn Experiment>, Invalid>,
    ) -> Result<Self, Invalid> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if file.name.is_empty() || !file.name.chars().all(is_plain) {
            return Err(Invalid::new("name", format!("'{}': expected small letters, digits and hyphens", file.name)));
        }
        for (key, seeds) in [("seeds", file.seeds), ("quick.seeds", file.quick.seeds)] {
            whole(key, seeds as f64, 1..=Self::MOST_SEEDS)?;
        }
        let share = above_zero("quick.share", file.quick.share, 1.0)?;
        file.tolerance.check().map_err(|error| error.within("tolerance"))?;
        let full = build(1.0)?;
        if let Some(figure) = &file.figure {
            figure.check(&*full, file.seeds).map_err(|error| error.within("figure"))?;
        }
        Ok(Self {
            kind,
            full,
            small: build(share).map_err(|Invalid { key, problem }| {
                Invalid::new(key, format!("{problem} (of the quick size, with quick.share = {})", short(share)))
            })?,
            name: file.name,
            title: file.title,
            source: file.source,
            seeds: file.seeds,
            quick: file.quick,
            tolerance: file.tolerance,
            figure: file.figure,
            text: text.to_owned(),
            inputs,
        })
    }

    /// Checks that so many seeds, instead of its own, give its figure.
    pub fn check_seeds(&self, seeds: u64) -> Result<(), String> {
        let problem = |Invalid { key, problem }| format!("{}: figure.{key}: {problem}", self.name);
        self.figure.iter().try_for_each(|figure| figure.check_seeds(seeds)).map_err(problem)
    }

    /// The experiment in this extent.
    pub fn experiment(&self, extent: Extent) -> &dyn Experiment {
        match extent {
            Extent::Full => &*self.full,
            Extent::Quick => &*self.small,
        }
    }

    /// The number of seeds in this extent.
    pub fn seeds(&self, extent: Extent) -> u64 {
        match extent {
            Extent::Full => self.seeds,
            Extent::Quick => self.quick.seeds,
        }
    }
}

impl Tolerance {
    fn check(&self) -> Result<(), Invalid> {
        let values =
            [("octaves", self.octaves), ("share", self.share), ("ratio", self.ratio), ("relative", self.relative)];
        values.into_iter().try_for_each(|(key, value)| within(key, value, 0.0..).map(drop))
    }
}

/// The only kind in a definition; none or several are an error.
fn only(kinds: Vec<(Kind, Build)>) -> Result<(Kind, Build), Invalid> {
    let mut kinds = kinds.into_iter();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) => Ok(kind),
        (Some((kind, _)), Some((other, _))) => {
            Err(Invalid::new(other.name(), format!("beside {}: expected one kind of experiment", kind.name())))
        }
        (None, _) => {
            let names = Kind::ALL.map(Kind::name).join(", ");
            let problem = format!("missing: expected [[KIND.workloads]] and [[KIND.methods]] of one of {names}");
            Err(Invalid::new("KIND", problem))
        }
    }
}

/// The files that delays are taken from.
fn inputs(table: &DeTable<'_>) -> Vec<PathBuf> {
    fn of(value: &DeValue<'_>, found: &mut Vec<PathBuf>) {
        match value {
            DeValue::Array(items) => items.iter().for_each(|item| of(item.get_ref(), found)),
            DeValue::Table(table) => {
                let text = |key: &str| table.get(key).and_then(|value| value.get_ref().as_str());
                found.extend(text("path").filter(|_| text("distribution") == Some("file")).map(PathBuf::from));
                table.values().for_each(|value| of(value.get_ref(), found));
            }
            _ => (),
        }
    }
    let mut found = Vec::new();
    table.values().for_each(|value| of(value.get_ref(), &mut found));
    found
}

/// The byte at which the value of a key such as `delay.workloads[0].rate` begins, or else the innermost table on the way
/// to it.
fn place(text: &str, key: &str) -> Option<usize> {
    let table = DeTable::parse(text).ok()?;
    let mut names = key.split(['.', '[', ']']).filter(|name| !name.is_empty());
    let mut value = table.get_ref().get(names.next()?)?;
    for name in names {
        let inner = match value.get_ref() {
            DeValue::Array(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
            DeValue::Table(table) => table.get(name),
            _ => None,
        };
        let Some(inner) = inner else { break };
        value = inner;
    }
    Some(value.span().start)
}

/// The line of a byte, counted from 1.
fn line_at(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// The parser's message in one line.
fn form_error(path: &Path, text: &str, error: &toml::de::Error) -> DefinitionError {
    let line = error.span().map(|span| {
        let line = line_at(text, span.start);
        (line, text.lines().nth(line - 1).unwrap_or_default().trim().to_owned())
    });
    DefinitionError::Form { path: path.to_owned(), line, problem: plain(error.message()) }
}

/// The parser's message in one line, and in words of TOML instead of Rust.
fn plain(message: &str) -> String {
    const WORDS: [(&str, &str); 10] = [
        ("\n", "; "),
        ("floating point ", ""),
        (" as i128", ""),
        ("type: sequence", "type: list"),
        ("type: map", "type: table"),
        ("expected u64", "expected a whole number from 0 to below 2^64"),
        ("expected u32", "expected a whole number from 0 to below 2^32"),
        ("expected usize", "expected a whole number from 0 to below 2^64"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
    ];
    let text = WORDS.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to));
    match text.split_once("expected struct ") {
        Some((before, _)) => format!("{before}expected a table"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{accepted, assert_refused};

    const SOUND: &str = r#"
name = "sound"
title = "t"
source = "s"
seeds = 3
[[delay.workloads]]
name = "w"
preset = "fridge-synthetic"
longest_ms = 64
[[delay.methods]]
method = "fridge"
slots = ["2^8", 512]
entry_probability = ["2^-3", 0.5, "auto"]
"#;

    #[test]
    fn a_sweep_is_a_product() {
        let definition = accepted(SOUND);
        assert_eq!(definition.experiment(Extent::Full).cases().len(), 6);
        assert_eq!((definition.seeds(Extent::Full), definition.seeds(Extent::Quick)), (3, 2));
    }

    #[test]
    fn errors_name_file_and_key() {
        const PARAMETERS: &str =
            "method = \"fridge\"\nslots = [\"2^8\", 512]\nentry_probability = [\"2^-3\", 0.5, \"auto\"]";
        let cases: &[(&str, &str, &[&str])] = &[
            ("seeds = 3", "seeds = 0", &["seeds", "from 1"]),
            ("seeds = 3", "seeds = \"many\"", &["line 5", "seeds = \"many\"", "invalid type"]),
            ("seeds = 3", "seeds = 3\nsedes = 4", &["line 6", "unknown field `sedes`", "`seeds`"]),
            ("seeds = 3", "", &["missing field `seeds`"]),
            ("seeds = 3", "seeds = ", &["line 5"]),
            ("\"sound\"", "\"A b\"", &["name", "small letters"]),
            ("longest_ms = 64", "", &["delay.workloads[0].longest_ms", "fridge-synthetic"]),
            ("longest_ms = 64", "longest_ms = 0.5", &["line 9, delay.workloads[0].longest_ms: 0.5: expected from 1"]),
            ("longest_ms = 64", "longest_ms = 64\nspam = 1", &["unknown field `spam`"]),
            (
                "longest_ms = 64",
                "longest_ms = 64\nrate = -1",
                &["line 10, delay.workloads[0].rate: -1: expected from 0.001 to 1e9"],
            ),
            ("longest_ms = 64", "longest_ms = 64\nrequests = 5\nspan_ms = 7", &["workloads[0].span_ms", "requests"]),
            ("longest_ms = 64", "longest_ms = 64\nmeasured_ms = [5, 2]", &["workloads[0].measured_ms"]),
            (
                "longest_ms = 64",
                "longest_ms = 64\nspan_ms = 500\nmeasured_ms = [400, 501]",
                &["line 11, delay.workloads[0].measured_ms: ends after the stream"],
            ),
            ("\"w\"", "\" \"", &["line 7, delay.workloads[0].name: empty"]),
            (
                "longest_ms = 64",
                "longest_ms = 64\nmeasured_ms = [0, 500, 600]",
                &["line 10", "3 numbers: expected two"],
            ),
            (
                "longest_ms = 64",
                "longest_ms = 64\norphan_run = 9",
                &["workloads[0].orphan_run", "orphan_share above 0"],
            ),
            ("longest_ms = 64", "longest_ms = 64\ndelays = 5", &["type: integer `5`, expected a table such as"]),
            ("longest_ms = 64", "longest_ms = 64\nrequests = 1000.0", &["type: `1000.0`, expected a whole number"]),
            ("longest_ms = 64", "longest_ms = 64\nrequests = 18446744073709551616", &["from 0 to below 2^64"]),
            ("longest_ms = 64", "longest_ms = \"64\"", &["\"64\", expected a number"]),
            ("longest_ms = 64", "longest_ms = 64\nbursts = 2", &["expected a table"]),
            ("[[delay.workloads]]", "[delay.workloads]", &["expected a list"]),
            ("longest_ms = 64", "longest_ms = 64\norphan_share = 1", &["workloads[0].orphan_share"]),
            (
                "longest_ms = 64",
                "longest_ms = 64\nspan_ms = 0.005",
                &["line 10, delay.workloads[0].span_ms: 0.5 requests", "quick.share = 0.1"],
            ),
            (
                "longest_ms = 64",
                "longest_ms = 64\nrate = 0.001\nrequests = 100\nbursts = { calm_ms = 0.001, burst_ms = 0.001, rate_factor = 1, delay_factor = 1 }",
                &["line 12, delay.workloads[0].bursts: ", "expected from 1 to 1e10"],
            ),
            ("fridge-synthetic", "freezer", &["unknown variant `freezer`", "`fridge-synthetic`"]),
            ("method = \"fridge\"", "method = \"freezer\"", &["delay.methods[0].method", "'freezer'", "fridge"]),
            ("\"2^8\", 512", "1", &["line 11, delay.methods[0].method:", "at least 2 slots"]),
            ("\"2^8\", 512", "2.5", &["delay.methods[0].slots", "whole number"]),
            ("\"2^8\", 512", "", &["delay.methods[0].slots", "empty"]),
            ("\"2^-3\"", "\"2^3\"", &["line 13, delay.methods[0].entry_probability: 8: expected above 0 and up to 1"]),
            ("\"2^-3\"", "\"some\"", &["2^-9"]),
            (
                "\"2^-3\"",
                "0.123411, 0.123412",
                &["delay.methods[0]: the same configuration a second time, to four digits"],
            ),
            ("slots = [\"2^8\", 512]", "", &["delay.methods[0]", "slots", "memory_bytes"]),
            ("slots = [\"2^8\", 512]", "memory_bytes = [100]", &["delay.methods[0]", "100 bytes of memory"]),
            (
                "method = \"fridge\"",
                "method = \"auto\"",
                &["line 11, delay.methods[0].method: auto", "auto has no parameter slots"],
            ),
            (PARAMETERS, "method = \"exact\"\nfingerprint_bits = 4", &["exact has no parameter fingerprint-bits"]),
            (PARAMETERS, "method = \"ddbf\"\nmemory_bytes = [8192]\nrate = 9", &["ddbf has no parameter rate"]),
            (
                PARAMETERS,
                "method = \"fridge-staged\"\nslots = [64]\nentry_probability = [1]\nstages = 2\nrate = 9",
                &["fridge-staged", "has no fingerprint_bits, expiry_ms, longest_ms or rate"],
            ),
        ];
        for (from, to, words) in cases {
            assert_refused(SOUND, from, to, words);
        }
        let twice = "[[delay.workloads]]\nname = \"w\"\npreset = \"fridge-heavy-tailed\"\n[[delay.methods]]";
        assert_refused(SOUND, "[[delay.methods]]", twice, &["delay.workloads[1].name"]);
    }
}
