//! Why the sketches of two points, or of two intervals, cannot be combined.

use std::fmt;

/// Why two sketches cannot be compared or merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Their hash seeds differ.
    Seed {
        /// The seed of this sketch.
        ours: u64,
        /// The seed of the other.
        theirs: u64,
    },
    /// Another of their parameters differs.
    Geometry(&'static str),
    /// Only one of them has a sketch of flows.
    Flows,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seed { ours, theirs } => write!(f, "the two sketches have different seeds, {ours} and {theirs}"),
            Self::Geometry(what) => write!(f, "the two sketches have different {what}"),
            Self::Flows => f.write_str("only one of the sketches knows flows"),
        }
    }
}

impl std::error::Error for Foreign {}

impl Foreign {
    /// An error unless the seeds are the same, and all of these named parameters.
    pub(crate) fn check(ours: u64, theirs: u64, are_same: &[(&'static str, bool)]) -> Result<(), Self> {
        if ours != theirs {
            return Err(Self::Seed { ours, theirs });
        }
        let other = are_same.iter().find(|(_, is_same)| !is_same);
        other.map_or(Ok(()), |(what, _)| Err(Self::Geometry(what)))
    }
}
