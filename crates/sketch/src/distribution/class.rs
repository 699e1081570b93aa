//! The position of a quantile within a class of delays.
//!
//! The distribution function is known at the ends of classes. Between them it is interpolated by a monotone cubic over
//! the logarithm of the delay, whose slope at an end is the harmonic mean of the densities on both sides: smooth where
//! these are similar, flat beside a gap (Fritsch and Butland 1984). With classes of an octave that is, on captures, a
//! third closer to the truth than a straight line.

/// A class of delays, both ends included, with its weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) low: i64,
    pub(super) high: i64,
    pub(super) weight: f64,
}

/// The scale of the interpolation: logarithmic, unless one of the delays is zero or negative.
#[derive(Clone, Copy, Debug)]
enum Scale {
    Logarithmic,
    Linear,
}

impl Scale {
    fn place(self, delay: f64) -> f64 {
        match self {
            Self::Logarithmic => delay.ln(),
            Self::Linear => delay,
        }
    }

    fn delay(self, place: f64) -> f64 {
        match self {
            Self::Logarithmic => place.exp(),
            Self::Linear => place,
        }
    }

    fn width(self, class: &Class) -> f64 {
        self.place(class.high as f64 + 1.0) - self.place(class.low as f64)
    }
}

impl Class {
    /// The delay at which the weight within the class reaches `wanted`; `before` and `behind` adjoin it, if present.
    pub(super) fn delay_at(&self, wanted: f64, before: Option<&Self>, behind: Option<&Self>) -> i64 {
        if self.low == self.high {
            return self.low;
        }
        let lowest = before.map_or(self.low, |before| before.low);
        let scale = if lowest > 0 { Scale::Logarithmic } else { Scale::Linear };
        let width = scale.width(self);
        let slope = |neighbour: Option<&Self>| neighbour.map_or(0.0, |neighbour| width * slope(scale, self, neighbour));
        let (first, last) = (slope(before), slope(behind));
        let weight_below = |part: f64| {
            let (square, cube) = (part * part, part * part * part);
            (cube - 2.0 * square + part) * first + (3.0 * square - 2.0 * cube) * self.weight + (cube - square) * last
        };
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = 0.5 * (low + high);
            *(if weight_below(middle) < wanted { &mut low } else { &mut high }) = middle;
        }
        let delay = scale.delay(scale.place(self.low as f64) + low * width);
        (delay as i64).clamp(self.low, self.high)
    }
}

/// The density where two classes touch: their harmonic mean, with less weight on the wider one.
fn slope(scale: Scale, a: &Class, b: &Class) -> f64 {
    let (width_a, width_b) = (scale.width(a), scale.width(b));
    let (share_a, share_b) = (width_a + 2.0 * width_b, width_b + 2.0 * width_a);
    let (density_a, density_b) = (a.weight / width_a, b.weight / width_b);
    if density_a <= 0.0 || density_b <= 0.0 {
        return 0.0;
    }
    (share_a + share_b) / (share_a / density_a + share_b / density_b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The share of a log-logistic distribution around 10 ms up to a delay, and the delay at a share.
    fn share(delay: f64) -> f64 {
        1.0 / (1.0 + (delay / 1e7).powf(-1.5))
    }

    fn delay(share: f64) -> f64 {
        1e7 * (share / (1.0 - share)).powf(1.0 / 1.5)
    }

    fn octave(number: i32) -> Class {
        let (low, high) = (1i64 << number, (2i64 << number) - 1);
        Class { low, high, weight: share(high as f64) - share(low as f64) }
    }

    /// With classes of an octave, quantiles of a unimodal distribution are accurate to .03 octaves. Linear
    /// interpolation, the control that must fail, errs by .06 and more.
    #[test]
    fn octaves_tell_quantiles() {
        let (mut worst, mut straight) = (0.0f64, 0.0f64);
        for step in 20..980 {
            let q = f64::from(step) / 1000.0;
            let number = delay(q).log2().floor() as i32;
            let class = octave(number);
            let wanted = q - share(class.low as f64);
            let found = class.delay_at(wanted, Some(&octave(number - 1)), Some(&octave(number + 1))) as f64;
            worst = worst.max((found / delay(q)).log2().abs());
            let line = class.low as f64 * (1.0 + wanted / class.weight);
            straight = straight.max((line / delay(q)).log2().abs());
        }
        assert!(worst < 0.03 && straight > 0.06, "{worst} {straight}");
    }

    proptest! {
        /// For any classes, quantiles lie within theirs and are ordered.
        #[test]
        fn quantiles_are_in_order(
            low in -5_000i64..5_000, widths in prop::array::uniform3(1i64..4_000), weights in prop::array::uniform3(0.0f64..9.0),
            has_neighbours in any::<[bool; 2]>(), wanted in prop::collection::vec(0.0f64..1.0, 2..20),
        ) {
            let mut end = low;
            let [before, class, behind] = std::array::from_fn(|i| {
                let class = Class { low: end, high: end + widths[i] - 1, weight: weights[i] };
                end += widths[i];
                class
            });
            let mut wanted = wanted;
            wanted.sort_unstable_by(f64::total_cmp);
            let found: Vec<i64> = wanted.iter().map(|share| {
                let neighbours = [has_neighbours[0].then_some(&before), has_neighbours[1].then_some(&behind)];
                class.delay_at(share * class.weight, neighbours[0], neighbours[1])
            }).collect();
            prop_assert!(found.is_sorted(), "{:?}", found);
            prop_assert!(found.iter().all(|delay| (class.low..=class.high).contains(delay)));
        }
    }
}
