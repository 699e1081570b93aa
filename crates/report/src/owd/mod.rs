//! The report of `dwell owd` as data: the schema `dwell.owd/1` of `docs/formats/dwell.owd.md`.

use crate::facts::{Frames, Memory, MethodFacts, Span, estimate, optional_estimate};
use crate::quantiles::{Quantiles, named};
use crate::shape::CdfPoint;
use crate::text;
use dwell_sketch::estimate::Estimate;
use dwell_types::Nanos;
use serde::Serialize;
use std::fmt;

// Conversion from measurements.
mod answer;
// In which order flows are reported.
mod order;
pub use order::Order;
// Output formats.
pub mod csv;
pub mod openmetrics;
pub mod samples;
pub mod table;

/// The name and version of this schema.
pub const SCHEMA: &str = "dwell.owd/1";

/// The report of one run.
#[derive(Clone, Debug, Serialize)]
pub struct OwdReport {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    /// Sender and receiver, as given on the command line.
    pub sources: [String; 2],
    /// Warnings for the reader.
    pub warnings: Vec<String>,
    /// First and last timestamp of both points; `null` if there were none.
    pub span_ns: Option<Span>,
    /// Frames of both points, by fate; `null` without packets (`--crossings`).
    pub frames: Option<Frames>,
    /// What each point saw.
    pub points: Points,
    /// Memory limit and use.
    pub memory: Memory,
    /// The method and its parameters.
    pub method: MethodFacts,
    /// How far the receiver's clock is ahead of the sender's, as far as delays of both directions bound it; `null`
    /// without them, and if they contradict each other.
    pub clock_offset_ns: Option<ClockOffset>,
    /// How the receiver's clock may drift away from the sender's, by the smallest delays of both directions over time;
    /// `null` without them, and if they tell nothing.
    pub clock_drift: Option<ClockDrift>,
    /// All packets from the sender to the receiver.
    pub total: Line,
    /// All packets from the receiver to the sender; `null` unless requested.
    pub reverse: Option<Line>,
    /// By sending time, in order; empty unless requested.
    pub intervals: Vec<Interval>,
    /// The flows with the most bytes, by [`OwdReport::order`], then all others together; empty unless requested.
    pub flows: Vec<Flow>,
    /// The order of flows.
    #[serde(skip)]
    pub order: Order,
}

/// The two measurement points.
#[derive(Clone, Debug, Serialize)]
pub struct Points {
    /// The point that packets pass first.
    pub sender: PointFacts,
    /// The point that packets pass second.
    pub receiver: PointFacts,
}

/// What one point saw.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PointFacts {
    /// Its frames, by fate; `null` without packets.
    pub frames: Option<Frames>,
    /// Packets that were compared with the other point.
    pub packets: u64,
    /// Packets of a direction that is not measured; `null` where the sketches of two points were joined, which do not
    /// contain it.
    pub elsewhere: Option<u64>,
    /// Packets that the capture cuts before the last byte that identifies them; `null` likewise.
    pub cut: Option<u64>,
    /// Packets that the other point did not see: at the receiver, those that were not sent. With sketches, packets in
    /// intervals that could not be joined.
    pub unsent: Option<u64>,
    /// Packets that equal one seen here at most 10 ms before; of what arrives, only those that were not sent as often.
    /// `null` of sketches.
    pub duplicates: Option<u64>,
}

/// Bounds of a clock offset, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockOffset {
    /// If the offset is constant, minus the smallest delay of the reverse direction.
    pub low: i64,
    /// If the offset is constant, the smallest delay of the forward direction.
    pub high: i64,
}

/// `between 108 µs behind and 107 µs ahead`, `between 3.00 ms and 5.00 ms ahead`, with enough digits for both to differ.
impl fmt::Display for ClockOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self { low, high } = self;
        let text = |ns: i64| Nanos::new(ns.saturating_abs()).to_string();
        let millis = |digits: usize| move |ns: i64| format!("{:.digits$} ms", ns.unsigned_abs() as f64 / 1e6);
        let side = |ns: i64| if ns < 0 { "behind" } else { "ahead" };
        // An end that is zero is on the side of the other.
        let [from, to] = if high == 0 { [side(low); 2] } else { [side(low), side(high)] };
        let mut ends = [low, high].map(text);
        if low == high {
            return write!(f, "{} {}", ends[0], to);
        }
        for digits in [3, 6] {
            if from == to && ends[0] == ends[1] {
                ends = [low, high].map(millis(digits));
            }
        }
        let [at_least, at_most] = ends;
        if from == to {
            write!(f, "between {at_least} and {at_most} {to}")
        } else {
            write!(f, "between {at_least} {from} and {at_most} {to}")
        }
    }
}

/// Bounds of an offset that changes evenly.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClockDrift {
    /// Parts per million; positive if the receiver's clock is the faster one.
    pub ppm: Drifts,
    /// The offset at the first delay.
    pub start_ns: ClockOffset,
    /// The offset at the last delay.
    pub end_ns: ClockOffset,
}

/// Bounds of a drift.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Drifts {
    /// The least.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

impl fmt::Display for Drifts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} ppm", text::significant(self.low), text::significant(self.high))
    }
}

