//! Shared by all OpenMetrics 1.0 output, for Prometheus and compatible tools. Unknown values are left out.

use crate::facts::{Frames, Memory, MethodFacts};
use crate::round::edge_above;
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};
use std::str::FromStr;

/// A label that the user adds to every line, so that the files of several runs can be read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    name: String,
    value: String,
}

impl Label {
    /// The names of all labels that reports have themselves.
    const OWN: [&str; 13] = [
        "bound",
        "direction",
        "exact",
        "fate",
        "flow",
        "group",
        "le",
        "leg",
        "match",
        "method",
        "quantile",
        "state",
        "statistic",
    ];

    /// Its name, which no other label of a file may have.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl FromStr for Label {
    type Err = String;

    /// Reads `name=value`. Names that begin with an underscore are reserved, and an empty value is none.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || value.is_empty() {
            return Err("expected a name of letters, digits and underscores, a letter first, and a value, such as \
                        interface=eth0"
                .to_owned());
        }
        if Self::OWN.contains(&name) {
            return Err(format!("reports have labels of the name {name} themselves: choose another one"));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// Writes what `write` writes, with these labels in every line of a value.
pub(crate) fn labelled<W: Write>(
    labels: &[Label],
    to: &mut W,
    write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    let added: Vec<String> =
        labels.iter().map(|Label { name, value }| format!("{name}=\"{}\"", escaped(value))).collect();
    let added = added.join(",");
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        // A name is followed by its labels, or by the value.
        let end = line.iter().position(|byte| b"{ ".contains(byte)).filter(|_| !(added.is_empty() || line[0] == b'#'));
        let Some(end) = end else {
            to.write_all(line)?;
            continue;
        };
        to.write_all(&line[..end])?;
        match line[end] {
            b'{' => write!(to, "{{{added},")?,
            _ => write!(to, "{{{added}}} ")?,
        }
        to.write_all(&line[end + 1..])?;
    }
    Ok(())
}

/// Writes the metrics common to all reports, frames, memory and the method, and the end of the file; `question` is the
/// command, such as rtt.
pub(crate) fn end(
    question: &str,
    frames: Option<&Frames>,
    memory: &Memory,
    method: &MethodFacts,
    to: &mut impl Write,
) -> io::Result<()> {
    if let Some(frames) = frames {
        family("dwell_frames", "counter", None, "Frames read, by fate: decoded, or the reason of rejection.", to)?;
        writeln!(to, "dwell_frames_total{{fate=\"decoded\"}} {}", frames.decoded)?;
        for (reason, count) in &frames.rejected {
            writeln!(to, "dwell_frames_total{{fate=\"{}\"}} {count}", escaped(reason))?;
        }
    }
    family("dwell_memory_state_bytes", "gauge", Some("bytes"), "What the data structures held at most.", to)?;
    writeln!(to, "dwell_memory_state_bytes {}", memory.state_bytes)?;
    if let Some(budget) = memory.budget_bytes {
        family("dwell_memory_budget_bytes", "gauge", Some("bytes"), "What the data structures may hold.", to)?;
        writeln!(to, "dwell_memory_budget_bytes {budget}")?;
    }
    // Not of type "info", which the older text format lacks: node_exporter rejects files that contain it.
    let info = format!("dwell_{question}_method_info");
    family(&info, "gauge", None, "How delays were measured, and whether nothing was estimated.", to)?;
    writeln!(to, "{info}{{method=\"{}\",exact=\"{}\"}} 1", escaped(method.name), method.exact)?;
    writeln!(to, "# EOF")
}

/// Writes the header of a metric family.
pub(crate) fn family(name: &str, kind: &str, unit: Option<&str>, help: &str, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "# TYPE {name} {kind}")?;
    if let Some(unit) = unit {
        writeln!(to, "# UNIT {name} {unit}")?;
    }
    writeln!(to, "# HELP {name} {help}")
}

/// A histogram of delays, estimated for all of them.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// Whether there were any.
    has_any: bool,
    /// Up to each of the [`edges`].
    buckets: Vec<f64>,
    all: f64,
    /// In seconds; unknown if a delay was negative, since a sum that falls is no counter.
    sum: Option<f64>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { has_any: false, buckets: vec![0.0; edges().count()], all: 0.0, sum: Some(0.0) }
    }
}

