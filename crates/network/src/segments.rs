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
///
/// Where only some routers have a server, a piece that begins or ends at another router is a segment as long as that
/// router is instrumented. Every such piece comes from a longer segment that is removed, so that instrumenting a router
/// still never adds hops; but one router may save more if another one is instrumented, too.
#[derive(Clone, Debug)]
pub struct Segments {
    paths: Arc<Paths>,
    /// By router, the numbers of the paths, or pieces of paths, through it.
    through: Arc<[Vec<u32>]>,
    /// By router without a server, the numbers of the pieces that begin or end at it.
    ending: Arc<[Vec<u32>]>,
    /// By path or piece, the number of instrumented routers between its ends.
    cuts: Vec<u32>,
    /// By router, the number of segments through it.
    counts: Vec<u64>,
    /// By router, the total hops of these segments.
    hops_through: Vec<u64>,
    /// By router, the total hops of the pieces that would be segments if it were instrumented, and are not.
    hops_added: Vec<u64>,
    /// By number of hops, the number of segments of that length.
    by_hops: Vec<u64>,
    hops: u64,
    instrumented: Vec<bool>,
    /// By router, whether segments may begin and end there: it has a server or is instrumented.
    is_end: Vec<bool>,
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
    ///
    /// # Panics
    /// If the paths are of a network of more routers.
    pub fn new(paths: impl Into<Arc<Paths>>, routers: usize) -> Self {
        let paths = paths.into();
        let mut numbers = vec![0; routers];
        paths.pieces().flat_map(between).for_each(|&router| numbers[router as usize] += 1);
        let mut through: Vec<Vec<u32>> = numbers.into_iter().map(Vec::with_capacity).collect();
        let mut is_end = vec![false; routers];
        paths.iter().flat_map(ends).for_each(|router| is_end[router as usize] = true);
        let mut ending = vec![Vec::new(); routers];
        for (number, piece) in (0..).zip(paths.pieces()) {
            between(piece).iter().for_each(|&router| through[router as usize].push(number));
            let without_server = ends(piece).into_iter().filter(|&router| !is_end[router as usize]);
            without_server.for_each(|router| ending[router as usize].push(number));
        }
        let longest = paths.iter().map(<[u32]>::len).max().unwrap_or(0);
        let pieces = paths.pieces().len();
        let mut segments = Self {
            through: through.into(),
            ending: ending.into(),
            cuts: vec![0; pieces],
            counts: vec![0; routers],
            hops_through: vec![0; routers],
            hops_added: vec![0; routers],
            by_hops: vec![0; longest],
            hops: 0,
            instrumented: vec![false; routers],
            is_end,
            paths,
        };
        (0..pieces).for_each(|piece| segments.tally(piece, u64::wrapping_add));
        segments
    }

    /// Adds a path or piece to all sums that it belongs to, or subtracts it from them.
    fn tally(&mut self, piece: usize, by: fn(u64, u64) -> u64) {
        let routers = self.paths.routers(piece);
        let hops = routers.len() - 1;
        match ends(routers).map(|router| self.is_end[router as usize]) {
            [true, true] => {}
            [false, false] => return,
            [is_first_end, _] => {
                let [first, last] = ends(routers);
                let added = &mut self.hops_added[if is_first_end { last } else { first } as usize];
                *added = by(*added, hops as u64);
                return;
            }
        }
        for &router in between(routers) {
            let (count, through) = (&mut self.counts[router as usize], &mut self.hops_through[router as usize]);
            (*count, *through) = (by(*count, 1), by(*through, hops as u64));
        }
        self.by_hops[hops] = by(self.by_hops[hops], 1);
        self.hops = by(self.hops, hops as u64);
    }

