//! Files that are either complete or absent: output goes to a temporary file in the same folder, which is renamed at
//! the end, or when the first of the lines is published that are written while a run goes on. A pipe whose reader has gone
//! ends the run, unless there are files to complete.

use super::{is_stdout, target};
use anyhow::{Context, Result};
use dwell_report::csv::Rows;
use dwell_report::plot::Image;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Seek, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Standard output, or a file that appears once it is complete.
pub(crate) struct Output {
    to: Place,
    /// Whether control characters, which names from the input may contain, are replaced by question marks: in texts for
    /// people, and whatever goes to a terminal.
    is_plain: bool,
}

enum Place {
    Stdout(BufWriter<io::Stdout>),
    /// A device or pipe, written directly.
    Direct(BufWriter<File>, PathBuf),
    /// A file that grows by whole pieces.
    Growing {
        to: File,
        /// What is to be appended.
        piece: Vec<u8>,
        path: PathBuf,
    },
    /// A file that is being written.
    Whole {
        /// The temporary file.
        to: BufWriter<File>,
        /// Its path; removed if this is dropped before completion.
        partial: Partial,
        /// The final path.
        path: PathBuf,
    },
    /// A pipe whose reader has gone: what is written is discarded.
    Deserted,
}

impl Output {
    /// A plot file, if one is requested.
    pub(crate) fn picture(asked: Option<&(PathBuf, Image)>) -> Result<Option<(Self, Image)>> {
        asked.map(|(path, image)| Ok((Self::file(path)?, *image))).transpose()
    }

    /// A file of rows with these columns, if one is requested.
    pub(crate) fn rows<C: AsRef<[u8]>>(
        asked: Option<&Path>,
        columns: impl IntoIterator<Item = C>,
    ) -> Result<Option<Rows<Self>>> {
        asked.map(|path| Ok(Rows::new(Self::file(path)?, columns)?)).transpose()
    }

    pub(crate) fn stdout() -> Self {
        Self { to: Place::Stdout(BufWriter::new(io::stdout())), is_plain: io::stdout().is_terminal() }
    }

