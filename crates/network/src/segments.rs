//! Distinct pieces of paths. Whoever instruments a router cuts every piece that leads through it.

use crate::paths::Paths;
use hashbrown::HashTable;

/// The distinct measurement segments of a network.
///
/// At first every path is one, probed from end to end; with router *r* instrumented, each segment that leads through *r* becomes two, and
/// two that are equal are one [kompella12 §VI, Algorithm 1, with *S* a set].
#[derive(Clone, Debug)]
pub struct Segments {
    /// Of all paths, one behind the other. A segment is a piece of this.
    routers: Vec<u32>,
    pieces: Vec<Piece>,
    /// Numbers of pieces by what is in them, so that equal ones are found.
    distinct: HashTable<u32>,
    /// Pieces that lead through a router, or did before they were cut.
    through: Vec<Vec<u32>>,
    /// How many do now.
    counts: Vec<u64>,
    /// The hops of these.
    hops_through: Vec<u64>,
    hops: u64,
    by_hops: Vec<u64>,
    instrumented: Vec<bool>,
}

/// A piece of a path.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: u32,
    /// Routers, both ends included; zero if it was cut.
    len: u32,
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
        let (nodes, bounds) = paths.into_parts();
        let mut segments = Self {
            routers: nodes,
            pieces: Vec::with_capacity(bounds.len()),
            distinct: HashTable::with_capacity(bounds.len()),
            through: vec![Vec::new(); routers],
            counts: vec![0; routers],
            hops_through: vec![0; routers],
            hops: 0,
            by_hops: Vec::new(),
            instrumented: vec![false; routers],
        };
        for ends in bounds.windows(2) {
            segments.add(Piece { first: ends[0] as u32, len: (ends[1] - ends[0]) as u32 });
        }
        segments
    }

    fn routers_of(&self, piece: Piece) -> &[u32] {
        &self.routers[piece.first as usize..(piece.first + piece.len) as usize]
    }

    /// Adds a piece, unless an equal one is there.
    fn add(&mut self, piece: Piece) {
        let (routers, pieces) = (&self.routers, &self.pieces);
        let of = |piece: Piece| &routers[piece.first as usize..(piece.first + piece.len) as usize];
        let wanted = of(piece);
        let same = |&number: &u32| of(pieces[number as usize]) == wanted;
        if self.distinct.find(hash(wanted), same).is_some() {
            return;
        }
        let number = pieces.len() as u32;
        self.distinct.insert_unique(hash(wanted), number, |&number| {
            hash(of(pieces.get(number as usize).copied().unwrap_or(piece)))
        });
        let hops = piece.len as usize - 1;
        for &router in &wanted[1..wanted.len() - 1] {
            self.through[router as usize].push(number);
            self.counts[router as usize] += 1;
            self.hops_through[router as usize] += hops as u64;
        }
        self.pieces.push(piece);
        self.by_hops.resize(self.by_hops.len().max(hops + 1), 0);
        self.by_hops[hops] += 1;
        self.hops += hops as u64;
    }

    fn remove(&mut self, number: u32) -> Piece {
        let piece = self.pieces[number as usize];
        let (routers, key) = (&self.routers, hash(self.routers_of(piece)));
        if let Ok(entry) = self.distinct.find_entry(key, |&other| other == number) {
            entry.remove();
        }
        let hops = piece.len as usize - 1;
        for &router in &routers[piece.first as usize + 1..(piece.first + piece.len) as usize - 1] {
            self.counts[router as usize] -= 1;
            self.hops_through[router as usize] -= hops as u64;
        }
        self.by_hops[hops] -= 1;
        self.hops -= hops as u64;
        self.pieces[number as usize].len = 0;
        piece
    }

    /// Instruments a router: cuts every segment that leads through it.
    pub fn cut(&mut self, router: u32) {
        self.instrumented[router as usize] = true;
        for number in std::mem::take(&mut self.through[router as usize]) {
            if self.pieces[number as usize].len == 0 {
                continue;
            }
            let Piece { first, len } = self.remove(number);
            let whole = &self.routers[first as usize..(first + len) as usize];
            // A shortest path comes by once.
            let at = whole.iter().position(|&other| other == router).unwrap_or(0) as u32;
            self.add(Piece { first, len: at + 1 });
            self.add(Piece { first: first + at, len: len - at });
        }
    }

    /// How many hops fewer there would be with this router instrumented, too.
    pub fn saving(&self, router: u32) -> u64 {
        // A path of h hops becomes two of h together: what is saved are the halves that are there already, or twice.
        let mut halves: HashTable<Piece> = HashTable::new();
        let mut saved = 0;
        let of = |piece: Piece| self.routers_of(piece);
        for &number in &self.through[router as usize] {
            let Piece { first, len } = self.pieces[number as usize];
            if len == 0 {
                continue;
            }
            let at = of(Piece { first, len }).iter().position(|&other| other == router).unwrap_or(0) as u32;
            for half in [Piece { first, len: at + 1 }, Piece { first: first + at, len: len - at }] {
                let (wanted, key) = (of(half), hash(of(half)));
                let is_there = self.distinct.find(key, |&number| of(self.pieces[number as usize]) == wanted).is_some();
                if is_there || halves.find(key, |&other| of(other) == wanted).is_some() {
                    saved += u64::from(half.len - 1);
                } else {
                    halves.insert_unique(key, half, |&other| hash(of(other)));
                }
            }
        }
        saved
    }

    /// Segments that lead through each router.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Hops of the segments that lead through a router.
    pub fn hops_through(&self, router: u32) -> u64 {
        self.hops_through[router as usize]
    }

    /// Whether a router is instrumented.
    pub fn is_instrumented(&self, router: u32) -> bool {
        self.instrumented[router as usize]
    }

    /// How many segments there are.
    pub fn len(&self) -> usize {
        self.distinct.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.distinct.is_empty()
    }

    /// Links that one probe of every segment passes: the probe hop count.
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Each segment as its routers.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.pieces.iter().filter(|piece| piece.len > 0).map(|&piece| self.routers_of(piece))
    }

    /// How long segments are; `None` if there are none.
    pub fn granularity(&self) -> Option<Granularity> {
        let present = |(hops, &count): (usize, &u64)| (count > 0).then_some(hops as u64);
        let min = self.by_hops.iter().enumerate().find_map(present)?;
        let max = self.by_hops.iter().enumerate().rev().find_map(present)?;
        Some(Granularity { mean: self.hops as f64 / self.len() as f64, min, max })
    }
}

fn hash(routers: &[u32]) -> u64 {
    let mut state = dwell_types::hash::start(routers.len() as u64);
    for pair in routers.chunks(2) {
        let word = pair.iter().fold(0, |word, &router| word << 32 | u64::from(router));
        state = dwell_types::hash::absorb(state, word);
    }
    dwell_types::hash::finish(state)
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
        /// Cutting one router after the other gives what cutting all paths at once gives, with its sums; and what was foretold is saved.
        #[test]
        fn cutting_is_what_it_says(links in proptest::collection::vec((0u8..9, 0u8..9, 0u8..8), 1..40),
                                   order in proptest::collection::vec(0u32..9, 0..6)) {
            let Some(topology) = topology(&links) else { return Ok(()) };
            let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
            let mut segments = Segments::new(paths.clone(), topology.routers());
            let mut cuts = Vec::new();
            for router in order.into_iter().filter(|&router| (router as usize) < topology.routers()) {
                let before = segments.hops();
                let saving = if cuts.contains(&router) { 0 } else { segments.saving(router) };
                segments.cut(router);
                prop_assert_eq!(before - segments.hops(), saving);
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
