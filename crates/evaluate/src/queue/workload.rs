use crate::grid::Entry;
use crate::value::{
    Invalid, MOST_EVENTS, Pair, SHAPES, above_zero, course, lasting, runnable, some, span, time, whole, within,
};
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
    pub(super) share: Option<f64>,
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
    flow_packets: Pair,
    /// Least and largest packet length.
    packet_bytes: Pair,
}

/// Large flows that begin at the same time.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct BurstsEntry {
    every_ms: f64,
    senders: u32,
    rate_gbps: f64,
    /// Least and largest number of bytes per flow.
    bytes: Pair,
    /// The shape of their Pareto distribution.
    shape: f64,
    packet_bytes: u32,
}

/// A queue with checked settings, and the definition of culprits.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(super) settings: Settings,
    pub(super) span: Nanos,
    pub(super) culprit: Culprit,
    /// Length in milliseconds of the time slices whose largest queue is reported.
    pub(super) course: Option<f64>,
}

impl Entry for WorkloadEntry {
    type Item = (String, Stream);

    fn items(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        if self.course_ms.is_some() {
            return Err(Invalid::new("course_ms", "not beside queue.methods: expected control.methods"));
        }
        self.streams(share)
    }
}

impl WorkloadEntry {
    /// The queues, with `share` of their packets.
    pub(super) fn streams(&self, share: f64) -> Result<Vec<(String, Stream)>, Invalid> {
        let all = whole("packets", self.packets as f64, 1..=MOST_EVENTS)?;
        let culprit = Culprit {
            share: within("share", self.share.unwrap_or(0.01), 0.0..=1.0)?,
            // For longer the exact twin does not remember packets.
            delay: time("threshold_ms", self.threshold_ms.unwrap_or(0.8), 0.0..=1000.0)?,
        };
        let span = span("span_ms", self.span_ms.unwrap_or(6.4))?;
        let stream = |(name, settings): (String, Settings)| {
            let settings = settings.with_packets((all as f64 * share).ceil() as u64);
            Passages::new(&settings, 0).map_err(|problem| Invalid::new("settings", problem))?;
            let seconds = seconds(all, &settings);
            lasting("packets", seconds)?;
            // Of a queue that overflows, few of the packets depart.
            runnable("packets", all as f64 * (settings.arrival_rate() / settings.rate).max(1.0))?;
            // Shorter slices would outnumber the packets.
            let course = course(self.course_ms, 0.001, seconds)?;
            Ok((name, Stream { settings, span, culprit, course }))
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
        some("loads", loads)?;
        let rate = gbps(self.rate_gbps.unwrap_or(10.0))?;
        self.buffer_bytes.map(|bytes| whole("buffer_bytes", bytes as f64, 1..=MOST_BYTES)).transpose()?;
        let bursts = self.bursts.map(BurstsEntry::bursts).transpose().map_err(|error| error.within("bursts"))?;
        let of_load = |&load: &f64| {
            let load = above_zero("loads", load, 1e3)?;
            let name = match loads {
                [_] => self.name.clone(),
                _ => format!("{}, load {load}", self.name),
            };
            let settings = Settings {
                rate,
                buffer_bytes: self.buffer_bytes,
                background: background.with_rate(load * rate).map_err(|error| error.within("background"))?,
                bursts: bursts.clone(),
                ..Settings::conquest_data_center()
            };
            Ok((name, settings))
        };
        loads.iter().map(of_load).collect()
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

/// The most bytes of a buffer or of a flow.
const MOST_BYTES: u64 = 1 << 40;

/// A rate in bits per second: from 1 kb/s to 10 Tb/s.
fn gbps(rate: f64) -> Result<f64, Invalid> {
    Ok(within("rate_gbps", rate, 1e-6..=1e4)? * 1e9)
}

/// The bytes of a packet.
fn packet(bytes: f64) -> Result<u32, Invalid> {
    Ok(whole("packet_bytes", bytes, 1..=65_535)? as u32)
}

/// How long this many packets take to arrive, without bursts.
fn seconds(packets: u64, settings: &Settings) -> f64 {
    let Background { rate, packet_bytes, .. } = &settings.background;
    packets as f64 * 4.0 * f64::from(packet_bytes.start() + packet_bytes.end()) / rate
}

impl BackgroundEntry {
    fn with_rate(self, rate: f64) -> Result<Background, Invalid> {
        let (Pair([packets, shape]), Pair([least, most])) = (self.flow_packets, self.packet_bytes);
        Ok(Background {
            rate,
            flows: whole("flows", self.flows.into(), 1..=1 << 24)? as u32,
            skew: within("skew", self.skew, 0.0..1.0)?,
            flow_packets: (
                whole("flow_packets", packets, 1..=u32::MAX.into())? as u32,
                within("flow_packets", shape, SHAPES)?,
            ),
            packet_bytes: packet(least)?..=packet(most)?,
        })
    }
}

impl BurstsEntry {
    fn bursts(self) -> Result<Bursts, Invalid> {
        let Pair([least, most]) = self.bytes;
        let bytes = |bytes| within("bytes", bytes, 1.0..=MOST_BYTES as f64);
        Ok(Bursts {
            every: span("every_ms", self.every_ms)?,
            senders: whole("senders", self.senders.into(), 1..=1 << 16)? as u32,
            rate: gbps(self.rate_gbps)?,
            bytes: (bytes(least)?, bytes(most)?),
            shape: within("shape", self.shape, SHAPES)?,
            packet_bytes: packet(self.packet_bytes.into())?,
        })
    }
}
