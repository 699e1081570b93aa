use crate::chance::Chance;
use core::fmt;
use dwell_types::Nanos;

/// A distribution of delays. Draws above [`Distribution::LONGEST`] are clamped to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Constant(Nanos),
    /// Every value of `low..high` equally likely.
    Uniform {
        /// Smallest delay.
        low: Nanos,
        /// Upper end.
        high: Nanos,
    },
    /// The logarithm is uniform: every octave of `low..high` equally likely.
    LogUniform {
        /// Smallest delay; above zero.
        low: Nanos,
        /// Upper end.
        high: Nanos,
    },
    /// The logarithm is normal. If two fit, the one with the smaller spread; `p99` is at most 14.9 `mean`.
    LogNormal {
        /// Arithmetic mean.
        mean: Nanos,
        /// 99th percentile; above the mean.
        p99: Nanos,
    },
    /// P(delay > x) = exp(−(x/scale)^shape).
    Weibull {
        /// The delay that a share 1/e exceeds.
        scale: Nanos,
        /// Below one: a heavier tail than the exponential distribution.
        shape: f64,
    },
    /// P(delay > x) = (least/x)^shape.
    Pareto {
        /// Smallest delay.
        least: Nanos,
        /// Tail index; the mean is infinite up to one, the variance up to two.
        shape: f64,
    },
    /// A mixture of two distributions.
    TwoModes {
        /// The usual delays.
        common: Box<Distribution>,
        /// The others.
        rare: Box<Distribution>,
        /// Share of the others, in `0..=1`.
        rare_share: f64,
    },
    /// Each of the given values equally likely.
    Empirical(Vec<Nanos>),
}

/// Why a distribution is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DistributionError {
    /// A delay is outside `0..=LONGEST`, or zero where it must not be.
    Delay(Nanos),
    /// The upper end is below the lower end.
    Range(Nanos, Nanos),
    /// No log-normal distribution has this mean and 99th percentile.
    Percentile {
        /// The mean.
        mean: Nanos,
        /// The 99th percentile.
        p99: Nanos,
    },
    /// A shape must be finite and above zero.
    Shape(f64),
    /// A share must be in `0..=1`.
    Share(f64),
    /// No values to draw from.
    Empty,
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay(delay) => {
                write!(f, "a delay of {delay} cannot be drawn: expected above zero and up to {}", Distribution::LONGEST)
            }
            Self::Range(low, high) => write!(f, "the upper end {high} is below the lower end {low}"),
            Self::Percentile { mean, p99 } => write!(
                f,
                "no log-normal distribution has mean {mean} and 99th percentile {p99}: expected a ratio above 1 and up to 14.9"
            ),
            Self::Shape(shape) => write!(f, "shape {shape}: expected a finite number above zero"),
            Self::Share(share) => write!(f, "share {share}: expected a number from 0 to 1"),
            Self::Empty => f.write_str("no values to draw from"),
        }
    }
}

impl core::error::Error for DistributionError {}

/// 99th percentile of the standard normal distribution.
const NORMAL_P99: f64 = 2.326_347_874_040_841;

impl Distribution {
    /// The longest delay: 2⁵⁶ ns, 2.3 years.
    pub const LONGEST: Nanos = Nanos::new(1 << 56);

    /// The distribution in the form used for drawing.
    pub(crate) fn sampler(&self) -> Result<Sampler, DistributionError> {
        Ok(match *self {
            Self::Constant(value) => Sampler::Linear { low: ns(value, 0)?, span: 0.0 },
            Self::Uniform { low, high } => {
                let (low, high) = range(low, high, 0)?;
                Sampler::Linear { low, span: high - low }
            }
            Self::LogUniform { low, high } => {
                let (low, high) = range(low, high, 1)?;
                Sampler::LogLinear { low: libm::log(low), span: libm::log(high) - libm::log(low) }
            }
            Self::LogNormal { mean, p99 } => {
                let ratio = libm::log(ns(p99, 1)? / ns(mean, 1)?);
                // ln p99 − ln mean = z σ − σ²/2, solved for the smaller σ.
                let root = NORMAL_P99 * NORMAL_P99 - 2.0 * ratio;
                if ratio <= 0.0 || root < 0.0 {
                    return Err(DistributionError::Percentile { mean, p99 });
                }
                let sigma = NORMAL_P99 - libm::sqrt(root);
                Sampler::LogNormal { mu: libm::log(ns(mean, 1)?) - sigma * sigma / 2.0, sigma }
            }
            Self::Weibull { scale, shape } => Sampler::Weibull { scale: ns(scale, 1)?, exponent: inverse(shape)? },
            Self::Pareto { least, shape } => Sampler::Pareto { least: ns(least, 1)?, exponent: inverse(shape)? },
            Self::TwoModes { ref common, ref rare, rare_share } => {
                if !(0.0..=1.0).contains(&rare_share) {
                    return Err(DistributionError::Share(rare_share));
                }
                Sampler::TwoModes(Box::new((common.sampler()?, rare.sampler()?)), rare_share)
            }
            Self::Empirical(ref values) => {
                if values.is_empty() {
                    return Err(DistributionError::Empty);
                }
                Sampler::Empirical(values.iter().map(|&value| ns(value, 0)).collect::<Result<_, _>>()?)
            }
        })
    }
}