    /// Instruments a router, if there is one of this number.
    pub fn cut(&mut self, router: u32) {
        let Some(is_instrumented @ false) = self.instrumented.get_mut(router as usize) else { return };
        *is_instrumented = true;
        let through = Arc::clone(&self.through);
        for &path in &through[router as usize] {
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_sub);
            }
            self.cuts[path as usize] += 1;
        }
        self.make_end(router, true);
    }

    /// Undoes the instrumentation of a router.
    pub fn join(&mut self, router: u32) {
        let Some(is_instrumented @ true) = self.instrumented.get_mut(router as usize) else { return };
        *is_instrumented = false;
        let through = Arc::clone(&self.through);
        for &path in &through[router as usize] {
            self.cuts[path as usize] -= 1;
            if self.cuts[path as usize] == 0 {
                self.tally(path as usize, u64::wrapping_add);
            }
        }
        self.make_end(router, false);
    }

    /// Lets segments begin and end at a router, or no longer, if it has no server.
    fn make_end(&mut self, router: u32, is_end: bool) {
        let mut uncut = self.ending[router as usize].clone();
        if uncut.is_empty() {
            return;
        }
        uncut.retain(|&piece| self.cuts[piece as usize] == 0);
        uncut.iter().for_each(|&piece| self.tally(piece as usize, u64::wrapping_sub));
        self.is_end[router as usize] = is_end;
        uncut.iter().for_each(|&piece| self.tally(piece as usize, u64::wrapping_add));
    }

    /// By router, the number of segments through it.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The probe hops that instrumenting a router would save: those of the segments through it, less those of the pieces
    /// that become segments.
    pub fn saving(&self, router: u32) -> u64 {
        let router = router as usize;
        self.hops_through.get(router).map_or(0, |through| through - self.hops_added[router])
    }

    /// The number of links on paths: each is on some segment, whichever routers are instrumented.
    pub(crate) fn links(&self) -> usize {
        self.paths.pieces().filter(|piece| piece.len() == 2).count()
    }

    /// Whether a router is instrumented.
    pub fn is_instrumented(&self, router: u32) -> bool {
        self.instrumented.get(router as usize) == Some(&true)
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

    /// The paths whose pieces the segments are.
    pub(crate) fn paths(&self) -> &Arc<Paths> {
        &self.paths
    }

    /// The segments, as numbers of their paths or pieces.
    fn numbers(&self) -> impl Iterator<Item = u32> {
        let is_end = |router: u32| self.is_end[router as usize];
        let uncut = (0..).zip(&self.cuts).filter(|(_, cuts)| **cuts == 0).map(|(piece, _)| piece);
        uncut.filter(move |&piece| ends(self.paths.routers(piece as usize)).into_iter().all(is_end))
    }

    /// Each segment as its list of routers.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.numbers().map(|piece| self.paths.routers(piece as usize))
    }

    /// The segments, as numbers of their paths or pieces, sorted by router numbers.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut sorted: Vec<u32> = self.numbers().collect();
        sorted.sort_unstable_by(|&a, &b| self.paths.routers(a as usize).cmp(self.paths.routers(b as usize)));
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

/// The first router of a path and its last one.
pub(crate) fn ends(path: &[u32]) -> [u32; 2] {
    [path[0], path[path.len() - 1]]
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

    #[test]
    fn what_is_no_router_changes_nothing() {
        let topology = topology(&[(0, 1, 0), (1, 2, 0)]).unwrap();
        let mut segments = Segments::new(Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap(), 3);
        let hops = segments.hops();
        segments.cut(3);
        segments.join(3);
        assert_eq!((segments.hops(), segments.saving(3), segments.is_instrumented(3)), (hops, 0, false));
    }

    proptest! {
        /// Cutting at one router after the other gives the same set and sums as cutting all paths at once; the saving
        /// is as predicted; and `join` undoes `cut`.
        #[test]
        fn cutting_is_what_it_says(single in any::<bool>(), servers in proptest::option::of(0u32..1 << 9),
                                   links in proptest::collection::vec((0u8..9, 0u8..9, 0u8..8), 1..40),
                                   order in proptest::collection::vec(0u32..9, 0..6)) {
            let Some(mut topology) = topology(&links) else { return Ok(()) };
            if let Some(servers) = servers {
                topology.set_servers((0..topology.routers() as u32).filter(|router| servers >> router & 1 == 1));
            }
            let mode = if single { Mode::Single } else { Mode::EqualCost };
            let paths = Paths::all(&topology, mode, Paths::MOST).unwrap();
            let mut segments = Segments::new(paths.clone(), topology.routers());
            let mut cuts = Vec::new();
            for router in order.into_iter().filter(|&router| (router as usize) < topology.routers()) {
                let before = segments.hops();
                let saving = if cuts.contains(&router) { 0 } else { segments.saving(router) };
                segments.cut(router);
                prop_assert_eq!(before - segments.hops(), saving);
                if !cuts.contains(&router) {
                    let cut = segments.clone();
                    segments.join(router);
                    prop_assert_eq!((before, saving), (segments.hops(), segments.saving(router)));
                    segments.cut(router);
                    prop_assert!(segments.iter().eq(cut.iter()) && segments.counts() == cut.counts());
                    prop_assert!((0..cut.counts().len() as u32).all(|other| segments.saving(other) == cut.saving(other)));
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
                let longest = expected.iter().map(|s| s.len() as u64 - 1).max();
                prop_assert_eq!(segments.granularity().map(|hops| hops.max), longest);
                prop_assert!(segments.links() as u64 <= hops);
            }
        }
    }
}
