//! Plots for reports and slides: distribution functions, quantiles over time, queues, maps and plans, and errors
//! against a parameter.
//!
//! A plot is a list of shapes in points (900 × 600), which is then rendered as SVG or PNG. Curves differ
//! in colour (the palette of Okabe and Ito, which is safe for colour-blind readers), dashes and markers, so they can be
//! told apart in black and white, too.

// The kinds of plots.
mod cdf;
mod map;
pub use map::{MapLink, MapPicture, MapRouter};
mod owd;
mod plan;
mod queue;
mod series;
mod sweep;
pub use sweep::{Sweep, SweepPanel, YScale};
// Panels with a time axis.
mod steps;
// Scales and ticks of axes.
mod scale;
// Shapes, and rendering them.
mod letters;
mod picture;
mod render;

use crate::net::PlanReport;
use crate::owd::OwdReport;
use crate::queue::QueueReport;
use crate::rtt::{Course, MOST_CURVES, Order, ResultLine, RttReport};
use crate::text;
use picture::{Align, Picture, QUIET};
use render::text_width;
use std::io::{self, Write};
use std::path::Path;

/// Width of a picture, in points.
const WIDTH: f64 = 900.0;
/// Height of a picture, in points.
const HEIGHT: f64 = 600.0;
/// Space to the right of what is written above a plot.
const MARGIN: f64 = 26.0;
/// A viewer's font is wider than ours by at most this factor.
const WIDEST: f64 = 1.3;
const _: () = assert!(MOST_CURVES == picture::LOOKS.len(), "each curve has a look of its own");

/// How a picture is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Image {
    /// Scalable vector graphics; text in whatever sans-serif font the viewer has.
    Svg,
    /// A bitmap with two pixels per point.
    Png,
}

impl Image {
    /// The kind of image that a file name implies; `None` unless it ends in `.svg` or `.png`.
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

/// Draws the distribution functions of the first results, in the order of the report, with their 95% bands.
pub fn write(report: &RttReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&cdf::picture(report), image, to)
}

/// Draws p50, p95 and p99 over time with 95% bands, one panel for each of the first results, in the order of the reports.
pub fn write_series(reports: &[RttReport], image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&series::picture(reports), image, to)
}

/// Draws one-way delay and loss over time with 95% bands.
pub fn write_owd(report: &OwdReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&owd::picture(report), image, to)
}

/// Draws the distribution functions of the one-way delay with their 95% bands: both directions, then the flows.
pub fn write_owd_cdf(report: &OwdReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&cdf::of_owd(report), image, to)
}

/// Draws probe hops and segment lengths against the number of instrumented routers, one curve per strategy.
pub fn write_plans(reports: &[PlanReport], image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&plan::picture(reports), image, to)
}

/// Whether the font of PNG plots has every letter of a text; it draws `?` instead of others.
pub fn is_in_png(text: &str) -> bool {
    render::is_shown(text)
}

/// Draws a map: instrumented routers marked, links coloured by delay.
pub fn write_map(map: &MapPicture, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&map::picture(map), image, to)
}

/// Draws a queue over time with the share of its largest flow, and episodes; below, delays, or estimated against actual
/// sizes of flows.
pub fn write_queue(report: &QueueReport, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&queue::picture(report), image, to)
}

/// Draws one panel per measured quantity and one curve per method.
pub fn write_sweep(sweep: &Sweep, image: Image, to: &mut impl Write) -> io::Result<()> {
    render::write(&sweep::picture(sweep), image, to)
}

/// The title of a plot of response times.
fn rtt_title(reports: &[RttReport]) -> String {
    let sources = reports.first().map(|r| text::few(&r.sources).join(", ")).unwrap_or_default();
    format!("Response times in {sources}")
}

/// The title of a plot of one-way delays. Two full paths are too long, and file names say most.
fn owd_title(report: &OwdReport) -> String {
    let [sender, receiver] = report.sources.each_ref().map(|source| file_name(source));
    format!("One way from {sender} to {receiver}")
}

/// What follows the last slash of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Writes the title: the beginning of a long one, and in letters small enough for any viewer's font.
fn title(text: &str, left: f64, picture: &mut Picture) {
    const LONGEST: usize = 91;
    let text = text::cut(text, LONGEST);
    let size = fitting(&text, 17.0, WIDTH - MARGIN - left);
    picture.heading((left, 28.0), text, size);
}

