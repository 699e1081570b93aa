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

/// The bytes of a file, a pipe or standard input, until they end or a [`Stop`] fires.
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

/// After a stop, an error for which [`is_stopped`] holds: a caller can distinguish it from the end of the data.
impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(stop) = &self.stop {
            stop.wait(self.file.as_fd())?;
        }
        self.file.read(buffer)
    }
}

/// Ends reading from outside, even while the reader is blocked on input that never comes.
#[derive(Clone, Debug)]
pub struct Stop(Arc<OwnedFd>);

impl Stop {
    /// A stop that fires when `asked` becomes readable and from then on: it can be the read end of a pipe, or a socket.
    pub fn when_readable(asked: impl Into<OwnedFd>) -> Self {
        Self(Arc::new(asked.into()))
    }

    /// Waits until `input` has bytes or has ended; an error once the stop has fired, whatever `input` has.
    fn wait(&self, input: BorrowedFd<'_>) -> io::Result<()> {
        let mut both = [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(input, PollFlags::IN)];
        retry_on_intr(|| poll(&mut both, None))?;
        if both[0].revents().is_empty() { Ok(()) } else { Err(io::Error::other(Stopped)) }
    }
}

/// Whether an error says that reading was stopped.
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
