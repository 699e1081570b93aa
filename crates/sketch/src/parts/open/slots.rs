use super::State;
use crate::Gate;
use crate::parts::lapse::{TIME_BITS, since};
use dwell_types::{ExchangeId, Timestamp};

/// The stored form of an id: the word in the slot, and the fingerprint beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) word: u64,
    /// Not zero.
    pub(super) fingerprint: u8,
}

/// A request as read from an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) at: Timestamp,
    /// The number of its series: [`crate::Event::tag`].
    pub(crate) tag: u16,
    /// The request's token, reduced to one byte.
    pub(crate) token: u8,
    pub(crate) state: State,
}

/// The bits of a time that are stored in a slot.
#[inline]
fn lowest(at: Timestamp) -> u64 {
    at.as_nanos() as u64 & ((1 << TIME_BITS) - 1)
}

/// The moment nearest to `now` whose lowest bits are these.
#[inline]
fn near(bits: u64, now: Timestamp) -> Timestamp {
    Timestamp::from_nanos(now.as_nanos().wrapping_sub(since(bits, now).get()))
}

/// As few bits of each id as identify it, its rank at the gate, and 48 bits of the time.
///
/// ```text
/// u64    nanoseconds modulo 2⁴⁸ (48 bits), rank as a floating-point number (5 + 9), state (2)
/// 3 to 8 bytes    part of the id's hash (K bits), tag (S), token (0 or 8)
/// ```
///
/// An absent id is mistaken for one of *n* in the table with probability *n* 2^−(18 + *K*) at most, where 8 bits are
/// from the fingerprint and 10 from the rank. *K* is chosen so that this is 2⁻²⁸, but at most 40.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    bytes: Vec<u8>,
    stride: usize,
    key_bits: u32,
    tag_bits: u32,
    /// All ones, or zero where requests have no tokens.
    token_mask: u8,
    gate: Gate,
}

const RANK_BITS: u32 = 14;
/// Bits of the rank after the leading one.
const MANTISSA_BITS: u32 = 9;
const STATE_SHIFT: u32 = TIME_BITS + RANK_BITS;
const MOST_KEY_BITS: u32 = 40;
/// Bits for a probability of 2⁻²⁸, less those of fingerprint and rank; the logarithm of the entries is added.
const LEAST_KEY_BITS: u32 = 10;
const WORD: usize = size_of::<u64>();

impl Slots {
    /// The least and the most bytes of a slot, its fingerprint included.
    pub(super) const LEAST_SLOT_BYTES: usize = WORD + 3 + 1;
    pub(super) const MOST_SLOT_BYTES: usize = 2 * WORD + 1;
    /// Padding behind the last slot, so that every slot can be read as two words.
    pub(super) const END_BYTES: usize = WORD;

    /// Slots for requests of this many series in a table of at most `most_bytes`.
    pub(super) fn new(most_bytes: usize, tags: u16, has_tokens: bool, gate: Gate) -> Self {
        let entries = most_bytes / Self::LEAST_SLOT_BYTES;
        let least_key_bits = (entries.max(1).ilog2() + 1 + LEAST_KEY_BITS).min(MOST_KEY_BITS);
        let tag_bits = u16::BITS - tags.saturating_sub(1).leading_zeros();
        let token_mask = if has_tokens { u8::MAX } else { 0 };
        let other_bits = tag_bits + token_mask.count_ones();
        let rest = (least_key_bits + other_bits).div_ceil(8).min(8);
        let key_bits = (8 * rest - other_bits).min(MOST_KEY_BITS);
        Self { bytes: vec![0; WORD], stride: WORD + rest as usize, key_bits, tag_bits, token_mask, gate }
    }

    /// Bytes of a slot and its fingerprint.
    pub(super) fn slot_bytes(&self) -> usize {
        self.stride + 1
    }

    #[inline]
    fn load(&self, at: usize) -> u64 {
        self.bytes[at..].first_chunk().map_or(0, |bytes: &[u8; WORD]| u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn store(&mut self, at: usize, word: u64) {
        self.bytes[at..at + WORD].copy_from_slice(&word.to_le_bytes());
    }

    /// The rank of an entry's id, rounded down.
    pub(crate) fn rank(&self, at: usize) -> u32 {
        let class = (self.load(at * self.stride) >> TIME_BITS) as u32 & ((1 << RANK_BITS) - 1);
        let exponent = (class >> MANTISSA_BITS).saturating_sub(1);
        (class - (exponent << MANTISSA_BITS)) << exponent
    }

    /// The stored form of an id.
    #[inline]
    pub(super) fn key(&self, id: ExchangeId) -> Key {
        let hash = id.0.wrapping_mul(dwell_types::hash::INDEPENDENT);
        let class = u64::from(class(self.gate.rank(id)));
        Key { word: hash >> (u64::BITS - self.key_bits) | class << MOST_KEY_BITS, fingerprint: fingerprint(hash) }
    }

    /// The id's word in a slot.
    #[inline]
    pub(super) fn word(&self, at: usize) -> u64 {
        let start = at * self.stride;
        let class = self.load(start) >> TIME_BITS & ((1 << RANK_BITS) - 1);
        self.load(start + WORD) & ((1 << self.key_bits) - 1) | class << MOST_KEY_BITS
    }

    /// The request in a slot; `now` must be within ±39 h of it.
    #[inline]
    pub(super) fn get(&self, at: usize, now: Timestamp) -> Record {
        let (first, rest) = (self.load(at * self.stride), self.load(at * self.stride + WORD));
        let rest = rest >> self.key_bits;
        Record {
            at: near(first, now),
            tag: (rest & ((1 << self.tag_bits) - 1)) as u16,
            token: (rest >> self.tag_bits) as u8 & self.token_mask,
            state: State::of((first >> STATE_SHIFT) as u8),
        }
    }

    /// Puts a request into a slot.
    #[inline]
    pub(super) fn set(&mut self, at: usize, word: u64, record: &Record) {
        let start = at * self.stride;
        let (time, class) = (lowest(record.at), word >> MOST_KEY_BITS);
        self.store(start, time | class << TIME_BITS | (record.state as u64) << STATE_SHIFT);
        let token = record.token & self.token_mask;
        let other = u64::from(record.tag) | u64::from(token) << self.tag_bits;
        let rest = word & ((1 << self.key_bits) - 1) | other << self.key_bits;
        // The bytes behind belong to the next slot.
        let own = u64::MAX >> (8 * (2 * WORD - self.stride));
        let behind = self.load(start + WORD) & !own;
        self.store(start + WORD, rest & own | behind);
    }

    #[inline]
    pub(super) fn copy(&mut self, from: usize, to: usize) {
        self.bytes.copy_within(from * self.stride..(from + 1) * self.stride, to * self.stride);
    }

    pub(super) fn resize(&mut self, slots: usize) {
        let bytes = slots * self.stride + Self::END_BYTES;
        self.bytes.reserve_exact(bytes - self.bytes.len());
        self.bytes.resize(bytes, 0);
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.capacity()
    }
}

/// A rank as a floating-point number, in the same order.
#[inline]
fn class(rank: u32) -> u32 {
    let exponent = (u32::BITS - rank.leading_zeros()).saturating_sub(MANTISSA_BITS + 1);
    (exponent << MANTISSA_BITS) + (rank >> exponent)
}

const FINGERPRINT_SHIFT: u32 = 16;

/// Eight bits of a hash, but not zero.
#[inline]
fn fingerprint(hash: u64) -> u8 {
    ((hash >> FINGERPRINT_SHIFT) as u8).max(1)
}
