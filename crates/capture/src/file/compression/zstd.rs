use super::{Flaw, State, Step};
use std::io;
use zstd::stream::raw::{DParameter, Decoder, Operation};
use zstd::zstd_safe::get_frame_content_size;

/// The largest window accepted, as a power of two: 128 MiB, the limit of the zstd tool by default.
const WINDOW_LOG: u32 = 27;
pub(super) const WINDOW_BYTES: u64 = 1 << WINDOW_LOG;

/// Zstd frames. The decoder discards the output of a call that ends in an error, so it is never given enough input at
/// once for valid data and damage to meet in one call.
pub(super) struct Zstd {
    decoder: Decoder<'static>,
    /// The number of bytes that the decoder requests next.
    next: usize,
    between_frames: bool,
    /// Whether the decoder may still hold output that did not fit into the buffer.
    holds_bytes: bool,
    /// The first bytes of the frame, enough for all of its header.
    head: Vec<u8>,
    /// Number of decompressed bytes of the frame so far.
    produced: u64,
}

impl Zstd {
    /// Number of bytes that the decoder needs to recognise a frame.
    const START: usize = 5;

    /// Length of a block header in bytes.
    const BLOCK_HEADER: usize = 3;

    /// Length of the longest frame header in bytes.
    const LONGEST_HEAD: usize = 18;

    pub(super) fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
        let head = Vec::with_capacity(Self::LONGEST_HEAD);
        Ok(Self { decoder, next: Self::START, between_frames: true, holds_bytes: false, head, produced: 0 })
    }

    pub(super) fn step(&mut self, input: &[u8], output: &mut [u8], file_ended: bool) -> Step {
        // Behind a whole frame the decoder would begin the next one.
        if self.holds_bytes && !self.between_frames {
            let step = self.run(&[], output);
            if step.produced > 0 {
                return step;
            }
        }
        if input.is_empty() && self.between_frames {
            return Step::idle(file_ended);
        }
        // The decoder requests a block and the header of the next one, which may be damaged: pass the block alone
        // first. The last byte of the last block may reveal that the frame is damaged: pass that byte alone, too.
        let block = self.next.saturating_sub(Self::BLOCK_HEADER).max(1);
        self.run(&input[..input.len().min(block).min(self.room())], output)
    }

    /// How many more input bytes can be passed before the output might exceed the content size that the frame states: a
    /// raw block is output byte for byte.
    fn room(&self) -> usize {
        // A skippable frame reports a content size of zero.
        let is_skipped = self.head.first() != Some(&0x28);
        match get_frame_content_size(&self.head) {
            Ok(Some(content)) if !is_skipped => {
                usize::try_from(content.saturating_sub(self.produced)).unwrap_or(usize::MAX).max(1)
            }
            _ => usize::MAX,
        }
    }

    fn run(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        let status = match self.decoder.run_on_buffers(input, output) {
            Ok(status) => status,
            Err(error) => {
                // The library tells its errors apart by their words only.
                let state = match error.to_string() {
                    words if words.starts_with("Frame requires too much memory") => State::Flawed(Flaw::TooLarge),
                    words => State::corrupt(words),
                };
                return Step { consumed: 0, produced: 0, state };
            }
        };
        self.between_frames = status.remaining == 0;
        self.holds_bytes = status.bytes_written == output.len();
        if self.between_frames {
            self.next = Self::START;
            self.head.clear();
            self.produced = 0;
        } else {
            self.next = status.remaining;
            let header = status.bytes_read.min(Self::LONGEST_HEAD - self.head.len());
            self.head.extend_from_slice(&input[..header]);
            self.produced += status.bytes_written as u64;
        }
        Step { consumed: status.bytes_read, produced: status.bytes_written, state: State::Open }
    }
}
