//! Which routers to instrument, in which order, so that few hops are probed and faults are located finely.
//!
//! What a set of routers saves is the total weight of the paths through any of them ([`Segments`]), so a router saves
//! less the more routers are instrumented before it. This is maximum coverage, where [`Strategy::Saving`] reaches at
//! least 1 − 1/e of what the best set of equal size saves (Nemhauser, Wolsey and Fisher 1978). Where only some routers
//! have a server there is no such guarantee.

use crate::Topology;
use crate::millionths::{self, MILLION};
use crate::segments::{Granularity, Segments};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

// Costs of routers from a file.
mod costs;
pub use costs::costs;
// Exchanges of routers, of the strategy `swap`.
mod exchange;
// A lower bound on the probe hops of any plan.
mod bound;
pub use bound::{STEPS as BOUND_STEPS, least_hops};

/// How the next router is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The router on most segments [kompella12, Algorithm 1]; ties go to the first in the map.
    Greedy,
    /// The router that saves most probe hops, the actual objective; ties go to the first in the map.
    Saving,
    /// Begins with the routers of [`Strategy::Saving`] and exchanges them as long as that saves more: single ones, and
    /// with a budget also one or two for others; the result is ordered by saving.
    Swap,
    /// A random one.
    Random,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 4] = [Self::Greedy, Self::Saving, Self::Swap, Self::Random];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Greedy => "greedy",
            Self::Saving => "saving",
            Self::Swap => "swap",
            Self::Random => "random",
        }
    }
}

/// A cost in millionths, so that sums of decimal fractions are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost(u64);

/// With this limit the cost of 18,000 routers does not overflow; sums of more are cut off at 2⁶⁴ millionths.
const MOST_MILLIONTHS: u64 = 999_999_999 * MILLION;

impl Cost {
    /// The cost of a router for which none is given.
    pub const ONE: Self = Self(MILLION);

    /// The cost as a number.
    pub fn number(self) -> f64 {
        self.0 as f64 / MILLION as f64
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| sum + cost)
    }
}

impl std::str::FromStr for Cost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        millionths::parse(text, MOST_MILLIONTHS).map(Self).ok_or_else(|| {
            format!("expected a cost above 0 and below 1000000000, with at most 6 decimals, found '{text}'")
        })
    }
}

/// Limits of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The most routers to instrument.
    pub routers: usize,
    /// The cost of each router; 1 each if empty.
    pub costs: Vec<Cost>,
    /// The limit on their total cost.
    pub budget: Option<Cost>,
    /// Seed of random choices.
    pub seed: u64,
}

/// How finely a network is measured, and at what cost in probe hops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct State {
    /// The number of distinct segments.
    pub segments: usize,
    /// Links that one probe of each segment traverses.
    pub probe_hops: u64,
    /// The lengths of the segments; `None` without segments.
    pub granularity: Option<Granularity>,
}

/// One more instrumented router.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The router's number.
    pub router: u32,
    /// The router's cost.
    pub cost: Cost,
    /// The network after this step.
    pub state: State,
}

/// An order in which to instrument routers.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The network before any of these steps.
    pub before: State,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl State {
    fn of(segments: &Segments) -> Self {
        Self { segments: segments.len(), probe_hops: segments.hops(), granularity: segments.granularity() }
    }
}

impl Limits {
    /// At most this many routers, any of them.
    pub const fn routers(routers: usize) -> Self {
        Self { routers, costs: Vec::new(), budget: None, seed: 0 }
    }

    fn cost(&self, router: u32) -> Cost {
        self.costs.get(router as usize).copied().unwrap_or(Cost::ONE)
    }
}

