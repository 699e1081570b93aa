use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a capture could not be read, or not to its end.
///
/// Offsets count bytes from the start of the file; in a compressed file, from the start of the decompressed data.
#[derive(Debug)]
pub enum CaptureError {
    /// The system refused to open or read the file.
    Io {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// How far it was read.
        offset: u64,
        /// Frames of this file that were yielded before.
        frames: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The path names a directory.
    Directory {
        /// The directory.
        path: PathBuf,
    },
    /// The file has no bytes.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file begins like no capture that dwell reads.
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What the first bytes look like.
        found: String,
    },
    /// The format is known, this version of it is not.
    Version {
        /// The file.
        path: PathBuf,
        /// Where the version stands.
        offset: u64,
        /// Frames of this file that were yielded before (a pcapng file has a version per section).
        frames: u64,
        /// Which versions can be read.
        expected: &'static str,
        /// Format and version that stood there.
        found: String,
    },
    /// The file contradicts its own format, so that nothing after this place can be trusted.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the contradiction stands.
        offset: u64,
        /// Frames of this file that were yielded before: all that stood before the damage.
        frames: u64,
        /// What the format asks for there.
        expected: String,
        /// What stood there.
        found: String,
    },
}

impl CaptureError {
    /// The file that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Directory { path }
            | Self::Empty { path }
            | Self::NotACapture { path, .. }
            | Self::Version { path, .. }
            | Self::Damaged { path, .. } => path,
        }
    }

    /// Frames of this file that were yielded before the error: more than zero if a part of it was read, and counts.
    pub fn frames(&self) -> u64 {
        match self {
            Self::Io { frames, .. } | Self::Version { frames, .. } | Self::Damaged { frames, .. } => *frames,
            Self::Directory { .. } | Self::Empty { .. } | Self::NotACapture { .. } => 0,
        }
    }
}

/// One line: file, place, what was expected, what stood there.
impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Name(self.path()))?;
        match self {
            Self::Io { offset: 0, error, .. } => write!(f, "{error}"),
            Self::Io { offset, error, .. } => write!(f, "byte {offset}: {error}"),
            Self::Directory { .. } => f.write_str("expected a capture file, found a directory"),
            Self::Empty { .. } => f.write_str("expected a capture file, found an empty file"),
            Self::NotACapture { found, .. } => {
                write!(f, "expected a pcap or pcapng file, plain or gzip, xz, zstd, found {found}")
            }
            Self::Version { offset, expected, found, .. } => {
                write!(f, "byte {offset}: expected {expected}, found {found}")
            }
            Self::Damaged { offset, expected, found, .. } => {
                write!(f, "byte {offset}: expected {expected}, found {found}")
            }
        }?;
        match self.frames() {
            0 => Ok(()),
            1 => f.write_str(" (after 1 frame)"),
            frames => write!(f, " (after {frames} frames)"),
        }
    }
}

impl std::error::Error for CaptureError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A file that ends in the middle of a record: everything before was yielded, and reading went on with the next file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Where the incomplete record begins, as in [`CaptureError`].
    pub offset: u64,
    /// Frames of this file that were yielded before.
    pub frames: u64,
    /// What should have stood there.
    pub expected: String,
    /// What was left of it.
    pub found: String,
}

impl Warning {
    /// Of a file without a byte.
    pub(crate) fn empty(path: PathBuf) -> Self {
        Self { path, offset: 0, frames: 0, expected: "a capture file".to_owned(), found: "an empty file".to_owned() }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, frames, expected, found } = self;
        write!(f, "{}: cut short at byte {offset}: expected {expected}, found {found}", Name(path))?;
        match frames {
            0 => Ok(()),
            1 => f.write_str("; the 1 frame before is used"),
            _ => write!(f, "; the {frames} frames before are used"),
        }
    }
}

/// A path as people call it.
struct Name<'a>(&'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Path::new("-") { f.write_str("standard input") } else { self.0.display().fmt(f) }
    }
}
