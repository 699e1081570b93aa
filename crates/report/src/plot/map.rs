//! A map of a network: routers, links, and the delays of links.

use super::picture::{Align, Colour, GRID, INK, Look, Marker, Picture, Place, Polygon, QUIET, WHITE};
use super::{HEIGHT, MapLink, MapPicture, WIDTH, cut};
use dwell_types::Nanos;

const LEFT: f64 = 60.0;
const RIGHT: f64 = WIDTH - 60.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = HEIGHT - 66.0;

/// With more routers than this, only instrumented ones and those at alarms get names.
const NAMED: usize = 50;
/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 16;
const NAME_SIZE: f64 = 10.0;
/// Sideways offset of each direction of a link.
const BESIDE: f64 = 1.7;

/// Colours of delays, from short (light) to long (dark).
const DELAYS: [Colour; 5] =
    [(0xb3, 0xcd, 0xe3), (0x8c, 0xa9, 0xd0), (0x5f, 0x86, 0xbd), (0x2c, 0x62, 0xa6), (0x08, 0x30, 0x6b)];
const ALARM: Colour = (0xd5, 0x5e, 0x00);
const INSTRUMENTED: Look = Look { colour: INK, dashes: &[], marker: Marker::Filled(Polygon::Square) };
const OTHER: Look = Look { colour: QUIET, dashes: &[], marker: Marker::Ring };

pub(super) fn picture(map: &MapPicture) -> Picture {
    let mut picture = Picture::default();
    picture.heading((LEFT, 28.0), cut(map.title.clone()), 17.0);
    picture.text((LEFT, 52.0), cut(map.subtitle.clone()), 12.5, QUIET, Align::Left);
    let places = fit(map);
    let bounds = delays(map);
    // Alarms are drawn on top of all other links.
    for alarm in [false, true] {
        for link in map.links.iter().filter(|link| link.alarm == alarm) {
            let (from, to) = beside(places[link.from], places[link.to]);
            let shade = link.delay_ns.map(|delay| DELAYS[shade(delay, bounds)]);
            match alarm {
                true => picture.line(from, to, ALARM, 3.5),
                false => picture.line(from, to, shade.unwrap_or(GRID), if shade.is_some() { 2.0 } else { 1.25 }),
            }
        }
    }
    let names = names(map, &places);
    for &([left, top, right, bottom], _) in &names {
        picture.area(vec![(left, top), (right, top), (right, bottom), (left, bottom)], WHITE, 0.7);
    }
    for (router, &place) in map.routers.iter().zip(&places) {
        picture.mark(place, if router.instrumented { INSTRUMENTED } else { OTHER });
    }
    for ([left, top, _, bottom], name) in names {
        picture.text((left, (top + bottom) / 2.0), name, NAME_SIZE, INK, Align::Left);
    }
    legend(map, bounds, &mut picture);
    picture
}

