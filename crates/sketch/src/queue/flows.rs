//! The flows of an episode with the most bytes: space-saving (Metwally, Agrawal and El Abbadi, 2005) with names.

use crate::parts::table::{Entry, Place, Table};
use dwell_types::FlowId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The flows of an episode and their bytes, up to a maximum number of flows. Bytes that departed after the last long
/// delay are also counted separately (the tail), since they may turn out not to belong to the episode.
#[derive(Clone, Debug)]
pub(super) struct Flows {
    table: Table<Flow>,
    most: usize,
    /// Once the table is full: every flow with the bytes that it had when it was last the smallest.
    smallest: BinaryHeap<Reverse<Size>>,
    /// By `Flow::name`.
    names: Vec<String>,
    /// Total capacity of the names.
    name_bytes: usize,
    /// Number of long delays so far; each ends the tail before it.
    epoch: u64,
    /// Whether all flows had an entry.
    has_all: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    flow: u64,
    /// Including the tail; never too low.
    bytes: u64,
    /// The part that may belong to flows that had this entry before.
    error: u64,
    /// The part of `bytes` after the last long delay, if `epoch` is the current one.
    tail: u64,
    epoch: u64,
    culprits: u64,
    peak_share: f64,
    name: u32,
}

/// The bytes of a flow, which are compared first, then its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Size {
    bytes: u64,
    name: u32,
    flow: u64,
}

impl Entry for Flow {
    #[inline]
    fn key(&self) -> u64 {
        self.flow
    }
}

/// A flow with culprits in an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInQueue {
    /// Its name for display.
    pub name: String,
    /// Lower bound of the bytes that departed during the episode.
    pub bytes: u64,
    /// Upper bound of these bytes; above `bytes` only if some flows had no entry.
    pub most_bytes: u64,
    /// Its packets that were culprits.
    pub culprit_packets: u64,
    /// The largest share of the queue that the flow had for one of its packets, among those that waited for *τ*.
    pub peak_share: f64,
}

/// Sizes of the flows of an episode, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSizes {
    /// Number of flows.
    pub flows: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// Maximum.
    pub max: u64,
}

/// The contribution of a packet to its flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) flow: FlowId,
    pub(super) bytes: u32,
    /// It waited for *τ*: the tail up to here belongs to the episode.
    pub(super) is_long: bool,
    pub(super) is_culprit: bool,
    /// The share of the queue that its flow had.
    pub(super) share: f64,
}

impl Flows {
    pub(super) fn new(most: usize) -> Self {
        let most = most.max(1);
        let slots = Self::slots(most);
        Self {
            table: Table::new(slots, slots),
            most,
            smallest: BinaryHeap::with_capacity(most),
            names: Vec::with_capacity(most),
            name_bytes: 0,
            epoch: 0,
            has_all: true,
        }
    }

    const fn slots(flows: usize) -> usize {
        Table::<Flow>::slots_for(flows) + 1
    }

    /// Heap bytes of a table of this many flows, without names.
    pub(super) const fn bytes(flows: usize) -> usize {
        const FLOW_BYTES: usize = size_of::<Reverse<Size>>() + size_of::<String>();
        Table::<Flow>::bytes_of(Self::slots(flows)).saturating_add(flows.saturating_mul(FLOW_BYTES))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let sizes = self.smallest.capacity() * size_of::<Reverse<Size>>();
        self.table.bytes() + sizes + self.names.capacity() * size_of::<String>() + self.name_bytes
    }

    pub(super) fn clear(&mut self) {
        self.table.rebuild(|_| false);
        self.smallest.clear();
        self.names.clear();
        (self.name_bytes, self.epoch, self.has_all) = (0, 0, true);
    }

