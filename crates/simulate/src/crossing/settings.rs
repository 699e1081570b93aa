use crate::chance::Chance;
use crate::{Distribution, DistributionError};
use core::fmt;
use dwell_types::{Nanos, Timestamp};

/// Settings of a stream of packets between two points.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// When the first packet is sent.
    pub start: Timestamp,
    /// Packets per second at the sender, evenly spaced.
    pub rate: f64,
    /// Packets that the sender counts.
    pub packets: u64,
    /// The delays of packets, which overtake each other if these vary by more than the gap between them.
    pub delays: Distribution,
    /// Which packets are lost.
    pub loss: Loss,
    /// The receiver's interval begins and ends this many packets after the sender's, as if the marks between intervals
    /// had been overtaken: the receiver does not count the first packets sent, and counts as many others that the
    /// sender did not count.
    pub displaced: u32,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each with this probability, independently of the others.
    Uniform(f64),
    /// Alternating runs of lost packets and of packets that arrive, both of geometric length.
    Bursts {
        /// Share of the packets that are lost.
        share: f64,
        /// Mean length of a run of lost packets, at least 1.
        packets: f64,
    },
}

/// Why settings are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// Packets per second must be above zero and at most 10⁹.
    Rate(f64),
    /// The share of lost packets must be in `0..1`, and runs of lost packets and of others at least one packet long.
    Loss(Loss),
    /// The share of packets of which a copy arrives must be in `0..=1`.
    Duplicates(f64),
    /// The distribution of delays is invalid.
    Delays(DistributionError),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate} packets per second: expected above 0 and up to 1e9"),
            Self::Loss(loss) => write!(
                f,
                "loss {loss:?}: expected a share from 0 to below 1, and runs of at least one packet, lost or not"
            ),
            Self::Duplicates(share) => write!(f, "share of duplicates {share}: expected a number from 0 to 1"),
            Self::Delays(error) => write!(f, "delays: {error}"),
        }
    }
}

impl core::error::Error for SettingsError {}

impl Loss {
    /// Share of the packets that are lost.
    pub const fn share(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Uniform(share) | Self::Bursts { share, .. } => share,
        }
    }

    pub(super) fn check(self) -> Result<(), SettingsError> {
        /// Relative error of a limit that is computed from the share.
        const ROUNDING: f64 = 1e-9;
        let share = self.share();
        let sane_runs = match self {
            Self::Bursts { packets, .. } => {
                packets >= 1.0 && packets.is_finite() && packets * (1.0 - share) >= share * (1.0 - ROUNDING)
            }
            Self::None | Self::Uniform(_) => true,
        };
        if (0.0..1.0).contains(&share) && sane_runs { Ok(()) } else { Err(SettingsError::Loss(self)) }
    }
}

impl Settings {
    /// The paper's main stream [kompella12 §IV-A]: 5 M packets in a second, Weibull delays of shape .6 with mean 200
    /// ns, no loss.
    ///
    /// In the paper a packet is sent only after the previous one has arrived; here they are evenly spaced and may
    /// overtake each other, which does not affect sums of times.
    pub fn lda_weibull() -> Self {
        // 200 ns / Γ(1 + 1/.6), with Γ(8/3) = 1.504575.
        Self::lda(Distribution::Weibull { scale: Nanos::new(133), shape: 0.6 })
    }

    /// The same with other delays.
    pub fn lda(delays: Distribution) -> Self {
        Self { start: Timestamp::from_nanos(0), rate: 5e6, packets: 5_000_000, delays, loss: Loss::None, displaced: 0 }
    }

    /// The stream with this many packets at the sender.
    pub fn with_packets(mut self, packets: u64) -> Self {
        self.packets = packets;
        self
    }

    /// How long the sender sends.
    pub fn span(&self) -> Nanos {
        Nanos::new((self.packets as f64 / self.rate * 1e9) as i64)
    }

    /// Mean and standard deviation of the delays, in nanoseconds, from ten thousand draws.
    pub fn delay_moments(&self) -> Result<(f64, f64), DistributionError> {
        const DRAWS: u32 = 10_000;
        let delays = self.delays.sampler()?;
        let mut chance = Chance::named(0, b"moments\0");
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..DRAWS {
            // Once for a flow; without this draw recorded numbers would be others.
            chance.bits();
            let delay = delays.draw(&mut chance);
            sum += delay;
            squares += delay * delay;
        }
        let mean = sum / f64::from(DRAWS);
        Ok((mean, libm::sqrt((squares / f64::from(DRAWS) - mean * mean).max(0.0))))
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        if !(self.rate > 0.0 && self.rate <= 1e9) {
            return Err(SettingsError::Rate(self.rate));
        }
        self.loss.check()
    }
}
