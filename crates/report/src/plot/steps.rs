//! Panels with a time axis: the value of each interval as a step, with a band.

use super::picture::{Align, Colour, FAINT_GRID, GRID, INK, LOOKS, Look, Marker, Picture, Place, Polygon, QUIET};
use super::render::text_width;
use super::scale::{Tick, TimeScale};
use super::{HEIGHT, WIDTH, fitting};
use crate::facts::Span;
use dwell_sketch::estimate::Estimate;

pub(super) const LEFT: f64 = 72.0;
pub(super) const RIGHT: f64 = WIDTH - 64.0;
pub(super) const TOP: f64 = 76.0;
pub(super) const BOTTOM: f64 = HEIGHT - 46.0;
/// Vertical space between two panels, which holds the title of the lower one.
pub(super) const BETWEEN: f64 = 30.0;
/// Minimum vertical distance between two labels.
pub(super) const APART: f64 = 15.0;
/// Size of the labels of a y-axis, and their distance from it.
pub(super) const LABEL_SIZE: f64 = 12.0;
pub(super) const LABEL_GAP: f64 = 9.0;

/// The looks of three statistics, the highest first.
pub(super) const CURVES: [Look; 3] = [
    Look { colour: LOOKS[1].colour, dashes: &[2.5, 3.0], marker: Marker::Filled(Polygon::Triangle) },
    Look { colour: LOOKS[2].colour, dashes: &[9.0, 4.0], marker: Marker::Filled(Polygon::Square) },
    Look { colour: LOOKS[0].colour, dashes: &[], marker: Marker::Circle },
];

/// A value in each interval; `None` where nothing was measured.
pub(super) type Values<T> = [(Span, Option<Estimate<T>>)];

/// Least width of what is drawn of an interval; curves of narrower runs of intervals could not be seen.
const NARROW: f64 = 3.0;

/// Draws the values as steps, with a band where they are estimated. Where too few intervals follow one another for a
/// step to be seen, each value is a dot.
pub(super) fn draw<T: Copy + PartialEq>(
    values: &Values<T>,
    time: &TimeScale,
    height: impl Fn(T) -> f64,
    look: Look,
    picture: &mut Picture,
) {
    for run in runs(values) {
        let ends = |span: &Span| (time.place(span.start), time.place(span.end));
        let (Some((first, _)), Some((last, _))) = (run.first(), run.last()) else { continue };
        let (left, right) = (ends(first).0, ends(last).1);
        // How much is missing at either side.
        let missing = (NARROW - (right - left)).max(0.0) / 2.0;
        let edge = |of: fn(&Estimate<T>) -> T| {
            let both_ends = |(span, value): &(Span, Estimate<T>)| {
                let ((left, right), y) = (ends(span), height(of(value)));
                [(left - missing, y), (right + missing, y)]
            };
            run.iter().flat_map(both_ends).collect::<Vec<Place>>()
        };
        let mut band = edge(|e| e.high);
        band.extend(edge(|e| e.low).into_iter().rev());
        if run.iter().any(|i| !i.1.is_exact()) {
            picture.area(band, look.colour, 0.2);
        }
        if missing == 0.0 {
            picture.curve(edge(|e| e.value), look);
            continue;
        }
        for (span, value) in &run {
            let (left, right) = ends(span);
            picture.dot(((left + right) / 2.0, height(value.value)), look.colour);
        }
    }
}

/// Runs of intervals in which the value is known, each of which begins where the one before ends.
fn runs<T: Copy>(values: &Values<T>) -> Vec<Vec<(Span, Estimate<T>)>> {
    let mut runs: Vec<Vec<(Span, Estimate<T>)>> = Vec::new();
    let mut last: Option<i64> = None;
    for &(span, value) in values {
        let is_next = last == Some(span.start);
        last = value.map(|_| span.end);
        match (value, runs.last_mut()) {
            (Some(value), Some(run)) if is_next => run.push((span, value)),
            (Some(value), _) => runs.push(vec![(span, value)]),
            (None, _) => {}
        }
    }
    runs
}

/// The grid of a panel, and the labels of its y-axis: in smaller letters where clocks are so far apart that delays have many
/// digits.
pub(super) fn grid(ticks: &[Tick], across: &[Tick], (top, bottom): Place, picture: &mut Picture) {
    for tick in across {
        picture.line((tick.place, top), (tick.place, bottom), FAINT_GRID, 1.0);
    }
    for tick in ticks {
        let labelled = tick.label.is_some();
        picture.line((LEFT, tick.place), (RIGHT, tick.place), if labelled { GRID } else { FAINT_GRID }, 1.0);
    }
    let labels = ticks.iter().filter_map(|tick| tick.label.as_ref());
    let size = labels.map(|label| fitting(label, LABEL_SIZE, LEFT - LABEL_GAP)).fold(LABEL_SIZE, f64::min);
    let mut free = f64::INFINITY;
    for tick in ticks {
        let Some(label) = &tick.label else { continue };
        if free - tick.place >= APART {
            picture.text((LEFT - LABEL_GAP, tick.place), label.clone(), size, INK, Align::Right);
            free = tick.place;
        }
    }
    picture.line((LEFT, bottom), (RIGHT, bottom), QUIET, 1.25);
}

