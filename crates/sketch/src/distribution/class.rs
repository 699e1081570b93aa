//! The distribution of exchanges within a class of delays.
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

/// The distribution function within a class of more than one delay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside {
    class: Class,
    scale: Scale,
    width: f64,
    /// The slopes at both ends, per width of the class.
    slopes: [f64; 2],
}

impl Inside {
    /// That of a class which adjoins `before` and `behind`, if present.
    pub(super) fn new(class: Class, before: Option<Class>, behind: Option<Class>) -> Self {
        let lowest = before.map_or(class.low, |before| before.low);
        let scale = if lowest > 0 { Scale::Logarithmic } else { Scale::Linear };
        let width = scale.width(&class);
        let slopes = [before, behind]
            .map(|neighbour| neighbour.map_or(0.0, |neighbour| width * slope(scale, &class, &neighbour)));
        Self { class, scale, width, slopes }
    }

    /// The weight in the first `part` of the class, a share of its width.
    fn weight(&self, part: f64) -> f64 {
        let (square, cube) = (part * part, part * part * part);
        let [first, last] = self.slopes;
        (cube - 2.0 * square + part) * first + (3.0 * square - 2.0 * cube) * self.class.weight + (cube - square) * last
    }

    /// The delay at which the weight within the class reaches `wanted`.
    pub(super) fn delay_at(&self, wanted: f64) -> i64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = 0.5 * (low + high);
            *(if self.weight(middle) < wanted { &mut low } else { &mut high }) = middle;
        }
        let Class { low: lowest, high: highest, .. } = self.class;
        let delay = self.scale.delay(self.scale.place(lowest as f64) + low * self.width);
        (delay.floor() as i64).clamp(lowest, highest)
    }

    /// The weight within the class of delays shorter than this one, which is in it.
    pub(super) fn weight_below(&self, delay: i64) -> f64 {
        let part = (self.scale.place(delay as f64) - self.scale.place(self.class.low as f64)) / self.width;
        self.weight(part.clamp(0.0, 1.0)).clamp(0.0, self.class.weight)
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
            let inside = Inside::new(class, Some(octave(number - 1)), Some(octave(number + 1)));
            let found = inside.delay_at(wanted) as f64;
            worst = worst.max((found / delay(q)).log2().abs());
            let line = class.low as f64 * (1.0 + wanted / class.weight);
            straight = straight.max((line / delay(q)).log2().abs());
        }
        assert!(worst < 0.03 && straight > 0.06, "{worst} {straight}");
    }

    proptest! {
        /// For any classes, quantiles lie within theirs and are ordered, and what is below them is what was wanted, up to
        /// the weight of a nanosecond.
        #[test]
        fn quantiles_are_in_order(
            low in -5_000i64..5_000, widths in prop::array::uniform3(2i64..4_000), weights in prop::array::uniform3(0.0f64..9.0),
            has_neighbours in any::<[bool; 2]>(), wanted in prop::collection::vec(0.0f64..1.0, 2..20),
        ) {
            let mut end = low;
            let [before, class, behind] = std::array::from_fn(|i| {
                let class = Class { low: end, high: end + widths[i] - 1, weight: weights[i] };
                end += widths[i];
                class
            });
            let inside = Inside::new(class, has_neighbours[0].then_some(before), has_neighbours[1].then_some(behind));
            let mut wanted = wanted;
            wanted.sort_unstable_by(f64::total_cmp);
            let found: Vec<i64> = wanted.iter().map(|share| inside.delay_at(share * class.weight)).collect();
            prop_assert!(found.is_sorted(), "{:?}", found);
            prop_assert!(found.iter().all(|delay| (class.low..=class.high).contains(delay)));
            for (share, delay) in wanted.iter().zip(found) {
                let [least, most] = [delay, delay + 1].map(|delay| inside.weight_below(delay));
                let wanted = share * class.weight;
                prop_assert!(least - 1e-6 <= wanted && wanted <= most + 1e-6, "{} {} {}", least, wanted, most);
            }
        }
    }
}
