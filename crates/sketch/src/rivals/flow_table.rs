//! A table of flows: exact delays of a random sample of them.
//!
//! **Answers**: mean delay in nanoseconds and packets of the flows in the table.
//!
//! **Model**: both points see the same packets of the same flows under the same ids. Flows are sampled by the hash of
//! their id, so both points choose the same ones; large flows are no more likely than small ones.
//!
//! **State**: an open-addressing table of 24-byte entries (key 64 bits, a cell of 128) with one byte each beside them,
//! at most ¾ full.
//!
//! **Cost**: one hash per packet, and one table lookup for sampled flows.
//!
//! **Estimate**: exact for flows in the table without loss; none for a flow that lost a packet, or that is not in the
//! table.
//!
//! **Merge**: entry by entry with the lower threshold; exactly the table of both streams where neither was full.
//!
//! **Differs from the paper**: not from any paper; it is the baseline that a sketch must beat in equal memory.
//!
//! **Source**: the comparison that reviewers of sanjuas11 ask for (`docs/papers/sanjuas11-lds.md`).

pub use crate::parts::cell::Difference;
use crate::parts::cell::{Cell, digest};
use crate::parts::flow_sample::FlowSample;
pub use crate::parts::flow_sample::TooFewBytes;
use dwell_types::{Crossing, FlowId};

/// The flows that one point has sampled.
#[derive(Clone, Debug)]
pub struct FlowTable {
    flows: FlowSample<Cell>,
}

impl FlowTable {
    /// An empty table of at most `bytes`.
    pub fn new(bytes: usize, seed: u64) -> Result<Self, TooFewBytes> {
        Ok(Self { flows: FlowSample::new(bytes, size_of::<Self>(), seed)? })
    }

    /// Adds a packet.
    #[inline]
    pub fn update(&mut self, crossing: &Crossing) {
        if let Some(cell) = self.flows.entry(crossing.flow) {
            cell.update(digest(crossing.packet), crossing.at);
        }
    }

    /// Adds the packets of another table with the same seed.
    pub fn merge(&mut self, other: &Self) {
        self.flows.merge(&other.flows, |ours, theirs| ours.merge(*theirs));
    }

    /// The delays of a flow's packets from the sender's table to this one; `None` if either table lacks the flow, or a
    /// packet of it.
    pub fn since(&self, sender: &Self, flow: FlowId) -> Option<Difference> {
        self.flows.get(flow)?.since(sender.flows.get(flow)?)
    }

    /// Bytes of the table.
    pub fn state_bytes(&self) -> usize {
        self.flows.state_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{PacketId, Timestamp, hash};

    fn crossing(packet: u64, flows: u64, at: u64) -> Crossing {
        let at = Timestamp::from_nanos(at as i64);
        Crossing { packet: PacketId(hash::finish(packet)), flow: FlowId(packet % flows), at, bytes: 40 }
    }

    #[test]
    fn flows_in_both_tables_are_exact_and_memory_is_bounded() {
        const BYTES: usize = 10_000;
        let (mut sender, mut receiver) = (FlowTable::new(BYTES, 1).unwrap(), FlowTable::new(BYTES, 1).unwrap());
        for packet in 0..30_000 {
            sender.update(&crossing(packet, 3_000, packet));
            if packet != 17 {
                receiver.update(&crossing(packet, 3_000, packet + 100 + packet % 3_000));
            }
        }
        let found: Vec<u64> = (0..3_000).filter(|&flow| receiver.since(&sender, FlowId(flow)).is_some()).collect();
        // 400 slots, at most ¾ full, and at least ⅞ of that.
        assert!((250..=300).contains(&found.len()), "{}", found.len());
        assert!(!found.contains(&17), "it lost a packet");
        for flow in found {
            let expected = Difference { delay_ns: 10 * (100 + flow as i64), packets: 10 };
            assert_eq!(receiver.since(&sender, FlowId(flow)), Some(expected));
        }
        assert!(sender.state_bytes() <= BYTES && sender.state_bytes() > BYTES - 100, "{}", sender.state_bytes());
        assert_eq!(FlowTable::new(100, 1).unwrap_err().given, 100);
    }

    #[test]
    fn halves_merge() {
        let make = |packets: std::ops::Range<u64>, delay: u64| {
            let mut table = FlowTable::new(1 << 16, 1).unwrap();
            packets.for_each(|packet| table.update(&crossing(packet, 50, packet + delay)));
            table
        };
        let mut sender = make(0..300, 0);
        sender.merge(&make(300..1_000, 0));
        let receiver = make(0..1_000, 7);
        let expected = Difference { delay_ns: 7 * 20, packets: 20 };
        assert!((0..50).all(|flow| receiver.since(&sender, FlowId(flow)) == Some(expected)));
    }
}
