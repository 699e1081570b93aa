//! `dwell simulate --network`: measurements of all segments of a network, interval by interval.

use super::sides::START;
use crate::messages;
use crate::net::{ChosenArguments, Map, RoutingArguments, route};
use crate::output::Output;
use crate::{Failure, units};
use clap::{ArgGroup, Args};
use dwell_report::csv::Rows;
use dwell_report::net::Route;
use dwell_report::text::of;
use dwell_simulate::network::{Fault, Harm, LinkSettings, Network, Settings};
use dwell_types::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args)]
#[command(group = ArgGroup::new("fault").args(["slow", "lossy"]).multiple(true))]
pub(super) struct NetworkArguments {
    /// Write measurements of every segment of this map, as dwell net paths cuts it, for every second. Links carry cross
    /// traffic at 50 Mbit/s, at loads from 10% to 60% that vary by a twentieth, with propagation delays of 50 us to 5 ms;
    /// one packet in 10,000 is lost. On a segment of one link a quarter of its packets is measured, on longer ones 1,000
    /// probes per interval, whose queues are independent.
    #[arg(long, value_name = "TOPOLOGY", conflicts_with = "way")]
    network: Option<PathBuf>,
    #[command(flatten)]
    routing: RoutingArguments,
    #[command(flatten)]
    chosen: ChosenArguments,
    /// Number of intervals of one second.
    #[arg(long, value_name = "N", value_parser = units::between::<u32>(1..=1_000_000), default_value_t = 40)]
    intervals: u32,
    /// Every packet from router A to its neighbour B takes longer by this; repeatable.
    #[arg(long, value_name = "A,B=TIME")]
    slow: Vec<String>,
    /// This share of the packets from router A to its neighbour B is lost in addition; repeatable.
    #[arg(long, value_name = "A,B=SHARE")]
    lossy: Vec<String>,
    /// Number of intervals before --slow and --lossy begin.
    #[arg(long, value_name = "N", value_parser = units::whole_u32, default_value_t = 20, requires = "fault")]
    since: u32,
}

impl NetworkArguments {
    pub(super) fn map(&self) -> Option<&PathBuf> {
        self.network.as_ref()
    }

    fn faults(&self, map: &Map, links: &Links) -> Result<Vec<Fault>, Failure> {
        let slow =
            |text: &String| links.fault(map, "--slow", "A,B=TIME", text, |time| units::span(time).map(Harm::Slow));
        let lossy = |text: &String| {
            links.fault(map, "--lossy", "A,B=SHARE", text, |share| units::share(share).map(Harm::Lossy))
        };
        let harms: Vec<(u32, Harm)> =
            self.slow.iter().map(slow).chain(self.lossy.iter().map(lossy)).collect::<Result<_, _>>()?;
        if !harms.is_empty() && self.since >= self.intervals {
            let (since, intervals) = (self.since, self.intervals);
            return Err(Failure::usage(format!("--since {since}: expected fewer than all intervals, {intervals}")));
        }
        Ok(harms.into_iter().map(|(link, harm)| Fault { link, from: self.since, harm }).collect())
    }
}

/// The links of a map and their numbers in the simulation.
struct Links(BTreeMap<(u32, u32), u32>);

impl Links {
    fn of(map: &Map) -> Self {
        let links: BTreeSet<_> = map.topology.ends().collect();
        Self(links.into_iter().zip(0..).collect())
    }

    /// The links along these routers.
    fn along(&self, routers: &[u32]) -> Vec<u32> {
        routers.windows(2).filter_map(|ends| self.0.get(&(ends[0], ends[1])).copied()).collect()
    }

    /// Parses the text of a fault, which has this form.
    fn fault(
        &self,
        map: &Map,
        flag: &str,
        form: &str,
        text: &str,
        harm: impl Fn(&str) -> Result<Harm, String>,
    ) -> Result<(u32, Harm), Failure> {
        let usage = |words: String| Failure::usage(format!("{flag} {text}: {words}"));
        let (ends, value) = text.rsplit_once('=').ok_or_else(|| usage(format!("expected {form}")))?;
        let harm = harm(value.trim()).map_err(usage)?;
        let [from, to] = map.routers(flag, ends)?[..] else {
            return Err(usage("expected two routers, separated by a comma".to_owned()));
        };
        let link = self.0.get(&(from, to)).ok_or_else(|| usage("no link from the first to the second".to_owned()))?;
        Ok((*link, harm))
    }
}

/// A segment: its name, and its links.
struct Segment {
    name: Route,
    links: Vec<u32>,
}

impl Segment {
    /// The delays of what is measured on it in the last interval; `None` for a packet that is lost.
    fn delays(&self, network: &mut Network) -> Vec<Option<Nanos>> {
        const PROBES: usize = 1_000;
        match self.links[..] {
            [link] => network.passages(link).iter().map(|passage| passage.delay).collect(),
            _ => (0..PROBES).map(|_| network.probe(&self.links)).collect(),
        }
    }
}

/// Writes measurements of every segment of a map.
pub(super) fn run(arguments: &super::Arguments, map: &Path, write: &Path) -> Result<ExitCode, Failure> {
    const COLUMNS: [&str; 9] =
        ["from", "to", "via", "start_ns", "received", "lost", "effective_samples", "mean_ns", "std_ns"];
    const INTERVAL: Nanos = Nanos::from_secs(1);
    let asked = &arguments.network;
    let map = Map::read(map, &asked.routing)?;
    let (segments, _) = map.instrument(&asked.chosen);
    let links = Links::of(&map);
    let faults = asked.faults(&map, &links)?;
    let backbone = Settings::backbone(links.0.len() as u32);
    let slower = backbone.links.iter().map(|&link| LinkSettings { rate: 50e6, ..link }).collect();
    let settings = Settings { links: slower, interval: INTERVAL, ..backbone };
    let mut network = Network::new(&settings, &faults, arguments.seed()).map_err(Failure::usage)?;
    let segment = |routers: &[u32]| Segment { name: route(&map.topology, routers), links: links.along(routers) };
    let segments: Vec<Segment> = segments.iter().map(segment).collect();

    messages::warn(map.warnings());
    let mut rows = Rows::new(Output::file(write)?, COLUMNS)?;
    for interval in 0..asked.intervals {
        network.advance();
        let start = START + Nanos::new(i64::from(interval) * INTERVAL.get());
        for segment in &segments {
            let delays = segment.delays(&mut network);
            let arrived: Vec<f64> = delays.iter().flatten().map(|delay| delay.get() as f64).collect();
            let (received, lost) = (arrived.len(), delays.len() - arrived.len());
            let (mean, std) = moments(&arrived).unzip();
            let Route { from, to, via, .. } = &segment.name;
            rows.write(&(from, to, via.join(" "), start.as_nanos(), received, lost, received, mean, std))?;
        }
    }
    rows.finish()?.finish()?;
    let (intervals, segments) = (of(asked.intervals.into(), "interval"), of(segments.len() as u64, "segment"));
    messages::say(&format!("{intervals} of {segments}"));
    Ok(ExitCode::SUCCESS)
}

/// Mean and standard deviation, in whole nanoseconds; `None` without values.
fn moments(values: &[f64]) -> Option<(i64, i64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (!values.is_empty()).then(|| (mean.round() as i64, (squares / (n - 1.0).max(1.0)).sqrt().round() as i64))
}
