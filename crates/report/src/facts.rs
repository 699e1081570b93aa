//! Facts common to all reports besides the results: time span, frames, memory, method.

use dwell_sketch::estimate::Estimate;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A span of time, in nanoseconds since the epoch: from the first to the last timestamp, or an interval without its
/// end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// Its begin.
    pub start: i64,
    /// Its end.
    pub end: i64,
}

/// `total = decoded + Σ rejected`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// Frames read from the captures.
    pub total: u64,
    /// Frames decoded up to the transport header.
    pub decoded: u64,
    /// Rejected frames, by reason.
    pub rejected: BTreeMap<&'static str, u64>,
}

impl Frames {
    /// Adds the frames of another capture, or of another interval.
    pub fn add(&mut self, other: &Self) {
        self.total += other.total;
        self.decoded += other.decoded;
        for (reason, count) in &other.rejected {
            *self.rejected.entry(reason).or_default() += count;
        }
    }
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The limit set by `--memory`; `null` for a method without a bound.
    pub budget_bytes: Option<u64>,
    /// Peak size of the data structures.
    pub state_bytes: u64,
}

/// The method and all its parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MethodFacts {
    /// `auto`, `exact`, `fridge`, …
    pub name: &'static str,
    /// Whether all results are based on every exchange: nothing was sampled or lost for lack of memory.
    pub exact: bool,
    /// The parameters by name.
    #[serde(flatten)]
    pub parameters: BTreeMap<&'static str, Parameter>,
}

/// A parameter's value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A count.
    Integer(u64),
    /// A duration in nanoseconds; the name ends in `_ns`.
    Span(i64),
    /// A point in time in nanoseconds since 1970; the name ends in `_ns`.
    Moment(i64),
    /// A probability or ratio.
    Real(f64),
    /// A choice.
    Text(String),
    /// A list of values of one kind.
    List(Vec<Parameter>),
    /// One set of parameters per match.
    Map(BTreeMap<&'static str, Parameter>),
}

#[derive(Serialize)]
pub(crate) struct Ends<T> {
    value: T,
    low: T,
    high: T,
}

impl<T> From<Estimate<T>> for Ends<T> {
    fn from(Estimate { value, low, high }: Estimate<T>) -> Self {
        Self { value, low, high }
    }
}

pub(crate) fn estimate<S: Serializer, T: Copy + Serialize>(estimate: &Estimate<T>, to: S) -> Result<S::Ok, S::Error> {
    Ends::from(*estimate).serialize(to)
}

pub(crate) fn optional_estimate<S: Serializer, T: Copy + Serialize>(
    estimate: &Option<Estimate<T>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    estimate.map(Ends::from).serialize(to)
}
