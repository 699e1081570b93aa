//! The distribution functions of one report: of response times, or of one-way delays.

use super::picture::{Align, FAINT_GRID, GRID, INK, LOOKS, Look, Picture, Place, QUIET};
use super::render::text_width;
use super::scale::DelayScale;
use super::{HEIGHT, MARGIN, WIDTH, bands, nothing, ranked, shortened, subtitle, title};
use crate::owd::{Line, Order, OwdReport};
use crate::quantiles::{QUANTILES, Quantiles, names};
use crate::rtt::{Course, MOST_CURVES, ResultLine, RttReport};
use crate::shape::CdfPoint;
use crate::text;
use dwell_types::Series;

const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - MARGIN;
const TOP: f64 = 76.0;
/// Space for a label of the time axis.
const LABEL: f64 = 44.0;
/// Height of a row of the legend below the curves.
const ROW: f64 = 19.0;

/// What is drawn, and its words.
struct Chart<'a> {
    title: String,
    /// What the curves show.
    shown: &'static str,
    /// What the bands mean; empty if there are none.
    bands: &'static str,
    /// Title of the time axis.
    time: &'static str,
    /// What the curves count, in the legend and on the axis.
    counted: &'static str,
    /// What is said if there are no curves.
    nothing: &'static str,
    /// The first of them, as many as can be told apart.
    curves: Vec<Curve<'a>>,
    /// What they are among all that could be drawn; empty if all are.
    chosen: String,
}

/// `the 6 largest of 13`, unless these are all.
fn chosen(drawn: usize, first: &str, of: usize) -> String {
    if drawn < of { format!("the {drawn} {first} of {of}") } else { String::new() }
}

/// The distribution function of one result.
struct Curve<'a> {
    name: String,
    /// How many there are, as text.
    number: String,
    quantiles: &'a Quantiles,
    cdf: &'a [CdfPoint],
}

impl<'a> Curve<'a> {
    fn of(line: &'a ResultLine) -> Self {
        let number = line.exchanges.map_or_else(String::new, |e| count(e.value, line.is_complete()));
        Self { name: line.name(), number, quantiles: &line.delay_ns.quantiles, cdf: &line.cdf }
    }

    fn of_owd(name: &str, line: &'a Line) -> Self {
        let number = count(line.received as f64, !line.is_estimated());
        Self { name: name.to_owned(), number, quantiles: &line.delay_ns.quantiles, cdf: &line.cdf }
    }
}

/// Of response times: the first results in their order.
pub(super) fn picture(report: &RttReport) -> Picture {
    let reports = std::slice::from_ref(report);
    let ranked = ranked(reports);
    let known = ranked.iter().map(Course::first).filter(|line| is_known(&line.cdf));
    let drawn: Vec<&ResultLine> = known.take(MOST_CURVES).collect();
    let has_bands = drawn.iter().any(|line| !is_exact(&line.cdf));
    draw(&Chart {
        title: super::rtt_title(reports),
        shown: "Share of exchanges answered within the time below.",
        bands: if has_bands { bands(drawn.iter().copied()) } else { "" },
        time: "time from request to response",
        counted: "exchanges",
        nothing: "No exchange was measured.",
        curves: drawn.iter().map(|line| Curve::of(line)).collect(),
        chosen: chosen(drawn.len(), &report.order.first(), ranked.len()),
    })
}

/// Of one-way delays: both directions, and the first flows in their order.
pub(super) fn of_owd(report: &OwdReport) -> Picture {
    let [total, reverse] = if report.reverse.is_some() { ["forward", "reverse"] } else { ["all", ""] };
    let lines = [(total, &report.total)].into_iter().chain(report.reverse.iter().map(|line| (reverse, line)));
    let flows = report.flows.iter().map(|flow| (flow.flow.as_str(), &flow.line));
    let is_known = |(_, line): &(&str, &Line)| is_known(&line.cdf);
    let directions = lines.clone().filter(is_known).count();
    let known: Vec<(&str, &Line)> = lines.chain(flows).filter(is_known).collect();
    let drawn = &known[..known.len().min(MOST_CURVES)];
    let first = report.order.first();
    let chosen = match report.order {
        Order::Bytes => chosen(drawn.len(), &first, known.len()),
        // All packets of a direction are drawn whatever their losses and delays, and all other flows after the last one.
        Order::Loss | Order::Delay(_) => {
            let flows = known[directions..].iter().filter(|(name, _)| *name != Series::OTHER);
            chosen(drawn.len() - directions, &format!("{first} flows"), flows.count())
        }
    };
    let is_estimated = drawn.iter().any(|(_, line)| line.is_estimated());
    draw(&Chart {
        title: super::owd_title(report),
        shown: "Share of packets that took at most the time below; lost ones are left out.",
        bands: if is_estimated { "Bands: 95% intervals." } else { "" },
        time: "one-way delay",
        counted: "packets",
        nothing: "No packet was seen at both points.",
        curves: drawn.iter().map(|(name, line)| Curve::of_owd(name, line)).collect(),
        chosen,
    })
}

