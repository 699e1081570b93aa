//! The kinds of experiment.

use crate::experiment::Experiment;
use crate::grid::{Entry, Grid, Measured, Tables};
use crate::queue::{self, control};
use crate::value::Invalid;
use crate::{crossing, delay, flows, network, ring};
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
}

const _: () = assert!(Kind::Network as usize + 1 == Kind::ALL.len());

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Delay, Self::Crossing, Self::Flows, Self::Ring, Self::Queue, Self::Control, Self::Network];

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
        }
    }
}

fn read<W: Entry + 'static, M: Entry<Item: Measured<Stream = W::Item>> + 'static>(
    value: Spanned<DeValue<'_>>,
) -> Result<Build, Error> {
    let tables = Tables::<W, M>::deserialize(value.into_deserializer())?;
    Ok(Box::new(move |share| Ok(Arc::new(Grid::new(&tables, share)?))))
}