/// Writes the sentences below the title, in as many lines as they need.
fn subtitle(sentences: &[String], left: f64, picture: &mut Picture) {
    const SIZE: f64 = 12.5;
    const LINE: f64 = 16.0;
    let mut y = 52.0;
    let mut line = String::new();
    for sentence in sentences.iter().filter(|sentence| !sentence.is_empty()) {
        let longer = if line.is_empty() { sentence.clone() } else { format!("{line} {sentence}") };
        if !line.is_empty() && left + text_width(&longer, SIZE) > WIDTH - MARGIN {
            let full = std::mem::replace(&mut line, sentence.clone());
            picture.text((left, y), full, SIZE, QUIET, Align::Left);
            y += LINE;
        } else {
            line = longer;
        }
    }
    picture.text((left, y), line, SIZE, QUIET, Align::Left);
}

/// Says in the middle of a picture why there is nothing else in it.
fn nothing(words: &str, picture: &mut Picture) {
    picture.text((WIDTH / 2.0, HEIGHT / 2.0), words, 16.0, QUIET, Align::Centre);
}

/// The largest font size, up to `size`, at which a text fits into `width` in any viewer's font.
fn fitting(text: &str, size: f64, width: f64) -> f64 {
    size.min(size * width / (WIDEST * text_width(text, size)).max(1.0))
}

/// As much of a name as fits into `width`, at most `longest` characters: the beginning and the end, which distinguishes
/// most of them.
fn shortened(name: &str, longest: usize, size: f64, width: f64) -> String {
    let lengths = (1..=longest.min(name.chars().count())).rev();
    let mut names = lengths.map(|length| text::shortened(name, length));
    names.find(|name| text_width(name, size) <= width).unwrap_or_default()
}

/// The results of one or more reports in their order, without those that have no exchanges.
fn ranked(reports: &[RttReport]) -> Vec<Course<'_>> {
    let mut ranked = Course::all(reports);
    ranked.retain(|result| result.lines().any(|line| line.answered() > 0.0));
    Order::of(reports).rank_courses(&mut ranked);
    ranked
}

/// What the bands around the curves of these results mean; empty if there are no bands.
fn bands<'a>(mut lines: impl Iterator<Item = &'a ResultLine> + Clone) -> &'static str {
    let is_wide = |line: &ResultLine| {
        let mut quantiles = line.delay_ns.quantiles.iter().flatten();
        quantiles.any(|quantile| !quantile.is_exact()) || line.cdf.iter().any(|point| !point.share.is_exact())
    };
    if lines.clone().any(|line| !line.is_complete()) {
        "Bands: 95% intervals."
    } else if lines.clone().any(|line| line.ambiguous_samples > 0 && is_wide(line)) {
        "Bands: what repeated requests leave open."
    } else if lines.any(is_wide) {
        "Bands: the bins in which delays are stored."
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picture::{Shape, Text};

    #[test]
    fn subtitles_stay_within_the_picture() {
        let lines = |sentences: &[&str]| {
            let mut picture = Picture::default();
            let sentences: Vec<String> = sentences.iter().map(|&sentence| sentence.to_owned()).collect();
            subtitle(&sentences, 72.0, &mut picture);
            let written = picture.shapes.into_iter().map(|shape| match shape {
                Shape::Text(Text { at, text, size, .. }) => {
                    assert!(at.0 + text_width(&text, size) <= WIDTH - MARGIN, "{text}");
                    (at.1, text)
                }
                _ => panic!("{shape:?}"),
            });
            written.collect::<Vec<_>>()
        };
        let span = "Delay per interval, 2010-06-29 19:00:00 – 2015-01-03 14:00:00 UTC (1648 d 19 h).";
        let [bands, largest] = ["Bands: what repeated requests leave open.", "The 4 largest of 5 results."];
        assert_eq!(lines(&[span, bands, ""]), [(52.0, format!("{span} {bands}"))]);
        assert_eq!(lines(&[span, bands, largest]), [(52.0, format!("{span} {bands}")), (68.0, largest.to_owned())]);
    }

    /// Whatever the letters of a name, all of it is within the picture, and names that differ at their ends still do.
    #[test]
    fn names_of_any_width_fit() {
        for letter in ["W", "i", "名"] {
            let name = letter.repeat(200);
            let mut picture = Picture::default();
            title(&name, 72.0, &mut picture);
            for shape in picture.shapes {
                let Shape::Text(Text { at, text, size, .. }) = shape else { panic!("{shape:?}") };
                assert!(at.0 + WIDEST * text_width(&text, size) <= WIDTH - MARGIN + 0.1, "{text} of size {size}");
            }
            let short = |end: char| shortened(&format!("{name}{end}"), 91, 13.0, 700.0);
            assert!(text_width(&short('a'), 13.0) <= 700.0 && short('a') != short('b'), "{}", short('a'));
        }
        assert_eq!(shortened("short", 91, 13.0, 700.0), "short");
        assert_eq!(shortened("longer", 5, 13.0, 700.0), "lo…er");
    }
}