fn ns(value: Nanos, least: i64) -> Result<f64, DistributionError> {
    if value.get() < least || value > Distribution::LONGEST {
        return Err(DistributionError::Delay(value));
    }
    Ok(value.get() as f64)
}

fn range(low: Nanos, high: Nanos, least: i64) -> Result<(f64, f64), DistributionError> {
    if high < low {
        return Err(DistributionError::Range(low, high));
    }
    Ok((ns(low, least)?, ns(high, least)?))
}

fn inverse(shape: f64) -> Result<f64, DistributionError> {
    if !(shape.is_finite() && shape > 0.0) {
        return Err(DistributionError::Shape(shape));
    }
    Ok(1.0 / shape)
}

/// A valid distribution, ready to draw from.
#[derive(Clone, Debug)]
pub(crate) enum Sampler {
    Linear { low: f64, span: f64 },
    LogLinear { low: f64, span: f64 },
    LogNormal { mu: f64, sigma: f64 },
    Weibull { scale: f64, exponent: f64 },
    Pareto { least: f64, exponent: f64 },
    TwoModes(Box<(Sampler, Sampler)>, f64),
    Empirical(Vec<f64>),
}

impl Sampler {
    /// A delay in nanoseconds, before rounding.
    #[inline]
    pub(crate) fn draw(&self, chance: &mut Chance) -> f64 {
        match self {
            Self::Linear { low, span } => low + span * chance.unit(),
            Self::LogLinear { low, span } => libm::exp(low + span * chance.unit()),
            Self::LogNormal { mu, sigma } => libm::exp(mu + sigma * chance.normal()),
            Self::Weibull { scale, exponent } => scale * libm::pow(chance.exponential(), *exponent),
            Self::Pareto { least, exponent } => least * libm::exp(chance.exponential() * exponent),
            Self::TwoModes(modes, rare_share) => {
                let rare = chance.happens(*rare_share);
                (if rare { &modes.1 } else { &modes.0 }).draw(chance)
            }
            Self::Empirical(values) => values[chance.below(values.len() as u32) as usize],
        }
    }
}

