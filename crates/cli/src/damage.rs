//! Captures that cannot be read to their ends.

use dwell_capture::CaptureError;

/// Where captures are damaged: what stands before is sound, and so are the captures behind.
#[derive(Debug, Default)]
pub(crate) struct Damage(Vec<CaptureError>);

impl Damage {
    pub(crate) fn add(&mut self, error: CaptureError) {
        self.0.push(error);
    }

    /// What to warn of, if any frames were read; else the first error.
    pub(crate) fn warnings(self, frames: u64) -> Result<Vec<String>, CaptureError> {
        let mut errors = self.0.into_iter();
        match errors.next() {
            Some(first) if frames == 0 => Err(first),
            first => Ok(first.into_iter().chain(errors).map(not_read).collect()),
        }
    }
}

/// What is said of a capture that was read up to there.
pub(crate) fn not_read(error: CaptureError) -> String {
    format!("{error}; the rest of the file was not read")
}
