//! What every report says besides its answer: the time it covers, the frames, the memory, the method.

use dwell_sketch::estimate::Estimate;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A stretch of time, in nanoseconds since the epoch, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// First moment.
    pub start: i64,
    /// Last moment.
    pub end: i64,
}

/// `total = decoded + Σ rejected`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frames {
    /// Frames read from the captures.
    pub total: u64,
    /// Frames whose headers were understood down to the transport.
    pub decoded: u64,
    /// The others, by reason.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// What `--memory` allows; `null` for a method without a bound.
    pub budget_bytes: Option<u64>,
    /// What the data structures held at most.
    pub state_bytes: u64,
}

/// The method and everything that it was run with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Method {
    /// `auto`, `exact`, `fridge`, …
    pub name: &'static str,
    /// Whether every answer rests on every exchange: nothing was sampled or lost for want of memory.
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
    /// A span in nanoseconds; the name ends in `_ns`.
    Span(i64),
    /// A moment in nanoseconds since 1970; the name ends in `_ns`.
    Moment(i64),
    /// A probability or ratio.
    Real(f64),
    /// A choice.
    Text(String),
    /// Several of one kind.
    List(Vec<Parameter>),
    /// One set of parameters per match.
    Map(BTreeMap<&'static str, Parameter>),
}

#[derive(Serialize)]
struct Ends<T> {
    value: T,
    low: T,
    high: T,
}

pub(crate) fn estimate<S: Serializer, T: Copy + Serialize>(estimate: &Estimate<T>, to: S) -> Result<S::Ok, S::Error> {
    Ends { value: estimate.value, low: estimate.low, high: estimate.high }.serialize(to)
}

pub(crate) fn optional_estimate<S: Serializer, T: Copy + Serialize>(
    estimate: &Option<Estimate<T>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    estimate.map(|e| Ends { value: e.value, low: e.low, high: e.high }).serialize(to)
}
