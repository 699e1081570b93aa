//! A network whose links are measured, and one of them at fault.

use dwell_network::Topology;
use dwell_network::localize::{Delay, Localization, Reading, Readings, Routes, Settings as Judged};
use dwell_network::paths::{Mode, Paths};
use dwell_network::segments::Segments;
use dwell_simulate::network::{Fault, Network, Passage, Settings};
use dwell_sketch::lda::{Bank, CellSize, Lda, Params};

/// Intervals before the fault.
pub(crate) const BASELINE: usize = 20;
/// The network-wide rate of false alarms per interval that is asked for.
pub(crate) const RATE: f64 = 0.01;
/// Probes per path and interval where only ends are measured.
const PROBES: u32 = 100;

/// A map whose routers all measure.
pub(crate) struct Bed {
    pub(crate) topology: Topology,
    pub(crate) routes: Routes,
    pub(crate) all: Vec<usize>,
    /// By path, its links: every segment is one.
    pub(crate) links: Vec<Vec<u32>>,
    pub(crate) settings: Settings,
    sketch: Lda,
}

/// What was measured of one run of the network.
pub(crate) struct Run {
    pub(crate) readings: Vec<(u32, Reading)>,
    /// By interval, the mean delay in ns of each path.
    pub(crate) ends: Vec<Vec<f64>>,
}

impl Bed {
    /// The ladder with all routers instrumented; `settings` makes so many links.
    pub(crate) fn new(settings: fn(u32) -> Settings) -> Self {
        let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/net/ladder.toml");
        let topology = Topology::read(&std::fs::read_to_string(map).unwrap()).unwrap();
        let paths = Paths::all(&topology, Mode::EqualCost, Paths::MOST).unwrap();
        let mut segments = Segments::new(paths.clone(), topology.routers());
        (0..topology.routers() as u32).for_each(|router| segments.cut(router));
        let routes = Routes::new(&paths, &segments);
        let settings = settings(routes.segments() as u32);
        Self {
            all: (0..routes.paths()).collect(),
            links: (0..routes.paths()).map(|path| routes.path(path).to_vec()).collect(),
            sketch: Lda::new(Params {
                banks: vec![Bank { rows: 256, probability: 1.0 }],
                cell: CellSize::Bits72,
                seed: 0,
            })
            .unwrap(),
            topology,
            routes,
            settings,
        }
    }

    /// Measures so many intervals by aggregators on all links, and the paths from end to end besides if asked.
    pub(crate) fn run(&self, fault: Option<Fault>, intervals: usize, seed: u64, with_ends: bool) -> Run {
        let mut network = Network::new(&self.settings, fault, seed).unwrap();
        let mut run = Run { readings: Vec::new(), ends: Vec::new() };
        let mut points = [self.sketch.clone(), self.sketch.clone()];
        for interval in 0..intervals {
            network.advance();
            let start_ns = interval as i64 * self.settings.interval.get();
            for link in 0..self.links() as u32 {
                run.readings.push((link, aggregate(&mut points, network.passages(link), start_ns)));
            }
            if with_ends {
                run.ends.push(self.links.iter().map(|path| probe(&mut network, path)).collect());
            }
        }
        run
    }

    pub(crate) fn links(&self) -> usize {
        self.settings.links.len()
    }

    pub(crate) fn localize(&self, readings: &[(u32, Reading)], paths: &[usize]) -> Localization {
        let readings = Readings::new(self.links(), readings, 1).unwrap();
        Localization::new(&self.routes, &readings, paths, &Judged { baseline: BASELINE, false_alarms: RATE })
    }
}

/// By link, the standard deviation of the interval means in ns of a sound network, over 400 intervals: right to 4%.
pub(crate) fn spreads(settings: &Settings) -> Vec<f64> {
    let intervals = 400;
    let mut network = Network::new(settings, None, 0xca11).unwrap();
    let mut sums = vec![(0.0, 0.0); settings.links.len()];
    for _ in 0..intervals {
        network.advance();
        for (link, (sum, squares)) in (0..).zip(&mut sums) {
            let delays = network.passages(link).iter().filter_map(|passage| Some(passage.delay?.get() as f64));
            let (n, total) = delays.fold((0.0, 0.0), |(n, total), delay| (n + 1.0, total + delay));
            *sum += total / n;
            *squares += (total / n) * (total / n);
        }
    }
    let n = f64::from(intervals);
    sums.iter().map(|(sum, squares)| ((squares - sum * sum / n) / (n - 1.0)).sqrt()).collect()
}

/// What the aggregators at both ends of a link say about an interval.
fn aggregate(points: &mut [Lda; 2], passages: &[Passage], start_ns: i64) -> Reading {
    let [sender, receiver] = points;
    sender.reset();
    receiver.reset();
    sender.update_all(passages.iter().map(|passage| (passage.packet, passage.at)));
    receiver.update_all(passages.iter().filter_map(|passage| Some((passage.packet, passage.at + passage.delay?))));
    let answer = receiver.since(sender).unwrap();
    let delay = answer.delays.map(|m| Delay { samples: m.packets, mean_ns: m.mean_ns, std_ns: m.std_ns });
    Reading { start_ns, received: answer.received, lost: answer.lost().unwrap(), delay }
}

/// The mean delay of probes from end to end.
fn probe(network: &mut Network, path: &[u32]) -> f64 {
    let delays: Vec<f64> = (0..PROBES).filter_map(|_| Some(network.probe(path)?.get() as f64)).collect();
    delays.iter().sum::<f64>() / delays.len() as f64
}
