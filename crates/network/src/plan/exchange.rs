//! Exchanges of routers that save more probe hops.

use super::{Cost, Limits, best, candidates};
use crate::segments::Segments;

/// Exchanges routers of a plan as long as that saves more. Afterwards they are instrumented in `segments`, as those of
/// the plan were before.
///
/// Each router is exchanged for the one that saves most in its place, until no exchange saves more. With a budget, where
/// one router may pay for several, one router or two of the [`WEAKEST`] then make room for others, and those that save
/// nothing are left out.
pub(super) fn exchange(free: &[u32], plan: Vec<u32>, segments: &mut Segments, limits: &Limits) -> Vec<u32> {
    let mut search = Search { free, limits, segments, chosen: plan };
    if limits.budget.is_none() {
        search.replace();
    } else {
        search.start_better();
        search.improve();
    }
    search.chosen
}

/// Two routers make room for others only if both are among this many that save least for their cost: all pairs would take
/// minutes in large maps.
const WEAKEST: usize = 12;

/// Which router is taken next.
#[derive(Clone, Copy)]
enum Order {
    /// The one that saves most.
    Saving,
    /// The one that saves most for its cost.
    SavingPerCost,
}

/// The routers chosen so far, which are instrumented in `segments`.
struct Search<'a> {
    free: &'a [u32],
    limits: &'a Limits,
    segments: &'a mut Segments,
    chosen: Vec<u32>,
}

impl Search<'_> {
    /// Begins with the routers that save most one after the other, if that is better than those that save most for their
    /// cost: both orders are wrong at times.
    fn start_better(&mut self) {
        let hops = self.segments.hops();
        let plan = std::mem::take(&mut self.chosen);
        plan.iter().for_each(|&router| self.segments.join(router));
        self.chosen = self.fill(&[], Order::Saving);
        if self.segments.hops() >= hops {
            self.chosen.iter().for_each(|&router| self.segments.join(router));
            plan.iter().for_each(|&router| self.segments.cut(router));
            self.chosen = plan;
        }
    }

    /// All exchanges, until none saves more.
    fn improve(&mut self) {
        loop {
            self.replace();
            self.drop_idle();
            if !self.make_room() {
                return;
            }
        }
    }

    fn cost(&self, routers: &[u32]) -> Cost {
        routers.iter().map(|&router| self.limits.cost(router)).sum()
    }

    fn saving_per_cost(&self, router: u32) -> f64 {
        self.segments.saving(router) as f64 / self.limits.cost(router).number()
    }

    /// The routers that could be added to these.
    fn candidates(&self, kept: &[u32]) -> Vec<u32> {
        candidates(self.free, self.segments, self.limits, self.cost(kept))
    }

    /// Replaces each router by the one that saves most in its place, until no replacement saves more.
    fn replace(&mut self) {
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for place in 0..self.chosen.len() {
                let old = self.chosen[place];
                self.segments.join(old);
                let candidates = self.candidates(&without(&self.chosen, &[old]));
                let saves = |router: u32| self.segments.saving(router);
                if let Some(other) = best(&candidates, |router| saves(router) as f64).filter(|&o| saves(o) > saves(old))
                {
                    self.chosen[place] = other;
                    has_changed = true;
                }
                self.segments.cut(self.chosen[place]);
            }
        }
    }

    /// Leaves out routers that save nothing beside the others.
    fn drop_idle(&mut self) {
        for router in self.chosen.clone() {
            self.segments.join(router);
            if self.segments.saving(router) == 0 {
                self.chosen.retain(|&other| other != router);
            } else {
                self.segments.cut(router);
            }
        }
    }

    /// Leaves out none, one or two routers and adds what saves most instead; whether that once saved more.
    fn make_room(&mut self) -> bool {
        if self.refill(&[]) {
            return true;
        }
        let routers = self.weakest_first();
        let weakest = routers.len().min(WEAKEST);
        let mut pairs = (0..weakest).flat_map(|first| (0..first).map(move |second| [first, second]));
        routers.iter().any(|&router| self.refill(&[router]))
            || pairs.any(|pair| self.refill(&pair.map(|place| routers[place])))
    }

    /// The chosen routers, in the order of what they save for their cost beside the others.
    fn weakest_first(&mut self) -> Vec<u32> {
        let mut routers: Vec<(f64, u32)> = Vec::new();
        for &router in &self.chosen {
            self.segments.join(router);
            routers.push((self.saving_per_cost(router), router));
            self.segments.cut(router);
        }
        routers.sort_by(|a, b| a.0.total_cmp(&b.0));
        routers.into_iter().map(|(_, router)| router).collect()
    }

    /// Leaves out some routers and adds others, if that saves more.
    fn refill(&mut self, out: &[u32]) -> bool {
        let before = self.segments.hops();
        out.iter().for_each(|&router| self.segments.join(router));
        let kept = without(&self.chosen, out);
        if self.segments.hops() as f64 - self.most_saved(&kept) < before as f64 {
            for order in [Order::SavingPerCost, Order::Saving] {
                let added = self.fill(&kept, order);
                if self.segments.hops() < before {
                    self.chosen = [kept, added].concat();
                    return true;
                }
                added.iter().for_each(|&router| self.segments.join(router));
            }
        }
        out.iter().for_each(|&router| self.segments.cut(router));
        false
    }

    /// An upper bound on what routers added to these save, as if the last one could be paid for in part. Where all routers
    /// have servers, since then none saves more beside others than alone; otherwise it is a good guess.
    fn most_saved(&self, kept: &[u32]) -> f64 {
        let Some(budget) = self.limits.budget else { return f64::INFINITY };
        let mut candidates = self.candidates(kept);
        candidates.sort_by(|&a, &b| self.saving_per_cost(b).total_cmp(&self.saving_per_cost(a)));
        let (mut left, mut most) = (budget.number() - self.cost(kept).number(), 0.0);
        for router in candidates {
            let paid = self.limits.cost(router).number().min(left);
            most += paid * self.saving_per_cost(router);
            left -= paid;
        }
        // Costs have rounding errors.
        most + 0.5
    }

    /// Adds to the kept routers, one after the other, those that save most; returns them.
    fn fill(&mut self, kept: &[u32], order: Order) -> Vec<u32> {
        let mut routers = kept.to_vec();
        while routers.len() < self.limits.routers {
            let mut candidates = self.candidates(&routers);
            candidates.retain(|&router| self.segments.saving(router) > 0);
            let next = best(&candidates, |router| match order {
                Order::Saving => self.segments.saving(router) as f64,
                Order::SavingPerCost => self.saving_per_cost(router),
            });
            let Some(router) = next else { break };
            self.segments.cut(router);
            routers.push(router);
        }
        routers.split_off(kept.len())
    }
}

/// The routers that are not left out.
fn without(routers: &[u32], out: &[u32]) -> Vec<u32> {
    routers.iter().copied().filter(|router| !out.contains(router)).collect()
}
