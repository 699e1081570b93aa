use super::arrivals::Arrivals;
use super::{Settings, SettingsError};
use dwell_types::{Departure, FlowId, Nanos, Timestamp};
use std::collections::{BTreeMap, VecDeque};

/// A packet that leaves the queue, and what it found there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// What is measured.
    pub departure: Departure,
    /// Bytes of its flow that were in the queue when it had arrived, its own included.
    pub flow_bytes: u64,
    /// Of all flows.
    pub queue_bytes: u64,
}

/// The packets that pass a queue that is first in, first out, in the order of departure, as [`Settings`] describe them.
///
/// The truth is kept as a queue is: packets are added when they arrive and taken out after they have departed. A packet that departs at
/// the nanosecond at which another one arrives is in the queue with it.
#[derive(Clone, Debug)]
pub struct Passages {
    arrivals: Arrivals,
    start: Timestamp,
    /// Nanoseconds per byte.
    pace: f64,
    buffer_bytes: u64,
    packets: u64,
    departed: u64,
    dropped: u64,
    /// When the line is free, in nanoseconds since the start.
    free: f64,
    queue: VecDeque<Departure>,
    queue_bytes: u64,
    flows: BTreeMap<FlowId, u64>,
}

impl Passages {
    /// The stream of these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        Ok(Self {
            arrivals: Arrivals::new(settings, seed),
            start: settings.start,
            pace: 8e9 / settings.rate,
            buffer_bytes: settings.buffer_bytes.unwrap_or(u64::MAX),
            packets: settings.packets,
            departed: 0,
            dropped: 0,
            free: 0.0,
            queue: VecDeque::new(),
            queue_bytes: 0,
            flows: BTreeMap::new(),
        })
    }

    /// Packets that found no room so far.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn leave_before(&mut self, at: Timestamp) {
        while let Some(&first) = self.queue.front()
            && first.departed < at
        {
            self.queue.pop_front();
            self.queue_bytes -= u64::from(first.bytes);
            if let Some(bytes) = self.flows.get_mut(&first.flow) {
                *bytes -= u64::from(first.bytes);
                if *bytes == 0 {
                    self.flows.remove(&first.flow);
                }
            }
        }
    }
}

impl Iterator for Passages {
    type Item = Passage;

    fn next(&mut self) -> Option<Passage> {
        if self.departed == self.packets {
            return None;
        }
        loop {
            let arrival = self.arrivals.next();
            let arrived = self.start + Nanos::new(arrival.at as i64);
            self.leave_before(arrived);
            let bytes = u64::from(arrival.bytes);
            if self.queue_bytes + bytes > self.buffer_bytes {
                self.dropped += 1;
                continue;
            }
            self.free = self.free.max(arrival.at) + f64::from(arrival.bytes) * self.pace;
            let departed = self.start + Nanos::new(self.free as i64);
            let departure = Departure { arrived: Some(arrived), departed, flow: arrival.flow, bytes: arrival.bytes };
            self.queue.push_back(departure);
            self.queue_bytes += bytes;
            let flow_bytes = self.flows.entry(arrival.flow).or_default();
            *flow_bytes += bytes;
            self.departed += 1;
            return Some(Passage { departure, flow_bytes: *flow_bytes, queue_bytes: self.queue_bytes });
        }
    }
}
