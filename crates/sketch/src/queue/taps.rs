use crate::parts::batch::prefetch;
use dwell_types::{Crossing, Nanos, PacketId, Timestamp};
use std::ops::Range;

/// The packets between the taps where they arrive at a queue and the one where they depart [conquest §4].
///
/// A table of sets of slots, which doubles when the set of a packet is full: while few packets are in flight, it stays in
/// the processor's caches.
#[derive(Clone, Debug)]
pub struct Taps {
    /// `sets` × `ways`, if possible with capacity for `most_sets`.
    slots: Vec<Slot>,
    sets: u32,
    /// `sets` times a power of two; `None` for no limit.
    most_sets: Option<u32>,
    ways: usize,
    longest: Nanos,
    latest: Timestamp,
    /// When the latest of those that departed arrived.
    passed: Timestamp,
    counts: TapCounts,
}

/// A packet that was seen on one side: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// The upper 62 bits of its id, [`DEPARTED`] and [`SHARED`].
    packet: u64,
    /// When it was seen; [`FREE`] if the slot is empty.
    seen: Timestamp,
}

const FREE: Timestamp = Timestamp::MIN;

/// The packet was seen departing, but not arriving.
const DEPARTED: u64 = 1;
/// Other slots have equal packets, or had when one of them arrived.
const SHARED: u64 = 2;

/// What a slot is used for, in the order in which another packet may take it, first choice first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Free,
    Overdue,
    Departed,
    Waiting,
}

/// Fates of the packets on both sides: `arrived = matched + backwards + evicted + expired + repeated + waiting`,
/// `departed = matched + unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapCounts {
    /// Packets seen arriving.
    pub arrived: u64,
    /// Packets seen departing.
    pub departed: u64,
    /// Packets seen arriving and then departing.
    pub matched: u64,
    /// Packets seen departing and then arriving; they are also counted in `unknown`.
    pub backwards: u64,
    /// By how much these departed before they arrived, minimum and maximum; zero if there are none.
    pub ahead: (Nanos, Nanos),
    /// Packets evicted by others before they departed.
    pub evicted: u64,
    /// Packets that did not depart within the longest delay: dropped, departed elsewhere, or later.
    pub expired: u64,
    /// Those of them that were seen departing later; they are also counted in `unknown`.
    pub overdue: u64,
    /// Those of them whose slot was taken by another packet: whether they departed later is not known.
    pub forgotten: u64,
    /// How long those in `overdue` waited, minimum and maximum; zero if there are none.
    pub overdue_waits: (Nanos, Nanos),
    /// The longest wait of those in `matched`.
    pub longest_wait: Nanos,
    /// Packets that arrived while an equal one was waiting and are not followed: copies of it, those for which there was
    /// no room beside it, and those of which it is unknown whether they or an equal one departed, or were dropped.
    pub repeated: u64,
    /// Packets that have not departed yet.
    pub waiting: u64,
    /// Packets that departed without having been seen arriving, or of which it is unknown when they arrived.
    pub unknown: u64,
    /// Those of them that equal others with which they waited.
    pub ambiguous: u64,
}

/// Minimum and maximum of so many times, and of another one.
fn with(number: u64, (least, most): (Nanos, Nanos), another: Nanos) -> (Nanos, Nanos) {
    if number == 0 { (another, another) } else { (least.min(another), most.max(another)) }
}

impl Slot {
    const EMPTY: Self = Self { packet: 0, seen: FREE };

    fn new(packet: PacketId, seen: Timestamp, has_departed: bool) -> Self {
        let packet = packet.0 & !(DEPARTED | SHARED) | if has_departed { DEPARTED } else { 0 };
        Self { packet, seen: seen.max(FREE + Nanos::new(1)) }
    }

    fn is_free(self) -> bool {
        self.seen == FREE
    }

    const fn has_departed(self) -> bool {
        self.packet & DEPARTED != 0
    }

    const fn is_shared(self) -> bool {
        self.packet & SHARED != 0
    }

    fn is_of(self, packet: PacketId) -> bool {
        (self.packet ^ packet.0) >> 2 == 0 && !self.is_free()
    }
}

