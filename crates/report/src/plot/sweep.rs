//! A quantity against a parameter: one panel per quantity, one curve per method.

use super::picture::{Align, FAINT_GRID, GRID, INK, LOOKS, Look, MORE_LOOKS, Picture, Place, QUIET};
use super::render::text_width;
use super::scale::{LinearScale, Tick};
use super::{HEIGHT, MARGIN, WIDTH, fitting, nothing, title};
use crate::round::STEPS;
use crate::text;
use dwell_sketch::estimate::Estimate;

/// How several methods compare as a parameter is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Title.
    pub title: String,
    /// Description, in one line.
    pub subtitle: String,
    /// Name of the varied parameter.
    pub x: String,
    /// Its values, from left to right.
    pub places: Vec<String>,
    /// Scale of the y-axis.
    pub y: YScale,
    /// Where to draw a dark horizontal line.
    pub mark: Option<f64>,
    /// At least one.
    pub panels: Vec<SweepPanel>,
}

impl Sweep {
    /// Errors as shares of the true value against the memory of the methods; a line marks 5%.
    pub fn of_memories(title: String, subtitle: &str, memories: &[usize], panels: Vec<SweepPanel>) -> Self {
        let places = memories.iter().map(|&bytes| text::bytes(bytes as u64)).collect();
        let (x, subtitle) = ("memory".to_owned(), format!("{subtitle} Dark line: 5%."));
        Self { title, subtitle, x, places, y: YScale::Share, mark: Some(0.05), panels }
    }
}

/// A panel of a [`Sweep`].
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPanel {
    /// The measured quantity.
    pub name: String,
    /// By method, the same methods in all panels: one value per entry of [`Sweep::places`].
    pub curves: Vec<(String, Vec<Option<Estimate<f64>>>)>,
}

/// Scale of a y-axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YScale {
    /// Errors as shares of the true value, logarithmic.
    Share,
    /// Any positive quantity, logarithmic.
    Logarithmic,
    /// Any quantity, linear.
    Linear,
}

const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - MARGIN;
const TOP: f64 = 80.0;
const BOTTOM: f64 = HEIGHT - 44.0;
/// Height of a row of the legend.
const ROW: f64 = 20.0;
/// Number of panels side by side.
const COLUMNS: usize = 3;
/// Horizontal and vertical gaps between panels, which hold axis labels.
const GAP: (f64, f64) = (58.0, 62.0);
/// Space below the panels for the name of the x-axis.
const AXIS: f64 = 18.0;
/// Number of positions along the x-axis from which on not all have a name, and points no mark.
const DENSE: usize = 32;
/// Size of the letters of these names, the least gap between two of them, how far one may reach beyond a panel, and the
/// distance of their lines.
const NAMES: f64 = 11.5;
const BETWEEN: f64 = 6.0;
const ASIDE: f64 = 20.0;
const LINE: f64 = 13.0;
/// Sideways offset between the intervals of different curves at the same x position.
const BESIDE: f64 = 4.0;
/// Size of the names of panels, and the distance of their lines.
const NAME: f64 = 13.0;
const NAME_LINE: f64 = 16.0;
/// Least distance between the labels of two decades.
const APART: f64 = 13.0;
/// Smaller errors are drawn at this value: they need not be distinguished.
const LEAST: f64 = 1e-4;

