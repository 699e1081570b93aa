use dwell_types::hash;
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;

/// Seeded random numbers; each purpose has its own independent sequence for the same seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    generator: Pcg64Mcg,
}

impl Chance {
    /// The sequence of one purpose.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let start = hash::start(seed);
        let word = |half: u64| hash::word(start, purpose << 1 | half);
        Self { generator: Pcg64Mcg::new(u128::from(word(0)) << 64 | u128::from(word(1))) }
    }

    /// The sequence of the purpose with this name.
    pub(crate) fn named(seed: u64, purpose: &[u8; 8]) -> Self {
        Self::new(seed, u64::from_le_bytes(*purpose))
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in `0..1`, a multiple of 2⁻⁵³.
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        hash::unit(self.bits())
    }

    /// True with the given probability.
    #[inline]
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Uniform in `0..len`; zero if `len` is zero.
    #[inline]
    pub(crate) fn below(&mut self, len: u32) -> u32 {
        hash::index((self.bits() >> 32) as u32, len)
    }

    /// Exponential with mean one, at most 36.8.
    #[inline]
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normal with mean zero and variance one, by Marsaglia's polar method.
    pub(crate) fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * libm::sqrt(-2.0 * libm::log(square) / square);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means of 10⁶ draws: a deviation of six standard errors has a chance of 2·10⁻⁹. Uniform numbers of eight bits,
    /// rounded down, must fail.
    #[test]
    fn moments() {
        let n = 1_000_000;
        let mut chance = Chance::new(1, 2);
        let mut means = [0.0; 5];
        for _ in 0..n {
            let normal = chance.normal();
            let unit = chance.unit();
            let values = [unit, chance.exponential(), normal, normal * normal, (unit * 256.0).floor() / 256.0];
            for (mean, value) in means.iter_mut().zip(values) {
                *mean += value / f64::from(n);
            }
        }
        let expected = [(0.5, 0.2887), (1.0, 1.0), (0.0, 1.0), (1.0, 1.4143)];
        let is_near = |mean: f64, (center, deviation): (f64, f64)| (mean - center).abs() < 6.0 * deviation / 1000.0;
        for (mean, expected) in means.into_iter().zip(expected) {
            assert!(is_near(mean, expected), "{mean}, expected {expected:?}");
        }
        assert!(!is_near(means[4], expected[0]), "{}", means[4]);
    }

    #[test]
    fn purposes_and_seeds_differ() {
        let first = |seed, purpose| Chance::new(seed, purpose).bits();
        assert_eq!(first(1, 1), first(1, 1));
        assert!(first(1, 1) != first(1, 2) && first(1, 1) != first(2, 1));
    }
}
