use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// Whether a path stands for standard input.
pub(super) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Bytes of a file, a pipe or standard input, until they end or somebody asks to [`Stop`].
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    stop: Option<Stop>,
}

impl Source {
    /// Opens a path; `-` is standard input.
    pub(super) fn open(path: &Path, stop: Option<&Stop>) -> io::Result<Self> {
        let file =
            if is_stdin(path) { File::from(io::stdin().as_fd().try_clone_to_owned()?) } else { File::open(path)? };
        Ok(Self { file, stop: stop.cloned() })
    }
}

/// After a stop, an error of which [`is_stopped`] holds: whoever reads can tell it from the end.
impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(stop) = &self.stop {
            stop.wait(self.file.as_fd())?;
        }
        self.file.read(buffer)
    }
}

/// Ends reading from outside, also while a reader waits for bytes that never come.
#[derive(Clone, Debug)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// Asks to stop as soon as there is something to read from this, and from then on: the end of a pipe, or of a
    /// socket.
    pub fn when_readable(asked: impl Into<OwnedFd>) -> Self {
        Self(Arc::new(asked.into()))
    }

    /// Waits until `input` has bytes or ends; an error if it is asked to stop, whatever `input` has.
    fn wait(&self, input: BorrowedFd<'_>) -> io::Result<()> {
        let mut both = [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(input, PollFlags::IN)];
        retry_on_intr(|| poll(&mut both, None))?;
        if both[0].revents().is_empty() { Ok(()) } else { Err(io::Error::other(Stopped)) }
    }
}

/// Whether an error says that reading was asked to stop.
pub fn is_stopped(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(cause) if cause.is::<Stopped>())
}

#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("reading was stopped")
    }
}

impl std::error::Error for Stopped {}
