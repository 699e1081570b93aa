pub(crate) use dwell_logs::text::{LONGEST_MS, milliseconds};
use dwell_types::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::ops::{Bound, RangeBounds, RangeInclusive};

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

/// The name of a method as written in definitions.
pub(crate) fn written(method: &impl Serialize) -> String {
    let Ok(Value::String(name)) = serde_json::to_value(method) else { unreachable!("methods are words") };
    name
}

/// Keys, each with whether it is given and whether the method knows it: an unknown key that is given is an error.
pub(crate) fn only_known(keys: &[(&str, bool, bool)]) -> Result<(), Invalid> {
    match keys.iter().find(|(_, is_given, is_known)| *is_given && !is_known) {
        Some(&(key, ..)) => Err(Invalid::new(key, "not a parameter of this method")),
        None => Ok(()),
    }
}

/// The most requests or packets of a stream: hours of running, not years.
pub(crate) const MOST_EVENTS: u64 = 10_000_000_000;
/// Requests, packets or probes per second.
pub(crate) const RATES: RangeInclusive<f64> = 1e-3..=1e9;
/// Shapes of distributions.
pub(crate) const SHAPES: RangeInclusive<f64> = 1e-3..=1e3;
/// The most bytes of a method: 1 TiB.
const MOST_BYTES: u64 = 1 << 40;

/// A number within bounds. Everything else is refused, infinity and NaN included.
pub(crate) fn within(key: &str, value: f64, bounds: impl RangeBounds<f64>) -> Result<f64, Invalid> {
    if value.is_finite() && bounds.contains(&value) {
        return Ok(value);
    }
    let from = match bounds.start_bound() {
        Bound::Included(&from) => format!("from {}", short(from)),
        Bound::Excluded(&from) => format!("above {}", short(from)),
        Bound::Unbounded => String::new(),
    };
    let to = match (bounds.start_bound(), bounds.end_bound()) {
        (Bound::Included(_), Bound::Included(&to)) => format!(" to {}", short(to)),
        (_, Bound::Included(&to)) => format!(" and up to {}", short(to)),
        (Bound::Included(_), Bound::Excluded(&to)) => format!(" to below {}", short(to)),
        (_, Bound::Excluded(&to)) => format!(" and below {}", short(to)),
        (_, Bound::Unbounded) => String::new(),
    };
    Err(Invalid::new(key, format!("{}: expected {from}{to}", short(value))))
}

/// A list that is not empty.
pub(crate) fn some<'a, T>(key: &str, list: &'a [T]) -> Result<&'a [T], Invalid> {
    if list.is_empty() { Err(Invalid::new(key, "empty: expected at least one")) } else { Ok(list) }
}

/// A number above zero, and at most this large.
pub(crate) fn above_zero(key: &str, value: f64, most: f64) -> Result<f64, Invalid> {
    within(key, value, (Bound::Excluded(0.0), Bound::Included(most)))
}

/// Every number of a list within bounds.
pub(crate) fn all_within(key: &str, values: &[f64], bounds: impl RangeBounds<f64> + Clone) -> Result<(), Invalid> {
    values.iter().try_for_each(|&value| within(key, value, bounds.clone()).map(drop))
}

/// A whole number within bounds.
pub(crate) fn whole(key: &str, value: f64, bounds: RangeInclusive<u64>) -> Result<u64, Invalid> {
    let (from, to) = (*bounds.start() as f64, *bounds.end() as f64);
    if value.fract() == 0.0 && (from..=to).contains(&value) {
        return Ok(value as u64);
    }
    Err(Invalid::new(key, format!("{}: expected a whole number from {} to {}", short(value), short(from), short(to))))
}

/// A time in milliseconds within bounds.
pub(crate) fn time(key: &str, ms: f64, bounds: RangeInclusive<f64>) -> Result<Nanos, Invalid> {
    within(key, ms, bounds).map(milliseconds)
}

/// A time of at least a nanosecond, in milliseconds.
pub(crate) fn span(key: &str, ms: f64) -> Result<Nanos, Invalid> {
    time(key, ms, 1e-6..=LONGEST_MS)
}

/// A delay in milliseconds, which may be zero.
pub(crate) fn delay(key: &str, ms: f64) -> Result<Nanos, Invalid> {
    time(key, ms, 0.0..=LONGEST_MS)
}

/// Bytes of a method's memory, if the system would allocate that much at once.
pub(crate) fn memory(key: &str, bytes: f64) -> Result<usize, Invalid> {
    let problem = || format!("{}: expected a whole number of bytes, up to 1 TiB", short(bytes));
    let whole = whole(key, bytes, 1..=MOST_BYTES).map_err(|_| Invalid::new(key, problem()))?;
    available(key, bytes)?;
    Ok(whole as usize)
}

