//! Parsers for numbers, sizes, times and choices on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use dwell_evaluate::is_available;
use dwell_report::text::size_flag;
use dwell_sketch::Terms;
use dwell_types::Nanos;
use std::ffi::OsStr;
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;

/// One of the given values, by its name. Help and errors list all names.
pub(crate) fn one_of<T>(
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    described(all, name, |_| "")
}

/// The same; help also describes each value.
pub(crate) fn described<T>(
    all: impl IntoIterator<Item = T>,
    name: fn(T) -> &'static str,
    summary: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let all: Vec<T> = all.into_iter().collect();
    let value = |&one: &T| match summary(one) {
        "" => PossibleValue::new(name(one)),
        summary => PossibleValue::new(name(one)).help(summary),
    };
    let names = PossibleValuesParser::new(all.iter().map(value));
    let of_name = move |found: String| all.iter().copied().find(|&one| name(one) == found);
    Trimmed(names).try_map(move |found| of_name(found).ok_or("expected one of these"))
}

/// The items of a list in their order, without repetitions.
pub(crate) fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    distinct
}

/// Ignores spaces around a name, such as those behind the commas of a list.
#[derive(Clone)]
struct Trimmed(PossibleValuesParser);

impl TypedValueParser for Trimmed {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, text: &OsStr) -> Result<String, clap::Error> {
        let trimmed = text.to_str().map_or(text, |text| OsStr::new(text.trim()));
        self.0.parse_ref(command, argument, trimmed)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// A whole number within these bounds.
pub(crate) fn between<T: TryFrom<u64>>(bounds: RangeInclusive<u64>) -> impl Fn(&str) -> Result<T, String> + Clone {
    move |text| {
        let number = integer(text).filter(|number| bounds.contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| format!("expected a whole number from {} to {}", bounds.start(), bounds.end()))
    }
}

/// A whole number from 0 on.
pub(crate) fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    between(0..=u64::MAX)(text)
}

/// A whole number from 0 on that fits 32 bits.
pub(crate) fn whole_u32(text: &str) -> Result<u32, String> {
    between(0..=u32::MAX.into())(text)
}

/// A seed: a whole number, or `random` for one that nobody knows before the report says it.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    /// More bits than readers of JSON preserve in a number.
    const TOO_MANY: u32 = 64 - 53;
    match text {
        "random" => Ok(RandomState::new().hash_one(text) >> TOO_MANY),
        _ => whole(text).map_err(|expected| format!("{expected}, or random")),
    }
}

/// A whole number above 0.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    integer(text).filter(|&number| number > 0).ok_or_else(|| "expected a whole number above 0".to_owned())
}

/// A whole number, `1000000` or `1e6`, as numbers with fractions may be written, too.
fn integer(text: &str) -> Option<u64> {
    /// Up to here floating-point numbers are exact.
    const MOST: f64 = (1u64 << 53) as f64;
    let with_exponent = || {
        let number: f64 = text.parse().ok().filter(|_| text.contains(['e', 'E']))?;
        (number.fract() == 0.0 && (0.0..=MOST).contains(&number)).then_some(number as u64)
    };
    text.parse().ok().or_else(with_exponent)
}

/// A number above 0; `expected` completes the error message.
pub(crate) fn above_zero(expected: &'static str) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite());
        number.ok_or_else(|| format!("expected {expected}"))
    }
}

/// A memory that is enough where `memory` bytes are not. `needed` tells how many bytes are needed where so many are
/// divided, at most as many if they are enough: shares grow with the whole.
pub(crate) fn enough(memory: usize, needed: impl Fn(usize) -> usize) -> String {
    const KIB: usize = 1024;
    let (mut enough, mut bytes) = (memory, needed(memory));
    while bytes > enough {
        enough = bytes.div_ceil(KIB).saturating_mul(KIB);
        bytes = needed(enough);
    }
    size_flag(enough)
}

/// The default of `--memory`.
pub(crate) const MEMORY: &str = "64MiB";

/// Bytes, at most 1 TiB: `65536`, `64KiB`, `64K` (1024, in any case), `64kB` (1000), likewise M, G and T.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    const MOST: f64 = (1u64 << 40) as f64;
    let (number, unit) = split(text);
    let scale = match unit {
        "" | "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "TB" => 1e12,
        // `kb` and `mb` are left out: they may mean bits, too.
        _ => match &*unit.to_ascii_lowercase() {
            "k" | "kib" => 1024.0,
            "m" | "mib" => 1024.0 * 1024.0,
            "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
            "t" | "tib" => MOST,
            _ => return Err("expected a size such as 64KiB, 1.5MiB or 65536".to_owned()),
        },
    };
    match number.parse::<f64>() {
        Ok(value) if value * scale >= 1.0 && value * scale <= MOST => Ok((value * scale) as usize),
        _ => Err("expected a size of at least a byte and up to 1TiB, such as 64KiB, 1.5MiB or 65536".to_owned()),
    }
}

