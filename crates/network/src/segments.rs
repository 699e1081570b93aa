//! Measurement segments: paths that no instrumented router cuts, which are probed from end to end.

use crate::paths::Paths;
use std::sync::Arc;

/// The distinct measurement segments of a network.
///
/// At first every path is one segment, probed from end to end. Instrumenting router *r* splits each segment through *r*
/// in two, and equal segments count once [kompella12 §VI, Algorithm 1, with *S* a set].
///
/// No splitting is needed for that. Every part of a shortest path is itself a shortest path between its own ends, and
/// thus already among the paths between all routers: the segments are just the paths without an instrumented router
/// between their ends. Instrumenting a router removes the paths through it, and instrumenting a set of routers removes
/// all paths through any of them: the saving is the total weight of the removed paths, as in weighted maximum coverage.
#[derive(Clone, Debug)]
pub struct Segments {
    paths: Arc<Paths>,
    /// By router, the numbers of the paths through it.
    through: Arc<[Vec<u32>]>,
    /// By path, the number of instrumented routers on it.
    cuts: Vec<u32>,
    /// By router, the number of segments through it.
    counts: Vec<u64>,
    /// By router, the total hops of these segments.
    hops_through: Vec<u64>,
    /// By number of hops, the number of segments of that length.
    by_hops: Vec<u64>,
    hops: u64,
    instrumented: Vec<bool>,
}

/// How finely a fault can be located.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Granularity {
    /// Mean number of hops of a segment.
    pub mean: f64,
    /// Hops of the shortest segment.
    pub min: u64,
    /// Hops of the longest segment.
    pub max: u64,
}

impl Segments {
    /// Every path as one segment, in a network of this many routers.
    pub fn new(paths: impl Into<Arc<Paths>>, routers: usize) -> Self {
        let paths = paths.into();
        let mut numbers = vec![0; routers];
        paths.iter().flat_map(between).for_each(|&router| numbers[router as usize] += 1);
        let mut through: Vec<Vec<u32>> = numbers.into_iter().map(Vec::with_capacity).collect();
        for (number, path) in (0..).zip(paths.iter()) {
            between(path).iter().for_each(|&router| through[router as usize].push(number));
        }
        let longest = paths.iter().map(<[u32]>::len).max().unwrap_or(0);
        let mut segments = Self {
            through: through.into(),
            cuts: vec![0; paths.len()],
            counts: vec![0; routers],
            hops_through: vec![0; routers],
            by_hops: vec![0; longest],
            hops: 0,
            instrumented: vec![false; routers],
            paths,
        };
        (0..segments.paths.len()).for_each(|path| segments.tally(path, u64::wrapping_add));
        segments
    }

    /// Adds a path to all sums, or subtracts it from them.
    fn tally(&mut self, path: usize, by: fn(u64, u64) -> u64) {
        let routers = self.paths.routers(path);
        let hops = routers.len() - 1;
        for &router in between(routers) {
            let (count, through) = (&mut self.counts[router as usize], &mut self.hops_through[router as usize]);
            (*count, *through) = (by(*count, 1), by(*through, hops as u64));
        }
        self.by_hops[hops] = by(self.by_hops[hops], 1);
        self.hops = by(self.hops, hops as u64);
    }

