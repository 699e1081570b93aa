//! Quantiles over time, one panel per result.

use super::picture::{Align, Colour, FAINT_GRID, GRID, INK, LOOKS, Look, Marker, Picture, Place, Polygon, QUIET};
use super::render::text_width;
use super::scale::{LogScale, TimeScale};
use super::{HEIGHT, WIDTH, bands, heading, ranked};
use crate::facts::Span;
use crate::rtt::{ResultLine, RttReport};
use crate::text;
use dwell_sketch::estimate::Estimate;

const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 64.0;
const TOP: f64 = 76.0;
const BOTTOM: f64 = HEIGHT - 46.0;
/// Panels in one picture, and the space between two, which holds the name of the lower one.
const PANELS: usize = 4;
const BETWEEN: f64 = 30.0;

/// The quantiles drawn, the highest first.
const CURVES: [(&str, Look); 3] = [
    ("p99", Look { colour: LOOKS[1].colour, dashes: &[2.5, 3.0], marker: Marker::Filled(Polygon::Triangle) }),
    ("p95", Look { colour: LOOKS[2].colour, dashes: &[9.0, 4.0], marker: Marker::Filled(Polygon::Square) }),
    ("p50", Look { colour: LOOKS[0].colour, dashes: &[], marker: Marker::Circle }),
];

pub(super) fn picture(reports: &[RttReport]) -> Picture {
    let mut picture = Picture::default();
    let ranked = ranked(reports);
    let drawn = &ranked[..ranked.len().min(PANELS)];
    picture.heading((LEFT, 28.0), heading(reports), 17.0);
    let spans: Vec<Span> = reports.iter().filter_map(|r| r.span_ns).collect();
    let ends = (spans.iter().map(|s| s.start).min(), spans.iter().map(|s| s.end).max());
    let ((Some(from), Some(to)), false) = (ends, drawn.is_empty()) else {
        picture.text((WIDTH / 2.0, HEIGHT / 2.0), "No exchange was measured.", 16.0, QUIET, Align::Centre);
        return picture;
    };
    let mut subtitle = format!("Delay per interval, {}.", text::span(from, to));
    let is_drawn = |l: &&ResultLine| drawn.iter().any(|d| d.0.is_same(l));
    subtitle += bands(reports.iter().flat_map(|r| &r.results).filter(is_drawn).filter(|l| l.exchanges.is_some()));
    if ranked.len() > drawn.len() {
        subtitle += &format!(" The {} largest of {} results.", drawn.len(), ranked.len());
    }
    picture.text((LEFT, 52.0), subtitle, 12.5, QUIET, Align::Left);
    let time = TimeScale::new(from, to, LEFT, RIGHT);
    let tall = (BOTTOM - TOP - BETWEEN * drawn.len() as f64) / drawn.len().max(1) as f64;
    for (i, (line, _)) in drawn.iter().enumerate() {
        let top = TOP + BETWEEN + i as f64 * (tall + BETWEEN);
        picture.heading((LEFT, top - 12.0), line.name(), 13.0);
        panel(line, reports, &time, (top, top + tall), &mut picture);
    }
    for tick in time.ticks() {
        if let Some(label) = tick.label {
            picture.line((tick.place, BOTTOM), (tick.place, BOTTOM + 6.0), QUIET, 1.0);
            picture.text((tick.place, BOTTOM + 17.0), label, 12.5, INK, Align::Centre);
        }
    }
    picture
}

/// The stretch of each interval and its three quantiles; `None` where nothing was measured.
type Intervals<'a> = Vec<(Span, Option<&'a ResultLine>)>;

