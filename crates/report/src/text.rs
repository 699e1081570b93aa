//! Human-readable numbers, times and names.

use crate::facts::Span;
use dwell_sketch::estimate::Estimate;
use dwell_types::Nanos;
use std::borrow::Cow;
use unicode_width::UnicodeWidthStr;

/// Whether a character commands a terminal instead of being shown: also one that changes the direction of the text, so
/// that a name could be shown in another place, or as another one.
pub fn is_command(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name from the input as one line that is safe for any terminal and any XML document: commands and noncharacters are
/// replaced by question marks.
pub fn plain(name: &str) -> Cow<'_, str> {
    let is_strange = |c: char| is_command(c) || matches!(c, '\u{fffe}' | '\u{ffff}');
    if name.contains(is_strange) { name.replace(is_strange, "?").into() } else { name.into() }
}

/// `48,221`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 seed`, `2000 seeds`.
pub fn of(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// `1 packet`, `2,000 packets`, in a table.
pub(crate) fn count_of(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `1 line is`, `2 lines are`.
pub fn are(number: u64, noun: &str) -> String {
    format!("{} {}", of(number, noun), if number == 1 { "is" } else { "are" })
}

/// A share in `0..=1` as `100%`, `3.2%`, `<0.1%`. A share below 1 is never written as 100%.
pub(crate) fn percent(share: f64) -> String {
    match share {
        s if s >= 1.0 => "100%".into(),
        s if s >= 0.9995 => ">99.9%".into(),
        s if s >= 0.0995 => format!("{:.0}%", (s * 100.0).min(99.0)),
        s if s >= 0.001 => format!("{:.1}%", s * 100.0),
        s if s > 0.0 => "<0.1%".into(),
        _ => "0%".into(),
    }
}

/// A number with as many digits as it needs, up to three: `0.05`, `2.5`, `400`, `12.5M`.
pub(crate) fn short(number: f64) -> String {
    /// Smallest number, unit, and letter of the unit.
    const LARGE: [(f64, f64, &str); 3] = [(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")];
    if let Some((_, unit, letter)) = LARGE.into_iter().find(|&(least, ..)| number.abs() >= least) {
        return short(number / unit) + letter;
    }
    significant(number)
}

/// Three significant digits, without trailing zeros and with at most nine decimals.
pub(crate) fn significant(number: f64) -> String {
    let decimals = (2 - number.abs().max(1e-9).log10().floor() as i32).clamp(0, 9) as usize;
    without_zeros(&format!("{number:.decimals$}")).to_owned()
}

/// The columns of a terminal that a text takes: East Asian letters take two, combining ones none.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// What follows a text in a column, or precedes it, at any width: that of a format string is limited to 16 bits.
pub fn blanks(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(self::width(text)))
}

/// At most this many characters: of a longer text the beginning, and `…`.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().nth(most).is_none() {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// At most this many characters: of a longer name the beginning and the end, which distinguishes most of them.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let end = most / 2;
    name.chars().take(most - 1 - end).chain(['…']).chain(name.chars().skip(length - end)).collect()
}

/// `512 KiB`, `1.5 MiB`; in the next unit from where it would be written as 1024.
pub(crate) fn bytes(number: u64) -> String {
    let mut value = number as f64;
    let mut units = ["KiB", "MiB", "GiB", "TiB"].iter();
    let mut unit = "B";
    while value >= 1023.5 {
        let Some(larger) = units.next() else { break };
        unit = larger;
        value /= 1024.0;
    }
    let digits = usize::from(value < 10.0 && value.fract() >= 0.05);
    format!("{value:.digits$} {unit}")
}

/// `64 KiB`, `5000 B`: exact, in the largest unit that leaves no remainder.
pub fn exact_bytes(number: usize) -> String {
    let units = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
    let unit = units.into_iter().find(|(bits, _)| number > 0 && number.is_multiple_of(1 << bits));
    let (bits, unit) = unit.unwrap_or((0, "B"));
    format!("{} {unit}", number >> bits)
}

/// [`exact_bytes`] as the value of a flag: `64KiB`.
pub fn size_flag(number: usize) -> String {
    exact_bytes(number).replace(' ', "")
}

/// `12.3 ms` of a number of nanoseconds.
pub(crate) fn time(nanos: f64) -> String {
    Nanos::new(nanos.round() as i64).to_string()
}

/// Stands for a value that is not known.
pub const DASH: &str = "–";

/// A value as text, or a dash if it is not known.
pub fn or_dash<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| DASH.into(), text)
}

