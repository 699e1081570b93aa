//! Renders pictures to files with the backends of `plotters`.

use super::letters::{self, Letters};
use super::picture::{Align, Colour, Marker, Picture, Place, Polygon, Shape, Text, WHITE, Weight};
use super::{HEIGHT, Image, WIDTH};
use crate::text;
use plotters::backend::{BitMapBackend, DrawingBackend, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};
use std::io::{self, Write};

/// Drawing units per point, because the backends round to whole units.
const UNITS: f64 = 4.0;
/// Drawing units per pixel of a PNG in each direction; averaging them smooths all edges.
const UNITS_PER_PIXEL: usize = 2;
/// Font families requested in an SVG.
const FONTS: &str = "Open Sans, DejaVu Sans, Helvetica, Arial, sans-serif";

pub(super) fn write(picture: &Picture, image: Image, to: &mut impl Write) -> io::Result<()> {
    match image {
        Image::Svg => to.write_all(svg(picture)?.as_bytes()),
        Image::Png => png(picture, to),
    }
}

fn size() -> (u32, u32) {
    ((WIDTH * UNITS) as u32, (HEIGHT * UNITS) as u32)
}

fn svg(picture: &Picture) -> io::Result<String> {
    let mut text = String::new();
    let mut backend = SVGBackend::with_string(&mut text, size());
    draw(picture, &mut backend, svg_text).map_err(io::Error::other)?;
    backend.present().map_err(io::Error::other)?;
    drop(backend);
    let (width, height) = size();
    let units = format!("width=\"{width}\" height=\"{height}\"");
    Ok(text.replacen(&units, &format!("width=\"{WIDTH}\" height=\"{HEIGHT}\""), 1))
}

