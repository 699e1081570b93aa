//! Reference latency interpolation: the delay of a packet lies between those of the probes before and after it.
//!
//! **Answers**: mean delay of a flow in nanoseconds, and its packets; seen from the receiver alone.
//!
//! **Model**: packets near in time have similar delays, whatever their flow, and so do probes. The sender adds probes
//! that carry its time. Where queues or paths differ between flows, the interpolation is wrong, and more probes do not
//! help.
//!
//! **State**: an open-addressing table of 24-byte entries (key, sum of delays, packets) with one byte each beside them,
//! at most ¾ full; flows enter by the hash of their id. The packets since the last probe, 16 bytes each. In addition
//! the probes on the network.
//!
//! **Cost**: a packet buffered, and one table lookup when the next probe arrives.
//!
//! **Estimate**: the mean of the interpolated delays; packets before the first probe or after the last are left out.
//!
//! **Merge**: entry by entry, of intervals that both ended with a probe.
//!
//! **Differs from the paper**: bounded memory; packets are buffered until the next probe instead of being summed up per
//! flow.
//!
//! **Source**: M. Lee, N. Duffield, R. R. Kompella, *Not all microseconds are equal*, SIGCOMM 2010, as described in
//! sanjuas11 §5.1 (`docs/papers/sanjuas11-lds.md`).

use crate::parts::flow_sample::{FlowSample, TooFewBytes};
use dwell_types::{Crossing, FlowId, Timestamp};

/// The state of the receiver.
#[derive(Clone, Debug)]
pub struct Rli {
    flows: FlowSample<Flow>,
    /// Time at the receiver and delay of the last probe.
    probe: Option<(Timestamp, i64)>,
    /// Packets since then.
    aside: Vec<(FlowId, Timestamp)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    delay_ns: i64,
    packets: u64,
}

impl Rli {
    /// An empty table in at most `bytes`; the packets between two probes are extra.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, TooFewBytes> {
        Ok(Self { flows: FlowSample::new(bytes, size_of::<Self>(), seed)?, probe: None, aside: Vec::new() })
    }

    /// Adds a packet of the traffic.
    pub fn update(&mut self, crossing: &Crossing) {
        if self.probe.is_some_and(|(at, _)| at <= crossing.at) {
            self.aside.push((crossing.flow, crossing.at));
        }
    }

    /// Adds a probe, and with it the packets since the last one. A probe that does not arrive after the last one is
    /// ignored.
    pub fn probe(&mut self, sent: Timestamp, received: Timestamp) {
        let delay = (received - sent).get();
        let Some((before, first)) = self.probe else {
            self.probe = Some((received, delay));
            return;
        };
        if received <= before {
            return;
        }
        let slope = delay.saturating_sub(first) as f64 / (received - before).get() as f64;
        let flows = &mut self.flows;
        self.aside.retain(|&(flow, at)| {
            if at > received {
                return true;
            }
            if let Some(flow) = flows.entry(flow) {
                let after = (at - before).get() as f64;
                flow.delay_ns = flow.delay_ns.saturating_add(first.saturating_add((slope * after) as i64));
                flow.packets += 1;
            }
            false
        });
        self.probe = Some((received, delay));
    }

    /// Adds the flows of another interval.
    pub fn merge(&mut self, other: &Self) {
        self.flows.merge(&other.flows, |ours, theirs| {
            ours.delay_ns = ours.delay_ns.saturating_add(theirs.delay_ns);
            ours.packets += theirs.packets;
        });
    }

    /// Mean delay of a flow in nanoseconds; `None` if no packet of it came between two probes, or it is not in the
    /// table.
    pub fn mean_ns(&self, flow: FlowId) -> Option<f64> {
        let flow = self.flows.get(flow)?;
        Some(flow.delay_ns as f64 / flow.packets as f64)
    }

    /// Bytes of the table and of the buffered packets.
    pub fn state_bytes(&self) -> usize {
        self.flows.state_bytes() + size_of_val(&self.probe) + self.aside.capacity() * size_of::<(FlowId, Timestamp)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::PacketId;

    const fn at(nanos: i64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    fn packet(flow: u64, nanos: i64) -> Crossing {
        Crossing { packet: PacketId(0), flow: FlowId(flow), at: at(nanos), bytes: 40 }
    }

    #[test]
    fn delays_lie_on_a_line_between_probes() {
        let mut rli = Rli::new(1 << 12, 1).unwrap();
        rli.update(&packet(1, 5));
        rli.probe(at(0), at(100));
        rli.update(&packet(1, 150));
        rli.update(&packet(2, 300));
        assert_eq!(rli.mean_ns(FlowId(1)), None, "before any probe, and still open");
        rli.probe(at(100), at(300));
        rli.update(&packet(3, 400));
        assert_eq!([1, 2, 3].map(|flow| rli.mean_ns(FlowId(flow))), [Some(125.0), Some(200.0), None]);
        let mut other = Rli::new(1 << 12, 1).unwrap();
        other.probe(at(0), at(25));
        other.update(&packet(1, 30));
        other.probe(at(100), at(125));
        // Overtaken by the one before.
        other.probe(at(0), at(120));
        rli.merge(&other);
        assert_eq!(rli.mean_ns(FlowId(1)), Some(75.0));
    }

    #[test]
    fn absurd_times_saturate() {
        let [first, last] = [i64::MIN, i64::MAX].map(at);
        for sent in [[first, last], [last, first]] {
            let mut rli = Rli::new(1 << 12, 1).unwrap();
            rli.probe(sent[0], at(0));
            rli.update(&packet(1, 60));
            rli.probe(sent[1], at(100));
            assert!(rli.mean_ns(FlowId(1)).is_some());
        }
    }
}
