use dwell_types::{FlowId, hash};

/// The name of all groups, or flows, that have no name of their own.
pub const REST: &str = "other";

/// The name in reports of a log's group or flow that has none: labels of OpenMetrics may not be empty.
const UNNAMED: &str = "(none)";

/// The name of a log's group or flow in reports: what is called like the rest, or like what has no name, with any number
/// of apostrophes, has one more.
pub fn told_apart(name: &str) -> String {
    match name.trim_end_matches('\'') {
        "" if name.is_empty() => UNNAMED.to_owned(),
        REST | UNNAMED => format!("{name}'"),
        _ => name.to_owned(),
    }
}

/// The member of the hash family that names the flows of logs of crossings.
pub(crate) const fn flows_of(start: u64) -> u64 {
    hash::word(start, 2)
}

pub(crate) fn flow_of(flows: u64, name: &str) -> FlowId {
    FlowId(hash::bytes(flows, name.as_bytes()))
}

/// The flow that a log of crossings calls so.
pub fn flow_id(seed: u64, name: &str) -> FlowId {
    flow_of(flows_of(hash::start(seed)), name)
}
