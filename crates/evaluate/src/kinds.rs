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

/// Reads a kind's tables of a definition.
type Read = fn(Spanned<DeValue<'_>>) -> Result<Build, Error>;

/// All kinds, by the name of their tables. A new kind is registered here.
pub(crate) const KINDS: [(&str, Read); 7] = [
    ("delay", read::<delay::WorkloadEntry, delay::MethodEntry>),
    ("crossing", read::<crossing::WorkloadEntry, crossing::MethodEntry>),
    ("flows", read::<flows::WorkloadEntry, flows::MethodEntry>),
    ("ring", read::<ring::WorkloadEntry, ring::MethodEntry>),
    ("queue", read::<queue::WorkloadEntry, queue::MethodEntry>),
    ("control", read::<control::WorkloadEntry, control::MethodEntry>),
    ("network", read::<network::WorkloadEntry, network::MethodEntry>),
];

fn read<W: Entry + 'static, M: Entry<Item: Measured<Stream = W::Item>> + 'static>(
    value: Spanned<DeValue<'_>>,
) -> Result<Build, Error> {
    let tables = Tables::<W, M>::deserialize(value.into_deserializer())?;
    Ok(Box::new(move |share| Ok(Arc::new(Grid::new(&tables, share)?))))
}
