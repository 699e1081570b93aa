//! The shortest paths between all routers with a measurement server, by the sum of link weights.

use crate::Topology;
use petgraph::Direction::Incoming;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;
use std::collections::HashSet;
use std::fmt;

/// Which of several equally short paths are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// All of them (equal-cost multipath).
    #[default]
    EqualCost,
    /// One per pair: going back from the destination, each router's predecessor with the fewest hops, and of several
    /// the first in the map.
    Single,
}

/// Paths between all ordered pairs of routers with a server, each as its list of routers, both ends included.
///
/// A piece of a shortest path is a shortest path between its own ends. If all routers have a server, it is therefore
/// among the paths; otherwise pieces that begin or end at a router without a server follow the paths.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// The routers of all paths, then of the other pieces, concatenated.
    routers: Vec<u32>,
    /// The start of each path or piece in `routers`, then the end of the last one.
    bounds: Vec<usize>,
    /// The number of paths; what follows them is pieces.
    between_servers: usize,
    unreachable: usize,
}

/// There are too many paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// The limit on the number of routers on all paths together.
    pub most: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all paths together have more than {} routers", self.most)
    }
}

impl std::error::Error for TooMany {}

impl Paths {
    /// 256 million routers on all paths together: a gigabyte.
    pub const MOST: usize = 1 << 28;

    /// The paths between all routers with a server, in the order of their sources, then destinations. The limit holds
    /// for the routers on all of them and on their pieces.
    pub fn all(topology: &Topology, mode: Mode, most: usize) -> Result<Self, TooMany> {
        if !fit(topology, mode, most, |router| topology.has_server(router)) {
            return Err(TooMany { most });
        }
        let mut paths = Self { bounds: vec![0], ..Self::default() };
        let servers = || topology.graph().node_indices().filter(|router| topology.has_server(router.index() as u32));
        for source in servers() {
            let tree = Tree::of(topology, source, mode);
            for destination in servers().filter(|&destination| destination != source) {
                if tree.reached[destination.index()].is_none() {
                    paths.unreachable += 1;
                    continue;
                }
                paths.walk_back(&tree, destination.index() as u32, most)?;
            }
        }
        paths.between_servers = paths.bounds.len() - 1;
        paths.add_pieces(topology, mode, most)?;
        paths.routers.shrink_to_fit();
        paths.bounds.shrink_to_fit();
        Ok(paths)
    }

    /// Adds the pieces of paths that begin or end at a router without a server.
    fn add_pieces(&mut self, topology: &Topology, mode: Mode, most: usize) -> Result<(), TooMany> {
        if topology.servers() == topology.routers() {
            return Ok(());
        }
        // All equally short paths between these are pieces.
        let mut pairs: HashSet<(u32, u32)> = HashSet::new();
        let mut fewest = self.routers.len();
        for path in self.iter() {
            for (at, &from) in path.iter().enumerate() {
                for (routers, &to) in (2..).zip(&path[at + 1..]) {
                    let is_path = topology.has_server(from) && topology.has_server(to);
                    if !is_path && pairs.insert((from, to)) {
                        fewest += routers;
                    }
                }
                if fewest > most {
                    return Err(TooMany { most });
                }
            }
        }
        let mut pairs: Vec<(u32, u32)> = pairs.into_iter().collect();
        pairs.sort_unstable();
        for pairs in pairs.chunk_by(|a, b| a.0 == b.0) {
            let tree = Tree::of(topology, NodeIndex::new(pairs[0].0 as usize), mode);
            pairs.iter().try_for_each(|&(_, to)| self.walk_back(&tree, to, most))?;
        }
        Ok(())
    }

    /// Whether one path per pair stays within the limit on routers on all paths, wherever the servers are. Takes time
    /// as [`Paths::all`] does, but no memory.
    pub fn fit_single(topology: &Topology, most: usize) -> bool {
        fit(topology, Mode::Single, most, |_| true)
    }

