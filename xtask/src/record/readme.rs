//! The README of each recording: everything in it is measured or queried, so it cannot become outdated.

use super::Recording;
use super::host::output;
use super::truth::{Row, Rule, Truth};
use super::verify::{self, Clocks, Tshark};
use anyhow::{Context, Result};
use dwell_types::Nanos;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Facts of one recording.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) recording: &'a Recording,
    pub(crate) capture: &'a str,
    pub(crate) truth: &'a Truth,
    pub(crate) clocks: Clocks,
    pub(crate) tshark: Tshark,
    /// See [`super::verify::echoes`].
    pub(crate) echoes: (usize, usize),
}

/// Prints the version of aioquic, if it is installed.
const AIOQUIC: &str =
    "from importlib import util, metadata as m; util.find_spec('aioquic') and print('aioquic', m.version('aioquic'))";

const TOOLS: [(&str, &[&str]); 12] = [
    ("uname", &["-sr"]),
    ("tcpdump", &["--version"]),
    ("tshark", &["--version"]),
    ("ip", &["-V"]),
    ("dnsmasq", &["--version"]),
    ("dig", &["-v"]),
    ("kdig", &["--version"]),
    ("getent", &["--version"]),
    ("chronyd", &["--version"]),
    ("ping", &["-V"]),
    ("python3", &["--version"]),
    ("python3", &["-c", AIOQUIC]),
];

/// Writes `README.md` into the folder of a recording at one point.
pub(crate) fn write(folder: &Path, facts: &Facts<'_>) -> Result<()> {
    save(&text(folder, facts)?, folder)
}

/// Writes this text as `README.md` into the folder.
pub(crate) fn save(text: &str, folder: &Path) -> Result<()> {
    let path = folder.join("README.md");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn text(folder: &Path, facts: &Facts<'_>) -> Result<String> {
    let Facts { recording, capture, truth, clocks, tshark, echoes } = facts;
    let mut text = head(recording)?;
    writeln!(text, "{} frames, cut at {} bytes, nanosecond timestamps.\n", clocks.frames, recording.snap)?;
    files(&mut text, folder, &[capture, "truth.csv.zst", "frames.csv.zst"])?;
    exchanges(&mut text, truth)?;
    handshakes(&mut text, truth, *echoes)?;
    accuracy(&mut text, clocks)?;
    by_tshark(&mut text, tshark)?;
    made_with(&mut text, &[])?;
    Ok(text)
}

/// Replaces the part of a text that begins with the same line as `new`, up to `end`.
pub(crate) fn replace_section(text: &str, new: &str, end: &str) -> Result<String> {
    let first = new.lines().next().unwrap_or_default();
    let (before, rest) = text.split_once(first).with_context(|| format!("no line {first}"))?;
    let at = rest.find(end).with_context(|| format!("nothing follows {first}"))?;
    Ok(format!("{before}{new}{}", &rest[at..]))
}

/// The exchanges of each pairing rule, and their delays.
pub(crate) fn exchanges(text: &mut String, truth: &Truth) -> Result<()> {
    writeln!(text, "\n## What is in it, by the truth\n")?;
    writeln!(text, "Exchanges as seen from the point of observation. *Repeats* are requests that repeat an open one;")?;
    writeln!(
        text,
        "*ambiguous* exchanges are answered ones with more than one request; *unknown* ones have a response that"
    )?;
    writeln!(
        text,
        "none of their requests can have caused. Quantiles are over `delay_ns`: p99 of *n* is the ⌈.99 *n*⌉-th smallest.\n"
    )?;
    writeln!(text, "| match | leg | requests | repeats | answered | ambiguous | unknown | > 1 s | p50 | p99 | max |")?;
    writeln!(text, "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")?;
    for (rule, count) in &truth.counts {
        let (matching, leg) = rule.names();
        let rows: Vec<_> = truth.rows.iter().filter(|row| row.rule == *rule).collect();
        let delays: Vec<i64> = rows.iter().filter_map(|row| row.delay_ns).collect();
        let slow = delays.iter().filter(|&&delay| delay > 1_000_000_000).count();
        let [median, most, max] = quantiles(delays);
        writeln!(
            text,
            "| {matching} | {leg} | {} | {} | {} | {} | {} | {slow} | {median} | {most} | {max} |",
            count.requests,
            count.repeats,
            count.answered,
            rows.iter().filter(|row| row.requests > 1).count(),
            rows.iter().filter(|row| row.delay_ns.is_none()).count(),
        )?;
    }
    Ok(())
}

/// How close the timestamps of the capture are to the clock readings of the delay line.
fn accuracy(text: &mut String, clocks: &Clocks) -> Result<()> {
    writeln!(text, "\n## How good the truth is\n")?;
    let [median, most, max] = clocks.distance_ns.map(Nanos::new);
    let share = 100.0 * clocks.inside as f64 / clocks.frames.max(1) as f64;
    writeln!(
        text,
        "The capture holds exactly the frames that the delay line sent across the point, in the same order."
    )?;
    writeln!(
        text,
        "{} of {} timestamps ({share:.1}%) lie between the line's clock readings before and",
        clocks.inside, clocks.frames
    )?;
    writeln!(text, "after sending; distance from the middle of the two: median {median}, p99 {most}, max {max}.")?;
    let [median, most, max] = clocks.lateness_ns.map(Nanos::new);
    writeln!(
        text,
        "The line released frames later than drawn by {median} (median), {most} (p99), {max} (max); the truth"
    )?;
    writeln!(text, "uses the real times.")?;
    Ok(())
}

/// What tshark finds, and how far its delays are from the true ones.
fn by_tshark(text: &mut String, tshark: &Tshark) -> Result<()> {
    writeln!(text, "\n## What tshark says\n\n| display filter | frames |\n|---|---:|")?;
    for (filter, count) in tshark.counts.iter().filter(|(_, count)| *count > 0) {
        writeln!(text, "| `{}` | {count} |", filter.replace("||", "or").replace("&&", "and"))?;
    }
    let compared: Vec<_> = tshark.comparisons.iter().filter(|line| line.both > 0).collect();
    if compared.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\nIts delays against the truth, response by response. Differences are over exchanges with one request.\n"
    )?;
    writeln!(text, "| field | match | both | only tshark | only truth | median difference | p99 | max | > 1 ms |")?;
    writeln!(text, "|---|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for line in compared {
        let [median, most, max] = line.difference_ns.map(Nanos::new);
        let [theirs, ours] = line.only;
        writeln!(
            text,
            "| `{}` | {} | {} | {theirs} | {ours} | {median} | {most} | {max} | {} |",
            line.field, line.rule, line.both, line.apart,
        )?;
    }
    Ok(())
}

