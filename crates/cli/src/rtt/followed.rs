use super::outputs::Outputs;
use dwell_sketch::Sample;
use dwell_sketch::distribution::Ambiguous;
use dwell_sketch::rtt::RttMeter;
use dwell_sketch::top_flows::TopFlows;
use dwell_types::{FlowKey, Series};

/// Packets, or lines of a log, whose samples are needed individually: for output, and for the delays of their flows.
/// They are collected in small batches, since a meter takes events in batches. A batch, some 10 KiB, is not counted
/// as memory, nor are output buffers.
pub(super) struct Followed {
    /// The largest flows, if requested.
    pub(super) flows: Option<TopFlows>,
    /// How their ambiguous samples count.
    ambiguous: Ambiguous,
    packets: Vec<Option<FlowPacket>>,
    /// Their samples; a sample's mark is the index of its packet.
    samples: Vec<(Series, Sample)>,
}

/// The flow of a packet as sent, and its bytes from the IP header on.
pub(super) type FlowPacket = (FlowKey, u32);

impl Followed {
    /// The size of a meter's batch of events.
    const MOST: usize = 64;

    pub(super) fn new(flows: Option<TopFlows>, ambiguous: Ambiguous) -> Self {
        Self { flows, ambiguous, packets: Vec::with_capacity(Self::MOST), samples: Vec::new() }
    }

    /// Follows what is passed to the meter next; `None` if it has no flow.
    pub(super) fn follow(&mut self, packet: Option<FlowPacket>, meter: &mut RttMeter) {
        meter.mark(self.packets.len() as u8);
        self.packets.push(packet);
    }

    pub(super) fn is_full(&self) -> bool {
        self.packets.len() == Self::MOST
    }

    /// Passes on the samples of everything followed, in that order, and for each packet in the order of the rules.
    pub(super) fn give(
        &mut self,
        meter: &mut RttMeter,
        outputs: &mut Outputs,
        group_name: impl Fn(u16) -> String,
    ) -> anyhow::Result<()> {
        meter.flush();
        self.samples.extend(meter.take_samples());
        self.samples.sort_by_key(|(series, sample)| (sample.mark, series.matching));
        let mut samples = self.samples.drain(..).peekable();
        for (mark, packet) in self.packets.drain(..).enumerate() {
            let flows = self.flows.as_mut().zip(packet);
            let mut flow = flows.map(|(flows, (flow, bytes))| flows.packet(flow, bytes));
            while let Some((series, sample)) = samples.next_if(|(_, sample)| usize::from(sample.mark) == mark) {
                if let Some(flow) = &mut flow {
                    flow.sample(series, &sample, self.ambiguous);
                }
                if outputs.wants_samples() {
                    outputs.sample(series, &sample, &group_name(series.group), packet.map(|(flow, _)| flow))?;
                }
            }
        }
        Ok(())
    }
}
