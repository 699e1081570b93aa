//! What `dwell owd` answers, before it takes a form: the schema `dwell.owd/1` of `docs/formats/dwell.owd.md`.

use crate::facts::{Frames, Memory, Method, Span, optional_estimate};
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;
use dwell_sketch::moments::Level;
use dwell_sketch::owd::{FlowAnswer, IntervalAnswer, Tally, Totals};
use dwell_sketch::summary::{Combined, FlowMean, FlowRecord, Joined};
use serde::Serialize;

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

/// How many of those sent were received, lost, and uncovered. Where packets were sampled, the shares that the estimates
/// have of their sum, so that the parts add up to what was counted; else the counts, and whoever has no fate is
/// uncovered: nobody can say.
fn parts(sent: u64, fates: [Estimate<f64>; 3], is_sampled: bool) -> [u64; 3] {
    let fates = fates.map(|fate| fate.value);
    let all: f64 = fates.iter().sum();
    if all == 0.0 {
        return [0; 3];
    }
    let scale = if is_sampled { sent as f64 / all } else { 1.0 };
    let [received, lost, _] = fates.map(|fate| (fate * scale).round() as u64);
    let lost = lost.min(sent);
    let received = received.min(sent - lost);
    [received, lost, sent - lost - received]
}

/// The bytes of so many packets, none of which is empty: logs may not say how many.
fn known_bytes(bytes: u64, packets: u64) -> Option<u64> {
    (bytes > 0 || packets == 0).then_some(bytes)
}

impl Line {
    /// From what is known of some packets.
    fn new(sent: u64, bytes: u64, tally: &Tally, distribution: &Distribution) -> Self {
        let [received, lost, uncovered] =
            parts(sent, [tally.received(), tally.lost(), tally.uncovered()], !tally.is_exact(sent));
        let ambiguous = tally.ambiguous().value / tally.received().value.max(1.0);
        let (min, max) = distribution.extremes().unzip();
        Self {
            sent,
            bytes: known_bytes(bytes, sent),
            received,
            lost,
            uncovered,
            ambiguous: (received as f64 * ambiguous).round() as u64,
            loss_rate: tally.loss_rate(),
            loss_runs: tally.loss_runs(sent).map(|runs| LossRuns { count: runs.count, longest: runs.longest }),
            unusable: (tally.samples() == 0).then(|| Self::without_delay(received).to_owned()),
            effective_samples: tally.samples(),
            delay_ns: Delays {
                mean: tally.mean(),
                std: tally.standard_deviation(),
                p50: distribution.quantile(0.5),
                p90: distribution.quantile(0.9),
                p95: distribution.quantile(0.95),
                p99: distribution.quantile(0.99),
                min,
                max,
            },
            jitter_ns: tally.jitter(sent),
        }
    }

    /// Why so many packets that arrived tell no delay.
    const fn without_delay(received: u64) -> &'static str {
        if received > 0 {
            "every packet that arrived equals another one under way"
        } else {
            "no packet was seen at both points"
        }
    }

    /// From counters at both points. Where more packets arrived than were sent, none is known to be lost.
    /// A packet that one point counts in the interval before is lost there and too many here: of both together nothing is lost, so
    /// a total is taken from sums of the counters, not from the intervals' losses.
    fn counted(sent: u64, received: u64) -> Self {
        let lost = sent.saturating_sub(received);
        let rate = (sent > 0).then(|| Estimate::exact(lost as f64 / sent as f64));
        Self { sent, received, lost, loss_rate: rate, ..Self::default() }
    }

    /// Whether any number has an interval.
    pub(crate) fn is_estimated(&self) -> bool {
        let d = &self.delay_ns;
        let widths = [d.mean, d.std, self.loss_rate].into_iter().flatten().any(|e| !e.is_exact());
        widths || [d.p50, d.p90, d.p95, d.p99].into_iter().flatten().any(|e| !e.is_exact())
    }
}

impl From<&Totals> for Line {
    fn from(totals: &Totals) -> Self {
        Self::new(totals.sent, totals.sent_bytes, &totals.tally, &totals.distribution)
    }
}

