use crate::input::is_stdin;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The bytes of a file, a pipe or standard input, until they end or a [`Stop`] fires.
#[derive(Debug)]
pub(super) struct Source {
    file: File,
    /// Size of the file; `None` if the bytes come from another process, such as tcpdump, which may have more to write
    /// after a stop.
    length: Option<u64>,
    stop: Option<Stop>,
}

impl Source {
    /// Opens a path; `-` is standard input.
    pub(super) fn open(path: &Path, stop: Option<&Stop>) -> io::Result<Self> {
        let file =
            if is_stdin(path) { File::from(io::stdin().as_fd().try_clone_to_owned()?) } else { File::open(path)? };
        let metadata = file.metadata()?;
        let length = metadata.is_file().then_some(metadata.len());
        Ok(Self { file, length, stop: stop.cloned() })
    }

    /// Size of the file; `None` for a pipe.
    pub(super) fn length(&self) -> Option<u64> {
        self.length
    }
}

/// After a stop, an error for which [`is_stopped`] holds: a caller can distinguish it from the end of the data.
impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(stop) = &self.stop {
            stop.wait(self.file.as_fd(), self.length.is_none())?;
        }
        self.file.read(buffer)
    }
}

/// Ends reading from outside, even while the reader is blocked on input that never comes. Pipes are read for a second
/// longer: in `tcpdump | dwell`, Ctrl-C stops both, and tcpdump writes what it still holds before it ends.
#[derive(Clone, Debug)]
pub struct Stop(Arc<Asked>);

#[derive(Debug)]
struct Asked {
    asked: OwnedFd,
    /// When a reader noticed it first.
    noticed: OnceLock<Instant>,
}

impl Stop {
    /// A stop that fires when `asked` becomes readable and from then on: it can be the read end of a pipe, or a socket.
    pub fn when_readable(asked: impl Into<OwnedFd>) -> Self {
        Self(Arc::new(Asked { asked: asked.into(), noticed: OnceLock::new() }))
    }

    /// Whether a reader has noticed that it fired.
    pub fn is_noticed(&self) -> bool {
        self.0.noticed.get().is_some()
    }

    /// How long pipes are read after a stop, unless they end.
    const GRACE: Duration = Duration::from_secs(1);

    /// Waits until `input` has bytes or has ended; an error once the stop has fired, whatever `input` has, or for a pipe
    /// some time later.
    fn wait(&self, input: BorrowedFd<'_>, is_pipe: bool) -> io::Result<()> {
        let Asked { asked, noticed } = &*self.0;
        let mut both = [PollFd::new(asked, PollFlags::IN), PollFd::from_borrowed_fd(input, PollFlags::IN)];
        retry_on_intr(|| poll(&mut both, None))?;
        if both[0].revents().is_empty() {
            return Ok(());
        }
        let left = Self::GRACE.saturating_sub(noticed.get_or_init(Instant::now).elapsed());
        let mut input = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
        if is_pipe && !left.is_zero() && retry_on_intr(|| poll(&mut input, left.try_into().ok().as_ref()))? > 0 {
            return Ok(());
        }
        Err(io::Error::other(Stopped))
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
