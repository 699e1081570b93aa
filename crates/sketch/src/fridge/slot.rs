//! Packed entries of a few bytes each.

use super::FridgeError;
use crate::codec::{CodecError, Reader, Writer};
use crate::meter::Rounding;
use crate::parts::batch::CACHED_BYTES;
use dwell_types::{Nanos, Timestamp};
use std::ops::Range;

/// One entry, in the lower bits of a word.
///
/// | bits | content |
/// |---|---|
/// | 1 | whether it is old: its time is coarse |
/// | 2 | free, open, repeated and open, or answered |
/// | *F* | fingerprint |
/// | ⌈log₂ tags⌉ | tag |
/// | 8 or 0 | one byte of the first request's token |
/// | *T*, what is left of whole bytes | time of the first request |
///
/// Free and old at once is an entry that has expired: its age is no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u64);

const OLD: u64 = 1;
const KIND: u64 = 0b110;
const OPEN: u64 = 0b010;
const REPEATED: u64 = 0b100;
const ANSWERED: u64 = 0b110;
const STATE_BITS: u32 = 3;
const TOKEN_BITS: u32 = 8;

impl Entry {
    /// Whether it was never used.
    #[inline]
    pub(super) fn is_free(self) -> bool {
        self.0 & (KIND | OLD) == 0
    }

    /// Whether it holds a request, open or answered.
    #[inline]
    pub(super) fn is_known(self) -> bool {
        self.0 & KIND != 0
    }

    /// Whether it waits for its response.
    #[inline]
    pub(super) fn is_open(self) -> bool {
        (self.0 >> 1 ^ self.0 >> 2) & 1 == 1
    }

    /// Whether it waits and was repeated.
    #[inline]
    pub(super) fn is_repeated(self) -> bool {
        self.0 & KIND == REPEATED
    }

    /// Whether it was answered; kept to recognise equal requests.
    #[inline]
    pub(super) fn is_answered(self) -> bool {
        self.0 & KIND == ANSWERED
    }

    /// The entry after its response.
    #[inline]
    pub(super) fn answered(self) -> Self {
        Self(self.0 | ANSWERED)
    }

    /// The entry after an equal request.
    #[inline]
    pub(super) fn repeated(self) -> Self {
        Self(self.0 & !KIND | REPEATED)
    }
}

/// Entries of whole bytes, tightly packed.
///
/// Times are ticks of 2^*k* nanoseconds modulo 2^*T* while an entry is young, and coarser by 2^*o* when it is old,
/// which is after 2^(*T*−2) ticks; after as many coarse ones, which is the expiry or more, it is dropped. So short
/// delays have a fine resolution, and long ones a small relative error.
///
/// An entry must be made old before its time wraps, and dropped before that wraps again. Each block of slots has the
/// time up to which this was done; an access does it for the block first if 2^(*T*−2) ticks have passed. That costs
/// nothing without access, however long, and at most the time of a block's slots for any event.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// With enough bytes behind the last entry to read a word.
    bytes: Vec<u8>,
    /// Time up to which the entries of a block are aged, in units of 2^(*T*−2) ticks; wraps.
    aged: Vec<u32>,
    layout: Layout,
    slots: u32,
}

/// The bit fields of an entry, and the units of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    bytes: u32,
    /// All bits of an entry.
    mask: u64,
    fingerprint_mask: u64,
    tag_shift: u32,
    tag_mask: u64,
    has_tokens: bool,
    time_shift: u32,
    /// *T*.
    time_bits: u32,
    /// *k*.
    tick_bits: u32,
    /// *o*.
    old_bits: u32,
}

/// Slots per block.
const BLOCK: usize = 32;
/// A word that begins at the last entry ends at most this many bytes behind the table.
const PADDING: usize = 8;
/// Least number of bits of a time.
const LEAST_TIME_BITS: u32 = 19;
/// The same in a table larger than the caches: entries are made old less often, since that reads the whole block.
const FAR_TIME_BITS: u32 = 27;
/// Least number of bits of a fingerprint, unless given.
const LEAST_FINGERPRINT_BITS: u32 = 16;

