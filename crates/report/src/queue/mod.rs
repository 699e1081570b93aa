//! The report of `dwell queue` as data: the schema `dwell.queue/1` of `docs/formats/dwell.queue.md`.

use crate::facts::{Frames, Memory, MethodFacts, Span};
use dwell_sketch::conquest::Unit;
use dwell_sketch::queue::{self, FlowInQueue, Pair, Scores, Stretch};
use serde::Serialize;

// Output formats.
pub mod csv;
pub mod table;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.queue/1";

/// The report of one run.
#[derive(Clone, Debug, Serialize)]
pub struct QueueReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// The captures where packets arrive, then the one where they depart; or the log of sojourns. As given on the
    /// command line.
    pub sources: Vec<String>,
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// First and last timestamp of all sources; `null` if there were none.
    pub span_ns: Option<Span>,
    /// Frames of all captures, by fate; `null` without packets (`--sojourns`).
    pub frames: Option<Frames>,
    /// Packets, by fate.
    pub packets: Packets,
    /// Memory limit and use.
    pub memory: Memory,
    /// The method and its parameters.
    pub method: MethodFacts,
    /// The longest delay; `null` if none is known.
    pub longest_delay_ns: Option<i64>,
    /// The largest queue that a packet found on arrival.
    #[serde(flatten)]
    pub peak_queue: Depth,
    /// Accuracy of the snapshots compared with the exact queue; `null` unless requested.
    pub against_exact: Option<AgainstExact>,
    /// Periods of congestion, in order.
    pub episodes: Vec<Episode>,
    /// The queue over time, for a plot.
    #[serde(skip)]
    pub timeline: Vec<Stretch>,
    /// Actual and estimated sizes of flows, for a plot.
    #[serde(skip)]
    pub pairs: Vec<Pair>,
    /// The unit of queue lengths.
    #[serde(skip)]
    pub unit: Unit,
}

/// Packets by fate: `departed = matched + unknown`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Packets {
    /// Packets that departed.
    pub departed: u64,
    /// Packets whose arrival was seen.
    pub matched: u64,
    /// Packets whose arrival is not known: part of the queue, but without a delay.
    pub unknown: u64,
    /// Those of them that departed while several equal ones were waiting.
    pub ambiguous: u64,
    /// Packets that departed before they arrived.
    pub backwards: u64,
    /// Packets that found a queue that is only partly known.
    pub incomplete: u64,
    /// Packets that departed after more than `--longest`: with captures among the `unknown`, from a log among the
    /// `incomplete`.
    pub overlong: u64,
    /// Packets with an earlier departure time than the packet before them: counted as if at the same time.
    pub late: u64,
    /// Packets of a direction that is not measured.
    pub elsewhere: u64,
    /// Arriving packets, by fate; `null` without captures.
    pub arrivals: Option<Arrivals>,
}

/// Arriving packets by fate: `seen = matched + backwards + evicted + expired + repeated + waiting`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Arrivals {
    /// Packets seen to arrive.
    pub seen: u64,
    /// Packets then seen to depart.
    pub matched: u64,
    /// Packets that had been seen to depart before.
    pub backwards: u64,
    /// Packets evicted for lack of memory.
    pub evicted: u64,
    /// Packets that did not depart within `--longest`.
    pub expired: u64,
    /// Packets that equal others that were waiting, and of which it is not known when they departed.
    pub repeated: u64,
    /// Packets that had neither departed nor expired at the end.
    pub waiting: u64,
}

/// Length of a queue in bytes or packets, whichever is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Depth {
    /// In bytes; `null` with `--unit packets`.
    pub peak_queue_bytes: Option<u64>,
    /// In packets; `null` with `--unit bytes`.
    pub peak_queue_packets: Option<u64>,
}

impl Depth {
    /// A queue length in the given unit.
    pub fn new(depth: u64, unit: Unit) -> Self {
        match unit {
            Unit::Bytes => Self { peak_queue_bytes: Some(depth), peak_queue_packets: None },
            Unit::Packets => Self { peak_queue_bytes: None, peak_queue_packets: Some(depth) },
        }
    }
}

/// Accuracy of snapshots, over the packets that waited at least `--threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgainstExact {
    /// Number of packets compared.
    pub packets: u64,
    /// Number of packets not compared, which waited for longer than `--longest`.
    pub unknown: u64,
    /// Share of the packets attributed to culprits that are theirs; `null` if there are none.
    pub precision: Option<f64>,
    /// Share of the culprits' packets that were attributed to them; `null` if there are none.
    pub recall: Option<f64>,
    /// Mean error of the size of a packet's flow in the queue, in bytes or packets; `null` without packets.
    pub mean_error: Option<f64>,
}

impl From<Scores> for AgainstExact {
    fn from(scores: Scores) -> Self {
        Self {
            packets: scores.packets,
            unknown: scores.unknown,
            precision: scores.precision(),
            recall: scores.recall(),
            mean_error: scores.mean_error(),
        }
    }
}

/// A period of congestion.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Episode {
    /// First departure of a packet that waited at least `--threshold`, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Last such departure.
    pub end_ns: i64,
    /// The longest delay.
    pub peak_delay_ns: i64,
    /// The mean delay of the packets that departed during the episode.
    pub mean_delay_ns: f64,
    /// Number of these packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of them are culprits.
    pub culprit_packets: u64,
    /// The largest queue that one of them found on arrival.
    #[serde(flatten)]
    pub peak_queue: Depth,
    /// Number of flows that departed during the episode, and quantiles of their bytes; `null` if they were too many.
    pub flow_bytes: Option<FlowBytes>,
    /// The culprit flows, those with the most bytes first.
    pub culprits: Vec<Culprit>,
}

/// Sizes of flows in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowBytes {
    /// Number of flows.
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

/// A flow that took more than its allowed share of the queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// Its name.
    pub flow: String,
    /// Its share of the bytes that departed during the episode.
    pub share: f64,
    /// Its bytes.
    pub bytes: u64,
    /// Lower bound on its bytes.
    pub low: u64,
    /// Upper bound on its bytes: other flows may have been counted with it if not all of them had a place.
    pub high: u64,
    /// Number of its packets that are culprits.
    pub packets: u64,
    /// The largest share of the queue that it had.
    pub peak_share: f64,
}

impl Episode {
    /// From a measured episode; queue lengths are in `unit`.
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
