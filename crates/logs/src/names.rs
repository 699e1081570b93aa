use dwell_types::{FlowId, FlowKey, Series, hash};
use std::borrow::Cow;

/// Shown in reports for a group or flow whose name is empty: OpenMetrics labels may not be empty.
const UNNAMED: &str = "(none)";

/// The name of a log's flow in reports. One that would be mistaken for [`Series::OTHER`] or an empty name (itself possibly
/// followed by apostrophes) gets one more apostrophe.
pub fn told_apart(name: &str) -> String {
    told_apart_from(&[Series::OTHER, UNNAMED], name)
}

/// The same for a group, which must not be mistaken for [`Series::ALL`] either.
pub(crate) fn group_told_apart(name: &str) -> String {
    told_apart_from(&[Series::OTHER, Series::ALL, UNNAMED], name)
}

fn told_apart_from(reserved: &[&str], name: &str) -> String {
    match name.trim_end_matches('\'') {
        "" if name.is_empty() => UNNAMED.to_owned(),
        letters if reserved.contains(&letters) => format!("{name}'"),
        _ => name.to_owned(),
    }
}

/// The maximum length of a flow's name: with its own place in a list it takes [`FlowKey::NAME_BYTES`].
const MOST_NAME_BYTES: usize = FlowKey::NAME_BYTES - size_of::<Box<str>>();

/// The name of a flow for a report. A name that is longer than the memory reserved for it is truncated, and ends with a
/// hash of all of it, so that different flows keep different names.
pub fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= MOST_NAME_BYTES {
        return Cow::Borrowed(name);
    }
    let tail = format!("…{:016x}", hash::bytes(hash::start(0), name.as_bytes()));
    let end = (0..=MOST_NAME_BYTES - tail.len()).rev().find(|&at| name.is_char_boundary(at));
    Cow::Owned(format!("{}{tail}", &name[..end.unwrap_or(0)]))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// No name of a log is one that reports use themselves, and different names stay different.
    #[test]
    fn names_of_logs_are_no_names_of_reports() {
        let names = ["", "(none)", "(none)'", "other", "other'", "all", "all'", "ALL", "any"].map(group_told_apart);
        assert_eq!(names, ["(none)", "(none)'", "(none)''", "other'", "other''", "all'", "all''", "ALL", "any"]);
        // Flows without a name are called so themselves.
        assert_eq!([Series::ALL, Series::OTHER].map(told_apart), ["all", "other'"]);
    }

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
