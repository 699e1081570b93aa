//! A summary as bytes, kind 4, version 1, and many of them one behind the other.
//!
//! ```text
//! u64          number, counted from zero
//! i64 i64      first nanosecond, and the first one behind it, by the clock of its point
//! u64 u64      names of the borders before and behind it
//! u64 n        bytes of the sketch, then the sketch
//! ```
//!
//! In a file each has "next" and its length as u32, little-endian, before it.

use crate::codec::{CodecError, Reader, Writer};
use crate::lda::Lda;
use dwell_types::Timestamp;

/// What one point saw in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Counted from zero without gaps.
    pub number: u64,
    /// When the first packet passed, or the border before it.
    pub start: Timestamp,
    /// When the first packet passed that is not in it.
    pub end: Timestamp,
    /// The border before it, named by the first packet behind that.
    pub from: u64,
    /// The border behind it.
    pub to: u64,
    /// Its packets.
    pub lda: Lda,
}

const KIND: u8 = 4;
const VERSION: u8 = 1;
const MARK: [u8; 4] = *b"next";
/// Mark and length.
const HEAD: usize = 8;

impl Summary {
    /// The summary as bytes; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(KIND, VERSION);
        to.u64(self.number);
        to.i64(self.start.as_nanos());
        to.i64(self.end.as_nanos());
        to.u64(self.from);
        to.u64(self.to);
        let lda = self.lda.to_bytes();
        to.u64(lda.len() as u64);
        to.bytes(&lda);
        to.finish()
    }

    /// The summary that [`Summary::to_bytes`] wrote. Bytes that are none give an error, whatever they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, KIND, VERSION)?;
        let number = from.u64()?;
        let [start, end] = [from.i64()?, from.i64()?].map(Timestamp::from_nanos);
        let borders = [from.u64()?, from.u64()?];
        let length = from.count(1)?;
        let lda = Lda::from_bytes(&from.bytes(length)?)?;
        from.finish()?;
        Ok(Self { number, start, end, from: borders[0], to: borders[1], lda })
    }

    /// The bytes as they stand in a file.
    pub fn to_message(&self) -> Vec<u8> {
        let body = self.to_bytes();
        let mut message = MARK.to_vec();
        message.extend((body.len() as u32).to_le_bytes());
        message.extend(body);
        message
    }
}

/// Reads the summaries of a file, whatever it holds: what is damaged gives an error, and reading goes on at the next mark.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Messages<'a> {
    /// The messages in these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }
}

impl Iterator for Messages<'_> {
    type Item = Result<Summary, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let present = self.rest.len();
        let read = match self.rest.split_first_chunk::<HEAD>() {
            Some(([a, b, c, d, length @ ..], body)) if [*a, *b, *c, *d] == MARK => {
                let length = u32::from_le_bytes(*length) as usize;
                let message = body.get(..length).ok_or(CodecError::Length { needed: HEAD + length, present });
                message.and_then(Summary::from_bytes).map(|summary| (summary, HEAD + length))
            }
            Some(([a, b, c, d, ..], _)) => Err(CodecError::Magic([*a, *b, *c, *d])),
            None => Err(CodecError::Length { needed: HEAD, present }),
        };
        let passed = match &read {
            Ok((_, length)) => *length,
            // The next mark that is not this one.
            Err(_) => {
                let marks = self.rest.windows(MARK.len()).skip(1);
                marks.into_iter().position(|window| window == MARK).map_or(present, |at| at + 1)
            }
        };
        self.rest = &self.rest[passed..];
        Some(read.map(|(summary, _)| summary))
    }
}
