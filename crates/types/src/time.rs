use core::fmt;
use core::ops::{Add, Sub};

/// A moment in integer nanoseconds since 1970-01-01 00:00 UTC, by the capturing clock.
///
/// Range: the years 1677 to 2262. Arithmetic saturates: an absurd timestamp in a capture gives an absurd delay, never a
/// panic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A signed duration in integer nanoseconds. Negative where two clocks, or two records of one capture, disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(i64);

impl Timestamp {
    /// The first moment of the range: before anything.
    pub const MIN: Self = Self(i64::MIN);

    /// The last moment of the range: after everything.
    pub const MAX: Self = Self(i64::MAX);

    /// The moment `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The moment `seconds` and `nanos` after the epoch, limited to the range.
    pub const fn from_parts(seconds: i64, nanos: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }
}

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);

    /// A year of 365 days: no capture and no log pauses for so long, unless it is joined from several.
    pub const YEAR: Self = Self::from_secs(365 * 86_400);

    /// A duration of `nanos` nanoseconds.
    pub const fn new(nanos: i64) -> Self {
        Self(nanos)
    }

    /// How far two clocks drift apart at most in this time: a thousandth of it. Crystals do a tenth of that, clocks that
    /// are slewed (adjtime) half of it.
    pub const fn drift(self) -> Self {
        Self((self.0 / 1_000).saturating_abs())
    }

    /// A duration of whole seconds, saturating.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The duration in nanoseconds.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// The duration in seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The unit in which it is written, and the length of that unit in nanoseconds.
    pub const fn unit(self) -> (&'static str, f64) {
        match self.0.unsigned_abs() {
            0..=999 => ("ns", 1.0),
            1_000..=999_499 => ("µs", 1e3),
            999_500..=999_499_999 => ("ms", 1e6),
            _ => ("s", 1e9),
        }
    }

    /// With how many decimals, at most two, a value in some unit has three significant digits.
    pub const fn decimals(value: f64) -> usize {
        match value {
            v if v < 9.995 => 2,
            v if v < 99.95 => 1,
            _ => 0,
        }
    }

    /// Whether this duration, in either direction, exceeds `span`. A state that seems to come from the far future is
    /// treated as old: its truncated time has wrapped, or a timestamp is wrong.
    #[inline]
    pub const fn is_farther_than(self, span: Self) -> bool {
        self.0.unsigned_abs() > span.0.unsigned_abs()
    }
}

impl Sub for Timestamp {
    type Output = Nanos;

    #[inline]
    fn sub(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Nanos> for Timestamp {
    type Output = Self;

    #[inline]
    fn add(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Nanos> for Timestamp {
    type Output = Self;

    #[inline]
    fn sub(self, span: Nanos) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Three significant digits and a suitable unit: `850 ns`, `1.23 ms`, `-4.50 µs`, `75.0 s`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (unit, scale) = self.unit();
        let value = magnitude as f64 / scale;
        let decimals = if magnitude < 1_000 { 0 } else { Self::decimals(value) };
        write!(f, "{sign}{value:.decimals$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn spans_print_with_three_digits_and_a_unit() {
        let cases = [
            (0, "0 ns"),
            (850, "850 ns"),
            (1_234, "1.23 µs"),
            (-4_500, "-4.50 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (12_345_678, "12.3 ms"),
            (99_960_000, "100 ms"),
            (75_000_000_000, "75.0 s"),
            (123_456_000_000_000, "123456 s"),
        ];
        for (nanos, text) in cases {
            assert_eq!(Nanos::new(nanos).to_string(), text);
        }
    }

    #[test]
    fn absurd_times_saturate() {
        let first = Timestamp::from_parts(i64::MIN, 0);
        let last = Timestamp::from_parts(i64::MAX, 999_999_999);
        assert_eq!((last - first).get(), i64::MAX);
        assert_eq!((first - last).get(), i64::MIN);
        assert_eq!((last + Nanos::from_secs(1)).as_nanos(), i64::MAX);
    }
}
