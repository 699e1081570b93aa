//! The data of repeated requests, stored separately from the entries since they are rare.

use super::slot::Table;
use crate::codec::{CodecError, Reader, Writer};
use crate::parts::repeats::{Tokens, byte, pack, unpack};
use dwell_types::Nanos;

/// One place for every `SLOTS_PER_PLACE` slots. A repeated entry uses the place of its slot; if another one occupies
/// that, the repeat is taken for the first request, as if that had been overwritten.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    places: Vec<Place>,
    has_tokens: bool,
}

/// The repeats of one entry.
#[derive(Clone, Copy, Debug)]
struct Place {
    slot: u32,
    /// Time from the first to the last equal request in units of 64 ns, rounded down and packed.
    after: u32,
    /// One byte of the last request's token.
    token: u8,
}

const FREE: Place = Place { slot: u32::MAX, after: 0, token: 0 };
const SLOTS_PER_PLACE: u32 = 64;
const LEAST_PLACES: u32 = 4;
const UNIT_BITS: u32 = 6;

impl Repeated {
    /// For this many slots.
    pub(super) fn new(slots: u32, has_tokens: bool) -> Self {
        Self { places: vec![FREE; Self::places(slots)], has_tokens }
    }

    fn places(slots: u32) -> usize {
        (slots / SLOTS_PER_PLACE).max(LEAST_PLACES) as usize
    }

    /// Bytes for so many slots.
    pub(super) fn bytes(slots: u32) -> usize {
        Self::places(slots) * size_of::<Place>()
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Place>()
    }

    fn place(&self, slot: usize) -> usize {
        slot % self.places.len()
    }

    /// Records that the entry of a slot was repeated this long after its first request; false if its place is taken.
    pub(super) fn repeat(&mut self, table: &Table, slot: usize, after: Nanos, token: u32) -> bool {
        let at = self.place(slot);
        let other = self.places[at].slot;
        if other != slot as u32 && other != FREE.slot && table.get(other as usize).is_repeated() {
            return false;
        }
        let after = pack(after.get().max(0).unsigned_abs() >> UNIT_BITS, u32::BITS) as u32;
        let token = if self.has_tokens { byte(token) } else { 0 };
        self.places[at] = Place { slot: slot as u32, after, token };
        true
    }

    /// Time from the first to the last request of a slot whose entry was repeated.
    pub(super) fn after(&self, slot: usize) -> Nanos {
        let packed = u64::from(self.places[self.place(slot)].after);
        Nanos::new((unpack(packed, u32::BITS) << UNIT_BITS) as i64)
    }

    /// The bytes of both tokens; `first` is that of the entry.
    pub(super) fn tokens(&self, slot: usize, first: u8) -> Tokens {
        Tokens { first, last: self.places[self.place(slot)].token }
    }

    /// Writes for every place its slot, the time between the requests in units of 64 ns, and a byte of the token.
    pub(super) fn write(&self, to: &mut Writer) {
        for place in &self.places {
            to.u64(u64::from(place.slot) | u64::from(place.after) << 32);
            to.u8(place.token);
        }
    }

    /// Reads what was written of one of the same shape.
    pub(super) fn read(mut self, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        for place in &mut self.places {
            let both = from.u64()?;
            *place = Place { slot: both as u32, after: (both >> 32) as u32, token: from.u8()? };
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::slot::Layout;
    use super::*;
    use dwell_types::Timestamp;

    #[test]
    fn a_place_is_held_while_its_entry_waits() {
        let mut table = Table::new(256, Layout::new(256, None, 1, true, Nanos::from_secs(60)).unwrap());
        let mut repeated = Repeated::new(256, true);
        let mut repeat = |table: &mut Table, slot: usize, after: i64| {
            let is_noted = repeated.repeat(table, slot, Nanos::new(after), 9);
            if is_noted {
                table.set(slot, table.get(slot).repeated());
            }
            (is_noted, repeated.after(slot).get(), repeated.tokens(slot, 3))
        };
        for slot in [0, 4] {
            table.set(slot, table.open(0, Timestamp::from_nanos(0), 0, 3));
        }
        let tokens = Tokens { first: 3, last: byte(9) };
        assert_eq!(repeat(&mut table, 0, 6_400), (true, 6_400, tokens));
        assert_eq!(repeat(&mut table, 0, 2_000_000_000_000), (true, 1_999_999_991_808, tokens));
        assert_eq!(repeat(&mut table, 0, i64::MAX), (true, (64 << 10) * i64::from(i32::MAX), tokens));
        assert!(!repeat(&mut table, 4, 64).0, "4 places: the fifth slot shares that of the first");
        table.set(0, table.get(0).answered());
        assert_eq!(repeat(&mut table, 4, 64), (true, 64, tokens));
    }
}
