//! Which of several equal requests a response answers, as far as one byte of each token tells.

use crate::Sample;
use dwell_types::{Repeat, hash};

/// One byte of the token of the first and of the last request; zero without a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) first: u8,
    pub(crate) last: u8,
}

/// Long times are stored in multiples of 2 to this power.
const COARSE_LOG2: u32 = 10;

/// A number in this many bits: itself if it fits all but the highest bit, which otherwise marks the rest as a multiple
/// of 1,024. Rounds down, and saturates.
pub(crate) fn pack(number: u64, bits: u32) -> u64 {
    let most = (1 << (bits - 1)) - 1;
    if number <= most { number } else { (most + 1) | (number >> COARSE_LOG2).min(most) }
}

/// The number that was packed.
pub(crate) fn unpack(packed: u64, bits: u32) -> u64 {
    let coarse = packed >> (bits - 1);
    (packed & ((1 << (bits - 1)) - 1)) << (coarse * u64::from(COARSE_LOG2))
}

/// Which request a response answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    First,
    Last,
    Unknown,
}

/// A token in one byte; different tokens collide with probability 1/255. Zero stands for no token only.
#[inline]
pub(crate) fn byte(token: u32) -> u8 {
    if token == 0 {
        return 0;
    }
    1 + hash::index(hash::finish(u64::from(token)) as u32, 255) as u8
}

impl Tokens {
    pub(crate) fn new(token: u32) -> Self {
        let byte = byte(token);
        Self { first: byte, last: byte }
    }

    /// Which request the response with this token answers: the one with the same token. The token of a request between
    /// the first and the last equals neither, and the result is unknown.
    pub(crate) fn answered(self, response: u32) -> Answered {
        let token = byte(response);
        match (token != 0 && token == self.first, token != 0 && token == self.last) {
            (true, false) => Answered::First,
            (false, true) => Answered::Last,
            _ => Answered::Unknown,
        }
    }
}

impl Sample {
    /// Sets both bounds to the delay since the request that was answered, if that is known; returns whether it is.
    pub(crate) fn resolve(&mut self, answered: Answered) -> bool {
        match answered {
            Answered::First => self.since_last = self.since_first,
            Answered::Last => self.since_first = self.since_last,
            Answered::Unknown => return false,
        }
        true
    }
}

/// How a request relates to the one that is found in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meets {
    /// A different request, or an expired one.
    Other,
    /// An equal one, because of which the new one is ignored.
    Ignorable,
    /// An equal one that is still open.
    Open,
}

impl Meets {
    /// How a request relates to an equal one that has not expired.
    #[inline]
    pub(crate) fn equal(is_open: bool, repeat: Repeat) -> Self {
        match repeat {
            Repeat::Ignored | Repeat::IgnoredInTick => Self::Ignorable,
            Repeat::Ambiguous if is_open => Self::Open,
            Repeat::Ambiguous => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_the_request() {
        let mut tokens = Tokens::new(1_000);
        tokens.last = byte(2_003);
        assert_eq!(tokens.answered(1_000), Answered::First);
        assert_eq!(tokens.answered(2_003), Answered::Last);
        assert_eq!(tokens.answered(1_500), Answered::Unknown);
        assert_eq!(tokens.answered(0), Answered::Unknown);
        assert_eq!(Tokens::new(0).answered(0), Answered::Unknown);
        assert_eq!(Tokens::new(7).answered(7), Answered::Unknown, "both carry the same token");
        let later = Tokens { first: byte(0), last: byte(7) };
        assert_eq!(later.answered(0), Answered::Unknown, "no token is not an equal one");
    }

    #[test]
    fn numbers_are_packed_to_a_thousandth_of_the_bound() {
        for bits in [32, 40] {
            let fine = 1u64 << (bits - 1);
            for number in [0, 1, fine - 1] {
                assert_eq!(unpack(pack(number, bits), bits), number);
            }
            for number in [fine, fine + 1, 3 * fine + 1_023, 1_000 * fine + 7] {
                assert_eq!(unpack(pack(number, bits), bits), number / 1_024 * 1_024, "{bits} bits");
            }
            let most = (fine - 1) * 1_024;
            assert_eq!(unpack(pack(u64::MAX, bits), bits), most);
            assert!(pack(u64::MAX, bits) < 1 << bits);
        }
    }

    #[test]
    fn bytes_use_the_whole_range_but_zero() {
        let mut seen = [false; 256];
        for token in 1..100_000 {
            seen[usize::from(byte(token))] = true;
        }
        assert!(!seen[0] && seen[1..].iter().all(|&s| s));
    }
}
