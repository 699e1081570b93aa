//! Captures that cannot be read to the end.

use dwell_capture::CaptureError;

/// Errors in damaged captures. The frames before the damage are valid, and so are the captures that follow.
#[derive(Debug, Default)]
pub(crate) struct Damage(Vec<CaptureError>);

impl Damage {
    pub(crate) fn add(&mut self, error: CaptureError) {
        self.0.push(error);
    }

    /// The errors as warnings if any frames were read, otherwise the first error.
    pub(crate) fn warnings(self, frames: u64) -> Result<Vec<String>, CaptureError> {
        let mut errors = self.0.into_iter();
        match errors.next() {
            Some(first) if frames == 0 => Err(first),
            first => Ok(first.into_iter().chain(errors).map(not_read).collect()),
        }
    }
}

/// The warning about a capture that was read only up to the error.
pub(crate) fn not_read(error: CaptureError) -> String {
    format!("{error}; the rest of the file was not read")
}