impl Taps {
    /// Bytes per packet.
    pub const SLOT_BYTES: usize = size_of::<Slot>();
    /// The default number of slots that a packet may take.
    pub const WAYS: usize = 8;
    /// An equal packet that follows so soon is a copy.
    const COPY: Nanos = Nanos::new(100_000);
    /// A table begins with as many slots as fit into this.
    const FIRST_BYTES: usize = 64 << 10;

    /// A table that grows to as many slots as fit into `bytes`, at least one set, or without a limit to as many as
    /// packets that have not expired need; each packet may take any of `ways` slots, at least one (one: the paper's
    /// table). Packets expire when they have waited for longer than `longest`.
    pub fn new(bytes: Option<usize>, ways: usize, longest: Nanos) -> Self {
        Self::growing(Self::FIRST_BYTES, bytes, ways, longest)
    }

    fn growing(first_bytes: usize, bytes: Option<usize>, ways: usize, longest: Nanos) -> Self {
        let ways = ways.max(1);
        let sets_in = |bytes: usize| (bytes / Self::SLOT_BYTES / ways).clamp(1, u32::MAX as usize);
        let (mut sets, mut doublings) = (sets_in(bytes.unwrap_or(first_bytes)), 0);
        while sets > sets_in(first_bytes) {
            sets /= 2;
            doublings += 1;
        }
        let most_sets = bytes.map(|_| sets << doublings);
        let mut slots = Vec::new();
        // With room for all of them nothing is ever copied; but what is never used need not fit.
        let _ = slots.try_reserve_exact(most_sets.unwrap_or(sets).saturating_mul(ways));
        slots.resize(sets * ways, Slot::EMPTY);
        Self {
            slots,
            sets: sets as u32,
            most_sets: most_sets.map(|most| most as u32),
            ways,
            longest,
            latest: Timestamp::MIN,
            passed: Timestamp::MIN,
            counts: TapCounts::default(),
        }
    }

    /// Prefetches the slots of a packet that will soon arrive or depart.
    #[inline]
    pub fn prefetch(&self, packet: PacketId) {
        const SLOTS_PER_LINE: usize = 64 / size_of::<Slot>();
        self.slots[self.set(packet)].iter().step_by(SLOTS_PER_LINE).for_each(prefetch);
    }

    /// Processes a packet that arrives, in the order of time.
    pub fn insert(&mut self, crossing: &Crossing) {
        self.counts.arrived += 1;
        self.latest = self.latest.max(crossing.at);
        while let Some(at) = self.find(crossing.packet) {
            match self.used(self.slots[at]) {
                Use::Departed => return self.meet_departed(at, crossing.at),
                Use::Waiting => return self.insert_again(crossing),
                Use::Overdue | Use::Free => self.forget(at),
            }
        }
        let (_, at) = self.place(crossing.packet);
        self.forget(at);
        self.slots[at] = Slot::new(crossing.packet, crossing.at, false);
    }

    /// Processes a packet that arrives while equal ones are waiting. Up to half of a set has room for such; what follows
    /// so soon as another interface shows the same packet is a copy.
    #[cold]
    fn insert_again(&mut self, crossing: &Crossing) {
        self.drop_passed(crossing.packet);
        let equal = self.equal(crossing.packet).count();
        let behind = |at: usize| crossing.at - self.slots[at].seen;
        let is_copy = self.equal(crossing.packet).any(|at| behind(at) <= Self::COPY);
        let free = self.set(crossing.packet).find(|&at| self.slots[at].is_free());
        let Some(free) = free.filter(|_| !is_copy && equal < (self.ways / 2).max(1)) else {
            self.counts.repeated += 1;
            return;
        };
        self.slots[free] = Slot::new(crossing.packet, crossing.at, false);
        if equal > 0 {
            let set = self.set(crossing.packet);
            let all = self.slots[set].iter_mut().filter(|slot| slot.is_of(crossing.packet));
            all.for_each(|slot| slot.packet |= SHARED);
        }
    }

    /// The places of the equal packets that are waiting.
    fn equal(&self, packet: PacketId) -> impl Iterator<Item = usize> {
        let is_waiting = move |slot: Slot| slot.is_of(packet) && self.used(slot) == Use::Waiting;
        self.set(packet).filter(move |&at| is_waiting(self.slots[at]))
    }

