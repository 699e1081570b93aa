//! A queue over time, and the flows in it.

use super::picture::{Align, Colour, LOOKS, Picture, Place, QUIET};
use super::render::text_width;
use super::scale::{LinearScale, TimeScale};
use super::steps::{self, BETWEEN, BOTTOM, LEFT, RIGHT, TOP};
use super::{file_name, nothing, subtitle, title};
use crate::queue::QueueReport;
use crate::text;
use dwell_sketch::queue::{Pair, Stretch};

const QUEUE: Colour = LOOKS[5].colour;
const LARGEST: Colour = LOOKS[0].colour;
const DELAY: Colour = LOOKS[2].colour;
const EPISODE: Colour = LOOKS[1].colour;
const PAIRS: Colour = LOOKS[3].colour;
/// Share of the height taken by the queue.
const QUEUE_SHARE: f64 = 0.58;

pub(super) fn picture(report: &QueueReport) -> Picture {
    let mut picture = Picture::default();
    let names: Vec<&str> = report.sources.iter().map(|source| file_name(source)).collect();
    let what = match names.split_last() {
        Some((egress, ingress)) if !ingress.is_empty() => format!("Queue from {} to {egress}", ingress.join(" and ")),
        _ => format!("Queue of {}", names.join(", ")),
    };
    title(&what, LEFT, &mut picture);
    let (Some(first), Some(last)) = (report.timeline.first(), report.timeline.last()) else {
        nothing("No packet is known to have waited.", &mut picture);
        return picture;
    };
    let (start, end) = (first.start.as_nanos(), last.end.as_nanos());
    let how = if report.method.exact { "" } else { "Estimated." };
    subtitle(&[format!("{}.", text::span(start, end)), how.to_owned()], LEFT, &mut picture);
    legend(&mut picture);
    let time = TimeScale::new(start, end, LEFT, RIGHT);
    let tall = BOTTOM - TOP - 2.0 * BETWEEN;
    let (top, below) = (TOP + BETWEEN, TOP + tall * QUEUE_SHARE + 2.0 * BETWEEN);
    // The time labels need space of their own if there is another panel below.
    let room = if report.pairs.is_empty() { BETWEEN } else { 2.2 * BETWEEN };
    let bottom = below - room;
    queue(report, &time, (top, bottom), &mut picture);
    if report.pairs.is_empty() {
        delay(report, &time, (below, BOTTOM), &mut picture);
        steps::labels(&time.ticks(), BOTTOM, &mut picture);
    } else {
        steps::labels(&time.ticks(), bottom, &mut picture);
        pairs(report, (below, BOTTOM), &mut picture);
    }
    picture
}

/// The legend of the colours, at the right of the second line.
fn legend(picture: &mut Picture) {
    const SIZE: f64 = 12.5;
    const BOX: f64 = 11.0;
    let mut right = RIGHT;
    for (name, colour, opacity) in
        [("episode", EPISODE, 0.9), ("its largest flow", LARGEST, 0.9), ("queue", QUEUE, 0.6)]
    {
        let left = right - text_width(name, SIZE);
        picture.text((left, 52.0), name, SIZE, QUIET, Align::Left);
        let (x, y) = (left - BOX - 6.0, 52.0 - BOX / 2.0);
        picture.rectangle([x, y, x + BOX, y + BOX], colour, opacity);
        right = x - 18.0;
    }
}

fn queue(report: &QueueReport, time: &TimeScale, (top, bottom): Place, picture: &mut Picture) {
    let deepest = report.timeline.iter().map(|stretch| stretch.deepest).max().unwrap_or(0);
    let scale = LinearScale::new(0.0, deepest.max(1) as f64, bottom, top);
    picture.heading((LEFT, top - 16.0), format!("deepest queue in {}", report.unit.name()), 13.0);
    steps::grid(&scale.ticks(amount), &time.ticks(), (top, bottom), picture);
    let height = |of: fn(&Stretch) -> u64| move |stretch: &Stretch| scale.place(of(stretch) as f64);
    picture.area(outline(report, time, bottom, height(|stretch| stretch.deepest)), QUEUE, 0.6);
    let largest = height(|stretch| stretch.largest_flow.min(stretch.deepest));
    picture.area(outline(report, time, bottom, largest), LARGEST, 0.9);
    for episode in &report.episodes {
        // At least 1.5 points wide, so that even the shortest episode is visible.
        let (left, right) = (time.place(episode.start_ns), time.place(episode.end_ns));
        picture.rectangle([left, top - 6.0, right.max(left + 1.5), top - 1.0], EPISODE, 0.9);
    }
}

fn delay(report: &QueueReport, time: &TimeScale, (top, bottom): Place, picture: &mut Picture) {
    let longest = report.timeline.iter().map(|stretch| stretch.longest_delay.get()).max().unwrap_or(0);
    let scale = LinearScale::new(0.0, longest.max(1) as f64, bottom, top);
    picture.heading((LEFT, top - 12.0), "longest delay", 13.0);
    steps::grid(&scale.delay_ticks(), &time.ticks(), (top, bottom), picture);
    let height = |stretch: &Stretch| scale.place(stretch.longest_delay.get() as f64);
    picture.area(outline(report, time, bottom, height), DELAY, 0.75);
}

/// A step function over the stretches of the timeline.
fn outline(report: &QueueReport, time: &TimeScale, bottom: f64, height: impl Fn(&Stretch) -> f64) -> Vec<Place> {
    let step = |stretch: &Stretch| {
        let y = height(stretch);
        [(time.place(stretch.start.as_nanos()), y), (time.place(stretch.end.as_nanos()), y)]
    };
    let mut places = vec![(LEFT, bottom)];
    places.extend(report.timeline.iter().flat_map(step));
    places.extend(places.last().map(|last| (last.0, bottom)));
    places
}

/// A scatter plot of the sizes of flows in the queue: actual on the x-axis, estimated on the y-axis.
fn pairs(report: &QueueReport, (top, bottom): Place, picture: &mut Picture) {
    picture.heading(
        (LEFT, top - 12.0),
        format!("a packet's flow in the queue, estimated over actual {}", report.unit.name()),
        13.0,
    );
    let most = |of: fn(&Pair) -> u64| report.pairs.iter().map(of).max().unwrap_or(0).max(1) as f64;
    let up = LinearScale::new(0.0, most(|pair| pair.estimated.max(pair.actual)), bottom, top);
    let across = LinearScale::new(0.0, most(|pair| pair.actual), LEFT, RIGHT);
    steps::grid(&up.ticks(amount), &across.ticks(amount), (top, bottom), picture);
    steps::labels(&across.ticks(amount), bottom, picture);
    let diagonal = most(|pair| pair.actual);
    picture.line((LEFT, bottom), (across.place(diagonal), up.place(diagonal)), QUIET, 1.0);
    for pair in &report.pairs {
        picture.dot((across.place(pair.actual as f64), up.place(pair.estimated as f64)), PAIRS);
    }
}

/// `0`, `1.5 M`.
fn amount(value: f64) -> String {
    let (scaled, letter) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e3 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let rounded = (scaled * 100.0).round() / 100.0;
    format!("{rounded}{letter}")
}
