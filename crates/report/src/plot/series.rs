//! Quantiles over time, one panel per result.

use super::picture::{Look, Picture, Place};
use super::scale::{DelayScale, TimeScale};
use super::steps::{BETWEEN, BOTTOM, LEFT, RIGHT, TOP};
use super::{bands, nothing, ranked, rtt_title, shortened, steps, subtitle, title};
use crate::facts::Span;
use crate::quantiles::{P50, P95, P99, QUANTILES};
use crate::rtt::{Course, Order, ResultLine, RttReport};
use crate::text;

/// Maximum number of panels in a picture.
const PANELS: usize = 4;
/// Size of the letters of their names, and the most characters of one.
const NAME: f64 = 13.0;
const LONGEST_NAME: usize = 91;

/// The places of the quantiles drawn, the highest first.
const CURVES: [(usize, Look); 3] = [(P99, steps::CURVES[0]), (P95, steps::CURVES[1]), (P50, steps::CURVES[2])];

pub(super) fn picture(reports: &[RttReport]) -> Picture {
    let mut picture = Picture::default();
    let ranked = ranked(reports);
    let drawn = &ranked[..ranked.len().min(PANELS)];
    title(&rtt_title(reports), LEFT, &mut picture);
    let spans: Vec<Span> = reports.iter().filter_map(RttReport::period).collect();
    let ends = (spans.iter().map(|s| s.start).min(), spans.iter().map(|s| s.end).max());
    let ((Some(from), Some(to)), false) = (ends, drawn.is_empty()) else {
        nothing("No exchange was measured.", &mut picture);
        return picture;
    };
    let lines = || drawn.iter().flat_map(Course::lines);
    let mut sentences = vec![format!("Delay per interval, {}.", text::span(from, to))];
    sentences.push(bands(lines().filter(|l| l.exchanges.is_some())).to_owned());
    if lines().flat_map(|l| l.delay_ns.quantiles).flatten().any(|q| q.low <= 0) {
        sentences.push("At the lower edge: zero and less.".to_owned());
    }
    if ranked.len() > drawn.len() {
        sentences.push(format!("The {} {} of {} results.", drawn.len(), Order::of(reports).first(), ranked.len()));
    }
    subtitle(&sentences, LEFT, &mut picture);
    let time = TimeScale::new(from, to, LEFT, RIGHT);
    let tall = (BOTTOM - TOP - BETWEEN * drawn.len() as f64) / drawn.len().max(1) as f64;
    for (i, result) in drawn.iter().enumerate() {
        let top = TOP + BETWEEN + i as f64 * (tall + BETWEEN);
        picture.heading((LEFT, top - 12.0), shortened(&result.first().name(), LONGEST_NAME, NAME, RIGHT - LEFT), NAME);
        panel(result, reports, &time, (top, top + tall), &mut picture);
    }
    steps::labels(&time.ticks(), BOTTOM, &mut picture);
    picture
}

/// Each interval and its result; `None` if nothing was measured.
type Intervals<'a> = Vec<(Span, Option<&'a ResultLine>)>;

fn panel(result: &Course<'_>, reports: &[RttReport], time: &TimeScale, (top, bottom): Place, picture: &mut Picture) {
    let intervals: Intervals<'_> =
        result.over(reports).filter_map(|(report, line)| Some((report.period()?, line))).collect();
    let values =
        || intervals.iter().filter_map(|i| i.1).flat_map(|l| CURVES.map(|c| l.delay_ns.quantiles[c.0])).flatten();
    let lows = values().flat_map(|q| [q.low, q.value]).filter(|&delay| delay > 0);
    let Some(greatest) = values().map(|q| q.high).max() else { return };
    let least = lows.min().unwrap_or(1);
    let scale = DelayScale::new(least, greatest, bottom, top);
    steps::grid(&scale.ticks(steps::APART), &time.ticks(), (top, bottom), picture);
    for (q, look) in CURVES {
        let course: Vec<_> =
            intervals.iter().map(|(span, line)| (*span, line.and_then(|l| l.delay_ns.quantiles[q]))).collect();
        steps::draw(&course, time, |delay| scale.place(delay), look, picture);
    }
    let last = intervals.iter().rev().find_map(|i| i.1.filter(|l| l.delay_ns.quantiles[P50].is_some()));
    let Some(line) = last else { return };
    let place =
        |(q, look): (usize, Look)| Some((scale.place(line.delay_ns.quantiles[q]?.value), QUANTILES[q].0, look.colour));
    steps::names(CURVES.into_iter().filter_map(place).collect(), (top, bottom), picture);
}
