//! The shapes that make up a picture. Positions are in points from the upper left corner.

use crate::text::plain;

/// A position: points to the right and down.
pub(super) type Place = (f64, f64);

/// Red, green, blue.
pub(super) type Colour = (u8, u8, u8);

pub(super) const INK: Colour = (0x22, 0x22, 0x22);
pub(super) const QUIET: Colour = (0x66, 0x66, 0x66);
pub(super) const GRID: Colour = (0xd9, 0xd9, 0xd9);
pub(super) const FAINT_GRID: Colour = (0xef, 0xef, 0xef);
pub(super) const WHITE: Colour = (0xff, 0xff, 0xff);

/// The appearance of a curve, which differs from all others in colour, dashes or marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) colour: Colour,
    /// Alternating lengths of dashes and gaps, in points; empty for a solid line.
    pub(super) dashes: &'static [f64],
    pub(super) marker: Marker,
}

/// Appearances of the curves in one picture, in order.
pub(super) const LOOKS: [Look; 6] = [
    Look { colour: (0x00, 0x72, 0xb2), dashes: &[], marker: Marker::Circle },
    Look { colour: (0xd5, 0x5e, 0x00), dashes: &[9.0, 4.0], marker: Marker::Filled(Polygon::Square) },
    Look { colour: (0x00, 0x9e, 0x73), dashes: &[2.5, 3.0], marker: Marker::Filled(Polygon::Triangle) },
    Look { colour: (0xcc, 0x79, 0xa7), dashes: &[9.0, 3.0, 2.5, 3.0], marker: Marker::Filled(Polygon::Diamond) },
    Look { colour: (0xe6, 0x9f, 0x00), dashes: &[16.0, 4.0], marker: Marker::Cross },
    Look { colour: (0x56, 0xb4, 0xe9), dashes: &[9.0, 3.0, 2.5, 3.0, 2.5, 3.0], marker: Marker::Ring },
];

/// Appearances of further curves, for pictures with more than six.
pub(super) const MORE_LOOKS: [Look; 8] = [
    Look { colour: (0x22, 0x22, 0x22), dashes: &[4.0, 2.5], marker: Marker::Hollow(Polygon::Square) },
    Look { colour: (0x8c, 0x51, 0x0a), dashes: &[], marker: Marker::Hollow(Polygon::Triangle) },
    Look { colour: (0x76, 0x2a, 0x83), dashes: &[16.0, 3.0, 2.5, 3.0], marker: Marker::Hollow(Polygon::Diamond) },
    Look { colour: (0xb2, 0x18, 0x2b), dashes: &[5.0, 5.0], marker: Marker::Filled(Polygon::Drop) },
    Look { colour: (0x80, 0x80, 0x00), dashes: &[12.0, 3.0, 5.0, 3.0], marker: Marker::Hollow(Polygon::Drop) },
    Look { colour: (0x80, 0x80, 0x80), dashes: &[2.5, 6.0], marker: Marker::Plus },
    Look { colour: (0x00, 0x3c, 0x30), dashes: &[6.0, 2.5], marker: Marker::Filled(Polygon::Square) },
    Look { colour: (0x9e, 0x9a, 0xc8), dashes: &[], marker: Marker::Filled(Polygon::Diamond) },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Marker {
    /// Small, for large numbers of points.
    Dot,
    Circle,
    Ring,
    Cross,
    Plus,
    Filled(Polygon),
    Hollow(Polygon),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Polygon {
    Square,
    Triangle,
    /// A triangle pointing down.
    Drop,
    Diamond,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Align {
    Left,
    Centre,
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    Regular,
    Semibold,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Line {
        places: Vec<Place>,
        colour: Colour,
        width: f64,
        dashes: &'static [f64],
    },
    /// A filled area; `opacity` in `0..=1`.
    Area {
        places: Vec<Place>,
        colour: Colour,
        opacity: f64,
    },
    Mark {
        at: Place,
        marker: Marker,
        colour: Colour,
    },
    Text(Text),
}

/// A text on one line, vertically centred on its position.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) at: Place,
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) colour: Colour,
    pub(super) align: Align,
    pub(super) weight: Weight,
    /// Whether it reads from bottom to top.
    pub(super) is_upright: bool,
}

/// Shapes, in drawing order.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    pub(super) shapes: Vec<Shape>,
}

impl Picture {
    pub(super) fn line(&mut self, from: Place, to: Place, colour: Colour, width: f64) {
        self.shapes.push(Shape::Line { places: vec![from, to], colour, width, dashes: &[] });
    }

    pub(super) fn curve(&mut self, places: Vec<Place>, look: Look) {
        self.shapes.push(Shape::Line { places, colour: look.colour, width: 2.0, dashes: look.dashes });
    }

    pub(super) fn area(&mut self, places: Vec<Place>, colour: Colour, opacity: f64) {
        self.shapes.push(Shape::Area { places, colour, opacity });
    }

    pub(super) fn rectangle(&mut self, [left, top, right, bottom]: [f64; 4], colour: Colour, opacity: f64) {
        self.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], colour, opacity);
    }

    pub(super) fn mark(&mut self, at: Place, look: Look) {
        self.shapes.push(Shape::Mark { at, marker: look.marker, colour: look.colour });
    }

    pub(super) fn dot(&mut self, at: Place, colour: Colour) {
        self.shapes.push(Shape::Mark { at, marker: Marker::Dot, colour });
    }

    pub(super) fn text(&mut self, at: Place, text: impl Into<String>, size: f64, colour: Colour, align: Align) {
        let weight = Weight::Regular;
        self.write(Text { at, text: text.into(), size, colour, align, weight, is_upright: false });
    }

    pub(super) fn heading(&mut self, at: Place, text: impl Into<String>, size: f64) {
        let (colour, align, weight) = (INK, Align::Left, Weight::Semibold);
        self.write(Text { at, text: text.into(), size, colour, align, weight, is_upright: false });
    }

    /// Centred on the position in both directions.
    pub(super) fn upright(&mut self, at: Place, text: impl Into<String>, size: f64) {
        let (colour, align, weight) = (INK, Align::Centre, Weight::Regular);
        self.write(Text { at, text: text.into(), size, colour, align, weight, is_upright: true });
    }

    fn write(&mut self, text: Text) {
        self.shapes.push(Shape::Text(Text { text: plain(&text.text).into_owned(), ..text }));
    }
}
