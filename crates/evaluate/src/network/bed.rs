use crate::experiment::Problem;
use dwell_network::Topology;
use dwell_network::localize::{Delay, Reading, Routes};
use dwell_network::paths::{Mode, Paths};
use dwell_network::segments::Segments;
use dwell_simulate::network::{Fault, Network, Passage, Settings};
use dwell_sketch::lda::{Bank, CellSize, Lda, Params};
use std::sync::OnceLock;

/// Intervals before a fault.
pub(super) const BASELINE: usize = 20;
/// Probes per path and interval, for methods that measure whole paths.
const PROBES: u32 = 100;

/// A network whose routers are all instrumented, so that every link is a segment.
#[derive(Debug)]
pub(super) struct Bed {
    pub(super) routes: Routes,
    pub(super) settings: Settings,
    sketch: Lda,
    deviations: OnceLock<Vec<Option<f64>>>,
}

/// The measurements of one run of the network.
pub(super) struct Run {
    /// By interval, then by link.
    pub(super) readings: Vec<(u32, Reading)>,
    /// By interval, then by path.
    pub(super) ends: Vec<Vec<Ends>>,
}

/// What end-to-end probes measure on a path in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ends {
    /// Mean delay in ns of the probes that arrived.
    pub(super) mean_ns: Option<f64>,
    /// −ln of the share that arrived, which adds up over the links of a path.
    pub(super) decay: f64,
}

impl Bed {
    /// One shortest path per pair of routers; `settings` gives the settings for a number of links.
    pub(super) fn new(topology: &Topology, settings: impl Fn(u32) -> Settings) -> Result<Self, Problem> {
        let paths = Paths::all(topology, Mode::Single, Paths::MOST)?;
        let mut segments = Segments::new(paths, topology.routers());
        (0..topology.routers() as u32).for_each(|router| segments.cut(router));
        let routes = Routes::new(&segments);
        let settings = settings(routes.segments() as u32);
        Network::new(&settings, &[], 0)?;
        let params = Params { banks: vec![Bank { rows: 256, probability: 1.0 }], cell: CellSize::Bits72, seed: 0 };
        let sketch = Lda::new(params)?;
        Ok(Self { routes, settings, sketch, deviations: OnceLock::new() })
    }

    /// The standard deviation of a link's interval means in ns without a fault, from 400 intervals: accurate to 4%. `None` if
    /// hardly any interval has a packet.
    pub(super) fn deviation(&self, link: u32) -> Option<f64> {
        self.deviations.get_or_init(|| deviations(&self.settings)).get(link as usize).copied().flatten()
    }

    /// Measures this many intervals by aggregators on all links, and with `with_ends` also by end-to-end probes.
    pub(super) fn run(&self, faults: &[Fault], intervals: usize, seed: u64, with_ends: bool) -> Result<Run, Problem> {
        let mut network = Network::new(&self.settings, faults, seed)?;
        let mut run = Run { readings: Vec::new(), ends: Vec::new() };
        let mut points = [self.sketch.clone(), self.sketch.clone()];
        for interval in 0..intervals {
            network.advance();
            let start_ns = interval as i64 * self.settings.interval.get();
            for link in 0..self.routes.segments() as u32 {
                run.readings.push((link, aggregate(&mut points, network.passages(link), start_ns)?));
            }
            if with_ends {
                let paths = 0..self.routes.paths();
                run.ends.push(paths.map(|path| probe(&mut network, self.routes.path(path))).collect());
            }
        }
        Ok(run)
    }
}

fn deviations(settings: &Settings) -> Vec<Option<f64>> {
    const INTERVALS: u32 = 400;
    let Ok(mut network) = Network::new(settings, &[], 0xca11) else { return Vec::new() };
    let mut sums = vec![(0.0, 0.0, 0.0); settings.links.len()];
    for _ in 0..INTERVALS {
        network.advance();
        for (link, (measured, sum, squares)) in (0..).zip(&mut sums) {
            let delays = network.passages(link).iter().filter_map(|passage| Some(passage.delay?.get() as f64));
            let (n, total) = delays.fold((0.0, 0.0), |(n, total), delay| (n + 1.0, total + delay));
            if n > 0.0 {
                *measured += 1.0;
                *sum += total / n;
                *squares += (total / n) * (total / n);
            }
        }
    }
    let deviation = |&(n, sum, squares): &(f64, f64, f64)| {
        (n > 1.0).then(|| ((squares - sum * sum / n) / (n - 1.0)).max(0.0).sqrt())
    };
    sums.iter().map(deviation).collect()
}