    /// Opens the file at once, so that a write error is found before the work begins.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let cannot = || format!("{}: cannot be written", path.display());
        if is_stdout(path) {
            return Ok(Self::stdout());
        }
        let old = fs::metadata(path).ok();
        if old.as_ref().is_some_and(|old| !old.is_file()) {
            let file = File::options().write(true).open(path).with_context(cannot)?;
            return Ok(Self { to: Place::Direct(BufWriter::new(file), path.to_owned()), is_plain: false });
        }
        if old.is_some() {
            // A file that may not be written is not replaced either.
            File::options().write(true).open(path).with_context(cannot)?;
        }
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(io::Error::from(io::ErrorKind::NotADirectory)).with_context(cannot);
        }
        // For a symbolic link, the target is replaced, or made, and the link is kept.
        let path = target(path);
        let (file, partial) = Partial::beside(&path).with_context(cannot)?;
        if let Some(old) = old {
            // Whoever may read the old file may read the new one, and nobody else, as far as we may give files away.
            keep_owner(&file, &old);
            file.set_permissions(old.permissions()).with_context(cannot)?;
        }
        let to = Place::Whole { to: BufWriter::with_capacity(1 << 16, file), partial, path };
        Ok(Self { to, is_plain: false })
    }

    /// This output, for a text for people from now on.
    pub(crate) fn plain(&mut self) -> &mut Self {
        self.is_plain = true;
        self
    }

    /// Flushes the buffer, and renames the file, which grows in place from then on: for lines that are written while a run
    /// goes on, so that others can follow them, and which stay if the run fails later. Where there is no room for all lines
    /// since the last call, none of them is written.
    pub(crate) fn publish(&mut self) -> Result<()> {
        self.flush()?;
        self.to = match std::mem::replace(&mut self.to, Place::Deserted) {
            Place::Whole { to, partial, path } => {
                partial.rename(&path).with_context(|| path.display().to_string())?;
                Place::Growing { to: to.into_parts().0, piece: Vec::new(), path }
            }
            Place::Growing { mut to, mut piece, path } => {
                append(&mut to, &piece).with_context(|| path.display().to_string())?;
                piece.clear();
                Place::Growing { to, piece, path }
            }
            same => same,
        };
        Ok(())
    }

    /// Completes the file, and begins one that will replace it.
    pub(crate) fn finish_and_begin_anew(&mut self) -> Result<()> {
        let Some(path) = self.to.path().map(Path::to_owned) else { return Ok(self.flush()?) };
        let deserted = Self { to: Place::Deserted, is_plain: self.is_plain };
        std::mem::replace(self, deserted).finish()?;
        *self = Self::file(&path)?;
        Ok(())
    }

    /// Completes the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.publish()
    }

    /// Accepts that nobody reads a pipe any more, if there are files to complete; `done` is then the result. Adds the name
    /// of the output to any other error.
    fn bear<T>(&mut self, error: &io::Error, done: T) -> io::Result<T> {
        if error.kind() == io::ErrorKind::BrokenPipe && !partials().is_empty() {
            self.to = Place::Deserted;
            return Ok(done);
        }
        let name = self.to.path().map_or("standard output".into(), Path::to_string_lossy);
        Err(io::Error::new(error.kind(), format!("{name}: {error}")))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.is_plain { write_plain(bytes, &mut self.to) } else { self.to.write(bytes) };
        written.or_else(|error| self.bear(&error, bytes.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().or_else(|error| self.bear(&error, ()))
    }
}

impl Place {
    /// The path of a file, device or pipe that was opened by it.
    fn path(&self) -> Option<&Path> {
        match self {
            Self::Direct(_, path) | Self::Growing { path, .. } | Self::Whole { path, .. } => Some(path),
            Self::Stdout(_) | Self::Deserted => None,
        }
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(to) => to.write(bytes),
            Self::Direct(to, _) | Self::Whole { to, .. } => to.write(bytes),
            Self::Growing { piece, .. } => piece.write(bytes),
            Self::Deserted => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(to) => to.flush(),
            Self::Direct(to, _) | Self::Whole { to, .. } => to.flush(),
            // Only whole pieces are written.
            Self::Growing { .. } | Self::Deserted => Ok(()),
        }
    }
}

/// Appends a piece to a file: all of it, or nothing.
fn append(to: &mut File, piece: &[u8]) -> io::Result<()> {
    let before = to.stream_position()?;
    to.write_all(piece).inspect_err(|_| {
        // Nothing can be done if this fails.
        let _ = to.set_len(before);
    })
}

/// Gives a file the owner and the group of the one that it replaces: each of them, if the system permits it.
fn keep_owner(file: &File, old: &fs::Metadata) {
    let _ = fchown(file, None, Some(old.gid()));
    let _ = fchown(file, Some(old.uid()), None);
}

/// A temporary file that is removed unless it has been renamed.
struct Partial(PathBuf);

