use super::Sum;
use super::matching::Passed;
use super::tally::Tally;
use crate::parts::table::{Number, Place, Table};
use dwell_types::FlowId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The flows with the most bytes, up to a maximum number *n*; all others share one entry.
///
/// Flows with the lowest ranks are replaced by new ones, as in [`top_flows`](crate::top_flows), but several at a time:
/// to take one flow out of the store of delays costs as much as to take out many. As many numbers become vacant as
/// flows were replaced before, up to *n*/8, and the new flows start with the highest rank among those replaced. More
/// than ⅞ *n* flows had at least that rank, so it is at most 8/(7*n*) of all bytes, and every flow that has more than
/// that has a number.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    numbers: Table<Number>,
    /// By number; the first is the entry of all others.
    flows: Vec<Flow>,
    most: usize,
    /// Vacant numbers, each with the rank of the flow that had it.
    vacant: BinaryHeap<(u64, u32)>,
    /// The highest rank that was replaced.
    rank: u64,
    /// Number of flows that were replaced.
    replaced: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Flow {
    pub(super) sent: Sum,
    /// The most bytes that it may have had before it got its number.
    pub(super) before: u64,
    pub(super) tally: Tally,
}

impl Flow {
    /// The number of bytes, or of packets where a log does not state sizes.
    fn size(&self) -> u64 {
        self.sent.bytes.max(self.sent.packets)
    }

    fn rank(&self) -> u64 {
        self.before + self.size()
    }

    fn add(&mut self, other: &Self) {
        self.sent.packets += other.sent.packets;
        self.sent.bytes += other.sent.bytes;
        self.tally.merge(&other.tally);
    }
}

/// The number shared by all flows without an entry of their own.
pub(super) const OTHER: u32 = 0;

impl Flows {
    /// Bytes per flow.
    pub(super) const FLOW_BYTES: usize =
        size_of::<Flow>() + Table::<Number>::ENTRY_BYTES + size_of::<(u64, u32)>().div_ceil(Self::PART);

    /// At most one in so many flows is replaced at a time.
    const PART: usize = 8;

    /// Bytes of `most` flows and the entry of all others.
    pub(super) fn bytes(most: usize) -> usize {
        size_of::<Self>()
            + Table::<Number>::bytes_of(Self::slots(most))
            + (most + 1) * size_of::<Flow>()
            + Self::at_once(most) * size_of::<(u64, u32)>()
    }

    fn slots(most: usize) -> usize {
        Table::<Number>::slots_for(most) + 64
    }

    /// The most flows that are replaced at a time.
    fn at_once(most: usize) -> usize {
        (most / Self::PART).max(1)
    }

    /// Room for `most` flows, besides the entry of all others.
    pub(super) fn new(most: usize) -> Self {
        let slots = Self::slots(most);
        Self {
            numbers: Table::new(slots.min(1 << 10), slots),
            flows: vec![Flow::default()],
            most,
            vacant: BinaryHeap::new(),
            rank: 0,
            replaced: 0,
        }
    }

    /// Counts a packet that was sent; returns the number of its flow, and whether the flow got it just now. `None` if
    /// the flow has no number and none is vacant.
    pub(super) fn sent(&mut self, flow: FlowId, bytes: u32) -> Option<(u32, bool)> {
        let (number, is_new) = match self.numbers.find(flow.0) {
            Place::Found(at) => (self.numbers.get(at).number, false),
            Place::Vacant(_) => (self.begin(flow)?, true),
        };
        self.flows[number as usize].sent.add(bytes);
        Some((number, is_new))
    }

    /// Gives a new flow a number.
    fn begin(&mut self, FlowId(flow): FlowId) -> Option<u32> {
        let number = match self.vacant.pop() {
            Some((_, number)) => {
                self.flows[number as usize] = Flow { before: self.rank, tally: Tally::of_part(), ..Flow::default() };
                number
            }
            None if self.flows.len() <= self.most => {
                if self.flows.len() == self.flows.capacity() {
                    self.flows.reserve_exact(self.flows.len().min(self.most + 1 - self.flows.len()));
                }
                self.flows.push(Flow::default());
                self.flows.len() as u32 - 1
            }
            None => return None,
        };
        self.numbers.insert(Number { key: flow, number });
        Some(number)
    }

    /// Adds the flows of the lowest ranks to all others. Returns their numbers, which are vacant, in ascending order.
    #[cold]
    pub(super) fn vacate(&mut self) -> Vec<usize> {
        let at_once = Self::at_once(self.most);
        let number = self.replaced.clamp(1, at_once);
        self.vacant.reserve_exact(at_once);
        for ranked in self.flows.iter().zip(0..).skip(1).map(|(flow, number)| (flow.rank(), number)) {
            if self.vacant.len() < number {
                self.vacant.push(ranked);
            } else if let Some(mut highest) = self.vacant.peek_mut()
                && ranked < *highest
            {
                *highest = ranked;
            }
        }
        self.rank = self.vacant.peek().map_or(self.rank, |&(rank, _)| rank);
        self.replaced += self.vacant.len();
        let mut vacated: Vec<usize> = self.vacant.iter().map(|&(_, number)| number as usize).collect();
        vacated.sort_unstable();
        self.add_to_others(&vacated);
        // A replaced flow may come back while packets that equal its next ones are in flight.
        self.flows[OTHER as usize].tally.become_part();
        let flows = &self.flows;
        self.numbers.rebuild(|entry| flows[entry.number as usize].sent.packets > 0);
        vacated
    }

    fn add_to_others(&mut self, numbers: &[usize]) {
        for &number in numbers {
            let flow = std::mem::take(&mut self.flows[number]);
            self.flows[OTHER as usize].add(&flow);
        }
    }

    /// Adds all flows but `most`, those with the most bytes, to all others. Returns the numbers of these, the one with
    /// the most bytes first, of several the lowest number; and those of the others in ascending order.
    pub(super) fn keep(&mut self, most: usize) -> (Vec<usize>, Vec<usize>) {
        let mut kept: Vec<usize> = (1..self.flows.len()).filter(|&number| !self.is_vacant(number)).collect();
        kept.sort_by_key(|&number| Reverse(self.flows[number].size()));
        let mut vacated = kept.split_off(most.min(kept.len()));
        vacated.sort_unstable();
        self.add_to_others(&vacated);
        (kept, vacated)
    }

    /// Whether the number was that of a flow which is now among all others.
    pub(super) fn is_vacant(&self, number: usize) -> bool {
        number != OTHER as usize && self.flows.get(number).is_some_and(|flow| flow.sent.packets == 0)
    }

    /// Whether no flow was replaced.
    pub(super) fn has_all(&self) -> bool {
        self.replaced == 0
    }

    pub(super) fn add(&mut self, passed: &Passed) {
        self.flows[passed.sent.flow as usize].tally.add(passed);
    }

    /// The flow with this number.
    pub(super) fn get(&self, number: usize) -> &Flow {
        &self.flows[number]
    }

    pub(super) fn state_bytes(&self) -> usize {
        size_of::<Self>()
            + self.numbers.bytes()
            + self.flows.capacity() * size_of::<Flow>()
            + self.vacant.capacity() * size_of::<(u64, u32)>()
    }
}
