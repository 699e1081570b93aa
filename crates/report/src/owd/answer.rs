//! Converts measurements into lines of the report.

use super::{Bin, Delays, Flow, Interval, Line, LossRuns};
use crate::quantiles;
use crate::shape::{bins, cdf};
use dwell_sketch::distribution::Distribution;
use dwell_sketch::estimate::Estimate;
use dwell_sketch::moments::Level;
use dwell_sketch::owd::{FlowAnswer, IntervalAnswer, Tally, Totals};
use dwell_sketch::summary::{Combined, FlowMean, FlowRecord, Joined};

/// How many of the packets sent were received, lost, and uncovered. With sampling, `sent` is divided in proportion to
/// the three estimates, so that the parts add up to it; without, these are the counts, and packets whose fate is not
/// known are uncovered.
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

/// The number of bytes; `None` if a log did not state sizes, since no packet is empty.
fn known_bytes(bytes: u64, packets: u64) -> Option<u64> {
    (bytes > 0 || packets == 0).then_some(bytes)
}

impl Line {
    /// From the fates and delays of a set of packets.
    fn new(sent: u64, bytes: u64, tally: &Tally, distribution: &Distribution) -> Self {
        let [received, lost, uncovered] =
            parts(sent, [tally.received(), tally.lost(), tally.uncovered()], !tally.is_exact(sent));
        let ambiguous = tally.ambiguous().value * received as f64 / tally.received().value.max(1.0);
        let ambiguous = (ambiguous.round() as u64).min(received);
        // As for the fates: what is told apart adds up. Delays of intervals and flows are scaled already, those of all are not.
        let share = distribution.exchanges().map_or(1.0, |all| (received - ambiguous) as f64 / all.value);
        let (min, max) = distribution.extremes().unzip();
        Self {
            sent,
            bytes: known_bytes(bytes, sent),
            received,
            lost,
            uncovered,
            ambiguous,
            loss_rate: tally.loss_rate(sent),
            loss_runs: tally.loss_runs(sent).map(|runs| LossRuns { count: runs.count, longest: runs.longest }),
            unusable: (tally.samples() == 0).then(|| Self::without_delay(received).to_owned()),
            effective_samples: tally.samples(),
            delay_ns: Delays {
                mean: tally.mean(sent),
                std: tally.standard_deviation(sent),
                quantiles: quantiles::of(distribution),
                min,
                max,
            },
            histogram: bins(distribution, share)
                .into_iter()
                .map(|([from_ns, to_ns], packets)| Bin { from_ns, to_ns, packets })
                .collect(),
            cdf: Vec::new(),
            jitter_ns: tally.jitter(sent),
        }
    }

    /// The same with the distribution function.
    #[must_use]
    pub fn with_cdf(self, distribution: &Distribution) -> Self {
        Self { cdf: cdf(distribution), ..self }
    }

    /// Why the received packets give no delay.
    const fn without_delay(received: u64) -> &'static str {
        if received > 0 {
            "every packet that arrived equals another one in flight"
        } else {
            "no packet was seen at both points"
        }
    }

    /// From counters at both points. If more packets arrived than were sent, no loss is known. A packet that one of the
    /// points counts in the neighbouring interval appears lost in one interval and surplus in the other. Totals are
    /// therefore computed from sums of the counters, not from the losses of intervals, so that such packets cancel out.
    fn counted(sent: u64, received: u64, surplus: Estimate<f64>, elsewhere: f64) -> Self {
        let lost = sent.saturating_sub(received);
        let share = |lost: f64| (lost / sent as f64).min(1.0);
        // Each packet that arrived and was not sent may hide a lost one, and each that arrived elsewhere looks like one.
        let most = sent as f64 - received as f64 + surplus.high;
        let [least, most] = [(lost as f64 - elsewhere).max(0.0), most.max(lost as f64)];
        let rate = Estimate { value: share(lost as f64), low: share(least), high: share(most) };
        Self { sent, received, lost, loss_rate: (sent > 0).then_some(rate), ..Self::default() }
    }
}