fn is_known(cdf: &[CdfPoint]) -> bool {
    !cdf.is_empty() && cdf.iter().all(|point| point.share.value.is_finite())
}

/// Whether the function has no band.
fn is_exact(cdf: &[CdfPoint]) -> bool {
    cdf.iter().all(|point| point.share.is_exact())
}

/// A number, and whether it is an estimate.
fn count(number: f64, is_exact: bool) -> String {
    format!("{}{}", if is_exact { "" } else { "≈ " }, text::count(number.round() as u64))
}

fn draw(chart: &Chart<'_>) -> Picture {
    let mut picture = Picture::default();
    let curves = &chart.curves;
    title(&chart.title, LEFT, &mut picture);
    let mut sentences = vec![chart.shown.to_owned(), chart.bands.to_owned()];
    if curves.iter().flat_map(|curve| curve.cdf.first()).any(|point| point.delay_ns <= 0) {
        sentences.push("At the left edge: zero and less.".to_owned());
    }
    sentences.push(format!("Marks: {}.", names().join(", ")));
    subtitle(&sentences, LEFT, &mut picture);
    let Some(scale) = scale(curves) else {
        nothing(chart.nothing, &mut picture);
        return picture;
    };
    let plane = Plane { scale, bottom: HEIGHT - 66.0 - ROW * (curves.len() as f64 + 1.0) };
    plane.axes(chart, &mut picture);
    // Drawn in reverse, so that the first is on top.
    for (curve, &look) in curves.iter().zip(&LOOKS).rev() {
        plane.band(curve.cdf, look, &mut picture);
    }
    for (curve, &look) in curves.iter().zip(&LOOKS).rev() {
        let marks = plane.marks(curve.quantiles);
        picture.curve(plane.course(curve.cdf, &marks), look);
        marks.into_iter().for_each(|mark| picture.mark(mark, look));
    }
    legend(chart, plane.bottom + 60.0, &mut picture);
    picture
}

/// The axis omits only the outermost part of each curve; less is cut from the long delays, which matter more.
fn scale(curves: &[Curve<'_>]) -> Option<DelayScale> {
    const SHORTEST: f64 = 2e-3;
    const LONGEST: f64 = 1e-4;
    let up_to = |curve: &Curve<'_>, share: f64| {
        let is_there = |p: &&CdfPoint| p.share.value >= share && p.delay_ns > 0;
        curve.cdf.iter().find(is_there).or(curve.cdf.last()).map(|p| p.delay_ns)
    };
    let first = |curve| up_to(curve, SHORTEST);
    let last = |curve| up_to(curve, 1.0 - LONGEST);
    let (least, greatest) = (curves.iter().filter_map(first).min()?, curves.iter().filter_map(last).max()?);
    Some(DelayScale::new(least, greatest, LEFT, RIGHT))
}

/// The area in which the curves are drawn.
struct Plane {
    scale: DelayScale,
    bottom: f64,
}

