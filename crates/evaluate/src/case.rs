use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write;

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

/// Parameters as text: `entry_probability=2^-9 slots=2^12`. Powers of two are written as such from 2¹⁰ up and below
/// one.
pub fn label(parameters: &BTreeMap<String, f64>) -> String {
    let mut text = String::new();
    for (name, &value) in parameters {
        let gap = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = match value.log2() {
            power if power.fract() == 0.0 && !(-0.5..9.5).contains(&power) => write!(text, "{gap}{name}=2^{power}"),
            _ => write!(text, "{gap}{name}={value}"),
        };
    }
    text
}

/// How an estimate is compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// By log₂ of estimate over truth: an error of one is a factor of two, either way.
    Log2,
    /// By estimate over truth less one.
    Relative,
    /// By estimate over truth, where only the mean over many runs is of interest.
    Ratio,
    /// Not at all: a fact about the run.
    Value,
}

impl Scale {
    /// All of them.
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

/// One number that a run estimated, and what it should have been.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// What it is: `p95`, `octave_20`, `state_bytes`.
    pub quantity: String,
    /// How it is compared.
    pub scale: Scale,
    /// The truth; `None` if there is none.
    pub truth: Option<f64>,
    /// The estimate; `None` if the method gave none.
    pub estimate: Option<f64>,
    /// The ends of the method's own 95% interval, if it gave one.
    pub interval: Option<(f64, f64)>,
}

impl Measurement {
    /// A fact about the run.
    pub(crate) fn value(quantity: impl Into<String>, estimate: impl Into<Option<f64>>) -> Self {
        let (quantity, estimate) = (quantity.into(), estimate.into());
        Self { quantity, scale: Scale::Value, truth: None, estimate, interval: None }
    }
}

/// What a table shows of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Quantities that are summarised one by one, besides all that are not compared by [`Scale::Log2`].
    pub quantities: &'static [&'static str],
    /// A name for the largest error over several quantities, and these, if that is asked.
    pub largest: Option<(&'static str, &'static [&'static str])>,
}
