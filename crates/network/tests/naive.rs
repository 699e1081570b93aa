//! Compares Algorithm 1 of kompella12 as published, with *S* a set, with the plan that recomputes nothing.
//!
//! `DWELL_DATA=… cargo test --release -p dwell-network --test naive -- --nocapture` prints the time of both for the
//! maps that are present.
#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use dwell_network::Topology;
use dwell_network::paths::{Mode, Paths};
use dwell_network::plan::{Limits, Strategy, plan};
use dwell_network::segments::Segments;
use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// The instrumented routers in order, with the probe hops after each.
type Curve = Vec<(u32, u64)>;

/// Counts the segments through each router, splits all those through the most frequent one, and starts over.
fn naive(topology: &Topology, paths: &Paths, steps: usize) -> Curve {
    let mut segments: HashSet<Vec<u32>> = paths.iter().map(<[u32]>::to_vec).collect();
    let mut instrumented = HashSet::new();
    let mut curve = Vec::new();
    for _ in 0..steps.min(topology.routers()) {
        let mut counts = vec![0u64; topology.routers()];
        for segment in &segments {
            segment[1..segment.len() - 1].iter().for_each(|&router| counts[router as usize] += 1);
        }
        let free = (0..topology.routers() as u32).filter(|router| !instrumented.contains(router));
        // Ties go to the first router.
        let next = free.rev().max_by_key(|&router| counts[router as usize]).unwrap();
        instrumented.insert(next);
        let split = |segment: Vec<u32>| {
            let inner = 1..segment.len() - 1;
            match inner.into_iter().find(|&at| segment[at] == next) {
                Some(at) => vec![segment[..=at].to_vec(), segment[at..].to_vec()],
                None => vec![segment],
            }
        };
        segments = segments.into_iter().flat_map(split).collect();
        curve.push((next, segments.iter().map(|segment| segment.len() as u64 - 1).sum()));
    }
    curve
}

/// Cuts the paths along the plan; returns the curve and the time of the plan.
fn fast(topology: &Topology, paths: &Paths, steps: usize) -> (Curve, Duration) {
    let begin = Instant::now();
    let mut segments = Segments::new(paths.clone(), topology.routers());
    let plan = plan(topology, &mut segments, Strategy::Greedy, &Limits::routers(steps));
    let curve = plan.steps.iter().map(|step| (step.router, step.state.probe_hops)).collect();
    (curve, begin.elapsed())
}

fn read(path: &Path) -> Option<Topology> {
    Some(Topology::read(&std::fs::read_to_string(path).ok()?).unwrap())
}

#[test]
fn the_same_routers_in_the_same_order() {
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/net/ladder.toml");
    let topology = read(Path::new(map)).unwrap();
    let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
    assert_eq!(naive(&topology, &paths, usize::MAX), fast(&topology, &paths, usize::MAX).0);
}

#[test]
fn maps_of_the_world() {
    let Some(folder) = std::env::var_os("DWELL_DATA") else {
        eprintln!("skipped: DWELL_DATA names no folder");
        return;
    };
    // Debug builds compare only the smaller maps.
    let is_slow = cfg!(debug_assertions);
    for (map, mode) in [
        ("rocketfuel/1221/weights.intra", Mode::EqualCost),
        ("rocketfuel/3257/weights.intra", Mode::EqualCost),
        ("rocketfuel/1239/weights.intra", Mode::EqualCost),
        ("topology-zoo/Kdl.graphml", Mode::EqualCost),
        ("topology-zoo/Kdl.graphml", Mode::Single),
        ("rocketfuel-cch/7018.r0.cch", Mode::EqualCost),
        ("rocketfuel-cch/7018.r0.cch", Mode::Single),
    ] {
        let Some(mut topology) = read(&Path::new(&folder).join("topologies").join(map)) else { continue };
        // The edge directions of Kdl carry no meaning.
        topology.make_both_ways();
        let is_large = topology.routers() > 200;
        if is_slow && is_large {
            continue;
        }
        let begin = Instant::now();
        let paths = match Paths::all(&topology, mode, Paths::MOST) {
            Ok(paths) => paths,
            Err(error) => {
                eprintln!("{map}: {error}");
                continue;
            }
        };
        let found = begin.elapsed();
        let (curve, quick) = fast(&topology, &paths, usize::MAX);
        let begin = Instant::now();
        // The whole curve where that takes about a minute.
        let compared = if topology.routers() > 400 { 60 } else { usize::MAX };
        let expected = naive(&topology, &paths, compared);
        let slow = begin.elapsed();
        let (_, part) = fast(&topology, &paths, compared);
        assert!(curve.starts_with(&expected), "{map}");
        eprintln!(
            "{map}, {mode:?}: {} routers, {} paths of {} hops in {found:.1?}; whole curve {quick:.1?}; {} steps {part:.1?}, naive {slow:.1?}",
            topology.routers(),
            paths.len(),
            paths.hops(),
            expected.len()
        );
    }
}
