//! A text histogram: logarithmic time on the x-axis, share of exchanges on the y-axis.

use super::ResultLine;
use crate::quantiles::names;
use crate::round::STEPS;
use crate::shape::CdfPoint;
use crate::text;
use std::io::{self, Write};

/// Width of the drawing, in columns.
const COLUMNS: usize = 80;
/// Height of the drawing, in lines of eight steps each.
const LINES: usize = 4;
/// Spaces before the drawing.
const INDENT: &str = "  ";
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws the histogram of one result, with its quantiles marked below the axis. Every non-empty column is visible.
pub(crate) fn write(line: &ResultLine, to: &mut impl Write) -> io::Result<()> {
    let Some(axis) = Axis::around(&line.cdf) else { return Ok(()) };
    let shares = axis.shares(&line.cdf);
    let highest = shares.iter().copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return Ok(());
    }
    let left = if axis.has_none { " (left: zero and less)" } else { "" };
    let answered = text::count(line.answered().round() as u64);
    writeln!(to, "{}, {answered} exchanges by delay{left}", text::plain(&line.name()))?;
    let steps = (LINES * 8) as f64;
    let heights: Vec<usize> =
        shares.iter().map(|&s| if s > 0.0 { ((s / highest * steps).round() as usize).max(1) } else { 0 }).collect();
    for level in (0..LINES).rev() {
        let drawn: String = heights.iter().map(|&h| BLOCKS[h.saturating_sub(level * 8).min(8)]).collect();
        writeln!(to, "{}", format!("{INDENT}{drawn}").trim_end())?;
    }
    let ticks = axis.ticks();
    let mut rule = vec!['─'; COLUMNS];
    for tick in &ticks {
        rule[tick.0] = '┬';
    }
    writeln!(to, "{INDENT}{}", rule.into_iter().collect::<String>())?;
    writeln!(to, "{INDENT}{}", labels(&ticks))?;
    let mut marks = Labels::default();
    for (column, label) in quantiles(line, &axis) {
        marks.after(column, &label);
    }
    if !marks.text().is_empty() {
        writeln!(to, "{INDENT}{}", marks.text())?;
    }
    Ok(())
}

/// The labels of ticks: all, or only those of every second or third decade if they would touch, so that labels are
/// evenly spaced.
fn labels(ticks: &[(usize, f64)]) -> String {
    /// Label one decade in this many. Every third one is a unit of time, and these fit on any axis.
    const ONE_IN: [i32; 3] = [1, 2, 3];
    let mut labels = Labels::default();
    for every in ONE_IN {
        labels = Labels::default();
        let mut labelled = ticks.iter().filter(|tick| tick.1.log10().round() as i32 % every == 0);
        if labelled.all(|&(column, time)| labels.centre(column, &text::round_time(time))) {
            break;
        }
    }
    labels.text()
}

/// Columns and labels of the quantiles in ascending order, without those whose label would touch a higher one.
fn quantiles(line: &ResultLine, axis: &Axis) -> Vec<(usize, String)> {
    let mut marks: Vec<(usize, String)> = Vec::new();
    for (name, quantile) in names().into_iter().zip(line.delay_ns.quantiles).rev() {
        let Some(quantile) = quantile else { continue };
        let (column, label) = (axis.column(quantile.value as f64), format!("▲{name}"));
        if marks.last().is_none_or(|(next, _)| column + label.chars().count() < *next) {
            marks.push((column, label));
        }
    }
    marks.reverse();
    marks
}

/// Maps logarithmic time to columns. If there are delays of zero and less, the first column is theirs.
struct Axis {
    from: f64,
    to: f64,
    has_none: bool,
}

impl Axis {
    /// The range of the delays, at least one decade.
    fn around(cdf: &[CdfPoint]) -> Option<Self> {
        let (has_none, last) = (cdf.first()?.delay_ns <= 0, cdf.last()?.delay_ns);
        let shortest = cdf.iter().map(|point| point.delay_ns).find(|&delay| delay > 0).unwrap_or(1);
        let (from, to) = (log(shortest), log(last));
        let lacking = (1.0 - (to - from)).max(0.0) / 2.0;
        let (from, to) = ((from - lacking).max(0.0), to + lacking);
        let aside = if has_none { 2.0 * (to - from) / COLUMNS as f64 } else { 0.0 };
        Some(Self { from: from - aside, to, has_none })
    }

    fn position(&self, delay_ns: f64) -> f64 {
        if delay_ns <= 0.0 {
            return f64::NEG_INFINITY;
        }
        (delay_ns.max(1.0).log10() - self.from) / (self.to - self.from) * COLUMNS as f64
    }

    fn column(&self, delay_ns: f64) -> usize {
        (self.position(delay_ns).max(0.0) as usize).min(COLUMNS - 1)
    }

