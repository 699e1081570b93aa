use super::compression::{Compression, Input, Unread};
use super::{Record, Trouble};
use dwell_types::Frame;
use std::io::Read;

/// Initial size of the buffer, and of one read: more than almost any record, and small enough to stay in a core's cache
/// between being read and being parsed.
const BLOCK_BYTES: usize = 256 << 10;

/// The part of a stream that is buffered in memory.
pub(super) struct Window<R> {
    input: Input<R>,
    buffer: Vec<u8>,
    /// The bytes `start..end` of the buffer have been read but not used yet.
    start: usize,
    end: usize,
    /// Offset of the buffer's first byte in the stream.
    base: u64,
    /// How the stream ended after `end`, once that is known.
    ended: Option<End>,
}

/// How a stream ends.
#[derive(Clone, Copy)]
pub(super) enum End {
    Whole,
    /// In the middle of its compressed data.
    Cut(Compression),
}

impl<R: Read> Window<R> {
    pub(super) fn new(reader: R) -> Result<Self, Trouble> {
        let input = Input::new(reader).map_err(|stop| trouble(stop, 0))?;
        Ok(Self { input, buffer: vec![0; BLOCK_BYTES], start: 0, end: 0, base: 0, ended: None })
    }

    /// From now on decompresses in another thread, if the data is compressed.
    pub(super) fn ahead(self) -> Result<Self, Trouble>
    where
        R: Send + 'static,
    {
        let offset = self.base + self.end as u64;
        Ok(Self { input: self.input.ahead().map_err(|error| Trouble::Io { offset, error })?, ..self })
    }

    /// Bytes of the file on disk, possibly compressed, that were read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// The bytes that are buffered and not used yet.
    #[inline(always)]
    pub(super) fn held(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Offset of the first unused byte in the stream.
    pub(super) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Index of the first unused byte in the buffer: valid for [`Window::frame`] until the next [`Window::hold`].
    #[inline(always)]
    pub(super) fn position(&self) -> usize {
        self.start
    }

    /// Marks the next `length` bytes as used; all of them must be buffered.
    #[inline(always)]
    pub(super) fn advance(&mut self, length: usize) {
        debug_assert!(length <= self.end - self.start);
        self.start += length;
    }

    /// The frame of a record; valid as long as nothing has been read since.
    #[inline(always)]
    pub(super) fn frame(&self, record: Record) -> Frame<'_> {
        let Record { at, link, wire_length, start, length } = record;
        Frame { at, link, bytes: &self.buffer[start..start + length], wire_length }
    }

    /// Reads until `length` bytes are buffered; returns false if the stream ends before.
    ///
    /// The buffer grows only when it is full of unused bytes, so a length field alone allocates nothing.
    pub(super) fn hold(&mut self, length: usize) -> Result<bool, Trouble> {
        while self.end - self.start < length {
            if self.ended.is_some() {
                return Ok(false);
            }
            if self.start > 0 {
                self.buffer.copy_within(self.start..self.end, 0);
                self.base += self.start as u64;
                self.end -= self.start;
                self.start = 0;
            }
            if self.end == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = Some(End::Whole),
                Ok(count) => self.end += count,
                Err(Unread::Cut(compression)) => self.ended = Some(End::Cut(compression)),
                Err(unread) => return Err(trouble(unread, self.base + self.end as u64)),
            }
        }
        Ok(true)
    }

    /// Skips `length` bytes without buffering them; returns false if the stream ends before.
    pub(super) fn skip(&mut self, mut length: u64) -> Result<bool, Trouble> {
        loop {
            let held = (self.end - self.start) as u64;
            if length <= held {
                self.start += length as usize;
                return Ok(true);
            }
            self.start = self.end;
            length -= held;
            if !self.hold(1)? {
                return Ok(false);
            }
        }
    }

    /// Whether the stream has ended, and not in the middle of its compressed data.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.ended, Some(End::Whole))
    }

    /// Whether the stream has ended, was not truncated, and has been used completely.
    pub(super) fn is_finished(&self) -> bool {
        self.start == self.end && self.is_whole()
    }

    /// The error that the stream ends inside something that begins at `offset`.
    pub(super) fn cut(&self, offset: u64, expected: String) -> Trouble {
        let length = self.base + self.end as u64 - offset;
        let bytes = if length == 1 { "byte" } else { "bytes" };
        let found = match self.ended {
            Some(End::Cut(compression)) => format!("{length} {bytes} before the truncated {compression} data ends"),
            _ => format!("{length} {bytes}"),
        };
        Trouble::Cut { offset, expected, found }
    }
}

fn trouble(unread: Unread, offset: u64) -> Trouble {
    match unread {
        Unread::Io(error) => Trouble::Io { offset, error },
        Unread::Cut(compression) => {
            Trouble::Cut { offset, expected: format!("{compression} data"), found: "its end".to_owned() }
        }
        Unread::Flawed(compression, flaw) => {
            let (expected, found) = flaw.words(compression);
            Trouble::Damaged { offset, expected, found }
        }
    }
}
