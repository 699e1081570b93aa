use crate::distribution::Sampler;
use crate::{Distribution, DistributionError};
use core::fmt;
use dwell_types::{Nanos, Timestamp};

/// Settings of the traffic. Shares are in `0..=1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// When the traffic begins.
    pub start: Timestamp,
    /// Connections and queries begin within about this time, and continue to their end.
    pub span: Nanos,
    /// The most bytes of a frame that are captured.
    pub snap_length: u32,
    /// TCP connections, scans included.
    pub flows: u32,
    /// DNS queries, not counting repetitions.
    pub queries: u32,
    /// Share of connections and queries over IPv6; the others use IPv4.
    pub v6: f64,
    /// Share of connections with the timestamp option (RFC 7323), in ticks of 1 ms.
    pub timestamps: f64,
    /// Share of connections that are scans: SYNs that are refused (30%) or never answered, half of these sent thrice.
    pub scans: f64,
    /// Share of connections of which the point sees only one direction, each with the same probability.
    pub one_way: f64,
    /// Share of connections in which the client sends the bulk of the data.
    pub uploads: f64,
    /// Probability that a SYN is lost beyond the point; it is sent again after 1 s, then 2 s, and then arrives.
    pub syn_loss: f64,
    /// Probability that a data segment is lost, equally often before and beyond the point.
    pub data_loss: f64,
    /// Probability that a DNS query is lost beyond the point. Half of these are sent again after 5 s with the same id.
    pub query_loss: f64,
    /// Share of connections that end with RST.
    pub resets: f64,
    /// Share of connections that end silently; the others end with FIN.
    pub silent: f64,
    /// Round-trip time from the point to the client and back, per connection.
    pub before: Distribution,
    /// Round-trip time from the point to the server and back, per connection and query.
    pub beyond: Distribution,
    /// Mean extra delay of a packet, as a share of the round-trip time; exponential.
    pub jitter: f64,
    /// Processing time of servers, and time that clients wait before the next request.
    pub pause: Distribution,
    /// Amount of data in a bulk turn.
    pub sizes: Sizes,
}

/// Segments of a bulk turn: Pareto from `least`, truncated at `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Smallest number; at least one.
    pub least: u32,
    /// Largest number; at most 10⁶.
    pub most: u32,
    /// Tail index; heavy below two.
    pub shape: f64,
}

/// Why settings are invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SettingsError {
    /// A share is not in `0..=1`.
    Share {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: f64,
    },
    /// The shares of resets and of silent ends add up to more than one.
    Ends(f64),
    /// The span must be above zero, and end before the year 2100.
    Span(Nanos),
    /// The start must be within the years that captures can represent, with room for the longest delays.
    Start(Timestamp),
    /// The jitter must be in `0..=100`.
    Jitter(f64),
    /// See [`Sizes`].
    Sizes(Sizes),
    /// A delay distribution is invalid.
    Delays {
        /// Name of the field.
        field: &'static str,
        /// The reason.
        error: DistributionError,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share { field, value } => write!(f, "{field} = {value}: expected a share from 0 to 1"),
            Self::Ends(sum) => write!(f, "resets and silent ends are {sum} of all: expected at most 1"),
            Self::Span(span) => {
                write!(f, "a span of {span}: expected more than zero, and its end before the year 2100")
            }
            Self::Start(start) => {
                write!(f, "start at {} ns: expected the years 1970 to 2099", start.as_nanos())
            }
            Self::Jitter(jitter) => write!(f, "jitter = {jitter}: expected from 0 to 100"),
            Self::Sizes(Sizes { least, most, shape }) => write!(
                f,
                "turns of {least} to {most} segments with shape {shape}: expected 1 ≤ least ≤ most ≤ 10⁶ and a shape above zero"
            ),
            Self::Delays { field, error } => write!(f, "{field}: {error}"),
        }
    }
}

impl core::error::Error for SettingsError {}

const MILLISECOND: i64 = 1_000_000;

impl Settings {
    /// The capture for speed measurements: about 5 million packets of 200,000 connections, 5% of them DNS, over 60 s;
    /// about 490 MB as a pcap file.
    pub fn speed() -> Self {
        let ms = |value: i64| Nanos::new(value * MILLISECOND);
        Self {
            // 2026-01-01 00:00 UTC.
            start: Timestamp::from_parts(1_767_225_600, 0),
            span: Nanos::from_secs(60),
            snap_length: 96,
            flows: 200_000,
            queries: 128_000,
            v6: 0.2,
            timestamps: 0.9,
            scans: 0.1,
            one_way: 0.02,
            uploads: 0.15,
            syn_loss: 0.01,
            data_loss: 0.003,
            query_loss: 0.05,
            resets: 0.1,
            silent: 0.05,
            before: Distribution::LogNormal { mean: ms(8), p99: ms(60) },
            beyond: Distribution::LogNormal { mean: ms(60), p99: ms(600) },
            jitter: 0.05,
            pause: Distribution::LogNormal { mean: ms(30), p99: ms(300) },
            sizes: Sizes { least: 2, most: 5000, shape: 1.27 },
        }
    }

    /// The same kind of traffic, but only a few thousand packets over 3 s.
    pub fn small() -> Self {
        Self { span: Nanos::from_secs(3), flows: 200, queries: 128, ..Self::speed() }
    }

    pub(super) fn check(&self) -> Result<(), SettingsError> {
        let shares = [
            ("v6", self.v6),
            ("timestamps", self.timestamps),
            ("scans", self.scans),
            ("one_way", self.one_way),
            ("uploads", self.uploads),
            ("syn_loss", self.syn_loss),
            ("data_loss", self.data_loss),
            ("query_loss", self.query_loss),
            ("resets", self.resets),
            ("silent", self.silent),
        ];
        for (field, value) in shares {
            if !(0.0..=1.0).contains(&value) {
                return Err(SettingsError::Share { field, value });
            }
        }
        if self.resets + self.silent > 1.0 {
            return Err(SettingsError::Ends(self.resets + self.silent));
        }
        // 2100-01-01 00:00 UTC.
        const LATEST: Timestamp = Timestamp::from_parts(4_102_444_800, 0);
        if self.start < Timestamp::from_nanos(0) || self.start > LATEST {
            return Err(SettingsError::Start(self.start));
        }
        if self.span <= Nanos::ZERO || self.start + self.span > LATEST {
            return Err(SettingsError::Span(self.span));
        }
        if !(0.0..=100.0).contains(&self.jitter) {
            return Err(SettingsError::Jitter(self.jitter));
        }
        let Sizes { least, most, shape } = self.sizes;
        if least < 1 || most < least || most > 1_000_000 || !(shape > 0.0 && shape.is_finite()) {
            return Err(SettingsError::Sizes(self.sizes));
        }
        Ok(())
    }
}

/// Settings in the form used for generating traffic.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) settings: Settings,
    pub(super) before: Sampler,
    pub(super) beyond: Sampler,
    pub(super) pause: Sampler,
    pub(super) sizes: Sampler,
}

impl Model {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        let sampler = |field, distribution: &Distribution| {
            distribution.sampler().map_err(|error| SettingsError::Delays { field, error })
        };
        let Sizes { least, shape, .. } = settings.sizes;
        let sizes = Distribution::Pareto { least: Nanos::new(least.into()), shape };
        Ok(Self {
            settings: settings.clone(),
            before: sampler("before", &settings.before)?,
            beyond: sampler("beyond", &settings.beyond)?,
            pause: sampler("pause", &settings.pause)?,
            sizes: sampler("sizes", &sizes)?,
        })
    }
}
