use core::fmt;
use dwell_types::Nanos;

/// Settings of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The links, one per direction; a link is identified by its index here.
    pub links: Vec<LinkSettings>,
    /// Length of an interval.
    pub interval: Nanos,
    /// One in this many packets is measured; the others are cross traffic.
    pub one_in: u32,
}

/// Settings of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSettings {
    /// Bits per second.
    pub rate: f64,
    /// Mean load, as a share of the rate.
    pub load: f64,
    /// Standard deviation of the load between intervals, as a share of the mean load. Loads are limited to between a
    /// hundredth and 19 twentieths.
    pub spread: f64,
    /// Propagation delay.
    pub propagation: Nanos,
    /// Share of the packets that are lost, independently of each other.
    pub loss: f64,
}

/// A fault of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The link.
    pub link: u32,
    /// The first interval with the fault, counted from 0.
    pub from: u32,
    /// Its effect.
    pub harm: Harm,
}

/// The effect of a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Harm {
    /// Every packet is delayed by this much more.
    Slow(Nanos),
    /// This share of the packets is lost in addition.
    Lossy(f64),
}

/// Why settings are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// Bits per second must be above zero and at most 10¹³.
    Rate(f64),
    /// Loads must be from a hundredth to 19 twentieths.
    Load(f64),
    /// The spread of a load must be from zero to one.
    Spread(f64),
    /// Delays must be from zero to an hour.
    Delay(Nanos),
    /// Shares must be from zero to one.
    Share(f64),
    /// Intervals must last from a microsecond to an hour.
    Interval(Nanos),
    /// One packet in at least one must be measured.
    OneIn,
    /// There is no such link.
    Link(u32),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate} bits per second: expected above 0 and up to 1e13"),
            Self::Load(load) => write!(f, "a load of {load}: expected from .01 to .95"),
            Self::Spread(spread) => write!(f, "a spread of {spread}: expected from 0 to 1"),
            Self::Delay(delay) => write!(f, "a delay of {delay}: expected from 0 to an hour"),
            Self::Share(share) => write!(f, "a share of {share}: expected from 0 to 1"),
            Self::Interval(interval) => write!(f, "intervals of {interval}: expected from 1 µs to an hour"),
            Self::OneIn => f.write_str("one packet in none: expected one in at least 1"),
            Self::Link(link) => write!(f, "no link {link}"),
        }
    }
}

impl core::error::Error for SettingsError {}

const HOUR: Nanos = Nanos::new(3_600_000_000_000);
/// Bounds for loads; drawn ones are clamped to them.
pub(super) const LOADS: core::ops::RangeInclusive<f64> = 0.01..=0.95;

fn check<T: PartialOrd + Copy>(
    value: T,
    bounds: core::ops::RangeInclusive<T>,
    error: fn(T) -> SettingsError,
) -> Result<(), SettingsError> {
    if bounds.contains(&value) { Ok(()) } else { Err(error(value)) }
}

impl Settings {
    /// This many links of 1 Gb/s with mean loads spread evenly from a tenth to six tenths, varying by a twentieth, and
    /// propagation delays of 50 µs to 5 ms; intervals last 50 ms; every fourth packet is measured, and one in 10,000 is
    /// lost.
    ///
    /// Backbones are kept below such loads. Intervals are far shorter than in practice, so that there are fewer packets
    /// to simulate: queues vary more between them than between intervals of a second.
    pub fn backbone(links: u32) -> Self {
        let link = |number: u32| {
            // Multiples of irrational numbers such as the golden ratio: neighbouring links differ.
            let part = |step: f64| libm::fmod(f64::from(number) * step + 0.5, 1.0);
            LinkSettings {
                rate: 1e9,
                load: 0.1 + 0.5 * part(0.618_034),
                spread: 0.05,
                propagation: Nanos::new((50_000.0 * libm::pow(100.0, part(0.754_878))) as i64),
                loss: 1e-4,
            }
        };
        Self { links: (0..links).map(link).collect(), interval: Nanos::new(50_000_000), one_in: 4 }
    }

    pub(super) fn check(&self, faults: &[Fault]) -> Result<(), SettingsError> {
        for link in &self.links {
            check(link.rate, f64::MIN_POSITIVE..=1e13, SettingsError::Rate)?;
            check(link.load, LOADS, SettingsError::Load)?;
            check(link.spread, 0.0..=1.0, SettingsError::Spread)?;
            check(link.propagation, Nanos::ZERO..=HOUR, SettingsError::Delay)?;
            check(link.loss, 0.0..=1.0, SettingsError::Share)?;
        }
        check(self.interval, Nanos::new(1_000)..=HOUR, SettingsError::Interval)?;
        if self.one_in == 0 {
            return Err(SettingsError::OneIn);
        }
        for fault in faults {
            match fault.harm {
                Harm::Slow(delay) => check(delay, Nanos::ZERO..=HOUR, SettingsError::Delay)?,
                Harm::Lossy(share) => check(share, 0.0..=1.0, SettingsError::Share)?,
            }
            if fault.link as usize >= self.links.len() {
                return Err(SettingsError::Link(fault.link));
            }
        }
        Ok(())
    }
}
