//! Encoding of a summary as bytes, and of several messages in one file.
//!
//! ```text
//! u64          number, counted from zero
//! i64 i64      first nanosecond, and the first one after it, by the clock of its point
//! u64 u64      names of the borders before and after it
//! u64 u64      its origin: what identifies packets, and which are sketched
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

/// How packets were read before they were sketched, as hashes: zero where nothing was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// By what a packet is identified.
    pub names: u64,
    /// Which packets are sketched.
    pub sources: u64,
}

impl Origin {
    /// Whether packets of the other origin may be the same ones. A point may see only those that the other one has chosen.
    pub const fn fits(self, other: Self) -> bool {
        let is_chosen = self.sources != 0 && other.sources != 0;
        self.names == other.names && (self.sources == other.sources || !is_chosen)
    }
}

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
    /// How its packets were read.
    pub origin: Origin,
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
        to.u64(self.origin.names);
        to.u64(self.origin.sources);
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
        let origin = Origin { names: from.u64()?, sources: from.u64()? };
        let length = from.count(1)?;
        let lda = Lda::from_bytes(&from.bytes(length)?)?;
        let length = from.count(1)?;
        let flows = from.bytes(length)?;
        let lds = if flows.is_empty() { None } else { Some(Lds::from_bytes(&flows)?) };
        let listed = FlowCounts::read(&mut from)?;
        from.finish()?;
        Ok(Self { number, start, end, from: borders[0], to: borders[1], origin, sketch: Sketch { lda, lds, listed } })
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

/// Reads the messages of a file with arbitrary contents, piece by piece: a damaged message gives an error, and reading
/// continues after it if a mark or the end of the file follows, otherwise at the next mark.
///
/// No byte is parsed as part of more than two messages, even if messages claim to contain each other: a message that no
/// mark follows is only parsed outside of damaged ones that no mark follows.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// How many of these have been read.
    read: usize,
    has_ended: bool,
    /// How many bytes of the rest are claimed by a damaged message that no mark follows.
    doubtful: usize,
    /// Whether the next message begins at the next mark, wherever that is.
    is_lost: bool,
}

impl Messages {
    /// The longest message. What claims to be longer is damaged.
    pub const MOST_BYTES: usize = 1 << 28;

    /// The messages in these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), has_ended: true, ..Self::default() }
    }

    /// Adds the next bytes of the file. Memory is bounded by the longest message if all messages that are complete are
    /// taken before.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend(bytes);
    }

    /// The file has ended.
    pub fn end(&mut self) {
        self.has_ended = true;
    }

    /// Whether no mark has followed what is damaged.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.read..]
    }

    fn pass(&mut self, bytes: usize) {
        self.read += bytes;
        self.doubtful = self.doubtful.saturating_sub(bytes);
    }

    /// Passes what precedes the next mark. Returns whether there is one.
    fn find_mark(&mut self) -> bool {
        let rest = self.rest();
        let found = rest.windows(MARK.len()).position(|window| window == MARK);
        // A mark may begin in the last bytes.
        let kept = if self.has_ended { 0 } else { MARK.len() - 1 };
        self.pass(found.unwrap_or(rest.len().saturating_sub(kept)));
        self.is_lost = found.is_none();
        found.is_some()
    }

    /// The message at the current position, and how many bytes it takes, if the next one is known to begin behind them;
    /// `None` if its end is yet to come.
    fn message(&mut self) -> Option<(Result<Message, CodecError>, Option<usize>)> {
        let rest = self.rest();
        let length = match length(rest) {
            Err(CodecError::Length { .. }) if !self.has_ended => return None,
            Err(error) => return Some((Err(error), None)),
            Ok(length) => length,
        };
        if rest.len() < length + MARK.len() && !self.has_ended {
            return None;
        }
        let Some((message, behind)) = rest.split_at_checked(length) else {
            return Some((Err(CodecError::Length { needed: length, present: rest.len() }), None));
        };
        let is_followed = behind.is_empty() || behind.starts_with(&MARK);
        if !is_followed && self.doubtful > 0 {
            return Some((Err(CodecError::Checksum), None));
        }
        let message = Message::from_body(&message[HEAD..]);
        if message.is_ok() || is_followed {
            return Some((message, Some(length)));
        }
        self.doubtful = length;
        Some((message, None))
    }
}

/// The bytes of the message that begins here.
fn length(bytes: &[u8]) -> Result<usize, CodecError> {
    let head = bytes.first_chunk::<HEAD>().ok_or(CodecError::Length { needed: HEAD, present: bytes.len() })?;
    let [a, b, c, d, length @ ..] = *head;
    if [a, b, c, d] != MARK {
        return Err(CodecError::Magic([a, b, c, d]));
    }
    match u32::from_le_bytes(length) as usize {
        length if length > Messages::MOST_BYTES => Err(CodecError::Value("length of a message")),
        length => Ok(HEAD + length),
    }
}

impl Iterator for Messages {
    type Item = Result<Message, CodecError>;

    /// The next message, if it is complete.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_lost && !self.find_mark() || self.rest().is_empty() {
            return None;
        }
        let (message, length) = self.message()?;
        self.is_lost = length.is_none();
        self.pass(length.unwrap_or(1));
        Some(message)
    }
}