/// `12.3 ms`, or a dash if not known.
pub(crate) fn delay(estimate: Option<Estimate<i64>>) -> String {
    or_dash(estimate, |e| Nanos::new(e.value).to_string())
}

/// The interval of a delay in the unit of its value, `[11.9–12.8]`, or in units of its own if it had too many digits there;
/// empty if both ends are written like the value.
pub(crate) fn interval(estimate: Estimate<i64>) -> String {
    if estimate.is_exact() {
        return String::new();
    }
    let (_, scale) = Nanos::new(estimate.value).unit();
    let dash = if estimate.low < 0 { " – " } else { "–" };
    if estimate.low.unsigned_abs().max(estimate.high.unsigned_abs()) as f64 / scale >= 99_999.5 {
        return format!("[{}{dash}{}]", Nanos::new(estimate.low), Nanos::new(estimate.high));
    }
    let [low, value, high] = [estimate.low, estimate.value, estimate.high].map(|e| digits(e as f64 / scale));
    if low == value && high == value {
        return String::new();
    }
    format!("[{low}{dash}{high}]")
}

/// `12.3 ms [11.9–12.8]`.
pub(crate) fn delay_with_interval(estimate: Option<Estimate<i64>>) -> String {
    let (value, interval) = (delay(estimate), estimate.map(interval).unwrap_or_default());
    if interval.is_empty() { value } else { format!("{value} {interval}") }
}

/// Three significant digits, but at most three decimals.
fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        v if v < 0.0995 => 3,
        v => Nanos::decimals(v),
    };
    format!("{value:.decimals$}")
}

/// Relative half-width of an interval, `± 0.7%`; empty if nothing was estimated.
pub(crate) fn plus_minus(estimate: Estimate<f64>) -> String {
    if estimate.is_exact() || estimate.value <= 0.0 {
        return String::new();
    }
    let half = (estimate.high - estimate.value).max(estimate.value - estimate.low);
    let share = half / estimate.value * 100.0;
    match share {
        s if s < 0.05 => "± <0.1%".into(),
        s if s < 9.95 => format!("± {s:.1}%"),
        s => format!("± {s:.0}%"),
    }
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Counts years from March, so that a leap day is the last of its year; 400 years have 146,097 days.
fn date(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_month)
}

/// `2026-11-12`, UTC, of a time in nanoseconds since the epoch.
pub fn day(at_ns: i64) -> String {
    utc(at_ns).0
}

/// `2026-11-12` and `09:14:03`, UTC, of a time in nanoseconds since the epoch.
pub(crate) fn utc(at_ns: i64) -> (String, String) {
    let seconds = at_ns.div_euclid(1_000_000_000);
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let time = format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60);
    (format!("{year:04}-{month:02}-{day:02}"), time)
}

/// How the times of a column are written: `09:14:03`, with the day if there are several, with decimals if they are less
/// than a second apart.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) has_day: bool,
    decimals: usize,
}

impl Times {
    /// With as many decimals, in threes, as the smallest difference needs.
    pub(crate) fn of(times: impl IntoIterator<Item = i64>) -> Self {
        let mut times: Vec<i64> = times.into_iter().collect();
        times.sort_unstable();
        times.dedup();
        let gap = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap_or(0);
        Self { decimals: decimals(gap), ..Self::in_milliseconds(times) }
    }

    /// The beginnings of intervals, with as many decimals as their lengths need, too: of some, there is no next one.
    pub(crate) fn of_intervals(intervals: impl Iterator<Item = Span> + Clone) -> Self {
        let lengths = intervals.clone().map(|span| decimals(span.end.saturating_sub(span.start)));
        let times = Self::of(intervals.map(|span| span.start));
        Self { decimals: lengths.fold(times.decimals, usize::max), ..times }
    }

    /// With three decimals.
    pub(crate) fn in_milliseconds(times: impl IntoIterator<Item = i64>) -> Self {
        let mut days = times.into_iter().map(day);
        let first = days.next();
        Self { has_day: days.any(|day| Some(day) != first), decimals: 3 }
    }

    pub(crate) fn text(self, at_ns: i64) -> String {
        let (day, mut time) = utc(at_ns);
        if self.decimals > 0 {
            let nanos = format!("{:09}", at_ns.rem_euclid(1_000_000_000));
            time = format!("{time}.{}", &nanos[..self.decimals]);
        }
        if self.has_day { format!("{day} {time}") } else { time }
    }
}

