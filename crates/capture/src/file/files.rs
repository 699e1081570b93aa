use super::source::{Source, Stop, is_stopped};
use super::{CaptureFile, Record};
use crate::input::is_stdin;
use crate::{CaptureError, FrameSource, Input, InputState, Warning};
use dwell_types::Frame;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Several captures, read one after the other as if they were one, each named like an [`Input`].
///
/// After a file that is truncated or damaged, everything before which was yielded, reading continues with the next one,
/// and there is a warning. Damage is an error only if no file had any frame.
#[derive(Debug)]
pub struct CaptureFiles {
    paths: Vec<PathBuf>,
    /// Index of the path to open next.
    next: usize,
    current: Option<CaptureFile<Source>>,
    warnings: Vec<Warning>,
    /// Bytes and frames of the files that have been read completely.
    bytes_before: u64,
    frames_before: u64,
    bytes_total: Option<u64>,
    stop: Option<Stop>,
    is_stopped: bool,
}

impl CaptureFiles {
    /// Reads the captures in this order. All paths are checked first: one that is missing, unreadable or a directory is
    /// an error before any frame is read. So are empty files, if there are no others (compressed ones when they are read).
    /// Next to others they only cause a warning, since a recorder that rotates its files often leaves an empty last one.
    pub fn open<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Result<Self, CaptureError> {
        let paths: Vec<PathBuf> = paths.into_iter().map(Into::into).collect();
        let lengths: Vec<Option<u64>> = paths.iter().map(|path| check(path)).collect::<Result<_, _>>()?;
        if let Some(path) = paths.last()
            && lengths.iter().all(|length| *length == Some(0))
        {
            return Err(CaptureError::Empty { path: path.clone() });
        }
        Ok(Self {
            paths,
            next: 0,
            current: None,
            warnings: Vec::new(),
            bytes_before: 0,
            frames_before: 0,
            bytes_total: lengths.into_iter().sum(),
            stop: None,
            is_stopped: false,
        })
    }

    /// Makes reading end, as at the end of the data, as soon as `stop` fires; frames already read are still yielded.
    pub fn until(self, stop: &Stop) -> Self {
        Self { stop: Some(stop.clone()), ..self }
    }

    /// Frames yielded so far, from all files.
    pub fn frames(&self) -> u64 {
        self.frames_before + self.current.as_ref().map_or(0, CaptureFile::frames)
    }

    /// Whether every frame that has been read was yielded: for a pipe, the next call may block.
    pub fn is_used_up(&self) -> bool {
        self.current.as_ref().is_none_or(CaptureFile::is_used_up)
    }

    /// Warnings about truncated, damaged and incomplete files, so far.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The next record, from the current file or a later one; none after a stop.
    #[inline(never)]
    fn next(&mut self) -> Result<Option<Record>, CaptureError> {
        loop {
            match self.read() {
                Ok(None) => return self.end(),
                Ok(record) => return Ok(record),
                Err(CaptureError::Io { error, .. }) if is_stopped(&error) => {
                    self.is_stopped = true;
                    self.next = self.paths.len();
                }
                Err(CaptureError::Empty { path }) => self.warnings.push(Warning::Empty { path }),
                Err(error) => self.warnings.push(Warning::Damaged(error)),
            }
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
                self.warnings.extend(file.cut().cloned().map(Warning::Cut));
                self.warnings.extend(file.missing().cloned().map(Warning::NoInterface));
                if file.dropped() > 0 {
                    self.warnings.push(Warning::Dropped { path: file.path().to_owned(), packets: file.dropped() });
                }
                self.current = None;
                next?;
            }
            let Some(path) = self.paths.get(self.next) else { return Ok(None) };
            self.next += 1;
            let Input { file, interface } = Input::parse(path);
            let source = Source::open(file, self.stop.as_ref()).map_err(|error| io_error(path, error))?;
            let capture = CaptureFile::open(path, source)?.ahead()?;
            self.current = Some(if let Some(interface) = interface { capture.only(interface) } else { capture });
        }
    }

    /// The end of all files: an error if there was damage and nothing else, or nothing at all.
    fn end(&mut self) -> Result<Option<Record>, CaptureError> {
        if self.frames_before > 0 {
            return Ok(None);
        }
        let is_empty = |warning: &Warning| matches!(warning, Warning::Empty { .. });
        let are_all_empty = self.warnings.iter().filter(|warning| is_empty(warning)).count() == self.paths.len();
        let why = self.warnings.extract_if(.., |warning| match warning {
            Warning::Damaged(_) | Warning::NoInterface(_) => true,
            Warning::Empty { .. } => are_all_empty,
            Warning::Cut(_) | Warning::Dropped { .. } => false,
        });
        let why: Vec<Warning> = why.collect();
        // The first damage, or else the first interface that is missing, or file that is empty.
        match why.into_iter().rev().max_by_key(Warning::is_damage) {
            Some(Warning::Damaged(error)) => Err(error),
            Some(Warning::NoInterface(missing)) => Err(CaptureError::NoInterface(missing)),
            Some(Warning::Empty { path }) => Err(CaptureError::Empty { path }),
            _ => Ok(None),
        }
    }
}

impl FrameSource for CaptureFiles {
    #[inline(always)]
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        if let Some(record) = self.current.as_mut().and_then(CaptureFile::next_held) {
            return Ok(self.current.as_ref().map(|file| file.frame_held(record)));
        }
        let next = self.next()?;
        Ok(self.current.as_ref().zip(next).map(|(file, record)| file.frame(record)))
    }
}

impl InputState for CaptureFiles {
    fn bytes_total(&self) -> Option<u64> {
        self.bytes_total
    }

    fn bytes_read(&self) -> u64 {
        self.bytes_before + self.current.as_ref().map_or(0, CaptureFile::bytes_read)
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    fn is_damaged(&self) -> bool {
        self.warnings.iter().any(Warning::is_damage)
    }
}

/// Checks a path before anything is read; returns the length of the file, if it has one.
fn check(path: &Path) -> Result<Option<u64>, CaptureError> {
    let Input { file, .. } = Input::parse(path);
    if is_stdin(file) {
        return Ok(None);
    }
    let metadata = fs::metadata(file).map_err(|error| io_error(path, error))?;
    if metadata.is_dir() {
        return Err(CaptureError::Directory { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    File::open(file).map_err(|error| io_error(path, error))?;
    Ok(Some(metadata.len()))
}

fn io_error(path: &Path, error: io::Error) -> CaptureError {
    CaptureError::Io { path: path.to_owned(), offset: 0, frames: 0, error }
}
