use dwell_types::{Nanos, Timestamp};

/// A clock with an offset and a drift.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clock {
    /// How far it is ahead at the start of a stream; negative if it is behind.
    pub offset: Nanos,
    /// How fast it gains: parts per million, above −10⁶.
    pub drift: f64,
}

impl Clock {
    /// What it shows at a given true time of a stream.
    pub fn read(self, at: Timestamp, start: Timestamp) -> Timestamp {
        let gained = (at - start).get() as f64 * self.drift * 1e-6;
        at + self.offset + Nanos::new(gained as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_gains_in_proportion_and_goes_forward() {
        let (start, at) = (Timestamp::from_nanos(1_000), |nanos: i64| Timestamp::from_nanos(1_000 + nanos));
        let clock = Clock { offset: Nanos::new(-500), drift: 50.0 };
        assert_eq!(clock.read(start, start), at(-500));
        assert_eq!(clock.read(at(1_000_000_000), start), at(1_000_049_500));
        assert_eq!(Clock::default().read(at(7), start), at(7));
        let slow = Clock { offset: Nanos::ZERO, drift: -999_999.0 };
        assert_eq!(slow.read(at(3_000_000), start), at(3));
    }
}
