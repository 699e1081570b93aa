//! Sampling probabilities on a ladder of eight steps per octave, without rounding errors: the same on every machine.

/// The last step: 2⁻²⁴, which a gate implements to within .2%.
pub(crate) const LAST: u8 = 192;

/// 2^(−step/8): one of the eight fractions of an octave, times a power of two.
#[inline]
pub(crate) fn probability(step: u8) -> f64 {
    const EIGHTHS: [f64; 8] = [
        1.0,
        0.917_004_043_204_671_2,
        0.840_896_415_253_714_5,
        0.771_105_412_703_970_4,
        0.707_106_781_186_547_5,
        0.648_419_777_325_504_8,
        0.594_603_557_501_360_5,
        0.545_253_866_332_628_8,
    ];
    EIGHTHS[usize::from(step % 8)] / (1u64 << (step / 8)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_steps_are_an_octave() {
        for step in 0..=LAST {
            assert!((probability(step) / 2f64.powf(-f64::from(step) / 8.0) - 1.0).abs() < 1e-15, "{step}");
        }
        assert_eq!(probability(LAST), 2f64.powi(-24));
    }
}
