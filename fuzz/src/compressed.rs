//! Compressed captures: whatever the bytes are, they are read alike in whatever pieces they come, and as far as they
//! are sound.

use crate::capture::{Trickle, read};
use dwell_capture::CaptureError;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;
use std::io::Write;

/// Gzip, xz or zstd.
pub fn compress(kind: u8, bytes: &[u8]) -> Vec<u8> {
    let packed = match kind % 3 {
        0 => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        1 => {
            let mut encoder = XzEncoder::new(Vec::new(), 0);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        _ => zstd::encode_all(bytes, 1),
    };
    packed.expect("memory can be written")
}

/// An error without the decompressor's own words, which depend on the pieces that it met the damage in.
fn fate(error: &Option<CaptureError>) -> String {
    match error {
        Some(CaptureError::Damaged { offset, frames, expected, .. }) => format!("{offset} {frames} {expected}"),
        other => format!("{other:?}"),
    }
}

/// Checks a compressed capture, and the part of it before `cut`.
pub fn check(bytes: &[u8], cut: usize) {
    let whole = read(bytes);
    assert!(whole.cut.is_none() || whole.error.is_none(), "a file is cut or damaged, not both");
    if let Some(CaptureError::Io { .. } | CaptureError::Directory { .. }) = &whole.error {
        panic!("memory can be read, and is no directory: {:?}", whole.error);
    }

    let pieces = read(Trickle(bytes, 0));
    assert_eq!(pieces.frames, whole.frames, "in pieces");
    assert_eq!(pieces.cut, whole.cut, "in pieces");
    assert_eq!(fate(&pieces.error), fate(&whole.error), "in pieces");

    let part = read(&bytes[..cut.min(bytes.len())]);
    assert!(part.frames.len() <= whole.frames.len(), "a part has more frames");
    assert_eq!(part.frames, whole.frames[..part.frames.len()], "cut at {cut}");
    if whole.error.is_none() && part.error.is_some() {
        assert!(part.frames.is_empty(), "what was sound is damaged when cut: {:?}", part.error);
    }
}

/// A capture that was compressed is read as if it were not.
pub fn check_whole(kind: u8, bytes: &[u8]) {
    let (plain, packed) = (read(bytes), read(&*compress(kind, bytes)));
    assert_eq!(packed.frames, plain.frames);
    assert_eq!(packed.cut, plain.cut);
    assert_eq!(format!("{:?}", packed.error), format!("{:?}", plain.error));
}