    /// Drops equal packets that arrived before one that has left: in every queue that keeps the order, they have left or
    /// were dropped, too.
    fn drop_passed(&mut self, packet: PacketId) {
        let set = self.set(packet);
        for slot in &mut self.slots[set] {
            if slot.is_of(packet) && !slot.has_departed() && slot.seen < self.passed {
                *slot = Slot::EMPTY;
                self.counts.repeated += 1;
            }
        }
    }

    /// Processes a packet that departs while equal ones are waiting, or were: whether there are any. Which of them departs
    /// is unknown, since any may have been dropped: the first one is given up.
    #[cold]
    fn take_shared(&mut self, packet: PacketId) -> bool {
        let Some(first) = self.equal(packet).min_by_key(|&at| self.slots[at].seen) else { return false };
        self.slots[first] = Slot::EMPTY;
        self.counts.repeated += 1;
        self.counts.ambiguous += 1;
        self.counts.unknown += 1;
        true
    }

    fn meet_departed(&mut self, at: usize, arrived: Timestamp) {
        let ahead = arrived - self.slots[at].seen;
        self.slots[at] = Slot::EMPTY;
        let counts = &mut self.counts;
        counts.ahead = with(counts.backwards, counts.ahead, ahead);
        counts.backwards += 1;
    }

    /// Processes a packet that departs, in the order of time; returns when it arrived, if that was seen.
    pub fn take(&mut self, crossing: &Crossing) -> Option<Timestamp> {
        self.counts.departed += 1;
        self.latest = self.latest.max(crossing.at);
        let found = self.find(crossing.packet);
        if found.is_some_and(|at| self.slots[at].is_shared()) && self.take_shared(crossing.packet) {
            return None;
        }
        match found.map(|at| (at, self.used(self.slots[at]))) {
            Some((at, Use::Waiting)) => {
                self.counts.matched += 1;
                return Some(self.meet_waiting(at, crossing.at));
            }
            Some((_, Use::Departed)) => {}
            Some((at, Use::Overdue)) if self.meet_overdue(at, crossing.at) => {}
            _ => self.remember_departed(crossing),
        }
        self.counts.unknown += 1;
        None
    }

    /// Empties the slot of a packet that departs, and returns when it arrived.
    fn meet_waiting(&mut self, at: usize, departed: Timestamp) -> Timestamp {
        let arrived = std::mem::replace(&mut self.slots[at], Slot::EMPTY).seen;
        self.counts.longest_wait = self.counts.longest_wait.max(departed - arrived);
        self.passed = self.passed.max(arrived);
        arrived
    }

    /// Counts a packet that departs after the longest delay, if it was seen arriving. Returns whether it was.
    fn meet_overdue(&mut self, at: usize, departed: Timestamp) -> bool {
        let slot = std::mem::replace(&mut self.slots[at], Slot::EMPTY);
        if slot.has_departed() {
            return false;
        }
        let wait = departed - slot.seen;
        let counts = &mut self.counts;
        counts.overdue_waits = with(counts.overdue, counts.overdue_waits, wait);
        counts.expired += 1;
        counts.overdue += 1;
        true
    }

    /// Remembers a departure without an arrival, unless that would evict a waiting packet, to recognise an arrival that
    /// comes later.
    fn remember_departed(&mut self, crossing: &Crossing) {
        let (used, at) = self.place(crossing.packet);
        if used != Use::Waiting {
            self.forget(at);
            self.slots[at] = Slot::new(crossing.packet, crossing.at, true);
        }
    }

    /// Empties a slot, and counts the packet in it as evicted or expired.
    fn forget(&mut self, at: usize) {
        match self.used(self.slots[at]) {
            Use::Waiting => self.counts.evicted += 1,
            Use::Overdue if !self.slots[at].has_departed() => {
                self.counts.expired += 1;
                self.counts.forgotten += 1;
            }
            _ => {}
        }
        self.slots[at] = Slot::EMPTY;
    }

    fn is_overdue(&self, slot: Slot) -> bool {
        !slot.is_free() && self.latest - slot.seen > self.longest
    }

    fn used(&self, slot: Slot) -> Use {
        match slot {
            _ if slot.is_free() => Use::Free,
            _ if self.is_overdue(slot) => Use::Overdue,
            _ if slot.has_departed() => Use::Departed,
            _ => Use::Waiting,
        }
    }

    /// The places that a packet may take.
    #[inline]
    fn set(&self, packet: PacketId) -> Range<usize> {
        let first = dwell_types::hash::index((packet.0 >> 32) as u32, self.sets) as usize * self.ways;
        first..first + self.ways
    }