    /// Adds every path to a destination. Iterative, since paths may be longer than the call stack is deep.
    fn walk_back(&mut self, tree: &Tree, destination: u32, most: usize) -> Result<(), TooMany> {
        // The routers from the destination back, each with the number of its predecessors already visited.
        let mut way = vec![(destination, 0)];
        while let Some((router, taken)) = way.last_mut() {
            let next = tree.before[*router as usize].get(*taken).copied();
            *taken += 1;
            if *router == tree.source {
                if self.routers.len() + way.len() > most {
                    return Err(TooMany { most });
                }
                self.routers.extend(way.iter().rev().map(|&(router, _)| router));
                self.bounds.push(self.routers.len());
                way.pop();
            } else if let Some(before) = next {
                way.push((before, 0));
            } else {
                way.pop();
            }
        }
        Ok(())
    }

    /// The number of paths.
    pub fn len(&self) -> usize {
        self.between_servers
    }

    /// Whether there are no paths.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Links on all paths together.
    pub fn hops(&self) -> u64 {
        self.iter().map(|path| path.len() as u64 - 1).sum()
    }

    /// Ordered pairs of routers with a server between which there is no path.
    pub fn unreachable(&self) -> usize {
        self.unreachable
    }

    /// Each path as its list of routers.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.pieces().take(self.between_servers)
    }

    /// The same, followed by the pieces that begin or end at a router without a server.
    pub(crate) fn pieces(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.bounds.windows(2).map(|ends| &self.routers[ends[0]..ends[1]])
    }

    /// A path, or a piece, as its list of routers.
    pub(crate) fn routers(&self, path: usize) -> &[u32] {
        &self.routers[self.bounds[path]..self.bounds[path + 1]]
    }
}

/// Whether all paths between these routers stay within the limit on the routers on them.
fn fit(topology: &Topology, mode: Mode, most: usize, is_end: impl Fn(u32) -> bool) -> bool {
    if fewest_routers(topology) > most {
        return false;
    }
    let mut routers: usize = 0;
    for source in topology.graph().node_indices().filter(|source| is_end(source.index() as u32)) {
        let tree = Tree::of(topology, source, mode);
        let others = (0..).zip(tree.routers_to()).filter(|&(to, _)| to != tree.source && is_end(to));
        routers = others.fold(routers, |sum, (_, routers)| sum.saturating_add(routers));
        if routers > most {
            return false;
        }
    }
    true
}

/// A lower bound on the routers on all paths: two on a link, at least three between other routers that reach each other
/// and have servers.
fn fewest_routers(topology: &Topology) -> usize {
    let pairs = |servers: usize| servers.saturating_mul(servers.saturating_sub(1));
    let servers = |island: &Vec<NodeIndex>| island.iter().filter(|at| topology.has_server(at.index() as u32)).count();
    let islands = petgraph::algo::kosaraju_scc(topology.graph());
    let pairs = islands.iter().map(|island| pairs(servers(island))).fold(0, usize::saturating_add);
    pairs.saturating_mul(3).saturating_sub(topology.links())
}

/// The shortest paths from one router.
struct Tree {
    source: u32,
    /// The least sum of weights, and the fewest hops among the paths with that sum.
    reached: Vec<Option<Distance>>,
    /// The predecessors of each router.
    before: Vec<Vec<u32>>,
}

impl Tree {
    fn of(topology: &Topology, source: NodeIndex, mode: Mode) -> Self {
        let graph = topology.graph();
        let mut reached = vec![None; graph.node_count()];
        for (router, distance) in petgraph::algo::dijkstra(graph, source, None, |link| Distance(link.weight().0, 1)) {
            reached[router.index()] = Some(distance);
        }
        let before = |router: NodeIndex| {
            let Some(Distance(weight, hops)) = reached[router.index()] else { return Vec::new() };
            let links = graph.edges_directed(router, Incoming).filter(|link| {
                reached[link.source().index()].is_some_and(|Distance(w, h)| {
                    w + link.weight().0 == weight && (mode == Mode::EqualCost || h + 1 == hops)
                })
            });
            let mut before: Vec<u32> = links.map(|link| link.source().index() as u32).collect();
            before.sort_unstable();
            if mode == Mode::Single {
                before.truncate(1);
            }
            before
        };
        let before = graph.node_indices().map(before).collect();
        Self { source: source.index() as u32, reached, before }
    }

