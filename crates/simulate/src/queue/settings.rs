use super::Discipline;
use core::fmt;
use dwell_types::{Nanos, Timestamp};
use std::ops::RangeInclusive;

/// Settings of a queue and of the packets that arrive at it.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Start of the stream: no packet arrives earlier.
    pub start: Timestamp,
    /// Number of packets that depart.
    pub packets: u64,
    /// Rate of the link in bits per second.
    pub rate: f64,
    /// Capacity of the buffer in bytes; a packet that finds no room is dropped. `None` for no limit.
    pub buffer_bytes: Option<u64>,
    /// Which packet leaves next.
    pub discipline: Discipline,
    /// Small flows that arrive all the time.
    pub background: Background,
    /// Large flows that come in bursts.
    pub bursts: Option<Bursts>,
}

/// Poisson arrivals of packets of many flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    /// Bits per second.
    pub rate: f64,
    /// Number of flows that send at the same time; when one has ended another begins in its place.
    pub flows: u32,
    /// How unequal they are, *s* in `0..1`: the *k*-th place sends about *k*⁻ˢ as much as the first, and its flows are
    /// larger in proportion. Zero: all equal.
    pub skew: f64,
    /// Packets of a flow: Pareto, with this minimum and index. If flows are unequal, on average.
    pub flow_packets: (u32, f64),
    /// Packet lengths in bytes, all equally likely.
    pub packet_bytes: RangeInclusive<u32>,
}

/// Bursts that begin at Poisson times; each consists of one or several new flows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bursts {
    /// Mean time from the beginning of one to that of the next.
    pub every: Nanos,
    /// Flows of a burst, which begin together: incast if there are many.
    pub senders: u32,
    /// Bits per second of each flow.
    pub rate: f64,
    /// Smallest and largest number of bytes of a flow; Pareto, truncated.
    pub bytes: (f64, f64),
    /// Pareto index of the bytes of a flow.
    pub shape: f64,
    /// Length of the packets in bytes.
    pub packet_bytes: u32,
}

/// Why settings are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// Bits per second, of the queue, the background or a burst, must be above zero and at most 10¹³.
    Rate(f64),
    /// The number of flows in the background must be from 1 to 2²⁴.
    Flows(u32),
    /// The skew of flows must be from 0 to below 1.
    Skew(f64),
    /// Flows must have at least one packet, bursts at least one byte, and both a tail index above zero; the largest
    /// burst must not be below the smallest.
    Sizes,
    /// Packets must have from 1 to 2¹⁶ − 1 bytes.
    PacketBytes(u32),
    /// Bursts must begin at least a nanosecond apart on average.
    Every(Nanos),
    /// A burst must have from 1 to 2¹⁶ flows.
    Senders(u32),
    /// A buffer of this many bytes has no room for any packet of the background.
    Buffer(u64),
    /// The quantum of a turn must be from 1 to 2³¹ bytes.
    Quantum(u32),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{rate} bits per second: expected above 0 and up to 1e13"),
            Self::Flows(flows) => write!(f, "{flows} flows at a time: expected from 1 to 16777216"),
            Self::Skew(skew) => write!(f, "flows unequal by {skew}: expected from 0 to below 1"),
            Self::Sizes => f.write_str("sizes of flows: expected least ≥ 1, largest ≥ least and an index above 0"),
            Self::PacketBytes(bytes) => write!(f, "packets of {bytes} bytes: expected from 1 to 65535"),
            Self::Every(every) => write!(f, "a burst every {every}: expected at least 1 ns"),
            Self::Senders(senders) => write!(f, "{senders} flows of a burst: expected from 1 to 65536"),
            Self::Buffer(bytes) => write!(f, "a buffer of {bytes} bytes: no packet would find room"),
            Self::Quantum(bytes) => write!(f, "turns of {bytes} bytes: expected from 1 to 2147483648"),
        }
    }
}

impl core::error::Error for SettingsError {}

impl Settings {
    /// Like the trace of a data centre that the paper speeds up by 50 [conquest §6.1]: a link of 10 Gb/s with an
    /// unlimited buffer, a mean load of about a sixth, and bursts that arrive faster than the link rate and keep
    /// packets waiting for up to about 6 ms.
    ///
    /// The trace itself is not available here. Bursts are Pareto; this one of six settings was chosen because its load,
    /// its longest delay and the results of the sketch are closest to the paper's (`docs/papers/conquest.md`):
    /// agreement with the paper on it is fitted, not found.
    pub fn conquest_data_center() -> Self {
        Self {
            start: Timestamp::from_nanos(0),
            packets: 1_000_000,
            rate: 10e9,
            buffer_bytes: None,
            discipline: Discipline::Fifo,
            background: Background { rate: 5e8, flows: 60, skew: 0.0, flow_packets: (2, 1.2), packet_bytes: 64..=512 },
            bursts: Some(Bursts {
                every: Nanos::new(20_000_000),
                senders: 3,
                rate: 15e9,
                bytes: (50e3, 5e6),
                shape: 0.5,
                packet_bytes: 1_500,
            }),
        }
    }

