use super::{Loss, Settings, SettingsError};
use crate::chance::Chance;
use crate::distribution::{Sampler, rounded};
use dwell_types::{Nanos, PacketId, Timestamp, hash};

/// One packet, and when the two points saw it within their intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// The packet's identity.
    pub packet: PacketId,
    /// When it was sent; `None` if the sender counts it in another interval.
    pub sent: Option<Timestamp>,
    /// When it arrived; `None` if it was lost, or if the receiver counts it in another interval.
    pub received: Option<Timestamp>,
    /// Whether it was lost.
    pub is_lost: bool,
}

impl Passage {
    /// The true delay of a packet that both points count.
    #[inline]
    pub fn delay(&self) -> Option<Nanos> {
        Some(self.received? - self.sent?)
    }
}

/// Packets in the order in which they are sent, as [`Settings`] describe them.
///
/// Ids are a bijection of a counter: no two packets of a stream share one.
#[derive(Clone, Debug)]
pub struct Passages {
    start: f64,
    gap: f64,
    displaced: u64,
    packets: u64,
    /// Number of packets generated so far.
    made: u64,
    packet_ids: u64,
    delays: Sampler,
    losses: Losses,
    chance: Chance,
}

impl Passages {
    /// The stream for these settings and this seed.
    pub fn new(settings: &Settings, seed: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        let mut chance = Chance::named(seed, b"crossing");
        let packet_ids = chance.bits();
        let losses = Losses::new(settings.loss, &mut chance);
        // Once for a flow; without these two draws all recorded streams would be others.
        (0..2).for_each(|_| _ = chance.bits());
        Ok(Self {
            start: settings.start.as_nanos() as f64,
            gap: 1e9 / settings.rate,
            displaced: settings.displaced.into(),
            packets: settings.packets,
            made: 0,
            packet_ids,
            delays: settings.delays.sampler().map_err(SettingsError::Delays)?,
            losses,
            chance,
        })
    }
}

impl Iterator for Passages {
    type Item = Passage;

    #[inline]
    fn next(&mut self) -> Option<Passage> {
        let number = self.made;
        if number >= self.packets + self.displaced {
            return None;
        }
        self.made += 1;
        let is_lost = self.losses.next(&mut self.chance);
        let at = Timestamp::from_nanos((self.start + number as f64 * self.gap) as i64);
        let delay = Nanos::new(rounded(self.delays.draw(&mut self.chance)));
        Some(Passage {
            packet: PacketId(hash::word(self.packet_ids, number)),
            sent: (number < self.packets).then_some(at),
            received: (!is_lost && number >= self.displaced).then_some(at + delay),
            is_lost,
        })
    }
}

/// Alternating runs of packets that arrive and of packets that are lost.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// Mean lengths of the runs.
    arriving: f64,
    lost: f64,
    /// Whether losses are independent. Runs are then the packets between one loss and the next, of which there may be
    /// none; their mean number is one less than `arriving`.
    are_single: bool,
    /// Packets left in the current run.
    left: u64,
    is_losing: bool,
}

impl Losses {
    pub(super) fn new(loss: Loss, chance: &mut Chance) -> Self {
        let share = loss.share();
        let mut losses = Self { arriving: 1.0 / share, lost: 1.0, are_single: true, left: u64::MAX, is_losing: false };
        if share == 0.0 {
            return losses;
        }
        if let Loss::Bursts { packets, .. } = loss {
            let (arriving, is_losing) = (packets * (1.0 - share) / share, chance.happens(share));
            losses = Self { arriving, lost: packets, are_single: false, is_losing, ..losses };
        }
        losses.left = losses.draw(chance);
        losses
    }

    /// Whether the next packet is lost.
    #[inline]
    pub(super) fn next(&mut self, chance: &mut Chance) -> bool {
        while self.left == 0 {
            self.is_losing = !self.is_losing;
            self.left = self.draw(chance);
        }
        self.left -= 1;
        self.is_losing
    }

    /// Draws the length of the run that begins.
    fn draw(&self, chance: &mut Chance) -> u64 {
        match self.is_losing {
            true => geometric(self.lost, chance),
            false => geometric(self.arriving, chance) - u64::from(self.are_single),
        }
    }
}

/// A geometric random number of at least one with this mean, which must be at least one.
fn geometric(mean: f64, chance: &mut Chance) -> u64 {
    if mean <= 1.0 {
        return 1;
    }
    ((chance.exponential() / -libm::log1p(-1.0 / mean)) as u64).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of an exponential number divided by the rate, also where one minus the rate rounds to one. The mean of 10,000
    /// has a standard error of 1%: six of it correspond to 2·10⁻⁹.
    #[test]
    fn rare_losses_are_rare() {
        let mut chance = Chance::new(1, 0);
        for mean in [1e3, 1e9, 1e15, 1e17] {
            let sum: f64 = (0..10_000).map(|_| geometric(mean, &mut chance) as f64).sum();
            let ratio = sum / 10_000.0 / mean;
            assert!((ratio - 1.0).abs() < 0.06, "{mean}: {ratio}");
        }
        for share in [1e-18, 1e-300, f64::MIN_POSITIVE / 2.0] {
            for loss in [Loss::Uniform(share), Loss::Bursts { share, packets: 5.0 }] {
                let mut losses = Losses::new(loss, &mut chance);
                assert!(!(0..10_000).any(|_| losses.next(&mut chance)), "{loss:?}");
            }
        }
    }
}
