//! One-way delay and loss over time.

use super::picture::{Align, LOOKS, Look, Picture, QUIET};
use super::scale::{LinearScale, TimeScale};
use super::steps::{self, BETWEEN, BOTTOM, LEFT, RIGHT, TOP};
use super::{WIDTH, nothing, owd_title, subtitle, title};
use crate::facts::Span;
use crate::owd::{Delays, Interval, Line, OwdReport};
use crate::quantiles::{P50, P99};
use crate::text;
use dwell_sketch::estimate::Estimate;

/// A statistic of the delay.
type Statistic = fn(&Delays) -> Option<Estimate<f64>>;

/// The delay curves, highest first.
const CURVES: [(&str, Statistic, Look); 3] = [
    ("p99", |d| real(d.quantiles[P99]), steps::CURVES[0]),
    ("mean", |d| d.mean, steps::CURVES[1]),
    ("p50", |d| real(d.quantiles[P50]), steps::CURVES[2]),
];
const LOSS: Look = LOOKS[3];
/// Share of the height taken by the delay panel.
const DELAY_SHARE: f64 = 0.68;

pub(super) fn picture(report: &OwdReport) -> Picture {
    let mut picture = Picture::default();
    title(&owd_title(report), LEFT, &mut picture);
    let intervals = &report.intervals;
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
        nothing("No packet was seen.", &mut picture);
        return picture;
    };
    let shown = format!("Delay and loss per interval, {}.", text::span(first.start_ns, last.end_ns));
    let bands = if intervals.iter().any(|i| i.line.is_estimated()) { "Bands: 95% intervals." } else { "" };
    subtitle(&[shown, bands.to_owned()], LEFT, &mut picture);
    let time = TimeScale::new(first.start_ns, last.end_ns, LEFT, RIGHT);
    let tall = BOTTOM - TOP - 2.0 * BETWEEN;
    let top = TOP + BETWEEN;
    delay(intervals, &time, (top, top + tall * DELAY_SHARE), &mut picture);
    loss(intervals, &time, (top + tall * DELAY_SHARE + BETWEEN, BOTTOM), &mut picture);
    steps::labels(&time.ticks(), BOTTOM, &mut picture);
    picture
}

fn delay(intervals: &[Interval], time: &TimeScale, (top, bottom): (f64, f64), picture: &mut Picture) {
    picture.heading((LEFT, top - 12.0), "delay", 13.0);
    let values = || intervals.iter().flat_map(|i| CURVES.map(|c| c.1(&i.line.delay_ns))).flatten();
    let least = values().map(|e| e.low).fold(f64::INFINITY, f64::min);
    let greatest = values().map(|e| e.high).fold(f64::NEG_INFINITY, f64::max);
    if least > greatest {
        picture.text(
            (WIDTH / 2.0, (top + bottom) / 2.0),
            "No packet was seen at both points.",
            14.0,
            QUIET,
            Align::Centre,
        );
        return;
    }
    // The axis starts at zero where the smallest delay is close to it.
    let least = if least > 0.0 && least < greatest / 2.0 { 0.0 } else { least };
    let scale = LinearScale::new(least, greatest, bottom, top);
    steps::grid(&scale.delay_ticks(), &time.ticks(), (top, bottom), picture);
    for (_, statistic, look) in CURVES {
        steps::draw(&course(intervals, |line| statistic(&line.delay_ns)), time, |ns| scale.place(ns), look, picture);
    }
    let Some(delays) = intervals.iter().rev().map(|i| &i.line.delay_ns).find(|d| d.mean.is_some()) else { return };
    let place = |(name, statistic, look): &(&'static str, Statistic, Look)| {
        Some((scale.place(statistic(delays)?.value), *name, look.colour))
    };
    let mut names: Vec<_> = CURVES.iter().filter_map(place).collect();
    names.sort_by(|a, b| a.0.total_cmp(&b.0));
    steps::names(names, (top, bottom), picture);
}

fn loss(intervals: &[Interval], time: &TimeScale, (top, bottom): (f64, f64), picture: &mut Picture) {
    picture.heading((LEFT, top - 12.0), "loss", 13.0);
    let rates = || intervals.iter().filter_map(|i| i.line.loss_rate);
    let greatest = rates().map(|e| e.high).fold(0.0, f64::max);
    let scale = LinearScale::new(0.0, if greatest > 0.0 { greatest } else { 0.01 }, bottom, top);
    steps::grid(&scale.ticks(percent), &time.ticks(), (top, bottom), picture);
    steps::draw(&course(intervals, |line| line.loss_rate), time, |rate| scale.place(rate), LOSS, picture);
}

/// `2.5%`.
fn percent(share: f64) -> String {
    let rounded = (share * 1e6).round() / 1e4;
    format!("{rounded}%")
}

fn real(estimate: Option<Estimate<i64>>) -> Option<Estimate<f64>> {
    estimate.map(|e| e.map(|ns| ns as f64))
}

fn course(intervals: &[Interval], of: impl Fn(&Line) -> Option<Estimate<f64>>) -> Vec<(Span, Option<Estimate<f64>>)> {
    intervals.iter().map(|i| (i.span(), of(&i.line))).collect()
}