/// The labels of an axis below a panel.
pub(super) fn labels(ticks: &[Tick], bottom: f64, picture: &mut Picture) {
    for tick in ticks {
        if let Some(label) = &tick.label {
            picture.line((tick.place, bottom), (tick.place, bottom + 6.0), QUIET, 1.0);
            picture.text((tick.place, bottom + 17.0), label.clone(), 12.5, INK, Align::Centre);
        }
    }
}

/// The names of the curves at their right ends, highest first, moved apart where they would overlap.
pub(super) fn names(mut placed: Vec<(f64, &str, Colour)>, (top, bottom): Place, picture: &mut Picture) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::picture::{Shape, Text};
    use crate::plot::scale::LinearScale;

    /// Of 1000 intervals, one alone and two alone are narrower than three points, and ten are not.
    #[test]
    fn narrow_runs_are_dots() {
        let value = |i: i64| (i == 100 || (300..302).contains(&i) || (500..510).contains(&i)).then_some(i as f64);
        let estimated = |value: f64| Estimate { value, low: value - 9.0, high: value + 9.0 };
        let span = |i: i64| Span { start: i, end: i + 1 };
        let course: Vec<_> = (0..1000).map(|i| (span(i), value(i).map(estimated))).collect();
        let time = TimeScale::new(0, 1000, LEFT, RIGHT);
        let mut picture = Picture::default();
        draw(&course, &time, |value| value, CURVES[0], &mut picture);
        let (mut dots, mut lines, mut bands) = (Vec::new(), Vec::new(), Vec::new());
        let width = |places: &[Place]| {
            let ends = places.iter().map(|place| place.0);
            ends.clone().fold(0.0, f64::max) - ends.fold(WIDTH, f64::min)
        };
        for shape in picture.shapes {
            match shape {
                Shape::Mark { at, marker, .. } => dots.push((marker, at.1)),
                Shape::Line { places, .. } => lines.push(width(&places)),
                Shape::Area { places, .. } => bands.push(width(&places)),
                _ => panic!("{shape:?}"),
            }
        }
        assert_eq!(dots, [100.0, 300.0, 301.0].map(|y| (Marker::Dot, y)));
        assert!(lines.len() == 1 && lines[0] > 2.0 * NARROW, "{lines:?}");
        assert!(bands.len() == 3 && bands.iter().all(|&width| width > NARROW - 1e-9), "{bands:?}");
    }

    /// Intervals of 10, and one of 5; nothing was measured in the fifth, and three are missing behind the sixth.
    #[test]
    fn runs_end_where_nothing_is_known() {
        let span = |start: i64, end: i64| Span { start, end };
        let spans = [span(0, 10), span(10, 20), span(20, 25), span(25, 35), span(35, 45), span(45, 55), span(85, 95)];
        let course: Vec<_> =
            spans.iter().map(|&span| (span, (span.start != 35).then_some(Estimate::exact(span.start)))).collect();
        let found: Vec<Vec<i64>> = runs(&course).iter().map(|run| run.iter().map(|(_, e)| e.value).collect()).collect();
        assert_eq!(found, [vec![0, 10, 20, 25], vec![45], vec![85]]);
        assert_eq!(runs(&course[..1]).len(), 1);
        assert!(runs::<i64>(&[]).is_empty());
    }

    /// Between clocks that are decades apart, delays have so many digits that labels of the usual size would begin outside
    /// the picture.
    #[test]
    fn labels_begin_within_the_picture() {
        let sizes = |least: f64, greatest: f64| {
            let mut picture = Picture::default();
            grid(&LinearScale::new(least, greatest, 400.0, 100.0).delay_ticks(), &[], (100.0, 400.0), &mut picture);
            let texts = picture.shapes.into_iter().filter_map(|shape| match shape {
                Shape::Text(Text { at, text, size, .. }) => Some((at.0 - text_width(&text, size), size)),
                _ => None,
            });
            texts.collect::<Vec<_>>()
        };
        assert!(sizes(0.0, 400e6).iter().all(|&(left, size)| left > 0.0 && size == LABEL_SIZE));
        let far = sizes(1.7e18, 1.7e18 + 1e6);
        assert!(far.len() > 3 && far.iter().all(|&(left, size)| left > 0.0 && size < LABEL_SIZE), "{far:?}");
    }
}
