//! Which router probes which, and what that costs.

use crate::Topology;
use crate::segments::Segments;
use std::collections::BTreeMap;

/// What is measured in a network with some instrumented routers [kompella12 §VI].
#[derive(Clone, Debug, PartialEq)]
pub struct Measurements {
    /// Every segment that is probed, as its list of routers; sorted by router numbers.
    pub probes: Vec<Vec<u32>>,
    /// Links that one probe of each segment traverses.
    pub probe_hops: u64,
    /// Pairs of interfaces inside instrumented routers, the sum of *d*² with *d* the number of neighbours; each pair
    /// has an aggregator.
    pub inner_pairs: u64,
}

/// What is measured in addition while old and new routes overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlap {
    /// How many segments the new routes have that the old ones did not.
    pub added: usize,
    /// Segments that only the old routes have, as lists of routers.
    pub dropped: Vec<Vec<u32>>,
    /// Links that one probe of each segment of the old or new routes traverses.
    pub probe_hops: u64,
}

/// Bits per second of an aggregator that sends 72 kbit each second [kompella12 §IV].
pub const AGGREGATOR_BPS: u64 = 72_000;

impl Measurements {
    /// The measurements in a network with these segments.
    pub fn new(topology: &Topology, segments: &Segments) -> Self {
        let mut probes: Vec<Vec<u32>> = segments.iter().map(<[u32]>::to_vec).collect();
        probes.sort_unstable();
        let degree = |router: u32| {
            let index = petgraph::graph::NodeIndex::new(router as usize);
            topology.graph().neighbors_undirected(index).collect::<std::collections::BTreeSet<_>>().len() as u64
        };
        let instrumented = (0..topology.routers() as u32).filter(|&router| segments.is_instrumented(router));
        Self {
            probe_hops: segments.hops(),
            probes,
            inner_pairs: instrumented.map(|router| degree(router).pow(2)).sum(),
        }
    }

    /// The m-set of every router that has one: the last routers of the segments that begin there, each once per segment
    /// to it.
    pub fn sets(&self) -> BTreeMap<u32, Vec<u32>> {
        let mut sets: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for probe in &self.probes {
            if let (Some(&from), Some(&to)) = (probe.first(), probe.last()) {
                sets.entry(from).or_default().push(to);
            }
        }
        sets
    }

    /// What changes after a link has failed and routes were recomputed. Until all routers know of it, the old segments
    /// are still probed [kompella12 §VI].
    pub fn since(&self, before: &Self) -> Overlap {
        // Both are sorted.
        let lacks = |probes: &[Vec<u32>], probe: &Vec<u32>| probes.binary_search(probe).is_err();
        let only = |of: &[Vec<u32>], not_of: &[Vec<u32>]| -> Vec<Vec<u32>> {
            of.iter().filter(|probe| lacks(not_of, probe)).cloned().collect()
        };
        let dropped = only(&before.probes, &self.probes);
        let hops: usize = dropped.iter().map(|routers| routers.len() - 1).sum();
        Overlap { added: only(&self.probes, &before.probes).len(), probe_hops: self.probe_hops + hops as u64, dropped }
    }

    /// Bits per second sent by all aggregators.
    pub const fn aggregator_bps(&self) -> u64 {
        self.inner_pairs * AGGREGATOR_BPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::{Mode, Paths};

    fn toy() -> Topology {
        let links =
            [("A", "B", 1), ("B", "C", 1), ("C", "D", 1), ("C", "E", 1), ("E", "D", 2), ("A", "F", 1), ("F", "C", 1)];
        let text: String = links.iter().map(|(a, b, w)| format!("{a} {b} {w}\n{b} {a} {w}\n")).collect();
        Topology::read(&text).unwrap()
    }

    fn measurements(topology: &Topology) -> (Segments, Measurements) {
        let paths = Paths::all(topology, Mode::EqualCost, Paths::MOST).unwrap();
        let mut segments = Segments::new(paths, topology.routers());
        for name in ["C", "F"] {
            segments.cut(topology.find(name).unwrap());
        }
        let measurements = Measurements::new(topology, &segments);
        (segments, measurements)
    }

    /// Without the link from C to D, D is reached through E, and C no longer probes D.
    #[test]
    fn old_and_new_routes_overlap() {
        let mut topology = toy();
        let (_, before) = measurements(&topology);
        let [c, d, e] = ["C", "D", "E"].map(|name| topology.find(name).unwrap());
        assert_eq!((topology.fail(c, d), topology.fail(c, d)), (2, 0));
        let (segments, after) = measurements(&topology);
        let overlap = after.since(&before);
        assert_eq!(overlap.dropped, [[c, d], [d, c]]);
        let is_new = |probe: &&Vec<u32>| **probe == [c, e, d] || **probe == [d, e, c];
        assert_eq!((overlap.added, after.probes.iter().filter(is_new).count()), (2, 2));
        assert_eq!(overlap.probe_hops, segments.hops() + 2);
        let same = before.since(&before);
        assert_eq!((same.added, same.dropped.len(), same.probe_hops), (0, 0, before.probe_hops));
    }

    /// The network of kompella12 Fig. 7 and 8, as far as captions and text agree: C and F are instrumented.
    #[test]
    fn sets_end_at_the_first_instrumented_router() {
        let topology = toy();
        let (segments, measurements) = measurements(&topology);
        let set = |name: &str| -> String {
            let mut names: Vec<_> =
                measurements.sets()[&topology.find(name).unwrap()].iter().map(|&r| topology.name(r)).collect();
            names.sort_unstable();
            names.concat()
        };
        assert_eq!(set("A"), "BCF", "beyond F and C these measure; C is also reached through B");
        assert_eq!(set("D"), "CE");
        assert_eq!(set("C"), "ABDEF", "A through B; the way through F ends there");
        assert_eq!(measurements.inner_pairs, 4 * 4 + 2 * 2);
        assert_eq!(measurements.probe_hops, segments.hops());
    }
}
