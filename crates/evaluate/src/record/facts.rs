use super::{RecordError, read, write};
use dwell_report::text;
use dwell_types::hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// What results depend on, as paths from the repository's root. (Records and texts are renewed one after the other.)
const SOURCE: [&str; 4] = [":/crates", ":/Cargo.toml", ":/Cargo.lock", ":/experiments/definitions"];

/// The circumstances in which results were made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The date on which the runs began, UTC.
    pub date: String,
    /// The commit that is checked out; `None` outside a repository.
    pub commit: Option<String>,
    /// Whether the program's source or the definitions of experiments differ from that commit.
    pub dirty: Option<bool>,
    /// Hash of the program's executable file, which identifies the code that ran.
    pub program: String,
    /// Hashes of the files that delays were taken from, by path.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
    /// `full` or `quick`.
    pub size: String,
    /// The number of seeds, which are 1 to this number.
    pub seeds: u64,
    /// Model of the processor, if the system reports it.
    pub cpu: Option<String>,
    /// Number of available cores.
    pub cores: usize,
    /// Operating system and architecture.
    pub platform: String,
    /// Duration of the runs, over all sessions if they were interrupted.
    pub duration_seconds: f64,
    /// The command line of the last session.
    pub command: Vec<String>,
}

impl Facts {
    /// The facts of this process, and of the files that it takes delays from.
    pub fn here(size: &str, seeds: u64, inputs: &[PathBuf]) -> Result<Self, RecordError> {
        let here = Path::new(".");
        let inputs = inputs.iter().map(|path| Ok((path.display().to_string(), hash_of(path)?)));
        Ok(Self {
            inputs: inputs.collect::<Result<_, RecordError>>()?,
            date: today(),
            commit: git(here, &["rev-parse", "HEAD"]),
            dirty: git(here, &[&["status", "--porcelain", "--"], &SOURCE[..]].concat())
                .map(|changes| !changes.is_empty()),
            program: program()?,
            size: size.to_owned(),
            seeds,
            cpu: cpu(),
            cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            duration_seconds: 0.0,
            command: std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect(),
        })
    }

    pub(super) fn read(path: &Path) -> Result<Self, RecordError> {
        serde_json::from_str(&read(path)?).map_err(|error| RecordError::Content(path.to_owned(), error.to_string()))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), RecordError> {
        let text = serde_json::to_string_pretty(self);
        let mut text = text.map_err(|error| RecordError::Content(path.to_owned(), error.to_string()))?;
        text.push('\n');
        write(path, text.as_bytes())
    }
}

/// The output of a git command in a folder; `None` without git or a repository.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A hash of the running program's file, as it was when this was first called: later it may have been replaced.
fn program() -> Result<String, RecordError> {
    static HASH: OnceLock<String> = OnceLock::new();
    if let Some(hash) = HASH.get() {
        return Ok(hash.clone());
    }
    let path = std::env::current_exe().map_err(|error| RecordError::File(PathBuf::from("this program"), error))?;
    let hash = hash_of(&path)?;
    Ok(HASH.get_or_init(|| hash).clone())
}

/// A hash of a file, in hexadecimal.
fn hash_of(path: &Path) -> Result<String, RecordError> {
    let bytes = fs::read(path).map_err(|error| RecordError::File(path.to_owned(), error))?;
    Ok(format!("{:016x}", hash::finish(hash::bytes(hash::start(0), &bytes))))
}

fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(": ").map(|(_, name)| name.trim().to_owned())
}

/// Today's date, UTC: `2026-11-20`.
pub(crate) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    text::day(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
