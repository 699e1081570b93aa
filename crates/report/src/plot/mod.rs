//! Pictures for reports and slides: distribution functions, quantiles over time, queues, maps and plans, and how errors
//! change with a parameter.
//!
//! A drawing is a list of shapes in points ([`WIDTH`] × [`HEIGHT`]), then rendered as SVG or PNG. Curves differ by
//! colour (the palette of Okabe and Ito, which colour-blind people can tell apart), by dashes and by markers, so a
//! black and white print still reads.

// What is drawn.
mod cdf;
mod map;
mod owd;
mod plan;
mod queue;
mod series;
mod sweep;
// Panels over time.
mod steps;
// Values to places.
mod scale;
// Shapes, and their rendering.
mod letters;
mod picture;
mod render;

use crate::net::PlanReport;
use crate::owd::OwdReport;
use crate::queue::QueueReport;
use crate::rtt::{ResultLine, RttReport};
use crate::text;
use dwell_sketch::estimate::Estimate;
use std::io::{self, Write};
use std::path::Path;

/// Width of a picture, in points.
pub const WIDTH: f64 = 900.0;
/// Height of a picture, in points.
pub const HEIGHT: f64 = 600.0;

/// How a picture is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Scalable vector graphics; text in whatever sans-serif font the viewer has.
    Svg,
    /// A bitmap with two pixels per point.
    Png,
}

impl Image {
    /// The kind of image that a file name asks for; `None` unless it ends in `.svg` or `.png`.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        if extension.eq_ignore_ascii_case("svg") {
            Some(Self::Svg)
        } else if extension.eq_ignore_ascii_case("png") {
            Some(Self::Png)
        } else {
            None
        }
    }
}

/// Draws the distribution function of every result, those with the most exchanges first, with 95% bands.
pub fn write(report: &RttReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&cdf::picture(report), image, to)
}

/// Draws p50, p95 and p99 over time with 95% bands, one panel per result, those with the most exchanges first.
pub fn write_series(reports: &[RttReport], image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&series::picture(reports), image, to)
}

/// Draws one-way delay and loss over time with 95% bands.
pub fn write_owd(report: &OwdReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&owd::picture(report), image, to)
}

/// Draws probe hops and lengths of segments against instrumented routers, a curve per strategy.
pub fn write_plans(reports: &[PlanReport], image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&plan::picture(reports), image, to)
}

/// A network to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPicture {
    /// What it is.
    pub title: String,
    /// What else there is to know.
    pub subtitle: String,
    /// All routers.
    pub routers: Vec<MapRouter>,
    /// All links, each direction for itself.
    pub links: Vec<MapLink>,
}

/// A router on a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRouter {
    /// Its name.
    pub name: String,
    /// To the right and down, in any unit.
    pub place: (f64, f64),
    /// Whether it measures inside itself.
    pub instrumented: bool,
}

/// A link on a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapLink {
    /// Where it begins: a number of `routers`.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
    /// How long it takes in nanoseconds, if that is known.
    pub delay_ns: Option<f64>,
    /// Whether its segment is slower or lossier than usual.
    pub alarm: bool,
}

/// Draws a map: instrumented routers marked, links coloured by delay.
pub fn write_map(map: &MapPicture, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&map::picture(map), image, to)
}

/// Draws a queue over time with the part of its largest flow, and episodes; below, delays, or sizes of flows as
/// estimated and as they were.
pub fn write_queue(report: &QueueReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&queue::picture(report), image, to)
}

/// How several methods compare where something is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// The heading.
    pub title: String,
    /// What is drawn, in a line.
    pub subtitle: String,
    /// What is varied.
    pub x: String,
    /// Its values, from left to right.
    pub places: Vec<String>,
    /// What is drawn upwards.
    pub y: Height,
    /// Where a dark line is drawn.
    pub mark: Option<f64>,
    /// One or more.
    pub panels: Vec<SweepPanel>,
}

impl Sweep {
    /// Errors, as shares of the truth, against the bytes that the methods had; 5% is marked.
    pub fn of_memories(title: String, subtitle: &str, memories: &[usize], panels: Vec<SweepPanel>) -> Self {
        let places = memories.iter().map(|&bytes| text::bytes(bytes as u64)).collect();
        let (x, subtitle) = ("memory".to_owned(), format!("{subtitle} Dark line: 5%."));
        Self { title, subtitle, x, places, y: Height::Share, mark: Some(0.05), panels }
    }
}

/// A panel of a [`Sweep`].
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPanel {
    /// What is measured.
    pub name: String,
    /// By method, the same in all panels: a value at each of [`Sweep::places`].
    pub curves: Vec<(String, Vec<Option<Estimate<f64>>>)>,
}

/// An axis upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Height {
    /// Errors as shares of the truth, by their logarithms.
    Share,
    /// Anything above zero, by its logarithm.
    Logarithmic,
    /// Anything else.
    Linear,
}

/// Draws one panel for each question and one curve for each method.
pub fn write_sweep(sweep: &Sweep, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&sweep::picture(sweep), image, to)
}

/// The heading of a picture: what was measured.
fn heading(reports: &[RttReport]) -> String {
    let sources = reports.first().map(|r| r.sources.join(", ")).unwrap_or_default();
    cut(format!("Response times in {sources}"))
}

/// A heading cut to the width.
fn cut(title: String) -> String {
    const LONGEST: usize = 90;
    if title.chars().count() <= LONGEST {
        return title;
    }
    title.chars().take(LONGEST).chain(['…']).collect()
}

/// The results of one or more reports, each once, with their exchanges added up, the most frequent first.
fn ranked(reports: &[RttReport]) -> Vec<(&ResultLine, f64)> {
    let mut ranked: Vec<(&ResultLine, f64)> = Vec::new();
    for line in reports.iter().flat_map(|r| &r.results) {
        let exchanges = line.exchanges.map_or(0.0, |e| e.value);
        match ranked.iter_mut().find(|(known, _)| known.is_same(line)) {
            Some((_, sum)) => *sum += exchanges,
            None => ranked.push((line, exchanges)),
        }
    }
    ranked.retain(|r| r.1 > 0.0);
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked
}

/// What the bands around the curves of these results mean; empty where there are none.
fn bands<'a>(mut lines: impl Iterator<Item = &'a ResultLine> + Clone) -> &'static str {
    let mut widths = lines.clone().flat_map(|l| l.delay_ns.quantiles()).filter_map(|(_, q)| q);
    if lines.any(|l| !l.is_complete()) {
        " Bands: 95% intervals."
    } else if widths.any(|q| !q.is_exact()) {
        " Bands: what repeated requests leave open."
    } else {
        ""
    }
}
