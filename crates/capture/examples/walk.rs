//! Iterates over the frames of captures and counts them: a lower bound on the time of every tool.
//!
//! `cargo run --release -p dwell-capture --example walk -- FILE…`

use dwell_capture::{CaptureError, CaptureFiles, FrameSource};

fn main() -> Result<(), CaptureError> {
    let mut source = CaptureFiles::open(std::env::args().skip(1))?;
    let (mut frames, mut bytes) = (0u64, 0u64);
    while let Some(frame) = source.next_frame()? {
        frames += 1;
        bytes += u64::from(frame.wire_length);
    }
    println!("{frames} frames, {bytes} bytes on the wire");
    Ok(())
}
