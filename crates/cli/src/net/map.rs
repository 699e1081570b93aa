//! The map of a network with its paths, and the routers of it that flags name.

use super::arguments::{ChosenArguments, RoutingArguments};
use crate::Failure;
use crate::units::distinct;
use anyhow::{Result, anyhow};
use dwell_capture::Name;
use dwell_logs::text;
use dwell_network::Topology;
use dwell_network::paths::{Mode, Paths};
use dwell_network::plan::{self, Limits, Strategy};
use dwell_network::segments::Segments;
use dwell_network::topology::Remarks;
use dwell_report::net::Network;
use dwell_report::text::{are, of};
use std::path::Path;
use std::sync::Arc;

/// A network and the paths in it.
pub(crate) struct Map {
    pub(crate) topology: Topology,
    pub(super) paths: Arc<Paths>,
    pub(super) network: Network,
    /// The routers that are instrumented according to the map or `--instrumented`.
    pub(super) instrumented: Vec<u32>,
    /// The network before these links failed; `None` if none did.
    pub(super) before: Option<(Topology, Arc<Paths>)>,
}

impl Map {
    pub(crate) fn read(path: &Path, arguments: &RoutingArguments) -> Result<Self, Failure> {
        let (source, name) = (path.display().to_string(), Name(path));
        let text = text::whole(path, "the map of a network")?;
        let mut topology = Topology::read(&text).map_err(|error| anyhow!("{name}: {error}"))?;
        if arguments.both_ways {
            topology.make_both_ways();
        }
        if !arguments.servers.is_empty() {
            let servers = named(&topology, &source, "--servers", &arguments.servers)?;
            if servers.len() < 2 {
                let what = format!("--servers {}: expected at least two routers", arguments.servers.join(","));
                return Err(Failure::usage(what));
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
    pub(super) fn segments(&self) -> Segments {
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

    pub(super) fn names(&self, routers: &[u32]) -> Vec<String> {
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
}

/// Removes the links between two routers, whose names are joined by a comma.
fn fail(topology: &mut Topology, source: &str, ends: &str) -> Result<usize, Failure> {
    let usage = |what| Failure::usage(format!("--failed {ends}: {what}"));
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
            return Err(Failure::usage(format!("{flag} {name}: no router of this name in {source}")));
        };
        routers.push(router);
        match rest.get(end + 1..) {
            Some(others) => rest = others,
            None => return Ok(routers),
        }
    }
}
