//! One small family of seeded 64-bit hashes for everything.
//!
//! Only multiplication, exclusive or and shifts are used, so that a kernel program can compute the same values bit for
//! bit (a 128-bit product from four 64-bit ones). A hash is built by absorbing 64-bit words and finishing once:
//!
//! ```
//! use dwell_types::hash;
//! let hash = hash::finish(hash::absorb(hash::absorb(hash::start(7), 1), 2));
//! assert_eq!(hash, 0x18ad_3b0f_b832_167a);
//! ```
//!
//! For independent functions use independent seeds, never overlapping slices of one value. Anyone who knows the seed
//! can construct collisions: it is fixed for captures, where results must repeat, and must be secret for live traffic.

/// The fractional part of the golden ratio, odd: its multiples are spread evenly, and multiplying by it spreads low
/// bits over the high ones.
pub const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
/// An odd multiplier for bits of an id that must be independent of those used by [`GOLDEN`] or by the id itself.
pub const INDEPENDENT: u64 = 0xd6e8_feb8_6659_fd93;
/// Other odd constants with well-spread bits: the fractional part of the square root of two, and the two
/// multipliers of a published 64-bit finaliser (Stafford's mix 13).
const ROOT_TWO: u64 = 0x6a09_e667_f3bc_c909;
const MIX_1: u64 = 0xbf58_476d_1ce4_e5b9;
const MIX_2: u64 = 0x94d0_49bb_1331_11eb;

/// The initial state of one member of the family.
#[inline]
pub const fn start(seed: u64) -> u64 {
    finish(seed.wrapping_mul(GOLDEN) ^ ROOT_TWO)
}

/// Absorbs one word into the state.
#[inline]
pub const fn absorb(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(GOLDEN);
    mixed ^ (mixed >> 32)
}

/// Makes every bit of the state depend on every other. A bijection on 64-bit words.
#[inline]
pub const fn finish(state: u64) -> u64 {
    let a = (state ^ (state >> 30)).wrapping_mul(MIX_1);
    let b = (a ^ (a >> 27)).wrapping_mul(MIX_2);
    b ^ (b >> 31)
}

/// The hash of one word by the member with the given start state (see [`start`]).
#[inline]
pub const fn word(start: u64, word: u64) -> u64 {
    finish(start ^ word)
}

