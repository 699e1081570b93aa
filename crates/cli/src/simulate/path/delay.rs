//! Delays on the command line: a distribution by its name and parameters.

use crate::units;
use dwell_logs::{LogError, text};
use dwell_simulate::Distribution;
use dwell_types::Nanos;
use std::path::PathBuf;

/// Where delays come from.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Delay {
    Drawn(Distribution),
    /// A file of delays.
    File(PathBuf),
}

impl Delay {
    pub(super) fn distribution(&self) -> Result<Distribution, LogError> {
        match self {
            Self::Drawn(distribution) => Ok(distribution.clone()),
            Self::File(path) => Ok(Distribution::Empirical(text::delays(path)?)),
        }
    }
}

/// A name as in the definitions of experiments, then the parameters: `log-normal:20ms:40ms`. Without a name, a constant.
pub(super) fn parse(text: &str) -> Result<Delay, String> {
    let (name, values) = text.split_once(':').unwrap_or(("constant", text));
    if name == "file" {
        return Ok(Delay::File(values.into()));
    }
    drawn(name, &values.split(':').collect::<Vec<_>>()).map(Delay::Drawn).ok_or_else(|| {
        "expected a distribution with its parameters, such as constant:5ms, log-normal:20ms:40ms or weibull:5ms:0.6"
            .to_owned()
    })
}

fn drawn(name: &str, values: &[&str]) -> Option<Distribution> {
    let time = |text: &str| units::offset(text).ok().filter(|&time| time >= Nanos::ZERO);
    let shape = |text: &str| text.parse().ok();
    Some(match (name, values) {
        ("constant", [value]) => Distribution::Constant(time(value)?),
        ("uniform", [low, high]) => Distribution::Uniform { low: time(low)?, high: time(high)? },
        ("log-uniform", [low, high]) => Distribution::LogUniform { low: time(low)?, high: time(high)? },
        ("exponential", [mean]) => Distribution::Weibull { scale: time(mean)?, shape: 1.0 },
        ("log-normal", [mean, p99]) => Distribution::LogNormal { mean: time(mean)?, p99: time(p99)? },
        ("weibull", [scale, index]) => Distribution::Weibull { scale: time(scale)?, shape: shape(index)? },
        ("pareto", [least, index]) => Distribution::Pareto { least: time(least)?, shape: shape(index)? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_by_name() {
        let us = |micros: i64| Nanos::new(micros * 1_000);
        for (text, expected) in [
            ("5ms", Distribution::Constant(us(5_000))),
            ("constant:0", Distribution::Constant(us(0))),
            ("uniform:0:9us", Distribution::Uniform { low: us(0), high: us(9) }),
            ("log-uniform:1us:9us", Distribution::LogUniform { low: us(1), high: us(9) }),
            ("exponential:5ms", Distribution::Weibull { scale: us(5_000), shape: 1.0 }),
            ("log-normal:20ms:40ms", Distribution::LogNormal { mean: us(20_000), p99: us(40_000) }),
            ("weibull:1ms:.6", Distribution::Weibull { scale: us(1_000), shape: 0.6 }),
            ("pareto:1ms:1.5", Distribution::Pareto { least: us(1_000), shape: 1.5 }),
        ] {
            assert_eq!(parse(text), Ok(Delay::Drawn(expected)), "{text}");
        }
        assert_eq!(parse("file:a:b.txt"), Ok(Delay::File("a:b.txt".into())));
        for text in ["", "fast", "normal:5ms", "constant", "constant:", "uniform:1ms", "uniform:1ms:2ms:3ms", "-5ms"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
