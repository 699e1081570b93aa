//! Arrivals at the queue: packets of the background and of bursts, in order.

use super::{Background, Bursts, Settings, SettingsError};
use crate::chance::Chance;
use dwell_types::{FlowId, Nanos, Timestamp, hash};
use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// Its number in order of arrival.
    pub number: u64,
    /// Nanoseconds since the stream's start.
    pub at: f64,
    /// The flow that it belongs to.
    pub flow: FlowId,
    /// Its length in bytes.
    pub bytes: u32,
    /// Whether it belongs to a burst rather than to the background.
    pub is_burst: bool,
}

impl Arrival {
    /// The time of arrival in a stream of these settings.
    pub fn time(&self, settings: &Settings) -> Timestamp {
        settings.start + Nanos::new(self.at as i64)
    }
}

/// Packets in order of arrival, without end.
#[derive(Clone, Debug)]
pub struct Arrivals {
    background: Background,
    /// Mean time between two packets of the background, in nanoseconds.
    gap: f64,
    active: Vec<SmallFlow>,
    bursts: Option<Bursts>,
    /// When the next packet of the background arrives.
    small_at: f64,
    /// When the next burst begins.
    burst_at: f64,
    bursting: BinaryHeap<Reverse<LargeFlow>>,
    /// Large flows whose senders have been told to slow down.
    slowed: BTreeMap<FlowId, Slowed>,
    /// Start state of the hash that makes flow ids out of consecutive numbers.
    ids: u64,
    begun: u64,
    arrived: u64,
    chance: Chance,
}

#[derive(Clone, Copy, Debug)]
struct SmallFlow {
    id: FlowId,
    packets_left: u32,
}

/// The factor by which a sender's time between packets is multiplied, and when that last increased.
#[derive(Clone, Copy, Debug)]
struct Slowed {
    factor: f64,
    at: f64,
}

/// A flow of a burst, ordered by the time of its next packet; at equal times, the flow that began first comes first.
#[derive(Clone, Copy, Debug)]
struct LargeFlow {
    at: f64,
    number: u64,
    bytes_left: f64,
}

impl Ord for LargeFlow {
    fn cmp(&self, other: &Self) -> Ordering {
        self.at.total_cmp(&other.at).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for LargeFlow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for LargeFlow {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for LargeFlow {}

impl Arrivals {
    /// The arrivals for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        settings.check_room()?;
        let mut chance = Chance::named(seed, b"arrivals");
        let background = settings.background.clone();
        let mean_bytes = f64::from(background.packet_bytes.start() + background.packet_bytes.end()) / 2.0;
        let mut all = Self {
            gap: mean_bytes * 8e9 / background.rate,
            active: Vec::new(),
            bursts: settings.bursts.clone(),
            small_at: 0.0,
            burst_at: f64::INFINITY,
            bursting: BinaryHeap::new(),
            slowed: BTreeMap::new(),
            ids: chance.bits(),
            begun: 0,
            arrived: 0,
            background,
            chance,
        };
        all.active = (0..all.background.flows).map(|place| all.begin_small(place)).collect();
        all.await_burst(0.0);
        Ok(all)
    }

    fn id(&mut self) -> u64 {
        self.begun += 1;
        self.begun
    }

    fn begin_small(&mut self, place: u32) -> SmallFlow {
        const MOST: f64 = (1u32 << 31) as f64;
        let (least, shape) = self.background.flow_packets;
        let equal = f64::from(least) * libm::exp(self.chance.exponential() / shape);
        let packets =
            if self.background.skew == 0.0 { equal } else { (equal * self.background.weight(place)).max(1.0) };
        SmallFlow { id: FlowId(hash::word(self.ids, self.id())), packets_left: packets.min(MOST) as u32 }
    }

    fn await_burst(&mut self, from: f64) {
        if let Some(bursts) = &self.bursts {
            self.burst_at = from + self.chance.exponential() * bursts.every.get() as f64;
        }
    }

    fn begin_burst(&mut self) {
        let Some(Bursts { senders, bytes: (least, most), shape, .. }) = self.bursts else { return };
        let at = self.burst_at;
        for _ in 0..senders {
            let bytes_left = (least * libm::exp(self.chance.exponential() / shape)).min(most);
            let number = self.id();
            self.bursting.push(Reverse(LargeFlow { at, number, bytes_left }));
        }
        self.await_burst(at);
    }

    fn next_small(&mut self) -> Arrival {
        let at = self.small_at;
        self.small_at += self.chance.exponential() * self.gap;
        let (least, most) = (*self.background.packet_bytes.start(), *self.background.packet_bytes.end());
        let bytes = least + self.chance.below(most - least + 1);
        let place = match self.background.skew {
            0.0 => self.chance.below(self.background.flows),
            _ => self.background.place(self.chance.unit()),
        };
        let SmallFlow { id, packets_left } = self.active[place as usize];
        self.active[place as usize] =
            if packets_left > 1 { SmallFlow { id, packets_left: packets_left - 1 } } else { self.begin_small(place) };
        self.arrived += 1;
        Arrival { number: self.arrived, at, flow: id, bytes, is_burst: false }
    }

    /// The next packet of the burst flow that is due.
    fn next_large(&mut self) -> Option<Arrival> {
        let bursts = self.bursts.as_ref()?;
        let Reverse(flow) = self.bursting.pop()?;
        let id = FlowId(hash::word(self.ids, flow.number));
        let bytes = f64::from(bursts.packet_bytes).min(flow.bytes_left).max(1.0);
        let factor = self.slowed.get(&id).map_or(1.0, |slowed| slowed.factor);
        let (at, bytes_left) = (flow.at + bytes * 8e9 / bursts.rate * factor, flow.bytes_left - bytes);
        if bytes_left >= 1.0 {
            self.bursting.push(Reverse(LargeFlow { at, bytes_left, ..flow }));
        } else {
            self.slowed.remove(&id);
        }
        self.arrived += 1;
        Some(Arrival { number: self.arrived, at: flow.at, flow: id, bytes: bytes as u32, is_burst: true })
    }

    /// Tells a sender at a given time that its flow builds a queue: a flow of a burst then halves its rate, at most
    /// once in a round trip, until it ends.
    pub fn slow_down(&mut self, flow: FlowId, at: f64, round_trip: f64) {
        let is_of = |Reverse(large): &Reverse<LargeFlow>| FlowId(hash::word(self.ids, large.number)) == flow;
        if !self.bursting.iter().any(is_of) {
            return;
        }
        let slowed = self.slowed.entry(flow).or_insert(Slowed { factor: 1.0, at: f64::NEG_INFINITY });
        if at >= slowed.at + round_trip {
            *slowed = Slowed { factor: 2.0 * slowed.factor, at };
        }
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        loop {
            let large_at = self.bursting.peek().map_or(f64::INFINITY, |Reverse(flow)| flow.at);
            if self.burst_at <= self.small_at.min(large_at) {
                self.begin_burst();
            } else if large_at > self.small_at {
                return Some(self.next_small());
            } else {
                return self.next_large();
            }
        }
    }
}