/// Why there are no delays although packets arrived.
const TOO_FEW_CELLS: &str = "too few cells hold the same packets at both points";

impl From<&Totals> for Line {
    fn from(totals: &Totals) -> Self {
        Self::new(totals.sent, totals.sent_bytes, &totals.tally, &totals.distribution)
    }
}

/// The intervals that the sketches of both points have in common; packets of all other intervals are `uncovered`.
impl From<&Combined> for Line {
    fn from(combined: &Combined) -> Self {
        let &Combined { sent, usable, received, effective_samples, .. } = combined;
        let delay_ns = Delays { mean: combined.mean(), std: combined.std(), ..Delays::default() };
        let unusable = match delay_ns.mean {
            Some(_) => None,
            None if usable == 0 => Some("no interval could be joined"),
            None => Some(TOO_FEW_CELLS),
        };
        Self {
            sent,
            uncovered: sent - usable,
            effective_samples,
            delay_ns,
            unusable: unusable.map(str::to_owned),
            // What is said of all packets adds up.
            received: received.min(usable),
            ..Self::counted(usable, received, combined.surplus(), combined.elsewhere())
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
                    unusable: mean.is_none().then(|| TOO_FEW_CELLS.to_owned()),
                    ..Line::counted(answer.sent, answer.received, answer.surplus(), answer.elsewhere)
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
    /// The line of the named flow.
    pub fn new(answer: &FlowAnswer, flow: String) -> Self {
        let line = Line::new(answer.sent, answer.sent_bytes, &answer.tally, &answer.distribution);
        let uncounted_bytes = line.bytes.map(|_| answer.uncounted_bytes);
        Self { flow, packets: answer.sent, uncounted_bytes, line }
    }

    /// A flow listed by the sender, with what the sketches of both points say about it.
    pub fn sketched(record: &FlowRecord, answer: &FlowMean) -> Self {
        let &FlowMean { mean, packets: known, joined, lost } = answer;
        let packets = record.packets;
        let joined = joined.min(packets);
        // Without a bound the fate of none is known.
        let fates = lost.map(|lost| {
            let whole = (lost.value.round().max(0.0) as u64).min(joined);
            let share = |lost: f64| (lost / joined.max(1) as f64).clamp(0.0, 1.0);
            (joined - whole, whole, lost.map(share))
        });
        let (received, lost) = fates.map_or((0, 0), |(received, lost, _)| (received, lost));
        let line = Line {
            sent: packets,
            bytes: known_bytes(record.bytes, packets),
            received,
            lost,
            uncovered: packets - received - lost,
            loss_rate: fates.map(|(_, _, rate)| rate),
            effective_samples: (known.round() as u64).min(joined - lost),
            delay_ns: Delays { mean, ..Delays::default() },
            unusable: mean.is_none().then(|| {
                let why = if joined == 0 { "its intervals could not be joined" } else { "none of its cells is usable" };
                why.to_owned()
            }),
            ..Line::default()
        };
        Self { flow: record.name.clone(), packets, uncounted_bytes: None, line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One packet in 100 is lost; another is counted before a cut by the sender but after it by the receiver. Summing
    /// the losses of the intervals would give 2; the sums of the counters give 1.
    #[test]
    fn a_total_is_of_sums_not_of_losses() {
        let counted = |sent, received, surplus| Line::counted(sent, received, Estimate::exact(surplus), 0.0);
        let intervals = [counted(50, 48, 0.0), counted(50, 51, 1.0)];
        assert_eq!(intervals.map(|line| line.lost), [2, 0]);
        assert_eq!(counted(100, 99, 0.0).lost, 1);
        assert_eq!(counted(100, 99, 4.0).loss_rate, Some(Estimate { value: 0.01, low: 0.01, high: 0.05 }));
        let elsewhere = |packets| Line::counted(100, 97, Estimate::exact(0.0), packets).loss_rate.unwrap().low;
        assert_eq!([1.0, 5.0].map(elsewhere), [0.02, 0.0]);
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
