use super::{CaptureFile, Record};
use crate::{CaptureError, FrameSource, Warning};
use dwell_types::Frame;
use std::fs::{self, File};
use std::io::{self, Read, Stdin};
use std::path::{Path, PathBuf};

/// Several captures, read one after the other as if they were one. `-` is standard input.
///
/// A file that is cut leaves a warning and reading goes on. A damaged file is an error, after everything before the
/// damage was yielded; who asks for frames after an error gets those of the next file.
pub struct CaptureFiles {
    paths: Vec<PathBuf>,
    /// Index of the path that is opened next.
    next: usize,
    current: Option<CaptureFile<Source>>,
    warnings: Vec<Warning>,
    /// Bytes and frames of the files that are done.
    bytes_before: u64,
    frames_before: u64,
    bytes_total: Option<u64>,
}

enum Source {
    File(File),
    Stdin(Stdin),
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(buffer),
            Self::Stdin(stdin) => stdin.read(buffer),
        }
    }
}

impl CaptureFiles {
    /// Takes the captures in this order. Every path is looked at first: one that is missing, unreadable, empty or a
    /// directory is an error before any frame is read.
    pub fn open<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Result<Self, CaptureError> {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let mut bytes_total = Some(0);
        for path in &paths {
            let length = check(path)?;
            bytes_total = bytes_total.zip(length).map(|(total, length)| total + length);
        }
        let (current, warnings) = (None, Vec::new());
        Ok(Self { paths, next: 0, current, warnings, bytes_before: 0, frames_before: 0, bytes_total })
    }

    /// The file that the last frame came from.
    pub fn path(&self) -> Option<&Path> {
        self.current.as_ref().map(CaptureFile::path)
    }

    /// Frames yielded so far, from all files.
    pub fn frames(&self) -> u64 {
        self.frames_before + self.current.as_ref().map_or(0, CaptureFile::frames)
    }

    /// Which files were cut, so far.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Bytes of the files, as they lie on disk, that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_before + self.current.as_ref().map_or(0, CaptureFile::bytes_read)
    }

    /// Bytes of all files, as they lie on disk; `None` with a pipe among them.
    pub fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    /// The next record, from the current file or the first after it that has one.
    #[inline(never)]
    fn next(&mut self) -> Result<Option<Record>, CaptureError> {
        loop {
            if let Some(file) = &mut self.current {
                let next = file.next();
                if let Ok(Some(_)) = next {
                    return next;
                }
                self.bytes_before += file.bytes_read();
                self.frames_before += file.frames();
                self.warnings.extend(file.warning().cloned());
                self.current = None;
                next?;
            }
            let Some(path) = self.paths.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.current = Some(CaptureFile::open(path, source(path)?)?);
        }
    }
}

impl FrameSource for CaptureFiles {
    #[inline(always)]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if let Some(record) = self.current.as_mut().and_then(CaptureFile::next_held) {
            return Ok(self.current.as_ref().map(|file| file.frame(record)));
        }
        let next = self.next()?;
        Ok(self.current.as_ref().zip(next).map(|(file, record)| file.frame(record)))
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Looks at a path before it is its turn; gives the file's length, if it has one.
fn check(path: &Path) -> Result<Option<u64>, CaptureError> {
    if is_stdin(path) {
        return Ok(None);
    }
    let metadata = fs::metadata(path).map_err(|error| io_error(path, error))?;
    if metadata.is_dir() {
        return Err(CaptureError::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    if metadata.len() == 0 {
        return Err(CaptureError::Empty { path: path.to_owned() });
    }
    File::open(path).map_err(|error| io_error(path, error))?;
    Ok(Some(metadata.len()))
}

fn source(path: &Path) -> Result<Source, CaptureError> {
    if is_stdin(path) {
        return Ok(Source::Stdin(io::stdin()));
    }
    File::open(path).map(Source::File).map_err(|error| io_error(path, error))
}

fn io_error(path: &Path, error: io::Error) -> CaptureError {
    CaptureError::Io { path: path.to_owned(), offset: 0, frames: 0, error }
}
