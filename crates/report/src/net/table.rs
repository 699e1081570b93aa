//! Tables for people.

use super::{Network, PathsReport, PlanReport};
use crate::footing::{self, item};
use crate::grid::Grid;
use crate::text;
use std::io::{self, Write};

/// Writes a plan: a line per router.
pub fn write_plan(report: &PlanReport, to: &mut impl Write) -> io::Result<()> {
    head(&report.network, to)?;
    let has_costs = report.curve.iter().any(|point| point.cost != point.routers as f64);
    let mut grid = Grid::default();
    let mut heads = vec!["instrumented".to_owned(), "routers".into()];
    heads.extend(has_costs.then(|| "cost".into()));
    heads.extend(["probe hops", "of all", "segments", "mean hops", "longest"].map(Into::into));
    grid.row(heads);
    let all = report.curve.first().map_or(0, |point| point.probe_hops).max(1);
    for point in &report.curve {
        let mut cells = vec![point.added.clone().unwrap_or_else(|| "none".into()), text::count(point.routers as u64)];
        cells.extend(has_costs.then(|| point.cost.to_string()));
        cells.extend([
            text::count(point.probe_hops),
            text::percent(point.probe_hops as f64 / all as f64),
            text::count(point.segments as u64),
            point.granularity.map_or_else(|| "–".into(), |g| format!("{:.2}", g.mean)),
            point.granularity.map_or_else(|| "–".into(), |g| g.max.to_string()),
        ]);
        grid.row(cells);
    }
    grid.write(to)?;
    writeln!(to)?;
    let what = match report.strategy {
        "greedy" => "greedy: the router through which most segments lead comes next",
        "saving" => "saving: the router that saves most probe hops comes next",
        _ => "random: any router comes next",
    };
    item("strategy", what, to)?;
    footing::warnings(&report.warnings, to)
}

/// Writes who probes whom: a line per segment.
pub fn write_paths(report: &PathsReport, to: &mut impl Write) -> io::Result<()> {
    head(&report.network, to)?;
    let mut grid = Grid::default();
    grid.row(["from", "hops", "to"].map(Into::into).to_vec());
    for probe in &report.probes {
        let via = if probe.via.is_empty() { String::new() } else { format!("  via {}", probe.via.join(", ")) };
        grid.row(vec![probe.from.clone(), probe.hops.to_string(), format!("{}{via}", probe.to)]);
    }
    grid.write_left(to)?;
    writeln!(to)?;
    let count = |number: u64| text::count(number);
    item("segments", &format!("{} are probed", count(report.probes.len() as u64)), to)?;
    let hops = format!(
        "{} for one probe of each, {} per second with {} probes per second",
        count(report.probe_hops),
        count(report.probe_hops_per_second.round() as u64),
        report.probes_per_second
    );
    item("hops", &hops, to)?;
    let inner = format!(
        "{} pairs of interfaces in {} instrumented routers, which send {:.1} Mbit/s",
        count(report.inner_pairs),
        count(report.instrumented.len() as u64),
        report.aggregator_bps as f64 / 1e6
    );
    item("inside", &inner, to)?;
    footing::warnings(&report.warnings, to)
}

fn head(network: &Network, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "{}", network.source)?;
    let mode = if network.mode == "single" { "one path per pair" } else { "all equally short paths" };
    let count = |number: usize| text::count(number as u64);
    writeln!(
        to,
        "{} routers, {} links, {} paths ({mode})",
        count(network.routers),
        count(network.links),
        count(network.paths)
    )?;
    writeln!(to)
}