impl Layout {
    /// For this many slots; fingerprints are as long as given, or as a slot number, so that on average one false match
    /// occurs among as many responses as there are slots.
    pub(super) fn new(
        slots: u32,
        fingerprint_bits: Option<u32>,
        tags: u16,
        has_tokens: bool,
        expiry: Nanos,
    ) -> Result<Self, FridgeError> {
        /// Ticks of about a microsecond are fine enough.
        const FINE_BITS: u32 = 10;
        let bits_of = |numbers: u32| u32::BITS - numbers.saturating_sub(1).leading_zeros();
        let tag_bits = bits_of(tags.into());
        let token_bits = if has_tokens { TOKEN_BITS } else { 0 };
        let besides = STATE_BITS + tag_bits + token_bits;
        let most = (u64::BITS - besides - LEAST_TIME_BITS).min(u32::BITS);
        let fingerprint_bits = fingerprint_bits.unwrap_or(bits_of(slots).clamp(LEAST_FINGERPRINT_BITS, most));
        if !(1..=most).contains(&fingerprint_bits) {
            return Err(FridgeError::FingerprintBits { bits: fingerprint_bits, most });
        }
        let bytes_with = |time_bits: u32| (besides + fingerprint_bits + time_bits).div_ceil(8).min(u64::BITS / 8);
        let is_far = slots as usize * bytes_with(LEAST_TIME_BITS) as usize > CACHED_BYTES;
        let bytes = bytes_with(if is_far { FAR_TIME_BITS } else { LEAST_TIME_BITS });
        let time_bits = 8 * bytes - besides - fingerprint_bits;
        // A quarter of 2^(T + k + o) must be the expiry or more.
        let range_bits = (u64::BITS - expiry.get().unsigned_abs().leading_zeros() + 2).clamp(time_bits + 2, 60);
        let old_bits = range_bits.saturating_sub(time_bits + FINE_BITS).clamp(2, time_bits - 11);
        let tick_bits = range_bits - time_bits - old_bits;
        Ok(Self {
            bytes,
            mask: u64::MAX >> (u64::BITS - 8 * bytes),
            fingerprint_mask: ((1 << fingerprint_bits) - 1) << STATE_BITS,
            tag_shift: STATE_BITS + fingerprint_bits,
            tag_mask: (1 << tag_bits) - 1,
            has_tokens,
            time_shift: besides + fingerprint_bits,
            time_bits,
            tick_bits,
            old_bits,
        })
    }

    pub(super) fn has_tokens(self) -> bool {
        self.has_tokens
    }

    pub(super) fn fingerprint_bits(self) -> u32 {
        self.fingerprint_mask.count_ones()
    }

    /// Bytes of a table with this many slots.
    pub(super) fn table_bytes(self, slots: u32) -> usize {
        let slots = slots as usize;
        slots * self.bytes as usize + PADDING + slots.div_ceil(BLOCK) * size_of::<u32>()
    }

    /// The unit of an entry's time in nanoseconds, as a power of two.
    #[inline]
    fn unit_bits(self, entry: Entry) -> u32 {
        self.tick_bits + self.old_bits * (entry.0 & OLD) as u32
    }

    /// Half a fine tick, and half a coarse one.
    pub(super) fn rounding(self) -> Rounding {
        let half = |bits: u32| Nanos::new(1 << bits >> 1);
        let long_from = Nanos::new(1 << self.young_bits());
        Rounding { short: half(self.tick_bits), long_from, long: half(self.tick_bits + self.old_bits) }
    }

    /// How long an entry is young in nanoseconds, as a power of two.
    #[inline]
    fn young_bits(self) -> u32 {
        self.tick_bits + self.time_bits - 2
    }

    #[inline]
    fn time_field(self, ticks: i64) -> u64 {
        (ticks as u64) << self.time_shift & self.mask
    }

    /// Ticks from an entry's time to `now`, both in the entry's unit, within ± 2^(*T*−1).
    #[inline]
    fn ticks_to(self, entry: Entry, now: i64) -> i64 {
        let unused = u64::BITS - self.time_bits;
        (((now as u64).wrapping_sub(entry.0 >> self.time_shift) << unused) as i64) >> unused
    }

    /// Whether an entry of this age in ticks, which may be negative, is readable now and for another 2^(*T*−2) ticks.
    #[inline]
    fn is_near(self, ticks: i64) -> bool {
        ticks.unsigned_abs() <= 1 << (self.time_bits - 2)
    }
}

