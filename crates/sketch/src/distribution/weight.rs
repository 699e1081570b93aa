/// A sum of weights in 32 bits: exact as long as all of them are whole numbers and the sum is below 2³¹, and otherwise
/// with the 24 significant bits of a float.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight(u32);

impl Weight {
    /// The bit of whole numbers, where floats have their sign; the others are the number.
    const WHOLE: u32 = 1 << 31;
    pub(super) const ONE: Self = Self(Self::WHOLE | 1);

    /// The nearest to a weight that is not negative.
    #[inline]
    pub(super) fn new(weight: f64) -> Self {
        debug_assert!(!weight.is_sign_negative(), "{weight}");
        let whole = weight as u32;
        if f64::from(whole) == weight && whole < Self::WHOLE {
            Self(Self::WHOLE | whole)
        } else {
            Self((weight as f32).to_bits())
        }
    }

    #[inline]
    pub(super) fn get(self) -> f64 {
        if self.is_whole() { (self.0 & !Self::WHOLE).into() } else { f32::from_bits(self.0).into() }
    }

    #[inline]
    const fn is_whole(self) -> bool {
        self.0 & Self::WHOLE != 0
    }

    /// The sum; if it is not whole, rounded according to `cut_off` ([`rounded`]).
    #[inline]
    pub(super) fn plus(self, other: Self, cut_off: u64) -> Self {
        if self.is_whole() && other.is_whole() {
            let sum = (self.0 & !Self::WHOLE) + (other.0 & !Self::WHOLE);
            if sum < Self::WHOLE {
                return Self(Self::WHOLE | sum);
            }
        }
        Self(rounded(self.get(), other.get(), cut_off).to_bits())
    }

    /// As it is stored: a float where that is exact.
    pub(super) fn to_bits(self) -> u32 {
        let float = self.get() as f32;
        if f64::from(float) == self.get() { float.to_bits() } else { self.0 }
    }

    /// The weight that is stored in these bits; `None` if none is.
    pub(super) fn from_bits(bits: u32) -> Option<Self> {
        let weight = Self::new(Self(bits).get());
        (weight.get().is_finite() && weight.to_bits() == bits).then_some(weight)
    }
}

/// Bits of a 64-bit float that a 32-bit one lacks.
pub(super) const CUT_OFF: u32 = f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS;

/// A sum, rounded up or down according to `cut_off`: sums stay unbiased, however small the addends.
#[inline]
pub(super) fn rounded(sum: f64, addend: f64, cut_off: u64) -> f32 {
    let bits = (sum + addend).min(f64::from(f32::MAX)).to_bits() + cut_off;
    f64::from_bits(bits >> CUT_OFF << CUT_OFF) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Floats, the control, would lose the ones that are added to 2²⁴.
    #[test]
    fn whole_sums_are_exact() {
        let sum = |of| (0..5).fold(Weight::new(of), |sum, _| sum.plus(Weight::ONE, 0)).get() - Weight::new(of).get();
        for of in [0.0, 1.0, f64::from(1 << 24), f64::from((1u32 << 31) - 6)] {
            assert_eq!(sum(of), 5.0, "{of}");
        }
        assert_eq!([f64::from(1 << 24) + 0.5, f64::from(1u32 << 31)].map(sum), [0.0; 2]);
        assert_eq!(Weight::new(0.25).plus(Weight::new(0.75), 0).get(), 1.0);
    }

    #[test]
    fn stored_weights_are_read_back() {
        for weight in [0.25, 1.0, 3.5e9, f64::from(1 << 24), f64::from((1 << 24) + 1), f64::from(u32::MAX / 2)] {
            let stored = Weight::new(weight);
            assert_eq!(Weight::from_bits(stored.to_bits()), Some(stored), "{weight}");
            assert_eq!(stored.get(), weight);
        }
        assert_eq!(Weight::ONE.to_bits(), 1f32.to_bits());
        // A whole number that a float has, too, and floats that are not finite or negative.
        for bits in [0x8000_0000, 0x8000_0005, 0x8100_0000] {
            assert_eq!(Weight::from_bits(bits), None, "{bits:#x}");
        }
        for float in [f32::NAN.abs(), f32::INFINITY, f32::NEG_INFINITY, -5.0] {
            assert_eq!(Weight::from_bits(float.to_bits()), None, "{float}");
        }
    }
}
