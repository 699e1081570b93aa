//! Mean and standard deviation of one-way delays from a sample of the packets.

use crate::estimate::{Estimate, student};

/// The confidence level of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Contains the true value in 95 of 100 runs.
    P95,
    /// Contains the true value in 98 of 100 runs.
    P98,
}

impl Level {
    /// The standard normal quantile for a two-sided interval.
    const fn normal(self) -> f64 {
        match self {
            Self::P95 => crate::estimate::Z95,
            Self::P98 => 2.326_347_874_040_841,
        }
    }

    /// √(2 ln(2/δ)), δ being the share of runs that miss.
    const fn hoeffding(self) -> f64 {
        match self {
            Self::P95 => 2.716_203_031_481_2,
            Self::P98 => 3.034_854_258_770_293,
        }
    }
}

/// The delays of all packets that arrived, as estimated from a sample of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Packets in the sample, at least 1.
    pub packets: u64,
    /// Packets that the sample was drawn from; equal to `packets` if the sample contains all.
    pub population: u64,
    /// Mean delay in nanoseconds; negative if the clocks disagree.
    pub mean_ns: f64,
    /// Standard deviation of the delays in nanoseconds.
    pub std_ns: f64,
    /// Standard error of the logarithm of `std_ns`.
    pub log_std_error: f64,
    /// Independent deviations from which `std_ns` was computed, less one: Student's degrees of freedom, at least 1.
    pub freedom: u64,
}

impl Moments {
    /// Mean delay in nanoseconds. The interval is normal, with the estimated standard deviation and Student's factor;
    /// it has no width if the sample contains all packets.
    pub fn mean(&self, level: Level) -> Estimate<f64> {
        let unseen = 1.0 - self.packets as f64 / self.population.max(self.packets) as f64;
        Estimate::within(
            self.mean_ns,
            student(level.normal(), self.freedom as f64) * self.standard_error() * unseen.sqrt(),
        )
    }

    /// Mean delay with the paper's interval: ± *σ* √(2 ln(2/δ)/*S*) [kompella12 eq. 1]. Not a strict bound, since
    /// delays have none, but it contains the true value in 99.5% of runs where it promises 98%.
    pub fn mean_by_hoeffding(&self, level: Level) -> Estimate<f64> {
        Estimate::within(self.mean_ns, level.hoeffding() * self.standard_error())
    }

    /// Standard deviation of the delays in nanoseconds, with an interval that is normal on its logarithm.
    pub fn std(&self, level: Level) -> Estimate<f64> {
        let factor = (student(level.normal(), self.freedom as f64) * self.log_std_error).exp();
        Estimate { value: self.std_ns, low: self.std_ns / factor, high: self.std_ns * factor }
    }

    fn standard_error(&self) -> f64 {
        self.std_ns / (self.packets as f64).sqrt()
    }

    /// From individual delays in nanoseconds, sampled from this many packets; `None` for fewer than three.
    pub(crate) fn of(delays: &[i64], population: u64) -> Option<Self> {
        if delays.len() < 3 {
            return None;
        }
        let n = delays.len() as f64;
        let mean_ns = delays.iter().map(|&delay| i128::from(delay)).sum::<i128>() as f64 / n;
        let squares = delays.iter().map(|&delay| (delay as f64 - mean_ns).powi(2));
        let (variance, log_std_error) = variance(squares, n);
        let packets = delays.len() as u64;
        Some(Self { packets, population, mean_ns, std_ns: variance.sqrt(), log_std_error, freedom: packets - 1 })
    }
}

/// The variance from squared deviations, each of which has it as its expectation, and half its relative standard error:
/// the standard error of the logarithm of its root.
pub(crate) fn variance(squares: impl Iterator<Item = f64>, n: f64) -> (f64, f64) {
    let (sum, fourth) = squares.fold((0.0, 0.0), |(sum, fourth), square| (sum + square, fourth + square * square));
    let mean = sum / n;
    let relative = if mean > 0.0 { ((fourth / n / (mean * mean) - 1.0).max(0.0) / n).sqrt() } else { 0.0 };
    (sum / (n - 1.0), 0.5 * relative)
}
