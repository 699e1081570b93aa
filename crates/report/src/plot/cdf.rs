//! The distribution functions of one report.

use super::picture::{Align, FAINT_GRID, GRID, INK, LOOKS, Look, Picture, Place, QUIET};
use super::render::text_width;
use super::scale::LogScale;
use super::{HEIGHT, WIDTH, bands, heading, ranked, subtitle};
use crate::quantiles::{QUANTILES, names};
use crate::rtt::{CdfPoint, ResultLine, RttReport};
use crate::text;

const LEFT: f64 = 72.0;
const RIGHT: f64 = WIDTH - 26.0;
const TOP: f64 = 76.0;
/// Space for a label of the time axis.
const LABEL: f64 = 44.0;
/// Height of a row of the legend below the curves.
const ROW: f64 = 19.0;

pub(super) fn picture(report: &RttReport) -> Picture {
    let mut picture = Picture::default();
    let reports = std::slice::from_ref(report);
    let is_known = |l: &&ResultLine| !l.cdf.is_empty() && l.cdf.iter().all(|p| p.share.value.is_finite());
    let ranked: Vec<&ResultLine> = ranked(reports).into_iter().map(|r| r.0).filter(is_known).collect();
    let drawn = &ranked[..ranked.len().min(LOOKS.len())];
    picture.heading((LEFT, 28.0), heading(reports), 17.0);
    let mut sentences = vec!["Share of exchanges answered within the time below.".to_owned()];
    sentences.push(bands(drawn.iter().copied()).to_owned());
    if drawn.iter().flat_map(|line| line.cdf.first()).any(|point| point.delay_ns <= 0) {
        sentences.push("At the left edge: zero and less.".to_owned());
    }
    sentences.push(format!("Marks: {}.", names().join(", ")));
    subtitle(&sentences, (LEFT, 52.0), RIGHT, &mut picture);
    let Some(scale) = scale(drawn) else {
        picture.text((WIDTH / 2.0, HEIGHT / 2.0), "No exchange was measured.", 16.0, QUIET, Align::Centre);
        return picture;
    };
    let plane = Plane { scale, bottom: HEIGHT - 66.0 - ROW * (drawn.len() as f64 + 1.0) };
    plane.axes(&mut picture);
    // Drawn in reverse, so that the most frequent is on top.
    for (line, &look) in drawn.iter().zip(&LOOKS).rev() {
        plane.band(&line.cdf, look, &mut picture);
    }
    for (line, &look) in drawn.iter().zip(&LOOKS).rev() {
        picture.curve(plane.steps(&line.cdf, |p| p.share.value), look, 2.0);
        for ((_, share), quantile) in QUANTILES.into_iter().zip(line.delay_ns.quantiles) {
            if let Some(quantile) = quantile {
                picture.mark((plane.scale.place(quantile.value), plane.height(share)), look);
            }
        }
    }
    legend(drawn, ranked.len(), plane.bottom + 60.0, &mut picture);
    picture
}

/// The axis omits only the outermost part of each curve; less is cut from the long delays, which matter more.
fn scale(lines: &[&ResultLine]) -> Option<LogScale> {
    const SHORTEST: f64 = 2e-3;
    const LONGEST: f64 = 1e-4;
    let up_to = |l: &&ResultLine, share: f64| {
        let is_there = |p: &&CdfPoint| p.share.value >= share && p.delay_ns > 0;
        l.cdf.iter().find(is_there).or(l.cdf.last()).map(|p| p.delay_ns)
    };
    let first = |l: &&ResultLine| up_to(l, SHORTEST);
    let last = |l: &&ResultLine| up_to(l, 1.0 - LONGEST);
    let (least, greatest) = (lines.iter().filter_map(first).min()?, lines.iter().filter_map(last).max()?);
    Some(LogScale::new(least, greatest, LEFT, RIGHT))
}

/// The area in which the curves are drawn.
struct Plane {
    scale: LogScale,
    bottom: f64,
}

impl Plane {
    fn height(&self, share: f64) -> f64 {
        self.bottom - share.clamp(0.0, 1.0) * (self.bottom - TOP)
    }

    fn axes(&self, picture: &mut Picture) {
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
                picture.text((tick.place, bottom + 16.0), label.clone(), 12.5, INK, Align::Centre);
            }
        }
        let middle = ((LEFT + RIGHT) / 2.0, (TOP + bottom) / 2.0);
        picture.text((middle.0, bottom + 36.0), "time from request to response", 12.5, INK, Align::Centre);
        picture.upright((20.0, middle.1), "share of exchanges", 12.5, INK);
    }

    /// Points of a step function, from zero at the left edge to the right edge.
    fn steps(&self, cdf: &[CdfPoint], share: impl Fn(&CdfPoint) -> f64) -> Vec<Place> {
        let mut last = self.height(0.0);
        let mut places = vec![(LEFT, last)];
        for point in cdf {
            let (x, y) = (self.scale.place(point.delay_ns), self.height(share(point)));
            places.extend([(x, last), (x, y)]);
            last = y;
        }
        places.push((RIGHT, last));
        places
    }

    fn band(&self, cdf: &[CdfPoint], look: Look, picture: &mut Picture) {
        if cdf.iter().all(|p| p.share.is_exact()) {
            return;
        }
        let mut outline = self.steps(cdf, |p| p.share.high);
        outline.extend(self.steps(cdf, |p| p.share.low).into_iter().rev());
        picture.area(outline, look.colour, 0.2);
    }
}

/// Name, number of exchanges and quantiles of each curve, starting at height `top`.
fn legend(lines: &[&ResultLine], of: usize, top: f64, picture: &mut Picture) {
    const SIZE: f64 = 12.5;
    const SAMPLE: f64 = 38.0;
    const GAP: f64 = 24.0;
    const LONGEST_NAME: usize = 48;
    let head = if of > lines.len() { format!("the {} largest of {of} results", lines.len()) } else { String::new() };
    let mut rows = vec![vec![head, "exchanges".to_owned()]];
    rows[0].extend(names().map(String::from));
    for line in lines {
        let number = line.exchanges.map_or_else(String::new, |e| {
            let about = if line.is_complete() { "" } else { "≈ " };
            format!("{about}{}", text::count(e.value.round() as u64))
        });
        let name = text::cut(&line.name(), LONGEST_NAME);
        rows.push([name, number].into_iter().chain(line.delay_ns.quantiles.map(text::delay)).collect());
    }
    for (i, row) in rows.iter().enumerate() {
        let y = top + ROW * i as f64;
        if let Some(&look) = i.checked_sub(1).and_then(|i| LOOKS.get(i)) {
            picture.curve(vec![(LEFT, y), (LEFT + SAMPLE - 8.0, y)], look, 2.0);
            picture.mark((LEFT + (SAMPLE - 8.0) / 2.0, y), look);
        }
        let colour = if i == 0 { QUIET } else { INK };
        let mut x = LEFT + SAMPLE;
        for (column, cell) in row.iter().enumerate() {
            let align = if column == 0 { Align::Left } else { Align::Right };
            let width = rows.iter().map(|r| text_width(&r[column], SIZE)).fold(0.0, f64::max);
            let place = if column == 0 { x } else { x + width };
            picture.text((place, y), cell.clone(), SIZE, colour, align);
            x += width + GAP;
        }
    }
}
