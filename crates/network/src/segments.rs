//! Paths that no instrumented router cuts: what is probed from end to end.

use crate::paths::Paths;

/// The distinct measurement segments of a network.
///
/// At first every path is one, probed from end to end; with router *r* instrumented, each segment that leads through
/// *r* becomes two, and two that are equal are one [kompella12 §VI, Algorithm 1, with *S* a set].
///
/// Nothing has to be put together for that. Every piece of a shortest path is a shortest path between its own ends, and
/// so among those between all routers: the segments are just the paths without an instrumented router between their
/// ends. To instrument a router takes away those that lead through it, and a set of routers takes away all that lead
/// through any of them: what is saved is the weight of what is covered.
#[derive(Clone, Debug)]
pub struct Segments {
    paths: Paths,
    /// Paths that lead through a router.
    through: Vec<Vec<u32>>,
    /// By path, how many instrumented routers it leads through.
    cuts: Vec<u32>,
    /// Segments that lead through a router.
    counts: Vec<u64>,
    /// The hops of these.
    hops_through: Vec<u64>,
    /// How many segments are so many hops long.
    by_hops: Vec<u64>,
    hops: u64,
    instrumented: Vec<bool>,
}

/// How finely a fault can be located.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Granularity {
    /// Hops of a segment on average.
    pub mean: f64,
    /// Of the shortest.
    pub min: u64,
    /// Of the longest.
    pub max: u64,
}

impl Segments {
    /// Every path as one segment, in a network of so many routers.
    pub fn new(paths: Paths, routers: usize) -> Self {
        let mut through: Vec<Vec<u32>> = vec![Vec::new(); routers];
        for (number, path) in (0..).zip(paths.iter()) {
            between(path).iter().for_each(|&router| through[router as usize].push(number));
        }
        let longest = paths.iter().map(<[u32]>::len).max().unwrap_or(0);
        let mut segments = Self {
            through,
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

    /// Adds a path to all sums, or subtracts it.
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
        let through = std::mem::take(&mut self.through[router as usize]);
        for &path in &through {
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_sub);
            }
            self.cuts[path as usize] += 1;
        }
        self.through[router as usize] = through;
    }

    /// Takes a router's instruments away again.
    pub fn join(&mut self, router: u32) {
        if !std::mem::replace(&mut self.instrumented[router as usize], false) {
            return;
        }
        let through = std::mem::take(&mut self.through[router as usize]);
        for &path in &through {
            self.cuts[path as usize] -= 1;
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_add);
            }
        }
        self.through[router as usize] = through;
    }

    /// Segments that lead through each router.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Hops of the segments that lead through each router: what is saved where it is instrumented, too.
    pub fn hops_through(&self) -> &[u64] {
        &self.hops_through
    }

    /// Whether a router is instrumented.
    pub fn is_instrumented(&self, router: u32) -> bool {
        self.instrumented[router as usize]
    }

    /// How many segments there are.
    pub fn len(&self) -> usize {
        self.by_hops.iter().sum::<u64>() as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Links that one probe of every segment passes: the probe hop count.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Each segment as its routers.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.paths.iter().zip(&self.cuts).filter(|&(_, &cuts)| cuts == 0).map(|(path, _)| path)
    }

    /// How long segments are; `None` if there are none.
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

    /// The definition: all paths, cut by hand, as a set.
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
        /// Cutting one router after the other gives what cutting all paths at once gives, as a set with its sums; what
        /// was foretold is saved; and what is joined again is as it was.
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
