use dwell_types::{FlowId, FlowKey, hash};
use std::borrow::Cow;

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

/// The most bytes of a flow's name, so that with its own place in a list it takes [`FlowKey::NAME_BYTES`].
const MOST_NAME_BYTES: usize = FlowKey::NAME_BYTES - size_of::<Box<str>>();

/// The name of a log's flow: one that is too long for the memory that is reserved for names is cut, and ends with a hash
/// of all of it, so that different flows have different names.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= MOST_NAME_BYTES {
        return Cow::Borrowed(name);
    }
    let tail = format!("…{:016x}", hash::bytes(hash::start(0), name.as_bytes()));
    let end = (0..=MOST_NAME_BYTES - tail.len()).rev().find(|&at| name.is_char_boundary(at));
    Cow::Owned(format!("{}{tail}", &name[..end.unwrap_or(0)]))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of every length, in letters of one to four bytes: those that differ only at the end stay different.
    #[test]
    fn long_names_are_cut() {
        for letter in ["a", "ä", "→", "🦀"] {
            for length in 0..300 {
                let name = letter.repeat(length);
                let [short, other] = [shortened(&name).into_owned(), shortened(&format!("{name}b")).into_owned()];
                assert!(
                    short.len() <= MOST_NAME_BYTES && (short == name) == (name.len() <= MOST_NAME_BYTES),
                    "{short}"
                );
                assert_ne!(short, other);
            }
        }
    }
}
