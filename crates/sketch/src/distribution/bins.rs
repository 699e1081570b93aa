//! Log-linear classes of signed delays, as ordered 42-bit codes.

/// Mantissa bits at which every nanosecond up to 2³⁶ has a class of its own.
pub(super) const FINEST: u8 = 35;
/// Bits of a code.
pub(super) const CODE_BITS: u32 = 42;
const ZERO: u64 = 1 << (CODE_BITS - 1);

/// The code of a delay at `bits` mantissa bits. Codes order as delays do.
#[inline]
pub(super) fn code(delay: i64, bits: u8) -> u64 {
    let magnitude = delay.unsigned_abs();
    let exponent = (64 - magnitude.leading_zeros()).saturating_sub(u32::from(bits) + 1);
    let class = (u64::from(exponent) << bits) + (magnitude >> exponent);
    if delay < 0 { ZERO - class } else { ZERO + class }
}

/// The smallest and the largest delay of a class.
pub(super) fn range(code: u64, bits: u8) -> (i64, i64) {
    let class = code.abs_diff(ZERO);
    let exponent = (class >> bits).saturating_sub(1);
    let low = (class - (exponent << bits)) << exponent;
    let high = low + ((1u64 << exponent) - 1);
    let (low, high) = (i64::try_from(low).unwrap_or(i64::MAX), i64::try_from(high).unwrap_or(i64::MAX));
    if code < ZERO { (-high, -low) } else { (low, high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_class_holds_its_delay_within_the_stated_width(delay in any::<i64>(), shift in 0u32..64, bits in 2u8..=FINEST) {
            let delay = (delay >> shift).max(-i64::MAX);
            let code = code(delay, bits);
            prop_assert!(code > 0 && code < 1 << CODE_BITS);
            let (low, high) = range(code, bits);
            prop_assert!(low <= delay && delay <= high, "{} ≤ {} ≤ {}", low, delay, high);
            prop_assert!((high - low) as f64 <= delay.abs() as f64 / 2f64.powi(bits.into()), "{} {}", low, high);
        }

        #[test]
        fn codes_order_as_delays_do(a in any::<i64>(), b in any::<i64>(), shift in 0u32..63, bits in 2u8..=FINEST) {
            let (a, b) = ((a >> shift).max(-i64::MAX), (b >> shift).max(-i64::MAX));
            prop_assert!((a <= b) <= (code(a, bits) <= code(b, bits)));
        }

        /// Classes nest: giving up a bit merges whole classes.
        #[test]
        fn coarser_classes_hold_finer_ones(delay in any::<i64>(), shift in 0u32..64, bits in 3u8..=FINEST) {
            let delay = (delay >> shift).max(-i64::MAX);
            let (low, high) = range(code(delay, bits), bits);
            prop_assert_eq!(code(low, bits - 1), code(delay, bits - 1));
            prop_assert_eq!(code(high, bits - 1), code(delay, bits - 1));
        }
    }

    #[test]
    fn the_finest_classes_are_single_nanoseconds() {
        for delay in [-5, 0, 1, 999, 123_456_789, (1 << 36) - 1] {
            assert_eq!(range(code(delay, FINEST), FINEST), (delay, delay));
        }
    }
}
