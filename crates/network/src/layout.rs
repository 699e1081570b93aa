//! Where to draw routers: where they are, if the map tells, or so that distances on paper are like distances in links.

use crate::Topology;
use petgraph::graph::NodeIndex;
use std::collections::VecDeque;

/// A place: to the right and down, in a unit that is the same for both.
pub type Place = (f64, f64);

/// Routers that are placed at most: time grows with their square.
pub const MOST: usize = 2_000;

/// Rounds in which an axis is found; the best is not needed.
const AXIS_ROUNDS: usize = 50;
/// Rounds of the majorisation; nothing much moves after them.
const ROUNDS: usize = 200;

/// A place for every router; `None` for more than [`MOST`]. The same map gives the same places.
///
/// By latitude and longitude if more than half of the routers have them; those that have none stand between their
/// neighbours. Otherwise by stress majorisation: the sum of (distance on paper − links between)²/links² over all pairs
/// is made small (Gansner, Koren and North 2004). Routers on one spot are moved apart.
pub fn layout(topology: &Topology) -> Option<Vec<Place>> {
    let count = topology.routers();
    if count > MOST {
        return None;
    }
    let known = topology.graph().node_weights().filter(|router| router.place.is_some()).count();
    let mut places = if 2 * known > count { by_coordinates(topology) } else { by_distances(topology) };
    move_apart(&mut places);
    Some(places)
}

fn neighbours(topology: &Topology, router: usize) -> impl Iterator<Item = usize> {
    topology.graph().neighbors_undirected(NodeIndex::new(router)).map(NodeIndex::index)
}

/// Longitudes are as much shorter than latitudes as at the mean latitude.
fn by_coordinates(topology: &Topology) -> Vec<Place> {
    let known: Vec<Option<Place>> = topology.graph().node_weights().map(|router| router.place).collect();
    let count = known.iter().flatten().count() as f64;
    let mean = known.iter().flatten().map(|(latitude, _)| latitude).sum::<f64>() / count;
    let narrow = mean.to_radians().cos().max(0.1);
    let mut places: Vec<Option<Place>> =
        known.iter().map(|place| place.map(|(latitude, longitude)| (longitude * narrow, -latitude))).collect();
    let middle = mean_of(places.iter().flatten().copied()).unwrap_or_default();
    // Each round reaches those one link further from a known place.
    while places.iter().any(Option::is_none) {
        let next: Vec<Option<Place>> = (0..places.len())
            .map(|router| {
                places[router].or_else(|| mean_of(neighbours(topology, router).filter_map(|near| places[near])))
            })
            .collect();
        if next == places {
            return places.into_iter().map(|place| place.unwrap_or(middle)).collect();
        }
        places = next;
    }
    places.into_iter().flatten().collect()
}

fn mean_of(places: impl Iterator<Item = Place>) -> Option<Place> {
    let (sum, count) = places.fold(((0.0, 0.0), 0.0), |((x, y), n), place| ((x + place.0, y + place.1), n + 1.0));
    (count > 0.0).then(|| (sum.0 / count, sum.1 / count))
}

/// Links from one router to each other one, whatever their direction; `None` where there is no way.
fn hops(topology: &Topology, from: usize) -> Vec<Option<u32>> {
    let mut hops = vec![None; topology.routers()];
    hops[from] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((router, far)) = queue.pop_front() {
        for near in neighbours(topology, router) {
            if hops[near].is_none() {
                hops[near] = Some(far + 1);
                queue.push_back((near, far + 1));
            }
        }
    }
    hops
}

fn by_distances(topology: &Topology) -> Vec<Place> {
    let count = topology.routers();
    let hops: Vec<Vec<Option<u32>>> = (0..count).map(|router| hops(topology, router)).collect();
    let longest = hops.iter().flatten().flatten().copied().max().unwrap_or(1);
    // Parts without a way between them stand side by side.
    let far = |a: usize, b: usize| f64::from(hops[a][b].unwrap_or(longest + 1));
    let mut places = scaled(count, &far);
    for _ in 0..ROUNDS {
        for router in 0..count {
            places[router] = pulled(&places, router, &far);
        }
    }
    places
}

/// Where classical scaling puts routers (Torgerson 1952): the two longest axes of the squared distances around their
/// means, by power iteration.
fn scaled(count: usize, far: &impl Fn(usize, usize) -> f64) -> Vec<Place> {
    let square = |a: usize, b: usize| far(a, b) * far(a, b);
    let n = count as f64;
    let means: Vec<f64> = (0..count).map(|a| (0..count).map(|b| square(a, b)).sum::<f64>() / n).collect();
    let mean = means.iter().sum::<f64>() / n;
    let inner = |a: usize, b: usize| 0.5 * (means[a] + means[b] - mean - square(a, b));
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        // Not in the direction of any axis.
        let mut along: Vec<f64> = (0..count).map(|router| (2.399_963 * (router + axis) as f64).cos()).collect();
        for _ in 0..AXIS_ROUNDS {
            for other in &axes {
                let dot: f64 = other.iter().zip(&along).map(|(a, b)| a * b).sum();
                let square: f64 = other.iter().map(|a| a * a).sum();
                along.iter_mut().zip(other).for_each(|(a, b)| *a -= dot / square.max(1e-9) * b);
            }
            let length = along.iter().map(|a| a * a).sum::<f64>().sqrt().max(1e-9);
            along = (0..count).map(|a| (0..count).map(|b| inner(a, b) * along[b]).sum::<f64>() / length).collect();
        }
        // The axis is an eigenvector whose length is now its eigenvalue: its root is that of distances.
        let size = along.iter().map(|a| a * a).sum::<f64>().sqrt().max(1e-9);
        axes.push(along.into_iter().map(|a| a / size.sqrt()).collect());
    }
    (0..count).map(|router| (axes[0][router], axes[1][router])).collect()
}

