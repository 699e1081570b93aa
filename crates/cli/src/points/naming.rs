//! How packets of a point are read and named, and how a report says so.

use crate::units::{between, one_of, seed, whole};
use clap::Args;
use dwell_observe::crossing::{Directions, Settings};
use dwell_observe::group::Grouping;
use dwell_observe::parse::Key;
use dwell_report::facts::Parameter;
use dwell_types::Nanos;
use std::collections::BTreeMap;

/// How packets are read and identified.
#[derive(Clone)]
pub(crate) struct Reading {
    /// Read logs instead of captures.
    pub(crate) is_log: bool,
    /// Which fields identify a packet.
    pub(crate) names: Settings,
}

impl Reading {
    /// What a report says of points that are read so and compared: how packets are identified, which directions and flows
    /// are measured, up to which delay, and how far clocks were taken to be apart.
    pub(crate) fn parameters(
        &self,
        directions: &Directions,
        longest: Nanos,
        clock_offset: Nanos,
    ) -> BTreeMap<&'static str, Parameter> {
        let Settings { nat, payload_bytes, mtu, group, seed, .. } = self.names;
        let mut parameters =
            BTreeMap::from([("seed", Parameter::Integer(seed)), ("longest_ns", Parameter::Span(longest.get()))]);
        if !self.is_log {
            parameters.insert("payload_bytes", Parameter::Integer(payload_bytes as u64));
            parameters.extend(nat.then(|| ("nat", Parameter::Text("yes".to_owned()))));
            parameters.extend(mtu.map(|mtu| ("mtu_bytes", Parameter::Integer(mtu.into()))));
        }
        if clock_offset != Nanos::ZERO {
            parameters.insert("clock_offset_ns", Parameter::Span(clock_offset.get()));
        }
        parameters.extend(directions.sources().map(|from| ("from", Parameter::Text(from))));
        parameters.extend(group.map(|group| ("group", Parameter::Text(group.to_string()))));
        parameters
    }
}

/// How packets are named: the same at all points.
#[derive(Args, Clone)]
pub(crate) struct NamingArguments {
    /// Which addresses of tunnelled packets to use; with inner, a tunnel may begin or end between the points.
    #[arg(long, value_parser = one_of(Key::ALL, Key::name), default_value = Key::Inner.name(), help_heading = "What is measured")]
    key: Key,
    /// Addresses and ports are translated between the points; in --from name the sender's addresses as either point
    /// sees them.
    #[arg(long, help_heading = "What is measured")]
    pub(crate) nat: bool,
    /// Payload bytes used to identify a packet, as far as captured.
    #[arg(long, value_name = "N", default_value_t = Settings::PAYLOAD_BYTES, value_parser = whole::<usize>, help_heading = "What is measured")]
    payload_bytes: usize,
    /// Split the TCP segments that hosts leave to their network cards to split, or get merged (TSO, GRO), as links carry
    /// them: the length of the path's longest packets from the IP header on, mostly 1500.
    #[arg(long, value_name = "BYTES", value_parser = between::<u32>(LEAST_MTU..=65_535), help_heading = "What is measured")]
    mtu: Option<u32>,
    /// Seed of all hashes: the same seed gives the same result. Whoever knows it can craft packets that evade or slow
    /// down the measurement: on untrusted traffic choose a secret one, or `random`; the report names it.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = seed, help_heading = "Method and memory")]
    pub(crate) seed: u64,
}

/// Every path carries packets of so many bytes (RFC 1122 §3.3.3).
const LEAST_MTU: u64 = 576;

impl NamingArguments {
    /// How to read a point, whose flows are defined by `group`, or else by addresses and ports.
    pub(crate) fn reading(&self, is_log: bool, group: Option<Grouping>) -> Reading {
        let &Self { key, nat, payload_bytes, mtu, seed } = self;
        Reading { is_log, names: Settings { key, nat, payload_bytes, mtu, group, seed } }
    }

    /// The arguments that are not the defaults, each after a space.
    pub(crate) fn flags(&self) -> String {
        let seed = if self.seed != 0 { format!(" --seed {}", self.seed) } else { String::new() };
        self.names() + &seed
    }

    /// The same without the seed: what identifies a packet.
    pub(crate) fn names(&self) -> String {
        let &Self { key, nat, payload_bytes, mtu, .. } = self;
        let flags = [
            (key != Key::Inner).then(|| format!(" --key {}", key.name())),
            nat.then(|| " --nat".to_owned()),
            (payload_bytes != Settings::PAYLOAD_BYTES).then(|| format!(" --payload-bytes {payload_bytes}")),
            mtu.map(|mtu| format!(" --mtu {mtu}")),
        ];
        flags.into_iter().flatten().collect()
    }
}
