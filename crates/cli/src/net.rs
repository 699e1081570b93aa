//! `dwell net`: which routers of a network to instrument next, who probes whom then, and which segment is to blame.

use crate::Failure;
use crate::messages;
use crate::output::{self, Output, WriteReport};
use crate::progress;
use dwell_network::plan::{self, Limits, Strategy};
use dwell_network::probes::Probes;
use dwell_network::segments::Segments;
use dwell_report::net::{self as report, PATHS_SCHEMA, PathsReport};
use dwell_report::{json, plot};
use std::io;
use std::process::ExitCode;

// Command-line arguments.
mod arguments;
pub(crate) use arguments::{Arguments, ChosenArguments, RoutingArguments};
use arguments::{Format, PathsArguments, PlanArguments, Task};
// The map, and what of it flags choose.
mod map;
pub(crate) use map::Map;
// `dwell net localize`.
mod localize;
// What is found, as the lines of a report.
mod answer;
pub(crate) use answer::route;
use answer::{granularity, plan_report};
// Plots of the map.
mod picture;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    match &arguments.task {
        Task::Plan(arguments) => plan_network(arguments),
        Task::Paths(arguments) => list_paths(arguments),
        Task::Localize(arguments) => localize::run(arguments),
    }
}

fn plan_network(arguments: &PlanArguments) -> Result<ExitCode, Failure> {
    if arguments.seed.is_some() && arguments.strategy != Strategy::Random && arguments.plot.is_none() {
        return Err(Failure::usage("--seed requires --strategy random or --plot: nothing else is random"));
    }
    let seed = arguments.seed.unwrap_or(0);
    let inputs = arguments.costs.iter().chain([&arguments.map.topology]);
    output::check_stdin(inputs.clone())?;
    arguments.report.check(inputs, arguments.plot.as_ref(), [])?;
    let map = Map::read(&arguments.map.topology, &arguments.map.routing)?;
    let costs = arguments.costs.as_ref().map(|path| plan::costs(path, &map.topology)).transpose()?;
    let (costs, warning) = costs.unwrap_or_default();
    messages::warn(warning);
    let limits = Limits {
        // The paper gains nearly all of the benefit by upgrading a sixth of the routers. A budget sets its own limit.
        routers: arguments.routers.unwrap_or_else(|| match arguments.budget {
            Some(_) => map.topology.routers(),
            None => map.topology.routers().div_ceil(6),
        }),
        costs,
        budget: arguments.budget,
        seed,
    };
    let mut to = arguments.report.open()?;
    let picture = Output::picture(arguments.plot.as_ref())?;

    let segments = map.segments();
    let planned = |strategy: Strategy| {
        let plan = plan::plan(&map.topology, &mut segments.clone(), strategy, &limits);
        plan_report(&map, &plan, strategy, seed)
    };
    let mut report = planned(arguments.strategy);
    if let Some(end) = report.curve.last().filter(|_| arguments.bound) {
        let limits = Limits { routers: end.routers - map.instrumented.len(), ..limits.clone() };
        let bar = progress::of_steps("bound", u64::from(plan::BOUND_STEPS));
        report.least_probe_hops = Some(plan::least_hops(&segments, &limits, end.probe_hops, || bar.inc(1)));
        bar.finish_and_clear();
    }
    messages::warn(&report.warnings);
    let writers = [report::table::write_plan, json::write, report::csv::write_plan];
    write(&report, arguments.report.format(), &mut to, writers)?;
    output::finish(to, None, picture, |image, to| {
        // The random strategy is the baseline.
        let mut reports = vec![report];
        if arguments.strategy != Strategy::Random {
            reports.push(planned(Strategy::Random));
        }
        plot::write_plans(&reports, image, to)
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list_paths(arguments: &PathsArguments) -> Result<ExitCode, Failure> {
    arguments.report.check([&arguments.map.topology], arguments.plot.as_ref(), [])?;
    let map = Map::read(&arguments.map.topology, &arguments.map.routing)?;
    let (segments, instrumented) = map.instrument(&arguments.chosen);
    let overlap = map.before.as_ref().map(|(topology, paths)| {
        let mut before = Segments::new(paths.clone(), topology.routers());
        instrumented.iter().filter_map(|name| topology.find(name)).for_each(|router| before.cut(router));
        let overlap = Probes::new(&map.topology, &segments).since(&Probes::new(topology, &before));
        report::Overlap {
            added: overlap.added,
            dropped: overlap.dropped.iter().map(|routers| route(topology, routers)).collect(),
            probe_hops: overlap.probe_hops,
            probe_hops_per_second: overlap.probe_hops as f64 * arguments.probes_per_second,
        }
    });
    let mut to = arguments.report.open()?;
    let picture = picture::open(&map, arguments.plot.as_ref())?;
    let probes = Probes::new(&map.topology, &segments);
    let report = PathsReport {
        schema: PATHS_SCHEMA,
        warnings: map.warnings(),
        instrumented,
        probe_hops: probes.probe_hops,
        probes_per_second: arguments.probes_per_second,
        probe_hops_per_second: probes.probe_hops as f64 * arguments.probes_per_second,
        inner_pairs: probes.inner_pairs,
        aggregator_bps: probes.aggregator_bps(),
        granularity: segments.granularity().map(granularity),
        overlap,
        probes: probes.segments.iter().map(|routers| route(&map.topology, routers)).collect(),
        network: map.network.clone(),
    };
    messages::warn(&report.warnings);
    let writers = [report::table::write_paths, json::write, report::csv::write_paths];
    write(&report, arguments.report.format(), &mut to, writers)?;
    output::finish(to, None, picture, |image, to| picture::write(&map, &segments, |_| None, image, to))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a report in the requested format.
fn write<R>(report: &R, format: Format, to: &mut Output, [table, json, csv]: [WriteReport<R>; 3]) -> io::Result<()> {
    match format {
        Format::Table => table(report, to.plain()),
        Format::Json => json(report, to),
        Format::Csv => csv(report, to),
    }
}
