//! `dwell net`: which routers of a network to instrument next, who probes whom then, and which segment is to blame.

use crate::Failure;
use crate::messages;
use crate::output::{self, Output, WriteReport};
use crate::progress;
use crate::units::distinct;
use anyhow::{Context, Result, anyhow, bail};
use dwell_capture::Name;
use dwell_capture::file::Decompressed;
use dwell_logs::Lines;
use dwell_network::Topology;
use dwell_network::paths::{Mode, Paths};
use dwell_network::plan::{self, Cost, Limits, Plan, State, Strategy};
use dwell_network::probes::Probes;
use dwell_network::segments::Segments;
use dwell_network::topology::Remarks;
use dwell_report::net::{
    self as report, Granularity, Network, PATHS_SCHEMA, PLAN_SCHEMA, PathsReport, PlanReport, Point, Probe,
};
use dwell_report::text::{are, of};
use dwell_report::{json, plot};
use std::collections::HashMap;
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

// Command-line arguments.
mod arguments;
pub(crate) use arguments::{Arguments, ChosenArguments, RoutingArguments};
use arguments::{Format, PathsArguments, PlanArguments, Task};
// `dwell net localize`.
mod localize;
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
    let inputs = arguments.costs.iter().chain([&arguments.map.topology]);
    output::check_stdin(inputs.clone())?;
    arguments.report.check(inputs, arguments.plot.as_ref(), [])?;
    let map = Map::read(&arguments.map.topology, &arguments.map.routing)?;
    let costs = match &arguments.costs {
        Some(path) => costs(path, &map.topology)?,
        None => Vec::new(),
    };
    let limits = Limits {
        // The paper gains nearly all of the benefit by upgrading a sixth of the routers. A budget sets its own limit.
        routers: arguments.routers.unwrap_or_else(|| match arguments.budget {
            Some(_) => map.topology.routers(),
            None => map.topology.routers().div_ceil(6),
        }),
        costs,
        budget: arguments.budget,
        seed: arguments.seed,
    };
    let mut to = arguments.report.open()?;
    let picture = Output::picture(arguments.plot.as_ref())?;

    let segments = map.segments();
    let planned = |strategy: Strategy| {
        let plan = plan::plan(&map.topology, &mut segments.clone(), strategy, &limits);
        map.plan_report(&plan, strategy, arguments.seed)
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
            dropped: overlap.dropped.iter().map(|routers| probe(topology, routers)).collect(),
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
        probes: probes.segments.iter().map(|routers| probe(&map.topology, routers)).collect(),
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

/// A network and the paths in it.
pub(crate) struct Map {
    pub(crate) topology: Topology,
    paths: Arc<Paths>,
    network: Network,
    /// The routers that are instrumented according to the map or `--instrumented`.
    instrumented: Vec<u32>,
    /// The network before these links failed; `None` if none did.
    before: Option<(Topology, Arc<Paths>)>,
}

impl Map {
    pub(crate) fn read(path: &Path, arguments: &RoutingArguments) -> Result<Self, Failure> {
        let (source, name) = (path.display().to_string(), Name(path));
        let mut topology = Topology::read(&text(path)?).map_err(|error| anyhow!("{name}: {error}"))?;
        if arguments.both_ways {
            topology.make_both_ways();
        }
        if !arguments.servers.is_empty() {
            let servers = named(&topology, &source, "--servers", &arguments.servers)?;
            if servers.len() < 2 {
                let what = format!("--servers {}: expected at least two routers", arguments.servers.join(","));
                return Err(Failure::Usage(what));
            }
            topology.set_servers(servers);
        }
        let given = named(&topology, &source, "--instrumented", &arguments.instrumented)?;
        let instrumented = distinct(topology.instrumented().iter().copied().chain(given));
        let (mode, mode_name) =
            if arguments.single_path { (Mode::Single, "single") } else { (Mode::EqualCost, "equal-cost") };
        let all_paths = |topology: &Topology| {
            Paths::all(topology, mode, Paths::MOST).map(Arc::new).map_err(|error| {
                let is_single_less = mode == Mode::EqualCost && Paths::fit_single(topology, Paths::MOST);
                let advice = if is_single_less { ": use one path per pair (--single-path)" } else { "" };
                anyhow!("{name}: {error}{advice}")
            })
        };
        let before = match arguments.failed[..] {
            [] => None,
            [..] => Some((topology.clone(), all_paths(&topology)?)),
        };
        let mut failed = 0;
        for link in &arguments.failed {
            failed += fail(&mut topology, &source, link)?;
        }
        let paths = all_paths(&topology)?;
        let network = Network {
            routers: topology.routers(),
            servers: topology.servers(),
            links: topology.links(),
            failed_links: failed,
            paths: paths.len(),
            mode: mode_name,
            unreachable_pairs: paths.unreachable(),
            source,
        };
        Ok(Self { topology, paths, network, instrumented, before })
    }

    /// The routers with these names, joined by commas.
    pub(crate) fn routers(&self, flag: &str, names: &str) -> Result<Vec<u32>, Failure> {
        routers(&self.topology, &self.network.source, flag, names)
    }

    /// The segments between the routers that are instrumented already.
    fn segments(&self) -> Segments {
        let mut segments = Segments::new(self.paths.clone(), self.topology.routers());
        self.instrumented.iter().for_each(|&router| segments.cut(router));
        segments
    }

    /// The segments between these routers and further ones that are chosen, and the names of all of them.
    pub(crate) fn instrument(&self, arguments: &ChosenArguments) -> (Segments, Vec<String>) {
        let mut segments = self.segments();
        let mut instrumented = self.instrumented.clone();
        if let Some(routers) = arguments.routers {
            let plan = plan::plan(&self.topology, &mut segments, Strategy::Greedy, &Limits::routers(routers));
            instrumented.extend(plan.steps.iter().map(|step| step.router));
        }
        (segments, self.names(&instrumented))
    }

    fn names(&self, routers: &[u32]) -> Vec<String> {
        routers.iter().map(|&router| self.topology.name(router).to_owned()).collect()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let Remarks { parallel, loops, outside } = self.topology.remarks;
        let unreachable = self.network.unreachable_pairs;
        // If most pairs have no path, the map is more likely drawn with arrows than made of one-way links.
        let one_way = if unreachable > self.network.paths { self.topology.one_way() } else { 0 };
        let links = |count: usize| of(count as u64, "link");
        let links_are = |count: usize| are(count as u64, "link");
        let warnings = [
            (unreachable, format!("no path between {} of routers", of(unreachable as u64, "ordered pair"))),
            (one_way, format!("{} one-way (--both-ways)", links_are(one_way))),
            (parallel, format!("ignored: {}, only that of least weight is used", of(parallel as u64, "parallel link"))),
            (loops, format!("ignored: {} from a router to itself", links(loops))),
            (outside, format!("ignored: {} to routers outside the map", links(outside))),
        ];
        warnings.into_iter().filter(|&(count, _)| count > 0).map(|(_, words)| words).collect()
    }

    fn plan_report(&self, plan: &Plan, strategy: Strategy, seed: u64) -> PlanReport {
        let mut cost = Cost::default();
        let already = self.instrumented.len();
        let mut curve = vec![point(already, None, cost, &plan.before)];
        for (number, step) in (1..).zip(&plan.steps) {
            cost += step.cost;
            curve.push(point(already + number, Some(self.topology.name(step.router).to_owned()), cost, &step.state));
        }
        PlanReport {
            schema: PLAN_SCHEMA,
            network: self.network.clone(),
            warnings: self.warnings(),
            strategy: strategy.name(),
            seed,
            instrumented: self.names(&self.instrumented),
            segments: plan.before.segments,
            curve,
            least_probe_hops: None,
        }
    }
}

/// Removes the links between two routers, whose names are joined by a comma.
fn fail(topology: &mut Topology, source: &str, ends: &str) -> Result<usize, Failure> {
    let usage = |what| Failure::Usage(format!("--failed {ends}: {what}"));
    let [a, b] = routers(topology, source, "--failed", ends)?[..] else {
        return Err(usage("expected two routers, separated by a comma"));
    };
    match topology.fail(a, b) {
        0 => Err(usage("no link between them")),
        links => Ok(links),
    }
}

/// The routers of a flag that is given any number of times, each once.
fn named(topology: &Topology, source: &str, flag: &str, lists: &[String]) -> Result<Vec<u32>, Failure> {
    let named: Vec<Vec<u32>> =
        lists.iter().map(|names| routers(topology, source, flag, names)).collect::<Result<_, _>>()?;
    Ok(distinct(named.concat()))
}

/// The routers with these names, joined by commas. Names may contain commas themselves: the longest matching name is
/// taken.
fn routers(topology: &Topology, source: &str, flag: &str, names: &str) -> Result<Vec<u32>, Failure> {
    let mut routers = Vec::new();
    let mut rest = names;
    loop {
        let ends = rest.match_indices(',').map(|(at, _)| at).chain([rest.len()]);
        let Some((end, router)) = ends.rev().find_map(|end| Some((end, topology.find(rest[..end].trim())?))) else {
            let name = rest.split(',').next().unwrap_or(rest).trim();
            return Err(Failure::Usage(format!("{flag} {name}: no router of this name in {source}")));
        };
        routers.push(router);
        match rest.get(end + 1..) {
            Some(others) => rest = others,
            None => return Ok(routers),
        }
    }
}

fn point(routers: usize, added: Option<String>, cost: Cost, state: &State) -> Point {
    let State { segments, probe_hops, granularity: hops } = *state;
    Point { routers, added, cost: cost.number(), segments, probe_hops, granularity: hops.map(granularity) }
}

fn granularity(hops: dwell_network::segments::Granularity) -> Granularity {
    Granularity { mean: hops.mean, min: hops.min, max: hops.max }
}

/// A part of a path, with the names of its routers.
pub(crate) fn probe(topology: &Topology, routers: &[u32]) -> Probe {
    let name = |&router: &u32| topology.name(router).to_owned();
    Probe {
        from: routers.first().map(name).unwrap_or_default(),
        to: routers.last().map(name).unwrap_or_default(),
        via: routers[1..routers.len() - 1].iter().map(name).collect(),
        hops: routers.len() - 1,
    }
}

/// Opens a file, compressed or not; `-` is standard input.
fn open(path: &Path) -> Result<Decompressed> {
    Decompressed::open(path, None).with_context(|| Name(path).to_string())
}

/// The text of a map.
fn text(path: &Path) -> Result<String> {
    /// Size limit in bytes: millions of links.
    const MOST: u64 = 256 << 20;
    let name = Name(path);
    let mut bytes = Vec::new();
    let read = open(path)?.take(MOST + 1).read_to_end(&mut bytes);
    read.with_context(|| name.to_string())?;
    if bytes.len() as u64 > MOST {
        bail!("{name}: expected the map of a network, at most {} MiB after decompression, found more", MOST >> 20);
    }
    let expected = "expected the map of a network as text, plain or compressed with gzip, xz or zstd";
    String::from_utf8(bytes).map_err(|_| anyhow!("{name}: not a text file: {expected}"))
}

/// The cost of every router, from a CSV with the columns `router` and `cost`; 1 for routers that are not listed.
fn costs(path: &Path, topology: &Topology) -> Result<Vec<Cost>> {
    let mut lines = Lines::open(path, None)?;
    let ([router, cost], []) = lines.columns(["router", "cost"], [])?;
    let mut costs: HashMap<String, Cost> = HashMap::new();
    while lines.advance()? {
        let (router, cost) = (lines.field(router), lines.field(cost));
        if topology.find(router).is_none() {
            bail!(lines.error(format!("the map has no router '{router}'")));
        }
        let cost = cost.parse().map_err(|what: String| lines.error(what))?;
        if costs.contains_key(router) {
            bail!(lines.error(format!("the cost of '{router}' a second time")));
        }
        costs.insert(router.to_owned(), cost);
    }
    lines.whole()?;
    Ok((0..topology.routers() as u32)
        .map(|router| costs.get(topology.name(router)).copied().unwrap_or(Cost::ONE))
        .collect())
}
