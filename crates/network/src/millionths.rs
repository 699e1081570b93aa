//! Decimal fractions as whole millionths, so that their sums and differences are exact.

/// How many millionths a one is.
pub(crate) const MILLION: u64 = 1_000_000;

/// Reads a number above 0 and up to `most` millionths, with at most 6 decimals and 9 digits before them.
pub(crate) fn parse(text: &str, most: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 6 || whole.len() > 9 {
        return None;
    }
    let number = |part: &str| part.parse::<u64>().unwrap_or(0);
    let millionths = number(whole) * MILLION + number(&format!("{fraction:0<6}"));
    (1..=most).contains(&millionths).then_some(millionths)
}