/// The reading of an interval from the aggregators at both ends of a link.
fn aggregate(points: &mut [Lda; 2], passages: &[Passage], start_ns: i64) -> Result<Reading, Problem> {
    let [sender, receiver] = points;
    sender.reset();
    receiver.reset();
    sender.update_all(passages.iter().map(|passage| (passage.packet, passage.at)));
    receiver.update_all(passages.iter().filter_map(|passage| Some((passage.packet, passage.at + passage.delay?))));
    let answer = receiver.since(sender)?;
    let delay = answer.delays.map(|m| Delay { samples: m.packets, mean_ns: m.mean_ns, std_ns: m.std_ns });
    Ok(Reading { start_ns, received: answer.received, lost: answer.lost().unwrap_or(0), delay })
}

/// Half a probe is added to those that arrived and one to those sent, so that the share is never zero.
fn probe(network: &mut Network, path: &[u32]) -> Ends {
    let delays: Vec<f64> = (0..PROBES).filter_map(|_| Some(network.probe(path)?.get() as f64)).collect();
    let arrived = delays.len() as f64;
    Ends {
        mean_ns: (arrived > 0.0).then(|| delays.iter().sum::<f64>() / arrived),
        decay: -((arrived + 0.5) / (f64::from(PROBES) + 1.0)).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::workload::Wrong;
    use dwell_simulate::network::LinkSettings;
    use dwell_types::Nanos;

    /// Links of 50 Mb/s, with intervals of a second.
    fn slow_links(links: u32) -> Settings {
        let backbone = Settings::backbone(links);
        let links = backbone.links.iter().map(|&link| LinkSettings { rate: 50e6, ..link }).collect();
        Settings { links, interval: Nanos::new(1_000_000_000), ..backbone }
    }

    /// `testdata/net/ladder-slow.csv` holds aggregator readings of 24 seconds; in the last four the link from b3 to b4
    /// is slower by four standard deviations of its one-second means. `DWELL_UPDATE_SNAPSHOTS=1` writes it.
    #[test]
    fn the_committed_measurements_can_be_made_again() {
        let testdata = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/net");
        let map = std::fs::read_to_string(format!("{testdata}/ladder.toml")).unwrap();
        let topology = Topology::read(&map).unwrap();
        let bed = Bed::new(&topology, slow_links).unwrap();
        let [b3, b4] = ["b3", "b4"].map(|name| topology.find(name).unwrap());
        let link = bed.routes.find(&[b3, b4]).unwrap();
        let harm = Wrong::Slow(4.0).harm(bed.deviation(link).unwrap());
        let run = bed.run(&[Fault { link, from: BASELINE as u32, harm }], BASELINE + 4, 1, false).unwrap();
        let mut text = "from,to,via,start_ns,received,lost,effective_samples,mean_ns,std_ns\n".to_owned();
        for (link, reading) in run.readings {
            let [from, to] = [0, 1].map(|end| topology.name(bed.routes.routers(link)[end]));
            let (start_ns, delay) = (1_795_338_000_000_000_000 + reading.start_ns, reading.delay.unwrap());
            let (samples, mean, std) = (delay.samples, delay.mean_ns.round(), delay.std_ns.round());
            text += &format!("{from},{to},,{start_ns},{},{},{samples},{mean},{std}\n", reading.received, reading.lost);
        }
        let file = format!("{testdata}/ladder-slow.csv");
        if std::env::var_os("DWELL_UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        assert!(std::fs::read_to_string(&file).unwrap() == text, "{file} is not what is simulated");
    }
}
