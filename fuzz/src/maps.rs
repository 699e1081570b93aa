//! Maps of networks: every text is read or refused, and of what is read all numbers agree.

use dwell_network::layout;
use dwell_network::paths::{Mode, Paths};
use dwell_network::plan::{Limits, Strategy, least_hops, plan};
use dwell_network::probes::Probes;
use dwell_network::segments::Segments;
use dwell_network::topology::{Format, Topology};

/// Routers on all paths together at most: so that a run takes no longer than a few milliseconds.
const MOST: usize = 20_000;
/// Maps with more routers are read, and that is all.
const MOST_ROUTERS: usize = 60;

/// Reads a map, and asks everything about it.
pub fn check(text: &str) {
    let _ = Format::of(text);
    let Ok(mut topology) = Topology::read(text) else { return };
    assert!(topology.links() > 0 && topology.one_way() <= topology.links());
    for router in 0..topology.routers() as u32 {
        assert_eq!(topology.find(topology.name(router)), Some(router), "names are unique");
    }
    if topology.routers() > MOST_ROUTERS {
        return;
    }
    ask(&topology);
    topology.make_both_ways();
    assert_eq!(topology.one_way(), 0);
    ask(&topology);
    topology.set_servers((0..topology.routers() as u32).step_by(2));
    ask(&topology);
    let links = topology.links();
    let failed = topology.fail(0, 1);
    assert_eq!(topology.links() + failed, links);
}

/// Paths, segments, plans and places.
fn ask(topology: &Topology) {
    let routers = topology.routers();
    if let Some(places) = layout::layout(topology) {
        assert!(places.len() == routers && places.iter().all(|(x, y)| x.is_finite() && y.is_finite()));
    }
    for mode in [Mode::EqualCost, Mode::Single] {
        let Ok(paths) = Paths::all(topology, mode, MOST) else { continue };
        let (all, hops) = (paths.len(), paths.hops());
        let servers = topology.servers();
        assert!(mode == Mode::EqualCost || all + paths.unreachable() == servers * (servers - 1));
        let mut segments = Segments::new(paths, routers);
        assert_eq!((segments.len(), segments.hops()), (all, hops));
        let whole = segments.clone();
        let plan = plan(topology, &mut segments, Strategy::Swap, &Limits::routers(3));
        let curve: Vec<u64> = plan.steps.iter().map(|step| step.state.probe_hops).collect();
        assert!(curve.is_sorted_by(|a, b| a >= b) && curve.first().is_none_or(|&first| first <= hops), "{curve:?}");
        let end = curve.last().copied().unwrap_or(hops);
        assert!(least_hops(&whole, &Limits::routers(curve.len()), end, || {}) <= end, "{curve:?}");
        (0..routers as u32).for_each(|router| segments.cut(router));
        assert_eq!(segments.hops(), segments.len() as u64, "every segment is one link");
        assert!(segments.len() <= topology.links());
        assert_eq!(Probes::new(topology, &segments).probe_hops, segments.hops());
    }
}
