//! Encoding of a summary as bytes, and of several messages in one file.
//!
//! ```text
//! u64          number, counted from zero
//! i64 i64      first nanosecond, and the first one after it, by the clock of its point
//! u64 u64      names of the borders before and after it
//! u64 n        bytes of the aggregator, then the aggregator
//! u64 n        bytes of the sketch of flows, then the sketch; zero without one
//! u64 n        listed flows seen so far, then the packets of each as u32
//! ```
//!
//! In a file, each summary and list of flows is preceded by "next" and its length as a little-endian u32.

use super::{FlowCounts, FlowList, Sketch};
use crate::codec::{CodecError, Kind, Reader, Writer};
use crate::lda::Lda;
use crate::lds::Lds;
use dwell_types::Timestamp;

/// What one point saw in one interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Counted from zero without gaps.
    pub number: u64,
    /// When its first packet passed, which is also the border before it.
    pub start: Timestamp,
    /// When the first packet after it passed.
    pub end: Timestamp,
    /// The border before it, named by the first packet after that border.
    pub from: u64,
    /// The border after it.
    pub to: u64,
    /// Its packets.
    pub sketch: Sketch,
}

const MARK: [u8; 4] = *b"next";
/// Mark and length.
const HEAD: usize = 8;

impl Summary {
    /// The summary as bytes; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(Kind::Summary);
        to.u64(self.number);
        to.i64(self.start.as_nanos());
        to.i64(self.end.as_nanos());
        to.u64(self.from);
        to.u64(self.to);
        for part in [self.sketch.lda.to_bytes(), self.sketch.lds.as_ref().map(Lds::to_bytes).unwrap_or_default()] {
            to.u64(part.len() as u64);
            to.bytes(&part);
        }
        self.sketch.listed.write(&mut to);
        to.finish()
    }

    /// Decodes the output of [`Summary::to_bytes`]. Any other bytes give an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Summary)?;
        let number = from.u64()?;
        let [start, end] = [from.i64()?, from.i64()?].map(Timestamp::from_nanos);
        let borders = [from.u64()?, from.u64()?];
        let length = from.count(1)?;
        let lda = Lda::from_bytes(&from.bytes(length)?)?;
        let length = from.count(1)?;
        let flows = from.bytes(length)?;
        let lds = if flows.is_empty() { None } else { Some(Lds::from_bytes(&flows)?) };
        let listed = FlowCounts::read(&mut from)?;
        from.finish()?;
        Ok(Self { number, start, end, from: borders[0], to: borders[1], sketch: Sketch { lda, lds, listed } })
    }
}

/// One message of a file.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "nearly all are the large one")]
pub enum Message {
    /// An interval.
    Summary(Summary),
    /// The flows of the whole file.
    Flows(FlowList),
}

impl Message {
    /// The bytes as written to a file.
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
            Err(CodecError::Kind { found, .. }) if found == Kind::Flows as u8 => {
                FlowList::from_bytes(body).map(Self::Flows)
            }
            summary => summary.map(Self::Summary),
        }
    }
}

/// Reads the messages of a file with arbitrary contents: a damaged message gives an error, and reading continues after
/// it if a mark or the end of the file follows, otherwise at the next mark.
///
/// No byte is parsed as part of more than two messages, even if messages claim to contain each other: a message that no
/// mark follows is only parsed outside of damaged ones that no mark follows.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
    /// How many bytes of the rest are claimed by a damaged message that no mark follows.
    doubtful: usize,
}

impl<'a> Messages<'a> {
    /// The messages in these bytes.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, doubtful: 0 }
    }

    /// The message at the current position, and how many bytes to skip.
    fn read(&mut self) -> (Result<Message, CodecError>, usize) {
        let (body, behind) = match message(self.rest) {
            Ok(parts) => parts,
            Err(error) => return (Err(error), self.next_mark()),
        };
        let length = HEAD + body.len();
        let is_followed = behind.is_empty() || behind.starts_with(&MARK);
        if !is_followed && self.doubtful > 0 {
            return (Err(CodecError::Checksum), self.next_mark());
        }
        let message = Message::from_body(body);
        if message.is_ok() || is_followed {
            return (message, length);
        }
        self.doubtful = length;
        (message, self.next_mark())
    }

    /// Distance to the next mark after the current position.
    fn next_mark(&self) -> usize {
        let mut marks = self.rest.windows(MARK.len()).skip(1);
        marks.position(|window| window == MARK).map_or(self.rest.len(), |at| at + 1)
    }
}

/// The body of a message, and the bytes after it.
fn message(bytes: &[u8]) -> Result<(&[u8], &[u8]), CodecError> {
    let present = bytes.len();
    let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(CodecError::Length { needed: HEAD, present })?;
    let [a, b, c, d, length @ ..] = *head;
    if [a, b, c, d] != MARK {
        return Err(CodecError::Magic([a, b, c, d]));
    }
    let length = u32::from_le_bytes(length) as usize;
    rest.split_at_checked(length).ok_or(CodecError::Length { needed: HEAD + length, present })
}

impl Iterator for Messages<'_> {
    type Item = Result<Message, CodecError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let (message, passed) = self.read();
        self.rest = &self.rest[passed..];
        self.doubtful = self.doubtful.saturating_sub(passed);
        Some(message)
    }
}
