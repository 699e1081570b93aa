use dwell_types::{Crossing, Nanos, PacketId, Timestamp};

/// The packets between the points where they arrive at a queue and the one where they depart [conquest §4].
#[derive(Clone, Debug)]
pub struct Taps {
    /// `sets` × `ways`.
    slots: Vec<Slot>,
    sets: u32,
    ways: usize,
    longest: Nanos,
    latest: Timestamp,
    counts: TapCounts,
}

/// A packet that was seen at one side: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    /// The upper 63 bits of its id; the lowest is set if it was seen to depart, and not to arrive.
    packet: u64,
    /// When it was seen, in nanoseconds; [`FREE`] if there is none.
    at: i64,
}

const FREE: i64 = i64::MIN;

/// What becomes of a slot when another packet needs it, the first choice first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    Free,
    Overdue,
    Departed,
    Waiting,
}

/// What became of the packets at both sides: `arrived = matched + backwards + evicted + expired + repeated + waiting`,
/// `departed = matched + unknown`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TapCounts {
    /// Packets that were seen to arrive.
    pub arrived: u64,
    /// Packets that were seen to depart.
    pub departed: u64,
    /// Packets that were seen to arrive and then to depart.
    pub matched: u64,
    /// Packets that were seen to depart and then to arrive; among `unknown`, too.
    pub backwards: u64,
    /// How much earlier they departed than they arrived, at least and at most; zero where there are none.
    pub ahead: (Nanos, Nanos),
    /// Packets that gave their place to another one before they departed.
    pub evicted: u64,
    /// Packets that did not depart within the longest delay: dropped, or gone elsewhere.
    pub expired: u64,
    /// Packets that arrived while an equal one waited: the first one is kept.
    pub repeated: u64,
    /// Packets that have not departed yet.
    pub waiting: u64,
    /// Packets that departed without having been seen to arrive.
    pub unknown: u64,
}

impl Slot {
    const EMPTY: Self = Self { packet: 0, at: FREE };

    fn new(packet: PacketId, at: Timestamp, has_departed: bool) -> Self {
        Self { packet: packet.0 & !1 | u64::from(has_departed), at: at.as_nanos().max(FREE + 1) }
    }

    const fn is_free(self) -> bool {
        self.at == FREE
    }

    const fn has_departed(self) -> bool {
        self.packet & 1 == 1
    }

    const fn is_of(self, packet: PacketId) -> bool {
        (self.packet ^ packet.0) >> 1 == 0 && !self.is_free()
    }
}

impl Taps {
    /// Bytes of one packet.
    pub const SLOT_BYTES: usize = size_of::<Slot>();
    /// The usual number of places that a packet may take.
    pub const WAYS: usize = 8;

    /// Room for as many packets as fit `bytes`, at least one set; each may take `ways` places, at least one (one: the
    /// paper's table). Packets that wait for longer than `longest` are given up.
    pub fn new(bytes: usize, ways: usize, longest: Nanos) -> Self {
        let ways = ways.max(1);
        let sets = (bytes / Self::SLOT_BYTES / ways).clamp(1, u32::MAX as usize);
        Self {
            slots: vec![Slot::EMPTY; sets * ways],
            sets: sets as u32,
            ways,
            longest,
            latest: Timestamp::from_nanos(i64::MIN),
            counts: TapCounts::default(),
        }
    }

    /// A packet arrives, in the order of time.
    pub fn insert(&mut self, crossing: &Crossing) {
        self.counts.arrived += 1;
        self.latest = self.latest.max(crossing.at);
        if let Some(at) = self.find(crossing.packet) {
            let slot = self.slots[at];
            match (self.is_overdue(slot), slot.has_departed()) {
                (false, true) => return self.meet_departed(at, crossing.at),
                (false, false) => {
                    self.counts.repeated += 1;
                    return;
                }
                (true, _) => self.give_up(at),
            }
        }
        let (_, at) = self.place(crossing.packet);
        self.give_up(at);
        self.slots[at] = Slot::new(crossing.packet, crossing.at, false);
    }

