use crate::grid::{Entry, Named};
use crate::value::{Invalid, course, milliseconds, runnable};
use dwell_simulate::queue::{Background, Bursts, Passages, Settings};
use dwell_sketch::conquest::Culprit;
use dwell_types::Nanos;
use serde::Deserialize;

/// One entry of `[[queue.workloads]]`: a preset, or a queue for each background load.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkloadEntry {
    name: String,
    preset: Option<Preset>,
    /// Number of packets that depart.
    packets: u64,
    /// Line rate, in Gb/s; 10 by default.
    rate_gbps: Option<f64>,
    /// Size of the buffer in bytes; unlimited by default.
    buffer_bytes: Option<u64>,
    /// Background loads, as shares of the line rate.
    loads: Option<Vec<f64>>,
    background: Option<BackgroundEntry>,
    bursts: Option<BurstsEntry>,
    /// Time span covered by all snapshots together; 6.4 ms by default.
    span_ms: Option<f64>,
    /// Threshold delay *τ*, from which on packets have culprits; .8 ms by default.
    threshold_ms: Option<f64>,
    /// Share *α* of the queue from which on a flow is a culprit; 1% by default.
    share: Option<f64>,
    /// Also reports the largest queue in each time slice of this many milliseconds; for experiments with actions.
    pub(super) course_ms: Option<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Preset {
    ConquestDataCenter,
    Incast,
}

/// Small flows that send continuously.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct BackgroundEntry {
    /// Number of concurrent flows.
    flows: u32,
    /// How unequal their rates are, from 0 to below 1.
    #[serde(default)]
    skew: f64,
    /// Least number of packets per flow, and the shape of their Pareto distribution.
    flow_packets: (u32, f64),
    /// Least and largest packet length.
    packet_bytes: (u32, u32),
}

/// Large flows that begin at the same time.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstsEntry {
    every_ms: f64,
    senders: u32,
    rate_gbps: f64,
    /// Least and largest number of bytes per flow.
    bytes: (f64, f64),
    /// The shape of their Pareto distribution.
    shape: f64,
    packet_bytes: u32,
}

/// A queue with checked settings, and the definition of culprits.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) name: String,
    pub(super) settings: Settings,
    pub(super) span: Nanos,
    pub(super) culprit: Culprit,
    /// Length in milliseconds of the time slices whose largest queue is reported.
    pub(super) course: Option<f64>,
}

impl Entry for WorkloadEntry {
    type Item = Stream;

    fn items(&self, share: f64) -> Result<Vec<Stream>, Invalid> {
        if self.course_ms.is_some() {
            return Err(Invalid::new("course_ms", "not beside queue.methods: expected control.methods"));
        }
        self.streams(share)
    }
}

impl WorkloadEntry {
    /// The queues, with `share` of their packets.
    pub(super) fn streams(&self, share: f64) -> Result<Vec<Stream>, Invalid> {
        let packets = (self.packets as f64 * share).ceil() as u64;
        runnable("packets", packets as f64)?;
        let culprit =
            Culprit { share: self.share.unwrap_or(0.01), delay: milliseconds(self.threshold_ms.unwrap_or(0.8)) };
        let span = milliseconds(self.span_ms.unwrap_or(6.4));
        // Shorter slices would outnumber the packets.
        let course = course(self.course_ms, 0.001)?;
        let stream = |(name, settings): (String, Settings)| {
            let settings = settings.with_packets(packets);
            Passages::new(&settings, 0).map_err(|problem| Invalid::new("settings", problem))?;
            Ok(Stream { name, settings, span, culprit, course })
        };
        self.settings()?.into_iter().map(stream).collect()
    }

    fn settings(&self) -> Result<Vec<(String, Settings)>, Invalid> {
        if let Some(preset) = self.preset {
            return self.preset(preset).map(|settings| vec![(self.name.clone(), settings)]);
        }
        let Some((background, loads)) = self.background.zip(self.loads.as_deref()) else {
            return Err(Invalid::new("background", "missing: expected a preset, or background and loads"));
        };
        if loads.is_empty() {
            return Err(Invalid::new("loads", "empty: expected at least one"));
        }
        let rate = self.rate_gbps.unwrap_or(10.0) * 1e9;
        let of_load = |&load: &f64| {
            let name = match loads {
                [_] => self.name.clone(),
                _ => format!("{}, load {load}", self.name),
            };
            let settings = Settings {
                rate,
                buffer_bytes: self.buffer_bytes,
                background: background.with_rate(load * rate),
                bursts: self.bursts.map(BurstsEntry::bursts),
                ..Settings::conquest_data_center()
            };
            (name, settings)
        };
        Ok(loads.iter().map(of_load).collect())
    }

    fn preset(&self, preset: Preset) -> Result<Settings, Invalid> {
        let given = [
            ("rate_gbps", self.rate_gbps.is_some()),
            ("buffer_bytes", self.buffer_bytes.is_some()),
            ("loads", self.loads.is_some()),
            ("background", self.background.is_some()),
            ("bursts", self.bursts.is_some()),
        ];
        if let Some((key, _)) = given.into_iter().find(|&(_, is_given)| is_given) {
            return Err(Invalid::new(key, "not beside a preset"));
        }
        Ok(match preset {
            Preset::ConquestDataCenter => Settings::conquest_data_center(),
            Preset::Incast => Settings::incast(),
        })
    }
}

impl BackgroundEntry {
    fn with_rate(self, rate: f64) -> Background {
        let (least, most) = self.packet_bytes;
        Background {
            rate,
            flows: self.flows,
            skew: self.skew,
            flow_packets: self.flow_packets,
            packet_bytes: least..=most,
        }
    }
}

impl BurstsEntry {
    fn bursts(self) -> Bursts {
        Bursts {
            every: milliseconds(self.every_ms),
            senders: self.senders,
            rate: self.rate_gbps * 1e9,
            bytes: self.bytes,
            shape: self.shape,
            packet_bytes: self.packet_bytes,
        }
    }
}

impl Named for Stream {
    fn name(&self) -> &str {
        &self.name
    }
}
