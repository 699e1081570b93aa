//! Frames in: pcap and pcapng files, plain or compressed, in the order in which they were given.
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

// What can be wrong with a capture: the run fails, or goes on with a warning.
mod error;
pub use error::{CaptureError, Warning};
// Captures in files and pipes.
pub mod file;
pub use file::{CaptureFile, CaptureFiles, PcapWriter};

/// Whatever yields captured frames, one at a time, each valid until the next is asked for.
pub trait FrameSource {
    /// The next frame; `None` at the end, and from then on.
    ///
    /// After an error the source goes on with what comes after the damaged file, if there is anything.
    fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError>;
}
