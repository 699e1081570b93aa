//! The footing of a table: labelled paragraphs on frames, memory, method and warnings.

use crate::facts::{Frames, Memory, MethodFacts, Parameter};
use crate::text;
use dwell_types::Nanos;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Maximum width of a line, in columns.
pub(crate) const WIDTH: usize = 100;

/// `frames    2,210 = 2,104 decoded + 106 not ip`.
pub(crate) fn frames(frames: &Frames, to: &mut impl Write) -> io::Result<()> {
    let mut parts = vec![("decoded", frames.decoded)];
    let mut reasons: Vec<(&str, u64)> = frames.rejected.iter().map(|(reason, count)| (*reason, *count)).collect();
    reasons.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    parts.extend(reasons);
    item("frames", &sum_of(frames.total, &parts), to)
}

/// `memory    12 KiB of 64 KiB allowed`.
pub(crate) fn memory(memory: &Memory, to: &mut impl Write) -> io::Result<()> {
    let state = text::bytes(memory.state_bytes);
    let words = match memory.budget_bytes {
        Some(budget) => format!("{state} of {} allowed", text::bytes(budget)),
        None => format!("{state}, no limit"),
    };
    item("memory", &words, to)
}

/// `method    auto, exact: every exchange was measured`, and the parameters; with the method `exact`, that word once.
pub(crate) fn method(method: &MethodFacts, how: &str, to: &mut impl Write) -> io::Result<()> {
    let words = if how.starts_with(method.name) { how.to_owned() } else { format!("{}, {how}", method.name) };
    item("method", &words, to)?;
    parameters(&method.parameters, "", to)
}

/// Writes each distinct warning once.
pub(crate) fn warnings<'a>(warnings: impl IntoIterator<Item = &'a String>, to: &mut impl Write) -> io::Result<()> {
    let mut seen: Vec<&String> = Vec::new();
    for warning in warnings {
        if !seen.contains(&warning) {
            seen.push(warning);
            item("warning", warning, to)?;
        }
    }
    Ok(())
}

/// A labelled paragraph of the footing, wrapped between words.
pub(crate) fn item(label: &str, text: &str, to: &mut impl Write) -> io::Result<()> {
    items(label, &text::plain(text).split(' ').map(Into::into).collect::<Vec<_>>(), " ", to)
}

fn items(label: &str, words: &[String], separator: &str, to: &mut impl Write) -> io::Result<()> {
    const LABEL: usize = 10;
    for (i, line) in text::wrap(words, separator, WIDTH - LABEL).iter().enumerate() {
        writeln!(to, "{:<LABEL$}{line}", if i == 0 { label } else { "" })?;
    }
    Ok(())
}

/// `2,210 = 2,104 matched + 106 expired`: the parts that are not zero.
pub(crate) fn sum_of(total: u64, parts: &[(&str, u64)]) -> String {
    let parts: Vec<String> = parts
        .iter()
        .filter(|p| p.1 > 0)
        .map(|(name, count)| format!("{} {}", text::count(*count), name.replace('_', " ")))
        .collect();
    if parts.is_empty() { text::count(total) } else { format!("{} = {}", text::count(total), parts.join(" + ")) }
}

/// Plain parameters on one line, prefixed by their `path`; lists and nested parameter sets follow on lines of their own.
fn parameters(named: &BTreeMap<&str, Parameter>, path: &str, to: &mut impl Write) -> io::Result<()> {
    let (lists, plain): (Vec<_>, Vec<_>) = named.iter().partition(|(_, value)| is_list(value));
    let texts = |of: &[(&&str, &Parameter)]| of.iter().filter_map(|(name, value)| parameter(name, value)).collect();
    let (lists, plain): (Vec<String>, Vec<String>) = (texts(&lists), texts(&plain));
    let colon = if path.is_empty() { "" } else { ": " };
    for line in [plain.join(", ")].iter().filter(|line| !line.is_empty()).chain(&lists) {
        item("", &format!("{path}{colon}{line}"), to)?;
    }
    for (name, value) in named {
        if let Parameter::Map(inner) = value {
            let name = words(name);
            let path = if path.is_empty() { name } else { format!("{path} {name}") };
            parameters(inner, &path, to)?;
        }
    }
    Ok(())
}

/// Whether it is written as several values with commas between them.
fn is_list(value: &Parameter) -> bool {
    match value {
        Parameter::Text(values) => values.contains(','),
        Parameter::List(values) => values.len() > 1,
        _ => false,
    }
}

/// `slots 4,096`, `expiry 60.0 s`; `None` for a nested set of parameters.
fn parameter(name: &str, value: &Parameter) -> Option<String> {
    let value = text_of(name, value)?;
    let unit = ["_ns", "_bytes"].into_iter().find_map(|unit| name.strip_suffix(unit));
    Some(format!("{} {value}", words(unit.unwrap_or(name))))
}

fn text_of(name: &str, value: &Parameter) -> Option<String> {
    Some(match value {
        Parameter::Moment(at) => {
            let (date, time) = text::utc(*at);
            format!("{date} {time}")
        }
        Parameter::Span(ns) => Nanos::new(*ns).to_string(),
        Parameter::Integer(size) if name.ends_with("_bytes") => match size {
            ..10_000 => format!("{} B", text::count(*size)),
            _ => text::bytes(*size),
        },
        Parameter::Integer(seed) if name.ends_with("seed") => seed.to_string(),
        Parameter::Integer(count) => text::count(*count),
        Parameter::Real(tiny) if *tiny != 0.0 && tiny.abs() < 1e-6 => format!("{tiny:.2e}"),
        Parameter::Real(real) => text::significant(*real),
        Parameter::Text(choice) => choice.split(',').map(str::trim_start).collect::<Vec<_>>().join(", "),
        Parameter::List(values) => {
            let values: Vec<String> = values.iter().filter_map(|value| text_of(name, value)).collect();
            values.join(", ")
        }
        Parameter::Map(_) => return None,
    })
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists have lines of their own and break between their values.
    #[test]
    fn lists_are_wrapped() {
        let prefixes: Vec<String> = (0..9).map(|n| format!("fd00:10:{n}::1/128")).collect();
        let nested = BTreeMap::from([("slots", Parameter::Integer(4_096)), ("both", Parameter::Text("a, b".into()))]);
        let named = BTreeMap::from([
            ("from", Parameter::Text(prefixes.join(","))),
            ("longest_ns", Parameter::Span(5_000_000_000)),
            ("rules", Parameter::Map(nested)),
            ("seed", Parameter::Integer(0)),
            ("windows_ns", Parameter::List(vec![Parameter::Span(1_000), Parameter::Span(2_000)])),
        ]);
        let mut text = Vec::new();
        parameters(&named, "", &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let [first, last] = [&prefixes[..4], &prefixes[4..]].map(|part| part.join(", "));
        assert_eq!(lines[..3], ["longest 5.00 s, seed 0".to_owned(), format!("from {first},"), last]);
        assert_eq!(lines[3..], ["windows 1.00 µs, 2.00 µs", "rules: slots 4,096", "rules: both a, b"]);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    }
}
