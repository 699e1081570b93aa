//! Which routers to instrument, one after the other, so that few hops are probed and faults are located finely.

use crate::Topology;
use crate::segments::{Granularity, Segments};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// How the next router is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The one through which most segments lead [kompella12, Algorithm 1]; of several, the first in the map.
    Greedy,
    /// The one that saves most probe hops, which is what is wanted; of several, the first in the map.
    Saving,
    /// Any.
    Random,
}

/// What may be instrumented.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// So many routers.
    pub routers: usize,
    /// What each router costs; 1 each if empty.
    pub costs: Vec<f64>,
    /// What all of them may cost together.
    pub budget: Option<f64>,
    /// Of random choices.
    pub seed: u64,
}

/// A network and how finely it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// Distinct segments.
    pub segments: usize,
    /// Links that one probe of each passes.
    pub probe_hops: u64,
    /// How long they are; `None` without segments.
    pub granularity: Option<Granularity>,
}

/// One router more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its number.
    pub router: u32,
    /// What it costs.
    pub cost: f64,
    /// The network with it.
    pub state: State,
}

/// A way to instrument a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Without any.
    pub before: State,
    /// In order.
    pub steps: Vec<Step>,
}

impl State {
    fn of(segments: &Segments) -> Self {
        Self { segments: segments.len(), probe_hops: segments.hops(), granularity: segments.granularity() }
    }
}

impl Limits {
    /// Any routers up to a number.
    pub const fn routers(routers: usize) -> Self {
        Self { routers, costs: Vec::new(), budget: None, seed: 0 }
    }

    fn cost(&self, router: u32) -> f64 {
        self.costs.get(router as usize).copied().unwrap_or(1.0)
    }
}

/// Plans upgrades; `segments` holds those of the plan's end afterwards. With costs, what is gained is weighed against them.
pub fn plan(topology: &Topology, segments: &mut Segments, strategy: Strategy, limits: &Limits) -> Plan {
    let mut plan = Plan { before: State::of(segments), steps: Vec::new() };
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let mut left = limits.budget.unwrap_or(f64::INFINITY);
    while plan.steps.len() < limits.routers {
        let mut candidates: Vec<u32> = (0..topology.routers() as u32)
            .filter(|&router| !segments.is_instrumented(router) && limits.cost(router) <= left)
            .collect();
        let next = match strategy {
            Strategy::Greedy => {
                best(&candidates, |router| segments.counts()[router as usize] as f64 / limits.cost(router))
            }
            Strategy::Saving => most_saving(&mut candidates, segments, limits),
            Strategy::Random if candidates.is_empty() => None,
            Strategy::Random => Some(candidates[random.random_range(0..candidates.len())]),
        };
        let Some(router) = next else { break };
        segments.cut(router);
        left -= limits.cost(router);
        plan.steps.push(Step { router, cost: limits.cost(router), state: State::of(segments) });
    }
    plan
}

/// The first of those with the greatest value.
fn best(candidates: &[u32], value: impl Fn(u32) -> f64) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for &router in candidates {
        let value = value(router);
        if best.is_none_or(|(greatest, _)| value > greatest) {
            best = Some((value, router));
        }
    }
    best.map(|(_, router)| router)
}

