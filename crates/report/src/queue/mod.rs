//! What `dwell queue` answers, before it takes a form: the schema `dwell.queue/1` of `docs/formats/dwell.queue.md`.

use crate::facts::{Frames, Memory, Method, Span};
use dwell_sketch::conquest::Unit;
use dwell_sketch::queue::{self, FlowInQueue, Pair, Scores, Stretch};
use serde::Serialize;

// The forms.
pub mod csv;
pub mod table;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.queue/1";

/// The answer of one run.
#[derive(Clone, Debug, Serialize)]
pub struct QueueReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The taps where packets arrive and the one where they depart, or the log of sojourns, as given on the command
    /// line.
    pub sources: Vec<String>,
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// First and last timestamp of all sources; `null` if nothing had one.
    pub span_ns: Option<Span>,
    /// What became of the frames of all taps; `null` without packets (`--sojourns`).
    pub frames: Option<Frames>,
    /// What became of the packets.
    pub packets: Packets,
    /// What was promised, and what was used.
    pub memory: Memory,
    /// How the answer was found.
    pub method: Method,
    /// The longest delay; `null` where none is known.
    pub longest_delay_ns: Option<i64>,
    /// The largest queue that a packet found.
    #[serde(flatten)]
    pub peak_queue: Depth,
    /// Snapshots beside what truly departed; `null` unless asked for.
    pub against_exact: Option<AgainstExact>,
    /// Stretches of congestion, in order.
    pub episodes: Vec<Episode>,
    /// The queue over time, for a plot.
    #[serde(skip)]
    pub timeline: Vec<Stretch>,
    /// Sizes as they were and as estimated, for a plot.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
    /// What a queue is counted in.
    #[serde(skip)]
    pub unit: Unit,
}

/// What became of the packets: `departed = matched + unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Packets that departed.
    pub departed: u64,
    /// Those whose arrival was seen.
    pub matched: u64,
    /// Those whose arrival was not seen: part of the queue, without a delay.
    pub unknown: u64,
    /// Packets that departed before they arrived.
    pub backwards: u64,
    /// Packets whose queue is not known in full.
    pub incomplete: u64,
    /// Packets that departed before the packet before them: counted as if at the same time.
    pub late: u64,
    /// Packets of another direction.
    pub elsewhere: u64,
    /// What became of the packets that arrived; `null` without taps.
    pub arrivals: Option<Arrivals>,
}

/// What became of the packets that arrived: `seen = matched + backwards + evicted + expired + repeated + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arrivals {
    /// Packets that were seen to arrive.
    pub seen: u64,
    /// And then to depart.
    pub matched: u64,
    /// And had been seen to depart before.
    pub backwards: u64,
    /// Lost for want of memory.
    pub evicted: u64,
    /// Not seen to depart within `--longest`.
    pub expired: u64,
    /// An equal one waited.
    pub repeated: u64,
    /// Neither departed nor expired at the end.
    pub waiting: u64,
}

/// A number of bytes, or of packets where these are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// In bytes; `null` with `--unit packets`.
    pub peak_queue_bytes: Option<u64>,
    /// In packets; `null` with `--unit bytes`.
    pub peak_queue_packets: Option<u64>,
}

impl Depth {
    /// A depth in the unit that is counted.
    pub fn new(depth: u64, unit: Unit) -> Self {
        match unit {
            Unit::Bytes => Self { peak_queue_bytes: Some(depth), peak_queue_packets: None },
            Unit::Packets => Self { peak_queue_bytes: None, peak_queue_packets: Some(depth) },
        }
    }
}

/// How good the answers of snapshots were, for the packets that waited for `--threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgainstExact {
    /// Packets that were compared.
    pub packets: u64,
    /// Of the packets that snapshots took for culprits', the share that were; `null` without any.
    pub precision: Option<f64>,
    /// Of the packets of culprits, the share that snapshots found; `null` without any.
    pub recall: Option<f64>,
    /// Mean error of the size of a packet's flow in the queue, in bytes or packets; `null` without packets.
    pub mean_error: Option<f64>,
}

impl From<Scores> for AgainstExact {
    fn from(scores: Scores) -> Self {
        Self {
            packets: scores.packets,
            precision: scores.precision(),
            recall: scores.recall(),
            mean_error: scores.mean_error(),
        }
    }
}

/// A stretch of congestion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// The first departure of a packet that waited for `--threshold`, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// The last one.
    pub end_ns: i64,
    /// The longest delay.
    pub peak_delay_ns: i64,
    /// The mean delay of the packets that departed meanwhile.
    pub mean_delay_ns: f64,
    /// These packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those of them that are of culprits.
    pub culprit_packets: u64,
    /// The largest queue that one of them found.
    #[serde(flatten)]
    pub peak_queue: Depth,
    /// How many flows departed meanwhile, and quantiles of their bytes; `null` where there were too many to know.
    pub flow_bytes: Option<FlowBytes>,
    /// The flows of culprits, those with the most bytes first.
    pub culprits: Vec<Culprit>,
}

/// Sizes of flows in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowBytes {
    /// Flows.
    pub flows: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Largest.
    pub max: u64,
}

/// A flow that took more than its share of the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// Its name.
    pub flow: String,
    /// Its share of the bytes that departed while the episode lasted.
    pub share: f64,
    /// Its bytes.
    pub bytes: u64,
    /// At least.
    pub low: u64,
    /// At most: other flows may have been counted with it, where not all found room.
    pub high: u64,
    /// Its packets that are culprits.
    pub packets: u64,
    /// The largest share of the queue that it had.
    pub peak_share: f64,
}

impl Episode {
    /// From what was measured; queues in this unit.
    pub fn new(episode: &queue::Episode, unit: Unit) -> Self {
        let bytes = episode.bytes;
        Self {
            start_ns: episode.start.as_nanos(),
            end_ns: episode.end.as_nanos(),
            peak_delay_ns: episode.peak_delay.get(),
            mean_delay_ns: episode.mean_delay,
            packets: episode.packets,
            bytes,
            culprit_packets: episode.culprit_packets,
            peak_queue: Depth::new(episode.deepest, unit),
            flow_bytes: episode.sizes.map(|sizes| FlowBytes {
                flows: sizes.flows,
                p50: sizes.p50,
                p90: sizes.p90,
                p99: sizes.p99,
                max: sizes.max,
            }),
            culprits: episode.culprits.iter().map(|flow| Culprit::new(flow, bytes)).collect(),
        }
    }
}

impl Culprit {
    fn new(flow: &FlowInQueue, bytes: u64) -> Self {
        Self {
            flow: flow.name.clone(),
            share: flow.bytes as f64 / bytes.max(1) as f64,
            bytes: flow.bytes,
            low: flow.bytes,
            high: flow.most_bytes,
            packets: flow.culprit_packets,
            peak_share: flow.peak_share,
        }
    }
}