/// Decimals of seconds, in threes, with which such a time can be written.
fn decimals(ns: i64) -> usize {
    let units = [(0, 1_000_000_000), (3, 1_000_000), (6, 1_000)];
    units.into_iter().find(|&(_, unit)| ns % unit == 0).map_or(9, |(decimals, _)| decimals)
}

/// `2026-11-12 09:14:03.120 UTC` of a time in nanoseconds since the epoch: as many decimals as it needs, in threes.
pub fn moment(at_ns: i64) -> String {
    format!("{} UTC", Times { has_day: true, decimals: decimals(at_ns) }.text(at_ns))
}

/// `2026-11-12 09:14:03 – 09:24:01 UTC (598 s)`, both in nanoseconds since the epoch.
pub(crate) fn span(start_ns: i64, end_ns: i64) -> String {
    let ((first_day, first_time), (last_day, last_time)) = (utc(start_ns), utc(end_ns));
    let until = if first_day == last_day { last_time } else { format!("{last_day} {last_time}") };
    format!("{first_day} {first_time} – {until} UTC ({})", duration(end_ns.saturating_sub(start_ns)))
}

/// `598 s`, `1 h 12 min`, `3 d 4 h`.
pub(crate) fn duration(nanos: i64) -> String {
    match nanos / 1_000_000_000 {
        s if s < 1_000 => Nanos::new(nanos).to_string(),
        s if s < 3_600 => format!("{} min", s / 60),
        s if s < 86_400 => format!("{} h {} min", s / 3_600, s / 60 % 60),
        s => format!("{} d {} h", s / 86_400, s / 3_600 % 24),
    }
}

/// The names of files for a heading: of many only the first two and the last one, with their number.
pub(crate) fn few(names: &[String]) -> Vec<String> {
    const MOST: usize = 8;
    match names {
        [first, second, .., last] if names.len() > MOST => {
            vec![first.clone(), second.clone(), "…".to_owned(), format!("{last} ({} files)", count(names.len() as u64))]
        }
        _ => names.to_vec(),
    }
}

/// Joins words by `separator` and wraps them into lines of at most `width` columns.
pub(crate) fn wrap(words: &[String], separator: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let last = i + 1 == words.len();
        let room = self::width(word) + if last { 0 } else { self::width(separator.trim_end()) };
        match lines.last_mut() {
            Some(line) if self::width(line) + room <= width => line.push_str(word),
            _ => {
                if let Some(line) = lines.last_mut() {
                    line.truncate(line.trim_end().len());
                }
                lines.push(word.clone());
            }
        }
        if let (false, Some(line)) = (last, lines.last_mut()) {
            line.push_str(separator);
        }
    }
    lines
}

/// `1 µs`, `50 ms`, `2 s` of a round time in nanoseconds.
pub(crate) fn round_time(nanos: f64) -> String {
    let text = time(nanos);
    match text.split_once(' ') {
        Some((number, unit)) => format!("{} {unit}", without_zeros(number)),
        None => text,
    }
}