impl Histogram {
    /// Adds delays with this `mean` in nanoseconds: numbers in bins, by their upper edges in ascending order, and the number
    /// of `all`, if not all are in bins. What is not finite is left out.
    pub(crate) fn add(&mut self, bins: impl Iterator<Item = (i64, f64)> + Clone, all: Option<f64>, mean: f64) {
        let binned: f64 = bins.clone().map(|(_, number)| number).sum();
        let all = all.unwrap_or(binned);
        if !(binned.is_finite() && all.is_finite()) {
            return;
        }
        self.has_any = true;
        let is_negative = bins.clone().any(|(edge, _)| edge < 0) || mean < 0.0;
        let mut bins = bins.peekable();
        let mut below = 0.0;
        for (bucket, edge) in self.buckets.iter_mut().zip(edges()) {
            while let Some((_, number)) = bins.next_if(|bin| bin.0 <= edge) {
                below += number;
            }
            *bucket += below;
        }
        let all = binned.max(all);
        self.all += all;
        self.sum = self.sum.filter(|_| !is_negative).map(|sum| sum + mean / 1e9 * all);
    }

    /// Writes it, unless nothing was added. Counts are rounded to integers, since the format allows only these.
    pub(crate) fn write(&self, name: &str, labels: &str, to: &mut impl Write) -> io::Result<()> {
        if !self.has_any {
            return Ok(());
        }
        for (edge, number) in edges().zip(&self.buckets) {
            let le = seconds(edge as f64);
            writeln!(to, "{name}_bucket{{{labels},le=\"{le}\"}} {:.0}", number.round())?;
        }
        let all = self.all.round();
        writeln!(to, "{name}_bucket{{{labels},le=\"+Inf\"}} {all:.0}")?;
        // Without a sum there is no count (OpenMetrics 1.0, Histogram).
        let Some(sum) = self.sum else { return Ok(()) };
        writeln!(to, "{name}_count{{{labels}}} {all:.0}")?;
        writeln!(to, "{name}_sum{{{labels}}} {}", self::number(sum))
    }
}

/// The upper edges of all buckets, in nanoseconds: 1, 2 and 5 times powers of ten, from a microsecond to beyond the
/// longest time that a request may wait. Every series has all of them, whatever its delays: a sum over several series
/// is a histogram only then.
fn edges() -> impl Iterator<Item = i64> {
    const FIRST: i64 = 1_000;
    const LAST: i64 = 200_000_000_000_000;
    std::iter::successors(Some(FIRST), |&edge| Some(edge_above(edge))).take_while(|&edge| edge <= LAST)
}

/// Writes an estimate, if there is one: the three values of a metric with these labels.
pub(crate) fn estimate<T: Copy>(
    name: &str,
    labels: &str,
    estimate: Option<Estimate<T>>,
    number: impl Fn(T) -> String,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut all = estimate.iter().flat_map(bounds);
    all.try_for_each(|(bound, value)| writeln!(to, "{name}{{{labels},bound=\"{bound}\"}} {}", number(value)))
}

/// Low end, value and high end of an estimate, with their names.
pub(crate) fn bounds<T: Copy>(estimate: &Estimate<T>) -> [(&'static str, T); 3] {
    [("low", estimate.low), ("value", estimate.value), ("high", estimate.high)]
}

/// A label value with backslash, double quote and line feed escaped.
pub(crate) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// Nanoseconds as seconds.
pub(crate) fn seconds(nanos: f64) -> String {
    number(nanos / 1e9)
}

/// The canonical form of a number: the shortest digits that read back the same, with an exponent of at least two digits
/// below 0.0001 and from 1,000,000 on (OpenMetrics 1.0, Canonical Numbers).
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 {
        return "0.0".into();
    }
    if (1e-4..1e6).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_numbers() {
        let cases = [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (0.000_012_589, "1.2589e-05"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.234567e+06"),
            (1e10, "1e+10"),
            (-0.25, "-0.25"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
        assert_eq!(seconds(1_258_925.0), "0.001258925");
    }

    #[test]
    fn labels_are_added_to_values() {
        let labels: Vec<Label> = ["site=a \"b\"=c", "if_0=\\\n"].map(|text| text.parse().unwrap()).into();
        let written = |labels: &[Label]| {
            let mut text = Vec::new();
            labelled(labels, &mut text, |to| write!(to, "# HELP a b {{c}}\na{{d=\"e\"}} 1\nb 2\n# EOF\n")).unwrap();
            String::from_utf8(text).unwrap()
        };
        assert_eq!(written(&[]), "# HELP a b {c}\na{d=\"e\"} 1\nb 2\n# EOF\n");
        let added = r#"site="a \"b\"=c",if_0="\\\n""#;
        assert_eq!(written(&labels), format!("# HELP a b {{c}}\na{{{added},d=\"e\"}} 1\nb{{{added}}} 2\n# EOF\n"));
        for refused in ["", "a", "a=", "=b", "_a=b", "__name__=b", "0a=b", "a-b=c", "ä=b", "le=1", "match=dns"] {
            assert!(refused.parse::<Label>().is_err(), "{refused}");
        }
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
    }
}
