use super::lowest::Lowest;
use dwell_types::{Nanos, Timestamp};

/// The latest delays of one direction, and the smallest ones. They bound those of the opposite direction at about the
/// same time, whatever the clocks: the sum of two delays, one in each direction, is free of their offset and cannot be
/// negative.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latest {
    /// Times at which delays became known, and the delays; in a ring.
    delays: [(Timestamp, Nanos); Self::NUMBER],
    /// How many there were.
    seen: usize,
    /// Minus the smallest of all: what is more than that is possible.
    enough: i64,
    /// The smallest ones, over time.
    pub(super) lowest: Lowest,
}

impl Default for Latest {
    /// Nothing is known.
    fn default() -> Self {
        Self { delays: Default::default(), seen: 0, enough: i64::MIN, lowest: Lowest::default() }
    }
}

impl Latest {
    /// Half of them may be wrong, for the median to be right.
    const NUMBER: usize = 9;
    /// Allowed beyond that, for times that are out of order.
    const SLACK: Nanos = Nanos::new(10_000_000);
    /// After this time they tell nothing about now: clocks may have been set.
    const AGE: Nanos = Nanos::from_secs(60);

    /// A delay became known at this time.
    pub(super) fn add(&mut self, at: Timestamp, delay: Nanos) {
        self.delays[self.seen % Self::NUMBER] = (at, delay);
        self.seen += 1;
        self.enough = self.enough.max(delay.get().saturating_neg());
        self.lowest.add(at, delay);
    }

    /// Whether a packet of the opposite direction cannot have this delay now.
    #[inline]
    pub(super) fn excludes(&self, delay: Nanos, now: Timestamp) -> bool {
        delay.get() < self.enough.saturating_sub(Self::SLACK.get())
            && self.least_against(now).is_some_and(|least| delay < least)
    }

    /// The least delay that a packet of the opposite direction can have now; `None` if too little is known. By the median,
    /// since single packets may have been matched with others.
    fn least_against(&self, now: Timestamp) -> Option<Nanos> {
        let first = self.delays.iter().map(|&(at, _)| at).min()?;
        let age = now - first;
        if self.seen < Self::NUMBER || !(Nanos::ZERO..=Self::AGE).contains(&age) {
            return None;
        }
        let mut delays = self.delays.map(|(_, delay)| delay.get());
        delays.sort_unstable();
        let against = delays[Self::NUMBER / 2].saturating_neg();
        Some(Nanos::new(against.saturating_sub(Self::SLACK.get() + age.drift().get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of 8 ms by a clock that is ahead by 3: no packet of the opposite direction takes less than -8 ms by it.
    #[test]
    fn the_median_bounds_the_opposite_direction() {
        const MILLI: i64 = 1_000_000;
        let at = |millis: i64| Timestamp::from_nanos(millis * MILLI);
        let mut latest = Latest::default();
        for n in 0..9 {
            assert_eq!(latest.least_against(at(n)), None, "too few");
            latest.add(at(n), Nanos::new(8 * MILLI));
        }
        assert_eq!(latest.least_against(at(1_000)), Some(Nanos::new(-19 * MILLI)));
        let excludes = |latest: &Latest, millis: i64| latest.excludes(Nanos::new(millis * MILLI), at(1_000));
        assert!(excludes(&latest, -20) && !excludes(&latest, -19) && !excludes(&latest, 1_000));
        // Longer ones, of packets that waited, exclude no less.
        for n in 9..11 {
            latest.add(at(n), Nanos::new(50 * MILLI));
        }
        assert!(excludes(&latest, -20));
        // Four may be wrong, even if all in the same way.
        for n in 11..15 {
            latest.add(at(n), Nanos::new(-4_000 * MILLI));
        }
        assert_eq!(latest.least_against(at(1_006)), Some(Nanos::new(-19 * MILLI)));
        // Old ones tell nothing, nor do later ones of a clock that was set back.
        assert_eq!((latest.least_against(at(60_007)), latest.least_against(at(5))), (None, None));
        // No overflow at the ends of the range.
        for n in 15..24 {
            latest.add(at(n), Nanos::new(i64::MIN));
        }
        assert!(latest.least_against(at(30)) > Some(Nanos::ZERO));
    }
}
