//! Multiflow estimator: two sampled packets per flow record, and those of other flows in between.
//!
//! **Answers**: mean delay of a flow in nanoseconds.
//!
//! **Model**: packets near in time have similar delays, whatever their flow. Both points sample the same packets by
//! their hash, as in coordinated NetFlow. Where queues or paths differ between flows, the delays of others mislead.
//!
//! **State**: an open-addressing table of 40-byte records (key, id and time of the first and of the last sampled
//! packet) with one byte each beside them, at most ¾ full; flows enter by the hash of their id.
//!
//! **Cost**: one hash per packet, one table lookup for those sampled.
//!
//! **Estimate**: the mean of all samples between a flow's first and last one, including its own; of its only one if
//! they are the same packet; none if no sampled packet of it was first or last at both points.
//!
//! **Merge**: the earlier first and the later last packet of each flow.
//!
//! **Differs from the paper**: bounded memory; sanjuas11 has none.
//!
//! **Source**: M. Lee, N. Duffield, R. R. Kompella, *Two samples are enough*, INFOCOM 2010, as described in sanjuas11
//! §5.1 (`docs/papers/sanjuas11-lds.md`).

use crate::parts::flow_sample::{FlowSample, TooFewBytes};
use dwell_types::{Crossing, FlowId, Timestamp, hash};
use std::collections::HashMap;

/// The records of one point.
#[derive(Clone, Debug)]
pub struct Mpe {
    records: FlowSample<Record>,
    start: u64,
    /// Packets are sampled if their 32 bits are below this.
    threshold: u64,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    first: Sampled,
    last: Sampled,
}

/// A packet and when it passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sampled {
    packet: u64,
    at: Timestamp,
}

impl Default for Record {
    /// No packet was sampled.
    fn default() -> Self {
        let never = |at| Sampled { packet: 0, at };
        Self { first: never(Timestamp::MAX), last: never(Timestamp::MIN) }
    }
}

impl Record {
    fn update(&mut self, sampled: Sampled) {
        if sampled.at < self.first.at {
            self.first = sampled;
        }
        if sampled.at > self.last.at {
            self.last = sampled;
        }
    }
}

impl Mpe {
    /// An empty table in at most `bytes`, for packets sampled at `rate`, which is clamped to `0..=1`.
    pub fn new(bytes: usize, rate: f64, seed: u64) -> Result<Self, TooFewBytes> {
        Ok(Self {
            records: FlowSample::new(bytes, size_of::<Self>(), hash::word(seed, 1))?,
            start: hash::start(hash::word(seed, 2)),
            threshold: (rate * (1u64 << 32) as f64) as u64,
        })
    }

    /// Adds a packet.
    #[inline]
    pub fn update(&mut self, crossing: &Crossing) {
        let is_sampled = hash::word(self.start, crossing.packet.0) >> 32 < self.threshold;
        if is_sampled && let Some(record) = self.records.entry(crossing.flow) {
            record.update(Sampled { packet: crossing.packet.0, at: crossing.at });
        }
    }

    /// Adds the records of another interval, with the same rate and seed.
    pub fn merge(&mut self, other: &Self) {
        self.records.merge(&other.records, |ours, theirs| {
            ours.update(theirs.first);
            ours.update(theirs.last);
        });
    }

    /// The delays from the records of the sender and these.
    pub fn since(&self, sender: &Self) -> MpeDelays {
        let at_sender: HashMap<u64, &Record> = sender.records.iter().collect();
        let mut samples = Vec::new();
        for (key, record) in self.records.iter() {
            let Some(sent) = at_sender.get(&key) else { continue };
            samples.extend(sample(&sent.first, &record.first));
            if sent.first != sent.last {
                samples.extend(sample(&sent.last, &record.last));
            }
        }
        samples.sort_unstable();
        MpeDelays { sender: sender.clone(), receiver: self.clone(), samples }
    }

    /// Bytes of the table.
    pub fn state_bytes(&self) -> usize {
        self.records.state_bytes() + 2 * size_of::<u64>()
    }
}

/// When a packet was sent and its delay in nanoseconds, if it is the same at both points.
fn sample(sent: &Sampled, received: &Sampled) -> Option<(Timestamp, i64)> {
    (sent.packet == received.packet).then(|| (sent.at, (received.at - sent.at).get()))
}

/// The samples of all flows.
#[derive(Clone, Debug)]
pub struct MpeDelays {
    sender: Mpe,
    receiver: Mpe,
    /// In order of time at the sender.
    samples: Vec<(Timestamp, i64)>,
}

impl MpeDelays {
    /// Mean delay of a flow in nanoseconds; `None` without a sample of it.
    pub fn mean_ns(&self, flow: FlowId) -> Option<f64> {
        let (sent, received) = (self.sender.records.get(flow)?, self.receiver.records.get(flow)?);
        let first = sample(&sent.first, &received.first);
        let last = sample(&sent.last, &received.last);
        let (from, to) = (first.or(last)?.0, last.or(first)?.0);
        let begin = self.samples.partition_point(|(at, _)| *at < from);
        let end = self.samples.partition_point(|(at, _)| *at <= to);
        let between = self.samples.get(begin..end)?;
        let sum: f64 = between.iter().map(|(_, delay)| *delay as f64).sum();
        (!between.is_empty()).then(|| sum / between.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::PacketId;

    /// Packet *i* of ten flows in rotation, sent at *i* µs; `delay` by flow.
    fn delays(rate: f64, delay: impl Fn(u64) -> i64, is_lost: impl Fn(u64) -> bool) -> MpeDelays {
        let point = || Mpe::new(1 << 16, rate, 3).unwrap();
        let (mut sender, mut receiver) = (point(), point());
        for i in 0..10_000u64 {
            let crossing = |nanos| Crossing {
                packet: PacketId(hash::finish(i)),
                flow: FlowId(i % 10),
                at: Timestamp::from_nanos(nanos),
                bytes: 40,
            };
            sender.update(&crossing(i as i64 * 1_000));
            if !is_lost(i) {
                receiver.update(&crossing(i as i64 * 1_000 + delay(i % 10)));
            }
        }
        receiver.since(&sender)
    }

    /// Of 10,000 packets a tenth is sampled: the means of ten flows are those of some hundred neighbours, ± 40 ns, and
    /// .2 to .7 µs are six of these away (2·10⁻⁹). The flows' own means, 0 to .9 µs, must fail.
    #[test]
    fn equal_delays_are_exact_and_different_ones_mix() {
        let equal = delays(0.1, |_| 500, |_| false);
        assert!((0..10).all(|flow| equal.mean_ns(FlowId(flow)) == Some(500.0)));
        assert_eq!(equal.mean_ns(FlowId(11)), None);
        let different = delays(0.1, |flow| flow as i64 * 100, |_| false);
        let means: Vec<f64> = (0..10).filter_map(|flow| different.mean_ns(FlowId(flow))).collect();
        let are_mixed = |means: &[f64]| means.iter().all(|mean| (200.0..700.0).contains(mean));
        assert!(are_mixed(&means), "drawn to the mean of 450: {means:?}");
        let own: Vec<f64> = (0..10).map(|flow| f64::from(flow) * 100.0).collect();
        assert!(!are_mixed(&own));
    }

    #[test]
    fn lost_packets_are_no_samples() {
        let all_but_one = delays(1.0, |_| 500, |i| i == 0);
        assert_eq!(all_but_one.mean_ns(FlowId(0)), Some(500.0), "its last packet is left");
        assert_eq!(delays(1.0, |_| 500, |i| i == 0 || i == 9_990).mean_ns(FlowId(0)), None);
    }
}
