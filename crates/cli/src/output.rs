//! Files that are whole or absent: what is written goes to a neighbour of the file first, which takes its name at the
//! end.

use crate::Failure;
use crate::words::Plain;
use anyhow::{Context, Result};
use dwell_report::plot::Image;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that a picture is to be drawn into, by its name.
pub(crate) fn picture(path: &str) -> Result<(PathBuf, Image), String> {
    let path = PathBuf::from(path);
    let image = Image::of(&path).ok_or("expected a file name ending in .svg or .png")?;
    Ok((path, image))
}

/// Refuses to read one file where different ones are expected.
pub(crate) fn check_different<'a>(
    inputs: impl IntoIterator<Item = &'a PathBuf>,
    expected: &str,
) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for path in inputs {
        if seen.contains(&path) {
            return Err(Failure::Usage(format!("expected {expected}, found {} twice", path.display())));
        }
        seen.push(path);
    }
    Ok(())
}

/// Refuses to write two files to one place, or a file in the place of what is read. Devices and pipes may be shared,
/// but for standard output.
pub(crate) fn check_apart(
    inputs: impl IntoIterator<Item = impl AsRef<Path>>,
    outputs: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    let place = |path: &Path| match fs::metadata(path) {
        Ok(metadata) => metadata.is_file().then(|| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())),
        Err(_) => {
            let folder = fs::canonicalize(Path::new(".").join(path.parent().unwrap_or(path)));
            Some(folder.unwrap_or_default().join(path.file_name().unwrap_or_default()))
        }
    };
    let inputs: Vec<PathBuf> = inputs.into_iter().filter_map(|path| place(path.as_ref())).collect();
    let mut seen = Vec::new();
    for path in outputs {
        let path = path.as_ref();
        let Some(place) = (if is_stdout(path) { Some(PathBuf::from("-")) } else { place(path) }) else { continue };
        if inputs.contains(&place) {
            return Err(Failure::Usage(format!(
                "{}: is an input, and would be replaced: name another file",
                path.display()
            )));
        }
        if seen.contains(&place) {
            return Err(Failure::Usage(format!("{}: would be written twice: name two files", path.display())));
        }
        seen.push(place);
    }
    Ok(())
}

/// Where a report goes: standard output, if nothing else is said.
pub(crate) fn place_of_report(output: Option<&PathBuf>) -> &Path {
    output.map_or(Path::new("-"), PathBuf::as_path)
}

/// The device is opened by no other name than standard output's: behind it may be a file, half written.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-") || path == Path::new("/dev/stdout")
}

/// Standard output, or a file that appears when it is complete.
pub(crate) enum Output {
    /// Standard output.
    Stdout {
        to: BufWriter<io::Stdout>,
        /// Whether somebody looks at it: no name of what was read may be a command to the terminal.
        is_terminal: bool,
    },
    /// A device or pipe, written as it is.
    Direct(BufWriter<File>, PathBuf),
    /// A file under construction.
    Whole {
        /// Its neighbour.
        to: BufWriter<File>,
        /// Where the neighbour is; removed if this is dropped unfinished.
        partial: Partial,
        /// What it will be called.
        path: PathBuf,
    },
}

/// All files under construction, for a signal that ends the run.
static PARTIALS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn partials() -> MutexGuard<'static, Vec<PathBuf>> {
    PARTIALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files under construction. Whoever writes one cannot finish it then.
pub(crate) fn abandon() {
    for path in partials().drain(..) {
        // Nothing can be done about a file that cannot be removed.
        let _ = fs::remove_file(path);
    }
}

/// A file that is removed unless it was renamed.
pub(crate) struct Partial(PathBuf);

impl Partial {
    /// Creates the file.
    fn create(path: PathBuf) -> io::Result<(File, Self)> {
        let mut partials = partials();
        let file = File::create(&path)?;
        partials.push(path.clone());
        Ok((file, Self(path)))
    }

    /// Gives the file its name.
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
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(&self.0);
        }
    }
}

impl Output {
    /// A file, or standard output where none is named.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self> {
        path.map_or_else(|| Ok(Self::stdout()), Self::file)
    }

    /// A picture, where one is asked for.
    pub(crate) fn picture(asked: Option<&(PathBuf, Image)>) -> Result<Option<(Self, Image)>> {
        asked.map(|(path, image)| Ok((Self::file(path)?, *image))).transpose()
    }

    pub(crate) fn stdout() -> Self {
        Self::Stdout { to: BufWriter::new(io::stdout()), is_terminal: io::stdout().is_terminal() }
    }

    /// Opens the file at once, so that one that cannot be written is known before the work begins.
    pub(crate) fn file(path: &Path) -> Result<Self> {
        let cannot = || format!("{}: cannot be written", path.display());
        if is_stdout(path) {
            return Ok(Self::stdout());
        }
        if let Ok(metadata) = fs::metadata(path)
            && !metadata.is_file()
        {
            let file = File::options().write(true).open(path).with_context(cannot)?;
            return Ok(Self::Direct(BufWriter::new(file), path.to_owned()));
        }
        // A link stays, and what it leads to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.partial", std::process::id()));
        let neighbour = path.with_file_name(name);
        let (file, partial) = Partial::create(neighbour).with_context(cannot)?;
        Ok(Self::Whole { to: BufWriter::with_capacity(1 << 16, file), partial, path })
    }

    /// Writes out what is buffered and gives the file its name.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.flush()?;
        match self {
            Self::Whole { partial, path, .. } => partial.rename(&path).with_context(|| path.display().to_string()),
            Self::Stdout { .. } | Self::Direct(..) => Ok(()),
        }
    }

    /// The error with the name of what could not be written.
    fn named(&self, error: &io::Error) -> io::Error {
        let name = match self {
            Self::Stdout { .. } => "standard output".into(),
            Self::Direct(_, path) | Self::Whole { path, .. } => path.to_string_lossy(),
        };
        io::Error::new(error.kind(), format!("{name}: {error}"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match self {
            Self::Stdout { to, is_terminal: true } => Plain(to).write(bytes),
            Self::Stdout { to, .. } => to.write(bytes),
            Self::Direct(to, _) | Self::Whole { to, .. } => to.write(bytes),
        };
        written.map_err(|error| self.named(&error))
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = match self {
            Self::Stdout { to, .. } => to.flush(),
            Self::Direct(to, _) | Self::Whole { to, .. } => to.flush(),
        };
        flushed.map_err(|error| self.named(&error))
    }
}