impl Plane {
    fn height(&self, share: f64) -> f64 {
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - TOP)
    }

    fn axes(&self, chart: &Chart<'_>, picture: &mut Picture) {
        let bottom = self.bottom;
        let ticks = self.scale.ticks(LABEL);
        for tick in &ticks {
            let colour = if tick.label.is_some() { GRID } else { FAINT_GRID };
            picture.line((tick.place, TOP), (tick.place, bottom), colour, 1.0);
        }
        for percent in (0..=100).step_by(10) {
            let y = self.height(f64::from(percent) / 100.0);
            let labelled = percent % 20 == 0;
            picture.line((LEFT, y), (RIGHT, y), if labelled { GRID } else { FAINT_GRID }, 1.0);
            if labelled {
                picture.text((LEFT - 9.0, y), format!("{percent}%"), 12.5, INK, Align::Right);
            }
        }
        picture.line((LEFT, bottom), (RIGHT, bottom), QUIET, 1.25);
        for tick in &ticks {
            let length = if tick.label.is_some() { 6.0 } else { 3.0 };
            picture.line((tick.place, bottom), (tick.place, bottom + length), QUIET, 1.0);
            if let Some(label) = &tick.label {
                // The last tick is so near to the edge that a label of many digits would reach beyond it.
                let right = WIDTH - 2.0 - text_width(label, 12.5) / 2.0;
                picture.text((tick.place.min(right), bottom + 16.0), label.clone(), 12.5, INK, Align::Centre);
            }
        }
        let middle = ((LEFT + RIGHT) / 2.0, (TOP + bottom) / 2.0);
        picture.text((middle.0, bottom + 36.0), chart.time, 12.5, INK, Align::Centre);
        picture.upright((20.0, middle.1), format!("share of {}", chart.counted), 12.5);
    }

    /// The places of the quantiles.
    fn marks(&self, quantiles: &Quantiles) -> Vec<Place> {
        let known = QUANTILES.into_iter().zip(quantiles).filter_map(|((_, share), of)| Some((share, of.as_ref()?)));
        known.map(|(share, quantile)| (self.scale.place(quantile.value), self.height(share))).collect()
    }

    /// The course of a distribution function, from zero at the left edge to the right edge: within bins it rises through
    /// the marks, between them it is level.
    fn course(&self, cdf: &[CdfPoint], marks: &[Place]) -> Vec<Place> {
        let mut last = self.height(0.0);
        let mut places = vec![(LEFT, last)];
        for point in cdf {
            let (from, to) = (self.scale.place(point.from_ns), self.scale.place(point.delay_ns));
            let y = self.height(point.share.value);
            places.push((from, last));
            // Heights fall as shares rise.
            places.extend(marks.iter().filter(|mark| from < mark.0 && mark.0 < to && y < mark.1 && mark.1 < last));
            places.push((to, y));
            last = y;
        }
        places.push((RIGHT, last));
        places
    }

    /// A step function, from zero at the left edge to the right edge.
    fn steps(&self, points: impl Iterator<Item = (i64, f64)>) -> Vec<Place> {
        let mut last = self.height(0.0);
        let mut places = vec![(LEFT, last)];
        for (delay_ns, share) in points {
            let (x, y) = (self.scale.place(delay_ns), self.height(share));
            places.extend([(x, last), (x, y)]);
            last = y;
        }
        places.push((RIGHT, last));
        places
    }

    /// The interval of the function at each delay: it may rise at either end of a bin.
    fn band(&self, cdf: &[CdfPoint], look: Look, picture: &mut Picture) {
        if is_exact(cdf) {
            return;
        }
        let mut outline = self.steps(cdf.iter().map(|p| (p.from_ns, p.share.high)));
        outline.extend(self.steps(cdf.iter().map(|p| (p.delay_ns, p.share.low))).into_iter().rev());
        picture.area(outline, look.colour, 0.2);
    }
}