impl Table {
    pub(super) fn new(slots: u32, layout: Layout) -> Self {
        let entries = slots as usize * layout.bytes as usize;
        let aged = vec![0; (slots as usize).div_ceil(BLOCK)];
        Self { bytes: vec![0; entries + PADDING], aged, layout, slots }
    }

    #[inline]
    pub(super) fn slots(&self) -> u32 {
        self.slots
    }

    #[inline]
    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.bytes.capacity() + self.aged.capacity() * size_of::<u32>()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Entry {
        let bytes = self.bytes.get(at * self.layout.bytes as usize..);
        let word = bytes.and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word));
        Entry(word & self.layout.mask)
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, entry: Entry) {
        let bytes = self.bytes.get_mut(at * self.layout.bytes as usize..);
        if let Some(word) = bytes.and_then(<[u8]>::first_chunk_mut) {
            let neighbours = u64::from_le_bytes(*word) & !self.layout.mask;
            *word = (neighbours | entry.0).to_le_bytes();
        }
    }

    /// The bits of a hash that an entry stores, in their positions.
    #[inline]
    pub(super) fn fingerprint(&self, hash: u64) -> u64 {
        hash << STATE_BITS & self.layout.fingerprint_mask
    }

    /// Whether an entry has this fingerprint.
    #[inline]
    pub(super) fn has(&self, entry: Entry, fingerprint: u64) -> bool {
        (entry.0 ^ fingerprint) & self.layout.fingerprint_mask == 0
    }

    /// A new open entry. The token's byte is stored if there is room for it.
    #[inline]
    pub(super) fn open(&self, fingerprint: u64, at: Timestamp, tag: u16, token: u8) -> Entry {
        let layout = self.layout;
        let tag = u64::from(tag) << layout.tag_shift;
        let token = if layout.has_tokens { u64::from(token) << (layout.time_shift - TOKEN_BITS) } else { 0 };
        Entry(OPEN | fingerprint | tag | token | layout.time_field(at.as_nanos() >> layout.tick_bits))
    }

    #[inline]
    pub(super) fn tag(&self, entry: Entry) -> u16 {
        (entry.0 >> self.layout.tag_shift & self.layout.tag_mask) as u16
    }

    /// The byte of the first request's token; zero if there is none, or no room for it.
    pub(super) fn token(&self, entry: Entry) -> u8 {
        if self.layout.has_tokens { (entry.0 >> (self.layout.time_shift - TOKEN_BITS)) as u8 } else { 0 }
    }

    /// Time from the first request of an aged entry to `at`, to half a tick. Not negative unless by a whole tick.
    #[inline]
    pub(super) fn time_to(&self, entry: Entry, at: Timestamp) -> Nanos {
        let unit = self.layout.unit_bits(entry);
        let at = at.as_nanos();
        let ticks = self.layout.ticks_to(entry, at >> unit);
        let rest = at & ((1 << unit) - 1);
        let time = (ticks << unit) + rest - (1 << unit >> 1);
        Nanos::new(if ticks >= 0 { time.max(0) } else { time })
    }

    /// A time in units of the young period, modulo 2³².
    #[inline]
    fn units(&self, at: Timestamp) -> u32 {
        (at.as_nanos() >> self.layout.young_bits()) as u32
    }

    /// A time at which the entries of a block are readable, in nanoseconds.
    fn aged_to(&self, block: usize, now: Timestamp) -> i64 {
        let units = self.units(now);
        let passed = units.wrapping_sub(self.aged.get(block).copied().unwrap_or(units)) as i32;
        now.as_nanos().wrapping_sub(i64::from(passed) << self.layout.young_bits())
    }

    /// Whether the entries around a slot are readable at this time.
    #[inline]
    pub(super) fn is_aged(&self, at: usize, now: Timestamp) -> bool {
        // Entries seen shortly before that time are readable, too.
        self.aged.get(at / BLOCK).is_some_and(|aged| self.units(now).wrapping_sub(*aged).wrapping_add(1) <= 1)
    }

    /// Makes the entries around a slot readable at this time; reports each open one that expires.
    #[cold]
    pub(super) fn age(&mut self, at: usize, now: Timestamp, mut give_up: impl FnMut(u16)) {
        let units = self.units(now);
        let block = at / BLOCK;
        let then = self.aged_to(block, now);
        if let Some(aged) = self.aged.get_mut(block) {
            *aged = units;
        }
        for at in self.slots_of(block) {
            let entry = self.get(at);
            if !entry.is_known() {
                continue;
            }
            let aged = self.aged_entry(entry, then, now.as_nanos());
            if aged == entry {
                continue;
            }
            if entry.is_open() && !aged.is_open() {
                give_up(self.tag(entry));
            }
            self.set(at, aged);
        }
    }

    /// Converts an entry that was readable at `then` to one that is readable at `now`.
    fn aged_entry(&self, entry: Entry, then: i64, now: i64) -> Entry {
        let layout = self.layout;
        let unit = layout.unit_bits(entry);
        let time = (then >> unit).wrapping_sub(layout.ticks_to(entry, then >> unit));
        if entry.0 & OLD == 0 {
            if layout.is_near((now >> unit).wrapping_sub(time)) {
                return entry;
            }
            let rest = entry.0 & ((1 << layout.time_shift) - 1);
            return self.aged_entry(Entry(rest | OLD | layout.time_field(time >> layout.old_bits)), then, now);
        }
        if layout.is_near((now >> unit).wrapping_sub(time)) { entry } else { Entry(entry.0 & !KIND) }
    }

    /// All open entries with their slots, as readable at this time; free if expired by then.
    pub(super) fn open_entries(&self, now: Timestamp) -> impl Iterator<Item = (usize, Entry)> {
        let slots = (0..self.aged.len()).filter(|&block| !self.is_free(block)).flat_map(|block| self.slots_of(block));
        slots.map(|at| (at, self.get(at))).filter(|(_, entry)| entry.is_open()).map(move |(at, entry)| {
            let then = self.aged_to(at / BLOCK, now);
            (at, self.aged_entry(entry, then, now.as_nanos()))
        })
    }

    fn slots_of(&self, block: usize) -> Range<usize> {
        block * BLOCK..((block + 1) * BLOCK).min(self.slots as usize)
    }

    /// Whether all bytes of a block's entries are zero: several times as fast as a test of each entry.
    fn is_free(&self, block: usize) -> bool {
        let Range { start, end } = self.slots_of(block);
        let bytes = self.layout.bytes as usize;
        self.bytes[start * bytes..end * bytes].iter().fold(0, |any, byte| any | byte) == 0
    }

    /// Writes the entries one after the other; then for every block the time to which it is aged.
    pub(super) fn write(&self, to: &mut Writer) {
        to.bytes(&self.bytes[..self.bytes.len() - PADDING]);
        self.aged.iter().for_each(|&aged| to.u32(aged));
    }

    /// Reads what was written of one of the same shape.
    pub(super) fn read(mut self, tags: u16, from: &mut Reader<'_>) -> Result<Self, CodecError> {
        let entries = self.bytes.len() - PADDING;
        self.bytes[..entries].copy_from_slice(&from.bytes(entries)?);
        for aged in &mut self.aged {
            *aged = from.u32()?;
        }
        let is_sound = |at| self.get(at).0 == 0 || self.tag(self.get(at)) < tags;
        if (0..self.slots as usize).all(is_sound) { Ok(self) } else { Err(CodecError::Value("series in an entry")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::hash;

    const EXPIRY: Nanos = Nanos::from_secs(128);

    fn table(slots: u32) -> Table {
        Table::new(slots, Layout::new(slots, None, 1, false, EXPIRY).unwrap())
    }

    #[test]
    fn parts_fill_whole_bytes() {
        let bytes = |slots, bits, tags, has_tokens| {
            let layout = Layout::new(slots, bits, tags, has_tokens, EXPIRY).unwrap();
            assert_eq!(layout.time_shift + layout.time_bits, 8 * layout.bytes);
            assert!(layout.time_bits >= LEAST_TIME_BITS && layout.tick_bits <= 12, "{layout:?}");
            (layout.bytes, layout.fingerprint_bits())
        };
        assert_eq!(bytes(1 << 12, None, 1, false), (5, 16));
        assert_eq!(bytes(1 << 12, None, 4, false), (5, 16));
        assert_eq!(bytes(1 << 12, None, 3, true), (6, 16));
        assert_eq!(bytes(1 << 17, None, 1, false), (5, 17));
        assert_eq!(bytes(1 << 20, None, 1, false), (7, 20));
        assert_eq!(bytes(1 << 12, Some(32), 1, false), (7, 32));
        assert_eq!(bytes(1 << 12, None, 5 << 13, true), (8, 16));
        assert_eq!(bytes(1 << 20, Some(18), 5 << 13, true), (8, 18));
        let refused = Layout::new(4, Some(32), 5 << 13, true, EXPIRY);
        assert_eq!(refused, Err(FridgeError::FingerprintBits { bits: 32, most: 18 }));
    }

    /// A table in main memory ages whole blocks every half minute, a cached one every half second.
    #[test]
    fn far_blocks_are_seldom_aged() {
        let seconds = |slots| (1u64 << table(slots).layout.young_bits()) as f64 / 1e9;
        assert!((0.4..0.6).contains(&seconds(1 << 12)) && seconds(1 << 20) > 15.0);
    }

    #[test]
    fn entries_do_not_disturb_their_neighbours() {
        let mut table = table(100);
        let entry =
            |table: &Table, i: u64| table.open(table.fingerprint(hash::finish(i)), Timestamp::from_nanos(0), 0, 0);
        for i in 0..100 {
            table.set(i, entry(&table, i as u64));
        }
        for i in (0..100).step_by(2) {
            table.set(i, entry(&table, 1_000 + i as u64).answered());
        }
        for i in 0..100 {
            let expected =
                if i % 2 == 0 { entry(&table, 1_000 + i as u64).answered() } else { entry(&table, i as u64) };
            assert_eq!(table.get(i), expected, "{i}");
        }
    }

    /// However the clock moves, a time is correct to a tick, or absent: an entry never looks younger than it is.
    #[test]
    fn times_are_right_or_given_up() {
        let mut given_up = 0;
        for i in 0..20_000u64 {
            let random = |k: u64| hash::finish(4 * i + k) as i64;
            let mut table = table(4);
            let start = random(0) >> 1;
            let aged = Timestamp::from_nanos(start.wrapping_add(random(1) >> 30));
            table.age(0, aged, |_| ());
            let request = Timestamp::from_nanos(start);
            table.age(0, request, |_| ());
            table.set(0, table.open(0, request, 0, 0));
            let (mut now, mut furthest) = (start, 0);
            for step in [random(2) >> (24 + i % 30), random(3) >> (24 + i % 23)] {
                now = now.wrapping_add(step);
                furthest = furthest.max((now - start).abs());
                let now = Timestamp::from_nanos(now);
                if !table.is_aged(0, now) {
                    table.age(0, now, |_| given_up += 1);
                }
            }
            let (delay, entry) = (now - start, table.get(0));
            if entry.is_known() {
                let found = table.time_to(entry, Timestamp::from_nanos(now)).get();
                let error = (found - delay).abs();
                assert!(error <= 512.max(furthest >> 11), "{i}: {delay} {found}");
            } else {
                assert!(furthest > EXPIRY.get(), "{i}: {furthest}");
            }
        }
        assert!((1_000..19_000).contains(&given_up), "{given_up}");
    }

    /// In a block without access nothing changes, and nothing is lost.
    #[test]
    fn what_is_left_alone_is_read_as_it_was() {
        let mut table = table(64);
        let at = |s: i64| Timestamp::from_nanos(s * 1_000_000_000);
        for slot in [0, 40] {
            table.age(slot, at(1_000), |_| ());
            table.set(slot, table.open(7 << STATE_BITS, at(1_000), 0, 0));
        }
        for s in 1_000..1_100 {
            table.age(0, at(s), |_| panic!("not older than the expiry"));
        }
        let open: Vec<i64> =
            table.open_entries(at(1_100)).map(|(_, entry)| table.time_to(entry, at(1_100)).get()).collect();
        assert!(open.iter().all(|age| (age - 100_000_000_000).abs() < 1_000_000), "{open:?}");
        assert_eq!(open.len(), 2);
        assert!(table.open_entries(at(9_999)).all(|(_, entry)| !entry.is_known()));
    }
}