fn panel(result: &ResultLine, reports: &[RttReport], time: &TimeScale, (top, bottom): Place, picture: &mut Picture) {
    let intervals: Intervals<'_> =
        reports.iter().filter_map(|r| Some((r.span_ns?, r.results.iter().find(|l| l.is_same(result))))).collect();
    let values = || intervals.iter().filter_map(|i| i.1).flat_map(|l| CURVES.map(|c| quantile(l, c.0))).flatten();
    let (Some(least), Some(greatest)) = (values().map(|q| q.low).min(), values().map(|q| q.high).max()) else {
        return;
    };
    let scale = LogScale::new(least, greatest, bottom, top);
    axes(&scale, time, (top, bottom), picture);
    for (name, look) in CURVES {
        for run in runs(&intervals, name) {
            // An interval lasts until the next one begins, whatever the last packet in it.
            let end = |i: usize| time.place(run.get(i + 1).map_or(run[i].0.end, |next| next.0.start));
            let edge = |of: fn(&Estimate<i64>) -> i64| {
                let both_ends = |(i, (span, quantile)): (usize, &(Span, Estimate<i64>))| {
                    let y = scale.place(of(quantile));
                    [(time.place(span.start), y), (end(i), y)]
                };
                run.iter().enumerate().flat_map(both_ends).collect::<Vec<Place>>()
            };
            let mut band = edge(|q| q.high);
            band.extend(edge(|q| q.low).into_iter().rev());
            if run.iter().any(|i| i.1.low != i.1.high) {
                picture.area(band, look.colour, 0.2);
            }
            picture.curve(edge(|q| q.value), look, 2.0);
        }
    }
    names(&intervals, &scale, (top, bottom), picture);
}

fn quantile(line: &ResultLine, name: &str) -> Option<Estimate<i64>> {
    match name {
        "p50" => line.delay_ns.p50,
        "p95" => line.delay_ns.p95,
        _ => line.delay_ns.p99,
    }
}

/// Stretches of intervals in which the quantile is known.
fn runs(intervals: &Intervals<'_>, name: &str) -> Vec<Vec<(Span, Estimate<i64>)>> {
    let mut runs = vec![Vec::new()];
    for (span, line) in intervals {
        match (line.and_then(|l| quantile(l, name)), runs.last_mut()) {
            (Some(quantile), Some(run)) => run.push((*span, quantile)),
            _ => runs.push(Vec::new()),
        }
    }
    runs.retain(|r| !r.is_empty());
    runs
}

fn axes(scale: &LogScale, time: &TimeScale, (top, bottom): Place, picture: &mut Picture) {
    for tick in time.ticks() {
        picture.line((tick.place, top), (tick.place, bottom), FAINT_GRID, 1.0);
    }
    let ticks = scale.ticks();
    let mut free = f64::INFINITY;
    for tick in &ticks {
        let labelled = tick.label.is_some();
        picture.line((LEFT, tick.place), (RIGHT, tick.place), if labelled { GRID } else { FAINT_GRID }, 1.0);
    }
    for tick in ticks {
        let Some(label) = tick.label else { continue };
        if free - tick.place >= 15.0 {
            picture.text((LEFT - 9.0, tick.place), label, 12.0, INK, Align::Right);
            free = tick.place;
        }
    }
    picture.line((LEFT, bottom), (RIGHT, bottom), QUIET, 1.25);
}

/// The names of the curves at their right ends, moved apart where they would touch.
fn names(intervals: &Intervals<'_>, scale: &LogScale, (top, bottom): Place, picture: &mut Picture) {
    const APART: f64 = 15.0;
    let last = intervals.iter().rev().find_map(|i| i.1.filter(|l| l.delay_ns.p50.is_some()));
    let Some(line) = last else { return };
    let mut placed: Vec<(f64, &str, Colour)> = CURVES
        .iter()
        .filter_map(|(name, look)| Some((scale.place(quantile(line, name)?.value), *name, look.colour)))
        .collect();
    let room = APART * placed.len().saturating_sub(1) as f64;
    let mut lowest = top;
    for (i, (y, _, _)) in placed.iter_mut().enumerate() {
        *y = y.max(lowest).min(bottom - room + APART * i as f64);
        lowest = *y + APART;
    }
    for (y, name, colour) in placed {
        let width = text_width(name, 12.5);
        picture.text((RIGHT + 8.0 + width / 2.0, y), name, 12.5, colour, Align::Centre);
    }
}
