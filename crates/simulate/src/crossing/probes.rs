use super::SettingsError;
use crate::chance::Chance;
use dwell_types::Timestamp;

/// The times at which probes are sent: a Poisson process.
#[derive(Clone, Debug)]
pub struct ProbeTimes {
    gap_ns: f64,
    next_ns: f64,
    chance: Chance,
}

impl ProbeTimes {
    /// This many probes per second on average, from the start on.
    pub fn new(rate: f64, start: Timestamp, seed: u64) -> Result<Self, SettingsError> {
        if !(rate > 0.0 && rate <= 1e9) {
            return Err(SettingsError::Rate(rate));
        }
        let mut chance = Chance::new(seed, u64::from_le_bytes(*b"sendtime"));
        let gap_ns = 1e9 / rate;
        let next_ns = start.as_nanos() as f64 + gap_ns * chance.exponential();
        Ok(Self { gap_ns, next_ns, chance })
    }

    /// Number of probes that have become due since the last call. Times must not decrease.
    #[inline]
    pub fn due(&mut self, at: Timestamp) -> u32 {
        let mut due = 0;
        while self.next_ns <= at.as_nanos() as f64 {
            due += 1;
            self.next_ns += self.gap_ns * self.chance.exponential();
        }
        due
    }
}
