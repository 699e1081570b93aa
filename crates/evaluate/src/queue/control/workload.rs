use crate::grid::Entry;
use crate::queue::workload::{self, Stream};
use crate::value::Invalid;
use serde::Deserialize;

/// Queues, for which `course_ms` may be given, and `share` may not.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct WorkloadEntry(workload::WorkloadEntry);

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        if self.0.share.is_some() {
            return Err(Invalid::new("share", "not beside control.methods, which take weight"));
        }
        self.0.streams(share)
    }
}