pub(super) fn picture(sweep: &Sweep) -> Picture {
    let mut picture = Picture::default();
    title(&sweep.title, LEFT, &mut picture);
    let size = fitting(&sweep.subtitle, 12.5, RIGHT - LEFT);
    picture.text((LEFT, 52.0), sweep.subtitle.clone(), size, QUIET, Align::Left);
    let values = || sweep.panels.iter().flat_map(|panel| &panel.curves).flat_map(|(_, values)| values).flatten();
    if values().next().is_none() {
        nothing("Nothing was measured.", &mut picture);
        return picture;
    }
    let floor = floor(sweep.y, values().map(|e| e.value).fold(f64::INFINITY, f64::min));
    let ends = values()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), e| (least.min(e.low.max(floor)), most.max(e.high)));
    let columns = sweep.panels.len().min(COLUMNS);
    let rows = sweep.panels.len().div_ceil(columns);
    let width = (RIGHT - LEFT - GAP.0 * (columns - 1) as f64) / columns as f64;
    let legend = legend(&sweep.panels);
    let last_row = legend.last().map_or(0, |entry| entry.row);
    let bottom = BOTTOM - ROW * last_row as f64 - AXIS;
    let names: Vec<Vec<&str>> = sweep.panels.iter().map(|panel| in_lines(&panel.name, width)).collect();
    let more = NAME_LINE * (names.iter().map(Vec::len).max().unwrap_or(1).max(1) - 1) as f64;
    let (top, gap) = (TOP + more, GAP.1 + more);
    let height = (bottom - TOP - gap * rows as f64) / rows as f64;
    // The same for all: names of several sizes side by side look like titles and notes.
    let name_size = names.iter().flatten().map(|name| fitting(name, NAME, width)).fold(NAME, f64::min);
    let step = width / sweep.places.len() as f64;
    // Of numbers some may be left out, but not of names.
    let are_names =
        sweep.places.len() <= DENSE && sweep.places.iter().any(|name| name.starts_with(char::is_alphabetic));
    let lines = if are_names && sweep.places.windows(2).any(|pair| is_tight(pair, step)) { 2 } else { 1 };
    for (number, panel) in sweep.panels.iter().enumerate() {
        let top = top + 20.0 + (number / COLUMNS) as f64 * (height + gap);
        let left = LEFT + (number % COLUMNS) as f64 * (width + GAP.0);
        for (line, words) in (0..).zip(names[number].iter().rev()) {
            picture.heading((left, top - 16.0 - NAME_LINE * f64::from(line)), *words, name_size);
        }
        let plane = Plane { left, right: left + width, top, bottom: top + height, places: sweep.places.len(), lines };
        plane.draw(sweep, panel, ends, &mut picture);
    }
    picture.text((RIGHT, bottom - 10.0 + LINE * (lines - 1) as f64), sweep.x.clone(), 12.5, QUIET, Align::Right);
    legend.iter().zip(looks()).for_each(|(entry, look)| entry.draw(last_row, look, &mut picture));
    picture
}

/// How far down the y-axis may reach for the sake of intervals: if no value is negative, not below zero; if it is
/// logarithmic, a decade below the least value.
fn floor(scale: YScale, least: f64) -> f64 {
    match scale {
        YScale::Linear if least < 0.0 => f64::NEG_INFINITY,
        YScale::Linear => 0.0,
        YScale::Share | YScale::Logarithmic => (least / 10.0).max(0.0),
    }
}

/// Whether the names of neighbouring places, so far apart, do not fit into one line.
fn is_tight(names: &[String], step: f64) -> bool {
    let widths: f64 = names.iter().map(|name| text_width(name, NAMES)).sum();
    widths / 2.0 + BETWEEN > step
}

/// A name, or as much of its end, which distinguishes most of them, as fits into this width.
fn fitted(name: &str, width: f64) -> String {
    let cut = |from| ['…'].into_iter().chain(name.chars().skip(from)).collect();
    let cuts = (1..name.chars().count()).map(cut);
    [name.to_owned()].into_iter().chain(cuts).find(|name| text_width(name, NAMES) <= width).unwrap_or_default()
}

/// A panel's name, in two lines if it is too wide for one: as nearly equal as words allow.
fn in_lines(name: &str, width: f64) -> Vec<&str> {
    let cut = || {
        let halves = name.match_indices(' ').map(|(at, _)| (&name[..at], &name[at + 1..]));
        let widest = |(a, b): &(&str, &str)| text_width(a, NAME).max(text_width(b, NAME));
        halves.min_by(|a, b| widest(a).total_cmp(&widest(b)))
    };
    match cut() {
        Some((first, second)) if fitting(name, NAME, width) < NAME => vec![first, second],
        _ => vec![name],
    }
}

/// The area of one panel.
struct Plane {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Number of positions along the x-axis.
    places: usize,
    /// Number of lines in which their names stand, by turns.
    lines: usize,
}

impl Plane {
    fn x(&self, place: usize) -> f64 {
        self.left + (self.right - self.left) * (place as f64 + 0.5) / self.places as f64
    }

