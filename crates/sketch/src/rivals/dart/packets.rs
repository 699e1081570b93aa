use crate::parts::lapse::ShortTime;
use dwell_types::{Nanos, Timestamp, hash};

/// A segment in flight: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Of the flow and direction.
    pub(super) signature: u32,
    /// The acknowledgement number that answers it.
    pub(super) end: u32,
    at: ShortTime,
    tag: u16,
}

/// No series has this tag: five legs of 2¹³ groups are fewer.
const VACANT: u16 = u16::MAX;

impl Record {
    const NONE: Self = Self { signature: 0, end: 0, at: ShortTime::of(Timestamp::from_nanos(0)), tag: VACANT };

    pub(super) fn new(signature: u32, end: u32, at: Timestamp, tag: u16) -> Self {
        Self { signature, end, at: ShortTime::of(at), tag }
    }

    /// Time from the segment to `at`.
    #[inline]
    pub(super) fn age(&self, at: Timestamp) -> Nanos {
        self.at.since(at)
    }

    /// Whether more than `age` lies between the segment and `at`, in either direction.
    #[inline]
    pub(super) fn is_older(&self, at: Timestamp, age: Nanos) -> bool {
        self.age(at).is_farther_than(age)
    }

    pub(super) fn tag(&self) -> u16 {
        self.tag
    }

    fn is_vacant(&self) -> bool {
        self.tag == VACANT
    }

    fn is_of(&self, signature: u32, end: u32) -> bool {
        self.signature == signature && self.end == end && !self.is_vacant()
    }
}

/// The packet tracker: records in stages, each with its own hash.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    slots: Vec<Record>,
    /// Start of each stage's hash.
    starts: Vec<u64>,
    /// Slots of a stage.
    each: u32,
}

impl Packets {
    pub(super) const SLOT_BYTES: usize = size_of::<Record>();

    /// This many slots in all stages together; a remainder that cannot be divided evenly is unused.
    pub(super) fn new(slots: u32, stages: u32, seed: u64) -> Self {
        let each = slots / stages;
        Self {
            slots: vec![Record::NONE; (each * stages) as usize],
            starts: (0..stages).map(|stage| hash::start(hash::word(seed, stage.into()))).collect(),
            each,
        }
    }

    #[inline]
    fn place(&self, stage: usize, signature: u32, end: u32) -> usize {
        let key = u64::from(signature) << 32 | u64::from(end);
        let hash = (hash::word(self.starts[stage], key) >> 32) as u32;
        stage * self.each as usize + hash::index(hash, self.each) as usize
    }

    /// Puts a record into its first vacant place, or else into that of this stage; returns the record that was there.
    #[inline]
    pub(super) fn put(&mut self, record: Record, stage: usize) -> Option<Record> {
        let places = (0..self.starts.len()).map(|stage| self.place(stage, record.signature, record.end));
        let vacant = places.into_iter().find(|&at| self.slots[at].is_vacant());
        let at = vacant.unwrap_or_else(|| self.place(stage, record.signature, record.end));
        let there = std::mem::replace(&mut self.slots[at], record);
        (!there.is_vacant()).then_some(there)
    }

    /// Removes a record and returns it.
    #[inline]
    pub(super) fn take(&mut self, signature: u32, end: u32) -> Option<Record> {
        let mut places = (0..self.starts.len()).map(|stage| self.place(stage, signature, end));
        let at = places.find(|&at| self.slots[at].is_of(signature, end))?;
        Some(std::mem::replace(&mut self.slots[at], Record::NONE))
    }

    /// Removes every record for which `keep` is false.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&Record) -> bool) {
        for record in self.slots.iter_mut().filter(|record| !record.is_vacant()) {
            if !keep(record) {
                *record = Record::NONE;
            }
        }
    }

    /// All records.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.slots.iter().filter(|record| !record.is_vacant())
    }

    /// Number of slots.
    pub(super) fn slots(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Number of stages.
    pub(super) fn stages(&self) -> u32 {
        self.starts.len() as u32
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Record>() + self.starts.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(end: u32) -> Record {
        Record::new(7, end, Timestamp::from_nanos(-5), 1)
    }

    #[test]
    fn a_record_has_16_bytes_and_its_time_wraps() {
        assert_eq!(Packets::SLOT_BYTES, 16);
        for at in [-5, (1 << 48) - 10, 1_700_000_000_000_000_000] {
            let record = Record::new(7, 1, Timestamp::from_nanos(at), 0);
            assert_eq!(record.age(Timestamp::from_nanos(at + (1 << 30))), Nanos::new(1 << 30));
            assert!(record.is_older(Timestamp::from_nanos(at + 100), Nanos::new(99)));
            assert!(!record.is_older(Timestamp::from_nanos(at - 99), Nanos::new(99)));
        }
    }

    /// With one slot per stage, the third record evicts the one of the given stage.
    #[test]
    fn vacant_places_first_then_the_one_that_is_named() {
        for stage in 0..2 {
            let mut packets = Packets::new(2, 2, 1);
            assert_eq!((packets.put(record(1), 1), packets.put(record(2), 1)), (None, None));
            let evicted = packets.put(record(3), stage);
            assert_eq!(evicted, Some(record(1 + stage as u32)));
            assert_eq!(packets.take(7, 3), Some(record(3)));
            assert_eq!((packets.take(7, 3), packets.iter().count()), (None, 1));
        }
    }

    /// Of 2,048 records 4 are lost; were 10 the mean, 40 would be lost by chance in 10⁻¹² of the choices of seeds. One
    /// stage, the control, must fail.
    #[test]
    fn every_record_is_found_in_a_half_full_table() {
        let mut packets = Packets::new(1 << 12, 4, 1);
        let lost: Vec<u32> = (0..1 << 11).filter_map(|end| Some(packets.put(record(end), 0)?.end)).collect();
        assert!(lost.len() < 40, "{}", lost.len());
        let mut one = Packets::new(1 << 12, 1, 1);
        let lost_in_one = (0..1 << 11).filter(|&end| one.put(record(end), 0).is_some()).count();
        assert!(lost_in_one >= 40, "{lost_in_one}");
        assert!((0..1 << 11).all(|end| packets.take(7, end).is_some() != lost.contains(&end)));
        assert_eq!((packets.iter().count(), packets.slots(), packets.stages()), (0, 1 << 12, 4));
    }
}
