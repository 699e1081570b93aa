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

/// A source of captured frames, one at a time; each is valid until the next call.
pub trait FrameSource {
    /// The next frame; `None` at the end and after an error, and from then on.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;
}
