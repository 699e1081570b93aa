//! The kinds of experiment.

use crate::experiment::Experiment;
use crate::grid::{Entry, Grid, Measured, Tables};
use crate::queue::{self, control};
use crate::value::Invalid;
use crate::{crossing, delay, flows, network, plan, ring};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeValue, Error};

/// Builds the experiment with streams of a given share of their full length.
pub(crate) type Build = Box<dyn Fn(f64) -> Result<Arc<dyn Experiment>, Invalid>>;

/// A kind of experiment: what its streams and methods are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Response times at one point.
    Delay,
    /// One-way delays between two points.
    Crossing,
    /// One-way delays of flows.
    Flows,
    /// Rings of Bloom filters by themselves.
    Ring,
    /// Which flows built a queue.
    Queue,
    /// Queue management based on that.
    Control,
    /// Which links of a network are at fault.
    Network,
    /// Which routers of a network to instrument.
    Plan,
}

const _: () = assert!(Kind::Plan as usize + 1 == Kind::ALL.len());

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] =
        [Self::Delay, Self::Crossing, Self::Flows, Self::Ring, Self::Queue, Self::Control, Self::Network, Self::Plan];

    /// The name of its tables in a definition.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Crossing => "crossing",
            Self::Flows => "flows",
            Self::Ring => "ring",
            Self::Queue => "queue",
            Self::Control => "control",
            Self::Network => "network",
            Self::Plan => "plan",
        }
    }

    /// Reads its tables.
    pub(crate) fn read(self, value: Spanned<DeValue<'_>>) -> Result<Build, Error> {
        match self {
            Self::Delay => read::<delay::WorkloadEntry, delay::MethodEntry>(value),
            Self::Crossing => read::<crossing::WorkloadEntry, crossing::MethodEntry>(value),
            Self::Flows => read::<flows::WorkloadEntry, flows::MethodEntry>(value),
            Self::Ring => read::<ring::WorkloadEntry, ring::MethodEntry>(value),
            Self::Queue => read::<queue::WorkloadEntry, queue::MethodEntry>(value),
            Self::Control => read::<control::WorkloadEntry, control::MethodEntry>(value),
            Self::Network => read::<network::WorkloadEntry, network::MethodEntry>(value),
            Self::Plan => read::<plan::WorkloadEntry, plan::MethodEntry>(value),
        }
    }
}