    /// The routers on all paths to each router, both ends included; none to one that is not reached.
    fn routers_to(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.reached.len()).filter(|&router| self.reached[router].is_some()).collect();
        // Weights are above zero, so all predecessors are nearer.
        order.sort_unstable_by_key(|&router| self.reached[router]);
        let mut paths: Vec<usize> = vec![0; self.reached.len()];
        let mut routers = paths.clone();
        for router in order {
            let before = self.before[router].iter().map(|&before| before as usize);
            paths[router] = match router == self.source as usize {
                true => 1,
                false => before.clone().fold(0, |sum: usize, before| sum.saturating_add(paths[before])),
            };
            routers[router] = before.fold(paths[router], |sum, before| sum.saturating_add(routers[before]));
        }
        routers
    }
}

/// A sum of weights, with ties broken by the number of hops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Distance(u64, u32);

impl std::ops::Add for Distance {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, self.1 + other.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, mode: Mode) -> (Topology, Paths) {
        let topology = Topology::read(text).unwrap();
        let paths = Paths::all(&topology, mode, Paths::MOST).unwrap();
        (topology, paths)
    }

    fn named(topology: &Topology, paths: &Paths) -> Vec<String> {
        paths.iter().map(|path| path.iter().map(|&router| topology.name(router)).collect()).collect()
    }

    /// A map whose links go in both directions.
    fn both(links: &[(&str, &str, &str)]) -> String {
        links.iter().map(|(a, b, w)| format!("{a} {b} {w}\n{b} {a} {w}\n")).collect()
    }

    #[test]
    fn all_equally_short_paths() {
        let square =
            both(&[("a", "b", "1.1"), ("b", "d", "2.2"), ("a", "c", "2.2"), ("c", "d", "1.1"), ("a", "d", "3.4")]);
        let (topology, all) = paths(&square, Mode::EqualCost);
        let names = named(&topology, &all);
        let from_a: Vec<_> = names.iter().filter(|name| name.starts_with('a')).map(String::as_str).collect();
        assert_eq!(from_a, ["ab", "abd", "acd", "ac"], "3.4 is longer than 1.1 + 2.2, and both ways are equal");
        assert_eq!((all.len(), all.unreachable()), (16, 0), "two ways across each diagonal");
        let (topology, single) = paths(&square, Mode::Single);
        assert_eq!(single.len(), 12);
        assert!(named(&topology, &single).contains(&"abd".to_owned()));
    }

    #[test]
    fn one_of_two_equal_ways_has_fewer_hops() {
        let triangle = both(&[("a", "b", "1"), ("b", "c", "1"), ("a", "c", "2")]);
        let (topology, single) = paths(&triangle, Mode::Single);
        assert!(named(&topology, &single).contains(&"ac".to_owned()));
        assert_eq!(single.hops(), 6);
        assert_eq!(paths(&triangle, Mode::EqualCost).1.hops(), 6 + 4);
    }

    #[test]
    fn directions_and_islands() {
        let (topology, one_way) = paths("a b 1\nb c 1\nx y 1\n", Mode::EqualCost);
        assert_eq!(named(&topology, &one_way), ["ab", "abc", "bc", "xy"]);
        assert_eq!(one_way.unreachable(), 20 - 4);
    }

    /// What is counted beforehand is what is stored.
    #[test]
    fn the_routers_on_all_paths_are_counted() {
        let mut links = vec![("a", "b", "1"), ("b", "d", "2"), ("a", "c", "2"), ("c", "d", "1"), ("d", "e", "1")];
        links.extend([("b", "e", "3"), ("c", "b", "1")]);
        for mode in [Mode::EqualCost, Mode::Single] {
            for map in [both(&links), "a b 1\nb c 1\nx y 1\n".to_owned()] {
                let (topology, all) = paths(&map, mode);
                let exact = all.routers.len();
                assert!(fit(&topology, mode, exact, |_| true) && !fit(&topology, mode, exact - 1, |_| true), "{map}");
            }
        }
    }

    /// A line is a single path however long it is, and too many long paths are an error; neither overflows the stack.
    #[test]
    fn paths_may_be_very_long() {
        let line: String = (0..200_000).map(|i| format!("r{i} r{} 1\n", i + 1)).collect();
        let topology = Topology::read(&line).unwrap();
        assert_eq!(Paths::all(&topology, Mode::Single, 1 << 20).unwrap_err(), TooMany { most: 1 << 20 });
        let last = (topology.routers() - 1) as u32;
        let mut paths = Paths { bounds: vec![0], ..Paths::default() };
        paths.walk_back(&Tree::of(&topology, NodeIndex::new(0), Mode::Single), last, Paths::MOST).unwrap();
        assert_eq!((paths.pieces().len(), paths.routers(0).len()), (1, 200_001));
    }

    /// Only b and c probe each other; d is on no path between them, and a is on one.
    #[test]
    fn paths_are_between_servers() {
        let square = both(&[("a", "b", "1"), ("a", "c", "1"), ("b", "d", "1"), ("c", "d", "2")]);
        let mut topology = Topology::read(&square).unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| topology.find(name).unwrap());
        topology.set_servers([b, c]);
        let paths = |most| Paths::all(&topology, Mode::EqualCost, most);
        let all = paths(Paths::MOST).unwrap();
        assert_eq!((all.len(), all.hops(), all.unreachable()), (2, 4, 0));
        let pieces: Vec<&[u32]> = all.pieces().collect();
        assert_eq!(pieces, [&[b, a, c][..], &[c, a, b], &[a, b], &[a, c], &[b, a], &[c, a]]);
        assert_eq!(paths(14).unwrap().pieces().len(), 6);
        assert_eq!(paths(13).unwrap_err(), TooMany { most: 13 });
    }

    /// A ladder of n diamonds has 2ⁿ equal paths from end to end.
    #[test]
    fn too_many_paths_are_refused() {
        let mut links = String::new();
        for i in 0..40 {
            for side in ["l", "r"] {
                links += &format!("m{i} {side}{i} 1\n{side}{i} m{} 1\n", i + 1);
            }
        }
        let topology = Topology::read(&links).unwrap();
        assert_eq!(Paths::all(&topology, Mode::EqualCost, 10_000).unwrap_err(), TooMany { most: 10_000 });
        assert!(Paths::all(&topology, Mode::Single, 1_000_000).is_ok());
        assert!(Paths::fit_single(&topology, 1_000_000));
    }

    /// The bound is found before any path, is never above what paths need, and one path per pair is counted as made.
    #[test]
    fn too_many_pairs_are_refused_at_once() {
        let ring = |routers: usize| {
            let links = (0..routers).map(|at| format!("r{at} r{} 1\n", (at + 1) % routers));
            Topology::read(&links.collect::<String>()).unwrap()
        };
        let large = ring(20_000);
        assert_eq!(Paths::all(&large, Mode::EqualCost, Paths::MOST).unwrap_err(), TooMany { most: Paths::MOST });
        assert!(!Paths::fit_single(&large, Paths::MOST));
        let mesh = both(&[("a", "b", "1"), ("b", "c", "1"), ("a", "c", "1"), ("c", "d", "1")]);
        for topology in [ring(7), Topology::read(&mesh).unwrap(), Topology::read("a b 1\nb c 1\nx y 1\n").unwrap()] {
            let paths = Paths::all(&topology, Mode::Single, Paths::MOST).unwrap();
            let routers = paths.routers.len();
            assert!(fewest_routers(&topology) <= routers, "{} of {routers}", fewest_routers(&topology));
            assert!(Paths::fit_single(&topology, routers) && !Paths::fit_single(&topology, routers - 1));
        }
    }
}
