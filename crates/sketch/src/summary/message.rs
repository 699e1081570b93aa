//! A summary as bytes, kind 4, version 1, and many of them one behind the other.
//!
//! ```text
//! u64          number, counted from zero
//! i64 i64      first nanosecond, and the first one behind it, by the clock of its point
//! u64 u64      names of the borders before and behind it
//! u64 n        bytes of the aggregator, then the aggregator
//! u64 n        bytes of the sketch of flows, then that; zero without one
//! ```
//!
//! In a file each, and a list of flows, has "next" and its length as u32, little-endian, before it.

use super::{FlowList, Sketch, flows};
use crate::codec::{CodecError, Reader, Writer};
use crate::lda::Lda;
use crate::lds::Lds;
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
    pub sketch: Sketch,
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
        for part in [self.sketch.lda.to_bytes(), self.sketch.lds.as_ref().map(Lds::to_bytes).unwrap_or_default()] {
            to.u64(part.len() as u64);
            to.bytes(&part);
        }
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
        let length = from.count(1)?;
        let flows = from.bytes(length)?;
        let lds = if flows.is_empty() { None } else { Some(Lds::from_bytes(&flows)?) };
        from.finish()?;
        Ok(Self { number, start, end, from: borders[0], to: borders[1], sketch: Sketch { lda, lds } })
    }
}

/// What a file of messages holds.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Message {
    /// An interval.
    Summary(Summary),
    /// The flows of the whole file.
    Flows(FlowList),
}

impl Message {
    /// The bytes as they stand in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = match self {
            Self::Summary(summary) => summary.to_bytes(),
            Self::Flows(flows) => flows.to_bytes(),
        };
        let mut message = MARK.to_vec();
        message.extend((body.len() as u32).to_le_bytes());
        message.extend(body);
        message
    }

    fn from_body(body: &[u8]) -> Result<Self, CodecError> {
        match Summary::from_bytes(body) {
            Err(CodecError::Kind { found: flows::KIND, .. }) => FlowList::from_bytes(body).map(Self::Flows),
            summary => summary.map(Self::Summary),
        }
    }
}

/// Reads the messages of a file, whatever it holds: what is damaged gives an error, and reading goes on at the next mark.
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
    type Item = Result<Message, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let present = self.rest.len();
        let read = match self.rest.split_first_chunk::<HEAD>() {
            Some(([a, b, c, d, length @ ..], body)) if [*a, *b, *c, *d] == MARK => {
                let length = u32::from_le_bytes(*length) as usize;
                let message = body.get(..length).ok_or(CodecError::Length { needed: HEAD + length, present });
                message.and_then(Message::from_body).map(|message| (message, HEAD + length))
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
        Some(read.map(|(message, _)| message))
    }
}
