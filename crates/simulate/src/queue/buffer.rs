use super::discipline::{Entry, Waiting};
use super::{Arrival, Settings, SettingsError};
use dwell_types::{Departure, FlowId, Nanos, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// A packet that leaves the queue, and what it found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What is measured.
    pub departure: Departure,
    /// The number of its arrival.
    pub number: u64,
    /// Bytes of its flow that were in the queue when it had arrived, its own included.
    pub flow_bytes: u64,
    /// Of all flows.
    pub queue_bytes: u64,
    /// Whether it belongs to a burst.
    pub is_burst: bool,
}

/// A queue: a line of a given rate, and a buffer before it. Whoever drives it brings packets in the order of time and
/// takes those that have left, so that what becomes of the next one may depend on them.
///
/// A packet is in the queue until it has departed, the nanosecond of its departure included.
#[derive(Clone, Debug)]
pub struct Queue {
    start: Timestamp,
    /// Nanoseconds per byte.
    pace: f64,
    buffer_bytes: u64,
    /// When the line is free, in nanoseconds since the start.
    free: f64,
    waiting: Waiting,
    /// Packets that have begun to leave, in order.
    leaving: VecDeque<Passage>,
    queue_bytes: u64,
    flows: BTreeMap<FlowId, u64>,
}

impl Queue {
    /// An empty queue; of the settings, start, rate, buffer and discipline count.
    pub fn new(settings: &Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            start: settings.start,
            pace: 8e9 / settings.rate,
            buffer_bytes: settings.buffer_bytes.unwrap_or(u64::MAX),
            free: 0.0,
            waiting: Waiting::new(settings.discipline),
            leaving: VecDeque::new(),
            queue_bytes: 0,
            flows: BTreeMap::new(),
        })
    }

    /// The next packet that has departed before a moment, in nanoseconds since the start; all have before infinity.
    pub fn depart_before(&mut self, at: f64) -> Option<Passage> {
        self.send_until(at);
        let now = self.time(at);
        self.leaving.front().filter(|first| first.departure.departed < now || at.is_infinite())?;
        let passage = self.leaving.pop_front()?;
        let Departure { flow, bytes, .. } = passage.departure;
        self.remove(flow, bytes);
        Some(passage)
    }

    /// A packet comes, not before the one that came last, and all that departed before it was taken: whether there is
    /// room for it.
    pub fn offer(&mut self, arrival: &Arrival) -> bool {
        let bytes = u64::from(arrival.bytes);
        if self.queue_bytes + bytes > self.buffer_bytes {
            return false;
        }
        self.queue_bytes += bytes;
        let flow_bytes = self.flows.entry(arrival.flow).or_default();
        *flow_bytes += bytes;
        let Arrival { number, at, flow, bytes, is_burst } = *arrival;
        let (flow_bytes, queue_bytes) = (*flow_bytes, self.queue_bytes);
        self.waiting.push(Entry { number, at, flow, bytes, is_burst, flow_bytes, queue_bytes });
        true
    }

    /// Bytes in the queue, of those who came and have not departed.
    pub const fn bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Drops the packet at a place among those that wait, from 0 to below 1, if it is of this flow: its bytes. Of
    /// queues that are first in, first out.
    pub fn drop_of(&mut self, place: f64, flow: FlowId) -> Option<u32> {
        let Waiting::Fifo(entries) = &mut self.waiting else { return None };
        let at = (place * entries.len() as f64) as usize;
        entries.get(at).filter(|entry| entry.flow == flow)?;
        let Entry { bytes, .. } = entries.remove(at)?;
        self.remove(flow, bytes);
        Some(bytes)
    }

    /// When a moment is.
    pub(super) fn time(&self, at: f64) -> Timestamp {
        self.start + Nanos::new(at as i64)
    }

    /// Lets packets begin to leave.
    fn send_until(&mut self, at: f64) {
        while let Some(entry) = self.waiting.pop(self.free, at) {
            self.free = self.free.max(entry.at) + f64::from(entry.bytes) * self.pace;
            let departure = Departure {
                arrived: Some(self.time(entry.at)),
                departed: self.time(self.free),
                flow: entry.flow,
                bytes: entry.bytes,
            };
            let Entry { number, flow_bytes, queue_bytes, is_burst, .. } = entry;
            self.leaving.push_back(Passage { departure, number, flow_bytes, queue_bytes, is_burst });
        }
    }

    fn remove(&mut self, flow: FlowId, bytes: u32) {
        self.queue_bytes -= u64::from(bytes);
        if let Some(left) = self.flows.get_mut(&flow) {
            *left -= u64::from(bytes);
            if *left == 0 {
                self.flows.remove(&flow);
            }
        }
    }
}
