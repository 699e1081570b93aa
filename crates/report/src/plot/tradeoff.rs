//! Error against memory, one panel per question and one curve per method, both axes logarithmic.

use super::picture::{Align, FAINT_GRID, GRID, INK, LOOKS, Look, MORE_LOOKS, Picture, Place, QUIET};
use super::render::text_width;
use super::{HEIGHT, Tradeoff, WIDTH};

const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 26.0;
const TOP: f64 = 80.0;
const BOTTOM: f64 = HEIGHT - 44.0;
/// Between rows of the legend.
const ROW: f64 = 20.0;
/// Panels beside each other.
const COLUMNS: usize = 3;
/// Between panels, for the labels of an axis.
const GAP: (f64, f64) = (52.0, 62.0);
/// Smaller errors are drawn here: nobody needs to tell them apart.
const LEAST: f64 = 1e-3;

pub(super) fn picture(title: &str, subtitle: &str, panels: &[Tradeoff]) -> Picture {
    let mut picture = Picture::default();
    picture.heading((LEFT, 28.0), title, 17.0);
    picture.text((LEFT, 52.0), subtitle, 12.5, QUIET, Align::Left);
    let points = || panels.iter().flat_map(|panel| &panel.curves).flat_map(|(_, points)| points);
    if points().next().is_none() {
        picture.text((WIDTH / 2.0, HEIGHT / 2.0), "No exchange was measured.", 16.0, QUIET, Align::Centre);
        return picture;
    }
    let largest = points().map(|point| point.1).fold(0.1, f64::max);
    let most = largest.log10().ceil().min(6.0);
    let bytes = points().map(|point| point.0);
    let (from, to) = bytes.fold((usize::MAX, 0), |(least, most), bytes| (least.min(bytes), most.max(bytes)));
    let columns = panels.len().min(COLUMNS);
    let rows = panels.len().div_ceil(COLUMNS);
    let width = (RIGHT - LEFT - GAP.0 * (columns - 1) as f64) / columns as f64;
    let legend = legend(panels);
    let last_row = legend.last().map_or(0, |entry| entry.row);
    let bottom = BOTTOM - ROW * last_row as f64;
    let height = (bottom - TOP - GAP.1 * rows as f64) / rows as f64;
    for (number, panel) in panels.iter().enumerate() {
        let corner = (
            LEFT + (number % COLUMNS) as f64 * (width + GAP.0),
            TOP + 20.0 + (number / COLUMNS) as f64 * (height + GAP.1),
        );
        Plane { corner, width, height, memory: ((from as f64).log2(), (to as f64).log2()), most }
            .draw(panel, &mut picture);
    }
    legend.iter().zip(looks()).for_each(|(entry, look)| entry.draw(last_row, look, &mut picture));
    picture
}

/// Where one panel is drawn.
struct Plane {
    corner: Place,
    width: f64,
    height: f64,
    /// Ends of the axis, as powers of two.
    memory: (f64, f64),
    /// The upper end, as a power of ten; the lower is [`LEAST`].
    most: f64,
}

impl Plane {
    fn x(&self, bytes: usize) -> f64 {
        const MARGIN: f64 = 0.06;
        let (from, to) = self.memory;
        let share = if to > from { ((bytes as f64).log2() - from) / (to - from) } else { 0.5 };
        self.corner.0 + self.width * (MARGIN + share * (1.0 - 2.0 * MARGIN))
    }

    fn y(&self, error: f64) -> f64 {
        let share = (error.max(LEAST).log10() - LEAST.log10()) / (self.most - LEAST.log10());
        self.corner.1 + self.height * (1.0 - share.min(1.0))
    }

    fn draw(&self, panel: &Tradeoff, picture: &mut Picture) {
        let ((left, top), right, bottom) = (self.corner, self.corner.0 + self.width, self.corner.1 + self.height);
        picture.text((left, top - 16.0), panel.name.clone(), 13.5, INK, Align::Left);
        for decade in LEAST.log10().round() as i32..=self.most as i32 {
            let error = 10f64.powi(decade);
            for step in (2..10).filter(|_| f64::from(decade) < self.most) {
                let y = self.y(error * f64::from(step));
                picture.line((left, y), (right, y), FAINT_GRID, 1.0);
            }
            let y = self.y(error);
            picture.line((left, y), (right, y), GRID, 1.0);
            let label = match decade {
                ..-2 => format!("≤ {}%", error * 100.0),
                _ => format!("{:.0}%", error * 100.0),
            };
            picture.text((left - 7.0, y), label, 11.5, INK, Align::Right);
        }
        let mut sizes: Vec<usize> = panel.curves.iter().flat_map(|(_, points)| points).map(|point| point.0).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut free = left - 20.0;
        for bytes in sizes {
            let x = self.x(bytes);
            picture.line((x, top), (x, bottom), GRID, 1.0);
            let label = size(bytes);
            let half = text_width(&label, 11.5) / 2.0;
            if x - half > free {
                picture.text((x, bottom + 15.0), label, 11.5, INK, Align::Centre);
                free = x + half + 6.0;
            }
        }
        picture.line((left, bottom), (right, bottom), QUIET, 1.25);
        picture.line((left, self.y(0.05)), (right, self.y(0.05)), QUIET, 1.25);
        // The first on top.
        let curves: Vec<_> = panel.curves.iter().zip(looks()).collect();
        for ((_, points), look) in curves.into_iter().rev() {
            let places: Vec<Place> = points.iter().map(|&(bytes, error)| (self.x(bytes), self.y(error))).collect();
            if places.len() > 1 {
                picture.curve(places.clone(), look, 2.0);
            }
            places.into_iter().for_each(|place| picture.mark(place, look));
        }
    }
}

/// The looks of the curves, in order.
fn looks() -> impl Iterator<Item = Look> {
    LOOKS.into_iter().chain(MORE_LOOKS)
}

/// One curve's name.
struct Entry<'a> {
    name: &'a str,
    /// Counted from the uppermost.
    row: usize,
    x: f64,
}

const LETTERS: f64 = 13.0;
/// Width of the piece of a curve beside its name.
const SAMPLE: f64 = 44.0;

/// The names of the curves, in as many rows as they need.
fn legend<'a>(panels: &'a [Tradeoff]) -> Vec<Entry<'a>> {
    let (mut x, mut row) = (LEFT, 0);
    let curves = panels.first().map_or(&[][..], |panel| &panel.curves);
    let entry = |(name, _): &'a (String, _)| {
        let width = SAMPLE + text_width(name, LETTERS);
        if x + width > RIGHT {
            (x, row) = (LEFT, row + 1);
        }
        let entry = Entry { name, row, x };
        x += width + 26.0;
        entry
    };
    curves.iter().map(entry).collect()
}

impl Entry<'_> {
    fn draw(&self, last_row: usize, look: Look, picture: &mut Picture) {
        let (x, y) = (self.x, HEIGHT - 24.0 - ROW * (last_row - self.row) as f64);
        picture.curve(vec![(x, y), (x + SAMPLE - 8.0, y)], look, 2.0);
        picture.mark((x + (SAMPLE - 8.0) / 2.0, y), look);
        picture.text((x + SAMPLE, y), self.name, LETTERS, INK, Align::Left);
    }
}

fn size(bytes: usize) -> String {
    match bytes as f64 {
        b if b >= 1048576.0 => format!("{} MiB", (b / 104857.6).round() / 10.0),
        b => format!("{} KiB", (b / 102.4).round() / 10.0),
    }
}
