use super::matching::Passed;
use super::tally::Tally;
use crate::table::{Number, Place, Table};
use dwell_types::FlowId;

/// The flows seen first, up to a maximum number; all others share one entry.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    numbers: Table<Number>,
    flows: Vec<Flow>,
    most: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) tally: Tally,
}

/// The number shared by all flows without an entry of their own.
pub(super) const OTHER: u32 = 0;

impl Flows {
    /// Bytes per flow.
    pub(super) const FLOW_BYTES: usize = size_of::<Flow>() + Table::<Number>::ENTRY_BYTES;

    /// Bytes of `most` flows and the entry of all others.
    pub(super) fn bytes(most: usize) -> usize {
        Table::<Number>::bytes_of(Self::slots(most)) + (most + 1) * size_of::<Flow>()
    }

    fn slots(most: usize) -> usize {
        Table::<Number>::slots_for(most) + 64
    }

    /// Room for `most` flows, besides the entry of all others.
    pub(super) fn new(most: usize) -> Self {
        let slots = Self::slots(most);
        Self { numbers: Table::new(slots.min(1 << 10), slots), flows: vec![Flow::default()], most }
    }

    /// Counts a packet that was sent; returns the number of its flow, and whether that number is new.
    pub(super) fn sent(&mut self, flow: FlowId, bytes: u32) -> (u32, bool) {
        let (number, is_new) = self.number(flow);
        let flow = &mut self.flows[number as usize];
        flow.packets += 1;
        flow.bytes += u64::from(bytes);
        (number, is_new)
    }

    fn number(&mut self, FlowId(flow): FlowId) -> (u32, bool) {
        let vacant = match self.numbers.find(flow) {
            Place::Found(at) => return (self.numbers.get(at).number, false),
            Place::Vacant(at) => at,
        };
        if self.flows.len() > self.most {
            return (OTHER, false);
        }
        let vacant = if self.numbers.is_full() {
            if !self.numbers.grow() {
                return (OTHER, false);
            }
            let Place::Vacant(at) = self.numbers.find(flow) else { return (OTHER, false) };
            at
        } else {
            vacant
        };
        let number = self.flows.len() as u32;
        if self.flows.len() == self.flows.capacity() {
            self.flows.reserve_exact(self.flows.len().min(self.most + 1 - self.flows.len()));
        }
        self.numbers.put(vacant, Number { key: flow, number });
        self.flows.push(Flow::default());
        (number, true)
    }

    pub(super) fn add(&mut self, passed: &Passed) {
        self.flows[passed.sent.flow as usize].tally.add(passed);
    }

    /// The entry of all others first, then the flows in the order of their first packets.
    pub(super) fn all(&self) -> &[Flow] {
        &self.flows
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.numbers.bytes() + self.flows.capacity() * size_of::<Flow>()
    }
}