    /// Many senders to one receiver at once, with a buffer of 2 MB [conquest §7]: each of them takes a small share.
    pub fn incast() -> Self {
        Self {
            buffer_bytes: Some(2 << 20),
            bursts: Some(Bursts {
                every: Nanos::new(20_000_000),
                senders: 64,
                rate: 1e9,
                bytes: (32e3, 64e3),
                shape: 1.0,
                packet_bytes: 1_500,
            }),
            ..Self::conquest_data_center()
        }
    }

    /// The queue with this many packets.
    pub fn with_packets(mut self, packets: u64) -> Self {
        self.packets = packets;
        self
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        check_rate(self.rate)?;
        self.discipline.check()?;
        self.background.check()?;
        self.bursts.as_ref().map_or(Ok(()), Bursts::check)
    }

    /// Mean arrival rate in bits per second. A queue without limit whose link rate is lower grows forever.
    pub fn arrival_rate(&self) -> f64 {
        self.background.rate + self.bursts.as_ref().map_or(0.0, Bursts::mean_rate)
    }

    /// Checks that at least the shortest packets fit into the buffer.
    pub(super) fn check_room(&self) -> Result<(), SettingsError> {
        match self.buffer_bytes {
            Some(bytes) if bytes < u64::from(*self.background.packet_bytes.start()) => {
                Err(SettingsError::Buffer(bytes))
            }
            _ => Ok(()),
        }
    }
}

impl Discipline {
    fn check(self) -> Result<(), SettingsError> {
        match self {
            Self::RoundRobin { quantum } if !(1..=1 << 31).contains(&quantum) => Err(SettingsError::Quantum(quantum)),
            _ => Ok(()),
        }
    }
}

impl Background {
    fn check(&self) -> Result<(), SettingsError> {
        check_rate(self.rate)?;
        if !(1..=1 << 24).contains(&self.flows) {
            return Err(SettingsError::Flows(self.flows));
        }
        if !(0.0..1.0).contains(&self.skew) {
            return Err(SettingsError::Skew(self.skew));
        }
        let (least, shape) = self.flow_packets;
        check_sizes(least.into(), f64::INFINITY, shape)?;
        check_bytes(*self.packet_bytes.start())?;
        check_bytes(*self.packet_bytes.end())?;
        if self.packet_bytes.is_empty() { Err(SettingsError::Sizes) } else { Ok(()) }
    }

    /// Maps a uniform number in `0..1` to a place, in proportion to the places' shares of the packets.
    pub(super) fn place(&self, unit: f64) -> u32 {
        let place = f64::from(self.flows) * libm::pow(unit, 1.0 / (1.0 - self.skew));
        (place as u32).min(self.flows - 1)
    }

    /// How often a place sends, relative to the mean of all places.
    pub(super) fn weight(&self, place: u32) -> f64 {
        let flows = f64::from(self.flows);
        let up_to = |place: f64| libm::pow(place / flows, 1.0 - self.skew);
        flows * (up_to(f64::from(place) + 1.0) - up_to(f64::from(place)))
    }
}

impl Bursts {
    /// Mean bits per second of all bursts together.
    fn mean_rate(&self) -> f64 {
        let (least, most) = self.bytes;
        // ∫ (least/x)^shape dx from the smallest to the largest.
        let rest = if self.shape == 1.0 {
            least * libm::log(most / least)
        } else {
            (libm::pow(most, 1.0 - self.shape) * libm::pow(least, self.shape) - least) / (1.0 - self.shape)
        };
        f64::from(self.senders) * (least + rest) * 8e9 / self.every.get() as f64
    }

    fn check(&self) -> Result<(), SettingsError> {
        check_rate(self.rate)?;
        if self.every < Nanos::new(1) {
            return Err(SettingsError::Every(self.every));
        }
        if !(1..=1 << 16).contains(&self.senders) {
            return Err(SettingsError::Senders(self.senders));
        }
        check_sizes(self.bytes.0, self.bytes.1, self.shape)?;
        check_bytes(self.packet_bytes)
    }
}

fn check_rate(rate: f64) -> Result<(), SettingsError> {
    if rate > 0.0 && rate <= 1e13 { Ok(()) } else { Err(SettingsError::Rate(rate)) }
}

fn check_sizes(least: f64, largest: f64, shape: f64) -> Result<(), SettingsError> {
    let is_sane = least >= 1.0 && largest >= least && shape > 0.0 && shape.is_finite();
    if is_sane { Ok(()) } else { Err(SettingsError::Sizes) }
}

fn check_bytes(bytes: u32) -> Result<(), SettingsError> {
    if (1..1 << 16).contains(&bytes) { Ok(()) } else { Err(SettingsError::PacketBytes(bytes)) }
}
