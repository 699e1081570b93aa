//! Logs of requests and responses.

use crate::names::group_told_apart;
use crate::{Lines, LogError};
use dwell_capture::Name;
use dwell_capture::file::Stop;
use dwell_types::{ExchangeId, Leg, Match, Observation, Series, Sighting, Timestamp, hash};
use std::path::Path;

/// Requests and responses from a log instead of packets, read line by line: CSV with these columns, in any order.
///
/// - `at_ns`: when it was seen, in whole nanoseconds.
/// - `kind`: `request` or `response`.
/// - `id`: any text, the same for a request and its response.
/// - `group`, optional: any text, the name of the group of a request.
#[derive(Debug)]
pub struct EventLog {
    lines: Lines,
    columns: Columns,
    /// Present if the log has a `group` column.
    groups: Option<Groups>,
    seed: u64,
    at: i64,
    latest: i64,
    backwards: u64,
}

#[derive(Debug)]
struct Columns {
    at: usize,
    kind: usize,
    id: usize,
    group: Option<usize>,
}

/// The names of the groups seen so far, in tables of fixed size.
#[derive(Debug)]
struct Groups {
    /// All names, concatenated.
    names: String,
    /// Limit on the total length of the names; a name that would exceed it is not added.
    most_bytes: usize,
    /// `ends[i]` is where the name of group `i + 1` ends. Never grows beyond its initial capacity.
    ends: Vec<usize>,
    /// Open addressing: group numbers, 0 for a free slot. The length is a power of two, at least twice the groups.
    slots: Box<[u16]>,
}

impl Groups {
    /// Room for `most` groups besides "other" and for `bytes` bytes of names; `None` for no limit on the names.
    fn new(most: usize, bytes: Option<usize>) -> Self {
        let most = most.clamp(1, usize::from(Series::GROUPS) - 1);
        Self {
            names: String::with_capacity(bytes.unwrap_or_default()),
            most_bytes: bytes.unwrap_or(usize::MAX),
            ends: Vec::with_capacity(most),
            slots: vec![0; (2 * most).next_power_of_two()].into_boxed_slice(),
        }
    }

    /// The number of the group of this name; zero if it is unknown and not to be added, or there is no room for it.
    fn find(&mut self, name: &str, or_add: bool) -> u16 {
        let mask = self.slots.len() - 1;
        let mut slot = hash::bytes(hash::start(0), name.as_bytes()) as usize & mask;
        while self.slots[slot] != 0 {
            if self.name(self.slots[slot]) == name {
                return self.slots[slot];
            }
            slot = (slot + 1) & mask;
        }
        if !or_add || self.ends.len() == self.ends.capacity() || name.len() > self.most_bytes - self.names.len() {
            return 0;
        }
        self.names.push_str(name);
        self.ends.push(self.names.len());
        self.slots[slot] = self.ends.len() as u16;
        self.slots[slot]
    }

    /// The name of a group other than zero ("other").
    fn name(&self, number: u16) -> &str {
        let place = usize::from(number) - 1;
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[begin..self.ends[place]]
    }

    fn state_bytes(&self) -> usize {
        self.names.capacity() + self.ends.capacity() * size_of::<usize>() + size_of_val(&*self.slots)
    }
}

impl EventLog {
    /// Opens a log; `-` is standard input. Keeps at most `most_groups` groups besides "other", 1 to
    /// [`Series::GROUPS`]` − 1`, and at most `name_bytes` bytes of group names in total, if given. A [`Stop`] ends it
    /// early.
    pub fn open(
        path: &Path,
        most_groups: usize,
        name_bytes: Option<usize>,
        seed: u64,
        stop: Option<&Stop>,
    ) -> Result<Self, LogError> {
        let mut lines = Lines::open(path, stop)?;
        let ([at, kind, id], [group]) = lines.columns(["at_ns", "kind", "id"], ["group"])?;
        let columns = Columns { at, kind, id, group };
        let groups = columns.group.map(|_| Groups::new(most_groups, name_bytes));
        Ok(Self { lines, columns, groups, seed: hash::start(seed), at: 0, latest: i64::MIN, backwards: 0 })
    }

    /// The next request or response; `None` at the end of the log, or at a line that cannot be used if others could.
    pub fn next_observation(&mut self) -> Result<Option<Observation>, LogError> {
        self.lines.next(|lines| {
            let at = lines.whole_number(self.columns.at, "nanoseconds as at_ns")?;
            self.at = at;
            self.backwards += u64::from(at < self.latest);
            self.latest = self.latest.max(at);
            let id = id(self.seed, lines.field(self.columns.id));
            let is_request = match lines.field(self.columns.kind) {
                "request" => true,
                "response" => false,
                kind => return Err(lines.error(format!("expected request or response as kind, found '{kind}'"))),
            };
            // Only requests add groups.
            let name = self.columns.group.map(|column| lines.field(column));
            let group = self.groups.as_mut().zip(name).map_or(0, |(groups, name)| groups.find(name, is_request));
            let series = Series { matching: Match::Events, leg: Leg::Both, group };
            let sighting = Sighting { id, at: Timestamp::from_nanos(at), token: 0, series };
            Ok(if is_request { Observation::Request(sighting) } else { Observation::Response(sighting) })
        })
    }

    /// The name of a group.
    pub fn group_name(&self, number: u16) -> String {
        match &self.groups {
            None => Series::ALL.to_owned(),
            Some(groups) if (1..=groups.ends.len()).contains(&number.into()) => group_told_apart(groups.name(number)),
            Some(_) => Series::OTHER.to_owned(),
        }
    }

    /// Whether the log has a `group` column.
    pub fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The time of the line read last.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_nanos(self.at)
    }

    /// Bytes of memory reserved for the names of the groups.
    pub fn state_bytes(&self) -> usize {
        self.groups.as_ref().map_or(0, Groups::state_bytes)
    }

    /// The lines: whether all were given out, and how reading ended.
    pub fn lines(&self) -> &Lines {
        &self.lines
    }

    /// Number of lines whose time is earlier than that of some line before them.
    pub fn backwards(&self) -> u64 {
        self.backwards
    }

    /// Warnings about truncated data and lines out of order.
    pub fn warnings(&self) -> Vec<String> {
        let lines = match self.backwards {
            0 => None,
            1 => Some("1 line is".to_owned()),
            lines => Some(format!("{lines} lines are")),
        };
        let backwards = lines.map(|lines| {
            let name = Name(self.lines.path());
            format!("{name}: {lines} out of time order: delays may be wrong; sort the lines by time")
        });
        self.lines.warning().into_iter().chain(backwards).collect()
    }
}

/// The exchange id for the text in the log's `id` column: the same for a request and its response.
fn id(start: u64, name: &str) -> ExchangeId {
    ExchangeId(hash::bytes(start, name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_seeds_tell_apart() {
        let [one, two] = [1, 2].map(hash::start);
        assert_eq!(id(one, "a-17"), id(one, "a-17"));
        assert_ne!(id(one, "a-17"), id(one, "a-18"));
        assert_ne!(id(one, "a-17"), id(two, "a-17"));
    }

    #[test]
    fn groups_have_places_until_they_are_full() {
        let mut groups = Groups::new(3, Some(6));
        assert_eq!(["a", "bc", "a", "x", "bc"].map(|name| groups.find(name, name != "x")), [1, 2, 1, 0, 2]);
        assert_eq!((groups.find("long", true), groups.find("def", true)), (0, 3), "six bytes of names");
        assert_eq!((groups.find("", true), groups.name(2)), (0, "bc"), "three groups");
    }
}