/// The first of those that save most per cost. No router saves more than the hops of the segments through it, so most need not be looked at.
fn most_saving(candidates: &mut [u32], segments: &Segments, limits: &Limits) -> Option<u32> {
    let bound = |router: u32| segments.hops_through(router) as f64 / limits.cost(router);
    candidates.sort_by(|&a, &b| bound(b).total_cmp(&bound(a)).then(a.cmp(&b)));
    let mut best: Option<(f64, u32)> = None;
    for &router in candidates.iter() {
        if best.is_some_and(|(greatest, _)| bound(router) < greatest) {
            break;
        }
        let saving = segments.saving(router) as f64 / limits.cost(router);
        if best.is_none_or(|(greatest, first)| saving > greatest || saving == greatest && router < first) {
            best = Some((saving, router));
        }
    }
    best.map(|(_, router)| router)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Mode, Paths};

    fn star_of_lines() -> Topology {
        // Three arms of two routers around a hub.
        let mut text = String::new();
        for arm in ["a", "b", "c"] {
            for (from, to) in [("hub".to_owned(), format!("{arm}1")), (format!("{arm}1"), format!("{arm}2"))] {
                text += &format!("{from} {to} 1\n{to} {from} 1\n");
            }
        }
        Topology::read(&text).unwrap()
    }

    fn run(topology: &Topology, strategy: Strategy, limits: &Limits) -> Plan {
        let paths = Paths::all(topology, Mode::EqualCost, Paths::MOST).unwrap();
        plan(topology, &mut Segments::new(paths, topology.routers()), strategy, limits)
    }

    #[test]
    fn the_hub_comes_first_and_at_last_every_link_is_a_segment() {
        let topology = star_of_lines();
        for strategy in [Strategy::Greedy, Strategy::Saving, Strategy::Random] {
            let plan = run(&topology, strategy, &Limits::routers(usize::MAX));
            assert_eq!(plan.steps.len(), 7);
            if strategy != Strategy::Random {
                assert_eq!(topology.name(plan.steps[0].router), "hub");
                // Of 42 paths the 12 within arms and to the hub are left, and 6 are new: none, since all ways to the hub are paths.
                assert_eq!(plan.steps[0].state.segments, 18);
            }
            let last = plan.steps.last().unwrap().state;
            assert_eq!((last.segments, last.probe_hops), (12, 12));
            assert_eq!(last.granularity, Some(Granularity { mean: 1.0, min: 1, max: 1 }));
            let hops: Vec<u64> = plan.steps.iter().map(|step| step.state.probe_hops).collect();
            assert!(hops.is_sorted_by(|a, b| a >= b), "{hops:?}");
        }
    }

    #[test]
    fn costs_and_budgets_count() {
        let topology = star_of_lines();
        let hub = topology.find("hub").unwrap();
        let mut costs = vec![1.0; topology.routers()];
        costs[hub as usize] = 100.0;
        let plan = run(&topology, Strategy::Greedy, &Limits { costs, budget: Some(2.5), ..Limits::routers(9) });
        assert_eq!(plan.steps.len(), 2);
        assert!(plan.steps.iter().all(|step| topology.name(step.router).ends_with('1')));
    }

    #[test]
    fn seeds_repeat() {
        let topology = star_of_lines();
        let random = |seed| run(&topology, Strategy::Random, &Limits { seed, ..Limits::routers(7) });
        assert_eq!(random(1), random(1));
        assert!((2..20).any(|seed| random(seed) != random(1)));
    }

    /// The whole curve of a map with 315 routers and 207,138 paths; figures of kompella12 Fig. 9, ±3% where equal counts leave a choice.
    #[test]
    fn sprint() {
        let Some(folder) = std::env::var_os("DWELL_DATA") else {
            eprintln!("skipped: DWELL_DATA names no folder");
            return;
        };
        let file = std::path::Path::new(&folder).join("topologies/rocketfuel/1239/weights.intra");
        let Ok(text) = std::fs::read_to_string(&file) else {
            eprintln!("skipped: {} is not there", file.display());
            return;
        };
        let topology = Topology::read(&text).unwrap();
        assert_eq!((topology.routers(), topology.links()), (315, 1_944));
        let single = Paths::all(&topology, Mode::Single, Paths::MOST).unwrap();
        assert_eq!(single.len(), 98_910);
        assert!((single.hops() as f64 / 419_250.0 - 1.0).abs() < 0.03, "{}", single.hops());
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        assert_eq!((paths.len(), paths.hops()), (207_138, 965_384));
        let segments = Segments::new(paths, topology.routers());
        let run = |strategy, routers| plan(&topology, &mut segments.clone(), strategy, &Limits::routers(routers));
        let greedy = run(Strategy::Greedy, usize::MAX);
        for (routers, hops) in
            [(10, 159_794.0), (20, 29_454.0), (30, 12_772.0), (45, 5_662.0), (50, 4_746.0), (315, 1_924.0)]
        {
            let found = greedy.steps[routers - 1].state.probe_hops as f64;
            assert!((found / hops - 1.0).abs() < 0.03, "{routers} routers: {found} hops, expected {hops}");
        }
        let mean = |state: State| state.granularity.unwrap().mean;
        assert!((mean(greedy.before) - 4.66).abs() < 0.005 && (mean(greedy.steps[49].state) - 1.49).abs() < 0.03);
        let saving = run(Strategy::Saving, 50);
        assert!(saving.steps[49].state.probe_hops <= greedy.steps[49].state.probe_hops);
        eprintln!("greedy {} saving {}", greedy.steps[49].state.probe_hops, saving.steps[49].state.probe_hops);
        // Mean of ten: about 457 thousand at 45.
        let random: f64 = (0..10)
            .map(|seed| {
                plan(&topology, &mut segments.clone(), Strategy::Random, &Limits { seed, ..Limits::routers(45) })
            })
            .map(|plan| plan.steps[44].state.probe_hops as f64 / 10.0)
            .sum();
        assert!((3.0e5..6.0e5).contains(&random), "{random}");
    }
}