    /// The share of exchanges in each column. A delay lies between two points of the distribution function: where these
    /// are close, delays are spread evenly between them, otherwise over the bin of the later one.
    fn shares(&self, cdf: &[CdfPoint]) -> Vec<f64> {
        const CLOSE: f64 = 3.0;
        let mut shares = vec![0.0; COLUMNS];
        let (mut below, mut before) = (0.0, f64::NEG_INFINITY);
        for point in cdf {
            let share = (point.share.value - below).max(0.0);
            let [begin, to] = [point.from_ns, point.delay_ns].map(|delay| self.position(delay as f64));
            let from = if to - before < CLOSE { before } else { begin };
            let last = self.column(point.delay_ns as f64);
            if to - from > f64::EPSILON && from.is_finite() {
                for (column, sum) in shares.iter_mut().enumerate().take(last + 1).skip(from.max(0.0) as usize) {
                    let end = if column == last { to } else { column as f64 + 1.0 };
                    *sum += share * (end - from.max(column as f64)).max(0.0) / (to - from);
                }
            } else {
                shares[last] += share;
            }
            (below, before) = (point.share.value, to);
        }
        shares
    }

    /// Columns of round times, and these times: every decade, and also 2 and 5 if there are few decades.
    fn ticks(&self) -> Vec<(usize, f64)> {
        let steps = if self.to - self.from < 2.0 { &STEPS[..] } else { &STEPS[..1] };
        let decades = self.from.floor() as i32..=self.to.ceil() as i32;
        let times = decades.flat_map(|d| steps.iter().map(move |s| s * 10f64.powi(d)));
        times.filter(|&t| (0.0..COLUMNS as f64).contains(&self.position(t))).map(|t| (self.column(t), t)).collect()
    }
}

fn log(delay_ns: i64) -> f64 {
    (delay_ns.max(1) as f64).log10()
}

/// Words on one line; a word that would touch an earlier one is left out.
#[derive(Default)]
struct Labels {
    line: Vec<char>,
}

impl Labels {
    /// Centres a word on the column; returns whether there was space.
    fn centre(&mut self, column: usize, word: &str) -> bool {
        self.after(column.saturating_sub(word.chars().count() / 2), word)
    }

    /// Starts a word at the column; returns whether there was space.
    fn after(&mut self, column: usize, word: &str) -> bool {
        let free = if self.line.is_empty() { 0 } else { self.line.len() + 1 };
        if column < free || column + word.chars().count() > COLUMNS + 4 {
            return false;
        }
        self.line.resize(column, ' ');
        self.line.extend(word.chars());
        true
    }

    fn text(&self) -> String {
        self.line.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_sketch::estimate::Estimate;

    fn cdf(points: &[(i64, f64)]) -> Vec<CdfPoint> {
        let point = |&(delay_ns, share)| CdfPoint { from_ns: delay_ns, delay_ns, share: Estimate::exact(share) };
        points.iter().map(point).collect()
    }

    #[test]
    fn columns_share_out_every_exchange() {
        let cdf = cdf(&[(-50, 0.1), (0, 0.2), (1_000, 0.5), (1_010, 0.75), (9_000_000_000, 1.0)]);
        let shares = Axis::around(&cdf).unwrap().shares(&cdf);
        assert!((shares[0] - 0.2).abs() < 1e-9 && (shares[COLUMNS - 1] - 0.25).abs() < 1e-9, "{shares:?}");
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(Axis::around(&[]).is_none());
        // Delays of zero and less take one column, whatever the others are.
        for positive in [1, 20_000_000] {
            let cdf = self::cdf(&[(-3_000_000, 0.4), (positive, 0.7), (2 * positive, 1.0)]);
            let shares = Axis::around(&cdf).unwrap().shares(&cdf);
            let filled = shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(|(column, _)| column);
            let filled: Vec<_> = filled.collect();
            assert!((shares[0] - 0.4).abs() < 1e-9 && filled.len() == 3 && filled[2] - filled[1] > 10, "{filled:?}");
        }
    }

    #[test]
    fn ticks_are_round_times() {
        let labels = |points| {
            let axis = Axis::around(&cdf(points)).unwrap();
            axis.ticks().into_iter().map(|t| text::round_time(t.1)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[(900, 0.5), (2_000_000, 1.0)]), ["1 µs", "10 µs", "100 µs", "1 ms"]);
        assert_eq!(labels(&[(9_000_000, 0.5), (60_000_000, 1.0)]), ["10 ms", "20 ms", "50 ms"]);
    }

    /// If any decade is left without a label, the remaining labels are evenly spaced.
    #[test]
    fn decades_are_labelled_evenly() {
        let labels = |most: i64| {
            let axis = Axis::around(&cdf(&[(1, 0.5), (most, 1.0)])).unwrap();
            let labels = labels(&axis.ticks());
            labels
                .split("  ")
                .map(|label| label.trim().to_owned())
                .filter(|label| !label.is_empty())
                .collect::<Vec<_>>()
        };
        let ten = ["1 ns", "10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"];
        assert_eq!(labels(9_000_000_000), ten);
        assert_eq!(labels(30_000_000_000_000), ["1 ns", "100 ns", "10 µs", "1 ms", "100 ms", "10 s", "1000 s"]);
        assert_eq!(labels(i64::MAX)[..5], ["1 ns", "1 µs", "1 ms", "1 s", "1000 s"]);
    }
}