    /// Instruments a router.
    pub fn cut(&mut self, router: u32) {
        if std::mem::replace(&mut self.instrumented[router as usize], true) {
            return;
        }
        let through = Arc::clone(&self.through);
        for &path in &through[router as usize] {
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_sub);
            }
            self.cuts[path as usize] += 1;
        }
    }

    /// Undoes the instrumentation of a router.
    pub fn join(&mut self, router: u32) {
        if !std::mem::replace(&mut self.instrumented[router as usize], false) {
            return;
        }
        let through = Arc::clone(&self.through);
        for &path in &through[router as usize] {
            self.cuts[path as usize] -= 1;
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_add);
            }
        }
    }

    /// By router, the number of segments through it.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// By router, the total hops of the segments through it: what instrumenting it would save.
    pub fn hops_through(&self) -> &[u64] {
        &self.hops_through
    }

    /// Whether a router is instrumented.
    pub fn is_instrumented(&self, router: u32) -> bool {
        self.instrumented[router as usize]
    }

    /// The number of segments.
    pub fn len(&self) -> usize {
        self.by_hops.iter().sum::<u64>() as usize
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Links that one probe of every segment traverses: the probe hop count.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Each segment as its list of routers.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.paths.iter().zip(&self.cuts).filter(|&(_, &cuts)| cuts == 0).map(|(path, _)| path)
    }

    /// The same, sorted by router numbers.
    pub(crate) fn sorted(&self) -> Vec<Vec<u32>> {
        let mut sorted: Vec<Vec<u32>> = self.iter().map(<[u32]>::to_vec).collect();
        sorted.sort_unstable();
        sorted
    }

    /// The lengths of the segments; `None` if there are none.
    pub fn granularity(&self) -> Option<Granularity> {
        let present = |(hops, &count): (usize, &u64)| (count > 0).then_some(hops as u64);
        let min = self.by_hops.iter().enumerate().find_map(present)?;
        let max = self.by_hops.iter().enumerate().rev().find_map(present)?;
        Some(Granularity { mean: self.hops as f64 / self.len() as f64, min, max })
    }
}

/// The routers between the ends of a path.
pub(crate) fn between(path: &[u32]) -> &[u32] {
    &path[1..path.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;
    use crate::paths::Mode;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn topology(links: &[(u8, u8, u8)]) -> Option<Topology> {
        let text: String = links.iter().map(|(a, b, w)| format!("r{a} r{b} {}\n", w % 4 + 1)).collect();
        Topology::read(&text).ok()
    }

    /// The definition, as a reference: all paths, cut one by one and collected into a set.
    fn by_definition(paths: &Paths, cuts: &[u32]) -> BTreeSet<Vec<u32>> {
        let mut segments = BTreeSet::new();
        for path in paths.iter() {
            let mut first = 0;
            for at in 1..path.len() {
                if at + 1 == path.len() || cuts.contains(&path[at]) {
                    segments.insert(path[first..=at].to_vec());
                    first = at;
                }
            }
        }
        segments
    }

    proptest! {
        /// Cutting at one router after the other gives the same set and sums as cutting all paths at once; the saving
        /// is as predicted; and `join` undoes `cut`.
        #[test]
        fn cutting_is_what_it_says(single in any::<bool>(), links in proptest::collection::vec((0u8..9, 0u8..9, 0u8..8), 1..40),
                                   order in proptest::collection::vec(0u32..9, 0..6)) {
            let Some(topology) = topology(&links) else { return Ok(()) };
            let mode = if single { Mode::Single } else { Mode::EqualCost };
            let paths = Paths::all(&topology, mode, Paths::MOST).unwrap();
            let mut segments = Segments::new(paths.clone(), topology.routers());
            let mut cuts = Vec::new();
            for router in order.into_iter().filter(|&router| (router as usize) < topology.routers()) {
                let before = segments.hops();
                let saving = if cuts.contains(&router) { 0 } else { segments.hops_through()[router as usize] };
                segments.cut(router);
                prop_assert_eq!(before - segments.hops(), saving);
                if !cuts.contains(&router) {
                    let cut = segments.clone();
                    segments.join(router);
                    prop_assert_eq!((before, saving), (segments.hops(), segments.hops_through()[router as usize]));
                    segments.cut(router);
                    prop_assert!(segments.iter().eq(cut.iter()) && segments.counts() == cut.counts());
                }
                cuts.push(router);
                let expected = by_definition(&paths, &cuts);
                let found: BTreeSet<Vec<u32>> = segments.iter().map(<[u32]>::to_vec).collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(segments.len(), expected.len());
                let hops: u64 = expected.iter().map(|segment| segment.len() as u64 - 1).sum();
                prop_assert_eq!(segments.hops(), hops);
                for router in 0..topology.routers() as u32 {
                    let through = expected.iter().filter(|s| s[1..s.len() - 1].contains(&router)).count();
                    prop_assert_eq!(segments.counts()[router as usize], through as u64);
                }
                let granularity = segments.granularity().unwrap();
                prop_assert_eq!(granularity.max, expected.iter().map(|s| s.len() as u64 - 1).max().unwrap());
            }
        }
    }
}