/// A number without the trailing zeros of its fraction.
pub(crate) fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_the_decimals_they_need() {
        for (at_ns, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (1_120_000_000, "1970-01-01 00:00:01.120 UTC"),
            (610_000, "1970-01-01 00:00:00.000610 UTC"),
            (-1, "1969-12-31 23:59:59.999999999 UTC"),
        ] {
            assert_eq!(moment(at_ns), expected);
        }
    }

    #[test]
    fn times_are_told_apart() {
        const SECOND: i64 = 1_000_000_000;
        let texts =
            |times: &[i64]| times.iter().map(|&at| Times::of(times.iter().copied()).text(at)).collect::<Vec<_>>();
        assert_eq!(texts(&[5, SECOND + 5, 9 * SECOND + 5]), ["00:00:00", "00:00:01", "00:00:09"]);
        assert_eq!(texts(&[0, 3 * SECOND / 2]), ["00:00:00.000", "00:00:01.500"]);
        assert_eq!(texts(&[0, 20_000, SECOND]), ["00:00:00.000000", "00:00:00.000020", "00:00:01.000000"]);
        assert_eq!(texts(&[7, 8]), ["00:00:00.000000007", "00:00:00.000000008"]);
        assert_eq!(texts(&[0, 86_400 * SECOND]), ["1970-01-01 00:00:00", "1970-01-02 00:00:00"]);
        assert_eq!(texts(&[SECOND / 4]), ["00:00:00"]);
        assert_eq!(Times::in_milliseconds([1]).text(1), "00:00:00.000");
    }

    #[test]
    fn names_hold_no_control_characters() {
        assert_eq!(plain("<a> & \"é\""), "<a> & \"é\"");
        assert_eq!(plain("a\u{202a}\u{202e}b\u{2066}\u{2069}\u{200f}"), "a??b??\u{200f}");
        assert_eq!(plain("\0\u{1b}[31m\r\n\t\u{7f}\u{9b}1m\u{fffe}\u{ffff}"), "??[31m?????1m??");
    }

    #[test]
    fn counts_and_shares() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([of(1, "seed"), of(2, "seed"), are(1, "line")], ["1 seed", "2 seeds", "1 line is"]);
        let shares = [1.0, 0.9999, 0.9951, 0.42, 0.0321, 0.0001, 0.0];
        assert_eq!(shares.map(percent), ["100%", ">99.9%", "99%", "42%", "3.2%", "<0.1%", "0%"]);
        let sizes = [0, 1_023, 65_536, (1 << 20) - 1, 1_572_864, 1 << 26];
        assert_eq!(sizes.map(bytes), ["0 B", "1023 B", "64 KiB", "1.0 MiB", "1.5 MiB", "64 MiB"]);
        let sizes = [0, 5_000, 4_096, 1_049_600, 1 << 20, 3 << 30];
        assert_eq!(sizes.map(exact_bytes), ["0 B", "5000 B", "4 KiB", "1025 KiB", "1 MiB", "3 GiB"]);
        assert_eq!(size_flag(65_536), "64KiB");
        let numbers = [0.05, 2.5, 400.0, 8_000.0, 25_000.0, 12_500_000.0, 3e9, -2e6];
        assert_eq!(numbers.map(short), ["0.05", "2.5", "400", "8000", "25k", "12.5M", "3G", "-2M"]);
    }

    #[test]
    fn intervals_take_the_unit_of_their_value() {
        let interval = |value, low, high| interval(Estimate { value, low, high });
        assert_eq!(interval(12_345_678, 11_900_000, 12_800_000), "[11.9–12.8]");
        assert_eq!(interval(1_000_000, 980_000, 1_020_000), "[0.98–1.02]");
        assert_eq!(interval(999_000, 985_000, 1_012_000), "[985–1012]");
        assert_eq!(interval(1_000_000_000, 2_000_000, 3_000_000_000), "[0.002–3.00]");
        assert_eq!(interval(10, -200, 300), "[-200 – 300]");
        assert_eq!(interval(53_900_000, 50_000_000, 10_600_000_000), "[50.0–10600]");
        assert_eq!(interval(53_900_000, 50_000_000, 106_000_000_000), "[50.0 ms–106 s]");
        assert_eq!(interval(5_100, -20_000_000_000, 5_200), "[-20.0 s – 5.20 µs]");
        assert_eq!(interval(12_345_678, 12_345_001, 12_346_001), "");
        assert_eq!(interval(5, 5, 5), "");
        assert_eq!(plus_minus(Estimate { value: 1_000.0, low: 993.0, high: 1_006.0 }), "± 0.7%");
        assert_eq!(plus_minus(Estimate::exact(3.0)), "");
    }

    #[test]
    fn calendar() {
        let at = |seconds: i64| utc(seconds * 1_000_000_000);
        let text = |date: &str, time: &str| (date.to_string(), time.to_string());
        assert_eq!(at(0), text("1970-01-01", "00:00:00"));
        assert_eq!(at(951_782_399), text("2000-02-28", "23:59:59"));
        assert_eq!(at(951_782_400), text("2000-02-29", "00:00:00"));
        assert_eq!(at(1_700_000_000), text("2023-11-14", "22:13:20"));
        assert_eq!(at(-1), text("1969-12-31", "23:59:59"));
        assert_eq!(day(i64::MAX), "2262-04-11");
        assert_eq!(day(i64::MIN), "1677-09-21");
        assert_eq!(duration(598_000_000_000), "598 s");
        assert_eq!(duration(4_320_000_000_000), "1 h 12 min");
        assert_eq!(duration(36_300_000_000_000), "10 h 5 min");
        assert_eq!(duration(1_200_000_000_000), "20 min");
        assert_eq!(duration(273_600_000_000_000), "3 d 4 h");
    }

    #[test]
    fn lines_break_between_words() {
        let words = ["one".to_string(), "two".into(), "three".into()];
        assert_eq!(wrap(&words, ", ", 80), ["one, two, three"]);
        assert_eq!(wrap(&words, ", ", 9), ["one, two,", "three"]);
        assert_eq!(wrap(&words, ", ", 1), ["one,", "two,", "three"]);
        assert!(wrap(&[], ", ", 9).is_empty());
    }
}