/// All intervals that two sketching points agree on; what they do not agree on is `uncovered`.
impl From<&Combined> for Line {
    fn from(combined: &Combined) -> Self {
        let &Combined { sent, usable, received, effective_samples, .. } = combined;
        let delay_ns = Delays { mean: combined.mean(), std: combined.std(), ..Delays::default() };
        let unusable = (usable == 0).then(|| "no interval of both points fits together".to_owned());
        Self {
            sent,
            uncovered: sent - usable,
            effective_samples,
            delay_ns,
            unusable,
            ..Self::counted(usable, received)
        }
    }
}

impl From<&Joined> for Interval {
    fn from(joined: &Joined) -> Self {
        let line = match &joined.answer {
            Ok(answer) => {
                let mean = answer.delays.map(|delays| delays.mean(Level::P95));
                let std = answer.delays.map(|delays| delays.std(Level::P95));
                Line {
                    effective_samples: answer.delays.map_or(0, |delays| delays.packets),
                    delay_ns: Delays { mean, std, ..Delays::default() },
                    unusable: mean.is_none().then(|| "too few cells hold the same packets at both points".to_owned()),
                    ..Line::counted(answer.sent, answer.received)
                }
            }
            Err(why) => {
                Line { sent: joined.sent, uncovered: joined.sent, unusable: Some(why.to_string()), ..Line::default() }
            }
        };
        Self { start_ns: joined.start.as_nanos(), end_ns: joined.end.as_nanos(), line }
    }
}

impl From<&IntervalAnswer> for Interval {
    fn from(answer: &IntervalAnswer) -> Self {
        Self {
            start_ns: answer.start.as_nanos(),
            end_ns: answer.end.as_nanos(),
            line: Line::new(answer.sent, answer.sent_bytes, &answer.tally, &answer.distribution),
        }
    }
}

impl Flow {
    /// The line of one flow with this name.
    pub fn new(answer: &FlowAnswer, flow: String) -> Self {
        let line = Line::new(answer.sent, answer.sent_bytes, &answer.tally, &answer.distribution);
        Self { flow, packets: answer.sent, line }
    }

    /// A flow that a sender listed, and what the sketches of both points say of it.
    pub fn sketched(record: &FlowRecord, answer: &FlowMean) -> Self {
        let &FlowMean { mean, packets: known, joined, lost } = answer;
        let packets = record.packets;
        let joined = joined.min(packets);
        let whole = lost.map_or(0, |lost| (lost.value.round().max(0.0) as u64).min(joined));
        let share = |lost: f64| (lost / joined.max(1) as f64).clamp(0.0, 1.0);
        let rate = lost.map(|lost| Estimate { value: share(lost.value), low: share(lost.low), high: share(lost.high) });
        let line = Line {
            sent: packets,
            bytes: known_bytes(record.bytes, packets),
            received: joined - whole,
            lost: whole,
            uncovered: packets - joined,
            loss_rate: rate,
            effective_samples: (known.round() as u64).min(joined - whole),
            delay_ns: Delays { mean, ..Delays::default() },
            unusable: mean.is_none().then(|| {
                let why = if joined == 0 { "its intervals could not be joined" } else { "its cells tell nothing" };
                why.to_owned()
            }),
            ..Line::default()
        };
        Self { flow: record.name.clone(), packets, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of 100 packets is lost; another one is counted before a cut by the sender, behind it by the receiver.
    #[test]
    fn a_total_is_of_sums_not_of_losses() {
        let intervals = [Line::counted(50, 48), Line::counted(50, 51)];
        assert_eq!(intervals.map(|line| line.lost), [2, 0]);
        assert_eq!(Line::counted(100, 99).lost, 1);
    }

    #[test]
    fn parts_add_up_and_invent_no_arrivals() {
        let fates = |values: [f64; 3]| values.map(|value| Estimate { value, low: value, high: value });
        assert_eq!(parts(47, fates([1.0, 0.0, 0.0]), false), [1, 0, 46]);
        assert_eq!(parts(47, fates([40.0, 5.0, 2.0]), false), [40, 5, 2]);
        assert_eq!(parts(100, fates([88.0, 11.0, 11.0]), true), [80, 10, 10]);
        assert_eq!(parts(9, fates([0.0; 3]), true), [0; 3]);
    }
}