    fn draw(&self, sweep: &Sweep, panel: &SweepPanel, ends: (f64, f64), picture: &mut Picture) {
        let &Self { left, right, top, bottom, .. } = self;
        let scale = Scale::new(sweep.y, ends, bottom, top);
        for tick in scale.ticks() {
            picture.line(
                (left, tick.place),
                (right, tick.place),
                if tick.label.is_some() { GRID } else { FAINT_GRID },
                1.0,
            );
            if let Some(label) = tick.label {
                picture.text((left - 7.0, tick.place), label, 11.5, INK, Align::Right);
            }
        }
        let mut free = vec![left - ASIDE; self.lines];
        let step = (right - left) / self.places as f64;
        let room = (self.lines as f64 * step - BETWEEN).min(step + 1.9 * ASIDE);
        for (place, name) in sweep.places.iter().enumerate() {
            let (x, line) = (self.x(place), place % self.lines);
            let name = if self.lines > 1 { fitted(name, room) } else { name.clone() };
            let half = text_width(&name, NAMES) / 2.0;
            let is_named = x - half > free[line];
            if is_named || !self.is_dense() {
                picture.line((x, top), (x, bottom), FAINT_GRID, 1.0);
            }
            if is_named {
                picture.text((x, bottom + 15.0 + LINE * line as f64), name, NAMES, INK, Align::Centre);
                free[line] = x + half + BETWEEN;
            }
        }
        picture.line((left, bottom), (right, bottom), QUIET, 1.25);
        if let Some(mark) = sweep.mark {
            picture.line((left, scale.place(mark)), (right, scale.place(mark)), QUIET, 1.25);
        }
        // Drawn in reverse, so that the first is on top.
        let curves: Vec<_> = panel.curves.iter().zip(looks()).enumerate().collect();
        let (count, middle) = (curves.len(), (curves.len() as f64 - 1.0) / 2.0);
        for (number, ((_, values), look)) in curves.into_iter().rev() {
            let beside = BESIDE.min(0.7 * (right - left) / (self.places * count) as f64);
            let aside = if has_intervals(values) { (number as f64 - middle) * beside } else { 0.0 };
            self.curve(values, aside, &scale, look, picture);
        }
    }

    fn curve(&self, values: &[Option<Estimate<f64>>], aside: f64, scale: &Scale, look: Look, picture: &mut Picture) {
        let known = || values.iter().enumerate().filter_map(|(place, value)| Some((self.x(place) + aside, (*value)?)));
        for (x, value) in known().filter(|(_, value)| value.low < value.high) {
            picture.line((x, scale.place(value.low)), (x, scale.place(value.high)), look.colour, 1.25);
        }
        let places: Vec<Place> = known().map(|(x, value)| (x, scale.place(value.value))).collect();
        if places.len() > 1 {
            picture.curve(places.clone(), look);
        }
        if !self.is_dense() {
            places.into_iter().for_each(|place| picture.mark(place, look));
        }
    }

    /// Whether there are so many points that marks would hide the curves.
    const fn is_dense(&self) -> bool {
        self.places > DENSE
    }
}

fn has_intervals(values: &[Option<Estimate<f64>>]) -> bool {
    values.iter().flatten().any(|value| value.low < value.high)
}

/// The y-axis.
enum Scale {
    /// Logarithmic, from 10^`from` to 10^`to`, and how to format a label.
    Log {
        from: f64,
        to: f64,
        start: f64,
        end: f64,
        label: fn(f64) -> String,
    },
    Linear(LinearScale),
}

impl Scale {
    fn new(scale: YScale, (least, most): (f64, f64), start: f64, end: f64) -> Self {
        let label = match scale {
            YScale::Linear => return Self::Linear(LinearScale::new(least, most, start, end)),
            YScale::Share => percent,
            YScale::Logarithmic => text::short,
        };
        let to = most.clamp(10.0 * LEAST, f64::MAX).log10().ceil();
        let from = least.max(LEAST).log10().floor().min(to - 1.0);
        Self::Log { from, to, start, end, label }
    }

    fn place(&self, value: f64) -> f64 {
        match self {
            Self::Linear(scale) => scale.place(value),
            &Self::Log { from, to, start, end, .. } => {
                let share = (value.max(LEAST).log10() - from) / (to - from);
                start + share.clamp(0.0, 1.0) * (end - start)
            }
        }
    }