/// Plans upgrades. Afterwards `segments` holds the segments at the end of the plan. With costs, routers are ranked by
/// gain per cost.
pub fn plan(topology: &Topology, segments: &mut Segments, strategy: Strategy, limits: &Limits) -> Plan {
    let before = State::of(segments);
    let free: Vec<u32> = (0..topology.routers() as u32).filter(|&router| !segments.is_instrumented(router)).collect();
    let mut order = fill(&free, segments, strategy, limits);
    if strategy == Strategy::Swap {
        let chosen = order.iter().map(|&(router, _)| router).collect();
        let chosen = exchange::exchange(&free, chosen, segments, limits);
        chosen.iter().for_each(|&router| segments.join(router));
        order = fill(&chosen, segments, strategy, limits);
    }
    let step = |(router, state)| Step { router, cost: limits.cost(router), state };
    Plan { before, steps: order.into_iter().map(step).collect() }
}

/// Instruments some of these routers, one after the other, within the limits.
fn fill(among: &[u32], segments: &mut Segments, strategy: Strategy, limits: &Limits) -> Vec<(u32, State)> {
    let mut order = Vec::new();
    let mut random = Pcg64Mcg::seed_from_u64(limits.seed);
    let mut spent = Cost::default();
    while order.len() < limits.routers {
        let candidates = candidates(among, segments, limits, spent);
        let per_cost = |gain: u64, router: u32| gain as f64 / limits.cost(router).number();
        let next = match strategy {
            Strategy::Greedy => best(&candidates, |router| per_cost(segments.counts()[router as usize], router)),
            Strategy::Saving | Strategy::Swap => best(&candidates, |router| per_cost(segments.saving(router), router)),
            Strategy::Random if candidates.is_empty() => None,
            Strategy::Random => Some(candidates[random.random_range(0..candidates.len())]),
        };
        let Some(router) = next else { break };
        segments.cut(router);
        spent += limits.cost(router);
        order.push((router, State::of(segments)));
    }
    order
}

/// Those of these routers that are not instrumented and, with others that cost `spent`, stay within the budget.
fn candidates(among: &[u32], segments: &Segments, limits: &Limits, spent: Cost) -> Vec<u32> {
    let is_within = |router: u32| limits.budget.is_none_or(|budget| spent + limits.cost(router) <= budget);
    among.iter().copied().filter(|&router| !segments.is_instrumented(router) && is_within(router)).collect()
}

