//! What is found in a network, as the lines of a report.

use super::map::Map;
use super::picture::Shade;
use dwell_network::Topology;
use dwell_network::localize::{Change, Kind, Localization, LossVerdict, Readings, Routes, Verdict};
use dwell_network::plan::{Cost, Plan, State, Strategy};
use dwell_network::segments;
use dwell_report::net::{
    ChangeLine, DelayShift, Granularity, LossShift, PLAN_SCHEMA, PathLine, PlanReport, Point, Route, SegmentLine,
    SuspectLine,
};
use dwell_sketch::estimate::{Estimate, Z95};

/// The report of a plan for a map.
pub(super) fn plan_report(map: &Map, plan: &Plan, strategy: Strategy, seed: u64) -> PlanReport {
    let mut cost = Cost::default();
    let already = map.instrumented.len();
    let mut curve = vec![point(already, None, cost, &plan.before)];
    for (number, step) in (1..).zip(&plan.steps) {
        cost += step.cost;
        curve.push(point(already + number, Some(map.topology.name(step.router).to_owned()), cost, &step.state));
    }
    PlanReport {
        schema: PLAN_SCHEMA,
        network: map.network.clone(),
        warnings: map.warnings(),
        strategy: strategy.name(),
        seed,
        instrumented: map.names(&map.instrumented),
        segments: plan.before.segments,
        curve,
        least_probe_hops: None,
    }
}

fn point(routers: usize, added: Option<String>, cost: Cost, state: &State) -> Point {
    let State { segments, probe_hops, granularity: hops } = *state;
    Point { routers, added, cost: cost.number(), segments, probe_hops, granularity: hops.map(granularity) }
}

pub(super) fn granularity(hops: segments::Granularity) -> Granularity {
    Granularity { mean: hops.mean, min: hops.min, max: hops.max }
}

/// A part of a path, with the names of its routers.
pub(crate) fn route(topology: &Topology, routers: &[u32]) -> Route {
    let name = |&router: &u32| topology.shared_name(router);
    Route {
        from: routers.first().map(name).unwrap_or_default(),
        to: routers.last().map(name).unwrap_or_default(),
        via: routers[1..routers.len() - 1].iter().map(name).collect(),
        hops: routers.len() - 1,
    }
}

/// What was found in a network, and how it is reported.
pub(super) struct Answer<'a> {
    pub(super) map: &'a Map,
    pub(super) routes: &'a Routes,
    pub(super) readings: &'a Readings,
    pub(super) found: &'a Localization,
}