/// Title, description, and source.
pub(crate) fn head(recording: &Recording) -> Result<String> {
    let name = recording.name;
    let mut text = format!("# {name}\n\n{}\n\n", recording.about);
    writeln!(text, "Source: recorded by this repository. Licence: MIT OR Apache-2.0, as the repository.")?;
    writeln!(
        text,
        "Made by `cargo xtask record {name}` as root; see [the folder above](../README.md) for the network.\n"
    )?;
    Ok(text)
}

/// The files of the folder, with their sizes and checksums.
pub(crate) fn files(text: &mut String, folder: &Path, names: &[&str]) -> Result<()> {
    writeln!(text, "| file | bytes | SHA-256 |\n|---|---:|---|")?;
    for name in names {
        let path = folder.join(name);
        let sum = output("sha256sum", &[&path.to_string_lossy()])?;
        let sum = sum.split_whitespace().next().unwrap_or_default();
        writeln!(text, "| `{name}` | {} | `{sum}` |", fs::metadata(&path)?.len())?;
    }
    Ok(())
}

/// The versions of the programs that were used, except those in `unused`.
pub(crate) fn made_with(text: &mut String, unused: &[&str]) -> Result<()> {
    writeln!(text, "\n## Made with\n")?;
    let mut versions = BTreeSet::new();
    for (program, arguments) in TOOLS.into_iter().filter(|(program, _)| !unused.contains(program)) {
        // Some programs print their version on standard error; one that is missing was not used here.
        let Ok(done) = std::process::Command::new(program).args(arguments).output() else { continue };
        let words = [done.stdout, done.stderr].concat();
        if let Some(line) = String::from_utf8_lossy(&words).lines().next() {
            versions.insert(line.trim().split(" (compiled").next().unwrap_or_default().to_owned());
        }
    }
    for version in versions {
        writeln!(text, "- {version}")?;
    }
    Ok(())
}

/// Median, 99th percentile and maximum as text; empty without values.
pub(crate) fn quantiles(delays: Vec<i64>) -> [String; 3] {
    verify::quantiles(delays).map(|found| found.map(|delay| Nanos::new(delay).to_string())).unwrap_or_default()
}

/// The effect of ambiguous handshakes on the quantiles, if there are any.
fn handshakes(text: &mut String, truth: &Truth, (echoes, right): (usize, usize)) -> Result<()> {
    let rows: Vec<&Row> = truth.rows.iter().filter(|row| row.rule == Rule::Beyond).collect();
    if rows.iter().all(|row| row.requests == 1) {
        return Ok(());
    }
    writeln!(text, "\n## Ambiguous handshakes\n")?;
    writeln!(text, "What different treatments make of `tcp-handshake` `beyond`.\n")?;
    writeln!(text, "| SYN-ACKs timed from | samples | p50 | p99 | max |\n|---|---:|---:|---:|---:|")?;
    let treatments: [(&str, Vec<i64>); 4] = [
        ("the SYN that they answer (the truth)", rows.iter().filter_map(|row| row.delay_ns).collect()),
        ("the first SYN", rows.iter().map(|row| row.since_first_ns).collect()),
        ("the last SYN", rows.iter().map(|row| row.since_last_ns).collect()),
        (
            "the only SYN; ambiguous ones dropped (Karn)",
            rows.iter().filter(|row| row.requests == 1).map(|row| row.since_first_ns).collect(),
        ),
    ];
    for (name, delays) in treatments {
        let samples = delays.len();
        let [median, most, max] = quantiles(delays);
        writeln!(text, "| {name} | {samples} | {median} | {most} | {max} |")?;
    }
    writeln!(
        text,
        "\n{echoes} of the ambiguous SYN-ACKs carry TSecr. In {right} of them it is the TSval of the SYN that the truth,"
    )?;
    writeln!(text, "which does not look at it, takes for answered.")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_section_is_replaced() {
        let replaced = |new| replace_section("# a\n\n## b\nold\n\n## c\nold\n", new, "\n## ");
        assert_eq!(replaced("## b\nnew\n").unwrap(), "# a\n\n## b\nnew\n\n## c\nold\n");
        assert_eq!(replaced("## d\nnew\n").unwrap_err().to_string(), "no line ## d");
        assert_eq!(replaced("## c\nnew\n").unwrap_err().to_string(), "nothing follows ## c");
    }
}