/// Scales all positions to fit the picture, equally in both directions.
fn fit(map: &MapPicture) -> Vec<Place> {
    let ends = |of: fn(Place) -> f64| {
        let values = map.routers.iter().map(|router| of(router.place));
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let ((left, right), (top, bottom)) = (ends(|place| place.0), ends(|place| place.1));
    let scale = ((RIGHT - LEFT) / (right - left).max(1e-9)).min((BOTTOM - TOP) / (bottom - top).max(1e-9));
    let across = |x: f64| (LEFT + RIGHT) / 2.0 + (x - (left + right) / 2.0) * scale;
    let down = |y: f64| (TOP + BOTTOM) / 2.0 + (y - (top + bottom) / 2.0) * scale;
    map.routers.iter().map(|router| (across(router.place.0), down(router.place.1))).collect()
}

/// Shifts a line to its right-hand side, as seen from its start.
fn beside(from: Place, to: Place) -> (Place, Place) {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    let (x, y) = (-dy / length * BESIDE, dx / length * BESIDE);
    ((from.0 + x, from.1 + y), (to.0 + x, to.1 + y))
}

/// The shortest and the longest known delay.
fn delays(map: &MapPicture) -> Option<(f64, f64)> {
    let known = map.links.iter().filter_map(|link| link.delay_ns);
    known.fold(None, |ends, delay| Some(ends.map_or((delay, delay), |(a, b): (f64, f64)| (a.min(delay), b.max(delay)))))
}

/// The shade of a delay: on a logarithmic scale if all delays are above zero, otherwise on a linear one.
fn shade(delay: f64, bounds: Option<(f64, f64)>) -> usize {
    let Some((low, high)) = bounds else { return 0 };
    let part = if low > 0.0 { (delay / low).ln() / (high / low).ln() } else { (delay - low) / (high - low) };
    if part.is_finite() { ((part * DELAYS.len() as f64) as usize).min(DELAYS.len() - 1) } else { 0 }
}

/// The rectangle that a name covers: left, top, right, bottom.
type Frame = [f64; 4];

fn overlap(a: Frame, b: Frame) -> f64 {
    let along = |low: usize| (a[low + 2].min(b[low + 2]) - a[low].max(b[low])).max(0.0);
    along(0) * along(1)
}

/// The area of a frame that lies outside the picture.
fn outside([left, top, right, bottom]: Frame) -> f64 {
    let inside = overlap([left, top, right, bottom], [0.0, 0.0, WIDTH, HEIGHT]);
    (right - left) * (bottom - top) - inside
}

/// Points sampled along all links, `STEP` apart.
fn along(map: &MapPicture, places: &[Place]) -> Vec<Place> {
    const STEP: f64 = 4.0;
    let points = |link: &MapLink| {
        let ((x, y), (to_x, to_y)) = beside(places[link.from], places[link.to]);
        let steps = ((to_x - x).hypot(to_y - y) / STEP) as usize;
        let part = move |step: usize| (step as f64 + 0.5) / (steps as f64 + 1.0);
        (0..=steps).map(move |step| (x + part(step) * (to_x - x), y + part(step) * (to_y - y)))
    };
    map.links.iter().flat_map(points).collect()
}

/// Names next to their routers, each with its frame: placed where it covers as little as possible.
fn names(map: &MapPicture, places: &[Place]) -> Vec<(Frame, String)> {
    /// Area that each link point counts for: a name should rather cover a link than a router.
    const POINT: f64 = 3.0;
    let in_alarm =
        |router: usize| map.links.iter().any(|link| link.alarm && (link.from == router || link.to == router));
    let mut order: Vec<usize> = (0..places.len()).collect();
    if places.len() > NAMED {
        order.retain(|&router| map.routers[router].instrumented || in_alarm(router));
    }
    order.sort_by_key(|&router| !in_alarm(router));
    let points = along(map, places);
    let marks: Vec<Frame> = places.iter().map(|&(x, y)| [x - 4.0, y - 4.0, x + 4.0, y + 4.0]).collect();
    let mut named: Vec<(Frame, String)> = Vec::new();
    for &router in order.iter().take(NAMED) {
        let name = short(&map.routers[router].name);
        let wide = 0.56 * NAME_SIZE * name.chars().count() as f64;
        let covered = |&frame: &Frame| -> f64 {
            let taken = marks.iter().chain(named.iter().map(|(frame, _)| frame));
            let [left, top, right, bottom] = frame;
            let is_in = |&&(x, y): &&Place| (left..right).contains(&x) && (top..bottom).contains(&y);
            let links = points.iter().filter(is_in).count() as f64;
            2.0 * outside(frame) + POINT * links + taken.map(|&other| overlap(frame, other)).sum::<f64>()
        };
        let frames = around(places[router], wide).map(|(x, y)| [x, y - NAME_SIZE / 2.0, x + wide, y + NAME_SIZE / 2.0]);
        let best = frames.into_iter().min_by(|a, b| covered(a).total_cmp(&covered(b)));
        named.extend(best.map(|frame| (frame, name)));
    }
    named
}

/// Possible positions of a name of this width around a router.
fn around((x, y): Place, wide: f64) -> [Place; 8] {
    [
        (x + 7.0, y),
        (x - 7.0 - wide, y),
        (x - wide / 2.0, y - 11.0),
        (x - wide / 2.0, y + 11.0),
        (x + 6.0, y - 8.0),
        (x + 6.0, y + 8.0),
        (x - 6.0 - wide, y - 8.0),
        (x - 6.0 - wide, y + 8.0),
    ]
}

fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

fn legend(map: &MapPicture, bounds: Option<(f64, f64)>, picture: &mut Picture) {
    let y = HEIGHT - 24.0;
    let mut x = LEFT;
    for (look, what, wide) in [(INSTRUMENTED, "instrumented", 110.0), (OTHER, "other router", 110.0)] {
        picture.mark((x, y), look);
        picture.text((x + 12.0, y), what, 12.0, INK, Align::Left);
        x += wide;
    }
    let Some((low, high)) = bounds else { return };
    let text = |ns: f64| Nanos::new(ns.round() as i64).to_string();
    picture.text((x, y), format!("delay per link: {}", text(low)), 12.0, INK, Align::Left);
    x += 148.0;
    for colour in DELAYS {
        picture.line((x, y), (x + 26.0, y), colour, 5.0);
        x += 26.0;
    }
    picture.text((x + 10.0, y), text(high), 12.0, INK, Align::Left);
    if map.links.iter().any(|link| link.alarm) {
        x += 80.0;
        picture.line((x, y), (x + 30.0, y), ALARM, 3.5);
        picture.text((x + 38.0, y), "slower or lossier than usual", 12.0, INK, Align::Left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::MapRouter;
    use super::super::picture::Shape;
    use super::*;

    fn line(routers: usize) -> MapPicture {
        let router = |at: usize| MapRouter {
            name: format!("a router called {at}"),
            place: (at as f64, 0.0),
            instrumented: at == 1,
        };
        let link = |from: usize| MapLink { from, to: from + 1, delay_ns: None, alarm: false };
        MapPicture {
            title: "line".into(),
            subtitle: String::new(),
            routers: (0..routers).map(router).collect(),
            links: (0..routers - 1).map(link).collect(),
        }
    }

    fn texts(picture: &Picture) -> Vec<&str> {
        let mut texts = Vec::new();
        for shape in &picture.shapes {
            if let Shape::Text { text, .. } = shape {
                texts.push(text.as_str());
            }
        }
        texts
    }

    #[test]
    fn links_are_coloured_by_delay_and_alarms_lie_above() {
        let mut map = line(4);
        map.links[0].alarm = true;
        (map.links[1].delay_ns, map.links[2].delay_ns) = (Some(1_000.0), Some(900_000.0));
        let picture = picture(&map);
        let colours: Vec<Colour> = picture
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Line { colour, .. } => Some(*colour),
                _ => None,
            })
            .collect();
        assert_eq!(colours[..3], [DELAYS[0], DELAYS[4], ALARM]);
        let texts = texts(&picture);
        assert!(
            texts.contains(&"a router called…")
                && texts.contains(&"900 µs")
                && texts.contains(&"delay per link: 1.00 µs"),
            "{texts:?}"
        );
        assert_eq!(shade(5.0, Some((-5.0, 15.0))), 2, "equal differences where clocks disagree");
        assert_eq!(shade(5.0, Some((5.0, 5.0))), 0);
    }

    #[test]
    fn names_stay_in_the_picture_and_are_not_too_many() {
        let few = picture(&line(3));
        for shape in &few.shapes {
            if let Shape::Text { at: (x, _), text, .. } = shape {
                assert!(*x >= 0.0 && x + 0.56 * NAME_SIZE * text.chars().count() as f64 <= WIDTH, "{text} at {x}");
            }
        }
        assert_eq!(texts(&few).iter().filter(|text| text.starts_with("a router")).count(), 3);
        assert_eq!(texts(&picture(&line(200))).iter().filter(|text| text.starts_with("a router")).count(), 1);
    }
}
