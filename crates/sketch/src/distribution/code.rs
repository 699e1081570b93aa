//! Log-linear classes of signed delays, as ordered 40-bit codes.

use std::ops::Range;

/// Each series has three parts: unambiguous samples; ambiguous ones since the last request; the same since the first
/// (where ambiguous ones are dropped: also since the last, by the weight of the repetition).
pub(super) const PARTS: usize = 3;
pub(super) const CLEAR: usize = 0;
pub(super) const SINCE_LAST: usize = 1;
pub(super) const SINCE_FIRST: usize = 2;
/// Resolution at which every nanosecond up to 2³⁶ has a class of its own.
///
/// A resolution of *k* ≥ 0 keeps *k* bits of the mantissa: classes of relative width 2^−*k*. Below zero, 2^−*k*
/// neighbouring octaves make a class.
pub(super) const FINEST: i8 = 35;
/// Resolution at which all delays are one class.
pub(super) const COARSEST: i8 = -6;
/// Bits of a code.
pub(super) const CODE_BITS: u32 = 40;
const ZERO: u64 = 1 << (CODE_BITS - 1);
/// Delays that are not negative, and each have a class of their own at the finest resolution.
pub(super) const FINE: Range<i64> = 0..2 << FINEST;
/// Magnitudes of at least this, 78 hours, are in the last class of their sign.
const LARGEST: u64 = 1 << 48;

/// The code of a delay. Codes have the same order as delays.
#[inline]
pub(super) fn of(delay: i64, resolution: i8) -> u64 {
    signed(class(delay.unsigned_abs(), resolution), delay < 0)
}

/// The class of a magnitude: exponent and mantissa in one number.
#[inline]
fn class(magnitude: u64, resolution: i8) -> u64 {
    let bits = resolution.max(0) as u32;
    let magnitude = magnitude.min(LARGEST);
    let exponent = (64 - magnitude.leading_zeros()).saturating_sub(bits + 1);
    ((u64::from(exponent) << bits) + (magnitude >> exponent)) >> (-resolution).max(0)
}

#[inline]
const fn signed(class: u64, is_negative: bool) -> u64 {
    if is_negative { ZERO - class } else { ZERO + class }
}

/// The code at a coarser resolution of the class that contains this one.
#[inline]
pub(super) fn coarser(code: u64, from: i8, to: i8) -> u64 {
    let (bits, left) = (from.max(0) as u32, to.max(0) as u32);
    let magnitude = code.abs_diff(ZERO);
    let is_single = from >= 0 && magnitude >> bits <= 1;
    let coarser = if is_single {
        class(magnitude, to)
    } else {
        // The exponent grows by as many bits as the mantissa loses.
        let lost = bits - left;
        ((magnitude >> lost) + (u64::from(lost) << left)) >> (from.min(0) - to.min(0))
    };
    signed(coarser, code < ZERO)
}

/// The code of a [`FINE`] delay at the finest resolution.
#[inline]
pub(super) const fn fine(delay: i64) -> u64 {
    ZERO + delay as u64
}

/// The smallest and the largest delay of a class.
#[inline]
pub(super) fn range(code: u64, resolution: i8) -> (i64, i64) {
    if resolution >= 0 && code.abs_diff(ZERO) >> resolution <= 1 {
        // A single delay.
        let delay = code as i64 - ZERO as i64;
        return (delay, delay);
    }
    wide_range(code, resolution)
}

// Not inlined: with it, what is called for every bin would not be.
#[inline(never)]
fn wide_range(code: u64, resolution: i8) -> (i64, i64) {
    let bits = resolution.max(0) as u32;
    let octaves = 1u64 << (-resolution).max(0);
    let class = code.abs_diff(ZERO) * octaves;
    let ends = |class: u64| {
        let exponent = (class >> bits).saturating_sub(1).min(63);
        let mantissa = class - (exponent << bits);
        if u64::from(mantissa.leading_zeros()) <= exponent {
            return (i64::MAX, i64::MAX);
        }
        let low = mantissa << exponent;
        (low as i64, (low | ((1 << exponent) - 1)) as i64)
    };
    let (low, mut high) = ends(class);
    if octaves > 1 {
        high = ends(class + octaves - 1).1;
    }
    if high >= LARGEST as i64 {
        high = i64::MAX;
    }
    match code.cmp(&ZERO) {
        std::cmp::Ordering::Less => (-high, -low),
        // The class of zero extends to both sides.
        std::cmp::Ordering::Equal => (-high, high),
        std::cmp::Ordering::Greater => (low, high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_class_holds_its_delay_within_the_stated_width(delay in any::<i64>(), shift in 0u32..64, bits in COARSEST..=FINEST) {
            let delay = (delay >> shift).max(-i64::MAX);
            let code = of(delay, bits);
            prop_assert!(code > 0 && code < 1 << CODE_BITS);
            let (low, high) = range(code, bits);
            prop_assert!(low <= delay && delay <= high, "{} ≤ {} ≤ {}", low, delay, high);
            if bits >= 0 && delay.unsigned_abs() < LARGEST / 2 {
                prop_assert!((high - low) as f64 <= delay.abs() as f64 / 2f64.powi(bits.into()), "{} {}", low, high);
            }
        }

        #[test]
        fn codes_order_as_delays_do(a in any::<i64>(), b in any::<i64>(), shift in 0u32..63, bits in COARSEST..=FINEST) {
            let (a, b) = ((a >> shift).max(-i64::MAX), (b >> shift).max(-i64::MAX));
            prop_assert!((a <= b) <= (of(a, bits) <= of(b, bits)));
        }

        /// Classes nest: reducing the resolution by a bit merges whole classes.
        #[test]
        fn coarser_classes_hold_finer_ones(delay in any::<i64>(), shift in 0u32..64, bits in COARSEST + 1..=FINEST) {
            let delay = (delay >> shift).max(-i64::MAX);
            let (low, high) = range(of(delay, bits), bits);
            prop_assert_eq!(of(low, bits - 1), of(delay, bits - 1));
            prop_assert_eq!(of(high, bits - 1), of(delay, bits - 1));
        }

        #[test]
        fn codes_become_coarser_as_their_delays_do(
            delay in any::<i64>(), shift in 0u32..64, bits in COARSEST..=FINEST, less in 0i8..=FINEST - COARSEST,
        ) {
            let delay = (delay >> shift).max(-i64::MAX);
            let to = (bits - less).max(COARSEST);
            prop_assert_eq!(coarser(of(delay, bits), bits, to), of(delay, to));
        }
    }

    #[test]
    fn the_coarsest_class_is_all() {
        let codes: std::collections::BTreeSet<u64> =
            (0..63).flat_map(|e| [1i64 << e, -(1i64 << e)]).chain([0]).map(|d| of(d, COARSEST)).collect();
        assert_eq!(codes.len(), 1, "{codes:?}");
    }

    #[test]
    fn the_finest_classes_are_single_nanoseconds() {
        for delay in [-5, 0, 1, 999, 123_456_789, FINE.end - 1] {
            assert_eq!(range(of(delay, FINEST), FINEST), (delay, delay));
            assert!(!FINE.contains(&delay) || fine(delay) == of(delay, FINEST));
        }
    }
}
