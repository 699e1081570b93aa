//! Glyphs of the fonts in `assets/`, for bitmaps.

use super::picture::Weight;
use ab_glyph::{Font, FontRef, PxScale, ScaleFont, point};

/// Distance from the middle of a line of text to its baseline, per font size: half the height of capitals and digits.
pub(super) const BELOW_MIDDLE: f64 = 0.357;

const REGULAR: &[u8] = include_bytes!("../../assets/OpenSans-Regular.ttf");
const SEMIBOLD: &[u8] = include_bytes!("../../assets/OpenSans-Semibold.ttf");

/// A font at one size.
pub(super) struct Letters {
    font: FontRef<'static>,
    scale: PxScale,
    size: f64,
}

impl Letters {
    /// `size` is the font's em in pixels.
    pub(super) fn new(weight: Weight, size: f64) -> Result<Self, String> {
        let bytes = if weight == Weight::Semibold { SEMIBOLD } else { REGULAR };
        let font = FontRef::try_from_slice(bytes).map_err(|e| format!("the font of the plot: {e}"))?;
        let em = font.units_per_em().unwrap_or(1_000.0);
        let scale = PxScale::from((size * f64::from(font.height_unscaled() / em)) as f32);
        Ok(Self { font, scale, size })
    }

    /// Whether the font has this letter.
    pub(super) fn has(&self, letter: char) -> bool {
        self.font.glyph_id(letter).0 != 0
    }

    /// The letter, or what is drawn instead of one that the font lacks.
    fn drawn(&self, letter: char) -> char {
        match letter {
            _ if self.has(letter) => letter,
            // Between the two ends of a flow.
            '→' => '>',
            _ => '?',
        }
    }

    /// The width of a text in pixels.
    pub(super) fn width(&self, text: &str) -> f64 {
        let font = self.font.as_scaled(self.scale);
        self.places(text).last().map_or(0.0, |(x, letter)| f64::from(x + font.h_advance(font.glyph_id(letter))))
    }

    /// Calls `pixel` with the position and the coverage in `0..=1` of every pixel that the text touches. Positions are
    /// relative to the left end of the text and its vertical middle.
    pub(super) fn draw(&self, text: &str, mut pixel: impl FnMut(i32, i32, f64)) {
        let line = (self.size * BELOW_MIDDLE) as f32;
        for (x, letter) in self.places(text) {
            let glyph = self.font.glyph_id(letter).with_scale_and_position(self.scale, point(x, line));
            let Some(outline) = self.font.outline_glyph(glyph) else { continue };
            let corner = outline.px_bounds().min;
            outline.draw(|right, down, coverage| {
                let place = (corner.x as i32 + right as i32, corner.y as i32 + down as i32);
                pixel(place.0, place.1, f64::from(coverage.clamp(0.0, 1.0)));
            });
        }
    }

    /// The letters that are drawn, each with its position.
    fn places<'a>(&'a self, text: &'a str) -> impl Iterator<Item = (f32, char)> + 'a {
        let font = self.font.as_scaled(self.scale);
        let mut next = 0.0;
        let mut previous = None;
        text.chars().map(|letter| self.drawn(letter)).map(move |letter| {
            let glyph = font.glyph_id(letter);
            let x = next + previous.map_or(0.0, |p| font.kern(p, glyph));
            next = x + font.h_advance(glyph);
            previous = Some(glyph);
            (x, letter)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_follow_the_letters() {
        let letters = Letters::new(Weight::Regular, 10.0).unwrap();
        let (narrow, wide) = (letters.width("iii"), letters.width("MMM"));
        assert!(narrow > 5.0 && wide > 2.0 * narrow && wide < 40.0, "{narrow} {wide}");
        assert_eq!(letters.width(""), 0.0);
        assert_eq!(letters.width("名前"), letters.width("??"));
        assert_eq!(letters.width("a → b"), letters.width("a > b"));
    }

    #[test]
    fn every_letter_of_a_label_is_in_the_font() {
        for weight in [Weight::Regular, Weight::Semibold] {
            let letters = Letters::new(weight, 10.0).unwrap();
            for letter in "0123456789.,:;%()[]–-…≈µ/_ abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".chars()
            {
                assert!(letters.has(letter), "{letter:?}");
            }
        }
    }

    #[test]
    fn letters_stand_in_their_line() {
        let (mut top, mut bottom) = (0, 0);
        Letters::new(Weight::Regular, 100.0).unwrap().draw("H", |_, down, coverage| {
            if coverage > 0.5 {
                (top, bottom) = (top.min(down), bottom.max(down));
            }
        });
        assert!((top + bottom).abs() <= 2 && bottom > 30, "{top} to {bottom}");
    }
}