/// Rounds a drawn delay to the nearest nanosecond, from zero to [`Distribution::LONGEST`].
#[inline]
pub(crate) fn rounded(nanos: f64) -> i64 {
    ((nanos + 0.5) as i64).clamp(0, Distribution::LONGEST.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Delays;

    fn ms(value: i64) -> Nanos {
        Nanos::new(value * 1_000_000)
    }

    fn draws(distribution: &Distribution, n: usize) -> Delays {
        let sampler = distribution.sampler().unwrap();
        let mut chance = Chance::new(7, 0);
        (0..n).map(|_| Nanos::new(rounded(sampler.draw(&mut chance)))).collect()
    }

    /// The share of 10⁶ draws up to x is within 6 standard errors (at most .003) of its probability: a false alarm in
    /// one of the 21 comparisons has a chance of 4·10⁻⁸. A Weibull distribution that ignores its shape must fail.
    #[test]
    fn shares_are_as_the_formulas_say() {
        let e = |x: f64| x.exp();
        let two = Distribution::TwoModes {
            common: Distribution::Constant(ms(1)).into(),
            rare: Distribution::Constant(ms(9)).into(),
            rare_share: 0.2,
        };
        let cases: [(Distribution, [(i64, f64); 3]); 7] = [
            (Distribution::Uniform { low: ms(10), high: ms(30) }, [(15, 0.25), (20, 0.5), (29, 0.95)]),
            (Distribution::LogUniform { low: ms(1), high: ms(256) }, [(2, 0.125), (16, 0.5), (128, 0.875)]),
            (
                Distribution::Weibull { scale: ms(10), shape: 0.5 },
                [(1, 1.0 - e(-0.1f64.sqrt())), (10, 1.0 - e(-1.0)), (40, 1.0 - e(-2.0))],
            ),
            (
                Distribution::Pareto { least: ms(2), shape: 1.5 },
                [(4, 1.0 - 0.5f64.powf(1.5)), (8, 0.875), (32, 1.0 - 1.0 / 64.0)],
            ),
            // Φ(ln(x/24.763 ms)/1.3020); see `the_log_normal_of_the_fridge_paper`.
            (
                Distribution::LogNormal { mean: Nanos::new(57_800_000), p99: ms(512) },
                [(10, 0.243_083), (100, 0.858_148), (512, 0.99)],
            ),
            (two, [(0, 0.0), (1, 0.8), (9, 1.0)]),
            (Distribution::Empirical(vec![ms(3), ms(1), ms(3), ms(8)]), [(1, 0.25), (3, 0.75), (8, 1.0)]),
        ];
        for (distribution, shares) in cases {
            let mut delays = draws(&distribution, 1_000_000);
            for (x, share) in shares {
                let found = delays.share_up_to(ms(x));
                let is_near = |share: f64| (found - share).abs() <= 6.0 * (share * (1.0 - share) / 1e6f64).sqrt();
                assert!(is_near(share), "{distribution:?} up to {x} ms: {found}, expected {share}");
                let is_weibull = matches!(distribution, Distribution::Weibull { .. });
                assert!(!is_weibull || x == 10 || !is_near(1.0 - e(-(x as f64) / 10.0)), "up to {x} ms: {found}");
            }
        }
    }

    /// Mean 57.8 ms and p99 512 ms are feasible: σ = 1.302, median 24.76 ms. The mean of 10⁶ draws has a standard error
    /// of 57.8 ms · √(e^σ² − 1)/1000 = .122 ms; six of them are .74 ms. The median has one of .040 ms. Either false
    /// alarm: 2·10⁻⁹. Taking the median for the mean, without e^(σ²/2), must fail.
    #[test]
    fn the_log_normal_of_the_fridge_paper() {
        let mut delays = draws(&Distribution::LogNormal { mean: Nanos::new(57_800_000), p99: ms(512) }, 1_000_000);
        let mean = delays.mean().unwrap();
        let is_mean = |mean: f64| (mean - 57.8e6).abs() < 0.74e6;
        let median = delays.quantile(0.5).unwrap().get() as f64;
        assert!(is_mean(mean) && !is_mean(median), "{mean} {median}");
        assert!((median - 24.76e6).abs() < 0.24e6, "{median}");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |distribution: Distribution| distribution.sampler().unwrap_err();
        assert_eq!(error(Distribution::Constant(ms(-1))), DistributionError::Delay(ms(-1)));
        assert_eq!(error(Distribution::LogUniform { low: ms(0), high: ms(1) }), DistributionError::Delay(ms(0)));
        assert_eq!(error(Distribution::Uniform { low: ms(2), high: ms(1) }), DistributionError::Range(ms(2), ms(1)));
        let percentile = |mean, p99| DistributionError::Percentile { mean: ms(mean), p99: ms(p99) };
        assert_eq!(error(Distribution::LogNormal { mean: ms(10), p99: ms(150) }), percentile(10, 150));
        assert_eq!(error(Distribution::LogNormal { mean: ms(10), p99: ms(10) }), percentile(10, 10));
        assert_eq!(error(Distribution::Pareto { least: ms(1), shape: 0.0 }), DistributionError::Shape(0.0));
        assert!(matches!(error(Distribution::Weibull { scale: ms(1), shape: f64::NAN }), DistributionError::Shape(_)));
        assert_eq!(error(Distribution::Empirical(vec![])), DistributionError::Empty);
    }

    #[test]
    fn absurd_draws_are_cut() {
        let mut delays = draws(&Distribution::Pareto { least: ms(1), shape: 0.01 }, 1000);
        assert_eq!(delays.quantile(1.0), Some(Distribution::LONGEST));
    }
}
