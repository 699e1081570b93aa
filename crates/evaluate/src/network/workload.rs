use super::bed::Bed;
use crate::grid::Entry;
use crate::value::{Invalid, Pair, above_zero, whole, within};
use dwell_network::Topology;
use dwell_simulate::network::{Harm, Settings};
use dwell_types::Nanos;
use serde::Deserialize;
use std::ops::Bound;

/// One entry of `[[network.workloads]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    /// Rows and columns of routers, each linked to its neighbours.
    lattice: Pair,
    /// A faulty link is slower by this many standard deviations of its own interval means.
    slower_by: Option<f64>,
    /// Or it loses this additional share of its packets.
    lossy: Option<f64>,
    /// How many links on one path are at fault at once; one by default, if there is a fault.
    faults: Option<usize>,
    /// The permitted share of intervals with any false alarm.
    #[serde(default = "usual_rate")]
    false_alarms: f64,
}

fn usual_rate() -> f64 {
    0.01
}

/// A network, and the fault of some of its links.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(super) bed: Bed,
    pub(super) fault: Option<Wrong>,
    /// How many links are at fault.
    pub(super) faults: usize,
    pub(super) false_alarms: f64,
}

/// The fault of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wrong {
    /// Slower by this many standard deviations of its interval means.
    Slow(f64),
    /// Loses this additional share of packets.
    Lossy(f64),
}

impl Wrong {
    /// The harm to a link whose interval means have this standard deviation in ns.
    pub(super) fn harm(self, deviation: f64) -> Harm {
        match self {
            Self::Slow(times) => Harm::Slow(Nanos::new((times * deviation) as i64)),
            Self::Lossy(share) => Harm::Lossy(share),
        }
    }
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// Intervals are `share` of their full length.
    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        let Pair([rows, columns]) = self.lattice;
        let is_whole = |number: f64| number >= 2.0 && number.fract() == 0.0;
        if !is_whole(rows) || !is_whole(columns) || rows * columns > 100.0 {
            let problem = format!("{rows} by {columns}: expected at least 2 by 2, and at most 100 routers");
            return Err(Invalid::new("lattice", problem));
        }
        let fault = self.fault()?;
        let faults = self.faults.unwrap_or(usize::from(fault.is_some()));
        whole("faults", faults as f64, u64::from(fault.is_some())..=2)?;
        if fault.is_none() && faults > 0 {
            return Err(Invalid::new("faults", format!("{faults}: of what? expected slower_by or lossy")));
        }
        within("false_alarms", self.false_alarms, (Bound::Excluded(0.0), Bound::Excluded(1.0)))?;
        let topology =
            Topology::read(&lattice(rows as u32, columns as u32)).map_err(|error| Invalid::new("lattice", error))?;
        let settings = |links| {
            let full = Settings::backbone(links);
            Settings { interval: Nanos::new((full.interval.get() as f64 * share) as i64), ..full }
        };
        let bed = Bed::new(&topology, settings).map_err(|problem| Invalid::new("lattice", problem))?;
        Ok(vec![(self.name.clone(), Stream { bed, fault, faults, false_alarms: self.false_alarms })])
    }
}

impl WorkloadEntry {
    fn fault(&self) -> Result<Option<Wrong>, Invalid> {
        match (self.slower_by, self.lossy) {
            (Some(_), Some(_)) => Err(Invalid::new("lossy", "beside slower_by: expected one of them")),
            (Some(times), None) => above_zero("slower_by", times, 1e3).map(|times| Some(Wrong::Slow(times))),
            (None, Some(share)) => above_zero("lossy", share, 1.0).map(|share| Some(Wrong::Lossy(share))),
            (None, None) => Ok(None),
        }
    }
}

/// A map in Rocketfuel format: every router is linked to the next one in its row and column, both ways.
fn lattice(rows: u32, columns: u32) -> String {
    let name = |row: u32, column: u32| format!("{row:02}-{column:02}");
    let mut text = String::new();
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        let right = (column + 1 < columns).then(|| name(row, column + 1));
        let below = (row + 1 < rows).then(|| name(row + 1, column));
        for other in right.into_iter().chain(below) {
            let this = name(row, column);
            text += &format!("{this} {other} 1\n{other} {this} 1\n");
        }
    }
    text
}
