use super::matching::Passed;
use super::tally::Tally;
use crate::table::{Number, Place, Table};
use dwell_types::FlowId;

/// The flows that were seen first, as many as fit.
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

/// The number of all flows that have no place of their own.
pub(super) const OTHER: u32 = 0;

impl Flows {
    /// Bytes for each flow.
    pub(super) const FLOW_BYTES: usize = size_of::<Flow>() + Table::<Number>::ENTRY_BYTES;

    /// Bytes of `most` flows and all others.
    pub(super) fn bytes(most: usize) -> usize {
        Table::<Number>::bytes_of(Self::slots(most)) + (most + 1) * size_of::<Flow>()
    }

    fn slots(most: usize) -> usize {
        Table::<Number>::slots_for(most) + 64
    }

    /// Room for `most` flows besides all others.
    pub(super) fn new(most: usize) -> Self {
        let slots = Self::slots(most);
        Self { numbers: Table::new(slots.min(1 << 10), slots), flows: vec![Flow::default()], most }
    }

    /// Counts a packet that was sent; gives the number of its flow, and whether that is new.
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

    /// All others first, then the flows in the order of their first packets.
    pub(super) fn all(&self) -> &[Flow] {
        &self.flows
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.numbers.bytes() + self.flows.capacity() * size_of::<Flow>()
    }
}