    fn ticks(&self) -> Vec<Tick> {
        let (from, to, label) = match self {
            Self::Linear(scale) => return scale.ticks(text::short),
            &Self::Log { from, to, label, .. } => (from as i32, to as i32, label),
        };
        let named = if to - from > 1 { &STEPS[..1] } else { &STEPS };
        // Decades whose labels would be too close are not all named.
        let apart = (self.place(10f64.powi(from)) - self.place(10f64.powi(from + 1))).max(1.0);
        let every = (APART / apart).ceil() as i32;
        let mut ticks = Vec::new();
        for decade in from..=to {
            let named = if (decade - from) % every == 0 { named } else { &[] };
            for step in (1..10).map(f64::from).filter(|&step| decade < to || step == 1.0) {
                let value = step * 10f64.powi(decade);
                let is_floor = value < 1.5 * LEAST;
                let label =
                    named.contains(&step).then(|| if is_floor { format!("≤ {}", label(value)) } else { label(value) });
                ticks.push(Tick { place: self.place(value), label });
            }
        }
        ticks
    }
}

fn percent(share: f64) -> String {
    format!("{}%", text::short(share * 100.0))
}

/// The appearances of the curves, in order. From the fifteenth on they have the colours of the first, with the dashes
/// and markers of others.
fn looks() -> impl Iterator<Item = Look> {
    /// How many appearances further on these are.
    const FURTHER: usize = 5;
    let own = || LOOKS.into_iter().chain(MORE_LOOKS);
    (0..).flat_map(move |round| {
        let others = own().cycle().skip(FURTHER * round);
        own().zip(others).map(|(look, other)| Look { colour: look.colour, ..other })
    })
}

/// One entry of the legend.
struct Entry<'a> {
    name: &'a str,
    /// Counted from the top.
    row: usize,
    x: f64,
}

const LETTERS: f64 = 12.5;
/// Width of the sample line beside each name.
const SAMPLE: f64 = 44.0;

/// The entries of the legend, in as many rows as they need.
fn legend(panels: &[SweepPanel]) -> Vec<Entry<'_>> {
    let (mut x, mut row) = (LEFT, 0);
    let curves = panels.first().map_or(&[][..], |panel| &panel.curves);
    let entry = |(name, _): &'_ (String, _)| {
        let width = SAMPLE + 1.15 * text_width(name, LETTERS);
        if x + width > RIGHT && x > LEFT {
            (x, row) = (LEFT, row + 1);
        }
        let entry = (row, x);
        x += width + 26.0;
        entry
    };
    let places: Vec<_> = curves.iter().map(entry).collect();
    curves.iter().zip(places).map(|((name, _), (row, x))| Entry { name, row, x }).collect()
}

