//! Measurements of segments: every file is read or refused, and of what is read all chances are such.

use dwell_network::Topology;
use dwell_network::localize::file::{self, Names};
use dwell_network::localize::{Localization, Readings, Routes, Settings};
use dwell_network::paths::{Mode, Paths};
use dwell_network::segments::Segments;
use std::path::Path;

/// A square whose routers all measure.
const MAP: &str = "a b 1\nb a 1\nb c 1\nc b 1\nc d 1\nd c 1\nd a 1\na d 1\n";

/// Intervals of the baseline.
const BASELINE: usize = 3;

/// Reads measurements, and judges them.
pub fn check(text: &str, step_ns: i64) {
    let path = Path::new("all");
    let mut rows = Vec::new();
    let take = |row| {
        rows.push(row);
        Ok(())
    };
    if file::read(path, text.as_bytes(), take).is_err() {
        return;
    }
    assert!(!rows.is_empty() && rows.iter().all(|row| row.line >= 1 && row.line <= text.len() as u64 + 1));
    let topology = Topology::read(MAP).expect("a map");
    let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).expect("few paths");
    let mut segments = Segments::new(paths, topology.routers());
    (0..topology.routers() as u32).for_each(|router| segments.cut(router));
    let routes = Routes::new(&segments);
    let names = Names::new(&topology, &routes);
    // What names no segment is taken as if each line were of the next.
    let place = |(number, row): (usize, &file::Row)| match names.find(path, row) {
        Ok(segment) => (segment, row.reading),
        Err(_) => ((number % routes.segments()) as u32, row.reading),
    };
    let read: Vec<_> = rows.iter().enumerate().map(place).collect();
    let Ok(readings) = Readings::new(&read, step_ns.max(1)) else { return };
    let all: Vec<usize> = (0..routes.paths()).collect();
    let settings = Settings { baseline: BASELINE.min(readings.starts().len()), false_alarms: 0.01 };
    let found = Localization::new(&routes, &readings, &all, &settings);
    let is_chance = |chance: f64| (0.0..=1.0).contains(&chance);
    assert!(found.probabilities.iter().all(|&chance| is_chance(chance)), "{:?}", found.probabilities);
    for verdict in found.delays.iter().chain(found.paths.iter().map(|(_, verdict)| verdict)).flatten() {
        assert!(is_chance(verdict.p_value) && verdict.shift.score.is_finite(), "{verdict:?}");
    }
    for verdict in found.losses.iter().flatten() {
        assert!(is_chance(verdict.p_value) && is_chance(verdict.found) && is_chance(verdict.usual), "{verdict:?}");
        assert!(verdict.ln_odds >= 0.0 && verdict.ln_odds.is_finite(), "{verdict:?}");
    }
    let known = found.delays.iter().flatten().count();
    assert_eq!(found.ranking().len(), known);
    for (path, verdict) in &found.paths {
        let state = found.path(&routes, &readings, *path, verdict.as_ref());
        assert!(state.suspects.iter().all(|suspect| is_chance(suspect.probability)), "{state:?}");
        assert_eq!(state.suspects.len() + state.missing.len(), routes.path(*path).len());
    }
}