fn png(picture: &Picture, to: &mut impl Write) -> io::Result<()> {
    let (width, height) = size();
    let mut units = vec![0xff; width as usize * height as usize * 3];
    {
        let mut backend = BitMapBackend::with_buffer(&mut units, (width, height));
        draw(picture, &mut backend, bitmap_text).map_err(io::Error::other)?;
        backend.present().map_err(io::Error::other)?;
    }
    let row = width as usize * 3;
    let mut pixels = Vec::with_capacity(units.len() / UNITS_PER_PIXEL / UNITS_PER_PIXEL);
    for rows in units.chunks_exact(row * UNITS_PER_PIXEL) {
        for left in (0..row).step_by(3 * UNITS_PER_PIXEL) {
            for channel in left..left + 3 {
                let column = (0..UNITS_PER_PIXEL * UNITS_PER_PIXEL)
                    .map(|i| u32::from(rows[channel + i / UNITS_PER_PIXEL * row + i % UNITS_PER_PIXEL * 3]));
                pixels.push((column.sum::<u32>() / (UNITS_PER_PIXEL * UNITS_PER_PIXEL) as u32) as u8);
            }
        }
    }
    let mut encoder = png::Encoder::new(to, width / UNITS_PER_PIXEL as u32, height / UNITS_PER_PIXEL as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(io_error)?;
    writer.write_image_data(&pixels).map_err(io_error)?;
    writer.finish().map_err(io_error)
}

/// The underlying I/O error of a failing writer, so that a closed pipe can still be recognised.
fn io_error(error: png::EncodingError) -> io::Error {
    match error {
        png::EncodingError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// Draws every shape; the backends differ in how they draw text.
fn draw<B: DrawingBackend>(
    picture: &Picture,
    to: &mut B,
    text: fn(&mut B, &Text) -> Result<(), String>,
) -> Result<(), String> {
    to.draw_rect((0, 0), (size().0 as i32, size().1 as i32), &rgb(WHITE), true).map_err(words)?;
    for shape in &picture.shapes {
        match shape {
            Shape::Line { places, colour, width, dashes } => {
                let style = stroke(*colour, *width);
                for dash in dashed(places, dashes) {
                    let path: Vec<(i32, i32)> = without_repeats(&dash);
                    if path.len() > 1 {
                        to.draw_path(path, &style).map_err(words)?;
                    }
                }
            }
            Shape::Area { places, colour, opacity } => {
                let style = ShapeStyle { color: rgb(*colour).mix(*opacity), filled: true, stroke_width: 0 };
                to.fill_polygon(without_repeats(places), &style).map_err(words)?;
            }
            Shape::Mark { at, marker, colour } => mark(to, *at, *marker, *colour)?,
            Shape::Text(words) => text(to, words)?,
        }
    }
    Ok(())
}

/// Writes the text itself; the viewer chooses the font. The backend divides sizes by 1.24 and centres on the middle
/// of lowercase letters without ascenders.
fn svg_text(to: &mut SVGBackend<'_>, text: &Text) -> Result<(), String> {
    let style = if text.weight == Weight::Semibold { FontStyle::Bold } else { FontStyle::Normal };
    let transform = if text.is_upright { FontTransform::Rotate270 } else { FontTransform::None };
    let font = (FONTS, text.size * 1.24 * UNITS, style).into_font().transform(transform);
    let h_pos = match text.align {
        Align::Left => HPos::Left,
        Align::Centre => HPos::Center,
        Align::Right => HPos::Right,
    };
    let colour = rgb(text.colour);
    let style = TextStyle::from(font).color(&colour).pos(Pos::new(h_pos, VPos::Center));
    let lower = letters::BELOW_MIDDLE - 0.27;
    let at = if text.is_upright { text.at } else { (text.at.0, text.at.1 + lower * text.size) };
    to.draw_text(&text.text, &style, units(at)).map_err(words)
}

/// Draws the glyphs, because the backend ignores the left side bearing of a letter.
fn bitmap_text(to: &mut BitMapBackend<'_>, text: &Text) -> Result<(), String> {
    let letters = Letters::new(text.weight, text.size * UNITS)?;
    let width = letters.width(&text.text);
    let (x, y) = (text.at.0 * UNITS, text.at.1 * UNITS);
    let start = match text.align {
        Align::Left => 0.0,
        Align::Centre => -width / 2.0,
        Align::Right => -width,
    };
    let mut failed = None;
    letters.draw(&text.text, |along, down, coverage| {
        let (along, down) = (start + f64::from(along), f64::from(down));
        let (x, y) = if text.is_upright { (x + down, y - along) } else { (x + along, y + down) };
        let colour = rgb(text.colour).mix(coverage).to_backend_color();
        if let Err(error) = to.draw_pixel((x.round() as i32, y.round() as i32), colour) {
            failed = Some(words(error));
        }
    });
    failed.map_or(Ok(()), Err)
}

/// The width of a text in points, as the PNG draws it; letters that its font lacks are as wide as high, as most fonts of
/// an SVG's viewer have them.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let guess = text.chars().count() as f64 * size * 0.55;
    Letters::new(Weight::Regular, size).map_or(guess, |letters| {
        let (known, lacking): (String, String) = text.chars().partition(|&letter| letters.has(letter));
        letters.width(&known) + lacking.chars().count() as f64 * size
    })
}

/// Whether a PNG shows every letter of a text.
pub(super) fn is_shown(text: &str) -> bool {
    Letters::new(Weight::Regular, 1.0).is_ok_and(|letters| text::plain(text).chars().all(|letter| letters.has(letter)))
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn mark<B: DrawingBackend>(to: &mut B, (x, y): Place, marker: Marker, colour: Colour) -> Result<(), String> {
    let filled = ShapeStyle { color: rgb(colour).to_rgba(), filled: true, stroke_width: 0 };
    let white = rgb(WHITE);
    let around = |radius: f64, corners: &[Place]| -> Vec<(i32, i32)> {
        corners.iter().map(|(dx, dy)| units((x + dx * radius, y + dy * radius))).collect()
    };
    let strokes = |to: &mut B, radius: f64, ends: [Place; 2]| {
        let style = stroke(colour, 2.2);
        ends.iter().try_for_each(|&(dx, dy)| to.draw_path(around(radius, &[(-dx, -dy), (dx, dy)]), &style))
    };
    let drawn = match marker {
        Marker::Dot => to.draw_circle(units((x, y)), (1.6 * UNITS) as u32, &filled, true),
        Marker::Circle => to.draw_circle(units((x, y)), (4.2 * UNITS) as u32, &filled, true),
        Marker::Ring => to
            .draw_circle(units((x, y)), (4.4 * UNITS) as u32, &filled, true)
            .and_then(|()| to.draw_circle(units((x, y)), (2.4 * UNITS) as u32, &white, true)),
        Marker::Cross => strokes(to, 4.2, [(1.0, 1.0), (1.0, -1.0)]),
        Marker::Plus => strokes(to, 5.2, [(1.0, 0.0), (0.0, 1.0)]),
        Marker::Filled(polygon) => {
            let (radius, corners) = outline(polygon);
            to.fill_polygon(around(radius, corners), &filled)
        }
        Marker::Hollow(polygon) => {
            let (radius, corners) = outline(polygon);
            to.fill_polygon(around(1.2 * radius, corners), &filled)
                .and_then(|()| to.fill_polygon(around(0.6 * radius, corners), &white))
        }
    };
    drawn.map_err(words)
}

/// Radius, and corners relative to it.
fn outline(polygon: Polygon) -> (f64, &'static [Place]) {
    match polygon {
        Polygon::Square => (3.8, &[(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]),
        Polygon::Triangle => (4.8, &[(0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)]),
        Polygon::Drop => (4.8, &[(0.0, 1.0), (1.0, -0.8), (-1.0, -0.8)]),
        Polygon::Diamond => (5.2, &[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]),
    }
}

fn rgb((red, green, blue): Colour) -> RGBColor {
    RGBColor(red, green, blue)
}

fn stroke(colour: Colour, width: f64) -> ShapeStyle {
    ShapeStyle { color: rgb(colour).to_rgba(), filled: false, stroke_width: (width * UNITS).round().max(1.0) as u32 }
}

fn units((x, y): Place) -> (i32, i32) {
    ((x * UNITS).round() as i32, (y * UNITS).round() as i32)
}

fn without_repeats(places: &[Place]) -> Vec<(i32, i32)> {
    let mut path: Vec<(i32, i32)> = places.iter().copied().map(units).collect();
    path.dedup();
    path
}

/// Splits a path into dashes: alternating lengths of dash and gap.
fn dashed(places: &[Place], dashes: &[f64]) -> Vec<Vec<Place>> {
    if dashes.iter().sum::<f64>() <= 0.0 {
        return vec![places.to_vec()];
    }
    /// More dashes than this cannot be distinguished: such a path runs far outside the picture.
    const MOST_PIECES: usize = 10_000;
    let mut pieces = vec![Vec::new()];
    let (mut turn, mut left) = (0, dashes[0]);
    for pair in places.windows(2) {
        if pieces.len() > MOST_PIECES {
            break;
        }
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let length = dx.hypot(dy);
            if !length.is_finite() {
                break;
            }
            let step = left.min(length);
            let share = if length > 0.0 { step / length } else { 1.0 };
            let next = (from.0 + dx * share, from.1 + dy * share);
            if turn % 2 == 0 {
                match pieces.last_mut() {
                    Some(piece) if !piece.is_empty() => piece.push(next),
                    Some(piece) => piece.extend([from, next]),
                    None => {}
                }
            }
            left -= step;
            from = next;
            if left > 0.0 || pieces.len() > MOST_PIECES {
                break;
            }
            turn = (turn + 1) % dashes.len();
            left = dashes[turn];
            pieces.push(Vec::new());
        }
    }
    // A dash that begins where the path ends has no length.
    pieces.retain(|p| p.windows(2).any(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1) > 1e-6));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XML 1.0 allows no control characters, not even escaped: an SVG that contains one is not well-formed.
    #[test]
    fn any_name_gives_sound_xml() {
        let mut picture = Picture::default();
        let name = "<&>\"'\0\u{1b}[31m\u{7f}\u{fffe}\r\n";
        picture.text((9.0, 9.0), name, 12.0, (0, 0, 0), Align::Left);
        picture.upright((9.0, 9.0), name, 12.0);
        let text = svg(&picture).unwrap();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{fffe}'));
        let texts: Vec<&str> = text.lines().filter(|line| line.contains("[31m")).map(str::trim).collect();
        assert_eq!(texts.len(), 2, "{text}");
        assert!(
            texts.iter().all(|text| text.starts_with("&lt;&amp;&gt;") && text.ends_with("??[31m????")),
            "{texts:?}"
        );
    }

    #[test]
    fn dashes_cover_their_share_of_the_path() {
        let path = [(0.0, 0.0), (10.0, 0.0), (10.0, 10.0), (30.0, 10.0)];
        let pieces = dashed(&path, &[3.0, 1.0]);
        let length =
            |piece: &Vec<Place>| piece.windows(2).map(|p| (p[1].0 - p[0].0).hypot(p[1].1 - p[0].1)).sum::<f64>();
        assert_eq!(pieces.len(), 10);
        assert!(pieces.iter().all(|p| (length(p) - 3.0).abs() < 1e-9));
        assert_eq!(dashed(&path, &[]), [path.to_vec()]);
    }
}
