use dwell_sketch::estimate::Estimate;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// One configuration of a method under one workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Index of the workload: cases of one workload and seed see the same stream.
    pub stream: usize,
    /// The workload's name.
    pub workload: String,
    /// The method's name.
    pub method: String,
    /// The method's parameters by name; those that it finds while running are absent.
    pub parameters: BTreeMap<String, f64>,
}

impl Case {
    /// The parameters as text; see [`label`].
    pub fn label(&self) -> String {
        label(&self.parameters)
    }
}

/// Parameters as text: `entry_probability=2^-9 slots=2^12`. Powers of two from 2¹⁰ up and below one are written as
/// such, if their exponent has at most one decimal; what is not whole has four digits.
pub fn label(parameters: &BTreeMap<String, f64>) -> String {
    let mut text = String::new();
    for (name, &value) in parameters {
        let gap = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = match power_of_two(value) {
            Some(power) => write!(text, "{gap}{name}=2^{power}"),
            None => write!(text, "{gap}{name}={}", rounded(value)),
        };
    }
    text
}

/// The exponent of a power of two that is written as such.
fn power_of_two(value: f64) -> Option<f64> {
    let power = (value.log2() * 10.0).round() / 10.0;
    ((power.exp2() / value - 1.0).abs() < 1e-12 && !(-0.5..9.5).contains(&power)).then_some(power)
}

/// The value itself if it is whole, else to four digits.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 { value } else { format!("{value:.3e}").parse().unwrap_or(value) }
}

/// How an estimate is compared with the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// log₂ of estimate over truth: an error of one is a factor of two, either way.
    Log2,
    /// Estimate over truth less one.
    Relative,
    /// Estimate over truth, where only the mean over many runs is of interest.
    Ratio,
    /// No comparison: a fact about the run.
    #[default]
    Value,
}

impl Scale {
    /// All scales.
    pub const ALL: [Self; 4] = [Self::Log2, Self::Relative, Self::Ratio, Self::Value];

    /// The name in CSV and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Log2 => "log2",
            Self::Relative => "relative",
            Self::Ratio => "ratio",
            Self::Value => "value",
        }
    }
}

/// One seed of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Index into [`crate::Experiment::cases`].
    pub case: usize,
    /// The seed, from 1.
    pub seed: u64,
    /// The results.
    pub measurements: Vec<Measurement>,
}

/// Where the values of a quantity lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// Anywhere.
    Any,
    /// From zero up: a relative error without its sign.
    Magnitude,
    /// From zero to one: a share.
    Share,
}

impl Range {
    /// Whether it contains a value.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Magnitude => value >= 0.0,
            Self::Share => (0.0..=1.0).contains(&value),
        }
    }
}

/// A quantity that a case measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name; `octave_#` stands for `octave_` with any number.
    pub name: Cow<'static, str>,
    /// How its estimates are compared with the truth.
    pub scale: Scale,
    /// Where its values lie.
    pub range: Range,
    /// Whether estimates have intervals.
    pub has_interval: bool,
}

/// Bytes of a method's data structures: a quantity of nearly every kind of experiment.
pub(crate) const STATE_BYTES: Quantity = Quantity::value("state_bytes");

impl Quantity {
    /// One whose estimates, which have intervals, are compared so.
    pub(crate) const fn compared(name: &'static str, scale: Scale) -> Self {
        Self { name: Cow::Borrowed(name), scale, range: Range::Any, has_interval: true }
    }

    /// The same without intervals.
    pub(crate) const fn plain(name: &'static str, scale: Scale) -> Self {
        Self { name: Cow::Borrowed(name), scale, range: Range::Any, has_interval: false }
    }

    /// A fact about a run.
    pub(crate) const fn value(name: &'static str) -> Self {
        Self::fact(name, Range::Any)
    }

    /// A fact that is a relative error without its sign.
    pub(crate) const fn magnitude(name: &'static str) -> Self {
        Self::fact(name, Range::Magnitude)
    }

    /// A fact that is a share.
    pub(crate) const fn share(name: &'static str) -> Self {
        Self::fact(name, Range::Share)
    }

    const fn fact(name: &'static str, range: Range) -> Self {
        Self { name: Cow::Borrowed(name), scale: Scale::Value, range, has_interval: false }
    }

    /// Stands for any number in [`Self::of`], where [`crate::grid::Measured::quantities`] lists what is measured.
    pub(crate) const ANY: char = '#';

    /// The same quantity of one of several parts, such as an octave of delays, or the flows of a size.
    pub(crate) fn of(&self, part: impl Display) -> Self {
        Self { name: format!("{}_{part}", self.name).into(), ..*self }
    }

    /// Its value in a run, if it is a fact.
    pub(crate) fn measured(&self, value: impl Into<Option<f64>>) -> Measurement {
        self.estimated(None, value.into().map(Estimate::exact))
    }

    /// Its true value in a run, and the method's estimate.
    pub(crate) fn estimated(&self, truth: Option<f64>, found: Option<Estimate<f64>>) -> Measurement {
        Measurement {
            quantity: self.name.to_string(),
            scale: self.scale,
            truth,
            estimate: found.map(|found| found.value),
            interval: found.filter(|_| self.has_interval).map(|found| (found.low, found.high)),
        }
    }
}

/// One number that a run estimated, and its true value.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// The name of the quantity: `p95`, `octave_20`, `state_bytes`.
    pub quantity: String,
    /// How it is compared with the truth.
    pub scale: Scale,
    /// The truth; `None` if there is none.
    pub truth: Option<f64>,
    /// The estimate; `None` if the method gave none.
    pub estimate: Option<f64>,
    /// The limits of the method's own 95% interval, if it gave one.
    pub interval: Option<(f64, f64)>,
}

/// Which results of a case a table shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Quantities that are summarised individually, besides all those not compared by [`Scale::Log2`].
    pub quantities: &'static [&'static str],
    /// If the largest error over several quantities is shown: its name, and these quantities.
    pub largest: Option<(&'static str, &'static [&'static str])>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_read_well() {
        let of = |value: f64| label(&BTreeMap::from([("p".to_owned(), value)]));
        let cases = [(0.5, "2^-1"), (1.0, "1"), (512.0, "512"), (4096.0, "2^12"), (2f64.powf(-10.4), "2^-10.4")];
        let others = [
            (3000.0, "3000"),
            (0.0, "0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1.0 / 300.0, "0.003333"),
            (1e7 + 0.5, "10000000"),
        ];
        for (value, text) in cases.into_iter().chain(others) {
            assert_eq!(of(value), format!("p={text}"));
        }
    }
}
