//! Which router probes which, and what that costs.

use crate::Topology;
use crate::segments::Segments;

/// What is probed in a network with some instrumented routers [kompella12 §VI].
#[derive(Clone, Debug, PartialEq)]
pub struct Probes {
    /// Every segment that is probed, as its list of routers; sorted by router numbers. Those of one first router are its
    /// m-set.
    pub segments: Vec<Vec<u32>>,
    /// Links that one probe of each segment traverses.
    pub probe_hops: u64,
    /// Pairs of interfaces inside instrumented routers, the sum of *d*² with *d* the number of neighbours; each pair
    /// has an aggregator.
    pub inner_pairs: u64,
}

/// What is probed in addition while old and new routes overlap.
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
const AGGREGATOR_BPS: u64 = 72_000;

impl Probes {
    /// The probes of a network with these segments.
    pub fn new(topology: &Topology, segments: &Segments) -> Self {
        let degree = |router: u32| {
            let index = petgraph::graph::NodeIndex::new(router as usize);
            topology.graph().neighbors_undirected(index).collect::<std::collections::BTreeSet<_>>().len() as u64
        };
        let instrumented = (0..topology.routers() as u32).filter(|&router| segments.is_instrumented(router));
        let routers = |piece: u32| segments.paths().routers(piece as usize).to_vec();
        Self {
            segments: segments.sorted().into_iter().map(routers).collect(),
            probe_hops: segments.hops(),
            inner_pairs: instrumented.map(|router| degree(router).pow(2)).sum(),
        }
    }

    /// What changes after a link has failed and routes were recomputed. Until all routers know of it, the old segments
    /// are still probed [kompella12 §VI].
    pub fn since(&self, before: &Self) -> Overlap {
        // Both are sorted.
        let only = |of: &[Vec<u32>], not_of: &[Vec<u32>]| -> Vec<Vec<u32>> {
            of.iter().filter(|segment| not_of.binary_search(segment).is_err()).cloned().collect()
        };
        let dropped = only(&before.segments, &self.segments);
        let hops: usize = dropped.iter().map(|routers| routers.len() - 1).sum();
        Overlap {
            added: only(&self.segments, &before.segments).len(),
            probe_hops: self.probe_hops + hops as u64,
            dropped,
        }
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

    fn probes(topology: &Topology) -> (Segments, Probes) {
        let paths = Paths::all(topology, Mode::EqualCost, Paths::MOST).unwrap();
        let mut segments = Segments::new(paths, topology.routers());
        for name in ["C", "F"] {
            segments.cut(topology.find(name).unwrap());
        }
        let probes = Probes::new(topology, &segments);
        (segments, probes)
    }

    /// Without the link from C to D, D is reached through E, and C no longer probes D.
    #[test]
    fn old_and_new_routes_overlap() {
        let mut topology = toy();
        let (_, before) = probes(&topology);
        let [c, d, e] = ["C", "D", "E"].map(|name| topology.find(name).unwrap());
        assert_eq!((topology.fail(c, d), topology.fail(c, d)), (2, 0));
        let (segments, after) = probes(&topology);
        let overlap = after.since(&before);
        assert_eq!(overlap.dropped, [[c, d], [d, c]]);
        let is_new = |segment: &&Vec<u32>| **segment == [c, e, d] || **segment == [d, e, c];
        assert_eq!((overlap.added, after.segments.iter().filter(is_new).count()), (2, 2));
        assert_eq!(overlap.probe_hops, segments.hops() + 2);
        let same = before.since(&before);
        assert_eq!((same.added, same.dropped.len(), same.probe_hops), (0, 0, before.probe_hops));
    }

    /// The network of kompella12 Fig. 7 and 8, as far as captions and text agree: C and F are instrumented.
    #[test]
    fn m_sets_end_at_the_first_instrumented_router() {
        let topology = toy();
        let (segments, probes) = probes(&topology);
        let set = |name: &str| -> String {
            let from = probes.segments.iter().filter(|segment| segment[0] == topology.find(name).unwrap());
            let mut names: Vec<_> = from.map(|segment| topology.name(*segment.last().unwrap())).collect();
            names.sort_unstable();
            names.concat()
        };
        assert_eq!(set("A"), "BCF", "beyond F and C these measure; C is also reached through B");
        assert_eq!(set("D"), "CE");
        assert_eq!(set("C"), "ABDEF", "A through B; the way through F ends there");
        assert_eq!(probes.inner_pairs, 4 * 4 + 2 * 2);
        assert_eq!(probes.probe_hops, segments.hops());
    }
}
