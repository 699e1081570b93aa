use super::discipline::{Entry, Waiting};
use super::{Arrival, Settings, SettingsError};
use dwell_types::{Departure, FlowId, Nanos, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// A packet that leaves the queue, and the state of the queue when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What is observed of it.
    pub departure: Departure,
    /// The number of its arrival.
    pub number: u64,
    /// Bytes of its flow that were in the queue when it had arrived, including its own.
    pub flow_bytes: u64,
    /// The same for all flows.
    pub queue_bytes: u64,
    /// Whether it belongs to a burst.
    pub is_burst: bool,
}

/// A queue: a link of a given rate with a buffer in front of it. The caller offers packets in time order and takes
/// those that have departed, so that the fate of the next packet may depend on them.
///
/// A packet is in the queue until it has departed, including the nanosecond of its departure.
#[derive(Clone, Debug)]
pub struct Queue {
    start: Timestamp,
    /// Nanoseconds per byte.
    pace: f64,
    buffer_bytes: u64,
    /// When the link becomes idle, in nanoseconds since the start.
    free: f64,
    waiting: Waiting,
    /// Packets whose transmission has begun, in order.
    leaving: VecDeque<Passage>,
    queue_bytes: u64,
    flows: BTreeMap<FlowId, u64>,
}

impl Queue {
    /// An empty queue; of the settings only start, rate, buffer and discipline are used.
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

    /// The next packet that departed before a time, in nanoseconds since the start; with infinity, the next of all.
    pub fn depart_before(&mut self, at: f64) -> Option<Passage> {
        self.send_until(at);
        let now = self.time(at);
        self.leaving.front().filter(|first| first.departure.departed < now || at.is_infinite())?;
        let passage = self.leaving.pop_front()?;
        let Departure { flow, bytes, .. } = passage.departure;
        self.remove(flow, bytes);
        Some(passage)
    }

    /// Offers a packet, which must not be earlier than the previous one; returns whether there is room for it. All
    /// packets that departed before must have been taken.
    pub fn offer(&mut self, arrival: &Arrival) -> bool {
        let bytes = u64::from(arrival.bytes);
        if self.queue_bytes + bytes > self.buffer_bytes {
            return false;
        }
        self.queue_bytes += bytes;
        let flow_bytes = self.flows.entry(arrival.flow).or_default();
        *flow_bytes += bytes;
        self.waiting.push(Entry { arrival: *arrival, flow_bytes: *flow_bytes, queue_bytes: self.queue_bytes });
        true
    }

    /// Bytes of the packets that are in the queue.
    pub const fn bytes(&self) -> u64 {
        self.queue_bytes
    }

    /// Drops the waiting packet at a relative position from 0 to below 1 if it belongs to this flow; returns its bytes.
    /// Only in queues that are first in, first out.
    pub fn drop_of(&mut self, place: f64, flow: FlowId) -> Option<u32> {
        let Waiting::Fifo(entries) = &mut self.waiting else { return None };
        let at = (place * entries.len() as f64) as usize;
        entries.get(at).filter(|entry| entry.arrival.flow == flow)?;
        let Arrival { bytes, .. } = entries.remove(at)?.arrival;
        self.remove(flow, bytes);
        Some(bytes)
    }

    /// The timestamp of a time in nanoseconds since the start.
    fn time(&self, at: f64) -> Timestamp {
        self.start + Nanos::new(at as i64)
    }

    /// Starts the transmission of packets up to a time.
    fn send_until(&mut self, until: f64) {
        while let Some(Entry { arrival, flow_bytes, queue_bytes }) = self.waiting.pop(self.free, until) {
            let Arrival { number, at, flow, bytes, is_burst } = arrival;
            self.free = self.free.max(at) + f64::from(bytes) * self.pace;
            let departure = Departure { arrived: Some(self.time(at)), departed: self.time(self.free), flow, bytes };
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
