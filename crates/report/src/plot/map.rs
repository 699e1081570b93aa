//! A map of a network: routers, links, and the delays of links.

use super::picture::{Align, Colour, GRID, INK, Look, Marker, Picture, Place, Polygon, QUIET, WHITE};
use super::render::text_width;
use super::{HEIGHT, WIDTH, subtitle, title};
use crate::text;

/// A network to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct MapPicture {
    /// Title.
    pub title: String,
    /// Second line.
    pub subtitle: String,
    /// All routers.
    pub routers: Vec<MapRouter>,
    /// All links; each direction is separate.
    pub links: Vec<MapLink>,
}

/// A router on a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRouter {
    /// Its name.
    pub name: String,
    /// Position: x to the right, y downwards, in any unit.
    pub place: (f64, f64),
    /// Whether it is instrumented.
    pub instrumented: bool,
}

/// A link on a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MapLink {
    /// Index of its first router in `routers`.
    pub from: usize,
    /// Index of its second router.
    pub to: usize,
    /// Its delay in nanoseconds, if known.
    pub delay_ns: Option<f64>,
    /// Whether its segment is slower or lossier than usual.
    pub alarm: bool,
}

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
    title(&map.title, LEFT, &mut picture);
    subtitle(std::slice::from_ref(&map.subtitle), LEFT, &mut picture);
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
    for name in &names {
        picture.rectangle(name.frame, WHITE, 0.7);
    }
    for (router, &place) in map.routers.iter().zip(&places) {
        picture.mark(place, if router.instrumented { INSTRUMENTED } else { OTHER });
    }
    for Name { text, at, align, .. } in names {
        picture.text(at, text, NAME_SIZE, INK, align);
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

/// A name and where it is drawn: anchored at its router, since the fonts of an SVG's viewers differ in width.
struct Name {
    text: String,
    at: Place,
    align: Align,
    frame: Frame,
}

impl Name {
    /// All positions of a name around its router.
    fn around(text: &str, (x, y): Place) -> [Self; 8] {
        let wide = text_width(text, NAME_SIZE);
        let places = [
            (Align::Left, x + 7.0, y),
            (Align::Right, x - 7.0, y),
            (Align::Centre, x, y - 11.0),
            (Align::Centre, x, y + 11.0),
            (Align::Left, x + 6.0, y - 8.0),
            (Align::Left, x + 6.0, y + 8.0),
            (Align::Right, x - 6.0, y - 8.0),
            (Align::Right, x - 6.0, y + 8.0),
        ];
        places.map(|(align, x, y)| {
            let left = match align {
                Align::Left => x,
                Align::Centre => x - wide / 2.0,
                Align::Right => x - wide,
            };
            let frame = [left, y - NAME_SIZE / 2.0, left + wide, y + NAME_SIZE / 2.0];
            Self { text: text.to_owned(), at: (x, y), align, frame }
        })
    }
}

fn overlap(a: Frame, b: Frame) -> f64 {
    let along = |low: usize| (a[low + 2].min(b[low + 2]) - a[low].max(b[low])).max(0.0);
    along(0) * along(1)
}

/// The area of a frame that lies outside the picture, or near its edge, since other fonts may be wider.
fn outside([left, top, right, bottom]: Frame) -> f64 {
    const EDGE: f64 = 6.0;
    let inside = overlap([left, top, right, bottom], [EDGE, EDGE, WIDTH - EDGE, HEIGHT - EDGE]);
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

/// Names next to their routers, placed where they cover as little as possible, those at alarms first, then those of
/// instrumented routers. A name that would cover another one is left out, and so is one that covers or touches another
/// router, unless it is at an alarm.
fn names(map: &MapPicture, places: &[Place]) -> Vec<Name> {
    /// Area that each link point counts for: a name should rather cover a link than a router.
    const POINT: f64 = 3.0;
    /// Distance from one name to the next in a line.
    const BETWEEN: f64 = 4.0;
    /// Distance from the middle of a router within which a name seems to be its own.
    const NEAR: f64 = 6.0;
    let mut in_alarm = vec![false; places.len()];
    for link in map.links.iter().filter(|link| link.alarm) {
        (in_alarm[link.from], in_alarm[link.to]) = (true, true);
    }
    let is_instrumented = |router: usize| map.routers[router].instrumented;
    let mut order: Vec<usize> = (0..places.len()).collect();
    if places.len() > NAMED {
        order.retain(|&router| is_instrumented(router) || in_alarm[router]);
    }
    order.sort_by_key(|&router| (!in_alarm[router], !is_instrumented(router)));
    let points = along(map, places);
    let marks: Vec<Frame> = places.iter().map(|&(x, y)| [x - NEAR, y - NEAR, x + NEAR, y + NEAR]).collect();
    let mut named: Vec<Name> = Vec::new();
    for router in order {
        let others = |frame: Frame| -> f64 {
            let others = marks.iter().enumerate().filter(|&(other, _)| other != router);
            others.map(|(_, &mark)| overlap(frame, mark)).sum()
        };
        let covered = |name: &Name| -> f64 {
            let [left, top, right, bottom] = name.frame;
            let is_in = |&&(x, y): &&Place| (left..right).contains(&x) && (top..bottom).contains(&y);
            let links = points.iter().filter(is_in).count() as f64;
            2.0 * outside(name.frame) + POINT * links + others(name.frame)
        };
        let mut possible =
            Vec::from(Name::around(&text::shortened(&map.routers[router].name, LONGEST_NAME), places[router]));
        possible.retain(|name| {
            let [left, top, right, bottom] = name.frame;
            let room = [left - BETWEEN, top, right + BETWEEN, bottom];
            let is_free = named.iter().all(|other| overlap(room, other.frame) == 0.0);
            is_free && (in_alarm[router] || others(name.frame) == 0.0)
        });
        let mut possible: Vec<(f64, Name)> = possible.into_iter().map(|name| (covered(&name), name)).collect();
        possible.sort_by(|a, b| a.0.total_cmp(&b.0));
        named.extend(possible.into_iter().next().map(|(_, name)| name));
    }
    named
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
    picture.text((x, y), format!("delay per link: {}", text::time(low)), 12.0, INK, Align::Left);
    x += 148.0;
    for colour in DELAYS {
        picture.line((x, y), (x + 26.0, y), colour, 5.0);
        x += 26.0;
    }
    picture.text((x + 10.0, y), text::time(high), 12.0, INK, Align::Left);
    if map.links.iter().any(|link| link.alarm) {
        x += 80.0;
        picture.line((x, y), (x + 30.0, y), ALARM, 3.5);
        picture.text((x + 38.0, y), "slower or lossier than usual", 12.0, INK, Align::Left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::picture::{Shape, Text};
    use super::*;

    fn line(routers: usize) -> MapPicture {
        let router = |at: usize| MapRouter {
            name: format!("a router called Number {at}"),
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
            if let Shape::Text(Text { text, .. }) = shape {
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
            texts.contains(&"a route…Number 1")
                && texts.contains(&"900 µs")
                && texts.contains(&"delay per link: 1.00 µs"),
            "{texts:?}"
        );
        assert_eq!(shade(5.0, Some((-5.0, 15.0))), 2, "equal differences where clocks disagree");
        assert_eq!(shade(5.0, Some((5.0, 5.0))), 0);
    }

    #[test]
    fn names_stay_in_the_picture_and_are_not_too_many() {
        let few = line(3);
        for Name { frame, text, .. } in names(&few, &fit(&few)) {
            assert_eq!(outside(frame), 0.0, "{text} at {frame:?}");
        }
        assert_eq!(texts(&picture(&few)).iter().filter(|text| text.starts_with("a route…")).count(), 3);
        assert_eq!(texts(&picture(&line(200))).iter().filter(|text| text.starts_with("a route…")).count(), 1);
    }

    /// Routers in a grid so dense that not all names have room: those that are drawn cover neither each other nor
    /// another router, and the routers at the alarm and instrumented ones come first.
    #[test]
    fn names_do_not_cover_each_other() {
        const WIDE: usize = 14;
        let router = |at: usize| MapRouter {
            name: format!("Wwwwwwww{at}"),
            place: ((at % WIDE) as f64, (at / WIDE) as f64),
            instrumented: at >= WIDE,
        };
        let map = MapPicture {
            routers: (0..WIDE * 20).map(router).collect(),
            links: vec![MapLink { from: 3, to: 4, delay_ns: None, alarm: true }],
            ..line(2)
        };
        let places = fit(&map);
        let named = names(&map, &places);
        assert!((20..places.len()).contains(&named.len()), "{}", named.len());
        assert_eq!([&named[0].text, &named[1].text], ["Wwwwwwww3", "Wwwwwwww4"]);
        for (number, name) in named.iter().enumerate() {
            assert!(named[..number].iter().all(|other| overlap(name.frame, other.frame) == 0.0), "{}", name.text);
            let own: usize = name.text.trim_start_matches(char::is_alphabetic).parse().unwrap();
            let covered = places.iter().enumerate().filter(|&(router, &(x, y))| {
                router != own && overlap(name.frame, [x - 4.0, y - 4.0, x + 4.0, y + 4.0]) > 0.0
            });
            assert!(number < 2 || covered.count() == 0, "{}", name.text);
        }
    }

    /// Names of narrow and of wide letters end beside their router, on its left as on its right.
    #[test]
    fn names_are_beside_their_routers() {
        for text in ["iiiiiiiiiiii", "WWWWWWWWWWWW", "名前"] {
            let [right, left, above, ..] = Name::around(text, (400.0, 300.0));
            assert_eq!((right.frame[0], left.frame[2]), (407.0, 393.0), "{text}");
            assert!((above.frame[0] + above.frame[2] - 800.0).abs() < 1e-9);
            assert!((left.frame[2] - left.frame[0] - text_width(text, NAME_SIZE)).abs() < 1e-9);
        }
    }
}
