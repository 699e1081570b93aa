//! Reads frames from pcap and pcapng files, plain or compressed, in the order in which the files are given.
//!
//! ```no_run
//! use dwell_capture::{CaptureFiles, FrameSource};
//!
//! let mut source = CaptureFiles::open(["monday.pcap", "tuesday.pcapng.zst"])?;
//! let mut bytes = 0;
//! while let Some(frame) = source.next_frame()? {
//!     bytes += u64::from(frame.wire_length);
//! }
//! for warning in source.warnings() {
//!     eprintln!("warning: {warning}");
//! }
//! # Ok::<(), dwell_capture::CaptureError>(())
//! ```

use dwell_types::Frame;

// Errors that end a run, warnings after which it continues, and what they call an input.
mod error;
pub use error::{CaptureError, Cut, Name, NoInterface, Warning};
// How captures are named.
mod input;
pub use input::Input;
// Captures in files and pipes.
pub mod file;
pub use file::{CaptureFile, CaptureFiles, PcapWriter};

/// An input that is read once, from its beginning to its end: how far that went, and how it ended.
pub trait InputState {
    /// Size of all files on disk, in bytes; `None` if a pipe is among them.
    fn bytes_total(&self) -> Option<u64>;

    /// Bytes of the files on disk, possibly compressed, that were read so far.
    fn bytes_read(&self) -> u64;

    /// Whether reading was stopped before the end ([`Stop`](file::Stop)).
    fn is_stopped(&self) -> bool;

    /// Whether any file was damaged, so far, and not used from there on.
    fn is_damaged(&self) -> bool;
}

/// A source of captured frames, one at a time; each is valid until the next call.
pub trait FrameSource {
    /// The next frame; `None` at the end and after an error, and from then on.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;
}