/// Name, number of exchanges and quantiles of each curve, starting at height `top`. Names are as long as the other columns
/// leave room for.
fn legend(Chart { curves, chosen, counted, .. }: &Chart<'_>, top: f64, picture: &mut Picture) {
    const SIZE: f64 = 12.5;
    const SAMPLE: f64 = 38.0;
    const GAP: f64 = 24.0;
    const LONGEST_NAME: usize = 48;
    let mut rows = vec![vec![chosen.clone(), (*counted).to_owned()]];
    rows[0].extend(names().map(String::from));
    for curve in curves {
        let cells = [String::new(), curve.number.clone()].into_iter().chain(curve.quantiles.map(text::delay));
        rows.push(cells.collect());
    }
    let width =
        |rows: &[Vec<String>], column: usize| rows.iter().map(|row| text_width(&row[column], SIZE)).fold(0.0, f64::max);
    let others: f64 = (1..rows[0].len()).map(|column| GAP + width(&rows, column)).sum();
    let room = RIGHT - LEFT - SAMPLE - others;
    for (row, curve) in rows[1..].iter_mut().zip(curves) {
        row[0] = shortened(&curve.name, LONGEST_NAME, SIZE, room);
    }
    let widths: Vec<f64> = (0..rows[0].len()).map(|column| width(&rows, column)).collect();
    for (i, row) in rows.iter().enumerate() {
        let y = top + ROW * i as f64;
        if let Some(&look) = i.checked_sub(1).and_then(|i| LOOKS.get(i)) {
            picture.curve(vec![(LEFT, y), (LEFT + SAMPLE - 8.0, y)], look);
            picture.mark((LEFT + (SAMPLE - 8.0) / 2.0, y), look);
        }
        let colour = if i == 0 { QUIET } else { INK };
        let mut x = LEFT + SAMPLE;
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let (align, place) = if column == 0 { (Align::Left, x) } else { (Align::Right, x + width) };
            picture.text((place, y), cell.clone(), SIZE, colour, align);
            x += width + GAP;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Shape, Text};
    use super::*;
    use dwell_sketch::estimate::Estimate;

    /// In a wide bin the curve rises through the quantile's mark, and the band holds every function that rises somewhere
    /// in the bin.
    #[test]
    fn within_bins_nothing_is_more_certain_than_it_is() {
        let point = |from_ns, delay_ns, value| CdfPoint {
            from_ns,
            delay_ns,
            share: Estimate { value, low: value - 0.05, high: value + 0.05 },
        };
        let cdf = [point(1_000, 1_000, 0.25), point(10_000, 100_000, 0.75)];
        let plane = Plane { scale: DelayScale::new(1_000, 100_000, LEFT, RIGHT), bottom: 400.0 };
        let at = |delay: i64, share: f64| (plane.scale.place(delay), plane.height(share));
        let median = Estimate { value: 20_000, low: 10_000, high: 100_000 };
        let marks = plane.marks(&[Some(median), None, None, None]);
        assert_eq!(marks, [at(20_000, 0.5)]);
        let course = [at(1_000, 0.25), at(10_000, 0.25), marks[0], at(100_000, 0.75)];
        assert!(plane.course(&cdf, &marks).windows(4).any(|places| places == course));
        let high = plane.steps(cdf.iter().map(|p| (p.from_ns, p.share.high)));
        let low = plane.steps(cdf.iter().map(|p| (p.delay_ns, p.share.low)));
        assert!(high.contains(&at(10_000, 0.8)) && low.contains(&at(100_000, 0.2)), "{high:?} {low:?}");
        let mut picture = Picture::default();
        plane.band(&cdf, LOOKS[0], &mut picture);
        let outline: Vec<Place> = high.into_iter().chain(low.into_iter().rev()).collect();
        assert!(picture.shapes.iter().any(|shape| matches!(shape, Shape::Area { places, .. } if *places == outline)));
    }

    /// The end of whatever reaches farthest to the right.
    fn right_end(picture: Picture) -> f64 {
        let right = |shape| match shape {
            Shape::Text(Text { at, text, size, align: Align::Left, .. }) => at.0 + text_width(&text, size),
            Shape::Text(Text { at, text, size, align: Align::Centre, .. }) => at.0 + text_width(&text, size) / 2.0,
            Shape::Text(Text { at, .. }) => at.0,
            _ => 0.0,
        };
        picture.shapes.into_iter().map(right).fold(0.0, f64::max)
    }

    /// Columns beside the widest names, and labels of many digits, end within the picture.
    #[test]
    fn nothing_is_wider_than_the_picture() {
        let delay = Some(Estimate::exact(123_456_789_000));
        let quantiles = [delay; QUANTILES.len()];
        let curve = |name: &str| Curve {
            name: name.to_owned(),
            number: "≈ 1,318,402,111".to_owned(),
            quantiles: &quantiles,
            cdf: &[],
        };
        let (title, shown) = (String::new(), "");
        let curves = vec![curve(&"W".repeat(99)), curve("short")];
        let (bands, time, counted, nothing) = ("", "", "exchanges", "");
        let chart = Chart { title, shown, bands, time, counted, nothing, curves, chosen: String::new() };
        let mut picture = Picture::default();
        legend(&chart, 400.0, &mut picture);
        assert!(right_end(picture) <= RIGHT + 1e-9);
        let plane = Plane { scale: DelayScale::new(37_000_040_000, 37_000_390_000, LEFT, RIGHT), bottom: 400.0 };
        let mut picture = Picture::default();
        plane.axes(&chart, &mut picture);
        assert!(right_end(picture) < WIDTH);
    }
}