/// Folds two words into one: the exclusive or of the two halves of their product. Symmetric. Good if both words are
/// seeded and the result is hashed further; on its own, the result still shows structure of the words.
#[inline]
pub const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// The hash of a byte string: its length, then its bytes in little-endian words, the last one padded with zeros.
pub fn bytes(state: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = absorb(state, bytes.len() as u64);
    for chunk in words {
        state = absorb(state, u64::from_le_bytes(*chunk));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    finish(absorb(state, u64::from_le_bytes(last)))
}

/// Maps 32 uniformly distributed bits to `0..len` without division: `⌊bits · len / 2³²⌋`.
#[inline]
pub const fn index(bits: u32, len: u32) -> u32 {
    ((bits as u64 * len as u64) >> 32) as u32
}

/// Maps 64 uniformly distributed bits to `0..1`, by the upper 53.
#[inline]
pub const fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn two_words(seed: u64, a: u64, b: u64) -> u64 {
        finish(absorb(absorb(start(seed), a), b))
    }

    /// The share of 2,000 trials in which flipping an input bit flips an output bit: its largest deviation from one
    /// half over all pairs of such bits.
    fn largest_deviation(hash: impl Fn(u64, u64, u64) -> u64) -> f64 {
        let trials = 2_000u64;
        let mut largest = 0f64;
        for input_bit in 0..192 {
            let mut flips = [0u32; 64];
            for trial in 0..trials {
                let (seed, a, b) = (trial, trial * 77, word(1, trial));
                let mut changed = [seed, a, b];
                changed[input_bit / 64] ^= 1 << (input_bit % 64);
                let difference = hash(seed, a, b) ^ hash(changed[0], changed[1], changed[2]);
                for (bit, count) in flips.iter_mut().enumerate() {
                    *count += (difference >> bit & 1) as u32;
                }
            }
            for count in flips {
                largest = largest.max((f64::from(count) / trials as f64 - 0.5).abs());
            }
        }
        largest
    }

    /// Flipping any input bit flips every output bit with probability one half. A deviation of 6.5 standard deviations
    /// (.073) has a chance of 10⁻⁶ over all 12,288 pairs. A variant whose last word is added instead of hashed must
    /// fail.
    #[test]
    fn avalanche() {
        let is_even = |largest: f64| largest < 0.073;
        let largest = largest_deviation(two_words);
        assert!(is_even(largest), "{largest}");
        assert!(!is_even(largest_deviation(|seed, a, b| two_words(seed, a, 0).wrapping_add(b))));
    }

    /// Structured inputs (counters, aligned addresses) fill buckets evenly: χ² over 1,024 buckets has mean 1,023 and
    /// standard deviation 45; 1,023 ± 270 is six of them, a chance of 2·10⁻⁹ for each of ten. The inputs multiplied but
    /// not mixed must fail.
    #[test]
    fn buckets_are_even() {
        let n = 200_000u64;
        let expected = n as f64 / 1024.0;
        let chi2 = |buckets: &[f64]| -> f64 { buckets.iter().map(|c| (c - expected).powi(2) / expected).sum() };
        let is_even = |buckets: &[f64]| (chi2(buckets) - 1023.0).abs() < 270.0;
        for (stride, shift) in [(1u64, 0u32), (1, 32), (256, 0), (65_536, 16), (1 << 40, 8)] {
            let mut high = vec![0f64; 1024];
            let mut low = vec![0f64; 1024];
            let mut plain = vec![0f64; 1024];
            for i in 0..n {
                plain[(i.wrapping_mul(stride).wrapping_mul(GOLDEN) & 1023) as usize] += 1.0;
                let hash = two_words(3, i.wrapping_mul(stride), i << shift);
                high[index((hash >> 32) as u32, 1024) as usize] += 1.0;
                low[(hash & 1023) as usize] += 1.0;
            }
            for buckets in [high, low] {
                assert!(is_even(&buckets), "stride {stride}: χ² = {}", chi2(&buckets));
            }
            assert!(!is_even(&plain), "stride {stride}: χ² = {}", chi2(&plain));
        }
    }

    /// Functions with different seeds agree on a 16-bit slice as often as expected by chance: 2²⁰/2¹⁶ = 16 times for
    /// each of 45 pairs; more than 50 or fewer than 1 happens less than once in 10⁶ runs. A variant that adds the seed
    /// to the result instead of hashing it must fail.
    #[test]
    fn seeds_are_independent() {
        let is_chance = |count: u32| (1..=50).contains(&count);
        let starts: Vec<u64> = (0..10).map(start).collect();
        let mut agreements = vec![0u32; 100];
        for input in 0..1u64 << 20 {
            let hashes: Vec<u16> = starts.iter().map(|&s| (word(s, input) >> 48) as u16).collect();
            for i in 0..10 {
                for j in 0..i {
                    agreements[i * 10 + j] += u32::from(hashes[i] == hashes[j]);
                }
            }
        }
        for i in 0..10 {
            for j in 0..i {
                let count = agreements[i * 10 + j];
                assert!(is_chance(count), "seeds {i} and {j} agree {count} times");
            }
        }
        let added = |seed: u64, input: u64| (word(starts[0], input).wrapping_add(seed) >> 48) as u16;
        assert!(!is_chance((0..1u64 << 20).filter(|&input| added(0, input) == added(1, input)).count() as u32));
    }

    #[test]
    fn byte_strings_differ_by_length_and_content() {
        let empty = bytes(start(0), b"");
        let zero = bytes(start(0), b"\0");
        let zeros = bytes(start(0), b"\0\0\0\0\0\0\0\0");
        assert!(empty != zero && zero != zeros && empty != zeros);
        assert_eq!(bytes(start(5), b"example.org"), bytes(start(5), b"example.org"));
    }
}