    fn meet_departed(&mut self, at: usize, arrived: Timestamp) {
        let ahead = arrived - Timestamp::from_nanos(self.slots[at].at);
        self.slots[at] = Slot::EMPTY;
        let counts = &mut self.counts;
        counts.ahead = match counts.backwards {
            0 => (ahead, ahead),
            _ => (counts.ahead.0.min(ahead), counts.ahead.1.max(ahead)),
        };
        counts.backwards += 1;
    }

    /// A packet departs, in the order of time: when it arrived, if that was seen.
    pub fn take(&mut self, crossing: &Crossing) -> Option<Timestamp> {
        self.counts.departed += 1;
        self.latest = self.latest.max(crossing.at);
        match self.find(crossing.packet) {
            Some(at) if !self.is_overdue(self.slots[at]) => {
                if !self.slots[at].has_departed() {
                    self.counts.matched += 1;
                    return Some(Timestamp::from_nanos(std::mem::replace(&mut self.slots[at], Slot::EMPTY).at));
                }
            }
            overdue => {
                if let Some(at) = overdue {
                    self.give_up(at);
                }
                self.remember_departed(crossing);
            }
        }
        self.counts.unknown += 1;
        None
    }

    /// Where no packet waits, so that one that arrives later is known to do so.
    fn remember_departed(&mut self, crossing: &Crossing) {
        let (used, at) = self.place(crossing.packet);
        if used != Use::Waiting {
            self.give_up(at);
            self.slots[at] = Slot::new(crossing.packet, crossing.at, true);
        }
    }

    /// Empties a slot, and counts what that loses.
    fn give_up(&mut self, at: usize) {
        match self.used(self.slots[at]) {
            Use::Waiting => self.counts.evicted += 1,
            Use::Overdue if !self.slots[at].has_departed() => self.counts.expired += 1,
            _ => {}
        }
        self.slots[at] = Slot::EMPTY;
    }

    fn is_overdue(&self, slot: Slot) -> bool {
        !slot.is_free() && self.latest - Timestamp::from_nanos(slot.at) > self.longest
    }

    fn used(&self, slot: Slot) -> Use {
        match slot {
            _ if slot.is_free() => Use::Free,
            _ if self.is_overdue(slot) => Use::Overdue,
            _ if slot.has_departed() => Use::Departed,
            _ => Use::Waiting,
        }
    }

    fn set(&self, packet: PacketId) -> usize {
        dwell_types::hash::index((packet.0 >> 32) as u32, self.sets) as usize * self.ways
    }

    fn find(&self, packet: PacketId) -> Option<usize> {
        let first = self.set(packet);
        let slots = &self.slots[first..first + self.ways];
        slots.iter().position(|slot| slot.is_of(packet)).map(|way| first + way)
    }

    /// The slot that another packet of the set may take, and what it is used for: the oldest of those that are needed
    /// least.
    fn place(&self, packet: PacketId) -> (Use, usize) {
        let first = self.set(packet);
        let choice = |at: usize| (self.used(self.slots[at]), self.slots[at].at);
        let at = (first..first + self.ways).min_by_key(|&at| choice(at)).unwrap_or(first);
        (choice(at).0, at)
    }

