//! Paths as sequences of segments.

use crate::paths::Paths;
use crate::segments::{Segments, ends};
use std::sync::Arc;

/// The segments of a network with some instrumented routers, and the sequence of segments of every path.
#[derive(Clone, Debug)]
pub struct Routes {
    paths: Arc<Paths>,
    /// Each segment as the number of its path or piece, sorted by router numbers.
    segments: Vec<u32>,
    /// The segment numbers of all paths, concatenated.
    parts: Vec<u32>,
    /// The start of each path in `parts`, then the end of the last one.
    bounds: Vec<usize>,
}

impl Routes {
    /// Cuts all paths at the routers that are instrumented in `segments`.
    pub fn new(segments: &Segments) -> Self {
        let paths = Arc::clone(segments.paths());
        let mut routes = Self { paths, segments: segments.sorted(), parts: Vec::new(), bounds: vec![0] };
        for path in routes.paths.iter() {
            let mut first = 0;
            for (at, &router) in path.iter().enumerate().skip(1) {
                if at + 1 == path.len() || segments.is_instrumented(router) {
                    routes.parts.extend(routes.find(&path[first..=at]));
                    first = at;
                }
            }
            routes.bounds.push(routes.parts.len());
        }
        routes
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// A segment as its list of routers; none if there is no such segment.
    pub fn routers(&self, segment: u32) -> &[u32] {
        self.segments.get(segment as usize).map_or(&[], |&piece| self.paths.routers(piece as usize))
    }

    /// The segment through exactly these routers.
    pub fn find(&self, routers: &[u32]) -> Option<u32> {
        let found = self.segments.binary_search_by(|&piece| self.paths.routers(piece as usize).cmp(routers));
        found.ok().map(|segment| segment as u32)
    }

    /// The segments from one router to another.
    pub fn between(&self, from: u32, to: u32) -> impl Iterator<Item = u32> {
        (0..self.segments() as u32).filter(move |&segment| ends(self.routers(segment)) == [from, to])
    }

    /// The number of paths.
    pub fn paths(&self) -> usize {
        self.paths.len()
    }

    /// A path as its segments; none if there is no such path.
    pub fn path(&self, path: usize) -> &[u32] {
        match self.bounds.get(path..) {
            Some(&[begin, end, ..]) => &self.parts[begin..end],
            _ => &[],
        }
    }

    /// A path as its list of routers; none if there is no such path.
    pub fn path_routers(&self, path: usize) -> &[u32] {
        if path < self.paths() { self.paths.routers(path) } else { &[] }
    }

    /// The paths from one router to another.
    pub fn paths_between(&self, from: u32, to: u32) -> Vec<usize> {
        (0..).zip(self.paths.iter()).filter(|(_, path)| ends(path) == [from, to]).map(|(number, _)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Topology;
    use crate::paths::Mode;

    #[test]
    fn paths_are_put_together_from_segments() {
        let links: String = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "e"), ("e", "d")]
            .iter()
            .map(|(x, y)| format!("{x} {y} 1\n{y} {x} 1\n"))
            .collect();
        let topology = Topology::read(&links).unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|name| topology.find(name).unwrap());
        let mut segments = Segments::new(paths.clone(), topology.routers());
        segments.cut(b);
        let routes = Routes::new(&segments);
        assert_eq!((routes.segments(), routes.paths()), (segments.len(), paths.len()));
        for (number, path) in paths.iter().enumerate() {
            let mut joined: Vec<u32> = Vec::new();
            for &segment in routes.path(number) {
                joined.pop();
                joined.extend(routes.routers(segment));
            }
            assert_eq!((&joined[..], routes.path_routers(number)), (path, path));
        }
        let both = routes.paths_between(a, d);
        assert_eq!(both.len(), 2);
        let ways = [routes.find(&[b, c, d]).unwrap(), routes.find(&[b, e, d]).unwrap()];
        for path in both {
            assert_eq!(routes.path(path)[0], routes.find(&[a, b]).unwrap());
            assert!(ways.contains(&routes.path(path)[1]));
        }
        assert!(routes.between(b, d).eq(ways) && routes.between(a, d).next().is_none());
        assert_eq!(routes.find(&[a, b, c]), None, "b cuts it");
        assert!(routes.routers(u32::MAX).is_empty());
        for unknown in [routes.paths(), usize::MAX] {
            assert!(routes.path(unknown).is_empty() && routes.path_routers(unknown).is_empty());
        }
    }
}
