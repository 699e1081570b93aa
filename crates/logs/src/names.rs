use dwell_types::{FlowId, hash};

/// The name of the group that collects all groups, or flows, without a place of their own.
pub const REST: &str = "other";

/// Shown in reports for a group or flow whose name is empty: OpenMetrics labels may not be empty.
const UNNAMED: &str = "(none)";

/// The name of a log's group or flow in reports. One that would be mistaken for [`REST`] or for an empty name (itself
/// possibly followed by apostrophes) gets one more apostrophe.
pub fn told_apart(name: &str) -> String {
    match name.trim_end_matches('\'') {
        "" if name.is_empty() => UNNAMED.to_owned(),
        REST | UNNAMED => format!("{name}'"),
        _ => name.to_owned(),
    }
}

/// The start state of the hash that maps flow names in logs of crossings to flow ids.
pub(crate) const fn flows_of(start: u64) -> u64 {
    hash::word(start, 2)
}

pub(crate) fn flow_of(flows: u64, name: &str) -> FlowId {
    FlowId(hash::bytes(flows, name.as_bytes()))
}

/// The id of the flow with this name in a log of crossings.
pub fn flow_id(seed: u64, name: &str) -> FlowId {
    flow_of(flows_of(hash::start(seed)), name)
}
