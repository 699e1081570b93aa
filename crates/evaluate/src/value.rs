use dwell_types::Nanos;
use serde::Deserialize;
use std::fmt;

/// An invalid value, with its key.
#[derive(Debug)]
pub(crate) struct Invalid {
    pub(crate) key: String,
    pub(crate) problem: String,
}

impl Invalid {
    pub(crate) fn new(key: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self { key: key.into(), problem: problem.to_string() }
    }

    /// The same error, with the key of the enclosing entry in front.
    pub(crate) fn within(mut self, outer: impl fmt::Display) -> Self {
        self.key = format!("{outer}.{}", self.key);
        self
    }
}

/// Keys, each with whether it is given and whether the method knows it: an unknown key that is given is an error.
pub(crate) fn only_known(keys: &[(&str, bool, bool)]) -> Result<(), Invalid> {
    match keys.iter().find(|(_, is_given, is_known)| *is_given && !is_known) {
        Some(&(key, ..)) => Err(Invalid::new(key, "not a parameter of this method")),
        None => Ok(()),
    }
}

/// Milliseconds to nanoseconds, rounded; values out of range become the nearest that is in range.
pub(crate) fn milliseconds(ms: f64) -> Nanos {
    Nanos::new((ms * 1e6).round() as i64)
}

/// Checks that a number of requests or packets can be run within hours, not years.
pub(crate) fn runnable(key: &'static str, number: f64) -> Result<(), Invalid> {
    const MOST: f64 = 1e10;
    if number <= MOST {
        return Ok(());
    }
    Err(Invalid::new(key, format!("{number} requests or packets: expected at most 10¹⁰")))
}

/// The length of the time slices of a course, if given: at least this many milliseconds.
pub(crate) fn course(length: Option<f64>, least: f64) -> Result<Option<f64>, Invalid> {
    match length {
        Some(length) if length.is_nan() || length < least => {
            Err(Invalid::new("course_ms", format!("{length}: expected at least {least} ms")))
        }
        length => Ok(length),
    }
}

/// A number, a power of two written as `"2^-9"`, or `"auto"`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Written")]
pub(crate) enum Number {
    /// A given number.
    Value(f64),
    /// To be found while running.
    Auto,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a number, a power of two such as \"2^-9\", or \"auto\"")]
enum Written {
    Value(f64),
    Word(String),
}

impl TryFrom<Written> for Number {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let word = match written {
            Written::Value(value) => return Ok(Self::Value(value)),
            Written::Word(word) => word,
        };
        if word == "auto" {
            return Ok(Self::Auto);
        }
        let power = word.strip_prefix("2^").and_then(|exponent| exponent.parse::<f64>().ok());
        match power.map(f64::exp2) {
            Some(value) if value.is_normal() => Ok(Self::Value(value)),
            _ => Err(format!("'{word}': expected a number, a power of two such as \"2^-9\", or \"auto\"")),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}
