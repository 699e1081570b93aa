//! What `dwell owd` answers, before it takes a form: the schema `dwell.owd/1` of `docs/formats/dwell.owd.md`.

use crate::facts::{Frames, Memory, Method, Span, optional_estimate};
use dwell_sketch::estimate::Estimate;
use serde::Serialize;

// From what was measured.
mod answer;
// The forms.
pub mod csv;
pub mod openmetrics;
pub mod table;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.owd/1";

/// The answer of one run.
#[derive(Clone, Debug, Serialize)]
pub struct OwdReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Sender and receiver, as given on the command line.
    pub sources: [String; 2],
    /// What the reader must know.
    pub warnings: Vec<String>,
    /// First and last timestamp of both points; `null` if nothing had one.
    pub span_ns: Option<Span>,
    /// What became of the frames of both points; `null` without packets (`--crossings`).
    pub frames: Option<Frames>,
    /// What each point saw.
    pub points: Points,
    /// What was promised, and what was used.
    pub memory: Memory,
    /// How the answer was found.
    pub method: Method,
    /// How far the receiver's clock is ahead of the sender's, as far as delays of both directions bound it; `null`
    /// without them.
    pub clock_offset_ns: Option<ClockOffset>,
    /// All packets from the sender to the receiver.
    pub total: Line,
    /// All packets from the receiver to the sender; `null` unless asked for.
    pub reverse: Option<Line>,
    /// By the time of sending, in order; empty unless asked for.
    pub intervals: Vec<Interval>,
    /// The flows with the most bytes; empty unless asked for.
    pub flows: Vec<Flow>,
}

/// Both ends of the way.
#[derive(Clone, Debug, Serialize)]
pub struct Points {
    /// Where packets come by first.
    pub sender: PointFacts,
    /// Where packets come by later.
    pub receiver: PointFacts,
}

/// What one point saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PointFacts {
    /// What became of its frames; `null` without packets.
    pub frames: Option<Frames>,
    /// Packets that were compared with the other point.
    pub packets: u64,
    /// Packets that go another way than the one that is measured.
    pub elsewhere: u64,
    /// Packets that the capture cut before the last byte that names them.
    pub cut: u64,
    /// Packets that the other point did not see: of the receiver, those that were not sent. Of sketches, those in intervals
    /// that could not be joined.
    pub unsent: Option<u64>,
    /// Packets that equal one seen here at most 10 ms before; of what arrives, only those that were not sent as often.
    /// `null` of sketches.
    pub duplicates: Option<u64>,
}

/// Bounds of a clock offset, in nanoseconds: with `low` > `high` the clocks ran apart meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockOffset {
    /// The smallest delay of the reverse direction, negative.
    pub low: i64,
    /// The smallest delay.
    pub high: i64,
}

/// What became of packets, and how long they took.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Packets that were sent: `received + lost + uncovered`, unless nothing is known of any of them.
    pub sent: u64,
    /// Their bytes, from the IP header on; `null` where nobody counted them.
    pub bytes: Option<u64>,
    /// Packets that arrived.
    pub received: u64,
    /// Packets that did not.
    pub lost: u64,
    /// Packets sent before the first or after the last that arrived: nobody could have seen them arrive.
    pub uncovered: u64,
    /// Packets that arrived without a delay of their own: equal ones were under way.
    pub ambiguous: u64,
    /// The share of packets that was lost, of those received and lost.
    #[serde(serialize_with = "optional_estimate")]
    pub loss_rate: Option<Estimate<f64>>,
    /// Runs of packets lost one after the other; `null` where not every packet is known.
    pub loss_runs: Option<LossRuns>,
    /// Why there is no answer; `null` where there is one.
    pub unusable: Option<String>,
    /// Packets that the delays rest on.
    pub effective_samples: u64,
    /// The delays; every member `null` without samples.
    pub delay_ns: Delays,
    /// Mean difference between the delays of neighbours; `null` where not every packet is known.
    pub jitter_ns: Option<f64>,
}

impl Line {
    /// Whether any number has an interval.
    pub(crate) fn is_estimated(&self) -> bool {
        let d = &self.delay_ns;
        let widths = [d.mean, d.std, self.loss_rate].into_iter().flatten().any(|e| !e.is_exact());
        widths || [d.p50, d.p90, d.p95, d.p99].into_iter().flatten().any(|e| !e.is_exact())
    }
}

/// Packets that were lost one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LossRuns {
    /// How many runs there were.
    pub count: u64,
    /// Packets in the longest.
    pub longest: u64,
}

/// Statistics of the delay in nanoseconds, each with its 95% interval. Negative where the clocks disagree.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delays {
    /// Arithmetic mean.
    #[serde(serialize_with = "optional_estimate")]
    pub mean: Option<Estimate<f64>>,
    /// Standard deviation.
    #[serde(serialize_with = "optional_estimate")]
    pub std: Option<Estimate<f64>>,
    /// Median.
    #[serde(serialize_with = "optional_estimate")]
    pub p50: Option<Estimate<i64>>,
    /// 90th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p90: Option<Estimate<i64>>,
    /// 95th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p95: Option<Estimate<i64>>,
    /// 99th percentile.
    #[serde(serialize_with = "optional_estimate")]
    pub p99: Option<Estimate<i64>>,
    /// Smallest.
    #[serde(serialize_with = "optional_estimate")]
    pub min: Option<Estimate<i64>>,
    /// Largest.
    #[serde(serialize_with = "optional_estimate")]
    pub max: Option<Estimate<i64>>,
}

/// One interval.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Its first nanosecond since the epoch.
    pub start_ns: i64,
    /// The first nanosecond behind it.
    pub end_ns: i64,
    /// What became of the packets that were sent in it.
    #[serde(flatten)]
    pub line: Line,
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name; `other` for all flows that got no place of their own.
    pub flow: String,
    /// Packets that were sent.
    pub packets: u64,
    /// What became of them.
    #[serde(flatten)]
    pub line: Line,
}