/// The first candidate with the greatest value.
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
        for strategy in [Strategy::Greedy, Strategy::Saving, Strategy::Swap, Strategy::Random] {
            let plan = run(&topology, strategy, &Limits::routers(usize::MAX));
            assert_eq!(plan.steps.len(), 7);
            if strategy != Strategy::Random {
                assert_eq!(topology.name(plan.steps[0].router), "hub");
                // Of 42 paths the 12 within the arms and to the hub remain, and the 6 from the hub. Cutting adds none,
                // since all routes to the hub are already paths.
                assert_eq!(plan.steps[0].state.segments, 18);
            }
            let last = plan.steps.last().unwrap().state;
            assert_eq!((last.segments, last.probe_hops), (12, 12));
            assert_eq!(last.granularity, Some(Granularity { mean: 1.0, min: 1, max: 1 }));
            let hops: Vec<u64> = plan.steps.iter().map(|step| step.state.probe_hops).collect();
            assert!(hops.is_sorted_by(|a, b| a >= b), "{hops:?}");
        }
    }

    /// All sets of routers of some small maps: none leaves fewer hops than the bound, `Saving` reaches its guaranteed
    /// share, `Swap` is never worse, and a router's saving does not grow as others are instrumented before it.
    #[test]
    fn no_set_beats_the_bound() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        let (mut is_best, mut was_best, mut gap) = (0, 0, 0.0);
        for map in 0..60 {
            let mut text = String::new();
            for router in 1..9 {
                // A random tree with chords.
                for other in [random.random_range(0..router), random.random_range(0..router)] {
                    let weight = random.random_range(1..4);
                    text += &format!("r{router} r{other} {weight}\nr{other} r{router} {weight}\n");
                }
            }
            let topology = Topology::read(&text).unwrap();
            let mode = if map % 2 == 0 { Mode::EqualCost } else { Mode::Single };
            let segments = Segments::new(Paths::all(&topology, mode, Paths::MOST).unwrap(), topology.routers());
            let run = |strategy, size| plan(&topology, &mut segments.clone(), strategy, &Limits::routers(size));
            let mut best = [u64::MAX; 10];
            for set in 0u32..1 << 9 {
                let mut cut = segments.clone();
                (0..9).filter(|router| set >> router & 1 == 1).for_each(|router| cut.cut(router));
                let size = set.count_ones() as usize;
                best[size] = best[size].min(cut.hops());
                for more in 0..9 {
                    let mut with = cut.clone();
                    with.cut(more);
                    let fits = |other: u32| with.saving(other) <= cut.saving(other);
                    assert!((0..9).filter(|&other| !with.is_instrumented(other)).all(fits), "{text}");
                }
            }
            for size in 1..=4 {
                let [saving, swap] =
                    [Strategy::Saving, Strategy::Swap].map(|strategy| run(strategy, size).steps[size - 1]);
                let (all, best) = (segments.hops(), best[size]);
                let least = least_hops(&segments, &Limits::routers(size), swap.state.probe_hops, || {});
                assert!(least <= best, "{least} of {best}: {text}");
                gap += (best - least) as f64 / (all - best) as f64 / 240.0;
                assert!(swap.state.probe_hops <= saving.state.probe_hops && swap.state.probe_hops >= best, "{text}");
                let share = (all - saving.state.probe_hops) as f64 / (all - best) as f64;
                assert!(share >= 1.0 - (-1f64).exp(), "{share} of what can be saved: {text}");
                was_best += u32::from(saving.state.probe_hops == best);
                is_best += u32::from(swap.state.probe_hops == best);
            }
        }
        assert!(gap < 0.05, "the bound is {gap} of what is saved below the best on average");
        assert!(is_best > was_best, "{is_best} of 240 are the best possible, {was_best} before exchanging");
    }

    /// All sets of routers that a budget pays for, in small maps with costs, where all or some routers have a server:
    /// none leaves fewer hops than the bound, and `Swap` finds the best nearly always.
    #[test]
    fn budgets_are_spent_well() {
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let (mut cases, mut is_best, mut was_best) = (0, 0, 0);
        for map in 0..400 {
            let routers = random.random_range(4..10u32);
            let mut text = String::new();
            for router in 1..routers {
                for other in [random.random_range(0..router), random.random_range(0..router)] {
                    let weight = random.random_range(1..3);
                    text += &format!("r{router} r{other} {weight}\nr{other} r{router} {weight}\n");
                }
            }
            let mut topology = Topology::read(&text).unwrap();
            if map % 2 == 1 {
                topology.set_servers((0..routers).filter(|_| random.random_range(0..2) == 0));
            }
            let costs = (0..routers).map(|_| cost(["1", "2", "0.5", "3.25"][random.random_range(0..4)])).collect();
            let budget = cost(["1", "2", "3", "4.75"][random.random_range(0..4)]);
            let limits = Limits { costs, budget: Some(budget), ..Limits::routers(routers as usize) };
            let segments =
                Segments::new(Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap(), topology.routers());
            let is_in = |set: u32, router: u32| set >> router & 1 == 1;
            let paid = |set: &u32| {
                (0..routers).filter(|&router| is_in(*set, router)).map(|router| limits.cost(router)).sum::<Cost>()
                    <= budget
            };
            let hops = |set: u32| {
                let mut cut = segments.clone();
                (0..routers).filter(|&router| is_in(set, router)).for_each(|router| cut.cut(router));
                cut.hops()
            };
            let best = (0u32..1 << routers).filter(paid).map(hops).min().unwrap();
            let [saving, swap] = [Strategy::Saving, Strategy::Swap].map(|strategy| {
                let plan = plan(&topology, &mut segments.clone(), strategy, &limits);
                assert!(plan.steps.iter().map(|step| step.cost).sum::<Cost>() <= budget, "{text}");
                plan.steps.last().map_or(plan.before, |step| step.state).probe_hops
            });
            assert!(swap <= saving && swap >= best, "{text}");
            assert!(least_hops(&segments, &limits, swap, || {}) <= best, "{text}");
            cases += 1;
            is_best += u32::from(swap == best);
            was_best += u32::from(saving == best);
        }
        assert!(
            is_best >= 398 && was_best < 385,
            "{is_best} of {cases} are the best possible, {was_best} before exchanging"
        );
    }

    fn cost(text: &str) -> Cost {
        text.parse().unwrap()
    }

    /// Three tenths pay for three routers of a tenth each, and seven for seven. `Swap` leaves out the ends of the arms,
    /// which save nothing.
    #[test]
    fn no_money_is_left_over() {
        let topology = star_of_lines();
        let costs = vec![cost(".1"); topology.routers()];
        for strategy in [Strategy::Greedy, Strategy::Saving, Strategy::Swap, Strategy::Random] {
            for routers in 1..=7 {
                let budget = Some(cost(&format!("0.{routers}")));
                let plan = run(&topology, strategy, &Limits { costs: costs.clone(), budget, ..Limits::routers(9) });
                let useful = if strategy == Strategy::Swap { 4 } else { 7 };
                assert_eq!(plan.steps.len(), routers.min(useful), "{strategy:?}");
            }
        }
        for wrong in ["0", "-1", "", "1e3", "0.0000001", "1000000000", "nan"] {
            assert!(wrong.parse::<Cost>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn costs_and_budgets_count() {
        let topology = star_of_lines();
        let hub = topology.find("hub").unwrap();
        let mut costs = vec![Cost::ONE; topology.routers()];
        costs[hub as usize] = cost("100");
        let plan = run(&topology, Strategy::Greedy, &Limits { costs, budget: Some(cost("2.5")), ..Limits::routers(9) });
        assert_eq!(plan.steps.len(), 2);
        assert!(plan.steps.iter().all(|step| topology.name(step.router).ends_with('1')));
        // `Swap` keeps to the budget, too.
        let costs = (0..topology.routers() as u32).map(|r| cost(if r == hub { "0.6" } else { "0.1" })).collect();
        let limits = Limits { costs, budget: Some(cost("0.6")), ..Limits::routers(9) };
        let [saving, swap] = [Strategy::Saving, Strategy::Swap].map(|strategy| run(&topology, strategy, &limits));
        for plan in [&saving, &swap] {
            assert!(plan.steps.iter().map(|step| step.cost).sum::<Cost>() <= cost("0.6"));
        }
        let [saving, swap] = [saving, swap].map(|plan| plan.steps.last().unwrap().state.probe_hops);
        assert!(swap <= saving, "{swap} {saving}");
    }

    #[test]
    fn seeds_repeat() {
        let topology = star_of_lines();
        let random = |seed| run(&topology, Strategy::Random, &Limits { seed, ..Limits::routers(7) });
        assert_eq!(random(1), random(1));
        assert!((2..20).any(|seed| random(seed) != random(1)));
    }

    /// The whole curve of a map with 315 routers and 207,138 paths against the figures of kompella12 Fig. 9, ±3% where
    /// ties leave a choice.
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
        for routers in [10, 20, 30, 45, 50] {
            let [greedy, saving, swap] = [Strategy::Greedy, Strategy::Saving, Strategy::Swap]
                .map(|strategy| run(strategy, routers).steps[routers - 1].state.probe_hops);
            let begin = std::time::Instant::now();
            let least = least_hops(&segments, &Limits::routers(routers), swap, || {});
            let took = begin.elapsed();
            eprintln!(
                "{routers} routers: greedy {greedy}, saving {saving}, swap {swap}, at least {least}, found in {took:.1?}"
            );
            assert!(least <= swap && swap <= saving);
        }
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
