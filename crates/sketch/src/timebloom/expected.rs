//! Expected accuracy of a ring, in closed form.

/// Mean absolute error, over the slot width Δ, if the true slot is always found, delays are uniform up to *t*_max and
/// the slot's middle stands for the request ([`super::Reference::SlotMiddle`]): (*b* − 7/6) / 4(*b* − 1).
///
/// The thesis states 1/4 [porcino23 §4.2.3]; the youngest bin, with 1/3 of a whole one's part, and the oldest, with
/// 1/2, make the difference.
pub fn slot_middle_error(filters: u32) -> f64 {
    let b = f64::from(filters);
    (b - 7.0 / 6.0) / (4.0 * (b - 1.0))
}

/// The same with [`super::Reference::ConditionalMean`]: (*b* − 4/3) / 4(*b* − 1). Both bins at the ends have 1/3 of a
/// whole one's part.
pub fn conditional_mean_error(filters: u32) -> f64 {
    let b = f64::from(filters);
    (b - 4.0 / 3.0) / (4.0 * (b - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systematic_errors_of_four_filters() {
        let width_ms = 10_000.0 / 3.0;
        assert!((slot_middle_error(4) * width_ms - 786.9).abs() < 0.2, "{}", slot_middle_error(4) * width_ms);
        assert!((conditional_mean_error(4) * width_ms - 740.7).abs() < 0.1);
        assert!((slot_middle_error(1 << 20) - 0.25).abs() < 1e-6);
    }
}