/// Packets by fate, and their delays.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line {
    /// Packets sent: `received + lost + uncovered`, unless the fate of none is known.
    pub sent: u64,
    /// Their bytes, from the IP header on; `null` if not known.
    pub bytes: Option<u64>,
    /// Packets received.
    pub received: u64,
    /// Packets lost.
    pub lost: u64,
    /// Packets of unknown fate: sent before the first or after the last that arrived, or in unusable intervals.
    pub uncovered: u64,
    /// Received packets without a delay of their own: equal packets were in flight.
    pub ambiguous: u64,
    /// Lost packets as a share of those received or lost.
    #[serde(serialize_with = "optional_estimate")]
    pub loss_rate: Option<Estimate<f64>>,
    /// Runs of consecutive losses; `null` where not every packet is known.
    pub loss_runs: Option<LossRuns>,
    /// Why there are no delays; `null` if there are.
    pub unusable: Option<String>,
    /// Number of packets that the delays are based on.
    pub effective_samples: u64,
    /// The delays; every member `null` without samples.
    pub delay_ns: Delays,
    /// Logarithmic histogram of the delays, in ascending order, without gaps; empty without samples, and of sketches.
    pub histogram: Vec<Bin>,
    /// The distribution function at ascending delays, for a plot; empty without samples, or if not asked for. Not in the
    /// JSON.
    #[serde(skip)]
    pub cdf: Vec<CdfPoint>,
    /// Mean absolute difference between the delays of successive packets; `null` where not every packet is known.
    pub jitter_ns: Option<f64>,
}

impl Line {
    /// Whether any value is an estimate with an interval.
    pub(crate) fn is_estimated(&self) -> bool {
        let d = &self.delay_ns;
        let widths = [d.mean, d.std, self.loss_rate].into_iter().flatten().any(|e| !e.is_exact());
        widths || d.quantiles.iter().flatten().any(|e| !e.is_exact())
    }
}

/// Runs of consecutive lost packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LossRuns {
    /// Number of runs.
    pub count: u64,
    /// Packets in the longest run.
    pub longest: u64,
}

/// Delay statistics in nanoseconds, each with its 95% interval. Negative where the clocks disagree.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Delays {
    /// Arithmetic mean.
    #[serde(serialize_with = "optional_estimate")]
    pub mean: Option<Estimate<f64>>,
    /// Standard deviation.
    #[serde(serialize_with = "optional_estimate")]
    pub std: Option<Estimate<f64>>,
    /// [`QUANTILES`](crate::quantiles::QUANTILES), each under its name.
    #[serde(flatten, serialize_with = "named")]
    pub quantiles: Quantiles,
    /// Smallest.
    #[serde(serialize_with = "optional_estimate")]
    pub min: Option<Estimate<i64>>,
    /// Largest.
    #[serde(serialize_with = "optional_estimate")]
    pub max: Option<Estimate<i64>>,
}

/// In whole nanoseconds.
fn whole(estimate: Estimate<f64>) -> Estimate<i64> {
    estimate.map(|ns| ns.round() as i64)
}

/// One bin of the histogram: `from_ns < delay ≤ to_ns`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bin {
    /// Lower edge, excluded.
    pub from_ns: i64,
    /// Upper edge, included.
    pub to_ns: i64,
    /// Estimated number of packets in the bin.
    #[serde(serialize_with = "estimate")]
    pub packets: Estimate<f64>,
}

/// One interval.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Its start, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// Its end (exclusive).
    pub end_ns: i64,
    /// The packets sent in it.
    #[serde(flatten)]
    pub line: Line,
}

impl Interval {
    /// From its start to its end.
    pub(crate) fn span(&self) -> Span {
        Span { start: self.start_ns, end: self.end_ns }
    }
}

/// One flow.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// Its name; `other` for all flows without a line of their own.
    pub flow: String,
    /// Packets sent.
    pub packets: u64,
    /// Upper bound on further bytes of this flow that were counted as `other`; `null` if bytes are not known, and of
    /// sketches.
    pub uncounted_bytes: Option<u64>,
    /// Their fates and delays.
    #[serde(flatten)]
    pub line: Line,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_behind_or_ahead() {
        for (low, high, expected) in [
            (-108_000, 107_000, "between 108 µs behind and 107 µs ahead"),
            (-107_000, 107_000, "between 107 µs behind and 107 µs ahead"),
            (-5_000_000, -3_000_000, "between 5.00 ms and 3.00 ms behind"),
            (3_000_000, 5_000_000, "between 3.00 ms and 5.00 ms ahead"),
            (-5_000_000, 0, "between 5.00 ms and 0 ns behind"),
            (0, 5_000_000, "between 0 ns and 5.00 ms ahead"),
            (0, 0, "0 ns ahead"),
            (-5_000_000, -5_000_000, "5.00 ms behind"),
            (5_001_000_000, 5_001_250_000, "between 5001.000 ms and 5001.250 ms ahead"),
            (-5_001_250_000, -5_001_000_000, "between 5001.250 ms and 5001.000 ms behind"),
            (5_001_000_100, 5_001_000_350, "between 5001.000100 ms and 5001.000350 ms ahead"),
            (i64::MIN, i64::MAX, "between 9223372037 s behind and 9223372037 s ahead"),
        ] {
            assert_eq!(ClockOffset { low, high }.to_string(), expected);
        }
    }
}
