use dwell_types::Match;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Run {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.err))
    }

    /// Fails unless the run succeeded without any message.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!((self.code, self.err.as_str()), (0, ""));
        self
    }
}

/// The command, in an empty environment without settings of colours or widths.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dwell"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs `dwell` with these arguments.
pub(crate) fn dwell(arguments: &[&str]) -> Run {
    finish(command(arguments))
}

/// Runs `dwell` in a folder.
pub(crate) fn dwell_in(folder: &Path, arguments: &[&str]) -> Run {
    let mut command = command(arguments);
    command.current_dir(folder);
    finish(command)
}

pub(crate) fn finish(mut command: Command) -> Run {
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap_or_else(|| panic!("{command:?}: ended by a signal: {}", output.status)),
        out: output.stdout,
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Fails unless `dwell` refuses these arguments with this code: without output, in one line that contains all words.
#[track_caller]
pub(crate) fn assert_refused(arguments: &[&str], code: i32, words: &[&str]) {
    assert_refusal(&dwell(arguments), arguments, code, words);
}

/// The same of a run with these arguments.
#[track_caller]
pub(crate) fn assert_refusal(run: &Run, arguments: &[&str], code: i32, words: &[&str]) {
    let Run { err, .. } = run;
    assert_eq!((run.code, run.out.len()), (code, 0), "{arguments:?}: {err}");
    assert!(err.starts_with("dwell: ") && err.lines().count() == 1, "{arguments:?}: not one line: {err}");
    for word in words {
        assert!(err.contains(word), "{arguments:?}: '{err}' does not say '{word}'");
    }
}

/// The names of all rules for packets, for `--match`.
pub(crate) fn matches() -> String {
    Match::of_packets().map(Match::name).collect::<Vec<_>>().join(",")
}

/// A committed file below `testdata/`.
pub(crate) fn testdata(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(name);
    path.to_str().unwrap().to_owned()
}

/// The folder that `DWELL_DATA` names.
pub(crate) fn data() -> Option<PathBuf> {
    let folder = std::env::var_os("DWELL_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("skipped: DWELL_DATA names no folder");
    }
    folder
}

/// The names of the files in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The lines of a report.
pub(crate) fn lines(report: &Value) -> &[Value] {
    report["results"].as_array().unwrap()
}

/// The line of a match and leg.
pub(crate) fn line<'a>(report: &'a Value, matching: &str, leg: &str) -> &'a Value {
    let found = lines(report).iter().find(|line| line["match"] == matching && line["leg"] == leg);
    found.unwrap_or_else(|| panic!("no line {matching} {leg}"))
}

/// The smallest delay that a given share of all delays do not exceed.
pub(crate) fn quantile(delays: &[i64], share: f64) -> i64 {
    let mut sorted = delays.to_vec();
    sorted.sort_unstable();
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// A value as a number.
pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Low end, value and high end of an estimate.
pub(crate) fn ends(estimate: &Value) -> (f64, f64, f64) {
    let end = |name: &str| estimate[name].as_f64().unwrap_or_else(|| panic!("no {name} in {estimate}"));
    (end("low"), end("value"), end("high"))
}

/// Fails unless every frame and every request of a report is accounted for.
#[track_caller]
pub(crate) fn assert_conserved(report: &Value) {
    let count = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no count: {value}"));
    let frames = &report["frames"];
    if !frames.is_null() {
        let rejected: u64 = frames["rejected"].as_object().unwrap().values().map(count).sum();
        assert_eq!(count(&frames["total"]), count(&frames["decoded"]) + rejected, "{frames}");
    }
    for line in lines(report) {
        let requests = &line["requests"];
        let fates = ["matched", "not_admitted", "evicted", "expired", "ambiguous", "pending"];
        let gone: u64 = fates.iter().map(|fate| count(&requests[fate])).sum();
        assert_eq!(count(&requests["carried_over"]) + count(&requests["seen"]), gone, "{line}");
        let responses = &line["responses"];
        let matched = count(&responses["seen"]) - count(&responses["unmatched"]);
        assert_eq!(matched, count(&requests["matched"]), "{line}");
    }
}