/// Bytes of memory; rejected if the system would not allocate that much at once.
pub(crate) fn memory(text: &str) -> Result<usize, String> {
    let bytes = bytes(text)?;
    if is_available(bytes) { Ok(bytes) } else { Err("this machine does not have so much memory".to_owned()) }
}

/// Memory sizes to compare, in bytes: ascending, without repetition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memories(pub(crate) Vec<usize>);

/// A list of sizes, `4KiB,64KiB`, or a range of doublings, `1KiB..1MiB`.
pub(crate) fn memories(text: &str) -> Result<Memories, String> {
    let named = |part: &str, why: String| if part == text { why } else { format!("'{part}': {why}") };
    let size = |part: &str| bytes(part).map_err(|why| named(part, why));
    let mut memories = Vec::new();
    for part in text.split(',') {
        let Some((first, last)) = part.split_once("..") else {
            memories.push(size(part)?);
            continue;
        };
        let (first, last) = (size(first)?, size(last)?);
        if first > last {
            return Err(named(part, "expected the smaller size first, such as 4KiB..64KiB".to_owned()));
        }
        memories.extend(std::iter::successors(Some(first), |size| Some(2 * size)).take_while(|&size| size < last));
        memories.push(last);
    }
    memories.sort_unstable();
    memories.dedup();
    Ok(Memories(memories))
}

/// A span of time above zero: `10s`, `500ms`, `1.5m`, `2h`; a bare number is seconds.
pub(crate) fn span(text: &str) -> Result<Nanos, String> {
    let (number, unit) = split(text);
    let scale = match unit {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "" | "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3_600e9,
        "d" => 86_400e9,
        _ => return Err("expected a time such as 500ms, 10s, 2m or 1h".to_owned()),
    };
    match number.parse::<f64>() {
        Ok(value) if value * scale >= 1.0 && value * scale < 9e18 => Ok(Nanos::new((value * scale).round() as i64)),
        _ => Err("expected a time above zero and below 100000d, such as 500ms, 10s, 2m or 1h".to_owned()),
    }
}

/// The longest time that a request may wait for its response.
pub(crate) fn wait(text: &str) -> Result<Nanos, String> {
    match span(text)? {
        wait if wait <= Terms::LONGEST_WAIT => Ok(wait),
        _ => Err("expected a time of at most 36h".to_owned()),
    }
}

/// A time span of either sign, or zero: `-3ms`, `0`.
pub(crate) fn offset(text: &str) -> Result<Nanos, String> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (number, unit) = split(magnitude);
    if number.parse() == Ok(0.0) && span(&format!("1{unit}")).is_ok() {
        return Ok(Nanos::ZERO);
    }
    Ok(Nanos::new(sign * span(magnitude).map_err(|_| "expected a time such as -3ms, 250us or 0".to_owned())?.get()))
}

/// A time as the value of a flag: `10s`, `-1ms`.
pub(crate) fn time_flag(time: Nanos) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(ns, _)| time.get() % ns == 0);
    let (ns, unit) = unit.unwrap_or((1, "ns"));
    format!("{}{unit}", time.get() / ns)
}

/// Bits per second above zero: `10e9`, `10G`, `2.5Gbit/s`, `100Mbps`.
pub(crate) fn bits(text: &str) -> Result<f64, String> {
    let (number, unit) = if text.parse::<f64>().is_ok() { (text, "") } else { split(text) };
    let prefix = ["bit/s", "bps", "bit"].iter().find_map(|end| unit.strip_suffix(end)).unwrap_or(unit);
    let scale = match prefix {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        _ => f64::NAN,
    };
    let rate = number.parse::<f64>().map(|number| number * scale);
    rate.ok()
        .filter(|&rate| rate > 0.0 && rate.is_finite())
        .ok_or_else(|| "expected bits per second above 0, such as 10e9, 10G or 100Mbit/s".to_owned())
}

fn split(text: &str) -> (&str, &str) {
    let at = text.find(|c: char| c.is_alphabetic()).unwrap_or(text.len());
    (text[..at].trim(), &text[at..])
}

/// A number, or a percentage.
fn fraction(text: &str) -> Option<f64> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    number.trim().parse::<f64>().ok().map(|number| number / scale)
}

/// A share above 0 and up to 1: `1%` or `0.01`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = fraction(text).filter(|&share| share > 0.0 && share <= 1.0);
    share.ok_or_else(|| "expected a share above 0 and up to 1, such as 1% or 0.01".to_owned())
}

/// A share of what may be lost, from 0 to below 1.
pub(crate) fn loss(text: &str) -> Result<f64, String> {
    let loss = fraction(text).filter(|loss| (0.0..1.0).contains(loss));
    loss.ok_or_else(|| "expected a share from 0 to below 1, such as 0.1%".to_owned())
}

/// A share above 0 that may be larger than everything: `30%`, `0.3`, `1.2`.
pub(crate) fn load(text: &str) -> Result<f64, String> {
    let load = fraction(text).filter(|&load| load > 0.0 && load.is_finite());
    load.ok_or_else(|| "expected a share above 0, such as 30% or 0.3".to_owned())
}