    pub(super) fn add(&mut self, packet: &Packet, name: impl FnOnce() -> String) {
        self.epoch += u64::from(packet.is_long);
        let epoch = self.epoch;
        let at = self.find(packet.flow, name);
        let flow = self.table.get_mut(at);
        let bytes = u64::from(packet.bytes);
        flow.bytes += bytes;
        let before = if flow.epoch == epoch { flow.tail } else { 0 };
        flow.tail = if packet.is_long { 0 } else { before + bytes };
        flow.epoch = epoch;
        if packet.is_long {
            flow.culprits += u64::from(packet.is_culprit);
            flow.peak_share = flow.peak_share.max(packet.share);
        }
    }

    /// The entry of a flow; if it is new and the table is full, it replaces the smallest flow and takes over its count.
    fn find(&mut self, flow: FlowId, name: impl FnOnce() -> String) -> usize {
        if let Place::Found(at) = self.table.find(flow.0) {
            return at;
        }
        let mut name = name();
        name.shrink_to_fit();
        self.name_bytes += name.capacity();
        let entry = if self.names.len() < self.most {
            self.names.push(name);
            Flow { flow: flow.0, name: self.names.len() as u32 - 1, ..Flow::default() }
        } else {
            let smallest = self.replace_smallest(flow);
            let before = std::mem::replace(&mut self.names[smallest.name as usize], name);
            self.name_bytes -= before.capacity();
            self.has_all = false;
            Flow { flow: flow.0, name: smallest.name, bytes: smallest.bytes, error: smallest.bytes, ..Flow::default() }
        };
        match self.table.find(flow.0) {
            Place::Found(at) => at,
            Place::Vacant(at) => {
                self.table.put(at, entry);
                at
            }
        }
    }

    /// Takes the smallest flow out of the table, of several the one whose name is stored first, and puts another one
    /// into its place in `smallest`. Bytes only grow: the first one there that has not grown is the smallest.
    fn replace_smallest(&mut self, by: FlowId) -> Size {
        if self.smallest.is_empty() {
            let sizes = self.table.iter().map(|&Flow { bytes, name, flow, .. }| Size { bytes, name, flow });
            self.smallest.extend(sizes.map(Reverse));
        }
        while let Some(mut first) = self.smallest.peek_mut() {
            let Reverse(smallest) = *first;
            let Place::Found(at) = self.table.find(smallest.flow) else {
                PeekMut::pop(first);
                continue;
            };
            let now = self.table.get(at).bytes;
            if now == smallest.bytes {
                self.table.remove(at);
                first.0.flow = by.0;
                return smallest;
            }
            first.0.bytes = now;
        }
        Size::default()
    }

    /// Bytes of a flow up to the last long delay: lower and upper bound.
    fn bounds(&self, flow: &Flow) -> (u64, u64) {
        let tail = if flow.epoch == self.epoch { flow.tail } else { 0 };
        let most = flow.bytes - tail;
        (most.saturating_sub(flow.error), most)
    }

    /// At most `most` flows with culprits, those with the most bytes first.
    pub(super) fn culprits(&self, most: usize) -> Vec<FlowInQueue> {
        let mut culprits: Vec<&Flow> = self.table.iter().filter(|flow| flow.culprits > 0).collect();
        culprits.sort_by_key(|flow| (Reverse(self.bounds(flow)), flow.name));
        let told = |flow: &&Flow| {
            let (bytes, most_bytes) = self.bounds(flow);
            FlowInQueue {
                name: self.names[flow.name as usize].clone(),
                bytes,
                most_bytes,
                culprit_packets: flow.culprits,
                peak_share: flow.peak_share,
            }
        };
        culprits.iter().take(most).map(told).collect()
    }

    /// The distribution of flow sizes; `None` if some flows had no entry.
    pub(super) fn sizes(&self) -> Option<FlowSizes> {
        let mut sizes: Vec<u64> =
            self.table.iter().map(|flow| self.bounds(flow).1).filter(|&bytes| bytes > 0).collect();
        sizes.sort_unstable();
        let max = sizes.last().copied().filter(|_| self.has_all)?;
        let rank = |percent: usize| sizes[(sizes.len() * percent).div_ceil(100).max(1) - 1];
        Some(FlowSizes { flows: sizes.len() as u64, p50: rank(50), p90: rank(90), p99: rank(99), max })
    }
}
