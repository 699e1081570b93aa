//! The kinds of experiment: what an experiment is for those that run it, and what a kind of experiment says of itself.

use crate::case::{Case, Measurement, Shown};
use crate::crossing::Crossing;
use crate::delay::Delay;
use crate::flows::Flows;
use crate::grid::{Configured, Grid, Named, Tables};
use crate::network::Network;
use crate::queue::Queue;
use crate::queue::control::Control;
use crate::ring::Ring;
use crate::value::Invalid;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer};
use std::fmt::Debug;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeValue, Error};

/// Streams, and the configurations of methods that see each of them.
pub trait Experiment: Debug + Send + Sync {
    /// Every configuration under every workload, in the order of the definition.
    fn cases(&self) -> Vec<Case>;

    /// One seed of one stream through the configurations of these cases, which must all be of that stream; the answer has
    /// one list per case.
    fn run(&self, cases: &[&Case], seed: u64) -> Result<Vec<Vec<Measurement>>, String>;

    /// Which of the measured quantities are summarised.
    fn shown(&self) -> Shown;
}

/// A kind of experiment: what the entries of a definition stand for, and what is measured of them.
pub(crate) trait Kind: Debug + 'static {
    /// An entry under `workloads`.
    type WorkloadEntry: DeserializeOwned;
    /// An entry under `methods`.
    type MethodEntry: DeserializeOwned;
    /// What is measured.
    type Stream: Named;
    /// What measures it.
    type Configuration: Configured;

    /// Unless said otherwise all that is measured is shown, quantity by quantity.
    const SHOWN: Shown = Shown { quantities: &[], largest: None };

    /// The streams of an entry, of `share` of their full length.
    fn streams(entry: &Self::WorkloadEntry, share: f64) -> Result<Vec<Self::Stream>, Invalid>;

    /// The configurations of an entry, for streams of `share` of their full length.
    fn configurations(entry: &Self::MethodEntry, share: f64) -> Result<Vec<Self::Configuration>, Invalid>;

    /// Whether a configuration can see a stream.
    fn suits(_: &Self::Configuration, _: &Self::Stream) -> Result<(), String> {
        Ok(())
    }

    /// One seed of a stream through some configurations; one list for each.
    fn run(
        stream: &Self::Stream,
        configurations: &[&Self::Configuration],
        seed: u64,
    ) -> Result<Vec<Vec<Measurement>>, String>;
}

/// What makes an experiment with streams of a share of their full length.
pub(crate) type Build = Box<dyn Fn(f64) -> Result<Arc<dyn Experiment>, Invalid>>;

/// What makes that of the tables of a definition.
type Read = fn(Spanned<DeValue<'_>>) -> Result<Build, Error>;

/// All kinds, by the name of their tables. A new kind has its line here.
pub(crate) const KINDS: [(&str, Read); 7] = [
    ("delay", read::<Delay>),
    ("crossing", read::<Crossing>),
    ("flows", read::<Flows>),
    ("ring", read::<Ring>),
    ("queue", read::<Queue>),
    ("control", read::<Control>),
    ("network", read::<Network>),
];

fn read<K: Kind>(value: Spanned<DeValue<'_>>) -> Result<Build, Error> {
    let tables = Tables::<K::WorkloadEntry, K::MethodEntry>::deserialize(value.into_deserializer())?;
    Ok(Box::new(move |share| Ok(Arc::new(Grid::<K>::new(&tables, share)?))))
}
