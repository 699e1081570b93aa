//! Captures: the reader never panics, invents nothing, and does not care in which pieces its input comes.

use dwell_capture::{CaptureError, CaptureFile, Cut, FrameSource};
use std::io::Read;

/// The most bytes that a frame may have.
const MAX_FRAME: usize = 16 << 20;

/// The most frames and the most bytes of them that are looked at: a few compressed bytes may be very many.
const MOST: (usize, usize) = (4_096, 1 << 20);

/// Time, link type, length on the wire, captured bytes.
pub(crate) type Owned = (Option<i64>, u16, u32, Vec<u8>);

/// What came of a capture.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) frames: Vec<Owned>,
    pub(crate) cut: Option<Cut>,
    pub(crate) error: Option<CaptureError>,
}

/// Reads a capture to its end, or as far as is looked at.
pub(crate) fn read(reader: impl Read) -> Outcome {
    match CaptureFile::open("fuzz", reader) {
        Ok(file) => read_on(file),
        Err(error) => Outcome { error: Some(error), ..Outcome::default() },
    }
}

fn read_on(mut file: CaptureFile<impl Read>) -> Outcome {
    let mut outcome = Outcome::default();
    let mut captured = 0;
    while outcome.frames.len() < MOST.0 && captured < MOST.1 {
        match file.next_frame() {
            Ok(Some(frame)) => {
                captured += frame.bytes.len();
                assert!(frame.bytes.len() <= MAX_FRAME);
                let at_ns = frame.at.map(|at| at.as_nanos());
                outcome.frames.push((at_ns, frame.link.0, frame.wire_length, frame.bytes.to_vec()));
            }
            Ok(None) => {
                outcome.cut = file.cut().cloned();
                assert!(matches!(file.next_frame(), Ok(None)), "the end is the end");
                return outcome;
            }
            Err(error) => {
                assert_eq!(error.frames(), outcome.frames.len() as u64);
                assert!(matches!(file.next_frame(), Ok(None)), "the end is the end");
                return Outcome { error: Some(error), ..outcome };
            }
        }
    }
    outcome
}

/// Yields one to seven bytes at a time.
pub(crate) struct Trickle<R>(pub(crate) R, pub(crate) usize);

impl<R: Read> Read for Trickle<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1 % 7 + 1;
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

/// Checks an uncompressed capture, and the part of it before `cut`.
pub fn check(bytes: &[u8], cut: usize) {
    let whole = read(bytes);
    let captured: usize = whole.frames.iter().map(|frame| frame.3.len()).sum();
    assert!(captured <= bytes.len(), "{captured} captured bytes out of {}", bytes.len());
    assert!(whole.cut.is_none() || whole.error.is_none(), "a file is cut or damaged, not both");
    if let Some(cut) = &whole.cut {
        assert!(cut.offset <= bytes.len() as u64 && cut.frames == whole.frames.len() as u64, "{cut}");
    }
    match &whole.error {
        None | Some(CaptureError::Empty { .. } | CaptureError::NotACapture { .. }) => {}
        Some(CaptureError::Damaged { offset, .. } | CaptureError::Version { offset, .. }) => {
            assert!(*offset <= bytes.len() as u64);
        }
        Some(error) => panic!("memory can be read, and is no directory: {error}"),
    }

    let pieces = read(Trickle(bytes, 0));
    assert_eq!(pieces.frames, whole.frames, "in pieces");
    assert_eq!(pieces.cut, whole.cut, "in pieces");
    assert_eq!(format!("{:?}", pieces.error), format!("{:?}", whole.error), "in pieces");

    let part = &bytes[..cut.min(bytes.len())];
    let chosen = read_interface(bytes);
    let chosen_part = read_interface(part);
    let part = read(part);
    if whole.frames.len() < MOST.0 && captured < MOST.1 {
        assert!(is_within(&chosen.frames, &whole.frames), "an interface has frames that the file does not have");
        // Not a prefix: frames of several interfaces are merged by time, and those before a cut do not wait for others.
        assert!(is_within(&part.frames, &whole.frames), "a part has frames that the file does not have");
    }
    assert!(chosen.frames.starts_with(&chosen_part.frames), "cut at {cut}");
    if whole.error.is_none() && part.error.is_some() {
        assert!(part.frames.is_empty(), "what was sound is damaged when cut: {:?}", part.error);
    }
}

/// Reads the frames of the first interface only, which are yielded in the order of the file.
fn read_interface(bytes: &[u8]) -> Outcome {
    CaptureFile::open("fuzz", bytes).map(|file| read_on(file.only("0"))).unwrap_or_default()
}

/// Whether all of these frames are among those, as often, in any order.
fn is_within(some: &[Owned], all: &[Owned]) -> bool {
    let [some, all] = [some, all].map(|frames| {
        let mut sorted: Vec<&Owned> = frames.iter().collect();
        sorted.sort_unstable();
        sorted
    });
    let mut all = all.into_iter();
    some.into_iter().all(|frame| all.any(|other| other == frame))
}
