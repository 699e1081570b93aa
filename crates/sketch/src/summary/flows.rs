//! The flows of a sender by name, as bytes.
//!
//! ```text
//! u64 n        flows, then for each
//!   u64        id
//!   u8         class
//!   u64 u64    packets, bytes
//!   u64 m      bytes of the name, then the name in UTF-8
//! ```

use crate::codec::{CodecError, Kind, Reader, Writer};
use crate::estimate::{Estimate, Z95};
use crate::lds::{Comparison, Figure, Lds, Listed, Rule};
use dwell_types::{Crossing, FlowId};
use std::collections::HashMap;

/// A flow that a sender saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// As in [`Crossing`].
    pub flow: FlowId,
    /// Its class in the sketches.
    pub class: u8,
    /// What people call it.
    pub name: String,
    /// Packets that were sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The flows that a sender saw first, as many as it lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowList {
    records: Vec<FlowRecord>,
    numbers: HashMap<u64, usize>,
    most: usize,
}

/// A record with an empty name.
const LEAST_RECORD: usize = 33;

impl FlowList {
    /// An empty list of at most so many flows.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts a packet; the name is asked for only where the flow is new, and the first packet's class is that of the
    /// flow.
    pub fn update(&mut self, crossing: &Crossing, class: u8, name: impl FnOnce() -> String) {
        let flow = crossing.flow;
        let number = match self.numbers.get(&flow.0) {
            Some(&number) => number,
            None if self.records.len() < self.most => {
                self.numbers.insert(flow.0, self.records.len());
                self.records.push(FlowRecord { flow, class, name: name(), packets: 0, bytes: 0 });
                self.records.len() - 1
            }
            None => return,
        };
        let record = &mut self.records[number];
        record.packets += 1;
        record.bytes += u64::from(crossing.bytes);
    }

    /// The flows in the order of their first packets.
    pub fn records(&self) -> &[FlowRecord] {
        &self.records
    }

    /// Bytes that the list takes, roughly: names, and what finds them.
    pub fn state_bytes(&self) -> usize {
        let names: usize = self.records.iter().map(|record| record.name.capacity()).sum();
        names + self.records.capacity() * size_of::<FlowRecord>() + self.numbers.capacity() * 24
    }

    /// The list as bytes; equal contents give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = Writer::new(Kind::Flows);
        to.u64(self.records.len() as u64);
        for record in &self.records {
            to.u64(record.flow.0);
            to.u8(record.class);
            to.u64(record.packets);
            to.u64(record.bytes);
            to.u64(record.name.len() as u64);
            to.bytes(record.name.as_bytes());
        }
        to.finish()
    }

    /// The list that [`FlowList::to_bytes`] wrote. Bytes that are none give an error, whatever they are.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CodecError> {
        let mut from = Reader::new(bytes, Kind::Flows)?;
        let count = from.count(LEAST_RECORD)?;
        let mut list = Self::new(count);
        for number in 0..count {
            let flow = FlowId(from.u64()?);
            let class = from.u8()?;
            let (packets, bytes) = (from.u64()?, from.u64()?);
            let length = from.count(1)?;
            let name = String::from_utf8(from.bytes(length)?).map_err(|_| CodecError::Value("name of a flow"))?;
            if list.numbers.insert(flow.0, number).is_some() {
                return Err(CodecError::Value("flow twice"));
            }
            list.records.push(FlowRecord { flow, class, name, packets, bytes });
        }
        from.finish()?;
        Ok(list)
    }
}

/// The delays of listed flows, interval by interval added up.
#[derive(Clone, Debug, Default)]
pub struct FlowMeans {
    flows: Vec<Sums>,
}

/// Sums over intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: f64,
    mean: f64,
    /// Σ (packets · standard error)².
    error: f64,
    lost: f64,
    sent: f64,
}

impl FlowMeans {
    /// Adds what the sketches of both points say of an interval. Flows are those of the list, in its order, which may
    /// have grown. Every packet counts the same, in whichever interval it was. Sketches of different kinds say nothing.
    pub fn add(&mut self, (sent, received): &(Lds, Lds), list: &FlowList) {
        let Ok(comparison) = Comparison::new(sent, received) else { return };
        let listed = |record: &FlowRecord| Listed { flow: record.flow, class: record.class, packets: None };
        let listed: Vec<Listed> = list.records().iter().map(listed).collect();
        self.flows.resize(listed.len().max(self.flows.len()), Sums::default());
        for ((sums, estimate), flow) in self.flows.iter_mut().zip(comparison.joint(&listed)).zip(&listed) {
            // Numbers of packets by the row that is disturbed least: decoding them fails where a flow has several
            // cells.
            let least = comparison.estimate(flow.flow, flow.class, Rule::UpperBound);
            let Some(packets) = least.packets.map(|packets| packets.value).filter(|&packets| packets >= 0.5) else {
                continue;
            };
            sums.sent += packets;
            if let Some(lost) = least.lost {
                sums.lost += lost.value;
            }
            // Of a flow whose cells are all spoilt nothing is known but what others say.
            let is_seen = least.mean_delay_ns.is_some();
            if let Some((mean, error)) = estimate.mean_delay_ns.and_then(known).filter(|_| is_seen) {
                sums.packets += packets;
                sums.mean += (mean - sums.mean) * packets / sums.packets;
                sums.error += (packets * error).powi(2);
            }
        }
    }

    /// Mean delay of a flow's packets in nanoseconds, by its place in the list; `None` if no interval tells.
    pub fn mean(&self, number: usize) -> Option<Estimate<f64>> {
        let sums = self.flows.get(number).filter(|sums| sums.packets > 0.0)?;
        let reach = Z95 * sums.error.sqrt() / sums.packets;
        Some(Estimate { value: sums.mean, low: sums.mean - reach, high: sums.mean + reach })
    }

    /// Packets of a flow in the intervals that its mean delay rests on.
    pub fn packets(&self, number: usize) -> f64 {
        self.flows.get(number).map_or(0.0, |sums| sums.packets)
    }

    /// Packets of a flow that were lost in usable intervals, at most: others in its cells can only raise it. `None` if
    /// it has none there.
    pub fn lost(&self, number: usize) -> Option<Estimate<f64>> {
        let sums = self.flows.get(number).filter(|sums| sums.sent > 0.0)?;
        let high = sums.lost.min(sums.sent);
        Some(Estimate { value: high, low: 0.0, high })
    }
}

/// The value with its standard error, where that is known.
fn known(figure: Figure) -> Option<(f64, f64)> {
    figure.interval.map(|(low, high)| (figure.value, (high - low) / (2.0 * Z95)))
}