    fn find(&self, packet: PacketId) -> Option<usize> {
        let set = self.set(packet);
        let way = self.slots[set.clone()].iter().position(|slot| slot.is_of(packet))?;
        Some(set.start + way)
    }

    /// The slot that a packet may take, and what that is used for. The table grows while that may free one.
    fn place(&mut self, packet: PacketId) -> (Use, usize) {
        loop {
            let set = self.set(packet);
            if let Some(way) = self.slots[set.clone()].iter().position(|slot| slot.is_free()) {
                return (Use::Free, set.start + way);
            }
            match self.most_sets {
                Some(most) if self.sets < most => {}
                Some(_) => return self.least(set),
                // Without a limit only packets that have not expired make the table grow.
                None => match self.least(set) {
                    overdue @ (Use::Overdue, _) => return overdue,
                    least if self.sets > u32::MAX / 2 => return least,
                    _ => {}
                },
            }
            self.grow();
        }
    }

    /// The slot of a full set that another packet may take, and what that is used for: the first choice by [`Use`], the
    /// oldest of several, and of equally old ones the one with the smallest id.
    fn least(&self, set: Range<usize>) -> (Use, usize) {
        let choice = |at: usize| (self.used(self.slots[at]), self.slots[at].seen, self.slots[at].packet);
        let first = set.start;
        let at = set.min_by_key(|&at| choice(at)).unwrap_or(first);
        (choice(at).0, at)
    }

    /// Doubles the number of sets, each of which becomes two adjacent ones. From the last one down, these are empty or
    /// the set itself.
    #[cold]
    fn grow(&mut self) {
        let sets = self.sets as usize;
        self.sets *= 2;
        self.slots.resize(2 * sets * self.ways, Slot::EMPTY);
        for at in (0..sets).rev().flat_map(|set| set * self.ways..(set + 1) * self.ways) {
            let slot = std::mem::replace(&mut self.slots[at], Slot::EMPTY);
            let set = self.set(PacketId(slot.packet));
            let mut there = self.slots[set].iter_mut();
            if !slot.is_free()
                && let Some(free) = there.find(|slot| slot.is_free())
            {
                *free = slot;
            }
        }
    }

    /// Packets seen departing after the longest delay, as in [`TapCounts`].
    pub const fn overdue(&self) -> u64 {
        self.counts.overdue
    }

    /// The fates of the packets so far.
    pub fn counts(&self) -> TapCounts {
        let mut counts = self.counts;
        for &slot in self.slots.iter().filter(|slot| !slot.has_departed()) {
            match self.used(slot) {
                Use::Waiting => counts.waiting += 1,
                Use::Overdue => counts.expired += 1,
                Use::Free | Use::Departed => {}
            }
        }
        counts
    }