fn read<W, M>(value: Spanned<DeValue<'_>>) -> Result<Build, Error>
where
    W: Entry<Item = (String, <M::Item as Measured>::Stream)> + 'static,
    M: Entry<Item: Measured> + 'static,
{
    let tables = Tables::<W, M>::deserialize(value.into_deserializer())?;
    Ok(Box::new(move |share| Ok(Arc::new(Grid::new(&tables, share)?))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{self, Summary};
    use crate::record::Results;
    use crate::test_support::accepted;
    use crate::{Definition, Extent, Quantity, Run, figure, run};
    use std::collections::BTreeSet;
    use std::fs;
    use std::ops::Range;
    use std::path::Path;
    use toml::de::DeTable;

    const HEAD: &str = "name = 'n'\ntitle = 't'\nsource = 's'\nseeds = 1\n";

    /// A definition of each kind, with all its numbers.
    const ALL: [&str; 8] = [
        r#"
[[delay.workloads]]
name = "span"
rate = 2e4
answered = 0.4
orphan_share = 0.5
orphan_run = 100
delays = { distribution = "log-normal", mean_ms = 57.8, p99_ms = 512 }
bursts = { calm_ms = 100, burst_ms = 100, rate_factor = 2, delay_factor = 2 }
span_ms = 5000
measured_ms = [0, 4000]
[[delay.workloads]]
name = "requests"
preset = "fridge-synthetic"
longest_ms = 64
requests = 1000
delays = { distribution = "two-modes", common = { distribution = "empirical", values_ms = [1, 2] }, rare = { distribution = "log-uniform", low_ms = 1, high_ms = 9 }, rare_share = 0.1 }
[[delay.methods]]
method = "stages"
slots = [1024]
stages = 4
fingerprint_bits = 16
expiry_ms = 1000
longest_ms = 500
[[delay.methods]]
method = "timebloom"
memory_bytes = [65536]
longest_ms = 500
rate = 1000
[[delay.methods]]
method = "fridge"
slots = [1024]
entry_probability = [0.5]
[[delay.methods]]
method = "fridge"
slots = [1024]
lifetime_requests = [8192]
[[delay.methods]]
method = "mis"
slots = [1024]
lifetimes = [[8192, 16384]]
[[delay.methods]]
method = "fridge-table"
slots = [1024]
entry_probability = [0.5]
[[delay.methods]]
method = "fridge-staged"
slots = [1024]
entry_probability = [0.5]
stages = 4
[[delay.methods]]
method = "fridges-ivw"
slots = [1024]
lifetimes = [[8192, 16384]]
"#,
        r#"
[[crossing.workloads]]
name = "lossy"
packets = 10_000
rate = 5e6
delays = { distribution = "weibull", scale_ms = 0.000133, shape = 0.6 }
losses = [0.01]
burst_packets = 100
displaced = 100
clock_offset_ns = 100
clock_drift_ppm = 10
[[crossing.methods]]
method = "lda"
rows = [512]
losses = [0.1]
alpha = 0.5
[[crossing.methods]]
method = "trajectory"
memory_bytes = [9216]
[[crossing.methods]]
method = "probes"
rate = [144]
"#,
        r#"
[[flows.workloads]]
name = "flows"
flows = 100
coherence_ms = 100
loss = 0.01
references = 100
classes = [0.1]
[[flows.methods]]
method = "paper"
columns = [1000]
cells_per_flow = 2
rates = [1, 0.5, 0.1, 0.01]
weights = [1, 10]
[[flows.methods]]
method = "mpe"
memory_bytes = [100_000]
rate = 0.1
"#,
        r#"
[[ring.workloads]]
name = "drawn"
rate = 1000
delays = { distribution = "pareto", least_ms = 1, shape = 2 }
longest_ms = 100
span_ms = 1000
orphan_share = 0.5
course_ms = 100
[[ring.workloads]]
name = "table"
rate = 1000
table_ms = [[10, 500], [100, 1000]]
longest_ms = 100
span_ms = 1000
[[ring.methods]]
policy = ["around"]
around_ms = 27
bits = [32768]
filters = [4]
"#,
        r#"
[[queue.workloads]]
name = "bursts"
packets = 1000
rate_gbps = 10
buffer_bytes = 6_000_000
loads = [0.1]
background = { flows = 200, skew = 0.5, flow_packets = [1, 1.1], packet_bytes = [64, 1500] }
bursts = { every_ms = 10, senders = 2, rate_gbps = 10, bytes = [100e3, 5e6], shape = 1.1, packet_bytes = 1500 }
span_ms = 6.4
threshold_ms = 0.8
share = 0.01
[[queue.methods]]
method = "paper"
snapshots = [4]
counters = [32]
[[queue.methods]]
method = "budget"
memory_bytes = [2048]
"#,
        r#"
[[control.workloads]]
name = "bursts"
packets = 1000
loads = [0.1]
background = { flows = 200, flow_packets = [1, 1.1], packet_bytes = [64, 1500] }
threshold_ms = 0.8
course_ms = 1
[[control.methods]]
method = "drop"
weight = [0.1]
counters = 32
[[control.methods]]
method = "red"
low_bytes = [250_000]
"#,
        r#"
[[network.workloads]]
name = "slow"
lattice = [2, 2]
slower_by = 3
faults = 1
false_alarms = 0.01
[[network.workloads]]
name = "lossy"
lattice = [2, 2]
lossy = 0.01
[[network.methods]]
method = "segments"
intervals = [1]
"#,
        r#"
[[plan.workloads]]
name = "small"
routers = 20
links = 2
heaviest = 3
[[plan.methods]]
method = "greedy"
routers = [0, 5]
[[plan.methods]]
method = "bound"
routers = [5]
"#,
    ];

    /// The places of all numbers in a value, with the last key on the way to each.
    fn numbers(value: &Spanned<DeValue<'_>>, key: &str, found: &mut Vec<(String, Range<usize>)>) {
        match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => found.push((key.to_owned(), value.span())),
            DeValue::Array(items) => items.iter().for_each(|item| numbers(item, key, found)),
            DeValue::Table(table) => table.iter().for_each(|(key, inner)| numbers(inner, key.get_ref(), found)),
            _ => (),
        }
    }

    /// No key of any kind takes what is not a number, has no end, is below zero or absurdly large: nothing that would
    /// never end, or abort for lack of memory, and nothing that would silently be taken for another number.
    #[test]
    fn every_number_has_bounds() {
        for (kind, text) in Kind::ALL.into_iter().zip(ALL) {
            let text = [HEAD, text].concat();
            assert_eq!(accepted(&text).kind, kind);
            let table = DeTable::parse(&text).unwrap();
            let mut found = Vec::new();
            numbers(table.get_ref().get(kind.name()).unwrap(), "", &mut found);
            assert!(found.len() >= 6, "{found:?}");
            for (key, place) in found {
                for value in ["nan", "inf", "-inf", "-1", "-1.0", "1e300", "18446744073709551615", "9e18"] {
                    let may_be_negative = key.starts_with("clock_") && value.starts_with("-1");
                    let other = format!("{}{value}{}", &text[..place.start], &text[place.end..]);
                    let refused = Definition::parse(Path::new("x.toml"), &other);
                    let Err(error) = refused else {
                        assert!(may_be_negative, "{}: {key} = {value} is accepted", kind.name());
                        continue;
                    };
                    let said = error.to_string();
                    assert!(said.starts_with("x.toml: line "), "{key} = {value}: {said}");
                }
            }
        }
    }

    /// A quantity that is measured and not declared cannot be drawn; one that is only declared would be drawn empty.
    #[test]
    fn what_a_kind_declares_is_what_it_measures() {
        for (kind, text) in Kind::ALL.into_iter().zip(ALL) {
            let definition = accepted(&[HEAD, text].concat());
            let experiment = definition.experiment(Extent::Quick);
            let cases = experiment.cases();
            let mut unmeasured: BTreeSet<String> =
                cases.iter().flat_map(|case| experiment.quantities(case)).map(|known| known.name.into()).collect();
            for run in run::all(experiment, 1, None).unwrap() {
                let case = &cases[run.case..=run.case];
                let declared = experiment.quantities(&case[0]);
                for summary in metrics::summarise(case, experiment.shown(), &[Run { case: 0, ..run }]) {
                    let is_it = |known: &&Quantity| figure::is_meant(&summary.quantity, &known.name);
                    let known = declared.iter().find(is_it).filter(|known| known.scale == summary.scale);
                    let Some(known) = known else { panic!("{}: {} is not declared", kind.name(), summary.quantity) };
                    unmeasured.remove(&*known.name);
                }
            }
            // The methods of flows among these give no intervals.
            unmeasured.retain(|name| !name.starts_with("covered_"));
            assert!(unmeasured.is_empty(), "{}: {unmeasured:?} are not measured", kind.name());
        }
    }

    /// What definitions may draw is what is measured: the committed results name no other quantities, and compare them in
    /// no other way.
    #[test]
    fn the_names_of_quantities_are_those_of_the_results() {
        let experiments = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments"));
        let mut seen = Vec::new();
        for folder in fs::read_dir(experiments.join("record")).unwrap().map(|entry| entry.unwrap().path()) {
            let Ok(results) = Results::read(&folder) else { continue };
            let definition = Definition::read(&folder.join("definition.toml")).unwrap();
            let experiment = definition.experiment(Extent::Full);
            for case in experiment.cases() {
                let known = experiment.quantities(&case);
                let own = |s: &&Summary| {
                    (&s.workload, &s.method, &s.parameters) == (&case.workload, &case.method, &case.parameters)
                };
                for summary in results.summaries.iter().filter(own) {
                    let is_it = |known: &&Quantity| figure::is_meant(&summary.quantity, &known.name);
                    let is_so = |known: &Quantity| {
                        known.scale == summary.scale && summary.mean.is_none_or(|mean| known.range.contains(mean))
                    };
                    let is_known = known.iter().find(is_it).is_some_and(is_so);
                    assert!(is_known, "{}: {}", folder.display(), summary.quantity);
                }
            }
            seen.push(definition.kind);
        }
        assert!(Kind::ALL.iter().all(|kind| seen.contains(kind)), "{seen:?}");
    }
}