impl Partial {
    /// Creates a file beside one of this path, in place of what a run left behind that was killed. Nothing else that exists
    /// is followed or overwritten.
    fn beside(path: &Path) -> io::Result<(File, Self)> {
        /// Longer names could not get an ending.
        const LONGEST: usize = 200;
        let name = path.file_name().filter(|name| name.len() <= LONGEST).unwrap_or("dwell".as_ref());
        let mut partials = partials();
        let mut number = 0;
        loop {
            let mut name = name.to_owned();
            name.push(match number {
                0 => ".dwell.partial".to_owned(),
                number => format!(".{number}.dwell.partial"),
            });
            let path = path.with_file_name(name);
            match File::create_new(&path) {
                Ok(file) => {
                    // Where there are no locks, nobody takes the file for remains.
                    let _ = file.lock();
                    // Before it was locked, somebody may have done so, and have removed it.
                    if is_at(&file, &path) {
                        partials.push(path.clone());
                        return Ok((file, Self(path)));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100 => {
                    if !remove_remains(&path) {
                        number += 1;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Renames the file to its final path.
    fn rename(self, path: &Path) -> io::Result<()> {
        let mut partials = partials();
        fs::rename(&self.0, path)?;
        partials.retain(|partial| *partial != self.0);
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let mut partials = partials();
        if let Some(place) = partials.iter().position(|partial| *partial == self.0) {
            partials.swap_remove(place);
            // Nothing can be done if removing fails.
            let _ = fs::remove_file(&self.0);
        }
    }
}

/// Removes the temporary file of a run that was killed, whose lock has gone with it.
fn remove_remains(path: &Path) -> bool {
    // A pipe would wait for its writer, and a link leads elsewhere.
    let is_file = fs::symlink_metadata(path).is_ok_and(|at| at.is_file());
    let Some(file) = is_file.then(|| File::open(path).ok()).flatten() else { return false };
    file.try_lock().is_ok() && is_at(&file, path) && fs::remove_file(path).is_ok()
}

/// Whether a path is that of this file.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |at: fs::Metadata| (at.dev(), at.ino());
    let (file, path) = (file.metadata().map(place), fs::symlink_metadata(path).map(place));
    matches!((file, path), (Ok(file), Ok(path)) if file == path)
}

/// All temporary files, so that they can be removed when a signal ends the run.
static PARTIALS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partials() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all temporary files; those who write them cannot complete them afterwards.
pub(crate) fn abandon() {
    for path in partials().drain(..) {
        // Nothing can be done if removing fails.
        let _ = fs::remove_file(path);
    }
}

/// Writes what comes before the first control character, or a question mark in its place; returns how many bytes that
/// stands for.
fn write_plain(bytes: &[u8], to: &mut impl Write) -> io::Result<usize> {
    match (0..bytes.len()).find(|&at| control(&bytes[at..]) > 0) {
        None => to.write(bytes),
        Some(0) => to.write(b"?").map(|written| written * control(bytes)),
        Some(before) => to.write(&bytes[..before]),
    }
}

/// Length of the control character that a text starts with, except for a line feed: one byte, or two in UTF-8 (C1),
/// which some terminals interpret, too, or the three of one that changes the direction of the text.
fn control(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 0,
        [byte, ..] if byte.is_ascii_control() => 1,
        [0xc2, 0x80..=0x9f, ..] => 2,
        [0xe2, 0x80, 0xaa..=0xae, ..] | [0xe2, 0x81, 0xa6..=0xa9, ..] => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run that was killed has left behind is replaced; what another one writes, and what is no file, is not.
    #[test]
    fn remains_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let (path, remains, second) = (place("a.json"), place("a.json.dwell.partial"), place("a.json.1.dwell.partial"));
        fs::write(&remains, "half").unwrap();
        let (file, first) = Partial::beside(&path).unwrap();
        assert!(first.0 == remains && fs::read(&remains).unwrap().is_empty());
        let (_other, another) = Partial::beside(&path).unwrap();
        assert_eq!(another.0, second);
        drop((file, first, another));
        assert!(!remains.exists() && !second.exists());
        std::os::unix::fs::symlink("victim", &remains).unwrap();
        assert_eq!(Partial::beside(&path).unwrap().1.0, second);
        assert!(remains.is_symlink());
    }

    #[test]
    fn text_for_people_holds_no_commands() {
        let (mut bytes, mut text) = ("a\u{1b}[31m\tb\n\u{9b}2J é\u{7f}\u{a0}\u{202e}\u{2069}…".as_bytes(), Vec::new());
        while !bytes.is_empty() {
            bytes = &bytes[write_plain(bytes, &mut text).unwrap()..];
        }
        assert_eq!(String::from_utf8(text).unwrap(), "a?[31m?b\n?2J é?\u{a0}??…");
    }
}
