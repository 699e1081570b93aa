//! A path between two points, for packets whose times are given.

use super::stream::Losses;
use super::{Loss, SettingsError};
use crate::Distribution;
use crate::chance::Chance;
use crate::distribution::{Sampler, rounded};
use dwell_types::{Nanos, Timestamp};

/// Settings of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathSettings {
    /// The delay of each packet.
    pub delays: Distribution,
    /// Which packets are lost.
    pub loss: Loss,
    /// Whether packets overtake each other as their delays say. Otherwise a packet that would overtake another one
    /// arrives together with it.
    pub reorders: bool,
    /// Share of the packets that arrive of which a copy arrives, too, in `0..=1`.
    pub duplicates: f64,
}

/// What becomes of a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// When it arrives.
    pub at: Timestamp,
    /// Whether a copy arrives directly behind it.
    pub is_doubled: bool,
}

/// A path between two points: losses, delays and copies are drawn independently of each other, so that a seed gives the
/// same delays with and without losses.
#[derive(Clone, Debug)]
pub struct Path {
    delays: Sampler,
    losses: Losses,
    duplicates: f64,
    /// The latest arrival so far, unless packets overtake each other.
    latest: Option<Timestamp>,
    reorders: bool,
    /// Random numbers for delays, losses and copies.
    chances: [Chance; 3],
}

impl Path {
    /// The path for these settings and this seed.
    pub fn new(settings: &PathSettings, seed: u64) -> Result<Self, SettingsError> {
        settings.loss.check()?;
        if !(0.0..=1.0).contains(&settings.duplicates) {
            return Err(SettingsError::Duplicates(settings.duplicates));
        }
        let mut chances = [b"pathtime", b"pathloss", b"pathcopy"].map(|name| Chance::named(seed, name));
        Ok(Self {
            delays: settings.delays.sampler().map_err(SettingsError::Delays)?,
            losses: Losses::new(settings.loss, &mut chances[1]),
            duplicates: settings.duplicates,
            latest: None,
            reorders: settings.reorders,
            chances,
        })
    }

    /// Sends a packet; `None` if it is lost. Times must not decrease, or packets arrive out of order.
    pub fn send(&mut self, at: Timestamp) -> Option<Arrived> {
        let [delays, losses, copies] = &mut self.chances;
        let at = at + Nanos::new(rounded(self.delays.draw(delays)));
        let is_doubled = copies.happens(self.duplicates);
        if self.losses.next(losses) {
            return None;
        }
        let at = self.latest.map_or(at, |latest| latest.max(at));
        if !self.reorders {
            self.latest = Some(at);
        }
        Some(Arrived { at, is_doubled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: i64 = 1_000;

    fn settings() -> PathSettings {
        PathSettings {
            delays: Distribution::Uniform { low: Nanos::new(5_000), high: Nanos::new(9_000) },
            loss: Loss::Bursts { share: 0.1, packets: 4.0 },
            reorders: true,
            duplicates: 0.2,
        }
    }

    /// A packet per microsecond.
    fn sent(settings: &PathSettings, packets: i64) -> Vec<Option<Arrived>> {
        let mut path = Path::new(settings, 7).unwrap();
        (0..packets).map(|number| path.send(Timestamp::from_nanos(number * GAP))).collect()
    }

    /// Of 10⁵ packets with losses in runs of 4 on average, the share lost has a standard error of .0024 (that of single
    /// losses, .00095, times √((1 + c)/(1 − c)) with a correlation c = 1 − 1/4 − 1/36 of successive packets); the mean
    /// of 2,500 geometric lengths has √12/50 = .069; the share of copies among 90,000 has .0013. Six of each: 2·10⁻⁹.
    /// Losses one by one have runs of 1/.9.
    #[test]
    fn losses_and_copies_are_as_many_as_asked() {
        let found = |settings: &PathSettings| {
            let fates = sent(settings, 100_000);
            let lost = fates.iter().filter(|fate| fate.is_none()).count() as f64;
            let runs = fates.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_none()).count() as f64;
            let doubled = fates.iter().flatten().filter(|arrived| arrived.is_doubled).count() as f64;
            (lost / 1e5, lost / runs, doubled / (1e5 - lost))
        };
        let is_run = |length: f64| (length - 4.0).abs() < 0.42;
        let (share, length, doubled) = found(&settings());
        assert!((share - 0.1).abs() < 0.0144 && is_run(length), "{share} {length}");
        assert!((doubled - 0.2).abs() < 0.008, "{doubled}");
        let (share, length, _) = found(&PathSettings { loss: Loss::Uniform(0.1), ..settings() });
        assert!((share - 0.1).abs() < 0.0057 && !is_run(length), "{share} {length}");
    }

    /// Without reordering a packet is later than by its own delay only if it would overtake another one, and then it
    /// arrives with that. Losses change nothing for others if packets overtake each other.
    #[test]
    fn packets_overtake_only_if_they_may() {
        let times = |settings: &PathSettings| {
            let fates = sent(settings, 10_000);
            fates.iter().map(|fate| fate.map(|arrived| arrived.at)).collect::<Vec<_>>()
        };
        let free = times(&PathSettings { loss: Loss::None, ..settings() });
        assert!(!free.is_sorted());
        let ordered = times(&PathSettings { loss: Loss::None, reorders: false, ..settings() });
        let mut latest = None;
        for (free, ordered) in free.iter().zip(&ordered) {
            latest = latest.max(*free);
            assert_eq!(*ordered, latest);
        }
        let lossy = times(&settings());
        assert!(lossy.iter().zip(&free).all(|(lossy, free)| lossy.is_none() || lossy == free));
    }

    #[test]
    fn nonsense_is_refused() {
        let error = |settings: &PathSettings| Path::new(settings, 1).unwrap_err();
        let sound = settings();
        let loss = Loss::Uniform(1.0);
        assert_eq!(error(&PathSettings { loss, ..sound.clone() }), SettingsError::Loss(loss));
        // Runs of packets that arrive would have to be shorter than a packet.
        let loss = Loss::Bursts { share: 0.9, packets: 2.0 };
        assert_eq!(error(&PathSettings { loss, ..sound.clone() }), SettingsError::Loss(loss));
        assert_eq!(error(&PathSettings { duplicates: 1.1, ..sound.clone() }), SettingsError::Duplicates(1.1));
        let delays = Distribution::Constant(Nanos::new(-1));
        assert!(matches!(error(&PathSettings { delays, ..sound }), SettingsError::Delays(_)));
    }
}
