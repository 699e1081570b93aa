use super::source::{Source, Stop, is_stdin, is_stopped};
use super::{CaptureFile, Record};
use crate::{CaptureError, FrameSource, Warning};
use dwell_types::Frame;
use std::fs::{self, File};
use std::io;
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
    stop: Option<Stop>,
    is_stopped: bool,
}

impl CaptureFiles {
    /// Takes the captures in this order. Every path is looked at first: one that is missing, unreadable or a directory is
    /// an error before any frame is read, and so is an empty one. Beside others that leaves a warning, since a recorder
    /// that begins a new file now and then ends with an empty one.
    pub fn open<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Result<Self, CaptureError> {
        let mut paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let (mut bytes_total, mut empty) = (Some(0), Vec::new());
        for path in &paths {
            let length = check(path)?;
            if length == Some(0) {
                empty.push(path.clone());
            }
            bytes_total = bytes_total.zip(length).map(|(total, length)| total + length);
        }
        if empty.len() == paths.len()
            && let Some(path) = empty.pop()
        {
            return Err(CaptureError::Empty { path });
        }
        paths.retain(|path| !empty.contains(path));
        let (current, warnings) = (None, empty.into_iter().map(Warning::empty).collect());
        let (stop, is_stopped) = (None, false);
        Ok(Self { paths, next: 0, current, warnings, bytes_before: 0, frames_before: 0, bytes_total, stop, is_stopped })
    }

    /// Ends as if there were nothing more, after the frames that were read already, as soon as it is asked to stop.
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: Some(stop.clone()), ..self }
    }

    /// Whether it was asked to stop before the end.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// The file that the last frame came from.
    pub fn path(&self) -> Option<&Path> {
        self.current.as_ref().map(CaptureFile::path)
    }

    /// Frames yielded so far, from all files.
    pub fn frames(&self) -> u64 {
        self.frames_before + self.current.as_ref().map_or(0, CaptureFile::frames)
    }

    /// Whether all that was read has been yielded: whoever reads a pipe may have to wait now.
    pub fn is_used_up(&self) -> bool {
        self.current.as_ref().is_none_or(CaptureFile::is_used_up)
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

    /// The next record, from the current file or the first after it that has one; none after a stop.
    #[inline(never)]
    fn next(&mut self) -> Result<Option<Record>, CaptureError> {
        match self.read() {
            Err(CaptureError::Io { error, .. }) if is_stopped(&error) => {
                self.is_stopped = true;
                self.next = self.paths.len();
                Ok(None)
            }
            next => next,
        }
    }

    fn read(&mut self) -> Result<Option<Record>, CaptureError> {
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
            let source = Source::open(path, self.stop.as_ref()).map_err(|error| io_error(path, error))?;
            self.current = Some(CaptureFile::open(path, source)?);
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
    File::open(path).map_err(|error| io_error(path, error))?;
    Ok(Some(metadata.len()))
}

fn io_error(path: &Path, error: io::Error) -> CaptureError {
    CaptureError::Io { path: path.to_owned(), offset: 0, frames: 0, error }
}
