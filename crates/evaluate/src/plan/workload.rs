use crate::experiment::Problem;
use crate::grid::Entry;
use crate::value::{Invalid, whole};
use dwell_network::Topology;
use dwell_types::hash;
use serde::Deserialize;

/// One entry of `[[plan.workloads]]`: maps in which few routers have many links, as in backbones (Barabási and Albert
/// 1999). Each router after the first ones is linked to `links` others, chosen with chances in proportion to the links
/// that they have. Every seed draws another map.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    routers: f64,
    links: f64,
    /// Links have whole weights up to this, all equally likely.
    #[serde(default = "one")]
    heaviest: f64,
}

fn one() -> f64 {
    1.0
}

/// How maps are drawn.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(super) routers: u32,
    links: u32,
    heaviest: u32,
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    /// Maps keep their size.
    fn items(&self, _: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        /// All shortest paths of such a map have to fit memory.
        const MOST: u64 = 2_000;
        let routers = whole("routers", self.routers, 3..=MOST)?;
        let links = whole("links", self.links, 1..=routers / 2)?;
        let heaviest = whole("heaviest", self.heaviest, 1..=1_000)?;
        let stream = Stream { routers: routers as u32, links: links as u32, heaviest: heaviest as u32 };
        Ok(vec![(self.name.clone(), stream)])
    }
}

impl Stream {
    /// The map of a seed.
    pub(super) fn topology(&self, seed: u64) -> Result<Topology, Problem> {
        let (start, mut drawn) = (hash::word(u64::from_le_bytes(*b"the maps"), seed), 0);
        let mut below = |len: u32| {
            drawn += 1;
            hash::index((hash::word(start, drawn) >> 32) as u32, len)
        };
        let mut text = String::new();
        // A router is here once for each of its links.
        let mut ends: Vec<u32> = Vec::new();
        for router in 1..self.routers {
            let mut others: Vec<u32> = Vec::new();
            while others.len() < self.links.min(router) as usize {
                // The first routers are all linked with one another.
                let other =
                    if router <= self.links { others.len() as u32 } else { ends[below(ends.len() as u32) as usize] };
                if !others.contains(&other) {
                    others.push(other);
                }
            }
            for other in others {
                let weight = 1 + below(self.heaviest);
                text += &format!("{router} {other} {weight}\n{other} {router} {weight}\n");
                ends.extend([router, other]);
            }
        }
        Ok(Topology::read(&text)?)
    }
}
