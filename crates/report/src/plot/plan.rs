//! Probing cost as more routers are instrumented.

use super::picture::{Align, INK, LOOKS, Look, Picture, Place, QUIET};
use super::render::text_width;
use super::scale::{LinearScale, Tick};
use super::steps::{self, BETWEEN, BOTTOM, LABEL_GAP, LABEL_SIZE, LEFT, RIGHT, TOP};
use super::{file_name, nothing, subtitle, title};
use crate::net::{Granularity, PlanReport, Point};
use crate::text;

/// Share of the height taken by the probe hops.
const HOPS_SHARE: f64 = 0.6;

pub(super) fn picture(reports: &[PlanReport]) -> Picture {
    let mut picture = Picture::default();
    let Some(first) = reports.first() else { return picture };
    let name = file_name(&first.network.source);
    title(&format!("Instrumenting {name}, router by router"), LEFT, &mut picture);
    let most = reports.iter().flat_map(|report| &report.curve).map(|point| point.routers).max().unwrap_or(0);
    let hops = || reports.iter().flat_map(|report| &report.curve).map(|point| point.probe_hops.max(1) as f64);
    if most == 0 {
        nothing("No router was instrumented.", &mut picture);
        return picture;
    }
    let (routers, paths) = (first.network.routers as u64, first.network.paths as u64);
    let network = format!("{}, {}.", text::count_of(routers, "router"), text::count_of(paths, "path"));
    let shown = format!("Band: from the shortest to the longest segment of {}.", first.strategy);
    subtitle(&[network, shown], LEFT, &mut picture);
    let across = LinearScale::new(0.0, most as f64, LEFT, RIGHT);
    let tall = BOTTOM - TOP - 2.0 * BETWEEN;
    let top = TOP + BETWEEN;
    let middle = top + tall * HOPS_SHARE;
    let (low, high) = (hops().fold(f64::INFINITY, f64::min).log10().floor(), hops().fold(1.0, f64::max).log10().ceil());
    let height = |hops: f64| middle - (hops.max(1.0).log10() - low) / (high - low).max(1.0) * (middle - top);
    let decades = (low as i32..=high as i32)
        .map(|decade| Tick { place: height(10f64.powi(decade)), label: Some(label(10f64.powi(decade), high)) });
    panel("probe hops", &decades.collect::<Vec<_>>(), &across, (top, middle), &mut picture);
    let below = (middle + BETWEEN, BOTTOM);
    let longest =
        reports.iter().flat_map(|report| &report.curve).filter_map(|point| point.granularity).map(|g| g.max).max();
    let granularity = LinearScale::new(0.0, longest.unwrap_or(1) as f64, below.1, below.0);
    panel("hops of a segment", &granularity.ticks(text::short), &across, below, &mut picture);
    band(first, &across, &granularity, &mut picture);
    for (report, look) in reports.iter().zip(LOOKS) {
        draw(report, &across, &height, &granularity, look, &mut picture);
    }
    legend(reports, &mut picture);
    // Numbers of routers are integers, so other ticks get no label.
    let label = |routers: f64| if routers.fract() == 0.0 { text::count(routers as u64) } else { String::new() };
    for tick in across.ticks(label) {
        picture.text((tick.place, BOTTOM + 16.0), tick.label.unwrap_or_default(), 12.5, INK, Align::Centre);
    }
    picture.text((RIGHT, BOTTOM + 34.0), "instrumented routers", 12.5, QUIET, Align::Right);
    picture
}

/// The label of a decade of an axis that ends at 10 to the power `high`: `1,000`, or `1k` where there is too little room
/// for that.
fn label(decade: f64, high: f64) -> String {
    let fits = text_width(&text::count(10f64.powf(high) as u64), LABEL_SIZE) < LEFT - LABEL_GAP;
    match (fits, decade) {
        (false, 1e3) => "1k".to_owned(),
        (false, _) => text::short(decade),
        (true, _) => text::count(decade as u64),
    }
}

fn panel(name: &str, ticks: &[Tick], across: &LinearScale, (top, bottom): Place, picture: &mut Picture) {
    picture.heading((LEFT, top - 12.0), name, 13.0);
    steps::grid(ticks, &across.ticks(|_| String::new()), (top, bottom), picture);
}

fn draw(
    report: &PlanReport,
    across: &LinearScale,
    height: &impl Fn(f64) -> f64,
    granularity: &LinearScale,
    look: Look,
    picture: &mut Picture,
) {
    let x = |routers: usize| across.place(routers as f64);
    let hops = report.curve.iter().map(|point| (x(point.routers), height(point.probe_hops as f64)));
    picture.curve(hops.collect(), look);
    let mean =
        report.curve.iter().filter_map(|point| Some((x(point.routers), granularity.place(point.granularity?.mean))));
    picture.curve(mean.collect(), look);
}

/// The band between the shortest and the longest segment of the first plan.
fn band(report: &PlanReport, across: &LinearScale, granularity: &LinearScale, picture: &mut Picture) {
    let edge = |of: fn(Granularity) -> u64| {
        let place = |point: &Point| {
            Some((across.place(point.routers as f64), granularity.place(of(point.granularity?) as f64)))
        };
        report.curve.iter().filter_map(place).collect::<Vec<Place>>()
    };
    let mut band = edge(|hops| hops.max);
    band.extend(edge(|hops| hops.min).into_iter().rev());
    picture.area(band, LOOKS[0].colour, 0.12);
}

fn legend(reports: &[PlanReport], picture: &mut Picture) {
    let mut x = LEFT + 170.0;
    for (report, look) in reports.iter().zip(LOOKS) {
        picture.curve(vec![(x, TOP + 18.0), (x + 34.0, TOP + 18.0)], look);
        picture.text((x + 42.0, TOP + 18.0), report.strategy, 13.0, INK, Align::Left);
        x += 130.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fit_beside_the_panel() {
        for high in 0..=18 {
            for decade in 0..=high {
                let label = label(10f64.powi(decade), f64::from(high));
                let width = text_width(&label, LABEL_SIZE);
                assert!(width < LEFT - LABEL_GAP, "{label} is {width} wide");
            }
        }
        assert_eq!([label(1e3, 7.0), label(1e7, 7.0)], ["1,000", "10,000,000"]);
        assert_eq!([1.0, 1e3, 1e5, 1e8].map(|decade| label(decade, 8.0)), ["1", "1k", "100k", "100M"]);
    }
}