/// Checks that the system would allocate this much at once: the bytes that follow from the value of a key.
pub(crate) fn available(key: &str, bytes: f64) -> Result<(), Invalid> {
    if bytes <= MOST_BYTES as f64 && is_available(bytes as usize) {
        return Ok(());
    }
    Err(Invalid::new(key, format!("needs {} bytes, and this machine does not have so much memory", short(bytes))))
}

/// Whether the system would allocate this much memory at once.
pub fn is_available(bytes: usize) -> bool {
    Vec::<u8>::new().try_reserve_exact(bytes).is_ok()
}

/// Checks that a number of requests, packets or bursts can be run within hours, not years, and that there are any.
pub(crate) fn runnable(key: &str, number: f64) -> Result<(), Invalid> {
    if (1.0..=MOST_EVENTS as f64).contains(&number) {
        return Ok(());
    }
    let most = short(MOST_EVENTS as f64);
    Err(Invalid::new(key, format!("{} requests, packets or bursts: expected from 1 to {most}", short(number))))
}

/// Checks that a stream of this many seconds does not outlast the clock.
pub(crate) fn lasting(key: &str, seconds: f64) -> Result<(), Invalid> {
    const MOST: f64 = 1e9;
    if seconds <= MOST {
        return Ok(());
    }
    Err(Invalid::new(key, format!("a stream of {} s: expected at most {} s", short(seconds), short(MOST))))
}

/// The length in milliseconds of the time slices of a course, if given: at least this many, and not so short that a
/// stream of `seconds` has very many of them.
pub(crate) fn course(length: Option<f64>, least: f64, seconds: f64) -> Result<Option<f64>, Invalid> {
    const MOST_SLICES: f64 = 1e5;
    let least = least.max(seconds * 1e3 / MOST_SLICES);
    length.map(|length| within("course_ms", length, least..=LONGEST_MS)).transpose()
}

/// A number as text, with an exponent if it would be long without.
pub(crate) fn short(value: f64) -> String {
    let is_long = value != 0.0 && value.is_finite() && !(1e-4..1e7).contains(&value.abs());
    if is_long { format!("{value:e}") } else { value.to_string() }
}

/// Two numbers; without this, a longer list would be taken for its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "Vec<f64>")]
pub(crate) struct Pair(pub(crate) [f64; 2]);

impl TryFrom<Vec<f64>> for Pair {
    type Error = String;

    fn try_from(numbers: Vec<f64>) -> Result<Self, String> {
        numbers.try_into().map(Self).map_err(|numbers: Vec<f64>| format!("{} numbers: expected two", numbers.len()))
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

impl Number {
    /// A whole number within bounds, which `"auto"` is not.
    pub(crate) fn whole(self, key: &str, bounds: RangeInclusive<u64>) -> Result<u64, Invalid> {
        match self {
            Self::Value(value) => whole(key, value, bounds),
            Self::Auto => Err(Invalid::new(key, "auto: expected a whole number")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_is_expected() {
        let above = (Bound::Excluded(0.0), Bound::Excluded(1.0));
        let cases: [(Result<f64, Invalid>, &str); 10] = [
            (within("k", 2.0, 0.0..=1.0), "2: expected from 0 to 1"),
            (within("k", 1.0, 0.0..1.0), "1: expected from 0 to below 1"),
            (within("k", 0.0, above), "0: expected above 0 and below 1"),
            (within("k", -1.0, 0.0..), "-1: expected from 0"),
            (within("k", f64::NAN, RATES), "NaN: expected from 0.001 to 1e9"),
            (within("k", 1e300, RATES), "1e300: expected from 0.001 to 1e9"),
            (above_zero("k", 0.0, 1.0), "0: expected above 0 and up to 1"),
            (whole("k", 2.5, 1..=8).map(|n| n as f64), "2.5: expected a whole number from 1 to 8"),
            (memory("k", 1.5e15).map(|n| n as f64), "1.5e15: expected a whole number of bytes, up to 1 TiB"),
            (delay("k", -5.0).map(|n| n.get() as f64), "-5: expected from 0 to 1e9"),
        ];
        for (refused, expected) in cases {
            assert_eq!(refused.unwrap_err().problem, expected);
        }
        assert_eq!(whole("k", 8.0, 1..=8).unwrap(), 8);
        assert_eq!(span("k", 1e-6).unwrap(), Nanos::new(1));
        assert_eq!(memory("k", 4096.0).unwrap(), 4096);
        assert!(available("k", u64::MAX as f64).is_err());
    }
}
