//! The flows of a sender by name, as bytes.
//!
//! ```text
//! u64 n        flows, then for each
//!   u64        id
//!   u8         class
//!   u64 u64    packets, bytes
//!   u64 m      bytes of the name, then the name in UTF-8
//! ```

use super::JoinedFlows;
use crate::codec::{CodecError, Kind, Reader, Writer};
use crate::estimate::{Estimate, Z95};
use crate::lds::{Comparison, Figure, Listed, Rule};
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

    /// Counts a packet, and gives its flow's place if that is listed; the name is asked for only where the flow is new,
    /// and the first packet's class is that of the flow.
    pub fn update(&mut self, crossing: &Crossing, class: u8, name: impl FnOnce() -> String) -> Option<usize> {
        let flow = crossing.flow;
        let number = match self.numbers.get(&flow.0) {
            Some(&number) => number,
            None if self.records.len() < self.most => {
                self.numbers.insert(flow.0, self.records.len());
                self.records.push(FlowRecord { flow, class, name: name(), packets: 0, bytes: 0 });
                self.records.len() - 1
            }
            None => return None,
        };
        let record = &mut self.records[number];
        record.packets += 1;
        record.bytes += u64::from(crossing.bytes);
        Some(number)
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

/// The packets of listed flows, by their places in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    packets: Vec<u32>,
}

impl FlowCounts {
    /// Counts a packet of the flow at a place.
    #[inline]
    pub fn update(&mut self, number: usize) {
        if number >= self.packets.len() {
            self.packets.resize(number + 1, 0);
        }
        self.packets[number] = self.packets[number].saturating_add(1);
    }

    /// Packets of the flow at a place.
    pub fn packets(&self, number: usize) -> u64 {
        self.packets.get(number).copied().unwrap_or(0).into()
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.packets.resize(self.packets.len().max(other.packets.len()), 0);
        for (ours, theirs) in self.packets.iter_mut().zip(&other.packets) {
            *ours = ours.saturating_add(*theirs);
        }
    }

    pub(super) fn reset(&mut self) {
        self.packets.clear();
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<u32>()
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.u64(self.packets.len() as u64);
        self.packets.iter().for_each(|packets| to.bytes(&packets.to_le_bytes()));
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let flows = from.count(size_of::<u32>())?;
        let bytes = from.bytes(flows * size_of::<u32>())?;
        let packets = |bytes: &[u8]| bytes.iter().rev().fold(0, |packets, &byte| packets << 8 | u32::from(byte));
        Ok(Self { packets: bytes.chunks(size_of::<u32>()).map(packets).collect() })
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
    /// Σ packets².
    squares: f64,
    /// Σ packets · (mean of an interval − that of all)².
    spread: f64,
    /// Σ (packets · standard error)².
    error: f64,
    lost: f64,
    sent: f64,
}

impl FlowMeans {
    /// Adds what both points say of an interval. Flows are those of the list, in its order, which may have grown. Every
    /// packet counts the same, in whichever interval it was. Sketches of different kinds say nothing.
    pub fn add(&mut self, JoinedFlows { sender, receiver, listed: counts }: &JoinedFlows, list: &FlowList) {
        let Ok(comparison) = Comparison::new(sender, receiver) else { return };
        let present: Vec<(usize, Listed)> = list
            .records()
            .iter()
            .enumerate()
            .map(|(number, record)| {
                let packets = Some(counts.packets(number));
                (number, Listed { flow: record.flow, class: record.class, packets })
            })
            .filter(|(_, listed)| listed.packets != Some(0))
            .collect();
        let listed: Vec<Listed> = present.iter().map(|&(_, listed)| listed).collect();
        self.flows.resize(list.records().len().max(self.flows.len()), Sums::default());
        let delays = comparison.joint_delays(&listed);
        for (place, (number, listed)) in present.into_iter().enumerate() {
            let (sums, packets) = (&mut self.flows[number], counts.packets(number) as f64);
            // Losses by the row that is disturbed least: to decode them fails where a flow has several cells.
            let least = comparison.estimate(listed.flow, listed.class, Rule::UpperBound);
            sums.sent += packets;
            if let Some(lost) = least.lost {
                sums.lost += lost.value;
            }
            // Of a flow whose cells are all spoilt nothing is known but what others say.
            let delay = delays.as_ref().map(|delays| delays[place]).filter(|_| least.mean_delay_ns.is_some());
            if let Some((mean, error)) = delay.and_then(known) {
                let off = mean - sums.mean;
                sums.packets += packets;
                sums.mean += off * packets / sums.packets;
                sums.squares += packets * packets;
                sums.spread += packets * off * (mean - sums.mean);
                sums.error += (packets * error).powi(2);
            }
        }
    }

    /// Mean delay of a flow's packets in nanoseconds, by its place in the list; `None` if no interval tells. Intervals
    /// that do not tell are taken for ones like those that do.
    pub fn mean(&self, number: usize) -> Option<Estimate<f64>> {
        let sums = self.flows.get(number).filter(|sums| sums.packets > 0.0)?;
        let reach = Z95 * (sums.error / sums.packets.powi(2) + sums.of_those_that_tell()).sqrt();
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

impl Sums {
    /// Variance of the mean since some intervals say nothing: that between the others over their effective number, for
    /// the share of packets that is missing.
    fn of_those_that_tell(&self) -> f64 {
        let missing = (1.0 - self.packets / self.sent).max(0.0);
        let intervals = self.packets.powi(2) / self.squares;
        // One interval, or one beside which the others are nothing, does not tell how they differ.
        if intervals < 1.01 { 0.0 } else { missing * self.spread / self.packets / (intervals - 1.0) }
    }
}

/// The value with its standard error, where that is known.
fn known(figure: Figure) -> Option<(f64, f64)> {
    figure.interval.map(|(low, high)| (figure.value, (high - low) / (2.0 * Z95)))
}