    /// What became of the packets so far.
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
        assert!(counts.backwards <= counts.unknown, "{counts:?}");
    }

    /// The share of packets that are matched in 65,536 entries, with so many in flight.
    fn reach(ways: usize, in_flight: u64) -> f64 {
        let mut taps = Taps::new(65_536 * Taps::SLOT_BYTES, ways, Nanos::from_secs(1));
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

    /// A share of 400,000 has a standard error of .0005 to .0007, and a hundredth is allowed, ten of these and more.
    /// Twins that fail: single places where sets are asked for, and as many in flight as twice.
    #[test]
    fn sets_hold_what_is_in_flight_and_single_places_do_not() {
        let sets = [8_192, 16_384].map(|in_flight| reach(Taps::WAYS, in_flight));
        let single = [8_192, 16_384].map(|in_flight| reach(1, in_flight));
        let are_held = |shares: [f64; 2]| shares[0] >= 0.999 && shares[1] >= 0.99;
        assert!(are_held(sets) && !are_held(single), "{sets:?} {single:?}");
        // The chance that none of those in flight takes the same place.
        let are_near =
            |load: f64| single.iter().zip([load, 2.0 * load]).all(|(share, load)| (share - (-load).exp()).abs() < 0.01);
        assert!(are_near(1.0 / 8.0) && !are_near(1.0 / 4.0), "{single:?}");
    }

    #[test]
    fn every_fate_is_told() {
        let mut taps = Taps::new(2 * Taps::SLOT_BYTES, 2, Nanos::new(100));
        taps.insert(&crossing(1, 0));
        taps.insert(&crossing(1, 1));
        assert_eq!(taps.take(&crossing(1, 10)), Some(Timestamp::from_nanos(0)));
        assert_eq!(taps.take(&crossing(1, 11)), None);
        assert_eq!((taps.counts().repeated, taps.counts().unknown), (1, 1));
        // That departure is remembered: a packet that arrives later did so backwards, and makes way for others.
        taps.insert(&crossing(1, 40));
        taps.take(&crossing(2, 50));
        taps.insert(&crossing(2, 53));
        assert_eq!((taps.counts().backwards, taps.counts().ahead), (2, (Nanos::new(3), Nanos::new(29))));
        // The oldest of a full set gives way; what is overdue goes before that.
        (3..6).for_each(|packet| taps.insert(&crossing(packet, 60 + packet as i64)));
        assert_eq!(taps.take(&crossing(3, 70)), None);
        assert_eq!(taps.take(&crossing(4, 71)), Some(Timestamp::from_nanos(64)));
        taps.insert(&crossing(6, 166));
        assert_eq!(taps.take(&crossing(5, 167)), None);
        let counts = taps.counts();
        assert_conserved(&counts);
        assert_eq!((counts.evicted, counts.expired, counts.waiting, counts.matched), (1, 1, 1, 2));
    }

    /// Packets that are seen only to depart never take the place of one that waits.
    #[test]
    fn what_waits_is_kept_from_what_is_unknown() {
        let mut taps = Taps::new(64 * Taps::SLOT_BYTES, 8, Nanos::from_secs(1));
        (0..16).for_each(|packet| taps.insert(&crossing(packet, packet as i64)));
        let before = taps.counts();
        (1_000..2_000).for_each(|packet| assert_eq!(taps.take(&crossing(packet, packet as i64)), None));
        assert_eq!((taps.counts().waiting, taps.counts().evicted), (before.waiting, before.evicted));
    }

    proptest! {
        /// With room for all, every packet is matched as a map would do it; with little room, everything is still
        /// counted once.
        #[test]
        fn matches_as_a_map(steps in prop::collection::vec((0u64..40, any::<bool>(), 0i64..40), 1..400)) {
            let mut large = Taps::new(1 << 16, 64, Nanos::new(200));
            let mut small = Taps::new(8 * Taps::SLOT_BYTES, 2, Nanos::new(200));
            let mut map: BTreeMap<u64, (i64, bool)> = BTreeMap::new();
            let mut now = 0;
            for (packet, arrives, gap) in steps {
                now += gap;
                map.retain(|_, &mut (at, _)| now - at <= 200);
                let seen = crossing(packet, now);
                if arrives {
                    large.insert(&seen);
                    small.insert(&seen);
                    match map.get(&packet) {
                        Some((_, true)) => { map.remove(&packet); }
                        Some((_, false)) => {}
                        None => { map.insert(packet, (now, false)); }
                    }
                } else {
                    let expected = match map.get(&packet) {
                        Some(&(at, false)) => { map.remove(&packet); Some(Timestamp::from_nanos(at)) }
                        Some((_, true)) => None,
                        None => { map.insert(packet, (now, true)); None }
                    };
                    prop_assert_eq!(large.take(&seen), expected);
                    small.take(&seen);
                }
                assert_conserved(&large.counts());
                assert_conserved(&small.counts());
            }
            prop_assert_eq!(large.counts().evicted, 0);
            prop_assert_eq!(large.counts().waiting, map.values().filter(|(_, departed)| !departed).count() as u64);
        }
    }
}
