use crate::grid::{Configured, Entry};
use crate::value::{Invalid, some, whole, written};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One entry of `[[network.methods]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MethodEntry {
    method: MethodName,
    /// How many intervals after the beginning of the fault links are judged.
    intervals: Vec<u32>,
}

/// What is measured, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum MethodName {
    /// Every link, by an aggregator at each end.
    Segments,
    /// The paths between all routers, by probes.
    Tomography,
    /// The paths between the routers with the fewest links, by probes.
    TomographyCorners,
}

/// A method, and the number of intervals after which it judges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Configuration {
    pub(super) method: MethodName,
    pub(super) intervals: usize,
}

/// The most intervals after the fault: the longest window in which a change is sought.
pub(super) const MOST_INTERVALS: usize = 8;

impl Entry for MethodEntry {
    type Item = Configuration;

    fn items(&self, _: f64) -> Result<Vec<Configuration>, Invalid> {
        let with = |&intervals: &u32| {
            let intervals = whole("intervals", intervals.into(), 1..=MOST_INTERVALS as u64)? as usize;
            Ok(Configuration { method: self.method, intervals })
        };
        some("intervals", &self.intervals)?.iter().map(with).collect()
    }
}

impl Configured for Configuration {
    fn name(&self) -> String {
        written(&self.method)
    }

    fn parameters(&self) -> BTreeMap<String, f64> {
        BTreeMap::from([("intervals".to_owned(), self.intervals as f64)])
    }
}
