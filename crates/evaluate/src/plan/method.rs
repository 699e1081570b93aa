use super::workload::Stream;
use crate::case::{Measurement, Quantity};
use crate::experiment::Problem;
use crate::grid::{Configured, Entry, Measured};
use crate::run::methods_seed;
use crate::value::{Invalid, some, whole, written};
use dwell_network::paths::{Mode, Paths};
use dwell_network::plan::{Limits, State, Strategy, least_hops, plan};
use dwell_network::segments::Segments;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Links that one probe of each segment traverses.
pub(super) const PROBE_HOPS: Quantity = Quantity::value("probe_hops");
/// Their share of those without any instrumented router.
pub(super) const LEFT: Quantity = Quantity::share("left");
/// Mean length of a segment in links.
pub(super) const MEAN_HOPS: Quantity = Quantity::value("mean_hops");

/// One entry of `[[plan.methods]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// How many routers are instrumented.
    routers: Vec<f64>,
}

/// How they are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MethodName {
    Greedy,
    Saving,
    Swap,
    Random,
    /// In no way: a lower bound of what any choice leaves.
    Bound,
}

/// A method, and how many routers it may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Configuration {
    method: MethodName,
    routers: usize,
}

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let with = |&routers: &f64| {
            Ok(Configuration {
                method: self.method,
                routers: whole("routers", routers, 0..=u64::from(u32::MAX))? as usize,
            })
        };
        some("routers", &self.routers)?.iter().map(with).collect()
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&self.method)
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        BTreeMap::from([("routers".to_owned(), self.routers as f64)])
    }
}

impl Measured for Configuration {
    type Stream = Stream;

    fn suits(&self, stream: &Stream) -> Result<(), Problem> {
        if self.routers > stream.routers as usize {
            return Err(Problem(format!("{} routers: more than the {} of the map", self.routers, stream.routers)));
        }
        Ok(())
    }

    fn quantities(&self, _: &Stream) -> Vec<Quantity> {
        let length = (self.method != MethodName::Bound).then_some(MEAN_HOPS);
        [PROBE_HOPS, LEFT].into_iter().chain(length).collect()
    }

    /// Draws a map once for all configurations.
    fn run(stream: &Stream, configurations: &[&Self], seed: u64) -> Result<Vec<Vec<Measurement>>, Problem> {
        let topology = stream.topology(seed)?;
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST)?;
        let segments = Segments::new(paths, topology.routers());
        let measure = |configuration: &&Self| {
            let limits = Limits { seed: methods_seed(seed), ..Limits::routers(configuration.routers) };
            let planned = |strategy| -> State {
                let plan = plan(&topology, &mut segments.clone(), strategy, &limits);
                plan.steps.last().map_or(plan.before, |step| step.state)
            };
            let state = planned(match configuration.method {
                MethodName::Greedy => Strategy::Greedy,
                MethodName::Saving => Strategy::Saving,
                MethodName::Random => Strategy::Random,
                MethodName::Swap | MethodName::Bound => Strategy::Swap,
            });
            let is_bound = configuration.method == MethodName::Bound;
            let hops = if is_bound { least_hops(&segments, &limits, state.probe_hops, || {}) } else { state.probe_hops }
                as f64;
            let mut all = vec![PROBE_HOPS.measured(hops), LEFT.measured(hops / segments.hops() as f64)];
            if !is_bound {
                all.push(MEAN_HOPS.measured(state.granularity.map(|lengths| lengths.mean)));
            }
            all
        };
        Ok(configurations.iter().map(measure).collect())
    }
}