impl Answer<'_> {
    fn route(&self, segment: u32) -> Route {
        route(&self.map.topology, self.routes.routers(segment))
    }

    /// Start of an interval.
    fn start(&self, interval: usize) -> i64 {
        self.readings.starts().get(interval).copied().unwrap_or_default()
    }

    fn delay(&self, verdict: &Verdict, alarm: f64) -> DelayShift {
        let Verdict { baseline, shift, p_value, .. } = *verdict;
        DelayShift {
            since_ns: self.start(shift.first),
            intervals: shift.intervals,
            usual_ns: baseline.mean,
            spread_ns: baseline.spread,
            found_ns: shift.value,
            excess_ns: shift.excess,
            score: shift.score,
            p_value,
            alarm: p_value <= alarm,
        }
    }

    fn loss(&self, verdict: &LossVerdict) -> LossShift {
        let LossVerdict { usual, first, intervals, found, p_value, ln_odds } = *verdict;
        let alarm = p_value <= self.found.segment_alarm;
        LossShift { since_ns: self.start(first), intervals, usual, found, p_value, ln_odds, alarm }
    }

    /// Colour and mark of a segment in the plot.
    pub(super) fn shade(&self, routers: &[u32]) -> Option<Shade> {
        let segment = self.routes.find(routers)?;
        let (delay, loss) = (self.found.delays[segment as usize], self.found.losses[segment as usize]);
        let p_values = [delay.map(|delay| delay.p_value), loss.map(|loss| loss.p_value)];
        let p_value = p_values.into_iter().flatten().min_by(f64::total_cmp)?;
        Some(Shade { delay_ns: delay.map(|delay| delay.shift.value), alarm: p_value <= self.found.segment_alarm })
    }

    /// The segments of the judged paths: the ranking, then those whose delay is not known well enough.
    pub(super) fn segments(&self) -> Vec<SegmentLine> {
        let mut order = self.found.ranking();
        let unknown = (0..self.routes.segments() as u32)
            .filter(|&segment| self.found.is_asked(segment) && self.found.delays[segment as usize].is_none());
        order.extend(unknown);
        let line = |segment: u32| {
            let delay = self.found.delays[segment as usize].as_ref();
            SegmentLine {
                segment: self.route(segment),
                intervals: self.readings.known(segment),
                delay: delay.map(|verdict| self.delay(verdict, self.found.segment_alarm)),
                probability: delay.map(|_| self.found.probabilities[segment as usize]),
                loss: self.found.losses[segment as usize].as_ref().map(|verdict| self.loss(verdict)),
            }
        };
        order.into_iter().map(line).collect()
    }

    /// The slow paths, or with `all` every judged path.
    pub(super) fn paths(&self, all: bool) -> Vec<PathLine> {
        let chance = |verdict: &Option<Verdict>| verdict.map_or(f64::INFINITY, |verdict| verdict.p_value);
        let is_slow = |verdict: &Option<Verdict>| verdict.is_some_and(|verdict| self.found.is_slow(&verdict));
        let mut listed: Vec<_> = self.found.paths.iter().filter(|(_, verdict)| all || is_slow(verdict)).collect();
        listed.sort_by(|a, b| chance(&a.1).total_cmp(&chance(&b.1)));
        listed.into_iter().map(|(path, verdict)| self.path(*path, verdict.as_ref())).collect()
    }

    fn path(&self, path: usize, verdict: Option<&Verdict>) -> PathLine {
        let state = self.found.path(self.routes, self.readings, path, verdict);
        let suspects = state.suspects.iter().map(|suspect| SuspectLine {
            segment: self.route(suspect.segment),
            excess_ns: suspect.excess_ns,
            share: suspect.share,
            probability: suspect.probability,
        });
        PathLine {
            path: route(&self.map.topology, self.routes.path_routers(path)),
            delay_ns: state.delay.map(|(value, variance)| {
                let half = Z95 * variance.sqrt();
                Estimate { value, low: value - half, high: value + half }
            }),
            std_ns: state.std_ns,
            loss: state.loss,
            delay: verdict.map(|verdict| self.delay(verdict, self.found.path_alarm)),
            missing: state.missing.iter().map(|&segment| self.route(segment)).collect(),
            suspects: suspects.collect(),
        }
    }

    pub(super) fn changes(&self) -> Vec<ChangeLine> {
        let line = |change: &Change| ChangeLine {
            segment: self.route(change.segment),
            kind: match change.kind {
                Kind::Delay => "delay",
                Kind::Loss => "loss",
            },
            since_ns: self.start(change.since),
            first_alarm_ns: self.start(change.first_alarm),
            last_alarm_ns: self.start(change.last_alarm),
            p_value: change.p_value,
        };
        self.found.changes.iter().map(line).collect()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.map.warnings();
        let asked = (0..self.routes.segments() as u32).filter(|&segment| self.found.is_asked(segment));
        let unknown = asked.filter(|&segment| self.found.delays[segment as usize].is_none()).count();
        if unknown > 0 {
            warnings.push(format!("segments whose delay is known in too few intervals or none: {unknown}"));
        }
        if self.is_scattered() {
            warnings.push("segments were measured at different times: align them with --interval".to_owned());
        }
        // Four standard errors: by chance once in 30,000.
        if let Some((correlation, _)) = self.found.correlation.filter(|&(mean, error)| mean > (4.0 * error).max(0.1)) {
            warnings.push(format!(
                "successive intervals are correlated ({correlation:.2}): false alarms are more frequent than stated; \
                 use longer intervals"
            ));
        }
        warnings
    }

    /// Whether most intervals have measurements of few segments only.
    fn is_scattered(&self) -> bool {
        let known: Vec<usize> =
            (0..self.routes.segments() as u32).map(|segment| self.readings.known(segment)).collect();
        let measured = known.iter().filter(|&&known| known > 0).count();
        2 * known.iter().sum::<usize>() < measured * self.readings.starts().len()
    }
}