impl Entry<'_> {
    fn draw(&self, last_row: usize, look: Look, picture: &mut Picture) {
        let (x, y) = (self.x, HEIGHT - 24.0 - ROW * (last_row - self.row) as f64);
        picture.curve(vec![(x, y), (x + SAMPLE - 8.0, y)], look);
        picture.mark((x + (SAMPLE - 8.0) / 2.0, y), look);
        picture.text((x + SAMPLE, y), self.name, LETTERS, INK, Align::Left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Shape, Text, Weight};
    use super::*;

    fn sweep(y: YScale, places: &[&str], curves: &[&[Estimate<f64>]]) -> Sweep {
        let curve = |(number, values): (usize, &&[Estimate<f64>])| {
            (format!("curve {number}"), values.iter().copied().map(Some).collect())
        };
        let panel = SweepPanel { name: String::new(), curves: curves.iter().enumerate().map(curve).collect() };
        let (title, subtitle, x) = Default::default();
        let places = places.iter().map(|&place| place.to_owned()).collect();
        Sweep { title, subtitle, x, places, y, mark: None, panels: vec![panel] }
    }

    /// The texts with this alignment, with their places.
    fn texts(sweep: &Sweep, aligned: Align) -> Vec<(Place, String)> {
        let text = |shape| match shape {
            Shape::Text(Text { at, text, align, .. }) if align == aligned => Some((at, text)),
            _ => None,
        };
        picture(sweep).shapes.into_iter().filter_map(text).filter(|(_, text)| !text.is_empty()).collect()
    }

    /// The labels of the y-axis, from the lowest.
    fn labels(values: &[Estimate<f64>]) -> Vec<String> {
        let all = texts(&sweep(YScale::Logarithmic, &vec!["1"; values.len()], &[values]), Align::Right);
        let places = all.iter().map(|((_, y), _)| *y);
        assert!(places.clone().zip(places.skip(1)).all(|(lower, upper)| lower - upper >= APART), "{all:?}");
        all.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn a_logarithmic_axis_goes_on_as_far_as_the_values() {
        let exact = |value| Estimate::exact(value);
        assert_eq!(labels(&[exact(2e4), exact(3e7)]), ["10k", "100k", "1M", "10M", "100M"]);
        assert_eq!(labels(&[exact(0.0), exact(0.5)])[0], "≤ 0.0001");
        assert_eq!(labels(&[exact(1.0), exact(f64::INFINITY)])[0], "1");
    }

    /// An interval that reaches zero has no end on a logarithmic axis.
    #[test]
    fn intervals_stretch_a_logarithmic_axis_by_a_decade_at_most() {
        let wide = |value, low| Estimate { value, low, high: 2.0 * value };
        assert_eq!(labels(&[wide(5.0, -1.0), wide(20.0, 10.0)]), ["0.1", "1", "10", "100"]);
        assert_eq!(labels(&[wide(5.0, 2.0), wide(20.0, 10.0)]), ["1", "10", "100"]);
    }

    #[test]
    fn no_two_curves_look_the_same() {
        let all: Vec<String> = looks().take(100).map(|look| format!("{look:?}")).collect();
        for (number, look) in all.iter().enumerate() {
            assert!(!all[..number].contains(look), "{number}: {look}");
        }
    }

    /// A long name has two lines, and the names of all panels have one size and end at one height.
    #[test]
    fn names_of_panels_have_one_size() {
        let headings = |names: [&str; 3]| {
            let mut sweep = sweep(YScale::Linear, &["1"], &[&[Estimate::exact(1.0)]]);
            let panel = |name: &str| SweepPanel { name: name.to_owned(), ..sweep.panels[0].clone() };
            sweep.panels = names.into_iter().map(panel).collect();
            let text = |shape| match shape {
                Shape::Text(Text { at, text, size, weight: Weight::Semibold, .. }) if !text.is_empty() => {
                    Some((at.1, size, text))
                }
                _ => None,
            };
            picture(&sweep).shapes.into_iter().filter_map(text).collect::<Vec<_>>()
        };
        let long = headings(["short", "the name of a panel that is too long for a line", "also short"]);
        let texts: Vec<&str> = long.iter().map(|(.., text)| text.as_str()).collect();
        assert_eq!(texts, ["short", "that is too long for a line", "the name of a panel", "also short"]);
        assert!(long.iter().all(|(_, size, _)| *size == NAME), "{long:?}");
        assert!(long[1].0 == long[0].0 && long[1].0 == long[3].0 && long[2].0 < long[1].0, "{long:?}");
        let word = headings(["short", "a-word-without-any-blank-that-is-too-long-for-a-line", "also short"]);
        assert!(word.len() == 3 && word.iter().all(|(_, size, _)| *size == word[0].1 && *size < NAME), "{word:?}");
    }

    #[test]
    fn names_that_do_not_fit_into_a_line_stand_in_two() {
        let names = |places: &[&str]| {
            let values = vec![Estimate::exact(1.0); places.len()];
            let names = texts(&sweep(YScale::Linear, places, &[&values]), Align::Centre);
            let mut lines: Vec<f64> = names.iter().map(|((_, y), _)| *y).collect();
            lines.dedup();
            (names.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), lines.len())
        };
        assert_eq!(names(&["short", "names"]), (vec!["short".to_owned(), "names".to_owned()], 1));
        let long: Vec<String> = (0..8).map(|number| format!("the workload number {number}")).collect();
        let long: Vec<&str> = long.iter().map(String::as_str).collect();
        assert_eq!(names(&long), (long.iter().map(|&name| name.to_owned()).collect(), long.len()));
        assert_eq!(names(&["1000000000"; 20]).1, 1);
        let (cut, _) = names(&[&long[..], &long].concat());
        let is_end = |(cut, name): (&String, &&str)| cut.starts_with('…') && name.ends_with(&cut['…'.len_utf8()..]);
        assert!(cut.len() == 16 && cut.iter().zip(long.iter().cycle()).all(is_end), "{cut:?}");
    }
}