/// Shares below 100%, a range or a single one: `0.1%..5%`.
pub(crate) fn shares(text: &str) -> Result<RangeInclusive<f64>, String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (share(low)?, share(high)?);
    if low > high || high >= 1.0 {
        return Err("expected the smaller share first and less than everything, such as 0.1%..5%".to_owned());
    }
    Ok(low..=high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("65536", 65_536),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("64kib", 65_536),
            ("1.5M", 1_572_864),
            ("1.5m", 1_572_864),
            ("2Mib", 2 << 20),
            ("2MB", 2_000_000),
            ("1g", 1 << 30),
            ("2kB", 2_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "0.5", "-1K", "64KB2", "64kb", "1mb", "many", "1e30G", "NaN", "1.1TiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seeds() {
        assert_eq!(seed("18446744073709551615"), Ok(u64::MAX));
        let drawn = [(); 8].map(|()| seed("random").unwrap());
        assert_eq!(distinct(drawn).len(), drawn.len(), "{drawn:?}");
        assert!(drawn.iter().all(|&seed| seed < 1 << 53), "{drawn:?}");
        assert!(seed("-1").unwrap_err().ends_with("or random"));
    }

    #[test]
    fn times_as_flags() {
        for text in ["0s", "10s", "1500ms", "-1ms", "250us", "7ns", "-3600s"] {
            assert_eq!(time_flag(offset(text).unwrap()), text);
        }
    }

    #[test]
    fn ranges_of_sizes() {
        for (text, expected) in [
            ("64KiB,4K,64K", &[4 << 10, 64 << 10][..]),
            ("1KiB..8KiB", &[1 << 10, 2 << 10, 4 << 10, 8 << 10]),
            ("4KiB..10KiB,1KiB", &[1 << 10, 4 << 10, 8 << 10, 10 << 10]),
            ("5..5", &[5]),
        ] {
            assert_eq!(memories(text), Ok(Memories(expected.to_vec())), "{text}");
        }
        for text in ["", "4KiB,", "8KiB..4KiB", "..4KiB", "4KiB..", "1..2..3", "0.5..4KiB"] {
            assert!(memories(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates() {
        for (text, expected) in [
            ("10e9", 10e9),
            ("10G", 10e9),
            ("2.5Gbit/s", 2.5e9),
            ("100Mbps", 100e6),
            ("64 kbit", 64e3),
            ("8", 8.0),
            ("8bps", 8.0),
        ] {
            assert_eq!(bits(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1G", "10GB", "10GiB", "fast", "inf", "NaN", "G", "1e300T"] {
            assert!(bits(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans() {
        for (text, expected) in
            [("10s", 10_000_000_000), ("1.5m", 90_000_000_000), ("2", 2_000_000_000), ("5ns", 5), ("3us", 3_000)]
        {
            assert_eq!(span(text), Ok(Nanos::new(expected)), "{text}");
        }
        for text in ["", "0s", "-3s", "1y", "0.1ns", "1e30h"] {
            assert!(span(text).is_err(), "{text}");
        }
        for (text, expected) in [("-3ms", -3_000_000), ("+5ns", 5), ("2us", 2_000), ("0", 0), ("-0ms", 0)] {
            assert_eq!(offset(text), Ok(Nanos::new(expected)), "{text}");
        }
        for text in ["", "--3s", "-", "1y", "0y"] {
            assert!(offset(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers() {
        for (text, expected) in [("1000000", 1_000_000), ("1e6", 1_000_000), ("2.5E3", 2_500), ("7", 7)] {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1", "1.5", "1e-3", "1.25e1", "1e300", "2.0", "NaN", "inf", "e"] {
            assert!(count(text).is_err(), "{text}");
        }
        assert_eq!((between::<u16>(1..=65_535)("6e4"), whole_u32("0e0")), (Ok(60_000), Ok(0)));
        assert!(between::<u16>(1..=65_535)("7e4").is_err() && whole::<u64>("18446744073709551615").is_ok());
    }

    #[test]
    fn loads_may_be_more_than_everything() {
        for (text, expected) in [("30%", 0.3), ("0.3", 0.3), ("1.5", 1.5), ("200%", 2.0)] {
            assert_eq!(load(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1%", "few", "inf", "NaN"] {
            assert!(load(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_of_everything() {
        for (text, expected) in [("1%", 0.01), ("0.25", 0.25), ("100%", 1.0), (".5 %", 0.005)] {
            assert_eq!(share(text), Ok(expected), "{text}");
        }
        for text in ["", "0", "-1%", "101%", "2", "few", "NaN"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_from_one_to_another() {
        for (text, low, high) in [("0.1%..5%", 0.001, 0.05), ("2%", 0.02, 0.02), ("0.5..0.5", 0.5, 0.5)] {
            assert_eq!(shares(text), Ok(low..=high), "{text}");
        }
        for text in ["5%..1%", "..5%", "1%..", "1%..100%", "0..1%", "1%..2%..3%"] {
            assert!(shares(text).is_err(), "{text}");
        }
    }
}
