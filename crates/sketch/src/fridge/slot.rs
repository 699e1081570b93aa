//! One entry in three 64-bit words.

use crate::repeats::Tokens;
use dwell_types::{Nanos, Timestamp};

/// | word | bits | content |
/// |---|---|---|
/// | 0 | 0..32 | fingerprint |
/// | 0 | 32..64 | insertion counter after the last equal request; wraps |
/// | 1 | 0..48 | time of the first request, nanoseconds modulo 2⁴⁸ |
/// | 1 | 48..56 | step of the entry probability under which it entered |
/// | 1 | 56..59 | flags |
/// | 2 | 0..32 | time from the first to the last equal request in units of 64 ns, rounded down; saturates at 275 s |
/// | 2 | 32..48 | tag |
/// | 2 | 48..64 | tokens of the first and the last request, one byte each |
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot([u64; 3]);

const TIME_BITS: u32 = 48;
const TIME: u64 = (1 << TIME_BITS) - 1;
const REPEAT_UNIT_BITS: u32 = 6;

/// The entry waits for its response.
pub(super) const OPEN: u64 = 1 << 56;
/// The entry was answered; kept to recognise equal requests.
pub(super) const ANSWERED: u64 = 1 << 57;
/// The request was repeated.
pub(super) const REPEATED: u64 = 1 << 58;

impl Slot {
    /// A new open entry.
    #[inline]
    pub(super) fn new(fingerprint: u32, inserted: u32, at: Timestamp, step: u8, tag: u16, tokens: Tokens) -> Self {
        let tokens = u64::from(tokens.first) << 48 | u64::from(tokens.last) << 56;
        Self([
            u64::from(fingerprint) | u64::from(inserted) << 32,
            at.as_nanos() as u64 & TIME | u64::from(step) << TIME_BITS | OPEN,
            u64::from(tag) << 32 | tokens,
        ])
    }

    /// The entry after its response.
    #[inline]
    pub(super) fn answered(self) -> Self {
        Self([self.0[0], self.0[1] ^ (OPEN | ANSWERED), self.0[2]])
    }

    #[inline]
    pub(super) fn fingerprint(self) -> u32 {
        self.0[0] as u32
    }

    #[inline]
    pub(super) fn inserted(self) -> u32 {
        (self.0[0] >> 32) as u32
    }

    #[inline]
    pub(super) fn has(self, flags: u64) -> bool {
        self.0[1] & flags != 0
    }

    #[inline]
    pub(super) fn step(self) -> u8 {
        (self.0[1] >> TIME_BITS) as u8
    }

    /// Time from the first request to `at`, modulo 2⁴⁸ ns: within ± 39 h.
    #[inline]
    pub(super) fn time_to(self, at: Timestamp) -> Nanos {
        let difference = (at.as_nanos() as u64).wrapping_sub(self.0[1]) << (64 - TIME_BITS);
        Nanos::new(difference as i64 >> (64 - TIME_BITS))
    }

    /// Time from the first to the last equal request.
    #[inline]
    pub(super) fn repeated_after(self) -> Nanos {
        Nanos::new(((self.0[2] & 0xffff_ffff) << REPEAT_UNIT_BITS) as i64)
    }

    /// Whether more than `expiry` lies between the last equal request and `at`, in either direction: what seems to come
    /// from far ahead is an old entry whose time has wrapped.
    #[inline]
    pub(super) fn is_expired(self, at: Timestamp, expiry: Nanos) -> bool {
        let age = self.time_to(at).get() - self.repeated_after().get();
        age.unsigned_abs() > expiry.get().unsigned_abs()
    }

    #[inline]
    pub(super) fn tag(self) -> u16 {
        (self.0[2] >> 32) as u16
    }

    pub(super) fn tokens(self) -> Tokens {
        Tokens { first: (self.0[2] >> 48) as u8, last: (self.0[2] >> 56) as u8 }
    }

    /// The entry after an equal request at `at`: counted and weighed from there on.
    pub(super) fn repeated(self, inserted: u32, at: Timestamp, step: u8, token: u8) -> Self {
        let after = self.time_to(at).get().max(0) >> REPEAT_UNIT_BITS;
        let after = u64::from(u32::try_from(after).unwrap_or(u32::MAX));
        Self([
            self.0[0] & 0xffff_ffff | u64::from(inserted) << 32,
            self.0[1] & TIME | u64::from(step) << TIME_BITS | OPEN | REPEATED,
            self.0[2] & 0x00ff_ffff_0000_0000 | after | u64::from(token) << 56,
        ])
    }
}
