use dwell_sketch::distribution::{Ambiguous, DelayStore, Distribution};
use dwell_sketch::mis::by_inverse_variance;
use dwell_sketch::rtt::{Method, RttMeter};
use dwell_types::{Observation, Sink};

/// A method as named in definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of `dwell rtt`.
    Rtt(Method),
    /// Several fridges, combined by inverse-variance weighting [zheng22 §4.2].
    Ivw,
}

impl Kind {
    /// Every kind.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        Method::ALL.into_iter().map(Self::Rtt).chain([Self::Ivw])
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Rtt(method) => method.name(),
            Self::Ivw => "fridges-ivw",
        }
    }

    /// The method of `dwell rtt` with the same parameters.
    pub(super) const fn method(self) -> Method {
        match self {
            Self::Rtt(method) => method,
            Self::Ivw => Method::Mis,
        }
    }
}

/// A meter of simulated exchanges, whose series is the group.
#[derive(Debug)]
pub(super) enum AnyMeter {
    Rtt(Box<RttMeter>),
    /// Fridges that keep their samples, to be combined at the end.
    Ivw(Vec<RttMeter>),
}

impl AnyMeter {
    /// Takes the next observations.
    pub(super) fn take_all(&mut self, block: &[Observation]) {
        match self {
            Self::Rtt(meter) => block.iter().for_each(|&seen| meter.take(seen)),
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
            Self::Ivw(fridges) => fridges.iter().map(RttMeter::most_bytes).sum(),
        }
    }
}