/// Where all others want a router: each at its distance, the nearer the more.
fn pulled(places: &[Place], router: usize, far: &impl Fn(usize, usize) -> f64) -> Place {
    let (x, y) = places[router];
    let mut sum = (0.0, 0.0);
    let mut weights = 0.0;
    for (other, &(to_x, to_y)) in places.iter().enumerate().filter(|&(other, _)| other != router) {
        let distance = far(router, other);
        let weight = 1.0 / (distance * distance);
        let length = (x - to_x).hypot(y - to_y).max(1e-9);
        sum.0 += weight * (to_x + distance * (x - to_x) / length);
        sum.1 += weight * (to_y + distance * (y - to_y) / length);
        weights += weight;
    }
    if weights > 0.0 { (sum.0 / weights, sum.1 / weights) } else { (x, y) }
}

/// Moves routers that are too near to each other apart, to where their marks do not hide each other: a share of the
/// extent that shrinks with the number of routers.
fn move_apart(places: &mut [Place]) {
    let extent = |of: fn(&Place) -> f64| {
        let (low, high) =
            places.iter().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
        high - low
    };
    let wide = extent(|place| place.0).max(extent(|place| place.1)).max(1e-6);
    let least = 0.3 * wide / (places.len().max(9) as f64).sqrt();
    for _ in 0..ROUNDS {
        let mut moved = false;
        for a in 0..places.len() {
            for b in a + 1..places.len() {
                let (dx, dy) = (places[b].0 - places[a].0, places[b].1 - places[a].1);
                let length = dx.hypot(dy);
                if length >= least {
                    continue;
                }
                moved = true;
                // On one spot, each pair has a direction of its own.
                let turn = (a * 7 + b) as f64;
                let (ux, uy) = if length > 1e-9 * wide { (dx / length, dy / length) } else { (turn.cos(), turn.sin()) };
                let step = 0.5 * (least - length) + 1e-6 * least;
                places[a] = (places[a].0 - step * ux, places[a].1 - step * uy);
                places[b] = (places[b].0 + step * ux, places[b].1 + step * uy);
            }
        }
        if !moved {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distance(a: Place, b: Place) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    /// A grid of five by five comes out as one: neighbours stand near each other, corners far apart.
    #[test]
    fn distances_are_like_links() {
        let mut text = String::new();
        for i in 0..5 {
            for j in 0..5 {
                if j < 4 {
                    text += &format!("r{i}{j} r{i}{} 1\n", j + 1);
                }
                if i < 4 {
                    text += &format!("r{i}{j} r{}{j} 1\n", i + 1);
                }
            }
        }
        let topology = Topology::read(&text).unwrap();
        let places = layout(&topology).unwrap();
        assert_eq!(layout(&topology).unwrap(), places);
        let of = |name: &str| places[topology.find(name).unwrap() as usize];
        for link in topology.graph().edge_indices() {
            let (from, to) = topology.graph().edge_endpoints(link).unwrap();
            let length = distance(places[from.index()], places[to.index()]);
            assert!((0.5..1.6).contains(&length), "{length}");
        }
        assert!(distance(of("r00"), of("r44")) > 4.0 && distance(of("r04"), of("r40")) > 4.0);
    }

    #[test]
    fn coordinates_are_kept() {
        let router = |name: &str, place: &str| format!("[[router]]\nname = \"{name}\"\n{place}\n");
        let text = router("north", "latitude = 60\nlongitude = 10")
            + &router("south", "latitude = 40\nlongitude = 10")
            + &router("east", "latitude = 50\nlongitude = 40")
            + &router("twin", "latitude = 50\nlongitude = 40")
            + &router("lost", "")
            + "[[link]]\nfrom = \"north\"\nto = \"lost\"\n[[link]]\nfrom = \"lost\"\nto = \"south\"\n[[link]]\nfrom = \"east\"\nto = \"twin\"\n";
        let topology = Topology::read(&text).unwrap();
        let places = layout(&topology).unwrap();
        let of = |name: &str| places[topology.find(name).unwrap() as usize];
        assert!(of("north").1 < of("south").1 && of("east").0 > of("north").0);
        assert!((of("lost").1 - -50.0).abs() < 1e-9, "between its neighbours");
        assert!(distance(of("east"), of("twin")) > 0.5, "one does not hide the other");
    }

    #[test]
    fn islands_and_many_routers() {
        let two = Topology::read("a b 1\nc d 1\n").unwrap();
        let places = layout(&two).unwrap();
        assert!(places.iter().all(|place| place.0.is_finite() && place.1.is_finite()));
        let line: String = (0..MOST).map(|i| format!("r{i} r{} 1\n", i + 1)).collect();
        assert_eq!(layout(&Topology::read(&line).unwrap()), None);
    }
}
