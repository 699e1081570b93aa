use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a capture could not be read, or not up to its end.
///
/// Offsets count bytes from the start of the file; in a compressed file, from the start of the decompressed data.
#[derive(Debug)]
pub enum CaptureError {
    /// The operating system reported an error on opening or reading the file.
    Io {
        /// The file; `-` is standard input.
        path: PathBuf,
        /// The offset up to which it was read.
        offset: u64,
        /// Frames of this file that were yielded before the error.
        frames: u64,
        /// The system's error.
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
    /// The first bytes of the file match no supported capture format.
    NotACapture {
        /// The file.
        path: PathBuf,
        /// What the first bytes look like.
        found: String,
    },
    /// The format is supported, but not this version of it.
    Version {
        /// The file.
        path: PathBuf,
        /// Offset of the version field.
        offset: u64,
        /// Frames of this file that were yielded before the error (a pcapng file has a version per section).
        frames: u64,
        /// The supported versions.
        expected: &'static str,
        /// The format and version found.
        found: String,
    },
    /// The file violates its format, so that nothing after this offset can be trusted.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Offset of the violation.
        offset: u64,
        /// Frames of this file that were yielded before the error: all that precede the damage.
        frames: u64,
        /// What the format requires there.
        expected: String,
        /// What was found there.
        found: String,
    },
    /// There is no packet of the chosen interface.
    NoInterface(NoInterface),
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
            | Self::Damaged { path, .. }
            | Self::NoInterface(NoInterface { path, .. }) => path,
        }
    }

    /// Frames of this file that were yielded before the error: more than zero if a part of the file has been used.
    pub fn frames(&self) -> u64 {
        match self {
            Self::Io { frames, .. } | Self::Version { frames, .. } | Self::Damaged { frames, .. } => *frames,
            Self::Directory { .. } | Self::Empty { .. } | Self::NotACapture { .. } | Self::NoInterface(_) => 0,
        }
    }
}

/// One line: file, offset, what was expected, what was found.
impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Name(self.path()))?;
        match self {
            Self::NoInterface(missing) => missing.write_reason(f),
            Self::Io { offset: 0, error, .. } => write!(f, "{error}"),
            Self::Io { offset, error, .. } => write!(f, "byte {offset}: {error}"),
            Self::Directory { .. } => f.write_str("expected a capture file, found a directory"),
            Self::Empty { .. } => f.write_str("expected a capture file, found an empty file"),
            Self::NotACapture { found, .. } => {
                write!(f, "byte 0: expected a pcap or pcapng file, plain or gzip, xz, zstd, found {found}")
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

/// Why frames of a file are missing, although reading continued.
#[derive(Debug)]
pub enum Warning {
    /// The file ends in the middle of a record.
    Cut(Cut),
    /// The file has no bytes.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Nothing after the damage can be read.
    Damaged(CaptureError),
    /// The file has no packet of the chosen interface.
    NoInterface(NoInterface),
    /// The file says that packets were dropped before they could be captured.
    Dropped {
        /// The file.
        path: PathBuf,
        /// Number of packets.
        packets: u64,
    },
}

impl Warning {
    /// Whether a file was damaged.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut(cut) => cut.fmt(f),
            Self::Empty { path } => {
                write!(f, "{}: cut short at byte 0: expected a capture file, found an empty file", Name(path))
            }
            Self::Damaged(error) => write!(f, "{error}; the rest of the file was not read"),
            Self::NoInterface(missing) => missing.fmt(f),
            Self::Dropped { path, packets } => write!(
                f,
                "{}: {packets} packets are missing: by the file's own statistics they were dropped before they could be captured",
                Name(path)
            ),
        }
    }
}

/// Where a file ends in the middle of a record, everything before which was yielded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Offset of the incomplete record, counted as in [`CaptureError`].
    pub offset: u64,
    /// Frames of this file that were yielded before the incomplete record.
    pub frames: u64,
    /// What was expected there.
    pub expected: String,
    /// What was found of it.
    pub found: String,
}

impl fmt::Display for Cut {
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

/// An interface that a capture does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoInterface {
    /// The capture as it was named.
    pub path: PathBuf,
    /// The interface.
    pub wanted: String,
    /// The interfaces that it has, some of them: numbers, and names where it states them.
    pub found: Vec<String>,
}

impl NoInterface {
    fn write_reason(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wanted, found, .. } = self;
        write!(f, "expected packets of interface {wanted}, found ")?;
        if found.is_empty() {
            return f.write_str(
                "a capture that does not name any: dumpcap -i eth0 -i eth1 does, and so does tcpdump -i any -y LINUX_SLL2",
            );
        }
        write!(f, "only those of {}", found.join(", "))
    }
}

impl fmt::Display for NoInterface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Name(&self.path))?;
        self.write_reason(f)
    }
}

/// The path of an input as shown to the user: `-` is standard input.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a Path);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Path::new("-") { f.write_str("standard input") } else { self.0.display().fmt(f) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn standard_input_has_a_name() {
        let dropped = |path: &str| Warning::Dropped { path: path.into(), packets: 3 }.to_string();
        assert!(dropped("-").starts_with("standard input: 3 packets are missing"), "{}", dropped("-"));
        assert!(dropped("./-").starts_with("./-: 3 packets"), "{}", dropped("./-"));
    }
}
