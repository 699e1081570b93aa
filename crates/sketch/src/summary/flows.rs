//! Encoding of a sender's flows and their names.
//!
//! ```text
//! u64 n        flows, then for each
//!   u64        id
//!   u8         class
//!   u64 u64    packets, bytes
//!   u64 m      bytes of the name, then the name in UTF-8
//! ```

use crate::codec::{CodecError, Kind, Reader, Writer};
use dwell_types::{Crossing, FlowId};
use foldhash::HashMap;

/// A flow that a sender saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Its id, as in [`Crossing`].
    pub flow: FlowId,
    /// Its class in the sketches.
    pub class: u8,
    /// Its name for display.
    pub name: String,
    /// Packets that were sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The flows that a sender saw first, up to a maximum number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowList {
    records: Vec<FlowRecord>,
    numbers: HashMap<u64, usize>,
    most: usize,
}

/// Bytes of a record with an empty name.
const LEAST_RECORD: usize = 33;

impl FlowList {
    /// An empty list of at most `most` flows.
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Counts a packet, and returns the index of its flow if that is listed. `name` is called only if the flow is new;
    /// the class of a flow is that of its first packet.
    pub fn update(&mut self, crossing: &Crossing, class: u8, name: impl FnOnce() -> String) -> Option<usize> {
        let flow = crossing.flow;
        let number = match self.numbers.get(&flow.0) {
            Some(&number) => number,
            None if self.records.len() < self.most => {
                self.numbers.insert(flow.0, self.records.len());
                let mut name = name();
                name.shrink_to_fit();
                self.records.push(FlowRecord { flow, class, name, packets: 0, bytes: 0 });
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

    /// Approximate bytes of the list: records, names and index.
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

    /// Decodes the output of [`FlowList::to_bytes`]. Any other bytes give an error.
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

/// Packet counts of listed flows, by index in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    packets: Vec<u32>,
}

impl FlowCounts {
    /// Counts a packet of the flow with this index.
    #[inline]
    pub fn update(&mut self, number: usize) {
        if number >= self.packets.len() {
            self.packets.resize(number + 1, 0);
        }
        self.packets[number] = self.packets[number].saturating_add(1);
    }

    /// Packets of the flow with this index.
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
        self.packets.iter().for_each(|&packets| to.u32(packets));
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let flows = from.count(size_of::<u32>())?;
        let bytes = from.bytes(flows * size_of::<u32>())?;
        Ok(Self { packets: bytes.as_chunks().0.iter().map(|&packets| u32::from_le_bytes(packets)).collect() })
    }
}
