use dwell_sketch::distribution::{Ambiguous, DelayStore, Distribution};
use dwell_sketch::mis::by_inverse_variance;
use dwell_sketch::rivals::lut::WeightTable;
use dwell_sketch::rivals::staged::Staged;
use dwell_sketch::rtt::{Method, RttMeter};
use dwell_sketch::{Event, Sample};
use dwell_types::{Observation, Sink};

/// A method as named in definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MethodName {
    /// One of `dwell rtt`.
    Rtt(Method),
    /// A fridge with weights from a table, as in a switch [zheng22 §6.2].
    Table,
    /// A fridge whose evicted entries move to a next stage [zheng22 §4.1].
    Staged,
    /// Several fridges, combined by inverse-variance weighting [zheng22 §4.2].
    Ivw,
}

impl MethodName {
    /// Every name.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Method::ALL.into_iter().map(Self::Rtt).chain([Self::Table, Self::Staged, Self::Ivw])
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rtt(method) => method.name(),
            Self::Table => "fridge-table",
            Self::Staged => "fridge-staged",
            Self::Ivw => "fridges-ivw",
        }
    }

    /// The method of `dwell rtt` with the same parameters.
    pub(super) const fn method(self) -> Method {
        match self {
            Self::Rtt(method) => method,
            Self::Table | Self::Staged => Method::Fridge,
            Self::Ivw => Method::Mis,
        }
    }
}

/// A meter of simulated exchanges, whose series is the group.
#[derive(Debug)]
pub(super) enum GroupMeter {
    Rtt(Box<RttMeter>),
    /// Keeps its samples, which are weighted by the table instead.
    Table(Box<RttMeter>, WeightTable, DelayStore),
    Staged(Staged, DelayStore),
    /// Fridges that keep their samples, to be combined at the end.
    Ivw(Vec<RttMeter>),
}

impl GroupMeter {
    /// Takes the next observations.
    pub(super) fn take_all(&mut self, block: &[Observation]) {
        match self {
            Self::Rtt(meter) => block.iter().for_each(|&seen| meter.take(seen)),
            Self::Table(meter, table, store) => {
                block.iter().for_each(|&seen| meter.take(seen));
                weigh(meter, table, store);
            }
            Self::Staged(fridge, store) => {
                for sample in block.iter().filter_map(|&seen| fridge.update(&Event::from(seen))) {
                    store.update(usize::from(sample.tag), &sample);
                }
            }
            Self::Ivw(fridges) => {
                fridges.iter_mut().for_each(|fridge| block.iter().for_each(|&seen| fridge.take(seen)));
            }
        }
    }

    /// The delays of a group; `None` if it has none.
    pub(super) fn distribution(&mut self, group: u16) -> Option<Distribution> {
        match self {
            Self::Rtt(meter) => {
                let answers = meter.estimate();
                answers.into_iter().find(|answer| answer.series.group == group).map(|answer| answer.distribution)
            }
            Self::Table(meter, table, store) => {
                meter.flush();
                weigh(meter, table, store);
                Some(store.distribution(group.into(), Ambiguous::Bounds))
            }
            Self::Staged(_, store) => Some(store.distribution(group.into(), Ambiguous::Bounds)),
            Self::Ivw(fridges) => {
                let samples = |fridge: &mut RttMeter| {
                    fridge.flush();
                    let of_group = fridge.take_samples().filter(|(series, _)| series.group == group);
                    of_group.map(|(_, sample)| sample).collect()
                };
                let mut store = DelayStore::unbounded(1);
                let combined = by_inverse_variance(fridges.iter_mut().map(samples).collect());
                combined.iter().for_each(|sample| store.update(0, sample));
                Some(store.distribution(0, Ambiguous::Bounds))
            }
        }
    }

    /// Bytes at most, without kept samples.
    pub(super) fn most_bytes(&self) -> usize {
        match self {
            Self::Rtt(meter) => meter.most_bytes(),
            Self::Table(meter, table, _) => meter.most_bytes() + table.state_bytes(),
            Self::Staged(fridge, store) => fridge.state_bytes() + store.state_bytes(),
            Self::Ivw(fridges) => fridges.iter().map(RttMeter::most_bytes).sum(),
        }
    }
}

/// Stores the latest samples with the weights of the table.
fn weigh(meter: &mut RttMeter, table: &WeightTable, store: &mut DelayStore) {
    for (series, sample) in meter.take_samples() {
        let weight = table.weight(sample.inserted_since) as f64;
        store.update(series.group.into(), &Sample::weighted(sample, weight));
    }
}
