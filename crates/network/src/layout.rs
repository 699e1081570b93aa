//! Positions of routers in a drawing: their coordinates if the map has them, else such that distances approximate hops.

use crate::Topology;
use petgraph::graph::NodeIndex;
use std::collections::VecDeque;

/// A position: x to the right and y downwards, in the same unit.
pub type Place = (f64, f64);

/// The most routers that are placed: time grows with their square.
pub const MOST: usize = 2_000;

/// Iterations to find an axis; the exact optimum is not needed.
const AXIS_ROUNDS: usize = 50;
/// Iterations of the majorisation; after them hardly anything moves.
const ROUNDS: usize = 200;

/// A position for every router; `None` for more than [`MOST`]. Deterministic for a given map.
///
/// By latitude and longitude if more than half of the routers have them; those without are placed between their
/// neighbours. Otherwise by stress majorisation, which reduces the sum of (distance on paper − hops)²/hops² over all
/// pairs (Gansner, Koren and North 2004). Routers at the same position are moved apart.
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

/// Longitudes are scaled by the cosine of the mean latitude.
fn by_coordinates(topology: &Topology) -> Vec<Place> {
    let known: Vec<Option<Place>> = topology.graph().node_weights().map(|router| router.place).collect();
    let count = known.iter().flatten().count() as f64;
    let mean = known.iter().flatten().map(|(latitude, _)| latitude).sum::<f64>() / count;
    let narrow = mean.to_radians().cos().max(0.1);
    let mut places: Vec<Option<Place>> =
        known.iter().map(|place| place.map(|(latitude, longitude)| (longitude * narrow, -latitude))).collect();
    let middle = mean_of(places.iter().flatten().copied()).unwrap_or_default();
    // Each round places the routers one link further from those with a known position.
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

/// Hops from one router to every other, ignoring the direction of links; `None` if it cannot be reached.
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
    // Disconnected parts are drawn side by side.
    let far = |a: usize, b: usize| f64::from(hops[a][b].unwrap_or(longest + 1));
    let mut places = scaled(count, &far);
    for _ in 0..ROUNDS {
        for router in 0..count {
            places[router] = pulled(&places, router, &far);
        }
    }
    places
}

/// Initial positions by classical scaling (Torgerson 1952): the two largest principal axes of the doubly centred
/// squared distances, by power iteration.
fn scaled(count: usize, far: &impl Fn(usize, usize) -> f64) -> Vec<Place> {
    let square = |a: usize, b: usize| far(a, b) * far(a, b);
    let n = count as f64;
    let means: Vec<f64> = (0..count).map(|a| (0..count).map(|b| square(a, b)).sum::<f64>() / n).collect();
    let mean = means.iter().sum::<f64>() / n;
    let inner = |a: usize, b: usize| 0.5 * (means[a] + means[b] - mean - square(a, b));
    let mut axes: Vec<Vec<f64>> = Vec::new();
    for axis in 0..2 {
        // A start vector that is unlikely to be orthogonal to any axis.
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
        // The norm is now the eigenvalue, which scales as a squared distance: divide by its root.
        let size = along.iter().map(|a| a * a).sum::<f64>().sqrt().max(1e-9);
        axes.push(along.into_iter().map(|a| a / size.sqrt()).collect());
    }
    (0..count).map(|router| (axes[0][router], axes[1][router])).collect()
}

/// The position where the others pull a router: each to its own distance, weighted more the nearer it is.
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

/// Moves routers apart that are so close that their marks overlap. The least distance is a share of the drawing's
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
                // Pairs at the same position are separated in different directions.
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

    /// A grid of five by five is drawn as one: neighbours are close to each other and corners far apart.
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