    /// Bytes of everything.
    pub fn state_bytes(&self) -> usize {
        size_of::<Self>() + self.slots.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::{FlowId, hash};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn crossing(packet: u64, at: i64) -> Crossing {
        Crossing { packet: PacketId(hash::finish(packet)), flow: FlowId(0), at: Timestamp::from_nanos(at), bytes: 100 }
    }

    fn assert_conserved(counts: &TapCounts) {
        let arrived = counts.matched + counts.backwards + counts.evicted + counts.expired + counts.repeated;
        assert_eq!(counts.arrived, arrived + counts.waiting, "{counts:?}");
        assert_eq!(counts.departed, counts.matched + counts.unknown, "{counts:?}");
        assert!(counts.backwards + counts.overdue + counts.ambiguous <= counts.unknown, "{counts:?}");
        assert!(counts.overdue + counts.forgotten <= counts.expired, "{counts:?}");
    }

    /// The share of packets that are matched in 65,536 slots, with this many in flight.
    fn reach(ways: usize, in_flight: u64) -> f64 {
        let mut taps = Taps::new(Some(65_536 * Taps::SLOT_BYTES), ways, Nanos::from_secs(1));
        assert_eq!(taps.state_bytes(), (1 << 20) + size_of::<Taps>());
        const PACKETS: u64 = 400_000;
        for packet in 0..PACKETS + in_flight {
            if packet < PACKETS {
                taps.insert(&crossing(packet, 2 * packet as i64));
            }
            if packet >= in_flight {
                taps.take(&crossing(packet - in_flight, 2 * packet as i64 + 1));
            }
        }
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.departed, counts.expired, counts.waiting), (PACKETS, 0, 0));
        counts.matched as f64 / PACKETS as f64
    }

    /// The share of 400,000 packets has a standard error of .0005 to .0007, and .01 is allowed, more than ten times
    /// that. The controls that must fail: single slots instead of sets, and twice as many packets in flight as
    /// expected.
    #[test]
    fn sets_hold_what_is_in_flight_and_single_places_do_not() {
        let sets = [8_192, 16_384].map(|in_flight| reach(Taps::WAYS, in_flight));
        let single = [8_192, 16_384].map(|in_flight| reach(1, in_flight));
        let are_held = |shares: [f64; 2]| shares[0] >= 0.999 && shares[1] >= 0.99;
        assert!(are_held(sets) && !are_held(single), "{sets:?} {single:?}");
        // The probability that none of the packets in flight takes the same slot.
        let are_near =
            |load: f64| single.iter().zip([load, 2.0 * load]).all(|(share, load)| (share - (-load).exp()).abs() < 0.01);
        assert!(are_near(1.0 / 8.0) && !are_near(1.0 / 4.0), "{single:?}");
    }

    /// There need be no room for what a table may grow to.
    #[test]
    fn any_memory_may_be_given() {
        for (bytes, ways) in [(1 << 40, Taps::WAYS), (usize::MAX, 1 << 12)] {
            let mut taps = Taps::new(Some(bytes), ways, Nanos::from_secs(1));
            (0..10_000).for_each(|packet| taps.insert(&crossing(packet, packet as i64)));
            (0..10_000).for_each(|packet| assert!(taps.take(&crossing(packet, 20_000)).is_some()));
        }
    }

    #[test]
    fn every_fate_is_told() {
        let mut taps = Taps::new(Some(2 * Taps::SLOT_BYTES), 2, Nanos::new(100));
        taps.insert(&crossing(1, 0));
        taps.insert(&crossing(1, 1));
        assert_eq!(taps.take(&crossing(1, 10)), Some(Timestamp::from_nanos(0)));
        assert_eq!(taps.take(&crossing(1, 11)), None);
        assert_eq!((taps.counts().repeated, taps.counts().unknown), (1, 1));
        // That departure is remembered: a later arrival counts as backwards, and frees the slot.
        taps.insert(&crossing(1, 40));
        taps.take(&crossing(2, 50));
        taps.insert(&crossing(2, 53));
        assert_eq!((taps.counts().backwards, taps.counts().ahead), (2, (Nanos::new(3), Nanos::new(29))));
        // The oldest packet of a full set is evicted, but overdue ones go first.
        (3..6).for_each(|packet| taps.insert(&crossing(packet, 60 + packet as i64)));
        assert_eq!(taps.take(&crossing(3, 70)), None);
        assert_eq!(taps.take(&crossing(4, 71)), Some(Timestamp::from_nanos(64)));
        taps.insert(&crossing(6, 166));
        assert_eq!(taps.take(&crossing(5, 167)), None);
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.evicted, counts.expired, counts.waiting, counts.matched), (1, 1, 1, 2));
        assert_eq!((counts.overdue, counts.longest_wait), (1, Nanos::new(10)));
    }

    /// Packets that depart after the longest delay count as such as long as no other packet takes their slot.
    #[test]
    fn late_departures_are_told_from_lost_packets() {
        let mut taps = Taps::new(Some(2 * Taps::SLOT_BYTES), 2, Nanos::new(100));
        (0..2).for_each(|packet| taps.insert(&crossing(packet, 0)));
        assert_eq!(taps.take(&crossing(0, 150)), None);
        (2..4).for_each(|packet| taps.insert(&crossing(packet, 160)));
        assert_eq!(taps.take(&crossing(1, 170)), None, "packet 3 has taken its slot");
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.expired, counts.overdue, counts.forgotten, counts.waiting), (2, 1, 1, 2));
        assert_eq!((counts.unknown, counts.overdue_waits), (2, (Nanos::new(150), Nanos::new(150))));
    }

    /// A late departure belongs to the arrival before it: an equal packet that arrives after it did not depart first.
    #[test]
    fn a_late_departure_is_not_one_before_arriving() {
        let mut taps = Taps::new(None, Taps::WAYS, Nanos::new(100));
        taps.insert(&crossing(0, 0));
        assert_eq!(taps.take(&crossing(0, 150)), None);
        taps.insert(&crossing(0, 160));
        assert_eq!(taps.take(&crossing(0, 170)), Some(Timestamp::from_nanos(160)));
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.overdue, counts.backwards, counts.unknown, counts.matched), (1, 0, 1, 1));
    }

    /// Without a limit no packet is evicted, and those that have expired take no memory from others for long.
    #[test]
    fn a_table_without_a_limit_is_as_large_as_what_waits() {
        let packets = 100_000;
        let mut taps = Taps::new(None, Taps::WAYS, Nanos::from_secs(1));
        (0..packets).for_each(|packet| taps.insert(&crossing(packet, packet as i64)));
        assert!((0..packets).all(|packet| taps.take(&crossing(packet, packets as i64)).is_some()));
        let bytes = taps.state_bytes();
        assert!(bytes < packets as usize * Taps::SLOT_BYTES * 16, "{bytes}");
        // As many wait at a time, but none of them ever departs.
        let gap = 1_000_000_000 / packets as i64;
        (packets..10 * packets).for_each(|packet| taps.insert(&crossing(packet, packet as i64 * gap)));
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.matched, counts.evicted), (packets, 0));
        assert!(taps.state_bytes() <= 2 * bytes, "{} {bytes}", taps.state_bytes());
    }

    /// A packet is dropped, others pass, and it is sent again: its departure has the later arrival. As long as none has
    /// passed it, the first copy may still wait, and it is unknown which one departs, unless they arrived together.
    #[test]
    fn what_was_passed_is_gone() {
        let ms = |at: i64| at * 1_000_000;
        for (is_passed, again, arrived) in
            [(true, ms(60), Some(ms(60))), (false, ms(60), None), (false, ms(1) + 9_000, Some(ms(1)))]
        {
            let mut taps = Taps::new(None, 8, Nanos::from_secs(1));
            taps.insert(&crossing(7, ms(1)));
            if is_passed {
                taps.insert(&crossing(8, ms(2)));
                assert_eq!(taps.take(&crossing(8, ms(3))), Some(Timestamp::from_nanos(ms(2))));
            }
            taps.insert(&crossing(7, again));
            assert_eq!(taps.take(&crossing(7, ms(62))), arrived.map(Timestamp::from_nanos));
            let counts = taps.counts();
            assert_eq!((counts.repeated, counts.ambiguous), (1, u64::from(arrived.is_none())));
            assert_conserved(&counts);
        }
    }

    /// Three equal packets wait together, of which all depart or two: none has a delay, but the one between them, and a
    /// fourth that comes later. A flood of equal packets makes no table grow.
    #[test]
    fn equal_packets_wait_side_by_side() {
        for is_dropped in [true, false] {
            let mut taps = Taps::new(None, 8, Nanos::from_secs(1));
            let arrivals = [(7, 1), (7, 2), (8, 3), (7, 4)].map(|(packet, at)| crossing(packet, at * 1_000_000));
            arrivals.iter().for_each(|arrival| taps.insert(arrival));
            let departures = arrivals.iter().enumerate().filter(|(number, _)| !is_dropped || *number != 1);
            for (number, arrival) in departures {
                let at = Timestamp::from_nanos(10_000_000 + number as i64);
                let known = (number == 2).then_some(arrival.at);
                assert_eq!(taps.take(&Crossing { at, ..*arrival }), known);
            }
            let ambiguous = if is_dropped { 2 } else { 3 };
            taps.insert(&crossing(9, 20_000_000));
            assert!(taps.take(&crossing(9, 21_000_000)).is_some());
            taps.insert(&crossing(7, 30_000_000));
            assert_eq!(taps.take(&crossing(7, 31_000_000)), Some(Timestamp::from_nanos(30_000_000)));
            let counts = taps.counts();
            assert_eq!((counts.matched, counts.repeated, counts.waiting), (3, 3, 0));
            assert_eq!((counts.ambiguous, counts.unknown), (ambiguous, ambiguous));
            assert_conserved(&counts);
        }
        let mut taps = Taps::new(None, 8, Nanos::from_secs(100));
        let bytes = taps.state_bytes();
        (0..10_000).for_each(|number| taps.insert(&crossing(7, number * 1_000_000)));
        assert_eq!((taps.counts().waiting, taps.counts().repeated, taps.state_bytes()), (4, 9_996, bytes));
        assert_conserved(&taps.counts());
    }

    /// Packets seen only departing never evict one that waits.
    #[test]
    fn what_waits_is_kept_from_what_is_unknown() {
        let mut taps = Taps::new(Some(64 * Taps::SLOT_BYTES), 8, Nanos::from_secs(1));
        (0..16).for_each(|packet| taps.insert(&crossing(packet, packet as i64)));
        let before = taps.counts();
        (1_000..2_000).for_each(|packet| assert_eq!(taps.take(&crossing(packet, packet as i64)), None));
        assert_eq!((taps.counts().waiting, taps.counts().evicted), (before.waiting, before.evicted));
    }

    proptest! {
        /// With room for all, packets are matched as in a reference map; with little room, every packet still has
        /// exactly one fate, and the same whether the table has grown or not.
        #[test]
        fn matches_as_a_map(steps in prop::collection::vec((0u64..40, any::<bool>(), 0i64..40), 1..400)) {
            let mut large = Taps::new(Some(1 << 16), 64, Nanos::new(2_000_000));
            let small =
                |first: usize| Taps::growing(first * Taps::SLOT_BYTES, Some(16 * Taps::SLOT_BYTES), 2, Nanos::new(2_000_000));
            let (mut small, mut growing) = (small(16), small(2));
            // When equal packets arrived, or that one departed.
            let mut map: BTreeMap<u64, Result<Vec<(i64, bool)>, i64>> = BTreeMap::new();
            // How many of each waited for longer than the longest delay, and have not departed late.
            let mut late: BTreeMap<u64, usize> = BTreeMap::new();
            let (mut now, mut passed) = (0, i64::MIN);
            for (packet, arrives, gap) in steps {
                now += gap * 10_000;
                map.retain(|&packet, seen| match seen {
                    Ok(waiting) => {
                        let before = waiting.len();
                        waiting.retain(|(at, _)| now - at <= 2_000_000);
                        *late.entry(packet).or_default() += before - waiting.len();
                        !waiting.is_empty()
                    }
                    Err(at) => now - *at <= 2_000_000,
                });
                let seen = crossing(packet, now);
                if arrives {
                    large.insert(&seen);
                    small.insert(&seen);
                    growing.insert(&seen);
                    match map.get_mut(&packet) {
                        Some(Err(_)) => { map.remove(&packet); }
                        Some(Ok(waiting)) => {
                            waiting.retain(|&(at, _)| at >= passed);
                            let is_copy = waiting.iter().any(|(at, _)| now - at <= 100_000);
                            if !is_copy && waiting.len() < 32 {
                                waiting.push((now, false));
                                let is_shared = waiting.len() > 1;
                                waiting.iter_mut().for_each(|(_, shared)| *shared |= is_shared);
                            }
                        }
                        None => { map.insert(packet, Ok(vec![(now, false)])); }
                    }
                } else {
                    let overdue = large.overdue();
                    let taken = large.take(&seen);
                    let expected = match map.get_mut(&packet) {
                        Some(Ok(waiting)) => {
                            let (at, is_shared) = waiting.remove(0);
                            if waiting.is_empty() { map.remove(&packet); }
                            if !is_shared { passed = passed.max(at) }
                            (!is_shared).then_some(Timestamp::from_nanos(at))
                        }
                        Some(Err(_)) => None,
                        // Departs late, if its slot has not been used since.
                        None if large.overdue() > overdue => {
                            let late = late.entry(packet).or_default();
                            prop_assert!(*late > 0);
                            *late -= 1;
                            None
                        }
                        None => { map.insert(packet, Err(now)); None }
                    };
                    prop_assert_eq!(taken, expected);
                    prop_assert_eq!(small.take(&seen), growing.take(&seen));
                }
                assert_conserved(&large.counts());
                assert_conserved(&small.counts());
                prop_assert_eq!(small.counts(), growing.counts());
            }
            prop_assert_eq!(small.slots.len(), 16);
            prop_assert_eq!(large.counts().evicted, 0);
            prop_assert_eq!(large.counts().waiting, map.values().flatten().flatten().count() as u64);
        }
    }
}
