//! Serialized sketches: versioned, checksummed, the same on every platform, and safe to read from untrusted sources.
//!
//! ```text
//! 0..4    "dwel"
//! 4       kind of sketch
//! 5       version of this kind's layout
//! 6..n-8  the sketch, integers little-endian, floats as their IEEE 754 bits
//! n-8..n  64-bit hash of everything before (`dwell_types::hash::bytes`, seed 0)
//! ```

use dwell_types::hash;
use std::fmt;

const MAGIC: [u8; 4] = *b"dwel";
const HEAD: usize = 6;
const CHECKSUM: usize = 8;

/// Larger counts are rejected, as an attempt to cause an overflow.
pub(crate) const MOST_COUNTED: u64 = 1 << 62;

/// The kind of a sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// [`crate::distribution::DelayStore`].
    Delays = 1,
    /// [`crate::lda::Lda`].
    Lda = 2,
    /// [`crate::lds::Lds`].
    Lds = 3,
    /// [`crate::summary::Summary`].
    Summary = 4,
    /// [`crate::summary::FlowList`].
    Flows = 5,
    /// [`crate::fridge::Fridge`].
    Fridge = 6,
}

impl Kind {
    /// The version of the layout that is written, and the only one that is read.
    const fn version(self) -> u8 {
        match self {
            Self::Fridge => 11,
            Self::Delays => 4,
            Self::Summary => 3,
            Self::Lda | Self::Lds | Self::Flows => 2,
        }
    }
}

/// Why bytes are not a valid sketch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodecError {
    /// Truncated, or followed by more bytes.
    Length {
        /// Bytes needed at least, or exactly if there are more.
        needed: usize,
        /// Bytes present.
        present: usize,
    },
    /// The first four bytes are not those of a sketch.
    Magic([u8; 4]),
    /// A different kind of sketch, or an unknown one.
    Kind {
        /// The kind that was requested.
        expected: u8,
        /// The kind that was found.
        found: u8,
    },
    /// A layout that this version does not read.
    Version(u8),
    /// The checksum does not match.
    Checksum,
    /// A value that no sketch can have.
    Value(&'static str),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { needed, present } => write!(f, "expected {needed} bytes, found {present}"),
            Self::Magic(found) => write!(f, "expected a sketch beginning with 'dwel', found {found:02x?}"),
            Self::Kind { expected, found } => write!(f, "expected a sketch of kind {expected}, found {found}"),
            Self::Version(version) => write!(f, "unknown layout version {version}"),
            Self::Checksum => f.write_str("wrong checksum: the data is damaged"),
            Self::Value(what) => write!(f, "invalid {what}"),
        }
    }
}

impl std::error::Error for CodecError {}

/// Serializes a sketch.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    pub(crate) fn new(kind: Kind) -> Self {
        Self(head(kind))
    }

    pub(crate) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend(bytes);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let checksum = checksum(&self.0);
        self.u64(checksum);
        self.0
    }
}

/// The float if it is finite and not negative.
fn amount<F: Copy + Into<f64>>(value: F, what: &'static str) -> Result<F, CodecError> {
    if (0.0..=f64::MAX).contains(&value.into()) { Ok(value) } else { Err(CodecError::Value(what)) }
}

/// Parses a serialized sketch.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    total: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], kind: Kind) -> Result<Self, CodecError> {
        let total = bytes.len();
        let short = CodecError::Length { needed: HEAD + CHECKSUM, present: total };
        let (body, last) = bytes.split_last_chunk::<CHECKSUM>().ok_or(short)?;
        let (head, rest) = body.split_first_chunk::<HEAD>().ok_or(short)?;
        let [a, b, c, d, found_kind, found_version] = *head;
        if [a, b, c, d] != MAGIC {
            return Err(CodecError::Magic([a, b, c, d]));
        }
        if found_kind != kind as u8 {
            return Err(CodecError::Kind { expected: kind as u8, found: found_kind });
        }
        if found_version != kind.version() {
            return Err(CodecError::Version(found_version));
        }
        if u64::from_le_bytes(*last) != checksum(body) {
            return Err(CodecError::Checksum);
        }
        Ok(Self { rest, total })
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let (first, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(CodecError::Length { needed: self.total + N - self.rest.len(), present: self.total })?;
        self.rest = rest;
        Ok(*first)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, CodecError> {
        self.take::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, CodecError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, CodecError> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Result<i64, CodecError> {
        self.take().map(i64::from_le_bytes)
    }

    /// A `u64` that fits a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self, what: &'static str) -> Result<T, CodecError> {
        self.u64()?.try_into().map_err(|_| CodecError::Value(what))
    }

    /// A finite float, not negative.
    pub(crate) fn amount(&mut self, what: &'static str) -> Result<f64, CodecError> {
        self.take().map(f64::from_le_bytes).and_then(|value| amount(value, what))
    }

    /// The same in 32 bits.
    pub(crate) fn small_amount(&mut self, what: &'static str) -> Result<f32, CodecError> {
        self.take().map(f32::from_le_bytes).and_then(|value| amount(value, what))
    }

    /// The number of items that follow, `bytes` each: no more than fit the bytes left, so allocating is safe.
    pub(crate) fn count(&mut self, bytes: usize) -> Result<usize, CodecError> {
        let count = self.u64()?;
        let fitting = (self.rest.len() / bytes) as u64;
        if count > fitting {
            let missing = usize::try_from(count - fitting).unwrap_or(usize::MAX).saturating_mul(bytes);
            return Err(CodecError::Length { needed: self.total.saturating_add(missing), present: self.total });
        }
        Ok(count as usize)
    }

    /// The next `len` bytes.
    pub(crate) fn bytes(&mut self, len: usize) -> Result<Vec<u8>, CodecError> {
        let missing = CodecError::Length {
            needed: self.total.saturating_add(len.saturating_sub(self.rest.len())),
            present: self.total,
        };
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(missing)?;
        self.rest = rest;
        Ok(bytes.to_vec())
    }

    pub(crate) fn finish(self) -> Result<(), CodecError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(CodecError::Length { needed: self.total - self.rest.len(), present: self.total })
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    hash::bytes(hash::start(0), bytes)
}

/// The header of a sketch, for tests of what follows it.
#[doc(hidden)]
pub fn head(kind: Kind) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([kind as u8, kind.version()]);
    bytes
}

/// Appends a valid checksum to a body, for tests of what is checked after it.
#[doc(hidden)]
pub fn seal(mut body: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&body);
    body.extend(sum.to_le_bytes());
    body
}
