use super::SettingsError;
use crate::chance::Chance;
use dwell_types::Timestamp;

/// The times at which probes are sent: a Poisson process.
#[derive(Clone, Debug)]
pub struct ProbeTimes {
    gap_ns: f64,
    start: Timestamp,
    /// Since the start: as time since the epoch it would be rounded to multiples of 256 ns.
    next_ns: f64,
    chance: Chance,
}

impl ProbeTimes {
    /// This many probes per second on average, from the start on.
    pub fn new(rate: f64, start: Timestamp, seed: u64) -> Result<Self, SettingsError> {
        if !(rate > 0.0 && rate <= 1e9) {
            return Err(SettingsError::Rate(rate));
        }
        let mut chance = Chance::named(seed, b"sendtime");
        let gap_ns = 1e9 / rate;
        let next_ns = gap_ns * chance.exponential();
        Ok(Self { gap_ns, start, next_ns, chance })
    }

    /// Number of probes that have become due since the last call. Times must not decrease.
    #[inline]
    pub fn due(&mut self, at: Timestamp) -> u32 {
        let mut due = 0;
        let elapsed = (at - self.start).get() as f64;
        while self.next_ns <= elapsed {
            due += 1;
            self.next_ns += self.gap_ns * self.chance.exponential();
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwell_types::Nanos;

    /// A hundred million per second, from any start: as many as the rate says.
    #[test]
    fn probes_are_as_many_at_any_date() {
        for start in [0, 1_800_000_000_000_000_000] {
            let start = Timestamp::from_nanos(start);
            let mut times = ProbeTimes::new(1e8, start, 7).unwrap();
            let due: u32 = (0..1_000).map(|at| times.due(start + Nanos::new(1_000 * at))).sum();
            assert!((98_400..101_400).contains(&due), "{due}");
        }
    }
}
